target triple = "x86_64-unknown-linux-gnu"
declare <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32>, <16 x i32>, <16 x i32>, i32 immarg)
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, <4 x i1>, <4 x float>)
declare <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32>, <4 x i32>, <4 x i32>, i32 immarg)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define void @windows(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v158 = icmp ult i64 %begin, %end
  br i1 %v158, label %some3, label %after157
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v155, %loop4]
  %v7 = mul i64 %v6, 80
  %v8 = getelementptr float, ptr %p0, i64 %v7
  %v10 = getelementptr float, ptr %v8, i64 15
  %v21 = getelementptr float, ptr %v8, i64 1
  %v23 = getelementptr float, ptr %v8, i64 16
  %v34 = getelementptr float, ptr %v8, i64 2
  %v36 = getelementptr float, ptr %v8, i64 17
  %v47 = getelementptr float, ptr %v8, i64 40
  %v49 = getelementptr float, ptr %v8, i64 55
  %v60 = getelementptr float, ptr %v8, i64 41
  %v62 = getelementptr float, ptr %v8, i64 56
  %v73 = getelementptr float, ptr %v8, i64 42
  %v75 = getelementptr float, ptr %v8, i64 57
  %v86 = mul i64 %v6, 19
  %v87 = getelementptr float, ptr %p1, i64 %v86
  %v9 = load <16 x float>, ptr %v8, align 4
  %v11 = load <16 x float>, ptr %v10, align 4
  %v12 = shufflevector <16 x float> %v9, <16 x float> %v11, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v13 = fcmp ogt <16 x float> splat (float 0xFFF0000000000000), %v12
  %v14 = select <16 x i1> %v13, <16 x float> splat (float 0xFFF0000000000000), <16 x float> %v12
  %v15 = bitcast <16 x float> %v14 to <16 x i32>
  %v16 = fcmp ogt <16 x float> %v12, splat (float 0xFFF0000000000000)
  %v17 = select <16 x i1> %v16, <16 x float> %v12, <16 x float> splat (float 0xFFF0000000000000)
  %v18 = bitcast <16 x float> %v17 to <16 x i32>
  %v19 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v15, <16 x i32> %v18, <16 x i32> splat (i32 2147483647), i32 232)
  %v20 = bitcast <16 x i32> %v19 to <16 x float>
  %v22 = load <16 x float>, ptr %v21, align 4
  %v24 = load <16 x float>, ptr %v23, align 4
  %v25 = shufflevector <16 x float> %v22, <16 x float> %v24, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v26 = fcmp ogt <16 x float> %v20, %v25
  %v27 = select <16 x i1> %v26, <16 x float> %v20, <16 x float> %v25
  %v28 = bitcast <16 x float> %v27 to <16 x i32>
  %v29 = fcmp ogt <16 x float> %v25, %v20
  %v30 = select <16 x i1> %v29, <16 x float> %v25, <16 x float> %v20
  %v31 = bitcast <16 x float> %v30 to <16 x i32>
  %v32 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v28, <16 x i32> %v31, <16 x i32> splat (i32 2147483647), i32 232)
  %v33 = bitcast <16 x i32> %v32 to <16 x float>
  %v35 = load <16 x float>, ptr %v34, align 4
  %v37 = load <16 x float>, ptr %v36, align 4
  %v38 = shufflevector <16 x float> %v35, <16 x float> %v37, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v39 = fcmp ogt <16 x float> %v33, %v38
  %v40 = select <16 x i1> %v39, <16 x float> %v33, <16 x float> %v38
  %v41 = bitcast <16 x float> %v40 to <16 x i32>
  %v42 = fcmp ogt <16 x float> %v38, %v33
  %v43 = select <16 x i1> %v42, <16 x float> %v38, <16 x float> %v33
  %v44 = bitcast <16 x float> %v43 to <16 x i32>
  %v45 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v41, <16 x i32> %v44, <16 x i32> splat (i32 2147483647), i32 232)
  %v46 = bitcast <16 x i32> %v45 to <16 x float>
  %v48 = load <16 x float>, ptr %v47, align 4
  %v50 = load <16 x float>, ptr %v49, align 4
  %v51 = shufflevector <16 x float> %v48, <16 x float> %v50, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v52 = fcmp ogt <16 x float> %v46, %v51
  %v53 = select <16 x i1> %v52, <16 x float> %v46, <16 x float> %v51
  %v54 = bitcast <16 x float> %v53 to <16 x i32>
  %v55 = fcmp ogt <16 x float> %v51, %v46
  %v56 = select <16 x i1> %v55, <16 x float> %v51, <16 x float> %v46
  %v57 = bitcast <16 x float> %v56 to <16 x i32>
  %v58 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v54, <16 x i32> %v57, <16 x i32> splat (i32 2147483647), i32 232)
  %v59 = bitcast <16 x i32> %v58 to <16 x float>
  %v61 = load <16 x float>, ptr %v60, align 4
  %v63 = load <16 x float>, ptr %v62, align 4
  %v64 = shufflevector <16 x float> %v61, <16 x float> %v63, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v65 = fcmp ogt <16 x float> %v59, %v64
  %v66 = select <16 x i1> %v65, <16 x float> %v59, <16 x float> %v64
  %v67 = bitcast <16 x float> %v66 to <16 x i32>
  %v68 = fcmp ogt <16 x float> %v64, %v59
  %v69 = select <16 x i1> %v68, <16 x float> %v64, <16 x float> %v59
  %v70 = bitcast <16 x float> %v69 to <16 x i32>
  %v71 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v67, <16 x i32> %v70, <16 x i32> splat (i32 2147483647), i32 232)
  %v72 = bitcast <16 x i32> %v71 to <16 x float>
  %v74 = load <16 x float>, ptr %v73, align 4
  %v76 = load <16 x float>, ptr %v75, align 4
  %v77 = shufflevector <16 x float> %v74, <16 x float> %v76, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v78 = fcmp ogt <16 x float> %v72, %v77
  %v79 = select <16 x i1> %v78, <16 x float> %v72, <16 x float> %v77
  %v80 = bitcast <16 x float> %v79 to <16 x i32>
  %v81 = fcmp ogt <16 x float> %v77, %v72
  %v82 = select <16 x i1> %v81, <16 x float> %v77, <16 x float> %v72
  %v83 = bitcast <16 x float> %v82 to <16 x i32>
  %v84 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v80, <16 x i32> %v83, <16 x i32> splat (i32 2147483647), i32 232)
  %v85 = bitcast <16 x i32> %v84 to <16 x float>
  store <16 x float> %v85, ptr %v87, align 4
  %v88 = getelementptr float, ptr %v8, i64 32
  %v99 = getelementptr float, ptr %v8, i64 33
  %v110 = getelementptr float, ptr %v8, i64 34
  %v121 = getelementptr float, ptr %v8, i64 72
  %v132 = getelementptr float, ptr %v8, i64 73
  %v143 = getelementptr float, ptr %v8, i64 74
  %v154 = getelementptr float, ptr %v87, i64 16
  %v89 = getelementptr float, ptr %v88, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v90 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v89, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v91 = fcmp ogt <4 x float> splat (float 0xFFF0000000000000), %v90
  %v92 = select <4 x i1> %v91, <4 x float> splat (float 0xFFF0000000000000), <4 x float> %v90
  %v93 = bitcast <4 x float> %v92 to <4 x i32>
  %v94 = fcmp ogt <4 x float> %v90, splat (float 0xFFF0000000000000)
  %v95 = select <4 x i1> %v94, <4 x float> %v90, <4 x float> splat (float 0xFFF0000000000000)
  %v96 = bitcast <4 x float> %v95 to <4 x i32>
  %v97 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v93, <4 x i32> %v96, <4 x i32> splat (i32 2147483647), i32 232)
  %v98 = bitcast <4 x i32> %v97 to <4 x float>
  %v100 = getelementptr float, ptr %v99, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v101 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v100, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v102 = fcmp ogt <4 x float> %v98, %v101
  %v103 = select <4 x i1> %v102, <4 x float> %v98, <4 x float> %v101
  %v104 = bitcast <4 x float> %v103 to <4 x i32>
  %v105 = fcmp ogt <4 x float> %v101, %v98
  %v106 = select <4 x i1> %v105, <4 x float> %v101, <4 x float> %v98
  %v107 = bitcast <4 x float> %v106 to <4 x i32>
  %v108 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v104, <4 x i32> %v107, <4 x i32> splat (i32 2147483647), i32 232)
  %v109 = bitcast <4 x i32> %v108 to <4 x float>
  %v111 = getelementptr float, ptr %v110, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v112 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v111, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v113 = fcmp ogt <4 x float> %v109, %v112
  %v114 = select <4 x i1> %v113, <4 x float> %v109, <4 x float> %v112
  %v115 = bitcast <4 x float> %v114 to <4 x i32>
  %v116 = fcmp ogt <4 x float> %v112, %v109
  %v117 = select <4 x i1> %v116, <4 x float> %v112, <4 x float> %v109
  %v118 = bitcast <4 x float> %v117 to <4 x i32>
  %v119 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v115, <4 x i32> %v118, <4 x i32> splat (i32 2147483647), i32 232)
  %v120 = bitcast <4 x i32> %v119 to <4 x float>
  %v122 = getelementptr float, ptr %v121, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v123 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v122, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v124 = fcmp ogt <4 x float> %v120, %v123
  %v125 = select <4 x i1> %v124, <4 x float> %v120, <4 x float> %v123
  %v126 = bitcast <4 x float> %v125 to <4 x i32>
  %v127 = fcmp ogt <4 x float> %v123, %v120
  %v128 = select <4 x i1> %v127, <4 x float> %v123, <4 x float> %v120
  %v129 = bitcast <4 x float> %v128 to <4 x i32>
  %v130 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v126, <4 x i32> %v129, <4 x i32> splat (i32 2147483647), i32 232)
  %v131 = bitcast <4 x i32> %v130 to <4 x float>
  %v133 = getelementptr float, ptr %v132, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v134 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v133, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v135 = fcmp ogt <4 x float> %v131, %v134
  %v136 = select <4 x i1> %v135, <4 x float> %v131, <4 x float> %v134
  %v137 = bitcast <4 x float> %v136 to <4 x i32>
  %v138 = fcmp ogt <4 x float> %v134, %v131
  %v139 = select <4 x i1> %v138, <4 x float> %v134, <4 x float> %v131
  %v140 = bitcast <4 x float> %v139 to <4 x i32>
  %v141 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v137, <4 x i32> %v140, <4 x i32> splat (i32 2147483647), i32 232)
  %v142 = bitcast <4 x i32> %v141 to <4 x float>
  %v144 = getelementptr float, ptr %v143, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v145 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v144, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v146 = fcmp ogt <4 x float> %v142, %v145
  %v147 = select <4 x i1> %v146, <4 x float> %v142, <4 x float> %v145
  %v148 = bitcast <4 x float> %v147 to <4 x i32>
  %v149 = fcmp ogt <4 x float> %v145, %v142
  %v150 = select <4 x i1> %v149, <4 x float> %v145, <4 x float> %v142
  %v151 = bitcast <4 x float> %v150 to <4 x i32>
  %v152 = call <4 x i32> @llvm.x86.avx512.pternlog.d.128(<4 x i32> %v148, <4 x i32> %v151, <4 x i32> splat (i32 2147483647), i32 232)
  %v153 = bitcast <4 x i32> %v152 to <4 x float>
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v153, ptr align 4 %v154, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v155 = add i64 %v6, 1
  %v156 = icmp ult i64 %v155, %end
  br i1 %v156, label %loop4, label %after5
after5:
  br label %after157
after157:
  ret void
}
