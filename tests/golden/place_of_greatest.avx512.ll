target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
define void @place_of_greatest(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  br label %loop4
loop4:
  %v6 = phi i64 [0, %entry], [%v22, %loop4]
  %v7 = phi <16 x float> [splat (float 0xFFF0000000000000), %entry], [%v20, %loop4]
  %v8 = phi <16 x i32> [splat (i32 2147483647), %entry], [%v21, %loop4]
  %v9 = getelementptr float, ptr %p0, i64 %v6
  %v10 = load <16 x float>, ptr %v9, align 4
  %v11 = trunc i64 %v6 to i32
  %v12 = insertelement <16 x i32> poison, i32 %v11, i64 0
  %v13 = shufflevector <16 x i32> %v12, <16 x i32> poison, <16 x i32> zeroinitializer
  %v14 = add <16 x i32> %v13, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v15 = fcmp ogt <16 x float> %v7, %v10
  %v16 = fcmp oeq <16 x float> %v7, %v10
  %v17 = icmp slt <16 x i32> %v8, %v14
  %v18 = and <16 x i1> %v16, %v17
  %v19 = or <16 x i1> %v15, %v18
  %v20 = select <16 x i1> %v19, <16 x float> %v7, <16 x float> %v10
  %v21 = select <16 x i1> %v19, <16 x i32> %v8, <16 x i32> %v14
  %v22 = add i64 %v6, 16
  %v23 = icmp ult i64 %v22, 144
  br i1 %v23, label %loop4, label %after5
after5:
  %v24 = getelementptr float, ptr %p0, i64 144
  %v25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v24, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v26 = trunc i64 144 to i32
  %v27 = insertelement <8 x i32> poison, i32 %v26, i64 0
  %v28 = shufflevector <8 x i32> %v27, <8 x i32> poison, <8 x i32> zeroinitializer
  %v29 = add <8 x i32> %v28, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v30 = shufflevector <8 x float> %v25, <8 x float> splat (float 0xFFF0000000000000), <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v31 = shufflevector <8 x i32> %v29, <8 x i32> splat (i32 2147483647), <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v32 = fcmp ogt <16 x float> %v20, %v30
  %v33 = fcmp oeq <16 x float> %v20, %v30
  %v34 = icmp slt <16 x i32> %v21, %v31
  %v35 = and <16 x i1> %v33, %v34
  %v36 = or <16 x i1> %v32, %v35
  %v37 = select <16 x i1> %v36, <16 x float> %v20, <16 x float> %v30
  %v38 = select <16 x i1> %v36, <16 x i32> %v21, <16 x i32> %v31
  %v39 = shufflevector <16 x float> %v37, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v40 = shufflevector <16 x float> %v37, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v41 = shufflevector <16 x i32> %v38, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v42 = shufflevector <16 x i32> %v38, <16 x i32> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v43 = fcmp ogt <8 x float> %v39, %v40
  %v44 = fcmp oeq <8 x float> %v39, %v40
  %v45 = icmp slt <8 x i32> %v41, %v42
  %v46 = and <8 x i1> %v44, %v45
  %v47 = or <8 x i1> %v43, %v46
  %v48 = select <8 x i1> %v47, <8 x float> %v39, <8 x float> %v40
  %v49 = select <8 x i1> %v47, <8 x i32> %v41, <8 x i32> %v42
  %v50 = shufflevector <8 x float> %v48, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v51 = shufflevector <8 x float> %v48, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v52 = shufflevector <8 x i32> %v49, <8 x i32> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v53 = shufflevector <8 x i32> %v49, <8 x i32> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v54 = fcmp ogt <4 x float> %v50, %v51
  %v55 = fcmp oeq <4 x float> %v50, %v51
  %v56 = icmp slt <4 x i32> %v52, %v53
  %v57 = and <4 x i1> %v55, %v56
  %v58 = or <4 x i1> %v54, %v57
  %v59 = select <4 x i1> %v58, <4 x float> %v50, <4 x float> %v51
  %v60 = select <4 x i1> %v58, <4 x i32> %v52, <4 x i32> %v53
  %v61 = shufflevector <4 x float> %v59, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v62 = shufflevector <4 x float> %v59, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v63 = shufflevector <4 x i32> %v60, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %v64 = shufflevector <4 x i32> %v60, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %v65 = fcmp ogt <2 x float> %v61, %v62
  %v66 = fcmp oeq <2 x float> %v61, %v62
  %v67 = icmp slt <2 x i32> %v63, %v64
  %v68 = and <2 x i1> %v66, %v67
  %v69 = or <2 x i1> %v65, %v68
  %v70 = select <2 x i1> %v69, <2 x float> %v61, <2 x float> %v62
  %v71 = select <2 x i1> %v69, <2 x i32> %v63, <2 x i32> %v64
  %v72 = extractelement <2 x float> %v70, i64 0
  %v73 = extractelement <2 x float> %v70, i64 1
  %v74 = extractelement <2 x i32> %v71, i64 0
  %v75 = extractelement <2 x i32> %v71, i64 1
  %v76 = fcmp ogt float %v72, %v73
  %v77 = fcmp oeq float %v72, %v73
  %v78 = icmp slt i32 %v74, %v75
  %v79 = and i1 %v77, %v78
  %v80 = or i1 %v76, %v79
  %v81 = select i1 %v80, float %v72, float %v73
  %v82 = select i1 %v80, i32 %v74, i32 %v75
  store float %v81, ptr %p1, align 4
  store i32 %v82, ptr %p2, align 4
  ret void
}
