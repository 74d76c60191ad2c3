target triple = "x86_64-unknown-linux-gnu"
declare void @llvm.masked.scatter.v8i16.v8p0(<8 x i16>, <8 x ptr>, <8 x i1>)
declare <8 x i64> @llvm.masked.load.v8i64.p0(ptr, <8 x i1>, <8 x i64>)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr, <8 x i1>, <8 x i16>)
define void @scattered(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v4 = getelementptr ptr, ptr %args, i64 3
  %p3 = load ptr, ptr %v4, align 8
  br label %loop5
loop5:
  %v7 = phi i64 [0, %entry], [%v16, %loop5]
  %v8 = getelementptr i64, ptr %p1, i64 %v7
  %v9 = load <8 x i64>, ptr %v8, align 8
  %v10 = getelementptr i16, ptr %p0, i64 %v7
  %v11 = load <8 x i16>, ptr %v10, align 2
  %v12 = getelementptr i16, ptr %p2, <8 x i64> %v9
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v11, <8 x ptr> align 2 %v12, <8 x i1> splat (i1 true))
  %v13 = icmp sgt <8 x i16> %v11, splat (i16 7)
  %v14 = mul <8 x i64> %v9, splat (i64 2)
  %v15 = getelementptr i16, ptr %p3, <8 x i64> %v14
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v11, <8 x ptr> align 2 %v15, <8 x i1> %v13)
  %v16 = add i64 %v7, 8
  %v17 = icmp ult i64 %v16, 40
  br i1 %v17, label %loop5, label %after6
after6:
  %v18 = getelementptr i64, ptr %p1, i64 40
  %v20 = getelementptr i16, ptr %p0, i64 40
  %v19 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %v18, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x i64> zeroinitializer)
  %v21 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %v20, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %v22 = getelementptr i16, ptr %p2, <8 x i64> %v19
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v21, <8 x ptr> align 2 %v22, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v23 = icmp sgt <8 x i16> %v21, splat (i16 7)
  %v24 = and <8 x i1> %v23, <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>
  %v25 = mul <8 x i64> %v19, splat (i64 2)
  %v26 = getelementptr i16, ptr %p3, <8 x i64> %v25
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v21, <8 x ptr> align 2 %v26, <8 x i1> %v24)
  ret void
}
