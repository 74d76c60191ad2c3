"""The gamma function: its logarithm and derivatives, factorials, beta and incomplete functions."""

import math
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.derivatives import jvp
from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.backend import scipy
from funcgrad.base.basis import convert
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import inexact, inexact1, is_complex
from funcgrad.primitives import gamma as family
from funcgrad.scipy._arguments import partials, real, reals


def gammaln(x: Any) -> Any:
    """log |gamma(x)| of real x; infinite at 0, -1, -2, ..."""
    return lax.lgamma(inexact1("gammaln", x))


def loggamma(x: Any) -> Any:
    """log(gamma(x)), for complex x the branch that is analytic but for x <= 0.

    nan for real x <= 0. A complex one is differentiable once.
    """
    x = inexact1("loggamma", x)
    if is_complex(x):
        return family.complex_lgamma(x)
    return jnp.where(x > 0, lax.lgamma(jnp.where(x > 0, x, 1)), np.nan)


def gammasgn(x: Any) -> Any:
    """The sign of gamma(x), 1 or -1; nan at its poles below 0."""
    x = real("gammasgn", x, weak=False)
    below, floor = x < 0, lax.floor(x)
    negative = (below & (floor % 2 != 0)) | ((x == 0) & jnp.signbit(x))
    undefined = (below & (x == floor)) | jnp.isnan(x)
    return jnp.where(undefined, np.nan, jnp.where(negative, -jnp.ones_like(x), 1))


def gamma(x: Any) -> Any:
    """The gamma function of real or complex x; nan at its poles -1, -2, ..., infinite at 0."""
    x = inexact1("gamma", x)
    if is_complex(x):
        return lax.exp(family.complex_lgamma(x))
    return family.gamma(convert(x, x.dtype))


def factorial(n: Any, exact: bool = False) -> Any:
    """n!, for real n too; 0 for n < 0. `exact` must be False."""
    if exact:
        raise NotImplementedError(
            "factorial with exact=True gives integers of any size, which no array can hold; use "
            "math.factorial"
        )
    n = real("factorial", n)
    return jnp.where(n < 0, 0, family.gamma(jnp.where(n < 0, 0, n) + 1))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose k things out of N, as a float, for real N and k too.

    With `repetition`, a thing may be chosen more than once. 0 where N < 0, k < 0 or, without
    repetition, k > N.
    """
    N, k = reals("comb", N, k)
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1, comb(N + k - 1, k))
    possible = (k <= N) & (N >= 0) & (k >= 0)
    N, k = jnp.where(possible, N, 0), jnp.where(possible, k, 0)
    return jnp.where(possible, family.binom(N, k), 0)


def poch(z: Any, m: Any) -> Any:
    """The rising factorial (z)_m = gamma(z + m) / gamma(z)."""
    return family.poch(*reals("poch", z, m, weak=False))


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|."""
    return family.betaln(*reals("betaln", a, b))


def beta(a: Any, b: Any) -> Any:
    """The beta function gamma(a) gamma(b) / gamma(a + b)."""
    a, b = reals("beta", a, b, weak=False)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(family.betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, for a, b > 0 and 0 <= x <= 1."""
    return lax.betainc(*reals("betainc", a, b, x))


def gammainc(a: Any, x: Any) -> Any:
    """P(a, x), the lower incomplete gamma function divided by gamma(a), for a, x >= 0."""
    return lax.igamma(*inexact("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), accurate also where that is close to 1."""
    return lax.igammac(*inexact("gammaincc", a, x))


def multigammaln(a: Any, d: int) -> Any:
    """log Gamma_d(a), the one of d x d matrices, for d known and a > (d - 1) / 2."""
    a, d = real("multigammaln", a), concrete_int(d, "d")
    halves = jnp.reshape(jnp.arange(d, dtype=a.dtype) / 2, (1,) * a.ndim + (d,))
    constant = d * (d - 1) / 4 * math.log(math.pi)
    return jnp.sum(lax.lgamma(a[..., None] - halves), axis=-1) + constant


# derivatives of lgamma, and zeta


def digamma(x: Any) -> Any:
    """The derivative of gammaln; nan at 0, -1, -2, ..."""
    return lax.digamma(inexact1("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma at x, for integers n >= 0."""
    if not dtypes.issubdtype(aval_of(n).dtype, np.integer):
        raise ValueError(
            f"polygamma takes an order n of an integer dtype, got dtype {aval_of(n).dtype}"
        )
    return lax.polygamma(*reals("polygamma", n, x))


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., for x > 1.

    With q left out, that is Riemann's: q = 1. nan for x < 1.
    """
    return _zeta(*reals("zeta", x, 1 if q is None else q))


@custom_jvp
def _zeta(x: Any, q: Any) -> Any:
    return lax.zeta(x, q)


partials(
    _zeta,
    lambda t, out, x, q: jvp(lambda x: _zeta_series(x, q), (x,), (t,))[1],
    lambda t, out, x, q: jvp(lambda q: lax.zeta(x, q), (q,), (t,))[1],
)

# So many terms of the sum, then so many of Euler and Maclaurin's formula for the rest.
_SUMMED, _CORRECTIONS = 10, 10


def _zeta_series(x: Any, q: Any) -> Any:
    """zeta(x, q), in a form that can be differentiated in x."""
    end = q + _SUMMED
    total = end ** (1 - x) / (x - 1) + end**-x / 2
    for k in range(_SUMMED):
        total = total + (q + k) ** -x
    rising = x * end ** (-x - 1)
    for j in range(1, _CORRECTIONS + 1):
        number = scipy("special").bernoulli(2 * j)[2 * j] / math.factorial(2 * j)
        total = total + float(number) * rising
        rising = rising * ((x + 2 * j - 1) / end) * ((x + 2 * j) / end)
    return total


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers 0 to n, as floats; the one of index 1 is -1/2."""
    n = concrete_int(n, "n")
    if n < 0:
        raise ValueError(f"bernoulli takes a non-negative n, got {n}")
    return jnp.asarray(scipy("special").bernoulli(n), dtypes.default_float())
