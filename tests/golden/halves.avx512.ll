target triple = "x86_64-unknown-linux-gnu"
declare <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32>, <16 x i32>, <16 x i32>, i32 immarg)
define void @halves(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  %v4 = getelementptr ptr, ptr %args, i64 3
  %p3 = load ptr, ptr %v4, align 8
  %v90 = icmp ult i64 %begin, %end
  br i1 %v90, label %some5, label %after89
some5:
  br label %loop6
loop6:
  %v8 = phi i64 [%begin, %some5], [%v87, %loop6]
  %v9 = getelementptr i16, ptr %p0, i64 %v8
  %v10 = load <16 x i16>, ptr %v9, align 2
  %v11 = bitcast <16 x i16> %v10 to <16 x half>
  %v12 = fpext <16 x half> %v11 to <16 x float>
  %v13 = fmul <16 x float> %v12, splat (float 0x3FB9980000000000)
  %v14 = fptrunc <16 x float> %v13 to <16 x half>
  %v15 = bitcast <16 x half> %v14 to <16 x i16>
  %v16 = bitcast <16 x i16> %v15 to <16 x half>
  %v17 = fpext <16 x half> %v16 to <16 x float>
  %v18 = fadd <16 x float> %v17, %v12
  %v19 = fptrunc <16 x float> %v18 to <16 x half>
  %v20 = bitcast <16 x half> %v19 to <16 x i16>
  %v21 = getelementptr i16, ptr %p2, i64 %v8
  store <16 x i16> %v20, ptr %v21, align 2
  %v22 = getelementptr i16, ptr %p1, i64 %v8
  %v23 = load <16 x i16>, ptr %v22, align 2
  %v24 = zext <16 x i16> %v23 to <16 x i32>
  %v25 = shl <16 x i32> %v24, splat (i32 16)
  %v26 = bitcast <16 x i32> %v25 to <16 x float>
  %v27 = fmul <16 x float> %v26, splat (float 0x3FB9A00000000000)
  %v28 = bitcast <16 x float> %v27 to <16 x i32>
  %v29 = lshr <16 x i32> %v28, splat (i32 16)
  %v30 = and <16 x i32> %v29, splat (i32 1)
  %v31 = add <16 x i32> %v28, splat (i32 32767)
  %v32 = add <16 x i32> %v31, %v30
  %v33 = lshr <16 x i32> %v32, splat (i32 16)
  %v34 = or <16 x i32> %v29, splat (i32 64)
  %v35 = fcmp uno <16 x float> %v27, splat (float 0x0000000000000000)
  %v36 = select <16 x i1> %v35, <16 x i32> %v34, <16 x i32> %v33
  %v37 = trunc <16 x i32> %v36 to <16 x i16>
  %v38 = zext <16 x i16> %v37 to <16 x i32>
  %v39 = shl <16 x i32> %v38, splat (i32 16)
  %v40 = bitcast <16 x i32> %v39 to <16 x float>
  %v41 = fadd <16 x float> %v40, %v26
  %v42 = bitcast <16 x float> %v41 to <16 x i32>
  %v43 = lshr <16 x i32> %v42, splat (i32 16)
  %v44 = and <16 x i32> %v43, splat (i32 1)
  %v45 = add <16 x i32> %v42, splat (i32 32767)
  %v46 = add <16 x i32> %v45, %v44
  %v47 = lshr <16 x i32> %v46, splat (i32 16)
  %v48 = or <16 x i32> %v43, splat (i32 64)
  %v49 = fcmp uno <16 x float> %v41, splat (float 0x0000000000000000)
  %v50 = select <16 x i1> %v49, <16 x i32> %v48, <16 x i32> %v47
  %v51 = trunc <16 x i32> %v50 to <16 x i16>
  %v52 = bitcast <16 x float> %v12 to <16 x i32>
  %v53 = lshr <16 x i32> %v52, splat (i32 16)
  %v54 = and <16 x i32> %v53, splat (i32 1)
  %v55 = add <16 x i32> %v52, splat (i32 32767)
  %v56 = add <16 x i32> %v55, %v54
  %v57 = lshr <16 x i32> %v56, splat (i32 16)
  %v58 = or <16 x i32> %v53, splat (i32 64)
  %v59 = fcmp uno <16 x float> %v12, splat (float 0x0000000000000000)
  %v60 = select <16 x i1> %v59, <16 x i32> %v58, <16 x i32> %v57
  %v61 = trunc <16 x i32> %v60 to <16 x i16>
  %v62 = zext <16 x i16> %v51 to <16 x i32>
  %v63 = shl <16 x i32> %v62, splat (i32 16)
  %v64 = bitcast <16 x i32> %v63 to <16 x float>
  %v65 = zext <16 x i16> %v61 to <16 x i32>
  %v66 = shl <16 x i32> %v65, splat (i32 16)
  %v67 = bitcast <16 x i32> %v66 to <16 x float>
  %v68 = fcmp ogt <16 x float> %v64, %v67
  %v69 = select <16 x i1> %v68, <16 x float> %v64, <16 x float> %v67
  %v70 = bitcast <16 x float> %v69 to <16 x i32>
  %v71 = fcmp ogt <16 x float> %v67, %v64
  %v72 = select <16 x i1> %v71, <16 x float> %v67, <16 x float> %v64
  %v73 = bitcast <16 x float> %v72 to <16 x i32>
  %v74 = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %v70, <16 x i32> %v73, <16 x i32> splat (i32 2147483647), i32 232)
  %v75 = bitcast <16 x i32> %v74 to <16 x float>
  %v76 = bitcast <16 x float> %v75 to <16 x i32>
  %v77 = lshr <16 x i32> %v76, splat (i32 16)
  %v78 = and <16 x i32> %v77, splat (i32 1)
  %v79 = add <16 x i32> %v76, splat (i32 32767)
  %v80 = add <16 x i32> %v79, %v78
  %v81 = lshr <16 x i32> %v80, splat (i32 16)
  %v82 = or <16 x i32> %v77, splat (i32 64)
  %v83 = fcmp uno <16 x float> %v75, splat (float 0x0000000000000000)
  %v84 = select <16 x i1> %v83, <16 x i32> %v82, <16 x i32> %v81
  %v85 = trunc <16 x i32> %v84 to <16 x i16>
  %v86 = getelementptr i16, ptr %p3, i64 %v8
  store <16 x i16> %v85, ptr %v86, align 2
  %v87 = add i64 %v8, 16
  %v88 = icmp ult i64 %v87, %end
  br i1 %v88, label %loop6, label %after7
after7:
  br label %after89
after89:
  ret void
}
