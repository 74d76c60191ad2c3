"""The normal distribution of mean loc and standard deviation scale."""

import math
from typing import Any

from funcgrad import lax
from funcgrad.primitives import normal
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._error import log_ndtr, ndtr


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = reals("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -0.5 * (z * z + lax.log(2 * math.pi * (scale * scale)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, loc, scale = reals("norm.cdf", x, loc, scale, weak=False)
    return ndtr((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf), accurate in both tails."""
    x, loc, scale = reals("norm.logcdf", x, loc, scale, weak=False)
    return log_ndtr((x - loc) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    x, loc, scale = reals("norm.sf", x, loc, scale, weak=False)
    return ndtr((loc - x) / scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf), accurate in both tails."""
    x, loc, scale = reals("norm.logsf", x, loc, scale, weak=False)
    return log_ndtr((loc - x) / scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 <= q <= 1."""
    q, loc, scale = reals("norm.ppf", q, loc, scale, weak=False)
    return normal.ndtri(q) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; nan unless 0 <= q <= 1."""
    q, loc, scale = reals("norm.isf", q, loc, scale, weak=False)
    return loc - normal.ndtri(q) * scale
