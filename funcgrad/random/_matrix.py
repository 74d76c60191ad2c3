"""Random vectors and matrices: normal ones of a given covariance, and orthogonal ones."""

from typing import Any

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import convert
from funcgrad.base.shapes import Shape, broadcast_shapes, canonical_shape, concrete_int
from funcgrad.random._arguments import float_dtype, placed, sampler
from funcgrad.random._keys import checked_key
from funcgrad.random._normal import _normal


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors of a given mean and covariance: mean + F z, where F F^T = cov.

    Args:
        key: a random key.
        mean: floats [..., n].
        cov: covariance matrices [..., n, n], symmetric and positive definite.
        shape: how many vectors; the leading axes of mean and cov broadcast to it. None is what they
            broadcast to.
        dtype: a float dtype; None is that of mean and cov.
        method: how F is found: "cholesky", or for singular covariances "svd" or "eigh".
        out_sharding: where the result goes.

    Returns:
        The vectors, `[*shape, n]`.

    Raises:
        ValueError: another method or dtype, or the shapes do not fit.
    """
    typed = checked_key("multivariate_normal", key).typed
    if method not in ("cholesky", "svd", "eigh"):
        raise ValueError(
            f"multivariate_normal: method must be 'cholesky', 'svd' or 'eigh', got {method!r}"
        )
    mean, cov = jnp.asarray(mean), jnp.asarray(cov)
    common = promotion.result_type(mean, cov)
    if not dtypes.issubdtype(common, np.inexact):
        common = dtypes.to_inexact(common)
    wanted = float_dtype("multivariate_normal", common if dtype is None else dtype)
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != mean.shape[-1:] * 2:
        raise ValueError(
            f"multivariate_normal: mean must have the shape (..., n) and cov (..., n, n), got "
            f"{mean.shape} and {cov.shape}"
        )
    batch = fitting(shape, mean.shape[:-1], cov.shape[:-2])
    factor = _FACTORS[method](convert(cov, common))
    z = _normal(typed, batch + mean.shape[-1:], wanted)
    return placed(convert(mean, common) + jnp.matmul(factor, z[..., None])[..., 0], out_sharding)


def fitting(shape: Any, mean: Shape, cov: Shape) -> Shape:
    """The shape of the batch, to which those of mean and cov broadcast."""
    if shape is None:
        return broadcast_shapes(mean, cov)
    shape = canonical_shape(shape)
    if broadcast_shapes(shape, mean, cov) != shape:
        raise ValueError(
            f"multivariate_normal: the leading axes of mean {mean} and cov {cov} do not broadcast "
            f"to the shape {shape} asked for"
        )
    return shape


def factor_by_svd(cov: Any) -> Any:
    u, s, _ = jnp.linalg.svd(cov)
    return u * jnp.sqrt(s[..., None, :])


def factor_by_eigh(cov: Any) -> Any:
    w, v = jnp.linalg.eigh(cov)
    return v * jnp.sqrt(w[..., None, :])


_FACTORS = {
    "cholesky": lambda cov: jnp.linalg.cholesky(cov),
    "svd": factor_by_svd,
    "eigh": factor_by_eigh,
}


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Orthogonal matrices, uniformly distributed; unitary ones for a complex dtype.

    Args:
        key: a random key.
        n: the number of rows.
        shape: how many matrices.
        dtype: a float or complex dtype.
        m: the number of columns; None is n. Where they differ, the longer vectors are orthonormal.
        out_sharding: where the result goes.

    Returns:
        The matrices, `[*shape, n, m]`.

    Raises:
        ValueError: another dtype.
    """
    typed = checked_key("orthogonal", key).typed
    wanted = float_dtype("orthogonal", dtype, or_complex=True)
    rows = concrete_int(n, "n")
    columns = rows if m is None else concrete_int(m, "m")
    tall = (*canonical_shape(shape), max(rows, columns), min(rows, columns))
    drawn = _orthogonal(typed, tall, wanted)
    return placed(drawn.mT if rows < columns else drawn, out_sharding)


@sampler
def _orthogonal(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    """The factor of a QR decomposition, made unique by a positive diagonal of the other one."""
    q, r = jnp.linalg.qr(_normal(key, shape, dtype))
    diagonal = jnp.diagonal(r, axis1=-2, axis2=-1)
    return q * jnp.sign(diagonal)[..., None, :]
