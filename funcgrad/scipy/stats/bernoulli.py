"""The Bernoulli distribution: 1 with probability p, else 0."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import xlog1py, xlogy


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf outside of 0 .. 1 (both moved by loc)."""
    k, p, loc = reals("bernoulli.logpmf", k, p, loc)
    x = k - loc
    return jnp.where((x < 0) | (x > 1), -np.inf, xlogy(x, p) + xlog1py(1 - x, -p))


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return lax.exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Any:
    """The probability of at most k; nan unless 0 <= p <= 1."""
    k, p = reals("bernoulli.cdf", k, p)
    out = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where((p >= 0) & (p <= 1) & ~jnp.isnan(k), out, np.nan)


def ppf(q: Any, p: Any) -> Any:
    """The least k with cdf(k) >= q; nan unless 0 <= p <= 1 and 0 <= q <= 1."""
    q, p = reals("bernoulli.ppf", q, p)
    valid = (p >= 0) & (p <= 1) & (q >= 0) & (q <= 1)
    return jnp.where(valid, jnp.where(q <= 1 - p, jnp.zeros_like(q), 1), np.nan)
