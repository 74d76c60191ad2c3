"""Numbers on a common scale along some axes: as probabilities, or with mean 0 and variance 1."""

from functools import partial

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, config, custom_jvp, lax
from funcgrad.nn._arguments import ArrayLike, Axis, as_array


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    r"""Probabilities from scores: $e^{x_i} / \sum_j e^{x_j}$.

    Args:
        x: scores, real or complex; integers become floats.
        axis: where the result sums to 1: an axis, a tuple of axes, or None for all.
        where: booleans that broadcast with x: which elements take part. The others get 0, whatever
            they hold, and so do all where none takes part.

    Returns:
        The shape of x. A score of +inf, or no score above -inf, makes nan.

    With `config.softmax_custom_jvp` the derivative is computed from the result alone.
    """
    x = as_array("softmax", x)
    if where is not None:
        where = as_array("softmax", where)
    if config.softmax_custom_jvp:
        return _softmax_by_rule(x, axis, where)
    return _softmax(x, axis, where)


def _softmax(x: Array, axis: Axis, where: Array | None) -> Array:
    shifted = _shifted(x, axis, where)
    weights = jnp.exp(shifted)
    shares = weights / jnp.sum(weights, axis, where=where, keepdims=True)
    return shares if where is None else jnp.where(where, shares, 0)


_softmax_by_rule = partial(custom_jvp, nondiff_argnums=(1,))(_softmax)


@_softmax_by_rule.defjvp
def _softmax_jvp(axis: Axis, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, where), (t, _) = primals, tangents
    y = _softmax_by_rule(x, axis, where)
    if where is not None:
        t = jnp.where(where, t, 0)
    return y, y * (t - jnp.sum(y * t, axis, keepdims=True))


def _shifted(x: Array, axis: Axis, where: ArrayLike | None) -> Array:
    """x minus its largest element, so that exponentials do not overflow; -inf where left out."""
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    kept = x if where is None else jnp.where(where, x, -np.inf)
    return kept - lax.stop_gradient(largest)


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    r"""The logarithm of `softmax`: $x_i - \log \sum_j e^{x_j}$, exact where softmax is near 0.

    Args:
        x: scores, real or complex; integers become floats.
        axis: where the exponentials of the result sum to 1: an axis, a tuple of axes, or None for
            all.
        where: booleans that broadcast with x: which elements take part. The others get -inf.

    Returns:
        The shape of x. A score of +inf, or no score above -inf, makes nan.
    """
    x = as_array("log_softmax", x)
    shifted = _shifted(x, axis, where)
    log = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True))
    return log if where is None else jnp.where(where, log, -np.inf)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    r"""x brought to mean 0 and variance 1: $(x - \mu) / \sqrt{\sigma^2 + \varepsilon}$.

    Args:
        x: real; integers become floats.
        axis: the axis or axes of mean and variance; None for all.
        mean, variance: what to use instead of x's own; they broadcast with x.
        epsilon: $\varepsilon$, which keeps a constant x from being divided by 0.
        where: booleans that broadcast with x: which elements count for mean and variance.
        algorithm: "fast" takes the variance as the mean square minus the squared mean, in one pass,
            and loses digits where the mean is large; "stable" takes the mean square of x - mean.

    Returns:
        The shape of x, elements that `where` leaves out included.

    Raises:
        ValueError: if the algorithm is another, or there is no such axis.
    """
    x = as_array("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: unknown algorithm {algorithm!r}; use 'fast' or 'stable'")
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
        else:
            square = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            # Rounding may leave a difference below 0, which has no root.
            variance = jnp.clip(square - jnp.square(mean), 0)
    return (x - mean) * lax.rsqrt(as_array("standardize", variance) + epsilon)
