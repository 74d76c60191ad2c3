target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare <2 x float> @llvm.maximum.v2f32(<2 x float>, <2 x float>)
declare float @llvm.maximum.f32(float, float)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
define void @phases(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v76 = icmp ult i64 %begin, %end
  br i1 %v76, label %some3, label %after75
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v73, %after57]
  %v11 = mul i64 %v6, 77
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v16, %loop7]
  %v10 = phi <8 x float> [splat (float 0xFFF0000000000000), %loop4], [%v15, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <8 x float>, ptr %v13, align 4
  %v15 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v10, <8 x float> %v14)
  %v16 = add i64 %v9, 8
  %v17 = icmp ult i64 %v16, 72
  br i1 %v17, label %loop7, label %after8
after8:
  %v18 = getelementptr float, ptr %v12, i64 72
  %v19 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v18, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v20 = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> %v19, <8 x float> splat (float 0xFFF0000000000000)
  %v21 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v15, <8 x float> %v20)
  %v22 = shufflevector <8 x float> %v21, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v23 = shufflevector <8 x float> %v21, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v24 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v22, <4 x float> %v23)
  %v25 = shufflevector <4 x float> %v24, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v26 = shufflevector <4 x float> %v24, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v27 = call <2 x float> @llvm.maximum.v2f32(<2 x float> %v25, <2 x float> %v26)
  %v28 = extractelement <2 x float> %v27, i64 0
  %v29 = extractelement <2 x float> %v27, i64 1
  %v30 = call float @llvm.maximum.f32(float %v28, float %v29)
  %v37 = insertelement <8 x float> poison, float %v30, i64 0
  %v38 = shufflevector <8 x float> %v37, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop31
loop31:
  %v33 = phi i64 [0, %after8], [%v41, %loop31]
  %v34 = phi <8 x float> [splat (float 0x0000000000000000), %after8], [%v40, %loop31]
  %v35 = getelementptr float, ptr %v12, i64 %v33
  %v36 = load <8 x float>, ptr %v35, align 4
  %v39 = fsub <8 x float> %v38, %v36
  %v40 = fadd <8 x float> %v34, %v39
  %v41 = add i64 %v33, 8
  %v42 = icmp ult i64 %v41, 72
  br i1 %v42, label %loop31, label %after32
after32:
  %v43 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v18, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v44 = fsub <8 x float> %v38, %v43
  %v45 = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> %v44, <8 x float> splat (float 0x0000000000000000)
  %v46 = fadd <8 x float> %v40, %v45
  %v47 = shufflevector <8 x float> %v46, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v48 = shufflevector <8 x float> %v46, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v49 = fadd <4 x float> %v47, %v48
  %v50 = shufflevector <4 x float> %v49, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v51 = shufflevector <4 x float> %v49, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v52 = fadd <2 x float> %v50, %v51
  %v53 = extractelement <2 x float> %v52, i64 0
  %v54 = extractelement <2 x float> %v52, i64 1
  %v55 = fadd float %v53, %v54
  %v62 = insertelement <8 x float> poison, float %v55, i64 0
  %v63 = shufflevector <8 x float> %v62, <8 x float> poison, <8 x i32> zeroinitializer
  %v65 = getelementptr float, ptr %p1, i64 %v11
  br label %loop56
loop56:
  %v58 = phi i64 [0, %after32], [%v67, %loop56]
  %v59 = getelementptr float, ptr %v12, i64 %v58
  %v60 = load <8 x float>, ptr %v59, align 4
  %v61 = fsub <8 x float> %v38, %v60
  %v64 = fdiv <8 x float> %v61, %v63
  %v66 = getelementptr float, ptr %v65, i64 %v58
  store <8 x float> %v64, ptr %v66, align 4
  %v67 = add i64 %v58, 8
  %v68 = icmp ult i64 %v67, 72
  br i1 %v68, label %loop56, label %after57
after57:
  %v72 = getelementptr float, ptr %v65, i64 72
  %v69 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v18, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v70 = fsub <8 x float> %v38, %v69
  %v71 = fdiv <8 x float> %v70, %v63
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v71, ptr align 4 %v72, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v73 = add i64 %v6, 1
  %v74 = icmp ult i64 %v73, %end
  br i1 %v74, label %loop4, label %after5
after5:
  br label %after75
after75:
  ret void
}
