"""one_hot: classes as rows of zeros with a single one."""

import operator
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, lax


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Array:
    """Classes as vectors that are 1 at the class and 0 elsewhere.

    Args:
        x: classes, integers of any shape; what is not in [0, num_classes) gets zeros alone.
        num_classes: the length of the vectors; not a traced value.
        dtype: of the result; by default float32 (float64 under `enable_x64`).
        axis: where the classes' axis stands in the result, or the name of a mapped axis of that
            size, of which each member then gets its own element.

    Returns:
        An array of the shape of x with one more axis of size `num_classes`.

    Raises:
        TypeError: if x does not hold integers, or num_classes is traced.
        ValueError: if there is no such axis, or a named axis has another size.

    Example:
        >>> one_hot(jnp.array([0, 2]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"one_hot takes classes as integers, got dtype {x.dtype}; convert them with "
            "x.astype(int) if they are whole numbers"
        )
    try:
        size = operator.index(num_classes)
    except TypeError as error:
        error.add_note(f"one_hot needs num_classes to be a known integer, got {num_classes!r:.80}")
        raise
    dtype = float if dtype is None else dtype
    if not hasattr(axis, "__index__"):
        if size != lax.axis_size(axis):
            raise ValueError(
                f"one_hot: num_classes is {size}, but the axis {axis!r} has size "
                f"{lax.axis_size(axis)}; they must be equal"
            )
        return (x == lax.axis_index(axis)).astype(dtype)
    lifted = jnp.expand_dims(x, axis)
    place = operator.index(axis) % lifted.ndim
    classes = jnp.arange(size).reshape((size,) + (1,) * (lifted.ndim - 1 - place))
    return (lifted == classes).astype(dtype)
