target triple = "x86_64-unknown-linux-gnu"
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, <4 x i1>, <4 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define void @windows(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v82 = icmp ult i64 %begin, %end
  br i1 %v82, label %some3, label %after81
some3:
  br label %loop4
loop4:
  %v6 = phi i64 [%begin, %some3], [%v79, %after8]
  %v10 = mul i64 %v6, 80
  %v11 = getelementptr float, ptr %p0, i64 %v10
  %v49 = mul i64 %v6, 19
  %v50 = getelementptr float, ptr %p1, i64 %v49
  br label %loop7
loop7:
  %v9 = phi i64 [0, %loop4], [%v52, %loop7]
  %v12 = mul i64 %v9, 2
  %v13 = getelementptr float, ptr %v11, i64 %v12
  %v15 = getelementptr float, ptr %v13, i64 7
  %v19 = getelementptr float, ptr %v13, i64 1
  %v21 = getelementptr float, ptr %v13, i64 8
  %v25 = getelementptr float, ptr %v13, i64 2
  %v27 = getelementptr float, ptr %v13, i64 9
  %v14 = load <8 x float>, ptr %v13, align 4
  %v16 = load <8 x float>, ptr %v15, align 4
  %v17 = shufflevector <8 x float> %v14, <8 x float> %v16, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v18 = call <8 x float> @llvm.maximum.v8f32(<8 x float> splat (float 0xFFF0000000000000), <8 x float> %v17)
  %v20 = load <8 x float>, ptr %v19, align 4
  %v22 = load <8 x float>, ptr %v21, align 4
  %v23 = shufflevector <8 x float> %v20, <8 x float> %v22, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v24 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v18, <8 x float> %v23)
  %v26 = load <8 x float>, ptr %v25, align 4
  %v28 = load <8 x float>, ptr %v27, align 4
  %v29 = shufflevector <8 x float> %v26, <8 x float> %v28, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v30 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v24, <8 x float> %v29)
  %v31 = getelementptr float, ptr %v13, i64 40
  %v33 = getelementptr float, ptr %v13, i64 47
  %v37 = getelementptr float, ptr %v13, i64 41
  %v39 = getelementptr float, ptr %v13, i64 48
  %v43 = getelementptr float, ptr %v13, i64 42
  %v45 = getelementptr float, ptr %v13, i64 49
  %v32 = load <8 x float>, ptr %v31, align 4
  %v34 = load <8 x float>, ptr %v33, align 4
  %v35 = shufflevector <8 x float> %v32, <8 x float> %v34, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v36 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v30, <8 x float> %v35)
  %v38 = load <8 x float>, ptr %v37, align 4
  %v40 = load <8 x float>, ptr %v39, align 4
  %v41 = shufflevector <8 x float> %v38, <8 x float> %v40, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v42 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v36, <8 x float> %v41)
  %v44 = load <8 x float>, ptr %v43, align 4
  %v46 = load <8 x float>, ptr %v45, align 4
  %v47 = shufflevector <8 x float> %v44, <8 x float> %v46, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v48 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v42, <8 x float> %v47)
  %v51 = getelementptr float, ptr %v50, i64 %v9
  store <8 x float> %v48, ptr %v51, align 4
  %v52 = add i64 %v9, 8
  %v53 = icmp ult i64 %v52, 16
  br i1 %v53, label %loop7, label %after8
after8:
  %v54 = getelementptr float, ptr %v11, i64 32
  %v58 = getelementptr float, ptr %v11, i64 33
  %v62 = getelementptr float, ptr %v11, i64 34
  %v66 = getelementptr float, ptr %v11, i64 72
  %v70 = getelementptr float, ptr %v11, i64 73
  %v74 = getelementptr float, ptr %v11, i64 74
  %v78 = getelementptr float, ptr %v50, i64 16
  %v55 = getelementptr float, ptr %v54, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v56 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v55, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v57 = call <4 x float> @llvm.maximum.v4f32(<4 x float> splat (float 0xFFF0000000000000), <4 x float> %v56)
  %v59 = getelementptr float, ptr %v58, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v60 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v59, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v61 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v57, <4 x float> %v60)
  %v63 = getelementptr float, ptr %v62, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v64 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v63, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v65 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v61, <4 x float> %v64)
  %v67 = getelementptr float, ptr %v66, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v68 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v67, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v69 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v65, <4 x float> %v68)
  %v71 = getelementptr float, ptr %v70, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v72 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v71, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v73 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v69, <4 x float> %v72)
  %v75 = getelementptr float, ptr %v74, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %v76 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %v75, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
  %v77 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v73, <4 x float> %v76)
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v77, ptr align 4 %v78, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v79 = add i64 %v6, 1
  %v80 = icmp ult i64 %v79, %end
  br i1 %v80, label %loop4, label %after5
after5:
  br label %after81
after81:
  ret void
}
