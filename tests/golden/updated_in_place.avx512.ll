target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
define void @updated_in_place(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v23 = getelementptr float, ptr %p0, i64 32
  br label %loop4
loop4:
  %v6 = phi i64 [0, %entry], [%v33, %after8]
  %v12 = sitofp i64 %v6 to float
  %v13 = insertelement <16 x float> poison, float %v12, i64 0
  %v14 = shufflevector <16 x float> %v13, <16 x float> poison, <16 x i32> zeroinitializer
  %v18 = mul i64 %v6, 37
  %v19 = getelementptr float, ptr %p1, i64 %v18
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v21, %loop7]
  %v10 = getelementptr float, ptr %p0, i64 %v9
  %v11 = load <16 x float>, ptr %v10, align 4
  %v15 = fadd <16 x float> %v11, %v14
  store <16 x float> %v15, ptr %v10, align 4
  %v16 = load <16 x float>, ptr %v10, align 4
  %v17 = fmul <16 x float> %v16, splat (float 0x4000000000000000)
  %v20 = getelementptr float, ptr %v19, i64 %v9
  store <16 x float> %v17, ptr %v20, align 4
  %v21 = add i64 %v9, 16
  %v22 = icmp ult i64 %v21, 32
  br i1 %v22, label %loop7, label %after8
after8:
  %v25 = insertelement <8 x float> poison, float %v12, i64 0
  %v26 = shufflevector <8 x float> %v25, <8 x float> poison, <8 x i32> zeroinitializer
  %v30 = getelementptr float, ptr %v19, i64 32
  %v24 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v23, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v27 = fadd <8 x float> %v24, %v26
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v27, ptr align 4 %v23, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v28 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v23, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v29 = fmul <8 x float> %v28, splat (float 0x4000000000000000)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v29, ptr align 4 %v30, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v31 = load float, ptr %p0, align 4
  %v32 = getelementptr float, ptr %p2, i64 %v6
  store float %v31, ptr %v32, align 4
  %v33 = add i64 %v6, 1
  %v34 = icmp ult i64 %v33, 7
  br i1 %v34, label %loop4, label %after5
after5:
  ret void
}
