target triple = "x86_64-unknown-linux-gnu"
declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, <16 x i1>, <16 x i32>)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, <16 x i1>)
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
  %v6 = phi i64 [0, %entry], [%v44, %loop4]
  %v7 = phi <16 x i32> [splat (i32 1), %entry], [%v35, %loop4]
  %v8 = phi <16 x i32> [splat (i32 5), %entry], [%v37, %loop4]
  %v9 = getelementptr i32, ptr %p0, i64 %v6
  %v10 = load <16 x i32>, ptr %v9, align 4
  %v11 = getelementptr i32, ptr %p1, i64 %v6
  %v12 = load <16 x i32>, ptr %v11, align 4
  %v13 = shufflevector <16 x i32> %v10, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v14 = shufflevector <16 x i32> %v12, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v15 = mul <16 x i32> %v13, %v10
  %v16 = mul <16 x i32> %v14, %v10
  %v17 = add <16 x i32> %v16, %v12
  %v18 = shufflevector <16 x i32> %v15, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v19 = shufflevector <16 x i32> %v17, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v20 = mul <16 x i32> %v18, %v15
  %v21 = mul <16 x i32> %v19, %v15
  %v22 = add <16 x i32> %v21, %v17
  %v23 = shufflevector <16 x i32> %v20, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v24 = shufflevector <16 x i32> %v22, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v25 = mul <16 x i32> %v23, %v20
  %v26 = mul <16 x i32> %v24, %v20
  %v27 = add <16 x i32> %v26, %v22
  %v28 = shufflevector <16 x i32> %v25, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v29 = shufflevector <16 x i32> %v27, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v30 = mul <16 x i32> %v28, %v25
  %v31 = mul <16 x i32> %v29, %v25
  %v32 = add <16 x i32> %v31, %v27
  %v33 = shufflevector <16 x i32> %v30, <16 x i32> poison, <16 x i32> splat (i32 15)
  %v34 = shufflevector <16 x i32> %v32, <16 x i32> poison, <16 x i32> splat (i32 15)
  %v35 = mul <16 x i32> %v7, %v33
  %v36 = mul <16 x i32> %v8, %v33
  %v37 = add <16 x i32> %v36, %v34
  %v38 = shufflevector <16 x i32> %v7, <16 x i32> poison, <16 x i32> splat (i32 0)
  %v39 = shufflevector <16 x i32> %v8, <16 x i32> poison, <16 x i32> splat (i32 0)
  %v40 = mul <16 x i32> %v38, %v30
  %v41 = mul <16 x i32> %v39, %v30
  %v42 = add <16 x i32> %v41, %v32
  %v43 = getelementptr i32, ptr %p2, i64 %v6
  store <16 x i32> %v42, ptr %v43, align 4
  %v44 = add i64 %v6, 16
  %v45 = icmp ult i64 %v44, 48
  br i1 %v45, label %loop4, label %after5
after5:
  %v46 = getelementptr i32, ptr %p0, i64 48
  %v48 = getelementptr i32, ptr %p1, i64 48
  %v80 = getelementptr i32, ptr %p2, i64 48
  %v47 = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr align 4 %v46, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i32> zeroinitializer)
  %v49 = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr align 4 %v48, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i32> zeroinitializer)
  %v50 = shufflevector <16 x i32> %v47, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v51 = shufflevector <16 x i32> %v49, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v52 = mul <16 x i32> %v50, %v47
  %v53 = mul <16 x i32> %v51, %v47
  %v54 = add <16 x i32> %v53, %v49
  %v55 = shufflevector <16 x i32> %v52, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v56 = shufflevector <16 x i32> %v54, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v57 = mul <16 x i32> %v55, %v52
  %v58 = mul <16 x i32> %v56, %v52
  %v59 = add <16 x i32> %v58, %v54
  %v60 = shufflevector <16 x i32> %v57, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v61 = shufflevector <16 x i32> %v59, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v62 = mul <16 x i32> %v60, %v57
  %v63 = mul <16 x i32> %v61, %v57
  %v64 = add <16 x i32> %v63, %v59
  %v65 = shufflevector <16 x i32> %v62, <16 x i32> splat (i32 1), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v66 = shufflevector <16 x i32> %v64, <16 x i32> splat (i32 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v67 = mul <16 x i32> %v65, %v62
  %v68 = mul <16 x i32> %v66, %v62
  %v69 = add <16 x i32> %v68, %v64
  %v70 = shufflevector <16 x i32> %v67, <16 x i32> poison, <16 x i32> splat (i32 10)
  %v71 = shufflevector <16 x i32> %v69, <16 x i32> poison, <16 x i32> splat (i32 10)
  %v72 = mul <16 x i32> %v35, %v70
  %v73 = mul <16 x i32> %v37, %v70
  %v74 = add <16 x i32> %v73, %v71
  %v75 = shufflevector <16 x i32> %v35, <16 x i32> poison, <16 x i32> splat (i32 0)
  %v76 = shufflevector <16 x i32> %v37, <16 x i32> poison, <16 x i32> splat (i32 0)
  %v77 = mul <16 x i32> %v75, %v67
  %v78 = mul <16 x i32> %v76, %v67
  %v79 = add <16 x i32> %v78, %v69
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %v79, ptr align 4 %v80, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v81 = extractelement <16 x i32> %v72, i64 0
  %v82 = extractelement <16 x i32> %v74, i64 0
  ret void
}
