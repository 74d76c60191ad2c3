"""The von Mises distribution of angles (radians) around 0, of concentration kappa."""

import math
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals


def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density; nan unless kappa > 0."""
    x, kappa = reals("vonmises.logpdf", x, kappa)
    out = kappa * (lax.cos(x) - 1) - lax.log(2 * math.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, out, np.nan)


def pdf(x: Any, kappa: Any) -> Any:
    """The density."""
    return lax.exp(logpdf(x, kappa))
