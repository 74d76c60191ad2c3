"""Gamma numbers, and the distributions that are made of them."""

from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import convert
from funcgrad.base.shapes import Shape, canonical_shape, concrete_int
from funcgrad.primitives.random_gamma import random_gamma
from funcgrad.random._arguments import (
    check_safe_to_cast,
    common_shape,
    float_dtype,
    placed,
    sampler,
)
from funcgrad.random._continuous import _exponential
from funcgrad.random._keys import checked_key, split_typed
from funcgrad.random._normal import _normal
from funcgrad.random._uniform import _rademacher


def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Gamma numbers of shape parameter a, density ~ x^(a - 1) exp(-x) for x >= 0.

    Each is the result of a rejection (Marsaglia and Tsang, 2000). It is differentiable with respect
    to a. For a much below 1 many underflow to 0; `loggamma` gives their logarithms.

    Args:
        key: a random key.
        a: a positive float or an array of them.
        shape: of the result, to which a broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("gamma", key).typed
    wanted = float_dtype("gamma", dtype)
    return placed(_gamma(typed, a, common_shape("gamma", shape, a=a), wanted), out_sharding)


@sampler
def _gamma(key: Any, a: Any, shape: Shape, dtype: np.dtype) -> Any:
    return random_gamma(key, jnp.broadcast_to(convert(a, dtype), shape), log_space=False)


def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """The logarithms of the numbers that `gamma` draws, accurate also where those are tiny.

    Args:
        key: a random key.
        a: a positive float or an array of them.
        shape: of the result, to which a broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        ValueError: another dtype, or the shapes do not fit.
    """
    typed = checked_key("loggamma", key).typed
    wanted = float_dtype("loggamma", dtype)
    return placed(_loggamma(typed, a, common_shape("loggamma", shape, a=a), wanted), out_sharding)


@sampler
def _loggamma(key: Any, a: Any, shape: Shape, dtype: np.dtype) -> Any:
    return random_gamma(key, jnp.broadcast_to(convert(a, dtype), shape), log_space=True)


def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Beta numbers, density ~ x^(a - 1) (1 - x)^(b - 1) for 0 <= x <= 1.

    Args:
        key: a random key.
        a, b: positive floats or arrays of them.
        shape: of the result, to which a and b broadcast; None is what they broadcast to.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: a or b is of a wider dtype than the result.
    """
    typed = checked_key("beta", key).typed
    wanted = float_dtype("beta", dtype)
    check_safe_to_cast("beta", wanted, a=a, b=b)
    shape = common_shape("beta", shape, a=a, b=b)
    return placed(_beta(typed, a, b, shape, wanted), out_sharding)


@sampler
def _beta(key: Any, a: Any, b: Any, shape: Shape, dtype: np.dtype) -> Any:
    """The share of one gamma number in the sum of two, from their logarithms."""
    keys = split_typed(key)
    log_a, log_b = _loggamma(keys[0], a, shape, dtype), _loggamma(keys[1], b, shape, dtype)
    largest = lax.max(log_a, log_b)
    gamma_a, gamma_b = lax.exp(log_a - largest), lax.exp(log_b - largest)
    return gamma_a / (gamma_a + gamma_b)


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Vectors of numbers >= 0 with sum 1, density ~ the product of the x_i^(alpha_i - 1).

    Args:
        key: a random key.
        alpha: positive concentrations, floats [..., n].
        shape: how many vectors, a shape to which that of alpha without its last axis broadcasts;
            None is that shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Returns:
        The vectors, `[*shape, n]`.

    Raises:
        ValueError: alpha is a scalar, the dtype is no float dtype, or the shapes do not fit.
    """
    typed = checked_key("dirichlet", key).typed
    wanted = float_dtype("dirichlet", dtype)
    own = aval_of(alpha).shape
    if not own:
        raise ValueError("dirichlet: alpha needs an axis of concentrations, got a scalar")
    shape = own[:-1] if shape is None else canonical_shape(shape)
    full = common_shape("dirichlet", (*shape, own[-1]), alpha=alpha)
    return placed(_dirichlet(typed, alpha, full, wanted), out_sharding)


@sampler
def _dirichlet(key: Any, alpha: Any, shape: Shape, dtype: np.dtype) -> Any:
    logs = _loggamma(key, alpha, shape, dtype)
    largest = lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True))
    gammas = lax.exp(logs - largest)
    return gammas / jnp.sum(gammas, axis=-1, keepdims=True)


def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Chi-square numbers, the sum of df squares of normal ones: density ~ x^(df/2 - 1) exp(-x/2).

    Args:
        key: a random key.
        df: degrees of freedom, a positive float or an array of them.
        shape: of the result, to which df broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: df is of a wider dtype than the result.
    """
    typed = checked_key("chisquare", key).typed
    wanted = float_dtype("chisquare", dtype)
    shape = common_shape("chisquare", shape, df=df)
    check_safe_to_cast("chisquare", wanted, df=df)
    return placed(_chisquare(typed, df, shape, wanted), out_sharding)


@sampler
def _chisquare(key: Any, df: Any, shape: Shape, dtype: np.dtype) -> Any:
    return 2 * lax.exp(_loggamma(key, convert(df, dtype) / 2, shape, dtype))


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """F numbers: the quotient of two chi-square numbers, each divided by its degrees of freedom.

    Args:
        key: a random key.
        dfnum, dfden: degrees of freedom of numerator and denominator, floats or arrays of floats.
        shape: of the result, to which both broadcast; None is what they broadcast to.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: dfnum or dfden is of a wider dtype than the result.
    """
    typed = checked_key("f", key).typed
    wanted = float_dtype("f", dtype)
    shape = common_shape("f", shape, dfnum=dfnum, dfden=dfden)
    check_safe_to_cast("f", wanted, dfnum=dfnum, dfden=dfden)
    return placed(_f(typed, dfnum, dfden, shape, wanted), out_sharding)


@sampler
def _f(key: Any, dfnum: Any, dfden: Any, shape: Shape, dtype: np.dtype) -> Any:
    keys = split_typed(key)
    dfnum, dfden = convert(dfnum, dtype), convert(dfden, dtype)
    numerator = _chisquare(keys[1], dfnum, shape, dtype) / dfnum
    return numerator / (_chisquare(keys[0], dfden, shape, dtype) / dfden)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's t numbers, density ~ (1 + x^2 / df)^(-(df + 1) / 2).

    Args:
        key: a random key.
        df: degrees of freedom, a positive float or an array of them.
        shape: of the result, to which df broadcasts; None is its shape.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Raises:
        TypePromotionError: df is of a wider dtype than the result.
    """
    typed = checked_key("t", key).typed
    wanted = float_dtype("t", dtype)
    shape = common_shape("t", shape, df=df)
    check_safe_to_cast("t", wanted, df=df)
    return placed(_t(typed, df, shape, wanted), out_sharding)


@sampler
def _t(key: Any, df: Any, shape: Shape, dtype: np.dtype) -> Any:
    """A normal number over the root of a chi-square one divided by df."""
    keys = split_typed(key)
    half = convert(df, dtype) / 2
    return _normal(keys[0], shape, dtype) * lax.sqrt(half / _gamma(keys[1], half, shape, dtype))


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of density ~ exp(-|x|^p): Laplace for p = 1, normal of variance 1/2 for p = 2.

    Args:
        key: a random key.
        p: a positive float.
        shape: of the result.
        dtype: a float dtype.
        out_sharding: where the result goes.
    """
    typed = checked_key("generalized_normal", key).typed
    wanted = float_dtype("generalized_normal", dtype)
    return placed(_generalized_normal(typed, p, canonical_shape(shape), wanted), out_sharding)


@sampler
def _generalized_normal(key: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    keys = split_typed(key)
    size = _gamma(keys[0], 1 / p, shape, dtype) ** (1 / p)
    return _rademacher(keys[1], shape, dtype) * size


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Points spread evenly over the unit ball of the p-norm in d dimensions.

    By generalized normal numbers (Barthe and others, 2005), whatever p and d.

    Args:
        key: a random key.
        d: the dimension.
        p: the norm, a positive float.
        shape: how many points.
        dtype: a float dtype.
        out_sharding: where the result goes.

    Returns:
        The points, `[*shape, d]`.
    """
    typed = checked_key("ball", key).typed
    wanted = float_dtype("ball", dtype)
    full = (*canonical_shape(shape), concrete_int(d, "d"))
    return placed(_ball(typed, p, full, wanted), out_sharding)


@sampler
def _ball(key: Any, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    keys = split_typed(key)
    g = _generalized_normal(keys[0], p, shape, dtype)
    e = _exponential(keys[1], shape[:-1], dtype)
    norm = (jnp.sum(lax.abs(g) ** p, axis=-1) + e) ** (1 / p)
    return g / norm[..., None]
