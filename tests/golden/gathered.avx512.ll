target triple = "x86_64-unknown-linux-gnu"
declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
define void @gathered(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v16 = getelementptr i32, ptr %p1, i64 16
  %v26 = icmp ult i64 %begin, %end
  br i1 %v26, label %some4, label %after25
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v23, %loop5]
  %v10 = getelementptr float, ptr %p0, i64 %v7
  %v14 = mul i64 %v7, 21
  %v15 = getelementptr float, ptr %p2, i64 %v14
  %v8 = load <16 x i32>, ptr %p1, align 4
  %v9 = sext <16 x i32> %v8 to <16 x i64>
  %v11 = mul <16 x i64> %v9, splat (i64 50)
  %v12 = getelementptr float, ptr %v10, <16 x i64> %v11
  %v13 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v12, <16 x i1> splat (i1 true), <16 x float> zeroinitializer)
  store <16 x float> %v13, ptr %v15, align 4
  %v22 = getelementptr float, ptr %v15, i64 16
  %v17 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %v16, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x i32> zeroinitializer)
  %v18 = sext <8 x i32> %v17 to <8 x i64>
  %v19 = mul <8 x i64> %v18, splat (i64 50)
  %v20 = getelementptr float, ptr %v10, <8 x i64> %v19
  %v21 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v20, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v21, ptr align 4 %v22, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v23 = add i64 %v7, 1
  %v24 = icmp ult i64 %v23, %end
  br i1 %v24, label %loop5, label %after6
after6:
  br label %after25
after25:
  ret void
}
