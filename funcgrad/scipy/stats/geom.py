"""The geometric distribution: the number of the first trial of probability p that succeeds."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import xlog1py


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k <= loc."""
    k, p, loc = reals("geom.logpmf", k, p, loc)
    x = k - loc
    return jnp.where(x <= 0, -np.inf, xlog1py(x - 1, -p) + lax.log(p))


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return lax.exp(logpmf(k, p, loc))
