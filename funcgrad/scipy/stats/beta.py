"""The beta distribution of shapes a and b on the interval from loc to loc + scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.primitives.gamma import betaln
from funcgrad.scipy._arguments import log_of_probability, reals
from funcgrad.scipy._entropy import xlog1py, xlogy


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf outside, nan unless a, b and scale are positive."""
    x, a, b, loc, scale = reals("beta.logpdf", x, a, b, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    y = jnp.where(outside, 0.5, (x - loc) / scale)
    powers = xlogy(a - 1, y) + xlog1py(b - 1, -y)
    out = jnp.where(outside, -np.inf, powers - betaln(a, b) - lax.log(scale))
    return jnp.where((a <= 0) | (b <= 0) | (scale <= 0), np.nan, out)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, a, b, loc, scale = reals("beta.cdf", x, a, b, loc, scale)
    return _below((x - loc) / scale, a, b)


def _below(y: Any, a: Any, b: Any) -> Any:
    outside = (y <= 0) | (y >= 1)
    inside = lax.betainc(*jnp.broadcast_arrays(a, b, jnp.where(outside, 0.5, y)))
    return jnp.where(outside, jnp.where(y >= 1, 1, 0), inside)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return log_of_probability(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    x, a, b, loc, scale = reals("beta.sf", x, a, b, loc, scale)
    return _below(1 - (x - loc) / scale, b, a)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return log_of_probability(sf(x, a, b, loc, scale))
