"""ravel_pytree: a pytree of arrays as one vector, and the way back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of, shaped
from funcgrad.base.basis import broadcast_scalar, concatenate, convert, reshape, slice_array
from funcgrad.base.tree import tree_flatten, tree_unflatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable]:
    """The arrays of a pytree joined into one vector, and a function that takes it apart again.

    Args:
        pytree: a pytree of arrays and numbers.

    Returns:
        `(vector, unravel)`: a vector of the dtype that all leaves promote to, and
        `unravel(vector)`, which restores structure, shapes and dtypes.
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        nothing = broadcast_scalar(0, shaped((0,), dtypes.default_float()))
        return nothing, lambda vector: tree_unflatten(tree, [])
    values = [as_value(x) for x in leaves]
    avals = [v.aval for v in values]
    dtype, _ = promotion.lattice_result_type(*values)
    vector = concatenate(
        [reshape(convert(v, dtype), (a.size,)) for v, a in zip(values, avals, strict=True)], 0
    )
    starts = np.cumsum([0, *(a.size for a in avals)]).tolist()

    def unravel(flat: Any) -> Any:
        got = aval_of(flat)
        if got.shape != (starts[-1],):
            raise ValueError(
                f"unravel expects a vector of length {starts[-1]}, got shape {got.shape}"
            )
        if got.dtype != dtype:
            raise TypeError(
                f"unravel expects a vector of dtype {dtype}, as ravel_pytree gave, got {got.dtype}"
            )
        parts = [
            convert(reshape(slice_array(flat, [a], [b]), aval.shape), aval.dtype)
            for a, b, aval in zip(starts, starts[1:], avals, strict=False)
        ]
        return tree_unflatten(tree, parts)

    return vector, unravel
