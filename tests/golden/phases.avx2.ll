target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare float @llvm.maximum.f32(float, float)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
define void @phases(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v116 = icmp ult i64 %begin, %end
  br i1 %v116, label %some3, label %after115
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v113, %after97]
  %v11 = mul i64 %v6, 77
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v26, %loop7]
  %v10 = phi <8 x float> [splat (float 0xFFF0000000000000), %loop4], [%v25, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <8 x float>, ptr %v13, align 4
  %v15 = fcmp ogt <8 x float> %v10, %v14
  %v16 = select <8 x i1> %v15, <8 x float> %v10, <8 x float> %v14
  %v17 = bitcast <8 x float> %v16 to <8 x i32>
  %v18 = fcmp ogt <8 x float> %v14, %v10
  %v19 = select <8 x i1> %v18, <8 x float> %v14, <8 x float> %v10
  %v20 = bitcast <8 x float> %v19 to <8 x i32>
  %v21 = or <8 x i32> %v17, %v20
  %v22 = and <8 x i32> %v17, %v20
  %v23 = or <8 x i32> %v22, splat (i32 2147483647)
  %v24 = and <8 x i32> %v21, %v23
  %v25 = bitcast <8 x i32> %v24 to <8 x float>
  %v26 = add i64 %v9, 8
  %v27 = icmp ult i64 %v26, 72
  br i1 %v27, label %loop7, label %after8
after8:
  %v28 = getelementptr float, ptr %v12, i64 72
  %v29 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v28, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v30 = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> %v29, <8 x float> splat (float 0xFFF0000000000000)
  %v31 = fcmp ogt <8 x float> %v25, %v30
  %v32 = select <8 x i1> %v31, <8 x float> %v25, <8 x float> %v30
  %v33 = bitcast <8 x float> %v32 to <8 x i32>
  %v34 = fcmp ogt <8 x float> %v30, %v25
  %v35 = select <8 x i1> %v34, <8 x float> %v30, <8 x float> %v25
  %v36 = bitcast <8 x float> %v35 to <8 x i32>
  %v37 = or <8 x i32> %v33, %v36
  %v38 = and <8 x i32> %v33, %v36
  %v39 = or <8 x i32> %v38, splat (i32 2147483647)
  %v40 = and <8 x i32> %v37, %v39
  %v41 = bitcast <8 x i32> %v40 to <8 x float>
  %v42 = shufflevector <8 x float> %v41, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v43 = shufflevector <8 x float> %v41, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v44 = fcmp ogt <4 x float> %v42, %v43
  %v45 = select <4 x i1> %v44, <4 x float> %v42, <4 x float> %v43
  %v46 = bitcast <4 x float> %v45 to <4 x i32>
  %v47 = fcmp ogt <4 x float> %v43, %v42
  %v48 = select <4 x i1> %v47, <4 x float> %v43, <4 x float> %v42
  %v49 = bitcast <4 x float> %v48 to <4 x i32>
  %v50 = or <4 x i32> %v46, %v49
  %v51 = and <4 x i32> %v46, %v49
  %v52 = or <4 x i32> %v51, splat (i32 2147483647)
  %v53 = and <4 x i32> %v50, %v52
  %v54 = bitcast <4 x i32> %v53 to <4 x float>
  %v55 = shufflevector <4 x float> %v54, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v56 = shufflevector <4 x float> %v54, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v57 = fcmp ogt <2 x float> %v55, %v56
  %v58 = select <2 x i1> %v57, <2 x float> %v55, <2 x float> %v56
  %v59 = bitcast <2 x float> %v58 to <2 x i32>
  %v60 = fcmp ogt <2 x float> %v56, %v55
  %v61 = select <2 x i1> %v60, <2 x float> %v56, <2 x float> %v55
  %v62 = bitcast <2 x float> %v61 to <2 x i32>
  %v63 = or <2 x i32> %v59, %v62
  %v64 = and <2 x i32> %v59, %v62
  %v65 = or <2 x i32> %v64, splat (i32 2147483647)
  %v66 = and <2 x i32> %v63, %v65
  %v67 = bitcast <2 x i32> %v66 to <2 x float>
  %v68 = extractelement <2 x float> %v67, i64 0
  %v69 = extractelement <2 x float> %v67, i64 1
  %v70 = call float @llvm.maximum.f32(float %v68, float %v69)
  %v77 = insertelement <8 x float> poison, float %v70, i64 0
  %v78 = shufflevector <8 x float> %v77, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop71
loop71:
  %v73 = phi i64 [0, %after8], [%v81, %loop71]
  %v74 = phi <8 x float> [splat (float 0x0000000000000000), %after8], [%v80, %loop71]
  %v75 = getelementptr float, ptr %v12, i64 %v73
  %v76 = load <8 x float>, ptr %v75, align 4
  %v79 = fsub <8 x float> %v78, %v76
  %v80 = fadd <8 x float> %v74, %v79
  %v81 = add i64 %v73, 8
  %v82 = icmp ult i64 %v81, 72
  br i1 %v82, label %loop71, label %after72
after72:
  %v83 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v28, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v84 = fsub <8 x float> %v78, %v83
  %v85 = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> %v84, <8 x float> splat (float 0x0000000000000000)
  %v86 = fadd <8 x float> %v80, %v85
  %v87 = shufflevector <8 x float> %v86, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v88 = shufflevector <8 x float> %v86, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v89 = fadd <4 x float> %v87, %v88
  %v90 = shufflevector <4 x float> %v89, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v91 = shufflevector <4 x float> %v89, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v92 = fadd <2 x float> %v90, %v91
  %v93 = extractelement <2 x float> %v92, i64 0
  %v94 = extractelement <2 x float> %v92, i64 1
  %v95 = fadd float %v93, %v94
  %v102 = insertelement <8 x float> poison, float %v95, i64 0
  %v103 = shufflevector <8 x float> %v102, <8 x float> poison, <8 x i32> zeroinitializer
  %v105 = getelementptr float, ptr %p1, i64 %v11
  br label %loop96
loop96:
  %v98 = phi i64 [0, %after72], [%v107, %loop96]
  %v99 = getelementptr float, ptr %v12, i64 %v98
  %v100 = load <8 x float>, ptr %v99, align 4
  %v101 = fsub <8 x float> %v78, %v100
  %v104 = fdiv <8 x float> %v101, %v103
  %v106 = getelementptr float, ptr %v105, i64 %v98
  store <8 x float> %v104, ptr %v106, align 4
  %v107 = add i64 %v98, 8
  %v108 = icmp ult i64 %v107, 72
  br i1 %v108, label %loop96, label %after97
after97:
  %v112 = getelementptr float, ptr %v105, i64 72
  %v109 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v28, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v110 = fsub <8 x float> %v78, %v109
  %v111 = fdiv <8 x float> %v110, %v103
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v111, ptr align 4 %v112, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v113 = add i64 %v6, 1
  %v114 = icmp ult i64 %v113, %end
  br i1 %v114, label %loop4, label %after5
after5:
  br label %after115
after115:
  ret void
}
