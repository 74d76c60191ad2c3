"""Counts: geometric, Poisson, binomial and multinomial numbers."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import convert, full_like, scalar_like
from funcgrad.base.shapes import Shape, canonical_shape
from funcgrad.primitives.keys import random_clone
from funcgrad.random._arguments import common_shape, float_dtype, int_dtype, placed, sampler
from funcgrad.random._keys import checked_key, split_typed
from funcgrad.random._uniform import _uniform


def inexact(x: Any) -> Any:
    """x as an array of floats."""
    x = jnp.asarray(x)
    return x if dtypes.issubdtype(x.dtype, np.inexact) else convert(x, dtypes.default_float())


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """How many trials it takes to the first success, each succeeding with probability p.

    Args:
        key: a random key.
        p: the probability, a float or an array of floats in (0, 1].
        shape: of the result, to which p broadcasts; None is its shape.
        dtype: an integer dtype.
        out_sharding: where the result goes.

    Returns:
        Integers of 1 and more.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("geometric", key).typed
    wanted = int_dtype("geometric", dtype)
    shape = common_shape("geometric", shape, p=p)
    return placed(_geometric(typed, inexact(p), shape, wanted), out_sharding)


@sampler
def _geometric(key: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    u = _uniform(key, 0.0, 1.0, shape, p.dtype)
    log_u = lax.log(jnp.where(u == 0, scalar_like(1, u), u))
    trials = lax.floor(log_u / jnp.broadcast_to(lax.log1p(-p), shape)) + 1
    return convert(trials, dtype)


def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Poisson numbers: how many events happen where lam of them are to be expected.

    Args:
        key: a random key.
        lam: the mean, a number >= 0 or an array of them. It is used in float32.
        shape: of the result, to which lam broadcasts; None is its shape.
        dtype: an integer dtype.
        out_sharding: where the result goes.

    Returns:
        Integers of 0 and more; -1 for a negative mean or nan.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("poisson", key).typed
    wanted = int_dtype("poisson", dtype)
    shape = common_shape("poisson", shape, lam=lam)
    rate = jnp.broadcast_to(convert(lam, np.float32), shape)
    return placed(_poisson(typed, rate, shape, wanted), out_sharding)


@sampler
def _poisson(key: Any, lam: Any, shape: Shape, dtype: np.dtype) -> Any:
    """Both methods run for all, with a harmless mean where the other one's result counts."""
    few = (lam != lam) | (lam < 10)
    limit = min(int(dtypes.iinfo(dtype).max), 2**31 - 1)
    counted = poisson_by_counting(key, jnp.where(few, lam, 0.0), shape, limit)
    rejected = poisson_by_rejection(random_clone(key), jnp.where(few, 1e5, lam), shape, limit)
    drawn = jnp.where(few, convert(counted, dtype), convert(rejected, dtype))
    return jnp.where(lam == 0, full_like(drawn, 0), drawn)


def poisson_by_counting(key: Any, lam: Any, shape: Shape, limit: int) -> Any:
    """Knuth's: how many uniform numbers can be multiplied before the product falls below e^-lam."""

    def going_on(state: tuple) -> Any:
        i, _, _, log_product = state
        return jnp.any(log_product > -lam) & (i < limit)

    def step(state: tuple) -> tuple:
        i, count, key, log_product = state
        keys = split_typed(key)
        count = jnp.where(log_product > -lam, count + 1, count)
        u = _uniform(keys[1], 0.0, 1.0, shape, lam.dtype)
        return i + 1, count, keys[0], log_product + lax.log(u)

    zeros = full_like(lam, 0)
    return lax.while_loop(going_on, step, (0, convert(zeros, np.int32), key, zeros))[1] - 1


def poisson_by_rejection(key: Any, lam: Any, shape: Shape, limit: int) -> Any:
    """Transformed rejection with squeeze (Hormann, 1993), for means of 10 and more."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def going_on(state: tuple) -> Any:
        i, _, accepted, _ = state
        return ~jnp.all(accepted) & (i < limit)

    def step(state: tuple) -> tuple:
        i, found, accepted, key = state
        keys = split_typed(key, 3)
        u = _uniform(keys[1], 0.0, 1.0, shape, lam.dtype) - 0.5
        v = _uniform(keys[2], 0.0, 1.0, shape, lam.dtype)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + lam + 0.43)
        height = lax.log(v * inv_alpha / (a / (us * us) + b))
        surely = (us >= 0.07) & (v <= v_r)
        never = (k < 0) | ((us < 0.013) & (v > us))
        below = height <= -lam + k * log_lam - lax.lgamma(k + 1)
        accept = surely | (~never & below)
        return i + 1, jnp.where(accept, k, found), accepted | accept, keys[0]

    start = (0, full_like(lam, -1), jnp.zeros(shape, bool), key)
    return lax.while_loop(going_on, step, start)[1]


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of n trials succeed, each with probability p.

    Args:
        key: a random key.
        n: the number of trials, a whole number >= 0 or an array of them.
        p: the probability, a float or an array of floats.
        shape: of the result, to which n and p broadcast; None is what they broadcast to.
        dtype: a float dtype.

    Returns:
        Whole numbers in a float dtype; nan where n is negative or nan, or p no probability.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("binomial", key).typed
    wanted = float_dtype("binomial", dtype)
    shape = common_shape("binomial", shape, n=n, p=p)
    return _binomial(typed, jnp.asarray(n), inexact(p), shape, wanted)


@sampler
def _binomial(key: Any, n: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    """Of p and 1 - p the smaller is drawn for, by one of two methods that both run for all."""
    n = jnp.broadcast_to(convert(n, p.dtype), shape)
    p = jnp.broadcast_to(p, shape)
    smaller = p < 0.5
    q = jnp.where(smaller, p, 1.0 - p)
    no_count, no_chance, endless = (n != n) | (n < 0), (q != q) | (q < 0), jnp.isinf(n)
    q = jnp.where(no_chance, 0.01, q)
    few = no_count | (n * q <= 10)
    n = lax.floor(n)
    limit = float(dtypes.finfo(dtype).max)
    counted = binomial_by_counting(key, jnp.where(few, n, 0.0), q, shape, limit)
    many, chance = jnp.where(few, 1e4, n), jnp.where(few, 0.5, q)
    rejected = binomial_by_rejection(random_clone(key), many, chance, shape, limit)
    drawn = jnp.where(few, convert(counted, dtype), convert(rejected, dtype))
    drawn = jnp.where(no_count | no_chance, np.nan, jnp.where(endless, np.inf, drawn))
    as_drawn = smaller | no_count | (p != p) | endless
    return jnp.where(as_drawn, drawn, convert(n, dtype) - drawn)


def binomial_by_counting(key: Any, n: Any, p: Any, shape: Shape, limit: float) -> Any:
    """How many geometric numbers fit into n: each is how many trials the next success takes."""
    log_failure = lax.log1p(-p)

    def going_on(state: tuple) -> Any:
        i, _, trials, _ = state
        return jnp.any(trials <= n) & (i < limit)

    def step(state: tuple) -> tuple:
        i, count, trials, key = state
        keys = split_typed(key)
        count = jnp.where(trials <= n, count + 1, count)
        u = _uniform(keys[0], 0.0, 1.0, shape, p.dtype)
        return i + 1, count, trials + lax.ceil(lax.log(u) / log_failure), keys[1]

    zeros = full_like(p, 0)
    return lax.while_loop(going_on, step, (0, zeros, zeros, key))[1] - 1


def binomial_by_rejection(key: Any, n: Any, p: Any, shape: Shape, limit: float) -> Any:
    """Transformed rejection with squeeze (Hormann, 1993, "BTRS"), for means above 10."""
    stddev = lax.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    mode = lax.floor((n + 1) * p)

    def log_ratio(k: Any) -> Any:
        """The logarithm of the probability of k over that of the most probable number."""
        return (
            (mode + 0.5) * lax.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * lax.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * lax.log(odds * (n - k + 1) / (k + 1))
            + (stirling_tail(mode) + stirling_tail(n - mode))
            - stirling_tail(k)
            - stirling_tail(n - k)
        )

    def going_on(state: tuple) -> Any:
        i, _, accepted, _ = state
        return ~jnp.all(accepted) & (i < limit)

    def step(state: tuple) -> tuple:
        i, found, accepted, key = state
        keys = split_typed(key, 3)
        u = _uniform(keys[1], 0.0, 1.0, shape, p.dtype) - 0.5
        v = _uniform(keys[2], 0.0, 1.0, shape, p.dtype)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + c)
        surely = (us >= 0.07) & (v <= v_r)
        never = (k < 0) | (k > n)
        below = lax.log(v * alpha / (a / (us * us) + b)) <= log_ratio(k)
        accept = surely | (~never & below)
        return i + 1, jnp.where(accept, k, found), accepted | accept, keys[0]

    start = (0, full_like(p, -1), jnp.zeros(shape, bool), key)
    return lax.while_loop(going_on, step, start)[1]


# log k! less Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for k = 0 .. 9.
STIRLING_TAILS = np.array(
    [
        0.081061466795327258,
        0.041340695955409294,
        0.027677925684998339,
        0.020790672103765093,
        0.016644691189821193,
        0.013876128823070748,
        0.011896709945891771,
        0.010411265261972096,
        0.009255462182712733,
        0.008330563433362871,
    ]
)


def stirling_tail(k: Any) -> Any:
    """What Stirling's formula for log k! leaves out."""
    whole = jnp.clip(k, 0, len(STIRLING_TAILS) - 1)
    listed = jnp.asarray(STIRLING_TAILS, k.dtype)[convert(whole, np.int32)]
    squared = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / squared) / squared) / (k + 1)
    return jnp.where(k < len(STIRLING_TAILS), listed, series)


def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Any:
    """How often each of k outcomes occurs in n trials.

    Args:
        key: a random key.
        n: the number of trials, which broadcasts to the shape of the result without its last axis.
        p: the probabilities of the outcomes, floats [..., k] with sum 1 along the last axis.
        shape: of the result, to which p broadcasts; None is the shape of p.
        dtype: of the result; None is that of n and p in common.
        unroll: how many outcomes one step of the loop over them draws for.

    Returns:
        Whole numbers with sum n along the last axis.
    """
    typed = checked_key("multinomial", key).typed
    n, p = jnp.asarray(n), jnp.asarray(p)
    common = promotion.result_type(n, p)
    if not dtypes.issubdtype(common, np.inexact):
        common = dtypes.to_inexact(common)
    shape = p.shape if shape is None else canonical_shape(shape)
    if not shape:
        raise ValueError("multinomial: p needs an axis of probabilities, got a scalar")
    common_shape("multinomial", shape, p=p)
    common_shape("multinomial", shape[:-1], n=n)
    n = jnp.broadcast_to(convert(n, common), shape[:-1])
    p = jnp.moveaxis(jnp.broadcast_to(convert(p, common), shape), -1, 0)
    # Outcome by outcome: its share of the probability that is left, of the trials that are left.
    left = lax.cumsum(p, axis=0, reverse=True)
    shares = jnp.clip(p / jnp.where(left == 0, 1, left), 0, 1)

    def step(left: Any, share_and_key: tuple) -> tuple:
        share, key = share_and_key
        count = _binomial(key, left, share, left.shape, left.dtype)
        return left - count, count

    keys = split_typed(typed, len(shares))
    _, counts = lax.scan(step, n, (shares, keys), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    wanted = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype)
    return convert(counts, wanted)
