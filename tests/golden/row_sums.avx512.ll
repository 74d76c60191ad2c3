target triple = "x86_64-unknown-linux-gnu"
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
define void @row_sums(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v39 = icmp ult i64 %begin, %end
  br i1 %v39, label %some3, label %after38
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v36, %after8]
  %v11 = mul i64 %v6, 300
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v16, %loop7]
  %v10 = phi <16 x float> [splat (float 0x0000000000000000), %loop4], [%v15, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <16 x float>, ptr %v13, align 4
  %v15 = fadd <16 x float> %v10, %v14
  %v16 = add i64 %v9, 16
  %v17 = icmp ult i64 %v16, 288
  br i1 %v17, label %loop7, label %after8
after8:
  %v18 = getelementptr float, ptr %v12, i64 288
  %v19 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v18, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %v20 = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> %v19, <16 x float> splat (float 0x0000000000000000)
  %v21 = fadd <16 x float> %v15, %v20
  %v22 = shufflevector <16 x float> %v21, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v23 = shufflevector <16 x float> %v21, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v24 = fadd <8 x float> %v22, %v23
  %v25 = shufflevector <8 x float> %v24, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v26 = shufflevector <8 x float> %v24, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v27 = fadd <4 x float> %v25, %v26
  %v28 = shufflevector <4 x float> %v27, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v29 = shufflevector <4 x float> %v27, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v30 = fadd <2 x float> %v28, %v29
  %v31 = extractelement <2 x float> %v30, i64 0
  %v32 = extractelement <2 x float> %v30, i64 1
  %v33 = fadd float %v31, %v32
  %v34 = fadd float 0x4008000000000000, %v33
  %v35 = getelementptr float, ptr %p1, i64 %v6
  store float %v34, ptr %v35, align 4
  %v36 = add i64 %v6, 1
  %v37 = icmp ult i64 %v36, %end
  br i1 %v37, label %loop4, label %after5
after5:
  br label %after38
after38:
  ret void
}
