"""The Laplace distribution around loc: its density falls like exp(-|x - loc| / scale)."""

from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = reals("laplace.logpdf", x, loc, scale)
    return -(abs(x - loc) / scale + lax.log(2 * scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, loc, scale = reals("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    tail = 0.5 * lax.exp(-abs(z))
    return jnp.where(z <= 0, tail, 1 - tail)
