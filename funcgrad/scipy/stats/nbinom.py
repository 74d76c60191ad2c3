"""The negative binomial distribution: failures before n successes of probability p."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import xlog1py, xlogy


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf below loc."""
    k, n, p, loc = reals("nbinom.logpmf", k, n, p, loc)
    y = jnp.where(k < loc, 0, k - loc)
    ways = lax.lgamma(y + n) - lax.lgamma(n) - lax.lgamma(y + 1)
    return jnp.where(k < loc, -np.inf, ways + xlogy(n, p) + xlog1py(y, -p))


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return lax.exp(logpmf(k, n, p, loc))
