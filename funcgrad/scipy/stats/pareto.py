"""The Pareto distribution of exponent b, of numbers above loc + scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import log_of_probability, reals


def _parts(name: str, x: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """Whether x is below the range, log((x - loc) / scale) where it is not, b and scale."""
    x, b, loc, scale = reals(f"pareto.{name}", x, b, loc, scale)
    below = x < loc + scale
    return below, lax.log(jnp.where(below, 1, (x - loc) / scale)), b, scale


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below loc + scale."""
    below, log_x, b, scale = _parts("logpdf", x, b, loc, scale)
    return jnp.where(below, -np.inf, -lax.log(scale / b) - (b + 1) * log_x)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    below, log_x, b, _ = _parts("logsf", x, b, loc, scale)
    return jnp.where(below, 0, -b * log_x)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return lax.exp(logsf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return -lax.expm1(logsf(x, b, loc, scale))


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return log_of_probability(cdf(x, b, loc, scale))


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 <= q <= 1."""
    q, b, loc, scale = reals("pareto.ppf", q, b, loc, scale)
    inside = (q >= 0) & (q <= 1)
    rest = lax.log1p(-jnp.where(inside, q, 0))
    return jnp.where(inside, loc + scale * lax.exp(-rest / b), np.nan)
