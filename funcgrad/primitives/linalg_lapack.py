"""LAPACK and BLAS on NumPy's memory: the routines that SciPy links, run in place over stacks.

They read columns first, so a matrix that is stored by rows is its transpose to them. Functions here
speak of the matrix as it is stored by rows, and choose sides and triangles to suit.
"""

import ctypes
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.base.backend import scipy
from funcgrad.compiler import pages
from funcgrad.primitives.nary import real_dtype

# The sizes for which LAPACK is called here. NumPy's functions take less time for smaller matrices,
# and for larger ones count in wider integers.
SMALLEST, LARGEST = 32, 1 << 14
# From this size on a transpose is made in strips: whole columns would fall into one set of a cache.
STRIPED, STRIP = 256, 32
RECYCLED = 1 << 16  # bytes from which memory is taken from `pages`, whose use again costs no fault

_LETTERS = dict(zip(map(np.dtype, "fdFD"), "sdcz", strict=True))
_INT_MAX = 2**31 - 1

_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def suits(x: Any) -> bool:
    """Whether LAPACK is to be called here for [..., m, n], rather than by the array library."""
    if type(x) is not np.ndarray or not x.size:
        return False
    return SMALLEST <= min(x.shape[-2:]) and max(x.shape[-2:]) <= LARGEST


@functools.cache
def routine(name: str, dtype: np.dtype) -> Callable[..., None]:
    """The routine of that name (without its first letter); it takes addresses."""
    full = _LETTERS[dtype] + name
    modules = (scipy("linalg.cython_lapack"), scipy("linalg.cython_blas"))
    capsule = next(m.__pyx_capi__[full] for m in modules if full in m.__pyx_capi__)
    signature = _capsule_name(capsule)
    kinds = [ctypes.c_void_p] * signature.count(b"*")
    return ctypes.CFUNCTYPE(None, *kinds)(_capsule_pointer(capsule, signature))


def run(name: str, dtype: np.dtype, count: int, *args: bytes | int | np.ndarray) -> None:
    """Call a routine for each member of stacks [count, ...], with the arguments it has in Fortran.

    Characters, integers and stacks of one are the same in every call.
    """
    function = routine(name, dtype)
    first = [a if type(a) is bytes else _address(a) for a in args]
    function(*first)
    if count > 1:
        rest = itertools.islice(zip(*map(_along, args, first), strict=True), 1, count)
        for pointers in rest:
            function(*pointers)


def _address(arg: Any) -> Any:
    return _integer(arg) if type(arg) is int else arg.__array_interface__["data"][0]


@functools.lru_cache(1024)
def _integer(value: int) -> Any:
    """A pointer to a number, which no routine changes."""
    if value > _INT_MAX:
        raise OverflowError(f"LAPACK counts in 32 bits, and a size is {value}")
    return ctypes.byref(ctypes.c_int(value))


def _along(arg: bytes | int | np.ndarray, first: Any) -> Iterable:
    """The address of the argument for each member."""
    step = arg.strides[0] if isinstance(arg, np.ndarray) and len(arg) > 1 else 0
    return itertools.count(first, step) if step else itertools.repeat(first)


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    size = math.prod(shape)
    nbytes = size * np.dtype(dtype).itemsize
    if nbytes < RECYCLED:
        return np.empty(shape, dtype)
    start, loan = pages.scratch(nbytes)
    memory: Any = (ctypes.c_char * nbytes).from_address(start)
    memory.loan = loan  # lives as long as the array
    return np.frombuffer(memory, dtype, size).reshape(shape)


@functools.cache
def _number(value: int, dtype: np.dtype) -> np.ndarray:
    return np.full((1, 1), value, dtype)


def room(size: int, dtype: Any) -> np.ndarray:
    """Memory that all members may use."""
    return empty((1, size), dtype)


def copy(x: np.ndarray) -> np.ndarray:
    out = empty(x.shape, x.dtype)
    out[...] = x
    return out


def transposed_copy(x: np.ndarray) -> np.ndarray:
    *stack, m, n = x.shape
    out = empty((*stack, n, m), x.dtype)
    strip = STRIP if min(m, n) >= STRIPED else m
    for i in range(0, m, strip):
        out[..., i : i + strip] = x[..., i : i + strip, :].swapaxes(-1, -2)
    return out


def clear_triangle(x: np.ndarray, lower: bool) -> None:
    """Write zeros below the diagonal of [count, m, n], or above it."""
    count, m, n = x.shape
    zero = _number(0, x.dtype)
    if lower:
        run("laset", x.dtype, count, b"U", n, m - 1, zero, zero, x[:, 1:], n)
    else:
        run("laset", x.dtype, count, b"L", n - 1, m, zero, zero, x[:, :, 1:], n)


def over_stack(
    outs: Sequence[ShapedArray], function: Callable[..., Sequence], *arrays: np.ndarray
) -> list[np.ndarray]:
    """A function of stacks of one axis, on those with any number of them."""
    found = function(*(a.reshape(-1, *a.shape[-2:]) for a in arrays))
    return [f.reshape(o.shape) for f, o in zip(found, outs, strict=True)]


def fail(failed: np.ndarray, *results: np.ndarray) -> None:
    """Write nan where there is no result."""
    if failed.any():
        for result in results:
            result[failed] = np.nan


# stacks of one axis; nan stands for the members that have no factorization


def cholesky(x: np.ndarray) -> list[np.ndarray]:
    """Lower factors, from the lower triangles [count, n, n]."""
    count, n, _ = x.shape
    out, info = copy(x), np.zeros(count, np.int32)
    run("potrf", x.dtype, count, b"U", n, out, n, info)
    # OpenBLAS takes a nan for a pivot; from there on all diagonal elements are nan.
    fail((info != 0) | np.isnan(out[:, -1, -1]), out)
    clear_triangle(out, lower=False)
    return [out]


def triangular_solve(
    a: np.ndarray, b: np.ndarray, left_side: bool, lower: bool, op: bytes, unit_diagonal: bool
) -> list[np.ndarray]:
    """X with op(a) X = b, or X op(a) = b; op transposes for b"T", and conjugates too for b"C"."""
    count, m, n = b.shape
    out, one = copy(b), _number(1, b.dtype)
    side, triangle = b"R" if left_side else b"L", b"U" if lower else b"L"
    diagonal = b"U" if unit_diagonal else b"N"
    a = np.ascontiguousarray(a)
    run("trsm", b.dtype, count, side, triangle, op, diagonal, n, m, one, a, a.shape[-1], out, n)
    return [out]


def lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed factors of [count, m, n], the row that each was swapped with, the order of rows."""
    count, m, n = x.shape
    packed = transposed_copy(x)
    pivots, info = empty((count, min(m, n)), np.int32), np.zeros(count, np.int32)
    run("getrf", x.dtype, count, m, n, packed, m, pivots, info)
    # Row numbers are swapped as rows are; LAPACK swaps floats, which hold them exactly.
    order = np.empty((count, m))
    order[...] = np.arange(m)
    run("laswp", order.dtype, count, 1, order, m, 1, min(m, n), pivots, 1)
    pivots -= 1
    return transposed_copy(packed), pivots, order.astype(np.int32)


def qr(x: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Q with that many columns, and R with as many rows, of [count, m, n]."""
    count, m, n = x.shape
    k, info = min(m, n), np.zeros(count, np.int32)
    packed, taus = transposed_copy(x), empty((count, k), x.dtype)
    size = 64 * max(n, columns)
    work = room(size, x.dtype)
    run("geqrf", x.dtype, count, m, n, packed, m, taus, work, size, info)
    r = transposed_copy(packed[:, :, :columns])
    clear_triangle(r, lower=True)
    q = empty((count, columns, m), x.dtype)
    q[:, :k] = packed[:, :k]
    name = "ungqr" if x.dtype.kind == "c" else "orgqr"
    run(name, x.dtype, count, m, columns, k, q, m, taus, work, size, info)
    return transposed_copy(q), r


def eigh(x: np.ndarray, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and ascending values of Hermitian [count, n, n], of which one triangle is read."""
    count, n, _ = x.shape
    packed, info = copy(x), np.zeros(count, np.int32)
    real = real_dtype(x.dtype)
    w = empty((count, n), real)
    given = (b"V", b"U" if lower else b"L", n, packed, n, w)
    many, integers = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    last = (room(many, real), many, room(integers, np.int32), integers, info)
    if x.dtype.kind == "c":
        size = 2 * n + n * n
        run("heevd", x.dtype, count, *given, room(size, x.dtype), size, *last)
        # To LAPACK the matrix is the transpose, which is the conjugate; so are its vectors.
        np.conjugate(packed, out=packed)
    else:
        run("syevd", x.dtype, count, *given, *last)
    v = transposed_copy(packed)
    fail(info != 0, v, w)
    return v, w


def svd(x: np.ndarray, full_matrices: bool, compute_uv: bool) -> list[np.ndarray]:
    """[s, u, vh] or [s] of [count, m, n], by divide and conquer.

    LAPACK sees x^T = conj(v) s u^T, and what it writes by columns is vh and u by rows.
    """
    count, m, n = x.shape
    k, real = min(m, n), real_dtype(x.dtype)
    job = (b"A" if full_matrices else b"S") if compute_uv else b"N"
    rows, columns = ((m, n) if full_matrices else (k, k)) if compute_uv else (1, 1)
    s, info = empty((count, k), real), np.zeros(count, np.int32)
    u, vh = empty((count, m, rows), x.dtype), empty((count, columns, n), x.dtype)
    given = (job, n, m, copy(x), n, s, vh, n, u, rows)
    last = (room(8 * k, np.int32), info)
    if x.dtype.kind == "c":
        size = max(5 * k * k + 7 * k, 2 * max(m, n) * k + 2 * k * k + k)
        last = (room(size, real), *last)
    size = _svd_room(x.dtype, job, m, n)
    run("gesdd", x.dtype, count, *given, room(size, x.dtype), size, *last)
    fail(info != 0, s, u, vh)
    return [s, u, vh] if compute_uv else [s]


@functools.lru_cache
def _svd_room(dtype: np.dtype, job: bytes, m: int, n: int) -> int:
    """The size of the workspace that LAPACK asks for."""
    unused, found = room(1, dtype), room(1, dtype)
    real = (unused,) if dtype.kind == "c" else ()
    given = (job, n, m, unused, n, unused, unused, n, unused, m, found, -1)
    run("gesdd", dtype, 1, *given, *real, room(1, np.int32), np.zeros(1, np.int32))
    return int(np.nextafter(found[0, 0].real, np.inf)) + 1
