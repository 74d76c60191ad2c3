target triple = "x86_64-unknown-linux-gnu"
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define void @running_rows(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v50 = icmp ult i64 %begin, %end
  br i1 %v50, label %some4, label %after49
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v47, %after9]
  %v12 = mul i64 %v7, 75
  %v13 = getelementptr float, ptr %p0, i64 %v12
  %v28 = getelementptr float, ptr %p1, i64 %v12
  br label %loop8
loop8:
  %v10 = phi i64 [0, %loop5], [%v30, %loop8]
  %v11 = phi <8 x float> [splat (float 0x4008000000000000), %loop5], [%v23, %loop8]
  %v14 = getelementptr float, ptr %v13, i64 %v10
  %v15 = load <8 x float>, ptr %v14, align 4
  %v16 = shufflevector <8 x float> %v15, <8 x float> splat (float 0x0000000000000000), <8 x i32> <i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6>
  %v17 = fadd <8 x float> %v16, %v15
  %v18 = shufflevector <8 x float> %v17, <8 x float> splat (float 0x0000000000000000), <8 x i32> <i32 8, i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v19 = fadd <8 x float> %v18, %v17
  %v20 = shufflevector <8 x float> %v19, <8 x float> splat (float 0x0000000000000000), <8 x i32> <i32 8, i32 8, i32 8, i32 8, i32 0, i32 1, i32 2, i32 3>
  %v21 = fadd <8 x float> %v20, %v19
  %v22 = shufflevector <8 x float> %v21, <8 x float> poison, <8 x i32> splat (i32 7)
  %v23 = fadd <8 x float> %v11, %v22
  %v24 = shufflevector <8 x float> %v11, <8 x float> poison, <8 x i32> splat (i32 0)
  %v25 = fadd <8 x float> %v24, %v21
  %v26 = fmul <8 x float> %v25, splat (float 0x4000000000000000)
  %v27 = fsub <8 x float> %v26, %v15
  %v29 = getelementptr float, ptr %v28, i64 %v10
  store <8 x float> %v27, ptr %v29, align 4
  %v30 = add i64 %v10, 8
  %v31 = icmp ult i64 %v30, 72
  br i1 %v31, label %loop8, label %after9
after9:
  %v32 = getelementptr float, ptr %v13, i64 72
  %v44 = getelementptr float, ptr %v28, i64 72
  %v33 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v32, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v34 = shufflevector <4 x float> %v33, <4 x float> splat (float 0x0000000000000000), <4 x i32> <i32 4, i32 0, i32 1, i32 2>
  %v35 = fadd <4 x float> %v34, %v33
  %v36 = shufflevector <4 x float> %v35, <4 x float> splat (float 0x0000000000000000), <4 x i32> <i32 4, i32 4, i32 0, i32 1>
  %v37 = fadd <4 x float> %v36, %v35
  %v38 = shufflevector <4 x float> %v37, <4 x float> poison, <8 x i32> splat (i32 2)
  %v39 = fadd <8 x float> %v23, %v38
  %v40 = shufflevector <8 x float> %v23, <8 x float> poison, <4 x i32> splat (i32 0)
  %v41 = fadd <4 x float> %v40, %v37
  %v42 = fmul <4 x float> %v41, splat (float 0x4000000000000000)
  %v43 = fsub <4 x float> %v42, %v33
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v43, ptr align 4 %v44, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v45 = extractelement <8 x float> %v39, i64 0
  %v46 = getelementptr float, ptr %p2, i64 %v7
  store float %v45, ptr %v46, align 4
  %v47 = add i64 %v7, 1
  %v48 = icmp ult i64 %v47, %end
  br i1 %v48, label %loop5, label %after6
after6:
  br label %after49
after49:
  ret void
}
