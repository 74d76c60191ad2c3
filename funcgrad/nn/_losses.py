"""Losses: how far predictions are from labels."""

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array
from funcgrad.nn._arguments import ArrayLike, as_array
from funcgrad.nn._softmax import log_softmax


def softmax_cross_entropy(logits: ArrayLike, labels: ArrayLike, axis: int = -1) -> Array:
    r"""Cross entropy of labels and the softmax of scores, one number an example:
    $-\sum_c p_c \log \mathrm{softmax}(x)_c$, or $-\log \mathrm{softmax}(x)_c$ for a class c.

    Args:
        logits: scores [..., classes], of a float dtype.
        labels: integers [...], the class of each example; or numbers [..., classes], the
            probability of each class. Which, the number of axes tells.
        axis: the axis of the classes.

    Returns:
        [...], in the dtype of the logits; take the mean for a training loss. It is exact where the
        softmax rounds to 0 or 1, a class of probability 0 adds nothing even where its score is
        -inf, and a class outside [0, classes) gives nan.

    Raises:
        ValueError: if the shapes do not fit together.
        TypeError: if labels without an axis of classes are no integers.

    Example:
        >>> softmax_cross_entropy(jnp.array([[0.0, 0.0], [0.0, 100.0]]), jnp.array([1, 0]))
        Array([  0.6931472, 100.       ], dtype=float32)
    """
    logits = as_array("softmax_cross_entropy", logits)
    labels = as_array("softmax_cross_entropy", labels)
    if not logits.ndim or not -logits.ndim <= axis < logits.ndim:
        raise ValueError(
            f"softmax_cross_entropy: logits of shape {logits.shape} have no axis {axis} of classes"
        )
    axis %= logits.ndim
    examples = logits.shape[:axis] + logits.shape[axis + 1 :]
    if labels.shape not in (examples, logits.shape):
        raise ValueError(
            f"softmax_cross_entropy: for logits of shape {logits.shape} with classes on axis "
            f"{axis}, labels must have shape {examples} (classes) or {logits.shape} "
            f"(probabilities), got {labels.shape}"
        )
    log = log_softmax(logits, axis)
    if labels.ndim == logits.ndim:
        # 0 * -inf is nan; the choice comes before the product so that the gradient is spared too.
        return -jnp.sum(labels * jnp.where((labels == 0) & (log == -np.inf), 0, log), axis)
    if not jnp.issubdtype(labels.dtype, np.integer):
        raise TypeError(
            f"softmax_cross_entropy: labels of shape {labels.shape} stand for classes, which are "
            f"integers, got dtype {labels.dtype}; probabilities have the shape of the logits, "
            f"{logits.shape}"
        )
    at = jnp.expand_dims(labels, axis)
    found = jnp.squeeze(jnp.take_along_axis(log, at, axis, mode="fill"), axis)
    return -jnp.where(labels < 0, np.nan, found)
