"""Normal numbers, by inverting the error function, and those made of them."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import convert, scalar_like
from funcgrad.base.shapes import Shape, broadcast_shapes, canonical_shape
from funcgrad.random._arguments import (
    check_safe_to_cast,
    common_shape,
    float_dtype,
    placed,
    sampler,
    spread,
)
from funcgrad.random._keys import checked_key, split_typed
from funcgrad.random._uniform import _rademacher, _uniform

SQRT_2 = np.sqrt(2)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal numbers, of density exp(-x^2 / 2) / sqrt(2 pi).

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype, or a complex one: real and imaginary part then have variance 1/2.
        out_sharding: where the result goes.

    Raises:
        ValueError: another dtype.

    Example:
        >>> from funcgrad import random
        >>> weights = random.normal(random.key(0), (256, 128)) * 0.02
    """
    typed = checked_key("normal", key).typed
    wanted = float_dtype("normal", dtype, or_complex=True)
    return placed(_normal(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _normal(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape, dtype)
    keys = split_typed(key)
    real, imag = (_normal_real(keys[i], shape, dtypes.finfo(dtype).dtype) for i in range(2))
    both = lax.complex(real, imag)
    return lax.div(both, scalar_like(SQRT_2, both))


@sampler
def _normal_real(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    """erf_inv of uniform numbers in the open interval (-1, 1), scaled to variance 1."""
    lowest = np.nextafter(np.array(-1, dtype), np.array(0, dtype))
    u = _uniform(key, lowest, np.array(1, dtype), shape, dtype)
    return lax.mul(scalar_like(SQRT_2, u), lax.erf_inv(u))


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal numbers, given that lower < x < upper.

    Args:
        key: a random key.
        lower, upper: the bounds, floats or arrays of floats.
        shape: of the result, to which the bounds broadcast; None is what they broadcast to.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("truncated_normal", key).typed
    wanted = float_dtype("truncated_normal", dtype)
    shape = common_shape("truncated_normal", shape, lower=lower, upper=upper)
    return placed(_truncated_normal(typed, lower, upper, shape, wanted), out_sharding)


@sampler
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape, dtype: np.dtype) -> Any:
    lower, upper = spread(lower, dtype, shape), spread(upper, dtype, shape)
    scale = scalar_like(SQRT_2, lower)
    lowest, highest = lax.erf(lax.div(lower, scale)), lax.erf(lax.div(upper, scale))
    out = lax.mul(scale, lax.erf_inv(_uniform(key, lowest, highest, shape, dtype)))
    # Rounding may reach a bound or pass it.
    least = lax.nextafter(lower, scalar_like(np.inf, lower))
    most = lax.nextafter(upper, scalar_like(-np.inf, upper))
    return lax.min(lax.max(out, least), most)


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """exp of normal numbers of mean 0 and standard deviation sigma.

    Args:
        key: a random key.
        sigma: the standard deviation of the logarithm, a float or an array of floats.
        shape: of the result, to which sigma broadcasts; None is its shape.
        dtype: a float or complex dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: sigma is of a wider dtype than the result.
    """
    typed = checked_key("lognormal", key).typed
    wanted = float_dtype("lognormal", dtype, or_complex=True)
    shape = common_shape("lognormal", shape, sigma=sigma)
    check_safe_to_cast("lognormal", wanted, sigma=sigma)
    return placed(_lognormal(typed, sigma, shape, wanted), out_sharding)


@sampler
def _lognormal(key: Any, sigma: Any, shape: Shape, dtype: np.dtype) -> Any:
    return lax.exp(lax.mul(_normal(key, shape, dtype), spread(sigma, dtype, shape)))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """The length of a vector of three standard normal numbers, density ~ x^2 exp(-x^2 / 2).

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("maxwell", key).typed
    wanted = float_dtype("maxwell", dtype)
    return placed(_maxwell(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _maxwell(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    return lax.sqrt(jnp.sum(lax.square(_normal(key, (*shape, 3), dtype)), axis=-1))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers with a random sign, scaled and moved: density ~ z^2 exp(-z^2 / 2).

    Args:
        key: a random key.
        loc, scale: z = (x - loc) / scale; numbers or arrays that broadcast.
        shape: one draw for each of its elements and each of the parameters'; where it is (), one
            for each pair of parameters' elements.
        dtype: a float dtype.

    Returns:
        An array whose axes are those of `shape`, then those of the parameters.
    """
    typed = checked_key("double_sided_maxwell", key).typed
    wanted = float_dtype("double_sided_maxwell", dtype)
    shape, params = (
        canonical_shape(shape),
        broadcast_shapes(aval_of(loc).shape, aval_of(scale).shape),
    )
    full = (shape or params) + params
    return _double_sided_maxwell(typed, loc, scale, full, wanted)


@sampler
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape, dtype: np.dtype) -> Any:
    keys = split_typed(key)
    return _rademacher(keys[1], shape, dtype) * _maxwell(keys[0], shape, dtype) * scale + loc


def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Wald (inverse Gaussian) numbers: when Brownian motion with drift first reaches a level.

    The density is ~ x^(-3/2) exp(-(x - mean)^2 / (2 mean^2 x)), for x > 0. The transformation is
    that of Michael, Schucany and Haas, 1976.

    Args:
        key: a random key.
        mean: a positive float or an array of them.
        shape: of the result, to which mean broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: mean is of a wider dtype than the result.
    """
    typed = checked_key("wald", key).typed
    wanted = float_dtype("wald", dtype)
    shape = common_shape("wald", shape, mean=mean)
    check_safe_to_cast("wald", wanted, mean=mean)
    return placed(_wald(typed, mean, shape, wanted), out_sharding)


@sampler
def _wald(key: Any, mean: Any, shape: Shape, dtype: np.dtype) -> Any:
    """One root of a quadratic, given by a chi-square number, or the other with its probability."""
    keys = split_typed(key)
    mean = jnp.broadcast_to(convert(mean, dtype), shape)
    w = mean * lax.square(_normal(keys[0], shape, dtype)) / 2
    # The smaller root is mean (1 + w - sqrt(w^2 + 2 w)), less its cancellation.
    x = mean / (1 + w + lax.sqrt(w * (w + 2)))
    smaller = _uniform(keys[1], 0.0, 1.0, shape, dtype) <= mean / (mean + x)
    return jnp.where(smaller, x, lax.square(mean) / x)
