target triple = "x86_64-unknown-linux-gnu"
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, <4 x i1>)
define void @recurrence(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  br label %loop4
loop4:
  %v6 = phi i64 [0, %entry], [%v39, %loop4]
  %v7 = phi <8 x i32> [splat (i32 1), %entry], [%v30, %loop4]
  %v8 = phi <8 x i32> [splat (i32 5), %entry], [%v32, %loop4]
  %v9 = getelementptr i32, ptr %p0, i64 %v6
  %v10 = load <8 x i32>, ptr %v9, align 4
  %v11 = getelementptr i32, ptr %p1, i64 %v6
  %v12 = load <8 x i32>, ptr %v11, align 4
  %v13 = shufflevector <8 x i32> %v10, <8 x i32> splat (i32 1), <8 x i32> <i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6>
  %v14 = shufflevector <8 x i32> %v12, <8 x i32> splat (i32 0), <8 x i32> <i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6>
  %v15 = mul <8 x i32> %v13, %v10
  %v16 = mul <8 x i32> %v14, %v10
  %v17 = add <8 x i32> %v16, %v12
  %v18 = shufflevector <8 x i32> %v15, <8 x i32> splat (i32 1), <8 x i32> <i32 8, i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v19 = shufflevector <8 x i32> %v17, <8 x i32> splat (i32 0), <8 x i32> <i32 8, i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v20 = mul <8 x i32> %v18, %v15
  %v21 = mul <8 x i32> %v19, %v15
  %v22 = add <8 x i32> %v21, %v17
  %v23 = shufflevector <8 x i32> %v20, <8 x i32> splat (i32 1), <8 x i32> <i32 8, i32 8, i32 8, i32 8, i32 0, i32 1, i32 2, i32 3>
  %v24 = shufflevector <8 x i32> %v22, <8 x i32> splat (i32 0), <8 x i32> <i32 8, i32 8, i32 8, i32 8, i32 0, i32 1, i32 2, i32 3>
  %v25 = mul <8 x i32> %v23, %v20
  %v26 = mul <8 x i32> %v24, %v20
  %v27 = add <8 x i32> %v26, %v22
  %v28 = shufflevector <8 x i32> %v25, <8 x i32> poison, <8 x i32> splat (i32 7)
  %v29 = shufflevector <8 x i32> %v27, <8 x i32> poison, <8 x i32> splat (i32 7)
  %v30 = mul <8 x i32> %v7, %v28
  %v31 = mul <8 x i32> %v8, %v28
  %v32 = add <8 x i32> %v31, %v29
  %v33 = shufflevector <8 x i32> %v7, <8 x i32> poison, <8 x i32> splat (i32 0)
  %v34 = shufflevector <8 x i32> %v8, <8 x i32> poison, <8 x i32> splat (i32 0)
  %v35 = mul <8 x i32> %v33, %v25
  %v36 = mul <8 x i32> %v34, %v25
  %v37 = add <8 x i32> %v36, %v27
  %v38 = getelementptr i32, ptr %p2, i64 %v6
  store <8 x i32> %v37, ptr %v38, align 4
  %v39 = add i64 %v6, 8
  %v40 = icmp ult i64 %v39, 56
  br i1 %v40, label %loop4, label %after5
after5:
  %v41 = getelementptr i32, ptr %p0, i64 56
  %v43 = getelementptr i32, ptr %p1, i64 56
  %v65 = getelementptr i32, ptr %p2, i64 56
  %v42 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %v41, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x i32> zeroinitializer)
  %v44 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %v43, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x i32> zeroinitializer)
  %v45 = shufflevector <4 x i32> %v42, <4 x i32> splat (i32 1), <4 x i32> <i32 4, i32 0, i32 1, i32 2>
  %v46 = shufflevector <4 x i32> %v44, <4 x i32> splat (i32 0), <4 x i32> <i32 4, i32 0, i32 1, i32 2>
  %v47 = mul <4 x i32> %v45, %v42
  %v48 = mul <4 x i32> %v46, %v42
  %v49 = add <4 x i32> %v48, %v44
  %v50 = shufflevector <4 x i32> %v47, <4 x i32> splat (i32 1), <4 x i32> <i32 4, i32 4, i32 0, i32 1>
  %v51 = shufflevector <4 x i32> %v49, <4 x i32> splat (i32 0), <4 x i32> <i32 4, i32 4, i32 0, i32 1>
  %v52 = mul <4 x i32> %v50, %v47
  %v53 = mul <4 x i32> %v51, %v47
  %v54 = add <4 x i32> %v53, %v49
  %v55 = shufflevector <4 x i32> %v52, <4 x i32> poison, <8 x i32> splat (i32 2)
  %v56 = shufflevector <4 x i32> %v54, <4 x i32> poison, <8 x i32> splat (i32 2)
  %v57 = mul <8 x i32> %v30, %v55
  %v58 = mul <8 x i32> %v32, %v55
  %v59 = add <8 x i32> %v58, %v56
  %v60 = shufflevector <8 x i32> %v30, <8 x i32> poison, <4 x i32> splat (i32 0)
  %v61 = shufflevector <8 x i32> %v32, <8 x i32> poison, <4 x i32> splat (i32 0)
  %v62 = mul <4 x i32> %v60, %v52
  %v63 = mul <4 x i32> %v61, %v52
  %v64 = add <4 x i32> %v63, %v54
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v64, ptr align 4 %v65, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v66 = extractelement <8 x i32> %v57, i64 0
  %v67 = extractelement <8 x i32> %v59, i64 0
  ret void
}
