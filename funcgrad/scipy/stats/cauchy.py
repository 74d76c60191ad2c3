"""The Cauchy distribution around loc, half of it within scale."""

import math
from typing import Any

from funcgrad import lax
from funcgrad.scipy._arguments import log_of_probability, reals


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = reals("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -(lax.log(math.pi * scale) + lax.log1p(z * z))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, loc, scale = reals("cauchy.cdf", x, loc, scale)
    return _below((x - loc) / scale)


def _below(z: Any) -> Any:
    """1/2 + atan(z) / pi, without cancellation in the lower tail."""
    return lax.atan2(lax.full_like(z, 1), -z) / math.pi


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return log_of_probability(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    x, loc, scale = reals("cauchy.sf", x, loc, scale)
    return _below((loc - x) / scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return log_of_probability(sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf."""
    q, loc, scale = reals("cauchy.ppf", q, loc, scale)
    return loc + scale * lax.tan(math.pi * q - math.pi / 2)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf."""
    q, loc, scale = reals("cauchy.isf", q, loc, scale)
    return loc + scale * lax.tan(math.pi / 2 - math.pi * q)
