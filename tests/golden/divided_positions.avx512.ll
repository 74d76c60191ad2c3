target triple = "x86_64-unknown-linux-gnu"
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x i8> @llvm.masked.gather.v16i8.v16p0(<16 x ptr>, <16 x i1>, <16 x i8>)
declare <8 x i8> @llvm.masked.gather.v8i8.v8p0(<8 x ptr>, <8 x i1>, <8 x i8>)
define void @divided_positions(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v4 = call i64 @llvm.umin.i64(i64 %end, i64 192)
  %v27 = icmp ult i64 %begin, %v4
  br i1 %v27, label %some5, label %after26
some5:
  br label %loop6
loop6:
  %v8 = phi i64 [%begin, %some5], [%v24, %loop6]
  %v9 = mul i64 %v8, 3
  %v10 = add i64 %v9, 5
  %v11 = trunc i64 %v10 to i32
  %v12 = insertelement <16 x i32> poison, i32 %v11, i64 0
  %v13 = shufflevector <16 x i32> %v12, <16 x i32> poison, <16 x i32> zeroinitializer
  %v14 = add <16 x i32> %v13, <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21, i32 24, i32 27, i32 30, i32 33, i32 36, i32 39, i32 42, i32 45>
  %v15 = sdiv <16 x i32> %v14, splat (i32 7)
  %v16 = sitofp <16 x i32> %v15 to <16 x float>
  %v17 = getelementptr float, ptr %p1, i64 %v8
  store <16 x float> %v16, ptr %v17, align 4
  %v18 = srem <16 x i32> %v14, splat (i32 7)
  %v19 = getelementptr i8, ptr %p0, <16 x i32> %v18
  %v20 = call <16 x i8> @llvm.masked.gather.v16i8.v16p0(<16 x ptr> align 1 %v19, <16 x i1> splat (i1 true), <16 x i8> zeroinitializer)
  %v21 = icmp ugt <16 x i8> %v20, splat (i8 9)
  %v22 = zext <16 x i1> %v21 to <16 x i8>
  %v23 = getelementptr i8, ptr %p2, i64 %v8
  store <16 x i8> %v22, ptr %v23, align 1
  %v24 = add i64 %v8, 16
  %v25 = icmp ult i64 %v24, %v4
  br i1 %v25, label %loop6, label %after7
after7:
  br label %after26
after26:
  %v35 = getelementptr float, ptr %p1, i64 192
  %v41 = getelementptr i8, ptr %p2, i64 192
  %v43 = icmp eq i64 %end, 200
  br i1 %v43, label %last28, label %after42
last28:
  %v29 = trunc i64 581 to i32
  %v30 = insertelement <8 x i32> poison, i32 %v29, i64 0
  %v31 = shufflevector <8 x i32> %v30, <8 x i32> poison, <8 x i32> zeroinitializer
  %v32 = add <8 x i32> %v31, <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v33 = sdiv <8 x i32> %v32, splat (i32 7)
  %v34 = sitofp <8 x i32> %v33 to <8 x float>
  store <8 x float> %v34, ptr %v35, align 4
  %v36 = srem <8 x i32> %v32, splat (i32 7)
  %v37 = getelementptr i8, ptr %p0, <8 x i32> %v36
  %v38 = call <8 x i8> @llvm.masked.gather.v8i8.v8p0(<8 x ptr> align 1 %v37, <8 x i1> splat (i1 true), <8 x i8> zeroinitializer)
  %v39 = icmp ugt <8 x i8> %v38, splat (i8 9)
  %v40 = zext <8 x i1> %v39 to <8 x i8>
  store <8 x i8> %v40, ptr %v41, align 1
  br label %after42
after42:
  ret void
}
