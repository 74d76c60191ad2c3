"""What tests run native code with: this processor's levels, and drivers that divide the work."""

from funcgrad.base.config import Config
from funcgrad.compiler.llvm.target import Target, host_target

# A kernel's parts all at once, or each grain alone, the last one first.
WHOLE = """
define void @fg_parallel(ptr %kernel, ptr %args, i64 %extent, i64 %grain) {
  call void %kernel(ptr %args, i64 0, i64 %extent)
  ret void
}
"""
BACKWARDS = """
define void @fg_parallel(ptr %kernel, ptr %args, i64 %extent, i64 %grain) {
start:
  %up = add i64 %extent, %grain
  %less = sub i64 %up, 1
  %parts = udiv i64 %less, %grain
  br label %head
head:
  %part = phi i64 [ %parts, %start ], [ %next, %body ]
  %more = icmp sgt i64 %part, 0
  br i1 %more, label %body, label %done
body:
  %next = sub i64 %part, 1
  %begin = mul i64 %next, %grain
  %after = add i64 %begin, %grain
  %over = icmp sgt i64 %after, %extent
  %end = select i1 %over, i64 %extent, i64 %after
  call void %kernel(ptr %args, i64 %begin, i64 %end)
  br label %head
done:
  ret void
}
"""


def possible() -> list[Target]:
    """The levels that this processor can run, and so this test."""
    found = []
    for isa in ("avx512", "avx2", "sse2", "neon"):
        try:
            with Config.isa(isa):
                found.append(host_target())
        except ValueError:
            continue
    return found
