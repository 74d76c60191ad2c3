target triple = "x86_64-unknown-linux-gnu"
declare <16 x float> @llvm.maximum.v16f32(<16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare <2 x float> @llvm.maximum.v2f32(<2 x float>, <2 x float>)
declare float @llvm.maximum.f32(float, float)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define void @phases(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v82 = icmp ult i64 %begin, %end
  br i1 %v82, label %some3, label %after81
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v79, %after63]
  %v11 = mul i64 %v6, 77
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v16, %loop7]
  %v10 = phi <16 x float> [splat (float 0xFFF0000000000000), %loop4], [%v15, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <16 x float>, ptr %v13, align 4
  %v15 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v10, <16 x float> %v14)
  %v16 = add i64 %v9, 16
  %v17 = icmp ult i64 %v16, 64
  br i1 %v17, label %loop7, label %after8
after8:
  %v18 = getelementptr float, ptr %v12, i64 64
  %v19 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v18, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v20 = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> %v19, <16 x float> splat (float 0xFFF0000000000000)
  %v21 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v15, <16 x float> %v20)
  %v22 = shufflevector <16 x float> %v21, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v23 = shufflevector <16 x float> %v21, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v24 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v22, <8 x float> %v23)
  %v25 = shufflevector <8 x float> %v24, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v26 = shufflevector <8 x float> %v24, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v27 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v25, <4 x float> %v26)
  %v28 = shufflevector <4 x float> %v27, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v29 = shufflevector <4 x float> %v27, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v30 = call <2 x float> @llvm.maximum.v2f32(<2 x float> %v28, <2 x float> %v29)
  %v31 = extractelement <2 x float> %v30, i64 0
  %v32 = extractelement <2 x float> %v30, i64 1
  %v33 = call float @llvm.maximum.f32(float %v31, float %v32)
  %v40 = insertelement <16 x float> poison, float %v33, i64 0
  %v41 = shufflevector <16 x float> %v40, <16 x float> poison, <16 x i32> zeroinitializer
  br label %loop34
loop34:
  %v36 = phi i64 [0, %after8], [%v44, %loop34]
  %v37 = phi <16 x float> [splat (float 0x0000000000000000), %after8], [%v43, %loop34]
  %v38 = getelementptr float, ptr %v12, i64 %v36
  %v39 = load <16 x float>, ptr %v38, align 4
  %v42 = fsub <16 x float> %v41, %v39
  %v43 = fadd <16 x float> %v37, %v42
  %v44 = add i64 %v36, 16
  %v45 = icmp ult i64 %v44, 64
  br i1 %v45, label %loop34, label %after35
after35:
  %v46 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v18, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v47 = fsub <16 x float> %v41, %v46
  %v48 = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> %v47, <16 x float> splat (float 0x0000000000000000)
  %v49 = fadd <16 x float> %v43, %v48
  %v50 = shufflevector <16 x float> %v49, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v51 = shufflevector <16 x float> %v49, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v52 = fadd <8 x float> %v50, %v51
  %v53 = shufflevector <8 x float> %v52, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v54 = shufflevector <8 x float> %v52, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v55 = fadd <4 x float> %v53, %v54
  %v56 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v57 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v58 = fadd <2 x float> %v56, %v57
  %v59 = extractelement <2 x float> %v58, i64 0
  %v60 = extractelement <2 x float> %v58, i64 1
  %v61 = fadd float %v59, %v60
  %v68 = insertelement <16 x float> poison, float %v61, i64 0
  %v69 = shufflevector <16 x float> %v68, <16 x float> poison, <16 x i32> zeroinitializer
  %v71 = getelementptr float, ptr %p1, i64 %v11
  br label %loop62
loop62:
  %v64 = phi i64 [0, %after35], [%v73, %loop62]
  %v65 = getelementptr float, ptr %v12, i64 %v64
  %v66 = load <16 x float>, ptr %v65, align 4
  %v67 = fsub <16 x float> %v41, %v66
  %v70 = fdiv <16 x float> %v67, %v69
  %v72 = getelementptr float, ptr %v71, i64 %v64
  store <16 x float> %v70, ptr %v72, align 4
  %v73 = add i64 %v64, 16
  %v74 = icmp ult i64 %v73, 64
  br i1 %v74, label %loop62, label %after63
after63:
  %v78 = getelementptr float, ptr %v71, i64 64
  %v75 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v18, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v76 = fsub <16 x float> %v41, %v75
  %v77 = fdiv <16 x float> %v76, %v69
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v77, ptr align 4 %v78, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v79 = add i64 %v6, 1
  %v80 = icmp ult i64 %v79, %end
  br i1 %v80, label %loop4, label %after5
after5:
  br label %after81
after81:
  ret void
}
