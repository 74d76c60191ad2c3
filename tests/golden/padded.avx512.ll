target triple = "x86_64-unknown-linux-gnu"
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
define void @padded(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v55 = icmp ult i64 %begin, %end
  br i1 %v55, label %some3, label %after54
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v52, %after8]
  %v10 = add i64 %v6, -1
  %v11 = icmp sge i64 %v10, 0
  %v12 = icmp slt i64 %v10, 8
  %v13 = and i1 %v11, %v12
  %v22 = insertelement <16 x i1> poison, i1 %v13, i64 0
  %v23 = shufflevector <16 x i1> %v22, <16 x i1> poison, <16 x i32> zeroinitializer
  %v25 = mul i64 %v6, 30
  %v26 = getelementptr float, ptr %p0, i64 %v25
  %v32 = mul i64 %v6, 40
  %v33 = getelementptr float, ptr %p1, i64 %v32
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v35, %loop7]
  %v14 = add i64 %v9, -3
  %v15 = trunc i64 %v14 to i32
  %v16 = insertelement <16 x i32> poison, i32 %v15, i64 0
  %v17 = shufflevector <16 x i32> %v16, <16 x i32> poison, <16 x i32> zeroinitializer
  %v18 = add <16 x i32> %v17, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v19 = icmp sge <16 x i32> %v18, splat (i32 0)
  %v20 = icmp slt <16 x i32> %v18, splat (i32 30)
  %v21 = and <16 x i1> %v19, %v20
  %v24 = and <16 x i1> %v23, %v21
  %v27 = getelementptr float, ptr %v26, i64 %v9
  %v28 = getelementptr float, ptr %v27, i64 -33
  %v29 = call i1 @llvm.vector.reduce.or.v16i1(<16 x i1> %v24)
  %v30 = select i1 %v29, ptr %v28, ptr %args
  %v31 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v30, <16 x i1> %v24, <16 x float> zeroinitializer)
  %v34 = getelementptr float, ptr %v33, i64 %v9
  store <16 x float> %v31, ptr %v34, align 4
  %v35 = add i64 %v9, 16
  %v36 = icmp ult i64 %v35, 32
  br i1 %v36, label %loop7, label %after8
after8:
  %v44 = insertelement <8 x i1> poison, i1 %v13, i64 0
  %v45 = shufflevector <8 x i1> %v44, <8 x i1> poison, <8 x i32> zeroinitializer
  %v47 = getelementptr float, ptr %v26, i64 -1
  %v51 = getelementptr float, ptr %v33, i64 32
  %v37 = trunc i64 29 to i32
  %v38 = insertelement <8 x i32> poison, i32 %v37, i64 0
  %v39 = shufflevector <8 x i32> %v38, <8 x i32> poison, <8 x i32> zeroinitializer
  %v40 = add <8 x i32> %v39, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v41 = icmp sge <8 x i32> %v40, splat (i32 0)
  %v42 = icmp slt <8 x i32> %v40, splat (i32 30)
  %v43 = and <8 x i1> %v41, %v42
  %v46 = and <8 x i1> %v45, %v43
  %v48 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %v46)
  %v49 = select i1 %v48, ptr %v47, ptr %args
  %v50 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v49, <8 x i1> %v46, <8 x float> zeroinitializer)
  store <8 x float> %v50, ptr %v51, align 4
  %v52 = add i64 %v6, 1
  %v53 = icmp ult i64 %v52, %end
  br i1 %v53, label %loop4, label %after5
after5:
  br label %after54
after54:
  ret void
}
