target triple = "x86_64-unknown-linux-gnu"
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define void @running_rows(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v56 = icmp ult i64 %begin, %end
  br i1 %v56, label %some4, label %after55
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v53, %after9]
  %v12 = mul i64 %v7, 75
  %v13 = getelementptr float, ptr %p0, i64 %v12
  %v30 = getelementptr float, ptr %p1, i64 %v12
  br label %loop8
loop8:
  %v10 = phi i64 [0, %loop5], [%v32, %loop8]
  %v11 = phi <16 x float> [splat (float 0x4008000000000000), %loop5], [%v25, %loop8]
  %v14 = getelementptr float, ptr %v13, i64 %v10
  %v15 = load <16 x float>, ptr %v14, align 4
  %v16 = shufflevector <16 x float> %v15, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v17 = fadd <16 x float> %v16, %v15
  %v18 = shufflevector <16 x float> %v17, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v19 = fadd <16 x float> %v18, %v17
  %v20 = shufflevector <16 x float> %v19, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v21 = fadd <16 x float> %v20, %v19
  %v22 = shufflevector <16 x float> %v21, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v23 = fadd <16 x float> %v22, %v21
  %v24 = shufflevector <16 x float> %v23, <16 x float> poison, <16 x i32> splat (i32 15)
  %v25 = fadd <16 x float> %v11, %v24
  %v26 = shufflevector <16 x float> %v11, <16 x float> poison, <16 x i32> splat (i32 0)
  %v27 = fadd <16 x float> %v26, %v23
  %v28 = fmul <16 x float> %v27, splat (float 0x4000000000000000)
  %v29 = fsub <16 x float> %v28, %v15
  %v31 = getelementptr float, ptr %v30, i64 %v10
  store <16 x float> %v29, ptr %v31, align 4
  %v32 = add i64 %v10, 16
  %v33 = icmp ult i64 %v32, 64
  br i1 %v33, label %loop8, label %after9
after9:
  %v34 = getelementptr float, ptr %v13, i64 64
  %v50 = getelementptr float, ptr %v30, i64 64
  %v35 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v34, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v36 = shufflevector <16 x float> %v35, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v37 = fadd <16 x float> %v36, %v35
  %v38 = shufflevector <16 x float> %v37, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v39 = fadd <16 x float> %v38, %v37
  %v40 = shufflevector <16 x float> %v39, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v41 = fadd <16 x float> %v40, %v39
  %v42 = shufflevector <16 x float> %v41, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v43 = fadd <16 x float> %v42, %v41
  %v44 = shufflevector <16 x float> %v43, <16 x float> poison, <16 x i32> splat (i32 10)
  %v45 = fadd <16 x float> %v25, %v44
  %v46 = shufflevector <16 x float> %v25, <16 x float> poison, <16 x i32> splat (i32 0)
  %v47 = fadd <16 x float> %v46, %v43
  %v48 = fmul <16 x float> %v47, splat (float 0x4000000000000000)
  %v49 = fsub <16 x float> %v48, %v35
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v49, ptr align 4 %v50, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v51 = extractelement <16 x float> %v45, i64 0
  %v52 = getelementptr float, ptr %p2, i64 %v7
  store float %v51, ptr %v52, align 4
  %v53 = add i64 %v7, 1
  %v54 = icmp ult i64 %v53, %end
  br i1 %v54, label %loop5, label %after6
after6:
  br label %after55
after55:
  ret void
}
