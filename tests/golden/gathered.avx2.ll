target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
define void @gathered(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v23 = getelementptr i32, ptr %p1, i64 16
  %v33 = icmp ult i64 %begin, %end
  br i1 %v33, label %some4, label %after32
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v30, %after9]
  %v14 = getelementptr float, ptr %p0, i64 %v7
  %v18 = mul i64 %v7, 21
  %v19 = getelementptr float, ptr %p2, i64 %v18
  br label %loop8
loop8:
  %v10 = phi i64 [0, %loop5], [%v21, %loop8]
  %v11 = getelementptr i32, ptr %p1, i64 %v10
  %v12 = load <8 x i32>, ptr %v11, align 4
  %v13 = sext <8 x i32> %v12 to <8 x i64>
  %v15 = mul <8 x i64> %v13, splat (i64 50)
  %v16 = getelementptr float, ptr %v14, <8 x i64> %v15
  %v17 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v16, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v20 = getelementptr float, ptr %v19, i64 %v10
  store <8 x float> %v17, ptr %v20, align 4
  %v21 = add i64 %v10, 8
  %v22 = icmp ult i64 %v21, 16
  br i1 %v22, label %loop8, label %after9
after9:
  %v29 = getelementptr float, ptr %v19, i64 16
  %v24 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %v23, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x i32> zeroinitializer)
  %v25 = sext <8 x i32> %v24 to <8 x i64>
  %v26 = mul <8 x i64> %v25, splat (i64 50)
  %v27 = getelementptr float, ptr %v14, <8 x i64> %v26
  %v28 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v27, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v28, ptr align 4 %v29, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v30 = add i64 %v7, 1
  %v31 = icmp ult i64 %v30, %end
  br i1 %v31, label %loop5, label %after6
after6:
  br label %after32
after32:
  ret void
}
