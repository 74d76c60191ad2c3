"""The gamma distribution of shape a, of numbers above loc."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import log_of_probability, reals
from funcgrad.scipy._entropy import xlogy


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below loc."""
    x, a, loc, scale = reals("gamma.logpdf", x, a, loc, scale)
    inside = x >= loc
    y = jnp.where(inside, (x - loc) / scale, 1)
    out = xlogy(a - 1, y) - y - lax.lgamma(a) - lax.log(scale)
    return jnp.where(inside, out, -np.inf)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, a, loc, scale))


def _inside(y: Any) -> tuple[Any, Any]:
    """y where it is above 0, and where it is not."""
    below = y <= 0
    return jnp.where(below, 1, y), below


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, a, loc, scale = reals("gamma.cdf", x, a, loc, scale)
    y, below = _inside((x - loc) / scale)
    return jnp.where(below, 0, lax.igamma(*jnp.broadcast_arrays(a, y)))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return log_of_probability(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    x, a, loc, scale = reals("gamma.sf", x, a, loc, scale)
    y, below = _inside((x - loc) / scale)
    return jnp.where(below, 1, lax.igammac(*jnp.broadcast_arrays(a, y)))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return log_of_probability(sf(x, a, loc, scale))
