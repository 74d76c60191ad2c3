"""Random bits, and the numbers that come straight from them: uniform floats, integers, signs."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import convert, full_like, scalar_like, select_n
from funcgrad.base.shapes import Shape, canonical_shape
from funcgrad.primitives.keys import random_bits
from funcgrad.random._arguments import common_shape, float_dtype, int_dtype, placed, sampler, spread
from funcgrad.random._keys import checked_key, split_typed


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Unsigned integers, every bit of them random.

    Args:
        key: a random key.
        shape: of the result.
        dtype: an unsigned integer dtype; the default is uint32, or uint64 under `enable_x64`.
        out_sharding: where the result goes.

    Raises:
        ValueError: the dtype is no unsigned integer dtype.
    """
    typed = checked_key("bits", key).typed
    wanted = dtypes.default_uint() if dtype is None else dtypes.check_user_dtype(dtype, "bits")
    if not dtypes.issubdtype(wanted, np.unsignedinteger):
        raise ValueError(
            f"bits come as unsigned integers, so not as dtype {wanted}; give uint32, say"
        )
    width = dtypes.itemsize_bits(wanted)
    return placed(random_bits(typed, width, canonical_shape(shape)), out_sharding)


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform floats in minval <= x < maxval.

    Args:
        key: a random key.
        shape: of the result.
        dtype: a float dtype.
        minval, maxval: the bounds, scalars or arrays that broadcast to `shape`.
        out_sharding: where the result goes.

    Raises:
        ValueError: the dtype is no float dtype, or the bounds do not broadcast.
    """
    typed = checked_key("uniform", key).typed
    wanted = float_dtype("uniform", dtype)
    shape = common_shape("uniform", canonical_shape(shape), minval=minval, maxval=maxval)
    return placed(_uniform(typed, minval, maxval, shape, wanted), out_sharding)


@sampler
def _uniform(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: np.dtype) -> Any:
    """Random mantissas below the exponent of 1 give [1, 2), which is moved to the range."""
    low, high = spread(minval, dtype, shape), spread(maxval, dtype, shape)
    info = dtypes.finfo(dtype)
    if info.bits not in (8, 16, 32, 64):
        raise TypeError(f"uniform draws floats of 8, 16, 32 or 64 bits, not {dtype}")
    pattern = np.dtype(f"uint{info.bits}")
    width = 8 if info.nmant < 8 else info.bits
    drawn = convert(random_bits(key, width, shape), pattern)
    mantissa = lax.shift_right_logical(drawn, scalar_like(width - info.nmant, drawn))
    one = scalar_like(np.ones((), dtype).view(pattern), drawn)
    floats = lax.bitcast_convert_type(lax.bitwise_or(mantissa, one), dtype)
    unit = lax.sub(floats, scalar_like(1, floats))
    return lax.max(low, lax.add(lax.mul(unit, lax.sub(high, low)), low))


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform integers in minval <= x < maxval; minval where the range is empty.

    Twice as many bits are drawn as the dtype has, so that ranges which are no power of two are
    biased by less than 2^-32.

    Args:
        key: a random key.
        shape: of the result.
        minval, maxval: the bounds, scalars or integer arrays that broadcast to `shape`. Those
            outside the dtype's range are clipped to it; maxval may be one beyond the largest.
        dtype: an integer dtype.
        out_sharding: where the result goes.

    Raises:
        TypeError: the dtype is no integer dtype.
        ValueError: the bounds do not broadcast to `shape`.
    """
    typed = checked_key("randint", key).typed
    wanted = int_dtype("randint", dtype, TypeError)
    shape = common_shape("randint", canonical_shape(shape), minval=minval, maxval=maxval)
    info = dtypes.iinfo(wanted)
    low, high = whole(minval), whole(maxval)
    sampled = wanted
    if info.bits < 32:
        sampled = np.dtype(np.int32)
        low = clipped(convert(low, sampled), info.min, info.max)
        high = clipped(convert(high, sampled), info.min, int(info.max) + 1)
    drawn = _randint(typed, low, high, shape, sampled)
    return placed(convert(drawn, wanted), out_sharding)


def whole(x: Any) -> Any:
    """A bound as an array of integers; floats are cut to their integer part."""
    x = jnp.asarray(x)
    return x if dtypes.issubdtype(x.dtype, np.integer) else convert(x, dtypes.default_int())


def clipped(x: Any, low: Any, high: Any) -> Any:
    return lax.clamp(scalar_like(low, x), x, scalar_like(high, x))


def into(x: Any, dtype: np.dtype) -> Any:
    """Integers in another integer dtype, those outside its range clipped instead of wrapped."""
    old, new = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = max(int(old.min), int(new.min)), min(int(old.max), int(new.max))
    return convert(clipped(x, low, high), dtype)


@sampler
def _randint(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: np.dtype) -> Any:
    """(high 2^n + low) mod the range, of two draws of n bits, with no number above 2^n."""
    largest = int(dtypes.iinfo(dtype).max)
    nbits = dtypes.iinfo(dtype).bits
    beyond = lax.gt(maxval, scalar_like(min(largest, int(dtypes.iinfo(maxval.dtype).max)), maxval))
    low, high = spread(into(minval, dtype), dtype, shape), spread(into(maxval, dtype), dtype, shape)
    beyond = spread(beyond, np.dtype(bool), shape)

    keys = split_typed(key)
    higher, lower = (random_bits(keys[i], nbits, shape) for i in range(2))
    span = convert(lax.sub(high, low), higher.dtype)
    span = select_n(lax.le(high, low), span, full_like(span, 1))
    beyond = lax.bitwise_and(beyond, lax.gt(high, low))
    span = select_n(beyond, span, lax.add(span, scalar_like(1, span)))

    # 2^n mod span, from its square root: where span is 0 it stands for 2^n, and rem leaves x as is.
    multiplier = lax.rem(scalar_like(2 ** (nbits // 2), span), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(higher, span), multiplier), lax.rem(lower, span))
    return lax.add(low, convert(lax.rem(offset, span), dtype))


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """True with probability p.

    Args:
        key: a random key.
        p: the probability, a float or an array of floats.
        shape: of the result, to which p broadcasts; None is the shape of p.
        mode: "low" draws one float for each, which for float32 is wrong by up to 1e-7 in
            probability; "high" draws two.
        out_sharding: where the result goes.

    Returns:
        A boolean array.

    Raises:
        TypeError: p is not of a float dtype.
        ValueError: another mode, or p does not broadcast to `shape`.
    """
    if mode not in ("high", "low"):
        raise ValueError(f"bernoulli: mode must be 'high' or 'low', got {mode!r}")
    typed = checked_key("bernoulli", key).typed
    dtype = promotion.dtype_of(p)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"bernoulli: the probability p needs a floating dtype, got {dtype}")
    shape = common_shape("bernoulli", shape, p=p)
    drawn = _bernoulli if mode == "low" else _bernoulli_high
    return placed(drawn(typed, convert(p, dtype), shape, dtype), out_sharding)


@sampler
def _bernoulli(key: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    return _uniform(key, 0.0, 1.0, shape, dtype) < spread(p, dtype, shape)


@sampler
def _bernoulli_high(key: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    """The second draw goes on where the digits of the first end."""
    digits = _uniform(key, 0.0, 1.0, (2, *shape), dtype)
    finer = digits[1] * 2.0 ** -dtypes.finfo(dtype).nmant
    return finer < spread(p, dtype, shape) - digits[0]


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """-1 or 1, either with probability 1/2.

    Args:
        key: a random key.
        shape: of the result.
        dtype: of the result; the default is an integer dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("rademacher", key).typed
    wanted = dtypes.check_user_dtype(int if dtype is None else dtype, "rademacher")
    return placed(_rademacher(typed, canonical_shape(shape), wanted), out_sharding)


@sampler
def _rademacher(key: Any, shape: Shape, dtype: np.dtype) -> Any:
    positive = _bernoulli(key, 0.5, shape, dtypes.default_float())
    ones = convert(positive, dtype)
    return lax.sub(lax.mul(ones, scalar_like(2, ones)), scalar_like(1, ones))
