"""Logarithms of sums and differences of exponentials, without overflow on the way."""

from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, custom_jvp, lax
from funcgrad.nn._arguments import ArrayLike, Axis, as_array, as_inexact


def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    r"""$\log \sum_i b_i e^{a_i}$ over some axes.

    Args:
        a: real or complex; integers become floats.
        axis: the axis or axes to sum over; None for all.
        b: factors that broadcast with a; by default 1. What has factor 0 is left out.
        keepdims: whether the summed axes stay, with size 1.
        return_sign: whether to return the sign of the sum too, so that it may be negative.
        where: booleans that broadcast with a: which elements take part.

    Returns:
        The logarithm, minus infinity for an empty sum; with `return_sign` the pair of the logarithm
        of the sum's modulus and its sign (for complex sums its phase). Without, a negative real sum
        is nan.

    Where every term is minus infinity the gradient is 0, not nan as in JAX: more of nothing changes
    nothing.
    """
    if where is not None:
        a = jnp.where(where, a, 0)
    x, *factors = as_inexact("logsumexp", a, *(() if b is None else (b,)))
    for factor in factors:
        x = jnp.where(factor != 0, x, -np.inf)
    largest = jnp.max(x.real, axis=axis, keepdims=True, where=where, initial=-np.inf)
    shift = lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0))
    terms = jnp.exp(x - shift.astype(x.dtype))
    for factor in factors:
        terms = terms * factor
    total = jnp.sum(terms, axis=axis, keepdims=keepdims, where=where)
    shift, largest = (x.reshape(total.shape) for x in (shift, largest))
    is_complex = jnp.issubdtype(total.dtype, np.complexfloating)
    sign = jnp.sign(total)
    if return_sign or not is_complex:
        total = jnp.abs(total)
    nothing = largest == -np.inf
    log = jnp.where(nothing, -np.inf, jnp.log(jnp.where(nothing, 1, total)))
    log = log + shift.astype(log.dtype)
    if return_sign:
        return log, sign
    return log if is_complex or b is None else jnp.where(sign < 0, np.nan, log)


def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    r"""$\log \frac{1}{n} \sum_{i=1}^n e^{x_i}$ over some axes.

    Args:
        x: real or complex; integers become floats.
        axis: the axis or axes of the mean; None for all.
        where: booleans that broadcast with x: which elements take part, and are counted.
        keepdims: whether the axes of the mean stay, with size 1.
    """
    log = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    ones = jnp.ones(jnp.shape(x), log.dtype)
    return log - jnp.log(jnp.sum(ones, axis=axis, where=where, keepdims=keepdims))


@custom_jvp
def log1mexp(x: ArrayLike) -> Array:
    r"""$\log(1 - e^{-x})$ for $x \ge 0$, exact for small x and for large; nan below 0.

    Source: Mächler, Accurately Computing log(1 - exp(-|a|)), 2012.
    """
    x = as_array("log1mexp", x)
    return jnp.where(x < np.log(2.0), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda t, out, x: t / jnp.expm1(x))
