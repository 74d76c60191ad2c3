"""Student's t distribution of df degrees of freedom."""

import math
from typing import Any

from funcgrad import lax
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, df, loc, scale = reals("t.logpdf", x, df, loc, scale)
    z, half = (x - loc) / scale, df / 2
    constant = lax.lgamma(half + 0.5) - lax.lgamma(half)
    constant = constant - lax.log(math.pi * df * (scale * scale)) / 2
    return constant - (half + 0.5) * lax.log1p(z * z / df)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(x, df, loc, scale))
