"""The normal distribution of vectors."""

import math
from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.numpy._promotion import promote_dtypes
from funcgrad.scipy._solving import solve_triangular


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density.

    Args:
        x: [..., n].
        mean: [..., n]; or a number, and then x are numbers too.
        cov: positive definite [..., n, n], or a number, the variance of each component.
        allow_singular: None.

    Returns:
        [...]; nan where cov is not positive definite.
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "allow_singular: a singular covariance has no density; leave it out"
        )
    x, mean, cov = promote_dtypes(
        "multivariate_normal.logpdf", x, mean, cov, kind=dtypes.to_inexact
    )
    log_tau = math.log(2 * math.pi)
    if mean.ndim == 0:
        return -0.5 * ((x - mean) ** 2 / cov + log_tau + lax.log(cov))
    n = mean.shape[-1]
    if cov.ndim == 0:
        return -0.5 * (jnp.sum((x - mean) ** 2, axis=-1) / cov + n * (log_tau + lax.log(cov)))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            "multivariate_normal.logpdf got incompatible shapes: a mean of shape "
            f"{mean.shape} takes a covariance [..., {n}, {n}], got {cov.shape}"
        )
    factor = lax.linalg.cholesky(cov)
    white = solve_triangular(factor, (x - mean)[..., None], lower=True)[..., 0]
    log_det = jnp.sum(lax.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * (jnp.sum(white * white, axis=-1) + n * log_tau) - log_det


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density."""
    return lax.exp(logpdf(x, mean, cov))
