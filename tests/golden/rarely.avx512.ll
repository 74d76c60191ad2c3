target triple = "x86_64-unknown-linux-gnu"
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.sqrt.v16f32(<16 x float>)
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
define void @rarely(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = call i64 @llvm.umin.i64(i64 %end, i64 112)
  %v29 = icmp ult i64 %begin, %v3
  br i1 %v29, label %some4, label %after28
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v26, %after17]
  %v8 = getelementptr float, ptr %p0, i64 %v7
  %v9 = load <16 x float>, ptr %v8, align 4
  %v10 = fcmp ogt <16 x float> %v9, splat (float 0x4031000000000000)
  %v18 = call i1 @llvm.vector.reduce.or.v16i1(<16 x i1> %v10)
  br i1 %v18, label %rare11, label %after17
rare11:
  %v12 = fmul <16 x float> %v9, %v9
  %v13 = fadd <16 x float> %v12, splat (float 0x3FF0000000000000)
  %v14 = call <16 x float> @llvm.sqrt.v16f32(<16 x float> %v13)
  %v15 = fdiv <16 x float> %v14, splat (float 0x4008000000000000)
  %v16 = fsub <16 x float> %v14, splat (float 0x4000000000000000)
  br label %after17
after17:
  %v19 = phi <16 x float> [%v15, %rare11], [poison, %loop5]
  %v20 = phi <16 x float> [%v16, %rare11], [poison, %loop5]
  %v21 = select <16 x i1> %v10, <16 x float> %v19, <16 x float> %v9
  %v22 = fadd <16 x float> %v9, splat (float 0x3FF0000000000000)
  %v23 = select <16 x i1> %v10, <16 x float> %v20, <16 x float> %v22
  %v24 = fmul <16 x float> %v21, %v23
  %v25 = getelementptr float, ptr %p1, i64 %v7
  store <16 x float> %v24, ptr %v25, align 4
  %v26 = add i64 %v7, 16
  %v27 = icmp ult i64 %v26, %v3
  br i1 %v27, label %loop5, label %after6
after6:
  br label %after28
after28:
  %v31 = getelementptr float, ptr %p0, i64 112
  %v48 = getelementptr float, ptr %p1, i64 112
  %v50 = icmp eq i64 %end, 120
  br i1 %v50, label %last30, label %after49
last30:
  %v32 = load <8 x float>, ptr %v31, align 4
  %v33 = fcmp ogt <8 x float> %v32, splat (float 0x4031000000000000)
  %v41 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %v33)
  br i1 %v41, label %rare34, label %after40
rare34:
  %v35 = fmul <8 x float> %v32, %v32
  %v36 = fadd <8 x float> %v35, splat (float 0x3FF0000000000000)
  %v37 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v36)
  %v38 = fdiv <8 x float> %v37, splat (float 0x4008000000000000)
  %v39 = fsub <8 x float> %v37, splat (float 0x4000000000000000)
  br label %after40
after40:
  %v42 = phi <8 x float> [%v38, %rare34], [poison, %last30]
  %v43 = phi <8 x float> [%v39, %rare34], [poison, %last30]
  %v44 = select <8 x i1> %v33, <8 x float> %v42, <8 x float> %v32
  %v45 = fadd <8 x float> %v32, splat (float 0x3FF0000000000000)
  %v46 = select <8 x i1> %v33, <8 x float> %v43, <8 x float> %v45
  %v47 = fmul <8 x float> %v44, %v46
  store <8 x float> %v47, ptr %v48, align 4
  br label %after49
after49:
  ret void
}
