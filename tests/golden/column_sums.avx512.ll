target triple = "x86_64-unknown-linux-gnu"
declare i64 @llvm.umin.i64(i64, i64)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define void @column_sums(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = call i64 @llvm.umin.i64(i64 %end, i64 80)
  %v23 = icmp ult i64 %begin, %v3
  br i1 %v23, label %some4, label %after22
some4:
  br label %loop5
loop5:
  %v7 = phi i64 [%begin, %some4], [%v20, %after9]
  %v12 = getelementptr float, ptr %p0, i64 %v7
  br label %loop8
loop8:
  %v10 = phi i64 [0, %loop5], [%v17, %loop8]
  %v11 = phi <16 x float> [splat (float 0x4008000000000000), %loop5], [%v16, %loop8]
  %v13 = mul i64 %v10, 83
  %v14 = getelementptr float, ptr %v12, i64 %v13
  %v15 = load <16 x float>, ptr %v14, align 4
  %v16 = fadd <16 x float> %v11, %v15
  %v17 = add i64 %v10, 1
  %v18 = icmp ult i64 %v17, 9
  br i1 %v18, label %loop8, label %after9
after9:
  %v19 = getelementptr float, ptr %p1, i64 %v7
  store <16 x float> %v16, ptr %v19, align 4
  %v20 = add i64 %v7, 16
  %v21 = icmp ult i64 %v20, %v3
  br i1 %v21, label %loop5, label %after6
after6:
  br label %after22
after22:
  %v36 = getelementptr float, ptr %p1, i64 80
  %v38 = icmp eq i64 %end, 83
  br i1 %v38, label %last24, label %after37
last24:
  br label %loop25
loop25:
  %v27 = phi i64 [0, %last24], [%v34, %loop25]
  %v28 = phi <4 x float> [splat (float 0x4008000000000000), %last24], [%v33, %loop25]
  %v29 = mul i64 %v27, 83
  %v30 = getelementptr float, ptr %p0, i64 %v29
  %v31 = getelementptr float, ptr %v30, i64 80
  %v32 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v31, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v33 = fadd <4 x float> %v28, %v32
  %v34 = add i64 %v27, 1
  %v35 = icmp ult i64 %v34, 9
  br i1 %v35, label %loop25, label %after26
after26:
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v33, ptr align 4 %v36, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  br label %after37
after37:
  ret void
}
