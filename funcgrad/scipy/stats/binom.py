"""The binomial distribution: how many of n trials of probability p succeed, moved by loc."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.primitives.gamma import betaln
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import xlog1py, xlogy


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf outside of 0 .. n (moved by loc)."""
    k, n, p, loc = reals("binom.logpmf", k, n, p, loc)
    inside = (k >= loc) & (k < loc + n + 1)
    y = jnp.where(inside, k - loc, 0)
    n = jnp.where(inside, n, 0)
    choices = -lax.log1p(n) - betaln(*jnp.broadcast_arrays(n - y + 1, y + 1))
    return jnp.where(inside, choices + xlogy(y, p) + xlog1py(n - y, -p), -np.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return lax.exp(logpmf(k, n, p, loc))
