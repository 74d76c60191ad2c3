target triple = "x86_64-unknown-linux-gnu"
declare <8 x i64> @llvm.masked.load.v8i64.p0(ptr, <8 x i1>, <8 x i64>)
define void @nested_sum(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  br label %loop3
loop3:
  %v5 = phi i64 [0, %entry], [%v22, %after8]
  %v6 = phi <8 x i64> [splat (i64 0), %entry], [%v21, %after8]
  %v11 = mul i64 %v5, 100
  %v12 = getelementptr i64, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop3], [%v16, %loop7]
  %v10 = phi <8 x i64> [%v6, %loop3], [%v15, %loop7]
  %v13 = getelementptr i64, ptr %v12, i64 %v9
  %v14 = load <8 x i64>, ptr %v13, align 8
  %v15 = add <8 x i64> %v10, %v14
  %v16 = add i64 %v9, 8
  %v17 = icmp ult i64 %v16, 64
  br i1 %v17, label %loop7, label %after8
after8:
  %v18 = getelementptr i64, ptr %v12, i64 64
  %v19 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %v18, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i64> zeroinitializer)
  %v20 = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i64> %v19, <8 x i64> splat (i64 0)
  %v21 = add <8 x i64> %v15, %v20
  %v22 = add i64 %v5, 1
  %v23 = icmp ult i64 %v22, 6
  br i1 %v23, label %loop3, label %after4
after4:
  %v24 = shufflevector <8 x i64> %v21, <8 x i64> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v25 = shufflevector <8 x i64> %v21, <8 x i64> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v26 = add <4 x i64> %v24, %v25
  %v27 = shufflevector <4 x i64> %v26, <4 x i64> poison, <2 x i32> <i32 0, i32 1>
  %v28 = shufflevector <4 x i64> %v26, <4 x i64> poison, <2 x i32> <i32 2, i32 3>
  %v29 = add <2 x i64> %v27, %v28
  %v30 = extractelement <2 x i64> %v29, i64 0
  %v31 = extractelement <2 x i64> %v29, i64 1
  %v32 = add i64 %v30, %v31
  store i64 %v32, ptr %p1, align 8
  ret void
}
