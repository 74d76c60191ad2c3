target triple = "x86_64-unknown-linux-gnu"
declare float @llvm.sqrt.f32(float)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare <2 x float> @llvm.sqrt.v2f32(<2 x float>)
define void @rare_in_two_loops(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v68 = icmp ult i64 %begin, %end
  br i1 %v68, label %some4, label %after67
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v65, %after31]
  %v8 = getelementptr float, ptr %p0, i64 %v7
  %v9 = load float, ptr %v8, align 4
  %v10 = fcmp ogt float %v9, 0x4024000000000000
  %v16 = mul i64 %v7, 3
  %v17 = getelementptr float, ptr %p1, i64 %v16
  %v11 = sitofp i64 0 to float
  %v12 = fmul float %v11, %v9
  %v13 = fadd float %v12, 0x3FF0000000000000
  %v14 = call float @llvm.sqrt.f32(float %v13)
  %v15 = select i1 %v10, float %v14, float %v12
  store float %v15, ptr %v17, align 4
  %v23 = getelementptr float, ptr %v17, i64 1
  %v18 = sitofp i64 1 to float
  %v19 = fmul float %v18, %v9
  %v20 = fadd float %v19, 0x3FF0000000000000
  %v21 = call float @llvm.sqrt.f32(float %v20)
  %v22 = select i1 %v10, float %v21, float %v19
  store float %v22, ptr %v23, align 4
  %v29 = getelementptr float, ptr %v17, i64 2
  %v24 = sitofp i64 2 to float
  %v25 = fmul float %v24, %v9
  %v26 = fadd float %v25, 0x3FF0000000000000
  %v27 = call float @llvm.sqrt.f32(float %v26)
  %v28 = select i1 %v10, float %v27, float %v25
  store float %v28, ptr %v29, align 4
  %v38 = insertelement <8 x float> poison, float %v9, i64 0
  %v39 = shufflevector <8 x float> %v38, <8 x float> poison, <8 x i32> zeroinitializer
  %v43 = insertelement <8 x i1> poison, i1 %v10, i64 0
  %v44 = shufflevector <8 x i1> %v43, <8 x i1> poison, <8 x i32> zeroinitializer
  %v46 = mul i64 %v7, 50
  %v47 = getelementptr float, ptr %p2, i64 %v46
  br label %loop30
loop30:
  %v32 = phi i64 [0, %loop5], [%v49, %loop30]
  %v33 = trunc i64 %v32 to i32
  %v34 = insertelement <8 x i32> poison, i32 %v33, i64 0
  %v35 = shufflevector <8 x i32> %v34, <8 x i32> poison, <8 x i32> zeroinitializer
  %v36 = add <8 x i32> %v35, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v37 = sitofp <8 x i32> %v36 to <8 x float>
  %v40 = fmul <8 x float> %v37, %v39
  %v41 = fadd <8 x float> %v40, splat (float 0x3FF0000000000000)
  %v42 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v41)
  %v45 = select <8 x i1> %v44, <8 x float> %v42, <8 x float> %v40
  %v48 = getelementptr float, ptr %v47, i64 %v32
  store <8 x float> %v45, ptr %v48, align 4
  %v49 = add i64 %v32, 8
  %v50 = icmp ult i64 %v49, 48
  br i1 %v50, label %loop30, label %after31
after31:
  %v56 = insertelement <2 x float> poison, float %v9, i64 0
  %v57 = shufflevector <2 x float> %v56, <2 x float> poison, <2 x i32> zeroinitializer
  %v61 = insertelement <2 x i1> poison, i1 %v10, i64 0
  %v62 = shufflevector <2 x i1> %v61, <2 x i1> poison, <2 x i32> zeroinitializer
  %v64 = getelementptr float, ptr %v47, i64 48
  %v51 = trunc i64 48 to i32
  %v52 = insertelement <2 x i32> poison, i32 %v51, i64 0
  %v53 = shufflevector <2 x i32> %v52, <2 x i32> poison, <2 x i32> zeroinitializer
  %v54 = add <2 x i32> %v53, <i32 0, i32 1>
  %v55 = sitofp <2 x i32> %v54 to <2 x float>
  %v58 = fmul <2 x float> %v55, %v57
  %v59 = fadd <2 x float> %v58, splat (float 0x3FF0000000000000)
  %v60 = call <2 x float> @llvm.sqrt.v2f32(<2 x float> %v59)
  %v63 = select <2 x i1> %v62, <2 x float> %v60, <2 x float> %v58
  store <2 x float> %v63, ptr %v64, align 4
  %v65 = add i64 %v7, 1
  %v66 = icmp ult i64 %v65, %end
  br i1 %v66, label %loop5, label %after6
after6:
  br label %after67
after67:
  ret void
}
