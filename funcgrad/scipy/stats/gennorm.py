"""The generalized normal distribution, whose density falls like exp(-|x|^beta)."""

from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density."""
    x, beta = reals("gennorm.logpdf", x, beta)
    return lax.log(beta / 2) - lax.lgamma(1 / beta) - jnp.power(abs(x), beta)


def pdf(x: Any, beta: Any) -> Any:
    """The density."""
    return lax.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Any:
    """The probability to lie below x."""
    x, beta = jnp.broadcast_arrays(*reals("gennorm.cdf", x, beta))
    return 0.5 * (1 + lax.sign(x) * lax.igamma(1 / beta, jnp.power(abs(x), beta)))
