"""The logistic distribution around loc, whose cdf is the logistic function of (x - loc) / scale."""

from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import logit


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = reals("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - lax.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, loc, scale = reals("logistic.cdf", x, loc, scale)
    return lax.logistic((x - loc) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    x, loc, scale = reals("logistic.sf", x, loc, scale)
    return lax.logistic((loc - x) / scale)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf."""
    x, loc, scale = reals("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf."""
    x, loc, scale = reals("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)
