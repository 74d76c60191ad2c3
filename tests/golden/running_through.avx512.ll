target triple = "x86_64-unknown-linux-gnu"
declare <16 x i8> @llvm.masked.load.v16i8.p0(ptr, <16 x i1>, <16 x i8>)
declare void @llvm.masked.store.v16i64.p0(<16 x i64>, ptr, <16 x i1>)
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
  %v6 = phi i64 [0, %entry], [%v79, %after10]
  %v7 = phi <16 x i64> [splat (i64 0), %entry], [%v62, %after10]
  %v8 = phi <16 x i64> [splat (i64 -4), %entry], [%v74, %after10]
  %v14 = mul i64 %v6, 43
  %v15 = getelementptr i8, ptr %p0, i64 %v14
  %v45 = getelementptr i64, ptr %p1, i64 %v14
  br label %loop9
loop9:
  %v11 = phi i64 [0, %loop4], [%v47, %loop9]
  %v12 = phi <16 x i64> [%v7, %loop4], [%v29, %loop9]
  %v13 = phi <16 x i64> [%v8, %loop4], [%v41, %loop9]
  %v16 = getelementptr i8, ptr %v15, i64 %v11
  %v17 = load <16 x i8>, ptr %v16, align 1
  %v18 = zext <16 x i8> %v17 to <16 x i32>
  %v19 = sext <16 x i32> %v18 to <16 x i64>
  %v20 = shufflevector <16 x i64> %v19, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v21 = add <16 x i64> %v20, %v19
  %v22 = shufflevector <16 x i64> %v21, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v23 = add <16 x i64> %v22, %v21
  %v24 = shufflevector <16 x i64> %v23, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v25 = add <16 x i64> %v24, %v23
  %v26 = shufflevector <16 x i64> %v25, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v27 = add <16 x i64> %v26, %v25
  %v28 = shufflevector <16 x i64> %v27, <16 x i64> poison, <16 x i32> splat (i32 15)
  %v29 = add <16 x i64> %v12, %v28
  %v30 = shufflevector <16 x i64> %v12, <16 x i64> poison, <16 x i32> splat (i32 0)
  %v31 = add <16 x i64> %v30, %v27
  %v32 = shufflevector <16 x i64> %v31, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v33 = add <16 x i64> %v32, %v31
  %v34 = shufflevector <16 x i64> %v33, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v35 = add <16 x i64> %v34, %v33
  %v36 = shufflevector <16 x i64> %v35, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v37 = add <16 x i64> %v36, %v35
  %v38 = shufflevector <16 x i64> %v37, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v39 = add <16 x i64> %v38, %v37
  %v40 = shufflevector <16 x i64> %v39, <16 x i64> poison, <16 x i32> splat (i32 15)
  %v41 = add <16 x i64> %v13, %v40
  %v42 = shufflevector <16 x i64> %v13, <16 x i64> poison, <16 x i32> splat (i32 0)
  %v43 = add <16 x i64> %v42, %v39
  %v44 = sub <16 x i64> %v43, %v31
  %v46 = getelementptr i64, ptr %v45, i64 %v11
  store <16 x i64> %v44, ptr %v46, align 8
  %v47 = add i64 %v11, 16
  %v48 = icmp ult i64 %v47, 32
  br i1 %v48, label %loop9, label %after10
after10:
  %v49 = getelementptr i8, ptr %v15, i64 32
  %v78 = getelementptr i64, ptr %v45, i64 32
  %v50 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %v49, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %v51 = zext <16 x i8> %v50 to <16 x i32>
  %v52 = sext <16 x i32> %v51 to <16 x i64>
  %v53 = shufflevector <16 x i64> %v52, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v54 = add <16 x i64> %v53, %v52
  %v55 = shufflevector <16 x i64> %v54, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v56 = add <16 x i64> %v55, %v54
  %v57 = shufflevector <16 x i64> %v56, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v58 = add <16 x i64> %v57, %v56
  %v59 = shufflevector <16 x i64> %v58, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v60 = add <16 x i64> %v59, %v58
  %v61 = shufflevector <16 x i64> %v60, <16 x i64> poison, <16 x i32> splat (i32 10)
  %v62 = add <16 x i64> %v29, %v61
  %v63 = shufflevector <16 x i64> %v29, <16 x i64> poison, <16 x i32> splat (i32 0)
  %v64 = add <16 x i64> %v63, %v60
  %v65 = shufflevector <16 x i64> %v64, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14>
  %v66 = add <16 x i64> %v65, %v64
  %v67 = shufflevector <16 x i64> %v66, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13>
  %v68 = add <16 x i64> %v67, %v66
  %v69 = shufflevector <16 x i64> %v68, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v70 = add <16 x i64> %v69, %v68
  %v71 = shufflevector <16 x i64> %v70, <16 x i64> splat (i64 0), <16 x i32> <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = add <16 x i64> %v71, %v70
  %v73 = shufflevector <16 x i64> %v72, <16 x i64> poison, <16 x i32> splat (i32 10)
  %v74 = add <16 x i64> %v41, %v73
  %v75 = shufflevector <16 x i64> %v41, <16 x i64> poison, <16 x i32> splat (i32 0)
  %v76 = add <16 x i64> %v75, %v72
  %v77 = sub <16 x i64> %v76, %v64
  call void @llvm.masked.store.v16i64.p0(<16 x i64> %v77, ptr align 8 %v78, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v79 = add i64 %v6, 1
  %v80 = icmp ult i64 %v79, 5
  br i1 %v80, label %loop4, label %after5
after5:
  %v81 = extractelement <16 x i64> %v62, i64 0
  %v82 = extractelement <16 x i64> %v74, i64 0
  store i64 %v82, ptr %p2, align 8
  ret void
}
