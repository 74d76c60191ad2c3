target triple = "x86_64-unknown-linux-gnu"
define void @added_in_place(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr ptr, ptr %args, i64 2
  %p2 = load ptr, ptr %v3, align 8
  br label %loop4
loop4:
  %v6 = phi i64 [0, %entry], [%v15, %loop4]
  %v7 = getelementptr i32, ptr %p1, i64 %v6
  %v8 = load i32, ptr %v7, align 4
  %v9 = sext i32 %v8 to i64
  %v10 = getelementptr float, ptr %p2, i64 %v9
  %v11 = load float, ptr %v10, align 4
  %v12 = getelementptr float, ptr %p0, i64 %v6
  %v13 = load float, ptr %v12, align 4
  %v14 = fadd float %v11, %v13
  store float %v14, ptr %v10, align 4
  %v15 = add i64 %v6, 1
  %v16 = icmp ult i64 %v15, 45
  br i1 %v16, label %loop4, label %after5
after5:
  ret void
}
