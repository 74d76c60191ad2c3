target triple = "x86_64-unknown-linux-gnu"
declare void @llvm.masked.scatter.v16i16.v16p0(<16 x i16>, <16 x ptr>, <16 x i1>)
declare <16 x i64> @llvm.masked.load.v16i64.p0(ptr, <16 x i1>, <16 x i64>)
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
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
  %v9 = load <16 x i64>, ptr %v8, align 8
  %v10 = getelementptr i16, ptr %p0, i64 %v7
  %v11 = load <16 x i16>, ptr %v10, align 2
  %v12 = getelementptr i16, ptr %p2, <16 x i64> %v9
  call void @llvm.masked.scatter.v16i16.v16p0(<16 x i16> %v11, <16 x ptr> align 2 %v12, <16 x i1> splat (i1 true))
  %v13 = icmp sgt <16 x i16> %v11, splat (i16 7)
  %v14 = mul <16 x i64> %v9, splat (i64 2)
  %v15 = getelementptr i16, ptr %p3, <16 x i64> %v14
  call void @llvm.masked.scatter.v16i16.v16p0(<16 x i16> %v11, <16 x ptr> align 2 %v15, <16 x i1> %v13)
  %v16 = add i64 %v7, 16
  %v17 = icmp ult i64 %v16, 32
  br i1 %v17, label %loop5, label %after6
after6:
  %v18 = getelementptr i64, ptr %p1, i64 32
  %v20 = getelementptr i16, ptr %p0, i64 32
  %v19 = call <16 x i64> @llvm.masked.load.v16i64.p0(ptr align 8 %v18, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x i64> zeroinitializer)
  %v21 = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %v20, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %v22 = getelementptr i16, ptr %p2, <16 x i64> %v19
  call void @llvm.masked.scatter.v16i16.v16p0(<16 x i16> %v21, <16 x ptr> align 2 %v22, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v23 = icmp sgt <16 x i16> %v21, splat (i16 7)
  %v24 = and <16 x i1> %v23, <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>
  %v25 = mul <16 x i64> %v19, splat (i64 2)
  %v26 = getelementptr i16, ptr %p3, <16 x i64> %v25
  call void @llvm.masked.scatter.v16i16.v16p0(<16 x i16> %v21, <16 x ptr> align 2 %v26, <16 x i1> %v24)
  ret void
}
