"""The right-skewed Gumbel distribution, of maxima: cdf exp(-exp(-z)) with z = (x - loc) / scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import log_of_probability, reals


def _z(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """z and scale; nan unless scale > 0."""
    x, loc, scale = reals(name, x, loc, scale)
    scale = jnp.where(scale > 0, scale, np.nan)
    return (x - loc) / scale, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    z, scale = _z("gumbel_r.logpdf", x, loc, scale)
    return -z - lax.exp(-z) - lax.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return -lax.exp(-_z("gumbel_r.logcdf", x, loc, scale)[0])


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return lax.exp(logcdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return -lax.expm1(logcdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return log_of_probability(sf(x, loc, scale))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 < p < 1."""
    p, loc, scale = reals("gumbel_r.ppf", p, loc, scale)
    inside = (p > 0) & (p < 1)
    safe = jnp.where(inside, p, 0.5)
    return jnp.where(inside, loc - scale * lax.log(-lax.log(safe)), np.nan)
