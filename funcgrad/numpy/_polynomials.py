"""Polynomials as arrays of coefficients, the highest power first."""

from typing import Any

import numpy as np

from funcgrad.api.looping import scan
from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_scalar, concatenate, convert
from funcgrad.base.shapes import broadcast_shapes, concrete_int
from funcgrad.numpy._arithmetic import power
from funcgrad.numpy._choosing import where
from funcgrad.numpy._creation import array, asarray
from funcgrad.numpy._editing import roll, trim_zeros
from funcgrad.numpy._filling import ones, zeros
from funcgrad.numpy._products import dot, outer
from funcgrad.numpy._promotion import (
    inexact1,
    is_integer,
    like,
    promote_dtypes,
    to_array,
)
from funcgrad.numpy._ranges import arange, eye
from funcgrad.numpy._reductions import all, sum
from funcgrad.numpy._searching import argmin
from funcgrad.numpy._shaping import atleast_1d, transpose
from funcgrad.numpy._signal import convolve
from funcgrad.numpy._taking import known_numbers
from funcgrad.numpy._ufuncs import sqrt
from funcgrad.numpy.linalg import eigvals, inv, lstsq
from funcgrad.primitives.sorting import sort_key_val


def _coefficients(name: str, *args: Any) -> list[Any]:
    arrays = [atleast_1d(x) for x in promote_dtypes(name, *args, kind=dtypes.to_inexact)]
    for x in arrays:
        if x.ndim != 1:
            raise ValueError(f"{name}: polynomials are 1-dimensional arrays, got {x.aval.shape}")
    return arrays


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """p[0] x^n + p[1] x^(n-1) + ... + p[n], by Horner's scheme.

    p may have further axes, which broadcast with x; `unroll` is that of the scan over its first.
    """
    p, x = promote_dtypes("polyval", p, x)
    shape = broadcast_shapes(p.aval.shape[1:], x.aval.shape, names="polyval got shapes")
    start = broadcast_scalar(0, x.aval.update(shape=shape))
    if p.aval.shape[0] == 0:
        return start
    return scan(lambda y, c: (y * x + c, None), start, p, unroll=unroll)[0]


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    a, b = promote_dtypes("polyadd", a1, a2)
    a, b = (a, b) if a.aval.shape[0] >= b.aval.shape[0] else (b, a)
    cut = a.aval.shape[0] - b.aval.shape[0]
    return concatenate([a[:cut], a[cut:] + b], 0)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    a, b = promote_dtypes("polysub", a1, a2)
    return polyadd(a, -b)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials; with `trim_leading_zeros`, not while tracing, as NumPy's."""
    a, b = _coefficients("polymul", a1, a2)
    if trim_leading_zeros and (a.aval.size > 1 or b.aval.size > 1):
        a, b = trim_zeros(a, "f"), trim_zeros(b, "f")
    a, b = (x if x.aval.size else zeros(1, x.dtype) for x in (a, b))
    return convolve(a, b)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials.

    The remainder is as long as u, unless `trim_leading_zeros` cuts its zeros, not while tracing.
    """
    u, v = _coefficients("polydiv", u, v)
    steps, n = u.aval.size - v.aval.size + 1, v.aval.size
    quotient = zeros(steps if steps > 1 else 1, u.dtype)
    for k in range(steps):
        factor = u[k] / v[0]
        quotient = quotient.at[k].set(factor)
        u = u.at[k : k + n].add(-factor * v)
    if trim_leading_zeros:
        host = known_numbers("polydiv", u, "Leave out trim_leading_zeros while tracing.")
        large = np.nonzero(abs(host) >= np.sqrt(float(dtypes.finfo(u.dtype).eps)))[0]
        u = u[int(large[0]) :] if len(large) else u[:0]
    return quotient, u


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative."""
    (p,) = _coefficients("polyder", p)
    m = concrete_int(m, "m")
    if m < 0:
        raise ValueError(f"polyder: the order of a derivative must not be negative, got {m}")
    if m == 0:
        return p
    degrees = np.arange(p.aval.size - 1, m - 1, -1.0)
    factors = np.prod([degrees - i for i in range(m)], axis=0)
    return p[:-m] * asarray(factors, p.dtype)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral; k are its constants, the first one of the first integral, 0 by default."""
    (p,) = _coefficients("polyint", p)
    m = concrete_int(m, "m")
    if m < 0:
        raise ValueError(f"polyint: the order of an integral must be positive, got {m}")
    constants = atleast_1d(inexact1("polyint", 0.0 if k is None else k))
    p, constants = promote_dtypes("polyint", p, constants)
    if constants.aval.shape not in ((1,), (m,)):
        raise ValueError(
            f"polyint: k is one constant or {m} of them, got shape {constants.aval.shape}"
        )
    if m == 0:
        return p
    constants = constants if constants.aval.size == m else concatenate([constants] * m, 0)
    degrees = np.arange(p.aval.size + m - 1, -1, -1.0)
    factors = np.prod([np.maximum(degrees - i, 1) for i in range(m)], axis=0)
    return concatenate([p, constants], 0) / asarray(factors, p.dtype)


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with the given zeros, or the characteristic one of a matrix; its first
    coefficient is 1."""
    roots_ = atleast_1d(inexact1("poly", seq_of_zeros))
    if roots_.ndim == 2 and roots_.aval.shape[0] == roots_.aval.shape[1] != 0:
        roots_ = eigvals(roots_)
    if roots_.ndim != 1:
        raise ValueError(
            f"poly: the input must be 1d or a square 2d array, got {roots_.aval.shape}"
        )
    if roots_.aval.size == 0:
        return ones((), roots_.dtype)
    result = ones(1, roots_.dtype)
    for i in range(roots_.aval.size):
        result = convolve(result, concatenate([ones(1, roots_.dtype), -roots_[i : i + 1]], 0))
    return result


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The complex zeros of a polynomial: the eigenvalues of its companion matrix.

    While tracing, `strip_zeros=False` is needed; leading zeros then give nan at the end.
    """
    p = atleast_1d(inexact1("roots", p))
    if p.ndim != 1:
        raise ValueError(f"roots: p of shape {p.aval.shape} does not have one axis")
    if p.aval.size < 2:
        return array([], dtypes.canonicalize_dtype(dtypes.to_complex(p.dtype)))
    leading = where(all(p == 0), p.aval.size, argmin(p == 0))
    if strip_zeros:
        known = known_numbers("roots", leading, "To use it while tracing, pass strip_zeros=False.")
        return _companion_roots(p[int(known) :])
    p = where(leading == p.aval.size, 1.0, p)
    found = _companion_roots(roll(p, -leading))
    found = sort_key_val(found == 0, found)[1]
    kept = arange(found.aval.size) < found.aval.size - leading
    return where(kept, found, complex(np.nan, np.nan))


def _companion_roots(p: Any) -> Any:
    if p.aval.size < 2:
        return array([], dtypes.canonicalize_dtype(dtypes.to_complex(p.dtype)))
    below = eye(p.aval.size - 1, k=-1, dtype=p.dtype)
    return eigvals(below.at[0].set(-p[1:] / p[0]))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix whose rows are the powers of the elements of x, N of them, the highest first."""
    x = to_array("vander", x)
    if x.ndim != 1:
        raise ValueError(f"vander: x of shape {x.aval.shape} does not have one axis")
    number = x.aval.size if N is None else concrete_int(N, "N")
    if number < 0:
        raise ValueError(f"vander: N must be nonnegative, got {number}")
    exponents = np.arange(number) if increasing else np.arange(number)[::-1]
    if is_integer(x):
        return power(x[:, None], asarray(exponents, x.dtype)[None, :])
    return power(x[:, None], asarray(exponents, dtypes.default_int())[None, :])


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` that fits the points (x, y) best, by least squares.

    Args:
        x: [m].
        y: [m] or [m, k].
        deg: the degree.
        rcond: singular values below rcond times the largest count as 0; m eps by default.
        full: return also the squared residuals, the rank, the singular values and rcond.
        w: weights of the points [m].
        cov: return also the covariance of the coefficients; "unscaled" for weights of 1/sigma.
    """
    (x, y) = (inexact1("polyfit", v) for v in (x, y))
    deg = concrete_int(deg, "deg")
    if deg < 0:
        raise ValueError(f"polyfit: expected deg >= 0, got {deg}")
    if x.ndim != 1 or not x.aval.size or y.ndim not in (1, 2) or len(y) != len(x):
        raise TypeError(
            "polyfit: expected a non-empty vector x and y with as many elements or rows, got "
            f"shapes {x.aval.shape} and {y.aval.shape}"
        )
    if rcond is None:
        rcond = len(x) * float(dtypes.finfo(x.dtype).eps)
    left, right = vander(x, deg + 1), y
    if w is not None:
        w = inexact1("polyfit", w)
        if w.aval.shape != x.aval.shape:
            raise TypeError(f"polyfit: expected a weight for each point, got shape {w.aval.shape}")
        left = left * w[:, None]
        right = right * (w[:, None] if right.ndim == 2 else w)
    scale = sqrt(sum(left * left, 0))
    coefficients, residuals, rank, values = lstsq(left / scale, right, rcond)
    coefficients = transpose(transpose(coefficients) / scale)
    if full:
        return coefficients, residuals, rank, values, asarray(rcond)
    if not cov:
        return coefficients
    spread = inv(dot(transpose(left / scale), left / scale)) / outer(scale, scale)
    if cov == "unscaled":
        factor = like(1.0, spread)
    elif len(x) <= deg + 1:
        raise ValueError(
            f"polyfit: {len(x)} points are too few to scale the covariance for deg={deg}; give "
            "more than deg + 1, or pass cov='unscaled'"
        )
    else:
        factor = residuals / (len(x) - deg - 1)
    if y.ndim == 1:
        return coefficients, spread * convert(factor, spread.dtype)
    return coefficients, spread[:, :, None] * atleast_1d(factor)
