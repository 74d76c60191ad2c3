"""x log y and what is made of it, right also where x is 0; and maps between (0, 1) and the line."""

from math import factorial
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.numpy._promotion import inexact, inexact1, is_complex
from funcgrad.primitives.integrals import powers
from funcgrad.scipy._arguments import partials, real, reals


@custom_jvp
def _quotient(x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0, also where y is."""
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, 0, x) / jnp.where(zero, 1, y)


partials(
    _quotient,
    lambda t, out, x, y: t / y,
    lambda t, out, x, y: -t * _quotient(out, y),
)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, 0, x * lax.log(jnp.where(zero, 1, y)))


partials(
    _xlogy,
    lambda t, out, x, y: t * lax.log(y),
    lambda t, out, x, y: t * _quotient(x, y),
)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, 0, x * lax.log1p(jnp.where(zero, 0, y)))


partials(
    _xlog1py,
    lambda t, out, x, y: t * lax.log1p(y),
    lambda t, out, x, y: t * _quotient(x, 1 + y),
)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return _xlogy(x, x)


partials(_xlogx, lambda t, out, x: t * (lax.log(x) + 1))


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is 0, also where log(y) is infinite."""
    return _xlogy(*inexact("xlogy", x, y))


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), accurate for small y, and 0 where x is 0."""
    return _xlog1py(*inexact("xlog1py", x, y))


def entr(x: Any) -> Any:
    """What a probability x adds to an entropy: -x log(x), 0 at 0, -inf below."""
    x = real("entr", x)
    return jnp.where(x < 0, -np.inf, -_xlogx(x))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q); 0 where p = 0 and q >= 0, and inf where p < 0 or p > 0 >= q."""
    p, q = reals("rel_entr", p, q)
    inside, zero = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    value = _xlogx(safe_p) - _xlogy(safe_p, safe_q)
    return jnp.where(inside, value, jnp.where(zero, 0, np.inf))


def kl_div(p: Any, q: Any) -> Any:
    """rel_entr(p, q) - p + q, which is never negative."""
    p, q = reals("kl_div", p, q)
    return rel_entr(p, q) - p + q


# (0, 1) and the line


@custom_jvp
def _logit(x: Any) -> Any:
    odds = lax.log(x / (1 - x))
    if is_complex(x):
        return odds
    middle = abs(x - 0.5) < 0.25
    return jnp.where(middle, 2 * lax.atanh(jnp.where(middle, 2 * x - 1, 0)), odds)


partials(_logit, lambda t, out, x: t / (x * (1 - x)))


def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit: infinite at 0 and 1, nan beyond."""
    return _logit(inexact1("logit", x))


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + e^-x)."""
    return lax.logistic(inexact1("expit", x))


def boxcox(x: Any, lmbda: Any) -> Any:
    """Box and Cox's transformation (x^lmbda - 1) / lmbda, which at lmbda = 0 is log(x)."""
    x, lmbda = inexact("boxcox", x, lmbda)
    return _power_scale(lax.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), accurate for small x."""
    x, lmbda = inexact("boxcox1p", x, lmbda)
    return _power_scale(lax.log1p(x), lmbda)


# (e^z - 1) / z in powers of z
_EXPREL = [1 / factorial(k + 1) for k in range(20)]


def _power_scale(log_x: Any, power: Any) -> Any:
    """(e^(power log_x) - 1) / power, by a series for small powers, with the right derivatives."""
    z, zero = power * log_x, power == 0
    close = abs(z) < 1
    series = jnp.where(close, log_x, 0) * powers(jnp.where(close, z, 0), _EXPREL)
    otherwise = lax.expm1(jnp.where(close, 1, z)) / jnp.where(zero, 1, power)
    return jnp.where(close, series, jnp.where(zero, log_x, otherwise))
