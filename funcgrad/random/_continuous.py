"""Continuous distributions whose quantile function is elementary: a formula of uniform numbers."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.basis import convert, scalar_like
from funcgrad.base.config import config
from funcgrad.base.shapes import Shape, canonical_shape
from funcgrad.primitives.keys import random_bits
from funcgrad.random._arguments import (
    check_safe_to_cast,
    common_shape,
    float_dtype,
    placed,
    sampler,
    spread,
)
from funcgrad.random._keys import checked_key
from funcgrad.random._uniform import _uniform


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Exponential numbers of mean 1, density exp(-x) for x >= 0.

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("exponential", key).typed
    wanted = float_dtype("exponential", dtype)
    return placed(_exponential(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _exponential(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    return -lax.log1p(-_uniform(key, 0.0, 1.0, shape, dtype))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Laplace numbers, density exp(-|x|) / 2.

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("laplace", key).typed
    wanted = float_dtype("laplace", dtype)
    return placed(_laplace(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _laplace(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    least = -1.0 + float(dtypes.finfo(dtype).epsneg)
    u = _uniform(key, least, 1.0, shape, dtype)
    return lax.sign(u) * lax.log1p(-lax.abs(u))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Logistic numbers, density exp(-x) / (1 + exp(-x))^2.

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("logistic", key).typed
    wanted = float_dtype("logistic", dtype)
    return placed(_logistic(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _logistic(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    u = _uniform(key, float(dtypes.finfo(dtype).tiny), 1.0, shape, dtype)
    return lax.log(u) - lax.log1p(-u)


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Cauchy numbers, density 1 / (pi (x^2 + 1)).

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("cauchy", key).typed
    wanted = float_dtype("cauchy", dtype)
    return placed(_cauchy(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _cauchy(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    u = _uniform(key, float(dtypes.finfo(dtype).eps), 1.0, shape, dtype)
    return lax.tan(scalar_like(np.pi, u) * (u - 0.5))


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Gumbel numbers, density exp(-(x + exp(-x))). The argmax of them plus logits is a category.

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        mode: "low" draws one number for each and reaches 16 in float32; "high" and "highest" draw
            two and reach 32. None is "low", unless `high_dynamic_range_gumbel` is on.
        out_sharding: where the result goes.

    Raises:
        ValueError: another dtype or mode.
    """
    typed = checked_key("gumbel", key).typed
    wanted = float_dtype("gumbel", dtype)
    return placed(gumbel_numbers(typed, canonical_shape(shape), wanted, mode), out_sharding)


def gumbel_numbers(key: Any, shape: Shape, dtype: np.dtype, mode: str | None) -> Any:
    if mode is None:
        mode = "high" if config.high_dynamic_range_gumbel else "low"
    if mode not in ("low", "high", "highest"):
        raise ValueError(f"gumbel: mode must be 'low', 'high', 'highest' or None, got {mode!r}")
    if mode == "low":
        return _gumbel(key, shape, dtype)
    if mode == "highest" and dtype == np.float32:
        return _gumbel_highest(key, shape, dtype)
    return _gumbel_high(key, shape, dtype)


@sampler
def _gumbel(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    u = _uniform(key, float(dtypes.finfo(dtype).tiny), 1.0, shape, dtype)
    return -lax.log(-lax.log(u))


@sampler
def _gumbel_high(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    """The digits of a second number go on where those of the first, if below 1/2, end."""
    info = dtypes.finfo(dtype)
    u = _uniform(key, 0.0, 1.0, (2, *shape), dtype)
    first, second = u[0], u[1]
    longer = first + 2.0**-info.nmant * second + float(info.tiny)
    x = jnp.where(first >= 0.5, first, longer)
    return -lax.log(-lax.log1p(-x))


@sampler
def _gumbel_highest(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    """64 bits as a fixed-point number, or 1 minus it: the smaller one keeps all its digits."""
    drawn = random_bits(key, 32, (2, *shape))
    high, low = drawn[0], drawn[1]
    small = high < np.uint32(1 << 31)
    one, zero = np.uint32(1), np.uint32(0)
    carry = jnp.where(low == zero, one, zero)
    x = fixed_point(jnp.where(small, high, ~high + carry), jnp.where(small, low, ~low + one))
    return jnp.where(small, -lax.log(-lax.log1p(-x)), -lax.log(-lax.log(x)))


def fixed_point(high: Any, low: Any) -> Any:
    """2^-64 (2^32 high + low) as float32, digits beyond its 24 cut off."""
    leading = lax.clz(high)
    nothing = leading == np.uint32(32)
    more = lax.clz(low)
    # Bit 31 of the shifted number is its first digit; a shift by 32 or more gives 0.
    digits = lax.bitwise_or(
        lax.shift_left(high, leading),
        jnp.where(nothing, lax.shift_left(low, more), lax.shift_right_logical(low, 32 - leading)),
    )
    mantissa = lax.bitwise_and(
        lax.shift_right_logical(digits, scalar_like(8, digits)), scalar_like((1 << 23) - 1, digits)
    )
    zeros = jnp.where(nothing, more + 32, leading)
    exponent = lax.shift_left(126 - zeros, scalar_like(23, digits))
    return lax.bitcast_convert_type(lax.bitwise_or(exponent, mantissa), np.float32)


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Rayleigh numbers: the length of two normal numbers, density ~ x exp(-x^2 / (2 scale^2)).

    Args:
        key: a random key.
        scale: the standard deviation of the normal numbers, a float or an array of floats.
        shape: of the result, to which scale broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: scale is of a wider dtype than the result.
    """
    typed = checked_key("rayleigh", key).typed
    wanted = float_dtype("rayleigh", dtype)
    shape = common_shape("rayleigh", shape, scale=scale)
    check_safe_to_cast("rayleigh", wanted, scale=scale)
    return placed(_rayleigh(typed, scale, shape, wanted), out_sharding)


@sampler
def _rayleigh(key: Any, scale: Any, shape: Shape, dtype: np.dtype) -> Any:
    u = _uniform(key, 0.0, 1.0, shape, dtype)
    return spread(scale, dtype, shape) * lax.sqrt(-2 * lax.log(u))


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Weibull numbers, density ~ (x / scale)^(c - 1) exp(-(x / scale)^c), c the concentration.

    Args:
        key: a random key.
        scale, concentration: positive numbers or arrays; the result broadcasts with them.
        shape: how many numbers are drawn.
        dtype: a float dtype.
    """
    typed = checked_key("weibull_min", key).typed
    wanted = float_dtype("weibull_min", dtype)
    return _weibull_min(typed, scale, concentration, canonical_shape(shape), wanted)


@sampler
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: Shape, dtype: np.dtype) -> Any:
    return jnp.power(_exponential(key, shape, dtype), 1.0 / concentration) * scale


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Pareto numbers, density b / x^(b + 1) for x >= 1.

    Args:
        key: a random key.
        b: a positive float or an array of them.
        shape: of the result, to which b broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: b is of a wider dtype than the result.
    """
    typed = checked_key("pareto", key).typed
    wanted = float_dtype("pareto", dtype)
    shape = common_shape("pareto", shape, b=b)
    check_safe_to_cast("pareto", wanted, b=b)
    return placed(_pareto(typed, b, shape, wanted), out_sharding)


@sampler
def _pareto(key: Any, b: Any, shape: Shape, dtype: np.dtype) -> Any:
    return lax.exp(_exponential(key, shape, dtype) / spread(b, dtype, shape))


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers whose density rises linearly from left to mode and falls from there to right.

    Args:
        key: a random key.
        left, mode, right: where the triangle has its corners, floats or arrays of floats.
        shape: of the result, to which they broadcast; None is what they broadcast to.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: a parameter is of a wider dtype than the result.
    """
    typed = checked_key("triangular", key).typed
    wanted = float_dtype("triangular", dtype)
    params = {"left": left, "mode": mode, "right": right}
    shape = common_shape("triangular", shape, **params)
    check_safe_to_cast("triangular", wanted, **params)
    return placed(_triangular(typed, left, mode, right, shape, wanted), out_sharding)


@sampler
def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape, dtype: np.dtype) -> Any:
    left, mode, right = (jnp.broadcast_to(convert(x, dtype), shape) for x in (left, mode, right))
    width = right - left
    u = _uniform(key, 0.0, 1.0, shape, dtype)
    rising = left + lax.sqrt(u * width * (mode - left))
    falling = right - lax.sqrt((1 - u) * width * (right - mode))
    return jnp.where(u < (mode - left) / width, rising, falling)
