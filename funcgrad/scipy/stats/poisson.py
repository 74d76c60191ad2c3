"""The Poisson distribution of mean mu, moved by loc."""

import math
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.scipy._arguments import reals
from funcgrad.scipy._entropy import xlogy


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf unless k is whole and at least loc."""
    k, mu, loc = reals("poisson.logpmf", k, mu, loc)
    x = k - loc
    outside = (x < 0) | (lax.round(k) != k)
    safe = jnp.where(outside, 0, x)
    return jnp.where(outside, -np.inf, xlogy(safe, mu) - lax.lgamma(safe + 1) - mu)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return lax.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most k."""
    k, mu, loc = reals("poisson.cdf", k, mu, loc)
    x = k - loc
    shape = lax.floor(1 + jnp.where(x < 0, 0, x))
    return jnp.where(x < 0, 0, lax.igammac(*jnp.broadcast_arrays(shape, mu)))


# From which mean on the series in 1 / mu is right to the last digit, and up to which k the
# probabilities of smaller ones are summed.
_LARGE, _MOST = 100, 250


def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy, in nats."""
    mu, loc = jnp.broadcast_arrays(*reals("poisson.entropy", mu, loc))
    large = mu >= _LARGE
    safe = jnp.where(large, mu, _LARGE)
    inverse = 1 / safe
    series = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360 + inverse * (9 / 80))))
    by_series = 0.5 * lax.log(2 * math.pi * math.e * safe) - series
    small = jnp.where(large, 1, mu)[..., None]
    log_p = logpmf(jnp.arange(_MOST, dtype=mu.dtype), small)
    terms = jnp.where(log_p > -np.inf, lax.exp(log_p) * jnp.maximum(log_p, -1e4), 0)
    return jnp.where(large, by_series, -jnp.sum(terms, axis=-1))
