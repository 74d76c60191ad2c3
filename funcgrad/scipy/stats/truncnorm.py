"""The normal distribution cut off outside of loc + a scale and loc + b scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.primitives.normal import log_ndtr
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._error import ndtr
from funcgrad.scipy.stats import norm


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability that a standard normal number lies between a and b.

    An interval that lies to one side is taken to the left, where cdfs are accurate; of one around 0
    both tails are taken away.
    """
    a, b = jnp.broadcast_arrays(a, b)
    around = (a <= 0) & (b > 0)
    low, high = jnp.where(a > 0, -b, a), jnp.where(a > 0, -a, b)
    low, high = jnp.where(around, -2, low), jnp.where(around, -1, high)
    above, below = log_ndtr(high), log_ndtr(low)
    beside = above + _log_one_minus_exp(below - above)
    tails = ndtr(jnp.where(around, a, -1)) + ndtr(-jnp.where(around, b, 1))
    return jnp.where(around, lax.log1p(-tails), beside)


def _log_one_minus_exp(x: Any) -> Any:
    """log(1 - e^x) for x <= 0."""
    close = x > -0.7
    near = lax.log(-lax.expm1(jnp.where(close, x, -1)))
    return jnp.where(close, near, lax.log1p(-lax.exp(jnp.where(close, -1, x))))


def _some_number_between(a: Any, b: Any) -> Any:
    beside_b = jnp.where(b < np.inf, b - 1, 0)
    return jnp.where(a > -np.inf, (a + jnp.minimum(b, a + 1)) / 2, beside_b)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf outside, nan unless a < b."""
    x, a, b, loc, scale = reals("truncnorm.logpdf", x, a, b, loc, scale, weak=False)
    z = (x - loc) / scale
    out = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    out = jnp.where((z < a) | (z > b), -np.inf, out)
    return jnp.where(a >= b, np.nan, out)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, a, b, loc, scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf), accurate in both tails."""
    x, a, b, loc, scale = reals("truncnorm.logcdf", x, a, b, loc, scale, weak=False)
    z = (x - loc) / scale
    inside = (z > a) & (z < b)
    middle = jnp.where(inside, z, _some_number_between(a, b))
    below = _log_mass(a, middle) - _log_mass(a, b)
    above = _log_mass(middle, b) - _log_mass(a, b)
    out = jnp.where(below > -0.1, _log_one_minus_exp(jnp.minimum(above, 0)), below)
    out = jnp.where(inside, out, jnp.where(z >= b, 0, -np.inf))
    return jnp.where((a >= b) | jnp.isnan(z), np.nan, out)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return lax.exp(logcdf(x, a, b, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf), accurate in both tails."""
    x, a, b, loc, scale = reals("truncnorm.logsf", x, a, b, loc, scale, weak=False)
    return logcdf(-x, -b, -a, -loc, scale)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return lax.exp(logsf(x, a, b, loc, scale))
