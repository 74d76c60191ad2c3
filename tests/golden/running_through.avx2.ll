target triple = "x86_64-unknown-linux-gnu"
declare <4 x i8> @llvm.masked.load.v4i8.p0(ptr, <4 x i1>, <4 x i8>)
declare void @llvm.masked.store.v4i64.p0(<4 x i64>, ptr, <4 x i1>)
define void @running_through(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  br label %loop4
loop4:
  %v6 = phi i64 [0, %entry], [%v67, %after10]
  %v7 = phi <8 x i64> [splat (i64 0), %entry], [%v54, %after10]
  %v8 = phi <8 x i64> [splat (i64 -4), %entry], [%v62, %after10]
  %v14 = mul i64 %v6, 43
  %v15 = getelementptr i8, ptr %p0, i64 %v14
  %v41 = getelementptr i64, ptr %p1, i64 %v14
  br label %loop9
loop9:
  %v11 = phi i64 [0, %loop4], [%v43, %loop9]
  %v12 = phi <8 x i64> [%v7, %loop4], [%v27, %loop9]
  %v13 = phi <8 x i64> [%v8, %loop4], [%v37, %loop9]
  %v16 = getelementptr i8, ptr %v15, i64 %v11
  %v17 = load <8 x i8>, ptr %v16, align 1
  %v18 = zext <8 x i8> %v17 to <8 x i32>
  %v19 = sext <8 x i32> %v18 to <8 x i64>
  %v20 = shufflevector <8 x i64> %v19, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6>
  %v21 = add <8 x i64> %v20, %v19
  %v22 = shufflevector <8 x i64> %v21, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v23 = add <8 x i64> %v22, %v21
  %v24 = shufflevector <8 x i64> %v23, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 8, i32 8, i32 8, i32 0, i32 1, i32 2, i32 3>
  %v25 = add <8 x i64> %v24, %v23
  %v26 = shufflevector <8 x i64> %v25, <8 x i64> poison, <8 x i32> splat (i32 7)
  %v27 = add <8 x i64> %v12, %v26
  %v28 = shufflevector <8 x i64> %v12, <8 x i64> poison, <8 x i32> splat (i32 0)
  %v29 = add <8 x i64> %v28, %v25
  %v30 = shufflevector <8 x i64> %v29, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6>
  %v31 = add <8 x i64> %v30, %v29
  %v32 = shufflevector <8 x i64> %v31, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 8, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v33 = add <8 x i64> %v32, %v31
  %v34 = shufflevector <8 x i64> %v33, <8 x i64> splat (i64 0), <8 x i32> <i32 8, i32 8, i32 8, i32 8, i32 0, i32 1, i32 2, i32 3>
  %v35 = add <8 x i64> %v34, %v33
  %v36 = shufflevector <8 x i64> %v35, <8 x i64> poison, <8 x i32> splat (i32 7)
  %v37 = add <8 x i64> %v13, %v36
  %v38 = shufflevector <8 x i64> %v13, <8 x i64> poison, <8 x i32> splat (i32 0)
  %v39 = add <8 x i64> %v38, %v35
  %v40 = sub <8 x i64> %v39, %v29
  %v42 = getelementptr i64, ptr %v41, i64 %v11
  store <8 x i64> %v40, ptr %v42, align 8
  %v43 = add i64 %v11, 8
  %v44 = icmp ult i64 %v43, 40
  br i1 %v44, label %loop9, label %after10
after10:
  %v45 = getelementptr i8, ptr %v15, i64 40
  %v66 = getelementptr i64, ptr %v41, i64 40
  %v46 = call <4 x i8> @llvm.masked.load.v4i8.p0(ptr align 1 %v45, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x i8> zeroinitializer)
  %v47 = zext <4 x i8> %v46 to <4 x i32>
  %v48 = sext <4 x i32> %v47 to <4 x i64>
  %v49 = shufflevector <4 x i64> %v48, <4 x i64> splat (i64 0), <4 x i32> <i32 4, i32 0, i32 1, i32 2>
  %v50 = add <4 x i64> %v49, %v48
  %v51 = shufflevector <4 x i64> %v50, <4 x i64> splat (i64 0), <4 x i32> <i32 4, i32 4, i32 0, i32 1>
  %v52 = add <4 x i64> %v51, %v50
  %v53 = shufflevector <4 x i64> %v52, <4 x i64> poison, <8 x i32> splat (i32 2)
  %v54 = add <8 x i64> %v27, %v53
  %v55 = shufflevector <8 x i64> %v27, <8 x i64> poison, <4 x i32> splat (i32 0)
  %v56 = add <4 x i64> %v55, %v52
  %v57 = shufflevector <4 x i64> %v56, <4 x i64> splat (i64 0), <4 x i32> <i32 4, i32 0, i32 1, i32 2>
  %v58 = add <4 x i64> %v57, %v56
  %v59 = shufflevector <4 x i64> %v58, <4 x i64> splat (i64 0), <4 x i32> <i32 4, i32 4, i32 0, i32 1>
  %v60 = add <4 x i64> %v59, %v58
  %v61 = shufflevector <4 x i64> %v60, <4 x i64> poison, <8 x i32> splat (i32 2)
  %v62 = add <8 x i64> %v37, %v61
  %v63 = shufflevector <8 x i64> %v37, <8 x i64> poison, <4 x i32> splat (i32 0)
  %v64 = add <4 x i64> %v63, %v60
  %v65 = sub <4 x i64> %v64, %v56
  call void @llvm.masked.store.v4i64.p0(<4 x i64> %v65, ptr align 8 %v66, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v67 = add i64 %v6, 1
  %v68 = icmp ult i64 %v67, 5
  br i1 %v68, label %loop4, label %after5
after5:
  %v69 = extractelement <8 x i64> %v54, i64 0
  %v70 = extractelement <8 x i64> %v62, i64 0
  store i64 %v70, ptr %p2, align 8
  ret void
}
