"""The multinomial distribution: how often each of some outcomes occurs in n trials."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.basis import convert
from funcgrad.numpy._promotion import is_integer, promote_dtypes
from funcgrad.scipy._arguments import real
from funcgrad.scipy._entropy import xlogy


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of counts x.

    Args:
        x: integers [..., outcomes].
        n: integers, the number of trials.
        p: the probability of each outcome, [..., outcomes].

    Returns:
        [...]; -inf where the counts do not add up to n.
    """
    p = real("multinomial.logpmf", p)
    x, n = promote_dtypes("multinomial.logpmf", x, n)
    if not is_integer(x):
        raise ValueError(
            f"multinomial counts with integers x and n; got dtype {x.dtype} after promotion"
        )
    fits = jnp.sum(x, axis=-1) == n
    x, n = convert(x, p.dtype), convert(n, p.dtype)
    out = lax.lgamma(n + 1) + jnp.sum(xlogy(x, p) - lax.lgamma(x + 1), axis=-1)
    return jnp.where(fits, out, -np.inf)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of counts x."""
    return lax.exp(logpmf(x, n, p))
