target triple = "x86_64-unknown-linux-gnu"
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x i16> @llvm.smax.v8i16(<8 x i16>, <8 x i16>)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr, <8 x i1>, <8 x i16>)
declare void @llvm.masked.store.v8i16.p0(<8 x i16>, ptr, <8 x i1>)
define void @running_columns(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = call i64 @llvm.umin.i64(i64 %end, i64 64)
  %v26 = icmp ult i64 %begin, %v3
  br i1 %v26, label %some4, label %after25
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v23, %after9]
  %v12 = getelementptr i16, ptr %p0, i64 %v7
  %v18 = getelementptr i16, ptr %p1, i64 %v7
  br label %loop8
loop8:
  %v10 = phi i64 [0, %loop5], [%v21, %loop8]
  %v11 = phi <8 x i16> [splat (i16 7), %loop5], [%v17, %loop8]
  %v13 = mul i64 %v10, -70
  %v14 = getelementptr i16, ptr %v12, i64 %v13
  %v15 = getelementptr i16, ptr %v14, i64 560
  %v16 = load <8 x i16>, ptr %v15, align 2
  %v17 = call <8 x i16> @llvm.smax.v8i16(<8 x i16> %v11, <8 x i16> %v16)
  %v19 = getelementptr i16, ptr %v18, i64 %v13
  %v20 = getelementptr i16, ptr %v19, i64 560
  store <8 x i16> %v17, ptr %v20, align 2
  %v21 = add i64 %v10, 1
  %v22 = icmp ult i64 %v21, 9
  br i1 %v22, label %loop8, label %after9
after9:
  %v23 = add i64 %v7, 8
  %v24 = icmp ult i64 %v23, %v3
  br i1 %v24, label %loop5, label %after6
after6:
  br label %after25
after25:
  %v42 = icmp eq i64 %end, 70
  br i1 %v42, label %last27, label %after41
last27:
  br label %loop28
loop28:
  %v30 = phi i64 [0, %last27], [%v39, %loop28]
  %v31 = phi <8 x i16> [splat (i16 7), %last27], [%v36, %loop28]
  %v32 = mul i64 %v30, -70
  %v33 = getelementptr i16, ptr %p0, i64 %v32
  %v34 = getelementptr i16, ptr %v33, i64 624
  %v35 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %v34, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %v36 = call <8 x i16> @llvm.smax.v8i16(<8 x i16> %v31, <8 x i16> %v35)
  %v37 = getelementptr i16, ptr %p1, i64 %v32
  %v38 = getelementptr i16, ptr %v37, i64 624
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %v36, ptr align 2 %v38, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>)
  %v39 = add i64 %v30, 1
  %v40 = icmp ult i64 %v39, 9
  br i1 %v40, label %loop28, label %after29
after29:
  br label %after41
after41:
  ret void
}
