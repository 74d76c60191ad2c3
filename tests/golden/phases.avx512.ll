target triple = "x86_64-unknown-linux-gnu"
declare <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32>, <16 x i32>, <16 x i32>, i32 immarg)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <8 x i32> @llvm.x86.avx512.pternlog.d.256(<8 x i32>, <8 x i32>, <8 x i32>, i32 immarg)
declare <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32>, <4 x i32>, <4 x i32>, i32 immarg)
declare float @llvm.maximum.f32(float, float)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define void @phases(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v120 = icmp ult i64 %begin, %end
  br i1 %v120, label %some3, label %after119
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v117, %after101]
  %v11 = mul i64 %v6, 77
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v23, %loop7]
  %v10 = phi <16 x float> [splat (float 0xFFF0000000000000), %loop4], [%v22, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <16 x float>, ptr %v13, align 4
  %v15 = fcmp ogt <16 x float> %v10, %v14
  %v16 = select <16 x i1> %v15, <16 x float> %v10, <16 x float> %v14
  %v17 = bitcast <16 x float> %v16 to <16 x i32>
  %v18 = fcmp ogt <16 x float> %v14, %v10
  %v19 = select <16 x i1> %v18, <16 x float> %v14, <16 x float> %v10
  %v20 = bitcast <16 x float> %v19 to <16 x i32>
  %v21 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v17, <16 x i32> %v20, <16 x i32> splat (i32 2147483647), i32 232)
  %v22 = bitcast <16 x i32> %v21 to <16 x float>
  %v23 = add i64 %v9, 16
  %v24 = icmp ult i64 %v23, 64
  br i1 %v24, label %loop7, label %after8
after8:
  %v25 = getelementptr float, ptr %v12, i64 64
  %v26 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v25, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v27 = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> %v26, <16 x float> splat (float 0xFFF0000000000000)
  %v28 = fcmp ogt <16 x float> %v22, %v27
  %v29 = select <16 x i1> %v28, <16 x float> %v22, <16 x float> %v27
  %v30 = bitcast <16 x float> %v29 to <16 x i32>
  %v31 = fcmp ogt <16 x float> %v27, %v22
  %v32 = select <16 x i1> %v31, <16 x float> %v27, <16 x float> %v22
  %v33 = bitcast <16 x float> %v32 to <16 x i32>
  %v34 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v30, <16 x i32> %v33, <16 x i32> splat (i32 2147483647), i32 232)
  %v35 = bitcast <16 x i32> %v34 to <16 x float>
  %v36 = shufflevector <16 x float> %v35, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v37 = shufflevector <16 x float> %v35, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v38 = fcmp ogt <8 x float> %v36, %v37
  %v39 = select <8 x i1> %v38, <8 x float> %v36, <8 x float> %v37
  %v40 = bitcast <8 x float> %v39 to <8 x i32>
  %v41 = fcmp ogt <8 x float> %v37, %v36
  %v42 = select <8 x i1> %v41, <8 x float> %v37, <8 x float> %v36
  %v43 = bitcast <8 x float> %v42 to <8 x i32>
  %v44 = call <8 x i32> @llvm.x86.avx512.pternlog.d.256(<8 x i32> %v40, <8 x i32> %v43, <8 x i32> splat (i32 2147483647), i32 232)
  %v45 = bitcast <8 x i32> %v44 to <8 x float>
  %v46 = shufflevector <8 x float> %v45, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v47 = shufflevector <8 x float> %v45, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v48 = fcmp ogt <4 x float> %v46, %v47
  %v49 = select <4 x i1> %v48, <4 x float> %v46, <4 x float> %v47
  %v50 = bitcast <4 x float> %v49 to <4 x i32>
  %v51 = fcmp ogt <4 x float> %v47, %v46
  %v52 = select <4 x i1> %v51, <4 x float> %v47, <4 x float> %v46
  %v53 = bitcast <4 x float> %v52 to <4 x i32>
  %v54 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v50, <4 x i32> %v53, <4 x i32> splat (i32 2147483647), i32 232)
  %v55 = bitcast <4 x i32> %v54 to <4 x float>
  %v56 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v57 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v58 = fcmp ogt <2 x float> %v56, %v57
  %v59 = select <2 x i1> %v58, <2 x float> %v56, <2 x float> %v57
  %v60 = bitcast <2 x float> %v59 to <2 x i32>
  %v61 = fcmp ogt <2 x float> %v57, %v56
  %v62 = select <2 x i1> %v61, <2 x float> %v57, <2 x float> %v56
  %v63 = bitcast <2 x float> %v62 to <2 x i32>
  %v64 = or <2 x i32> %v60, %v63
  %v65 = and <2 x i32> %v60, %v63
  %v66 = or <2 x i32> %v65, splat (i32 2147483647)
  %v67 = and <2 x i32> %v64, %v66
  %v68 = bitcast <2 x i32> %v67 to <2 x float>
  %v69 = extractelement <2 x float> %v68, i64 0
  %v70 = extractelement <2 x float> %v68, i64 1
  %v71 = call float @llvm.maximum.f32(float %v69, float %v70)
  %v78 = insertelement <16 x float> poison, float %v71, i64 0
  %v79 = shufflevector <16 x float> %v78, <16 x float> poison, <16 x i32> zeroinitializer
  br label %loop72
loop72:
  %v74 = phi i64 [0, %after8], [%v82, %loop72]
  %v75 = phi <16 x float> [splat (float 0x0000000000000000), %after8], [%v81, %loop72]
  %v76 = getelementptr float, ptr %v12, i64 %v74
  %v77 = load <16 x float>, ptr %v76, align 4
  %v80 = fsub <16 x float> %v79, %v77
  %v81 = fadd <16 x float> %v75, %v80
  %v82 = add i64 %v74, 16
  %v83 = icmp ult i64 %v82, 64
  br i1 %v83, label %loop72, label %after73
after73:
  %v84 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v25, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v85 = fsub <16 x float> %v79, %v84
  %v86 = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> %v85, <16 x float> splat (float 0x0000000000000000)
  %v87 = fadd <16 x float> %v81, %v86
  %v88 = shufflevector <16 x float> %v87, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v89 = shufflevector <16 x float> %v87, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v90 = fadd <8 x float> %v88, %v89
  %v91 = shufflevector <8 x float> %v90, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v92 = shufflevector <8 x float> %v90, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v93 = fadd <4 x float> %v91, %v92
  %v94 = shufflevector <4 x float> %v93, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v95 = shufflevector <4 x float> %v93, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v96 = fadd <2 x float> %v94, %v95
  %v97 = extractelement <2 x float> %v96, i64 0
  %v98 = extractelement <2 x float> %v96, i64 1
  %v99 = fadd float %v97, %v98
  %v106 = insertelement <16 x float> poison, float %v99, i64 0
  %v107 = shufflevector <16 x float> %v106, <16 x float> poison, <16 x i32> zeroinitializer
  %v109 = getelementptr float, ptr %p1, i64 %v11
  br label %loop100
loop100:
  %v102 = phi i64 [0, %after73], [%v111, %loop100]
  %v103 = getelementptr float, ptr %v12, i64 %v102
  %v104 = load <16 x float>, ptr %v103, align 4
  %v105 = fsub <16 x float> %v79, %v104
  %v108 = fdiv <16 x float> %v105, %v107
  %v110 = getelementptr float, ptr %v109, i64 %v102
  store <16 x float> %v108, ptr %v110, align 4
  %v111 = add i64 %v102, 16
  %v112 = icmp ult i64 %v111, 64
  br i1 %v112, label %loop100, label %after101
after101:
  %v116 = getelementptr float, ptr %v109, i64 64
  %v113 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v25, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v114 = fsub <16 x float> %v79, %v113
  %v115 = fdiv <16 x float> %v114, %v107
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v115, ptr align 4 %v116, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v117 = add i64 %v6, 1
  %v118 = icmp ult i64 %v117, %end
  br i1 %v118, label %loop4, label %after5
after5:
  br label %after119
after119:
  ret void
}
