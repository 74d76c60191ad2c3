target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
define void @rarely(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v28 = icmp ult i64 %begin, %end
  br i1 %v28, label %some3, label %after27
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v25, %after16]
  %v7 = getelementptr float, ptr %p0, i64 %v6
  %v8 = load <8 x float>, ptr %v7, align 4
  %v9 = fcmp ogt <8 x float> %v8, splat (float 0x4031000000000000)
  %v17 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %v9)
  br i1 %v17, label %rare10, label %after16
rare10:
  %v11 = fmul <8 x float> %v8, %v8
  %v12 = fadd <8 x float> %v11, splat (float 0x3FF0000000000000)
  %v13 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v12)
  %v14 = fdiv <8 x float> %v13, splat (float 0x4008000000000000)
  %v15 = fsub <8 x float> %v13, splat (float 0x4000000000000000)
  br label %after16
after16:
  %v18 = phi <8 x float> [%v14, %rare10], [poison, %loop4]
  %v19 = phi <8 x float> [%v15, %rare10], [poison, %loop4]
  %v20 = select <8 x i1> %v9, <8 x float> %v18, <8 x float> %v8
  %v21 = fadd <8 x float> %v8, splat (float 0x3FF0000000000000)
  %v22 = select <8 x i1> %v9, <8 x float> %v19, <8 x float> %v21
  %v23 = fmul <8 x float> %v20, %v22
  %v24 = getelementptr float, ptr %p1, i64 %v6
  store <8 x float> %v23, ptr %v24, align 4
  %v25 = add i64 %v6, 8
  %v26 = icmp ult i64 %v25, %end
  br i1 %v26, label %loop4, label %after5
after5:
  br label %after27
after27:
  ret void
}
