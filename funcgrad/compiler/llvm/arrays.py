"""Arrays as native code sees them: where NumPy's object keeps the data pointer, and whether it may.

Reading it there saves Python a call for each array. A probe of real arrays says whether the layout
is the one known here; where it is not, addresses are asked for through NumPy.
"""

import ctypes
import functools

import numpy as np

from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.target import Target

NAME = "fg_arrays"
# Offsets in NumPy's array object on 64-bit builds, and the flag of C-contiguity.
TYPE, DATA, FLAGS, CONTIGUOUS = 8, 16, 64, 1


def text(target: Target) -> str:
    """`i32 fg_arrays(ptr objects, ptr table, i64 inputs, i64 all, i64 kind)`: put the data pointers
    of objects into a table; not 0 if an input is no contiguous array of that Python type."""
    return f"""
define i32 @{NAME}(ptr %objects, ptr %table, i64 %inputs, i64 %all, i64 %kind) {{
start:
  %any = icmp ne i64 %all, 0
  br i1 %any, label %next, label %done
next:
  %i = phi i64 [ 0, %start ], [ %after, %stored ]
  %at = getelementptr i64, ptr %objects, i64 %i
  %object = load ptr, ptr %at, align 1
  %made_here = icmp uge i64 %i, %inputs
  br i1 %made_here, label %stored, label %check
check:
  %type_at = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load i64, ptr %type_at
  %is_array = icmp eq i64 %type, %kind
  br i1 %is_array, label %flagged, label %refused
flagged:
  %flags_at = getelementptr i8, ptr %object, i64 {FLAGS}
  %flags = load i32, ptr %flags_at
  %bit = and i32 %flags, {CONTIGUOUS}
  %contiguous = icmp ne i32 %bit, 0
  br i1 %contiguous, label %stored, label %refused
stored:
  %data_at = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data_at
  %slot = getelementptr ptr, ptr %table, i64 %i
  store ptr %data, ptr %slot
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %all
  br i1 %more, label %next, label %done
done:
  ret i32 0
refused:
  ret i32 1
}}
"""


engine.libraries[NAME] = text


@functools.cache
def readable() -> bool:
    """Whether the arrays of this process are laid out as expected."""
    samples = [np.empty(3), np.empty((2, 5), np.int8), np.empty((4, 4))[:, 1], np.empty(())]
    return ctypes.sizeof(ctypes.c_void_p) == 8 and all(map(_as_expected, samples))


def _as_expected(array: np.ndarray) -> bool:
    base = id(array)
    kind = ctypes.c_int64.from_address(base + TYPE).value
    data = ctypes.c_int64.from_address(base + DATA).value
    flags = ctypes.c_int32.from_address(base + FLAGS).value
    return (
        kind == id(np.ndarray)
        and data == array.ctypes.data
        and bool(flags & CONTIGUOUS) == array.flags.c_contiguous
    )
