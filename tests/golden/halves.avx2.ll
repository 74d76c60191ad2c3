target triple = "x86_64-unknown-linux-gnu"
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
  %v93 = icmp ult i64 %begin, %end
  br i1 %v93, label %some5, label %after92
some5:
  br label %loop6
loop6:
  %v8 = phi i64 [%begin, %some5], [%v90, %loop6]
  %v9 = getelementptr i16, ptr %p0, i64 %v8
  %v10 = load <8 x i16>, ptr %v9, align 2
  %v11 = bitcast <8 x i16> %v10 to <8 x half>
  %v12 = fpext <8 x half> %v11 to <8 x float>
  %v13 = fmul <8 x float> %v12, splat (float 0x3FB9980000000000)
  %v14 = fptrunc <8 x float> %v13 to <8 x half>
  %v15 = bitcast <8 x half> %v14 to <8 x i16>
  %v16 = bitcast <8 x i16> %v15 to <8 x half>
  %v17 = fpext <8 x half> %v16 to <8 x float>
  %v18 = fadd <8 x float> %v17, %v12
  %v19 = fptrunc <8 x float> %v18 to <8 x half>
  %v20 = bitcast <8 x half> %v19 to <8 x i16>
  %v21 = getelementptr i16, ptr %p2, i64 %v8
  store <8 x i16> %v20, ptr %v21, align 2
  %v22 = getelementptr i16, ptr %p1, i64 %v8
  %v23 = load <8 x i16>, ptr %v22, align 2
  %v24 = zext <8 x i16> %v23 to <8 x i32>
  %v25 = shl <8 x i32> %v24, splat (i32 16)
  %v26 = bitcast <8 x i32> %v25 to <8 x float>
  %v27 = fmul <8 x float> %v26, splat (float 0x3FB9A00000000000)
  %v28 = bitcast <8 x float> %v27 to <8 x i32>
  %v29 = lshr <8 x i32> %v28, splat (i32 16)
  %v30 = and <8 x i32> %v29, splat (i32 1)
  %v31 = add <8 x i32> %v28, splat (i32 32767)
  %v32 = add <8 x i32> %v31, %v30
  %v33 = lshr <8 x i32> %v32, splat (i32 16)
  %v34 = or <8 x i32> %v29, splat (i32 64)
  %v35 = fcmp uno <8 x float> %v27, splat (float 0x0000000000000000)
  %v36 = select <8 x i1> %v35, <8 x i32> %v34, <8 x i32> %v33
  %v37 = trunc <8 x i32> %v36 to <8 x i16>
  %v38 = zext <8 x i16> %v37 to <8 x i32>
  %v39 = shl <8 x i32> %v38, splat (i32 16)
  %v40 = bitcast <8 x i32> %v39 to <8 x float>
  %v41 = fadd <8 x float> %v40, %v26
  %v42 = bitcast <8 x float> %v41 to <8 x i32>
  %v43 = lshr <8 x i32> %v42, splat (i32 16)
  %v44 = and <8 x i32> %v43, splat (i32 1)
  %v45 = add <8 x i32> %v42, splat (i32 32767)
  %v46 = add <8 x i32> %v45, %v44
  %v47 = lshr <8 x i32> %v46, splat (i32 16)
  %v48 = or <8 x i32> %v43, splat (i32 64)
  %v49 = fcmp uno <8 x float> %v41, splat (float 0x0000000000000000)
  %v50 = select <8 x i1> %v49, <8 x i32> %v48, <8 x i32> %v47
  %v51 = trunc <8 x i32> %v50 to <8 x i16>
  %v52 = bitcast <8 x float> %v12 to <8 x i32>
  %v53 = lshr <8 x i32> %v52, splat (i32 16)
  %v54 = and <8 x i32> %v53, splat (i32 1)
  %v55 = add <8 x i32> %v52, splat (i32 32767)
  %v56 = add <8 x i32> %v55, %v54
  %v57 = lshr <8 x i32> %v56, splat (i32 16)
  %v58 = or <8 x i32> %v53, splat (i32 64)
  %v59 = fcmp uno <8 x float> %v12, splat (float 0x0000000000000000)
  %v60 = select <8 x i1> %v59, <8 x i32> %v58, <8 x i32> %v57
  %v61 = trunc <8 x i32> %v60 to <8 x i16>
  %v62 = zext <8 x i16> %v51 to <8 x i32>
  %v63 = shl <8 x i32> %v62, splat (i32 16)
  %v64 = bitcast <8 x i32> %v63 to <8 x float>
  %v65 = zext <8 x i16> %v61 to <8 x i32>
  %v66 = shl <8 x i32> %v65, splat (i32 16)
  %v67 = bitcast <8 x i32> %v66 to <8 x float>
  %v68 = fcmp ogt <8 x float> %v64, %v67
  %v69 = select <8 x i1> %v68, <8 x float> %v64, <8 x float> %v67
  %v70 = bitcast <8 x float> %v69 to <8 x i32>
  %v71 = fcmp ogt <8 x float> %v67, %v64
  %v72 = select <8 x i1> %v71, <8 x float> %v67, <8 x float> %v64
  %v73 = bitcast <8 x float> %v72 to <8 x i32>
  %v74 = or <8 x i32> %v70, %v73
  %v75 = and <8 x i32> %v70, %v73
  %v76 = or <8 x i32> %v75, splat (i32 2147483647)
  %v77 = and <8 x i32> %v74, %v76
  %v78 = bitcast <8 x i32> %v77 to <8 x float>
  %v79 = bitcast <8 x float> %v78 to <8 x i32>
  %v80 = lshr <8 x i32> %v79, splat (i32 16)
  %v81 = and <8 x i32> %v80, splat (i32 1)
  %v82 = add <8 x i32> %v79, splat (i32 32767)
  %v83 = add <8 x i32> %v82, %v81
  %v84 = lshr <8 x i32> %v83, splat (i32 16)
  %v85 = or <8 x i32> %v80, splat (i32 64)
  %v86 = fcmp uno <8 x float> %v78, splat (float 0x0000000000000000)
  %v87 = select <8 x i1> %v86, <8 x i32> %v85, <8 x i32> %v84
  %v88 = trunc <8 x i32> %v87 to <8 x i16>
  %v89 = getelementptr i16, ptr %p3, i64 %v8
  store <8 x i16> %v88, ptr %v89, align 2
  %v90 = add i64 %v8, 8
  %v91 = icmp ult i64 %v90, %end
  br i1 %v91, label %loop6, label %after7
after7:
  br label %after92
after92:
  ret void
}
