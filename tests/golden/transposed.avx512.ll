target triple = "x86_64-unknown-linux-gnu"
declare <16 x double> @llvm.masked.gather.v16f64.v16p0(<16 x ptr>, <16 x i1>, <16 x double>)
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
  %v68 = icmp ult i64 %begin, %end
  br i1 %v68, label %some6, label %after67
some6:
  br label %loop7
loop7:
  %v9 = phi i64 [%begin, %some6], [%v65, %after11]
  %v13 = getelementptr double, ptr %p0, i64 %v9
  %v18 = mul i64 %v9, -37
  %v19 = getelementptr double, ptr %p0, i64 %v18
  %v27 = getelementptr double, ptr %p2, i64 %v9
  %v28 = load double, ptr %v27, align 8
  %v37 = insertelement <16 x double> poison, double %v28, i64 0
  %v38 = shufflevector <16 x double> %v37, <16 x double> poison, <16 x i32> zeroinitializer
  %v41 = mul i64 %v9, 37
  %v42 = getelementptr double, ptr %p4, i64 %v41
  br label %loop10
loop10:
  %v12 = phi i64 [0, %loop7], [%v44, %loop10]
  %v14 = mul i64 %v12, 13
  %v15 = getelementptr double, ptr %v13, i64 %v14
  %v16 = getelementptr double, ptr %v15, <16 x i32> <i32 0, i32 13, i32 26, i32 39, i32 52, i32 65, i32 78, i32 91, i32 104, i32 117, i32 130, i32 143, i32 156, i32 169, i32 182, i32 195>
  %v17 = call <16 x double> @llvm.masked.gather.v16f64.v16p0(<16 x ptr> align 8 %v16, <16 x i1> splat (i1 true), <16 x double> zeroinitializer)
  %v20 = mul i64 %v12, -1
  %v21 = getelementptr double, ptr %v19, i64 %v20
  %v22 = getelementptr double, ptr %v21, i64 465
  %v23 = load <16 x double>, ptr %v22, align 8
  %v24 = shufflevector <16 x double> %v23, <16 x double> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v25 = getelementptr double, ptr %p1, i64 %v12
  %v26 = load <16 x double>, ptr %v25, align 8
  %v29 = mul i64 %v12, 2
  %v30 = getelementptr double, ptr %p3, i64 %v29
  %v31 = load <16 x double>, ptr %v30, align 8
  %v32 = getelementptr double, ptr %v30, i64 15
  %v33 = load <16 x double>, ptr %v32, align 8
  %v34 = shufflevector <16 x double> %v31, <16 x double> %v33, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v35 = fmul <16 x double> %v24, %v26
  %v36 = fadd <16 x double> %v17, %v35
  %v39 = fmul <16 x double> %v38, %v34
  %v40 = fsub <16 x double> %v36, %v39
  %v43 = getelementptr double, ptr %v42, i64 %v12
  store <16 x double> %v40, ptr %v43, align 8
  %v44 = add i64 %v12, 16
  %v45 = icmp ult i64 %v44, 32
  br i1 %v45, label %loop10, label %after11
after11:
  %v46 = getelementptr double, ptr %v13, i64 416
  %v49 = getelementptr double, ptr %v19, i64 441
  %v60 = insertelement <8 x double> poison, double %v28, i64 0
  %v61 = shufflevector <8 x double> %v60, <8 x double> poison, <8 x i32> zeroinitializer
  %v64 = getelementptr double, ptr %v42, i64 32
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
  %v62 = fmul <8 x double> %v61, %v57
  %v63 = fsub <8 x double> %v59, %v62
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v63, ptr align 8 %v64, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v65 = add i64 %v9, 1
  %v66 = icmp ult i64 %v65, %end
  br i1 %v66, label %loop7, label %after8
after8:
  br label %after67
after67:
  ret void
}
