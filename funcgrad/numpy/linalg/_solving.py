"""Linear systems: solve, inv, pinv, lstsq, and their tensor forms."""

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base import dtypes
from funcgrad.base.basis import reshape
from funcgrad.base.shapes import broadcast_shapes, concrete_int
from funcgrad.numpy._choosing import where
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._filling import zeros
from funcgrad.numpy._products import matmul
from funcgrad.numpy._promotion import broadcast, promote_dtypes, to_array, to_arrays
from funcgrad.numpy._ranges import eye
from funcgrad.numpy._reductions import sum
from funcgrad.numpy._shaping import moveaxis, ravel
from funcgrad.numpy.linalg._decompositions import adjoint, matrices, svd
from funcgrad.numpy.linalg._norms import norm
from funcgrad.primitives.linalg_lu import lu, lu_solve
from funcgrad.primitives.precision import Precision


def solve(a: Any, b: Any) -> Any:
    """x with a x = b.

    Args:
        a: [..., n, n].
        b: [n], or [..., n, m]; the axes in front broadcast with those of a.

    Returns:
        x, shaped like b; inf or nan where a is singular.

    Raises:
        ValueError: the shapes do not fit.
    """
    a, b = promote_dtypes("linalg.solve", a, b, kind=dtypes.to_inexact)
    left, right = a.aval.shape, b.aval.shape
    if len(left) < 2 or left[-1] != left[-2] or not right:
        raise ValueError(
            f"solve: a must have shape [..., n, n] and b [n] or [..., n, m]; got {left} and {right}"
        )
    rows = right[0] if len(right) == 1 else right[-2]
    if rows != left[-1]:
        raise ValueError(
            f"solve: a of shape {left} has {left[-1]} columns, b of shape {right} has {rows} rows. "
            "A stack of vectors b is solved for by solve(a, b[..., None])[..., 0]."
        )
    columns = b[:, None] if len(right) == 1 else b
    batch = broadcast_shapes(
        left[:-2], columns.aval.shape[:-2], names="linalg.solve got batch shapes"
    )
    a = broadcast(a, (*batch, *left[-2:]))
    columns = broadcast(columns, (*batch, *columns.aval.shape[-2:]))
    x = _solve(a, columns)
    return x[..., 0] if len(right) == 1 else x


@custom_jvp
def _solve(a: Any, b: Any) -> Any:
    factors, _, permutation = lu(a)
    return lu_solve(factors, permutation, b)


@_solve.defjvp
def _solve_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """a dx = db - da x, with the same factors."""
    (a, b), (da, db) = primals, tangents
    factors, _, permutation = lu(a)
    x = lu_solve(factors, permutation, b)
    return x, lu_solve(factors, permutation, db - matmul(da, x))


def inv(a: Any) -> Any:
    """The inverse of matrices [..., n, n]."""
    a = matrices("inv", a, square=True)
    return solve(a, broadcast(eye(a.aval.shape[-1], dtype=a.dtype), a.aval.shape))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The Moore-Penrose inverse of matrices [..., m, n], as [..., n, m].

    Args:
        a: the matrices.
        rtol: singular values below rtol times the largest count as 0; 10 max(m, n) eps by default.
        hermitian: a is.
        rcond: another name for rtol.
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: rcond is another name of rtol; do not give both.")
        rtol = rcond
    a = matrices("pinv", a)
    *batch, m, n = a.aval.shape
    if m == 0 or n == 0:
        return zeros((*batch, n, m), a.dtype)
    if rtol is None:
        rtol = 10.0 * max(m, n) * float(dtypes.finfo(a.dtype).eps)

    @custom_jvp
    def inverse(a: Any) -> Any:
        u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
        cutoff = to_array("pinv", rtol)[..., None] * s[..., :1]
        reciprocal = where(s > cutoff, 1 / where(s > cutoff, s, 1), 0).astype(u.dtype)
        return _exact(adjoint(vh) * reciprocal[..., None, :], adjoint(u))

    @inverse.defjvp
    def inverse_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
        (a,), (t,) = primals, tangents
        p = inverse(a)
        if hermitian:
            a, t = (a + adjoint(a)) / 2, (t + adjoint(t)) / 2
        return p, _pinv_tangent(a, t, p)

    return inverse(a)


def _pinv_tangent(a: Any, t: Any, p: Any) -> Any:
    """-p t p, and what turns the row and column spaces (Golub and Pereyra)."""
    th, ph = adjoint(t), adjoint(p)
    if a.aval.shape[-2] >= a.aval.shape[-1]:
        rows = _exact(p, ph, th)
        columns = _exact(th, ph, p)
        inner = _exact(_exact(p, t), p)
        return -inner + rows - _exact(_exact(rows, a), p) + columns - _exact(p, a, columns)
    rows = _exact(p, _exact(ph, th))
    columns = _exact(th, _exact(ph, p))
    inner = _exact(p, _exact(t, p))
    return -inner + rows - _exact(rows, _exact(a, p)) + columns - _exact(p, _exact(a, columns))


def _exact(*factors: Any) -> Any:
    """The matrix product from the left, at the highest precision."""
    result = factors[0]
    for factor in factors[1:]:
        result = matmul(result, factor, precision=Precision.HIGHEST)
    return result


def lstsq(
    a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """The x of least norm that minimises |b - a x|.

    Args:
        a: [m, n].
        b: [m] or [m, k].
        rcond: singular values below rcond times the largest count as 0; max(m, n) eps by default.
        numpy_resid: return an empty array of residuals where NumPy does; not while tracing.

    Returns:
        x [n] or [n, k]; the squared residuals of each column; the rank; the singular values.
    """
    a, b = promote_dtypes("linalg.lstsq", a, b, kind=dtypes.to_inexact)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise TypeError(
            f"lstsq: a must be two-dimensional and b one or two-dimensional, got shapes "
            f"{a.aval.shape} and {b.aval.shape}"
        )
    if a.aval.shape[0] != b.aval.shape[0]:
        raise ValueError(
            f"lstsq: a of shape {a.aval.shape} has not as many rows as b of shape {b.aval.shape}"
        )
    columns = b[:, None] if b.ndim == 1 else b
    m, n = a.aval.shape
    if a.aval.size == 0:
        s, rank = zeros((0,), dtypes.finfo(a.dtype).dtype), asarray(0, dtypes.default_int())
        x = zeros((n, columns.aval.shape[1]), a.dtype)
    else:
        x, rank, s = _least_squares(a, columns, rcond)
    if numpy_resid and (int(rank) < n or m <= n):
        residuals = zeros((0,), dtypes.finfo(a.dtype).dtype)
    else:
        residuals = norm(columns - _exact(a, x), axis=0) ** 2
    return (ravel(x) if b.ndim == 1 else x), residuals, rank, s


def _least_squares(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any]:
    eps = float(dtypes.finfo(a.dtype).eps)
    if rcond is None:
        rcond = eps * max(a.aval.shape)
    else:
        rcond = where(to_array("lstsq", rcond) < 0, eps, rcond)
    u, s, vh = svd(a, full_matrices=False)
    mask = (s > 0) & (s >= to_array("lstsq", rcond).astype(s.dtype) * s[0])
    safe = where(mask, s, 1).astype(a.dtype)
    reciprocal = where(mask, 1 / safe, 0)[:, None]
    return _exact(adjoint(vh), reciprocal * _exact(adjoint(u), b)), sum(mask), s


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a as a linear map of tensors: its first `ind` axes against the others."""
    a = to_array("tensorinv", a)
    ind = concrete_int(ind, "ind")
    if ind <= 0:
        raise ValueError(f"tensorinv: ind={ind} is not positive")
    first, last = a.aval.shape[:ind], a.aval.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise ValueError(
            f"tensorinv: the first {ind} axes of shape {a.aval.shape} and the others must have the "
            f"same size, got {math.prod(first)} and {math.prod(last)}"
        )
    return reshape(inv(reshape(a, (math.prod(first), math.prod(last)))), (*last, *first))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b; the given axes of a are moved to the end first."""
    a, b = to_arrays("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.aval.shape[b.ndim :]
    if a.aval.shape[: b.ndim] != b.aval.shape or b.aval.size != math.prod(shape):
        raise ValueError(
            f"tensorsolve: a of shape {a.aval.shape} (axes moved) must begin with the shape of b, "
            f"{b.aval.shape}, and have as many elements in the other axes"
        )
    return reshape(solve(reshape(a, (b.aval.size, b.aval.size)), ravel(b)), shape)
