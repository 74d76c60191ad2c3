"""The binomial distribution whose probability is drawn from a beta distribution of a and b."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.primitives.gamma import betaln
from funcgrad.scipy._arguments import reals


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of floor(k); -inf outside of 0 .. n (moved by loc).

    nan unless n >= 0 and a, b > 0.
    """
    k, n, a, b, loc = jnp.broadcast_arrays(*reals("betabinom.logpmf", k, n, a, b, loc))
    y = lax.floor(k) - loc
    inside, valid = (y >= 0) & (y <= n), (n >= 0) & (a > 0) & (b > 0)
    y, n = jnp.where(inside, y, 0), jnp.where(inside, n, 0)
    a, b = jnp.where(valid, a, 1), jnp.where(valid, b, 1)
    choices = -lax.log1p(n) - betaln(n - y + 1, y + 1)
    out = choices + betaln(y + a, n - y + b) - betaln(a, b)
    return jnp.where(valid, jnp.where(inside, out, -np.inf), np.nan)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of floor(k)."""
    return lax.exp(logpmf(k, n, a, b, loc))
