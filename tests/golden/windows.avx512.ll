target triple = "x86_64-unknown-linux-gnu"
declare <16 x float> @llvm.maximum.v16f32(<16 x float>, <16 x float>)
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, <4 x i1>, <4 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define void @windows(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v74 = icmp ult i64 %begin, %end
  br i1 %v74, label %some3, label %after73
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v71, %loop4]
  %v7 = mul i64 %v6, 80
  %v8 = getelementptr float, ptr %p0, i64 %v7
  %v10 = getelementptr float, ptr %v8, i64 15
  %v14 = getelementptr float, ptr %v8, i64 1
  %v16 = getelementptr float, ptr %v8, i64 16
  %v20 = getelementptr float, ptr %v8, i64 2
  %v22 = getelementptr float, ptr %v8, i64 17
  %v26 = getelementptr float, ptr %v8, i64 40
  %v28 = getelementptr float, ptr %v8, i64 55
  %v32 = getelementptr float, ptr %v8, i64 41
  %v34 = getelementptr float, ptr %v8, i64 56
  %v38 = getelementptr float, ptr %v8, i64 42
  %v40 = getelementptr float, ptr %v8, i64 57
  %v44 = mul i64 %v6, 19
  %v45 = getelementptr float, ptr %p1, i64 %v44
  %v9 = load <16 x float>, ptr %v8, align 4
  %v11 = load <16 x float>, ptr %v10, align 4
  %v12 = shufflevector <16 x float> %v9, <16 x float> %v11, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v13 = call <16 x float> @llvm.maximum.v16f32(<16 x float> splat (float 0xFFF0000000000000), <16 x float> %v12)
  %v15 = load <16 x float>, ptr %v14, align 4
  %v17 = load <16 x float>, ptr %v16, align 4
  %v18 = shufflevector <16 x float> %v15, <16 x float> %v17, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v19 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v13, <16 x float> %v18)
  %v21 = load <16 x float>, ptr %v20, align 4
  %v23 = load <16 x float>, ptr %v22, align 4
  %v24 = shufflevector <16 x float> %v21, <16 x float> %v23, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v25 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v19, <16 x float> %v24)
  %v27 = load <16 x float>, ptr %v26, align 4
  %v29 = load <16 x float>, ptr %v28, align 4
  %v30 = shufflevector <16 x float> %v27, <16 x float> %v29, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v31 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v25, <16 x float> %v30)
  %v33 = load <16 x float>, ptr %v32, align 4
  %v35 = load <16 x float>, ptr %v34, align 4
  %v36 = shufflevector <16 x float> %v33, <16 x float> %v35, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v37 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v31, <16 x float> %v36)
  %v39 = load <16 x float>, ptr %v38, align 4
  %v41 = load <16 x float>, ptr %v40, align 4
  %v42 = shufflevector <16 x float> %v39, <16 x float> %v41, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v43 = call <16 x float> @llvm.maximum.v16f32(<16 x float> %v37, <16 x float> %v42)
  store <16 x float> %v43, ptr %v45, align 4
  %v46 = getelementptr float, ptr %v8, i64 32
  %v50 = getelementptr float, ptr %v8, i64 33
  %v54 = getelementptr float, ptr %v8, i64 34
  %v58 = getelementptr float, ptr %v8, i64 72
  %v62 = getelementptr float, ptr %v8, i64 73
  %v66 = getelementptr float, ptr %v8, i64 74
  %v70 = getelementptr float, ptr %v45, i64 16
  %v47 = getelementptr float, ptr %v46, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v48 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v47, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v49 = call <4 x float> @llvm.maximum.v4f32(<4 x float> splat (float 0xFFF0000000000000), <4 x float> %v48)
  %v51 = getelementptr float, ptr %v50, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v52 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v51, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v53 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v49, <4 x float> %v52)
  %v55 = getelementptr float, ptr %v54, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v56 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v55, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v57 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v53, <4 x float> %v56)
  %v59 = getelementptr float, ptr %v58, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v60 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v59, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v61 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v57, <4 x float> %v60)
  %v63 = getelementptr float, ptr %v62, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v64 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v63, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v65 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v61, <4 x float> %v64)
  %v67 = getelementptr float, ptr %v66, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v68 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v67, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v69 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v65, <4 x float> %v68)
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v69, ptr align 4 %v70, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v71 = add i64 %v6, 1
  %v72 = icmp ult i64 %v71, %end
  br i1 %v72, label %loop4, label %after5
after5:
  br label %after73
after73:
  ret void
}
