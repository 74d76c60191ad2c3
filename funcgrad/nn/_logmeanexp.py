"""Logarithms of means and differences of exponentials, without overflow on the way."""

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, custom_jvp
from funcgrad.nn._arguments import ArrayLike, Axis, as_array
from funcgrad.scipy.special import logsumexp


def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    r"""$\log \frac{1}{n} \sum_{i=1}^n e^{x_i}$ over some axes.

    Args:
        x: real or complex; integers become floats.
        axis: one axis, or several, of the mean; None for all.
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
