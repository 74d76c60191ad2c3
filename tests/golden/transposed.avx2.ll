target triple = "x86_64-unknown-linux-gnu"
declare <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr>, <8 x i1>, <8 x double>)
declare <8 x double> @llvm.masked.load.v8f64.p0(ptr, <8 x i1>, <8 x double>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
define void @transposed(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v4 = getelementptr ptr, ptr %args, i64 3
  %p3 = load ptr, ptr %v4, align 8
  %v5 = getelementptr ptr, ptr %args, i64 4
  %p4 = load ptr, ptr %v5, align 8
  %v53 = getelementptr double, ptr %p1, i64 32
  %v55 = getelementptr double, ptr %p3, i64 64
  %v66 = icmp ult i64 %begin, %end
  br i1 %v66, label %some6, label %after65
some6:
  br label %loop7
loop7:
  %v9 = phi i64 [%begin, %some6], [%v63, %after11]
  %v13 = getelementptr double, ptr %p0, i64 %v9
  %v18 = mul i64 %v9, -37
  %v19 = getelementptr double, ptr %p0, i64 %v18
  %v27 = getelementptr double, ptr %p2, i64 %v9
  %v28 = load double, ptr %v27, align 8
  %v37 = insertelement <8 x double> poison, double %v28, i64 0
  %v38 = shufflevector <8 x double> %v37, <8 x double> poison, <8 x i32> zeroinitializer
  %v41 = mul i64 %v9, 37
  %v42 = getelementptr double, ptr %p4, i64 %v41
  br label %loop10
loop10:
  %v12 = phi i64 [0, %loop7], [%v44, %loop10]
  %v14 = mul i64 %v12, 13
  %v15 = getelementptr double, ptr %v13, i64 %v14
  %v16 = getelementptr double, ptr %v15, <8 x i32> <i32 0, i32 13, i32 26, i32 39, i32 52, i32 65, i32 78, i32 91>
  %v17 = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> align 8 %v16, <8 x i1> splat (i1 true), <8 x double> zeroinitializer)
  %v20 = mul i64 %v12, -1
  %v21 = getelementptr double, ptr %v19, i64 %v20
  %v22 = getelementptr double, ptr %v21, i64 473
  %v23 = load <8 x double>, ptr %v22, align 8
  %v24 = shufflevector <8 x double> %v23, <8 x double> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v25 = getelementptr double, ptr %p1, i64 %v12
  %v26 = load <8 x double>, ptr %v25, align 8
  %v29 = mul i64 %v12, 2
  %v30 = getelementptr double, ptr %p3, i64 %v29
  %v31 = load <8 x double>, ptr %v30, align 8
  %v32 = getelementptr double, ptr %v30, i64 7
  %v33 = load <8 x double>, ptr %v32, align 8
  %v34 = shufflevector <8 x double> %v31, <8 x double> %v33, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %v35 = fmul <8 x double> %v24, %v26
  %v36 = fadd <8 x double> %v17, %v35
  %v39 = fmul <8 x double> %v38, %v34
  %v40 = fsub <8 x double> %v36, %v39
  %v43 = getelementptr double, ptr %v42, i64 %v12
  store <8 x double> %v40, ptr %v43, align 8
  %v44 = add i64 %v12, 8
  %v45 = icmp ult i64 %v44, 32
  br i1 %v45, label %loop10, label %after11
after11:
  %v46 = getelementptr double, ptr %v13, i64 416
  %v49 = getelementptr double, ptr %v19, i64 441
  %v62 = getelementptr double, ptr %v42, i64 32
  %v47 = getelementptr double, ptr %v46, <8 x i32> <i32 0, i32 13, i32 26, i32 39, i32 52, i32 65, i32 78, i32 91>
  %v48 = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> align 8 %v47, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x double> zeroinitializer)
  %v50 = shufflevector <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x i1> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v51 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %v49, <8 x i1> %v50, <8 x double> zeroinitializer)
  %v52 = shufflevector <8 x double> %v51, <8 x double> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v54 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %v53, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x double> zeroinitializer)
  %v56 = getelementptr double, ptr %v55, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14>
  %v57 = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> align 8 %v56, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x double> zeroinitializer)
  %v58 = fmul <8 x double> %v52, %v54
  %v59 = fadd <8 x double> %v48, %v58
  %v60 = fmul <8 x double> %v38, %v57
  %v61 = fsub <8 x double> %v59, %v60
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v61, ptr align 8 %v62, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v63 = add i64 %v9, 1
  %v64 = icmp ult i64 %v63, %end
  br i1 %v64, label %loop7, label %after8
after8:
  br label %after65
after65:
  ret void
}
