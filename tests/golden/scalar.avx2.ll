target triple = "x86_64-unknown-linux-gnu"
define void @scalar(ptr %args, i64 %begin, i64 %end) nounwind {
entry:
  %v1 = getelementptr ptr, ptr %args, i64 0
  %p0 = load ptr, ptr %v1, align 8
  %v2 = getelementptr ptr, ptr %args, i64 1
  %p1 = load ptr, ptr %v2, align 8
  %v3 = getelementptr i32, ptr %p0, i64 2
  %v4 = load i32, ptr %v3, align 4
  %v5 = mul i32 %v4, %v4
  store i32 %v5, ptr %p1, align 4
  ret void
}
