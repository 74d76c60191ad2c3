"""Functions of whole matrices: the exponential, the square root, and those given for numbers."""

from collections.abc import Callable
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.derivatives import jvp
from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import promote_dtypes
from funcgrad.primitives import linalg_sylvester
from funcgrad.scipy._factorizations import schur
from funcgrad.scipy._matrices import adjoint, matrices

# The order of Pade's approximation, and the largest norm for which its error is below rounding.
# Source: Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005.
_PADE = {32: (7, 3.925724783138660), 64: (13, 5.371920351148152)}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The matrix exponential, the sum of A^k / k!

    Args:
        A: [..., n, n].
        upper_triangular: promise that A is.
        max_squarings: how often the result for A / 2^k may be squared; nan where A is so large that
            it takes more.
    """
    a = matrices("expm", A, square=True)
    most = concrete_int(max_squarings, "max_squarings")
    each = jnp.vectorize(partial(_expm, upper_triangular, most), signature="(n,n)->(n,n)")
    wide = a if a.dtype.itemsize > 2 else convert(a, np.dtype(np.float32))
    return convert(each(wide), a.dtype)


def _expm(upper_triangular: bool, max_squarings: int, a: Any) -> Any:
    order, largest = _PADE[dtypes.finfo(a.dtype).bits]
    norm = jnp.max(jnp.sum(abs(lax.stop_gradient(a)), axis=0), initial=0)
    steps = jnp.log2(norm / largest)
    squarings = jnp.maximum(jnp.ceil(steps), 0)
    even, odd = _pade(a / convert(2**squarings, a.dtype), order)
    if upper_triangular:
        result = lax.linalg.triangular_solve(even - odd, even + odd, left_side=True)
    else:
        result = jnp.linalg.solve(even - odd, even + odd)

    def square(i: Any, x: Any) -> Any:
        return lax.cond(i < squarings, lambda x: x @ x, lambda x: x, x)

    result = lax.fori_loop(0, max_squarings + 1, square, result)
    return jnp.where(jnp.floor(steps) > max_squarings, np.nan, result)


def _pade(a: Any, order: int) -> tuple[Any, Any]:
    """The even and the odd part of p in Pade's approximation p(a) / p(-a) of exp(a)."""
    b = [
        factorial(2 * order - k) // (factorial(k) * factorial(order - k)) for k in range(order + 1)
    ]
    powers = [jnp.eye(a.shape[0], dtype=a.dtype), a @ a]
    powers += [powers[1] @ powers[1]]
    powers += [powers[2] @ powers[1]]

    def polynomial(coefficients: list[int]) -> Any:
        """In a^2; terms beyond a^6 are a^6 times a polynomial again."""
        low = sum(c * p for c, p in zip(coefficients, powers, strict=False))
        high = [c * p for c, p in zip(coefficients[4:], powers[1:], strict=False)]
        return low + powers[3] @ sum(high) if high else low

    return polynomial(b[0::2]), a @ polynomial(b[1::2])


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """expm(A) and its derivative along E, as a pair, or the derivative alone.

    Args:
        A, E: [..., n, n].
        method: taken for compatibility; it has no effect.
        compute_expm: return both.
    """
    a, e = promote_dtypes("expm_frechet", A, E, kind=dtypes.to_inexact)
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet takes A and E of one shape, got {a.shape} and {e.shape}")
    both = jvp(expm, (a,), (e,))
    return both if compute_expm else both[1]


# the square root


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of matrices [..., n, n]: complex, with eigenvalues on the right.

    nan where there is none. `blocksize` has no effect.
    """
    a = matrices("sqrtm", A, square=True)
    return linalg_sylvester.sqrtm(convert(a, dtypes.to_complex(a.dtype)))


# functions given for numbers


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """The function of a matrix that takes each eigenvalue w to func(w), by Parlett's recurrence.

    It is inaccurate where eigenvalues almost agree.

    Args:
        A: [n, n].
        func: a function of numbers, which is called with the vector of eigenvalues.
        disp: if False, return also an estimate of the relative error.

    Returns:
        A complex array [n, n].
    """
    a = matrices("funm", A, square=True)
    if a.ndim != 2:
        raise ValueError(f"funm takes one matrix [n, n], got shape {a.shape}; use vmap for more")
    n = a.shape[0]
    t, z = schur(a, "complex")
    eigenvalues = jnp.diag(t)
    gaps = eigenvalues[:, None] - eigenvalues[None, :]
    offsets = jnp.arange(n)[None, :] - jnp.arange(n)[:, None]

    def diagonal(offset: Any, f: Any) -> Any:
        """f t = t f gives each diagonal of f from those below it."""
        found = (f @ t - t @ f) / jnp.where(gaps == 0, 1, gaps)
        return jnp.where(offsets == offset, found, f)

    f = jnp.diag(convert(jnp.asarray(func(eigenvalues)), t.dtype))
    f = z @ lax.fori_loop(1, n, diagonal, f) @ adjoint(z)
    if disp:
        return f
    eps = float(dtypes.finfo(t.dtype).eps)
    nearest = jnp.min(jnp.where(offsets > 0, abs(gaps), np.inf), initial=np.inf)
    size = jnp.max(jnp.sum(abs(jnp.triu(t, 1)), axis=0), initial=0)
    error = jnp.clip(eps / jnp.where(nearest == 0, eps, nearest) * size, eps, 1)
    return f, jnp.where(jnp.any(jnp.isinf(f)), np.inf, error)
