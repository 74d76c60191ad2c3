"""The Cauchy distribution wrapped around the circle, of angles from 0 to 2 pi (radians)."""

import math
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density; -inf outside, nan unless 0 < c < 1."""
    x, c = reals("wrapcauchy.logpdf", x, c)
    valid = (c > 0) & (c < 1)
    c = jnp.where(valid, c, 0.5)
    out = lax.log((1 - c * c) / (2 * math.pi)) - lax.log(1 + c * c - 2 * c * lax.cos(x))
    out = jnp.where((x >= 0) & (x <= 2 * math.pi), out, -np.inf)
    return jnp.where(valid, out, np.nan)


def pdf(x: Any, c: Any) -> Any:
    """The density."""
    return lax.exp(logpdf(x, c))
