"""Calls of programs with NumPy's array objects: where these keep the data pointer, and whether it
may be read there.

That saves Python a call for each array. A probe of real arrays says whether the layout is the one
known here; where it is not, addresses are asked for through NumPy.
"""

import ctypes
import functools

import numpy as np

NAME = "fg_call"
# What the function returns when an input is no contiguous array.
NOT_CONTIGUOUS = 2
# Its words: entry, inputs, arrays in all, array type; then the program's table, which begins with
# arena, callback and constants, and goes on with the arrays.
BEFORE_TABLE, HEAD = 4, 3
# Offsets in NumPy's array object on 64-bit builds, and the flag of C-contiguity.
TYPE, DATA, FLAGS, CONTIGUOUS = 8, 16, 64, 1


def caller() -> str:
    """`i32 fg_call(ptr words)`: call a program, once the objects in the words have given way to
    their data pointers; refuse an input that is no contiguous array of the given type."""
    return f"""
define i32 @{NAME}(ptr %words) nounwind {{
  %entry = load ptr, ptr %words
  %inputs_at = getelementptr i64, ptr %words, i64 1
  %inputs = load i64, ptr %inputs_at
  %all_at = getelementptr i64, ptr %words, i64 2
  %all = load i64, ptr %all_at
  %kind_at = getelementptr i64, ptr %words, i64 3
  %kind = load i64, ptr %kind_at
  %table = getelementptr i64, ptr %words, i64 {BEFORE_TABLE}
  %objects = getelementptr i64, ptr %table, i64 {HEAD}
  br label %start
start:
  %any = icmp ne i64 %all, 0
  br i1 %any, label %next, label %done
next:
  %i = phi i64 [ 0, %start ], [ %after, %stored ]
  %at = getelementptr i64, ptr %objects, i64 %i
  %object = load ptr, ptr %at
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
  store ptr %data, ptr %at
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %all
  br i1 %more, label %next, label %done
done:
  %kept = call i64 @fg_enter()
  %status = call i32 %entry(ptr %table)
  call void @fg_leave(i64 %kept)
  ret i32 %status
refused:
  ret i32 {NOT_CONTIGUOUS}
}}
"""


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
