target triple = "x86_64-unknown-linux-gnu"
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define void @map_with_rest(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v4 = call i64 @llvm.umin.i64(i64 %end, i64 288)
  %v18 = icmp ult i64 %begin, %v4
  br i1 %v18, label %some5, label %after17
some5:
  br label %loop6
loop6:
  %v8 = phi i64 [%begin, %some5], [%v15, %loop6]
  %v9 = getelementptr float, ptr %p0, i64 %v8
  %v10 = load <16 x float>, ptr %v9, align 4
  %v11 = getelementptr float, ptr %p1, i64 %v8
  %v12 = load <16 x float>, ptr %v11, align 4
  %v13 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v10, <16 x float> splat (float 0x4000000000000000), <16 x float> %v12)
  %v14 = getelementptr float, ptr %p2, i64 %v8
  store <16 x float> %v13, ptr %v14, align 4
  %v15 = add i64 %v8, 16
  %v16 = icmp ult i64 %v15, %v4
  br i1 %v16, label %loop6, label %after7
after7:
  br label %after17
after17:
  %v20 = getelementptr float, ptr %p0, i64 288
  %v22 = getelementptr float, ptr %p1, i64 288
  %v25 = getelementptr float, ptr %p2, i64 288
  %v27 = icmp eq i64 %end, 301
  br i1 %v27, label %last19, label %after26
last19:
  %v21 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v20, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v23 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v22, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v24 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v21, <16 x float> splat (float 0x4000000000000000), <16 x float> %v23)
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v24, ptr align 4 %v25, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  br label %after26
after26:
  ret void
}
