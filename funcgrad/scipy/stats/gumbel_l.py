"""The left-skewed Gumbel distribution, of minima: -x is distributed as gumbel_r around -loc."""

from typing import Any

from funcgrad import numpy as jnp
from funcgrad.scipy.stats import gumbel_r


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    return gumbel_r.logpdf(jnp.negative(x), jnp.negative(loc), scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return gumbel_r.pdf(jnp.negative(x), jnp.negative(loc), scale)


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return gumbel_r.sf(jnp.negative(x), jnp.negative(loc), scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return gumbel_r.logsf(jnp.negative(x), jnp.negative(loc), scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return gumbel_r.cdf(jnp.negative(x), jnp.negative(loc), scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return gumbel_r.logcdf(jnp.negative(x), jnp.negative(loc), scale)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 < p < 1."""
    return -gumbel_r.ppf(1 - p, jnp.negative(loc), scale)
