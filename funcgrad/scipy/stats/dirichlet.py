"""The Dirichlet distribution of probabilities that add up to 1."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.numpy._promotion import promote_dtypes
from funcgrad.scipy._entropy import xlogy


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density.

    Args:
        x: [k, ...], probabilities along the first axis, or the first k - 1 of them.
        alpha: [k], positive.

    Returns:
        [...]; -inf where x are not positive or do not add up to 1.
    """
    x, alpha = promote_dtypes("dirichlet.logpdf", x, alpha, kind=dtypes.to_inexact)
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet takes a vector alpha [k]; got alpha of shape {alpha.shape}")
    k = alpha.shape[0]
    if x.ndim < 1 or x.shape[0] not in (k, k - 1):
        raise ValueError(
            f"dirichlet takes x [{k}, ...], or [{k - 1}, ...] without the last entry, for alpha of "
            f"shape {alpha.shape}; got x of shape {x.shape}"
        )
    if x.shape[0] != k:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    inside = jnp.all(x > 0, axis=0) & (abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    powers = jnp.reshape(alpha - 1, (k,) + (1,) * (x.ndim - 1))
    total = jnp.sum(xlogy(powers, jnp.where(inside, x, 1)), axis=0)
    constant = jnp.sum(lax.lgamma(alpha)) - lax.lgamma(jnp.sum(alpha))
    return jnp.where(inside, total - constant, -np.inf)


def pdf(x: Any, alpha: Any) -> Any:
    """The density."""
    return lax.exp(logpdf(x, alpha))
