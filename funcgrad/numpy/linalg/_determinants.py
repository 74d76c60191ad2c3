"""Determinants, powers of matrices, condition numbers."""

import operator
from typing import Any, NamedTuple

import numpy as np

from funcgrad.api.branching import cond as branch
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base.basis import iota
from funcgrad.numpy._arithmetic import absolute
from funcgrad.numpy._choosing import where
from funcgrad.numpy._complex import real
from funcgrad.numpy._cumulative import cumprod
from funcgrad.numpy._diagonals import diagonal as diagonal_of
from funcgrad.numpy._diagonals import trace
from funcgrad.numpy._filling import zeros_like
from funcgrad.numpy._joining import concatenate
from funcgrad.numpy._logic import isnan
from funcgrad.numpy._products import matmul
from funcgrad.numpy._promotion import broadcast, is_complex, to_array
from funcgrad.numpy._ranges import eye
from funcgrad.numpy._reductions import any, count_nonzero, prod, sum
from funcgrad.numpy._ufuncs import exp, log
from funcgrad.numpy.linalg._decompositions import adjoint, matrices, svd, svdvals
from funcgrad.numpy.linalg._norms import Order, norm
from funcgrad.numpy.linalg._solving import inv, solve
from funcgrad.primitives import arithmetic
from funcgrad.primitives.linalg_lu import lu
from funcgrad.primitives.linalg_matrix import take_rows
from funcgrad.primitives.linalg_qr import geqrf
from funcgrad.primitives.linalg_solve import triangular_solve
from funcgrad.primitives.reduction import product_of_others


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign (or phase) of the determinant and the logarithm of its size; 0 and -inf if singular.

    method: "lu" (the default) or "qr", for real matrices.
    """
    a = matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method {method!r}; there are 'lu' and 'qr'.")
    if method == "qr" and is_complex(a):
        raise NotImplementedError("slogdet: method 'qr' is for real matrices; use 'lu'.")
    return SlogdetResult(*(_slogdet_qr if method == "qr" else _slogdet_lu)(a))


def _parity_sign(swapped: Any, dtype: Any) -> Any:
    """1 for an even number of true elements along the last axis, -1 for an odd one."""
    return (1 - 2 * (count_nonzero(swapped, -1) % 2)).astype(dtype)


def _swapped(pivots: Any) -> Any:
    return pivots != iota(pivots.dtype, pivots.shape, pivots.ndim - 1)


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lu(a)
    diagonal = diagonal_of(factors, 0, -2, -1)
    sign = prod(arithmetic.sign(diagonal), -1) * _parity_sign(_swapped(pivots), a.dtype)
    return sign, sum(log(absolute(diagonal)), -1)


@custom_jvp
def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    packed, taus = geqrf(a)
    diagonal = diagonal_of(packed, 0, -2, -1)
    # Every reflection that does something turns the sign.
    sign = prod(arithmetic.sign(diagonal), -1) * _parity_sign(taus != 0, a.dtype)
    return sign, sum(log(absolute(diagonal)), -1)


def _slogdet_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """The derivative of log det is tr(a^-1 da); its imaginary part turns the phase."""
    (a,), (t,) = primals, tangents
    sign, size = _slogdet_lu(a)
    rate = trace(solve(a, t), 0, -2, -1)
    if not is_complex(a):
        return (sign, size), (zeros_like(sign), rate)
    turn = (rate - real(rate).astype(rate.dtype)) * sign
    return (sign, size), (turn, real(rate))


_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


def det(a: Any) -> Any:
    """The determinant of matrices [..., n, n]; its gradient is right where it is 0, too."""
    a = matrices("det", a, square=True)
    n = a.aval.shape[-1]
    if n in (2, 3):
        return _small_det(a, n)
    return _det(a)


def _small_det(a: Any, n: int) -> Any:
    x = [[a[..., i, j] for j in range(n)] for i in range(n)]
    if n == 2:
        return x[0][0] * x[1][1] - x[0][1] * x[1][0]
    turns = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    plus = [x[0][i] * x[1][j] * x[2][k] for i, j, k in turns]
    minus = [x[0][k] * x[1][j] * x[2][i] for i, j, k in turns]
    return plus[0] + plus[1] + plus[2] - minus[0] - minus[1] - minus[2]


@custom_jvp
def _det(a: Any) -> Any:
    sign, size = _slogdet_lu(a)
    return sign * exp(size).astype(sign.dtype)


@_det.defjvp
def _det_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """tr(adj(a) da), where the adjugate is det(a) a^-1 if a has an inverse."""
    (a,), (t,) = primals, tangents
    factors, pivots, permutation = lu(a)
    diagonal = diagonal_of(factors, 0, -2, -1)
    sign = _parity_sign(_swapped(pivots), a.dtype)
    running = cumprod(diagonal, -1) * sign[..., None]
    early_zero = any(diagonal[..., :-1] == 0)
    product = branch(
        early_zero,
        lambda: matmul(_adjugate(a), t),
        lambda: _adjugate_times(factors, permutation, running, t),
    )
    return running[..., -1], trace(product, 0, -2, -1)


def _adjugate_times(factors: Any, permutation: Any, running: Any, t: Any) -> Any:
    """adj(a) t from the factors of a, without dividing by the last pivot, which may be 0.

    `running` are the products of the first pivots, the last of them the determinant.
    """
    n = factors.aval.shape[-1]
    if n == 1:
        return t
    y = triangular_solve(
        factors, take_rows(t, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    y = concatenate(
        [y[..., :-1, :] * running[..., -1:, None], y[..., -1:, :] * running[..., -2:-1, None]], -2
    )
    last = eye(n, dtype=np.bool_) & (iota(np.int32, (n, n), 0) == n - 1)
    return triangular_solve(where(last, 1, factors).astype(factors.dtype), y, left_side=True)


def _adjugate(a: Any) -> Any:
    """The adjugate from singular values, each replaced by the product of the others."""
    u, s, vh = svd(a)
    others = product_of_others(s, (s.ndim - 1,)).astype(a.dtype)
    turn = _slogdet_lu(u)[0] * _slogdet_lu(vh)[0]
    return turn[..., None, None] * matmul(adjoint(vh) * others[..., None, :], adjoint(u))


def matrix_power(a: Any, n: int) -> Any:
    """a to an integer power, by squaring; negative powers are those of the inverse."""
    a = to_array("matrix_power", a)
    shape = a.aval.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise TypeError(f"matrix_power: the last 2 dimensions must be square, got shape {shape}")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"matrix_power: the exponent {n!r} is not an integer") from error
    if n == 0:
        return broadcast(eye(shape[-1], dtype=a.dtype), shape)
    power, result, left = (inv(a) if n < 0 else a), None, abs(n)
    while left:
        if left & 1:
            result = power if result is None else matmul(result, power)
        left >>= 1
        if left:
            power = matmul(power, power)
    return result


def cond(x: Any, p: Order = None) -> Any:
    """The condition number |x| |x^-1| of matrices in the norm p, by default that of order 2."""
    x = matrices("cond", x)
    if 0 in x.aval.shape[-2:]:
        raise ValueError(f"linalg.cond: matrices of shape {x.aval.shape} are empty")
    if p is None or p == 2:
        values = svdvals(x)
        return values[..., 0] / values[..., -1]
    if p == -2:
        values = svdvals(x)
        ratio = values[..., -1] / values[..., 0]
    else:
        if x.aval.shape[-1] != x.aval.shape[-2]:
            raise ValueError(f"linalg.cond: for p={p} the array must be square; got {x.aval.shape}")
        ratio = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    undefined = isnan(ratio) & ~any(isnan(x), (-2, -1))
    return where(undefined, np.inf, ratio)
