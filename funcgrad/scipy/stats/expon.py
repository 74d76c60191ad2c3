"""The exponential distribution of numbers above loc, with mean loc + scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import log_of_probability, reals


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below loc."""
    x, loc, scale = reals("expon.logpdf", x, loc, scale)
    return jnp.where(x < loc, -np.inf, (loc - x) / scale - lax.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return -lax.expm1(logsf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return log_of_probability(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return lax.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    x, loc, scale = reals("expon.logsf", x, loc, scale)
    return jnp.where(x < loc, 0, (loc - x) / scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 <= q <= 1."""
    q, loc, scale = reals("expon.ppf", q, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), loc - scale * lax.log1p(-q), np.nan)
