"""Sizes of vectors and matrices, and what is judged by them: norm and matrix_rank."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import reshape
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._arithmetic import absolute, power
from funcgrad.numpy._complex import conj, real
from funcgrad.numpy._promotion import as_tuple, inexact1, like, to_array
from funcgrad.numpy._reductions import any, max, min, sum
from funcgrad.numpy._shaping import moveaxis
from funcgrad.numpy._ufuncs import sqrt
from funcgrad.numpy.linalg._decompositions import svd

Order = int | float | str | None


def norm(
    x: Any, ord: Order = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Any:
    """The norm of vectors along one axis, of matrices along two, or of all elements.

    Args:
        x: the array.
        ord: by default the root of the sum of squares. For vectors a number p, inf, -inf or 0 (how
            many are nonzero). For matrices "fro", "nuc" (the sum of singular values), 1, -1, inf,
            -inf (the largest or smallest sum of a column or row), 2, -2 (the extreme singular
            values).
        axis: one axis or two; by default all of x, which then has that rank if `ord` is given.
        keepdims: keep the axes, with length 1.

    Raises:
        ValueError: an order there is not, or too many axes for it.
    """
    x = inexact1("linalg.norm", x)
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    axes = canonical_axes(None if axis is None else as_tuple(axis), x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(
            f"norm is of vectors, with one axis, or of matrices, with two; axis={axis} of shape "
            f"{x.aval.shape} is neither."
        )
    if ord in (None, "f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    rows = moveaxis(x, axes, (-2, -1))
    if ord in (1, -1, np.inf, -np.inf):
        sums = sum(absolute(rows), -2 if abs(ord) == 1 else -1)
        result = max(sums, -1, initial=0) if ord > 0 else min(sums, -1)
    elif ord in ("nuc", 2, -2):
        values = svd(rows, compute_uv=False)
        result = sum(values, -1) if ord == "nuc" else _extreme(values, ord > 0)
    else:
        raise ValueError(f"Invalid order {ord!r} for matrix norm.")
    if not keepdims:
        return result
    return reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.aval.shape)))


def _extreme(values: Any, largest: bool) -> Any:
    return max(values, -1, initial=0) if largest else min(values, -1)


def _root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    return sqrt(sum(real(x * conj(x)), axis, None, None, keepdims))


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: Order = 2,
) -> Any:
    """The p-norm of the elements along the given axes (all by default) as one vector.

    ord: a number p, inf, -inf, or 0 for how many elements are nonzero.
    """
    x = inexact1("linalg.vector_norm", x)
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        hint = " Use the number inf instead." if ord.lstrip("-") == "inf" else ""
        raise ValueError(f"Invalid order {ord!r} for vector norm.{hint}")
    if ord == 0:
        return sum(x != 0, axis, dtypes.finfo(x.dtype).dtype, None, keepdims)
    size = absolute(x)
    if ord == np.inf:
        return max(size, axis, None, keepdims, initial=0)
    if ord == -np.inf:
        return min(size, axis, None, keepdims)
    if ord == 1:
        return sum(size, axis, None, None, keepdims)
    total = sum(power(size, like(float(ord), size)), axis, None, None, keepdims)
    return power(total, like(1.0 / ord, total))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Order = "fro") -> Any:
    """The norm of matrices [..., m, n]; `ord` as in `norm`."""
    return norm(x, ord, (-2, -1), keepdims)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """The number of singular values above `rtol`, by default the largest times max(m, n) eps.

    `tol` is another name for `rtol`. Of a scalar or vector: whether it is nonzero.
    """
    if tol is not None:
        if rtol is not None:
            raise ValueError("matrix_rank: tol is another name of rtol; do not give both.")
        rtol = tol
    M = inexact1("linalg.matrix_rank", M)
    if M.ndim < 2:
        return any(M != 0).astype(np.int32)
    values = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        eps = float(dtypes.finfo(values.dtype).eps)
        rtol = max(values, -1, initial=0) * like(eps * sorted(M.aval.shape[-2:])[1], values)
    return sum(values > to_array("matrix_rank", rtol)[..., None], -1)
