"""The uniform distribution on the interval from loc to loc + scale."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf outside."""
    x, loc, scale = reals("uniform.logpdf", x, loc, scale)
    return jnp.where((x < loc) | (x > loc + scale), -np.inf, -lax.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    x, loc, scale = reals("uniform.cdf", x, loc, scale, weak=False)
    inside = jnp.where(x > loc + scale, 1, (x - loc) / scale)
    return jnp.where(x < loc, 0, inside)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan unless 0 <= q <= 1."""
    q, loc, scale = reals("uniform.ppf", q, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), loc + scale * q, np.nan)
