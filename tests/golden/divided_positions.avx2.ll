target triple = "x86_64-unknown-linux-gnu"
declare <8 x i8> @llvm.masked.gather.v8i8.v8p0(<8 x ptr>, <8 x i1>, <8 x i8>)
define void @divided_positions(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v26 = icmp ult i64 %begin, %end
  br i1 %v26, label %some4, label %after25
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v23, %loop5]
  %v8 = mul i64 %v7, 3
  %v9 = add i64 %v8, 5
  %v10 = trunc i64 %v9 to i32
  %v11 = insertelement <8 x i32> poison, i32 %v10, i64 0
  %v12 = shufflevector <8 x i32> %v11, <8 x i32> poison, <8 x i32> zeroinitializer
  %v13 = add <8 x i32> %v12, <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v14 = sdiv <8 x i32> %v13, splat (i32 7)
  %v15 = sitofp <8 x i32> %v14 to <8 x float>
  %v16 = getelementptr float, ptr %p1, i64 %v7
  store <8 x float> %v15, ptr %v16, align 4
  %v17 = srem <8 x i32> %v13, splat (i32 7)
  %v18 = getelementptr i8, ptr %p0, <8 x i32> %v17
  %v19 = call <8 x i8> @llvm.masked.gather.v8i8.v8p0(<8 x ptr> align 1 %v18, <8 x i1> splat (i1 true), <8 x i8> zeroinitializer)
  %v20 = icmp ugt <8 x i8> %v19, splat (i8 9)
  %v21 = zext <8 x i1> %v20 to <8 x i8>
  %v22 = getelementptr i8, ptr %p2, i64 %v7
  store <8 x i8> %v21, ptr %v22, align 1
  %v23 = add i64 %v7, 8
  %v24 = icmp ult i64 %v23, %end
  br i1 %v24, label %loop5, label %after6
after6:
  br label %after25
after25:
  ret void
}
