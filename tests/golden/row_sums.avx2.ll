target triple = "x86_64-unknown-linux-gnu"
define void @row_sums(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v36 = icmp ult i64 %begin, %end
  br i1 %v36, label %some3, label %after35
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v33, %after8]
  %v11 = mul i64 %v6, 300
  %v12 = getelementptr float, ptr %p0, i64 %v11
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v16, %loop7]
  %v10 = phi <8 x float> [splat (float 0x0000000000000000), %loop4], [%v15, %loop7]
  %v13 = getelementptr float, ptr %v12, i64 %v9
  %v14 = load <8 x float>, ptr %v13, align 4
  %v15 = fadd <8 x float> %v10, %v14
  %v16 = add i64 %v9, 8
  %v17 = icmp ult i64 %v16, 296
  br i1 %v17, label %loop7, label %after8
after8:
  %v18 = getelementptr float, ptr %v12, i64 296
  %v19 = load <4 x float>, ptr %v18, align 4
  %v20 = shufflevector <4 x float> %v19, <4 x float> splat (float 0x0000000000000000), <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 4, i32 4, i32 4>
  %v21 = fadd <8 x float> %v15, %v20
  %v22 = shufflevector <8 x float> %v21, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v23 = shufflevector <8 x float> %v21, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v24 = fadd <4 x float> %v22, %v23
  %v25 = shufflevector <4 x float> %v24, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v26 = shufflevector <4 x float> %v24, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v27 = fadd <2 x float> %v25, %v26
  %v28 = extractelement <2 x float> %v27, i64 0
  %v29 = extractelement <2 x float> %v27, i64 1
  %v30 = fadd float %v28, %v29
  %v31 = fadd float 0x4008000000000000, %v30
  %v32 = getelementptr float, ptr %p1, i64 %v6
  store float %v31, ptr %v32, align 4
  %v33 = add i64 %v6, 1
  %v34 = icmp ult i64 %v33, %end
  br i1 %v34, label %loop4, label %after5
after5:
  br label %after35
after35:
  ret void
}
