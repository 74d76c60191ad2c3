"""Diagonals and triangles of matrices, and the indices of their elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_in_dim, iota, pad, reshape, slice_array
from funcgrad.base.shapes import canonical_axes, concrete_int
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._choosing import where
from funcgrad.numpy._filling import ones
from funcgrad.numpy._nonzero import nonzero
from funcgrad.numpy._promotion import choose, like, refuse_out, to_array, to_arrays
from funcgrad.numpy._ranges import eye, tri
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import moveaxis, ravel, shape
from funcgrad.numpy._taking import repeated_to


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements a[i, i + offset] over two axes, as a new last axis."""
    a = to_array("diagonal", a)
    if a.ndim < 2:
        raise ValueError(f"diagonal: shape {a.aval.shape} has fewer than the two axes of a matrix")
    offset = concrete_int(offset, "offset")
    axes = canonical_axes((axis1, axis2), a.ndim)
    a = moveaxis(a, axes, (-2, -1))
    *rest, rows, columns = a.aval.shape
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    # In row-major order the elements of a diagonal are one row and one column apart.
    flat = reshape(a, (*rest, rows * columns))
    first = offset if offset >= 0 else -offset * columns
    last = first + (length - 1) * (columns + 1) + 1 if length else first
    zeros = [0] * len(rest)
    if not length:
        return slice_array(flat, [*zeros, 0], [*rest, 0])
    return slice_array(flat, [*zeros, first], [*rest, last], [*(1 for _ in rest), columns + 1])


def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of the diagonal over two axes; the offset may be traced."""
    refuse_out("trace", out)
    a = to_array("trace", a)
    if isinstance(offset, Tracer):
        axes = canonical_axes((axis1, axis2), a.ndim)
        a = moveaxis(a, axes, (-2, -1))
        mask = eye(*a.aval.shape[-2:], k=offset, dtype=np.bool_)
        return total(where(mask, a, like(0, a)), (-2, -1), dtype)
    return total(diagonal(a, offset, axis1, axis2), -1, dtype)


def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with v there and zeros elsewhere."""
    v = to_array("diag", v)
    k = concrete_int(k, "k")
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag takes a vector or a matrix, not shape {v.aval.shape}")
    n = v.aval.size + abs(k)
    column = pad(v, like(0, v), [(max(0, -k), max(0, k), 0)])
    spread = broadcast_in_dim(column, (n, n), (0,))
    return choose(eye(n, k=k, dtype=np.bool_), spread, like(0, spread))


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the elements of v on its k-th diagonal."""
    return diag(ravel(v), k)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """A copy of a with val (repeated as needed) on its main diagonal. Pass inplace=False."""
    if inplace:
        raise NotImplementedError("fill_diagonal returns a new array: say so with inplace=False.")
    if wrap:
        raise NotImplementedError("fill_diagonal does not offer wrap=True.")
    a, val = to_arrays("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError(
            f"fill_diagonal: shape {a.aval.shape} has no diagonal, for want of two axes"
        )
    if a.ndim > 2 and len(set(a.aval.shape)) > 1:
        raise ValueError(
            f"fill_diagonal: all dimensions must be of equal length, got {a.aval.shape}"
        )
    n = min(a.aval.shape)
    values = val if val.ndim == 0 else repeated_to(ravel(val), n)
    return a.at[diag_indices(n, a.ndim)].set(values)


# triangles


def tril(m: Any, k: int = 0) -> Any:
    """m with zeros above its k-th diagonal."""
    m = _matrix("tril", m)
    return _where_lower(m, k, True)


def triu(m: Any, k: int = 0) -> Any:
    """m with zeros below its k-th diagonal."""
    m = _matrix("triu", m)
    return _where_lower(m, k - 1, False)


def _matrix(name: str, m: Any) -> Any:
    m = to_array(name, m)
    if m.ndim < 2:
        raise ValueError(f"{name} works on matrices; shape {m.aval.shape} has fewer than 2 axes")
    return m


def _where_lower(m: Any, k: int, lower: bool) -> Any:
    """m with zeros outside of the lower triangle up to the k-th diagonal, or inside of it."""
    rank = m.ndim
    mask = broadcast_in_dim(
        tri(*m.aval.shape[-2:], k=k, dtype=np.bool_), m.aval.shape, (rank - 2, rank - 1)
    )
    zero = like(0, m)
    return choose(mask, m, zero) if lower else choose(mask, zero, m)


# indices


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of length n."""
    n, ndim = concrete_int(n, "n"), concrete_int(ndim, "ndim")
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must be nonnegative, got {n} and {ndim}")
    return (iota(dtypes.default_int(), (n,)),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array whose axes are equally long."""
    arr = to_array("diag_indices_from", arr)
    if arr.ndim < 2 or len(set(arr.aval.shape)) != 1:
        raise ValueError(
            "diag_indices_from needs two or more axes, all equally long, not shape "
            f"{arr.aval.shape}"
        )
    return diag_indices(arr.aval.shape[0], arr.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and below the k-th diagonal of an n x m matrix."""
    return _triangle_indices(np.tril, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and above the k-th diagonal of an n x m matrix."""
    return _triangle_indices(np.triu, n, k, m)


def _triangle_indices(part: Callable, n: Any, k: Any, m: Any) -> tuple[Any, Any]:
    rows = concrete_int(n, "n")
    columns = rows if m is None else concrete_int(m, "m")
    mask = part(np.ones((rows, columns), bool), concrete_int(k, "k"))
    i, j = nonzero(mask)
    return i, j


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the elements of a matrix on and below its k-th diagonal."""
    return tril_indices(*_rows_and_columns("tril_indices_from", arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the elements of a matrix on and above its k-th diagonal."""
    return triu_indices(*_rows_and_columns("triu_indices_from", arr, k))


def _rows_and_columns(name: str, arr: Any, k: int) -> tuple[int, int, int]:
    lengths = shape(arr)
    if len(lengths) != 2:
        raise ValueError(f"{name} needs a matrix (2 axes), not shape {lengths}")
    return lengths[0], k, lengths[1]


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, Any]:
    """The indices where `mask_func(ones((n, n)), k)` is nonzero."""
    i, j = nonzero(mask_func(ones((n, n)), k), size=size)
    return i, j
