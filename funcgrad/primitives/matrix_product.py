"""Products of stacks of matrices by the array library: BLAS wherever it gives the right answer.

Floats narrower than 32 bits are multiplied in 32 and rounded once; integers are exact modulo the
size of the result's dtype, which float products are as long as every sum fits their mantissa.
"""

import functools
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.primitives.cast import convert_evaluate

# Below this many multiplications NumPy's own integer loop beats two casts and a BLAS call.
SMALL_PRODUCT = 4096


def matrix_product(xp: Any, a: Any, b: Any, dtype: Any) -> Any:
    """`a @ b` of shapes [..., m, k] and [..., k, n] in the given dtype; stacks broadcast."""
    work = working_dtype(a.dtype, b.dtype, np.dtype(dtype))
    if work is None:
        return integer_product(xp, a, b, np.dtype(dtype))
    if a.dtype != work:
        a = a.astype(work)
    if b.dtype != work:
        b = b.astype(work)
    product = _multiply(xp, a, b)
    return product if work == dtype else convert_evaluate(xp, product, dtype, False)


def is_exact(dtype: Any) -> bool:
    return dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer)


@functools.cache
def working_dtype(a: Any, b: Any, out: Any) -> np.dtype | None:
    """The dtype in which the product is computed; None for integers, which are a case apart."""
    inexact = [d for d in (a, b, out) if not is_exact(d)]
    if not inexact and out != np.bool_:
        return None
    wide = any(d in (np.float64, np.complex128) for d in inexact)
    if any(d.kind == "c" for d in inexact):
        return np.dtype(np.complex128 if wide else np.complex64)
    return np.dtype(np.float64 if wide else np.float32)


def _multiply(xp: Any, a: Any, b: Any) -> Any:
    if a.shape[-1] == 1:
        return a * b
    return xp.matmul(_for_blas(xp, a), _for_blas(xp, b))


def _for_blas(xp: Any, x: Any) -> Any:
    """The matrices themselves where BLAS takes their strides, else a contiguous copy."""
    (rows, columns), size = x.strides[-2:], x.itemsize
    by_rows = columns == size and rows >= x.shape[-1] * size
    by_columns = rows == size and columns >= x.shape[-2] * size
    return x if by_rows or by_columns else xp.ascontiguousarray(x)


def integer_product(xp: Any, a: Any, b: Any, dtype: np.dtype) -> Any:
    """The exact product of integers, modulo 2 to the bits of the dtype."""
    length = a.shape[-1]
    if length * a.shape[-2] * b.shape[-1] <= SMALL_PRODUCT:
        return _integer_loop(xp, a, b, dtype)
    largest_sum = _largest(a) * _largest(b) * length
    if largest_sum <= 2**53:
        work = np.float32 if largest_sum <= 2**24 else np.float64
        product = _multiply(xp, a.astype(work), b.astype(work))
        return product.astype(np.int64).astype(dtype)
    if dtype.itemsize > 4 or length >= 2**20:
        return _integer_loop(xp, a, b, dtype)
    # Modulo 2**32 the halves of 16 bits matter in three of their four products.
    a_low, a_high = _halves(a)
    b_low, b_high = _halves(b)
    low = _multiply(xp, a_low, b_low).astype(np.int64)
    cross = _multiply(xp, a_high, b_low) + _multiply(xp, a_low, b_high)
    return (low + (cross.astype(np.int64) << 16)).astype(dtype)


def _integer_loop(xp: Any, a: Any, b: Any, dtype: np.dtype) -> Any:
    work = dtype if dtype.isbuiltin == 1 else np.dtype(np.int32)
    product = xp.matmul(a.astype(work, copy=False), b.astype(work, copy=False))
    return product.astype(dtype, copy=False)


def _largest(x: Any) -> int:
    """The largest absolute value in x, or a bound for it where the dtype has a good one."""
    if x.dtype == np.bool_:
        return 1
    if x.dtype.itemsize == 1 or not x.size:
        return 1 << 8 if x.size else 0
    return max(int(x.max()), -int(x.min()))


def _halves(x: Any) -> tuple[Any, Any]:
    wide = x.astype(np.int64)
    return (wide & 0xFFFF).astype(np.float64), ((wide >> 16) & 0xFFFF).astype(np.float64)
