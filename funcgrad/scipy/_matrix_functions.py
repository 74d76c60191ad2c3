"""Functions of whole matrices: the exponential, the square root, and those given for numbers."""

from collections.abc import Callable
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.custom import custom_jvp
from funcgrad.api.derivatives import jvp
from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import is_complex, promote_dtypes
from funcgrad.scipy._factorizations import schur
from funcgrad.scipy._matrices import adjoint, matrices
from funcgrad.scipy._solving import solve_sylvester

# The order of Pade's approximation, and the largest norm for which its error is below rounding.
# Source: Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005.
_PADE = {np.dtype(np.float32): (7, 3.925724783138660), np.dtype(np.float64): (13, 5.371920351148152)}


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
    order, largest = _PADE[np.dtype(jnp.finfo(a.dtype).dtype)]
    steps = jnp.log2(jnp.max(jnp.sum(abs(a), axis=0), initial=0) / largest)
    squarings = lax.stop_gradient(jnp.maximum(jnp.ceil(steps), 0))
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
    """The even and the odd part of the numerator of Pade's approximation to exp."""
    top = factorial(order)
    b = [
        factorial(2 * order - k) * top // (factorial(2 * order) * factorial(k) * factorial(order - k))
        for k in range(order + 1)
    ]
    raise AssertionError(b)
