"""Where the extrema are: argmax and argmin."""

from collections.abc import Callable
from typing import Any

from funcgrad.base import dtypes
from funcgrad.base.basis import reshape
from funcgrad.base.shapes import canonical_axis, concrete_int
from funcgrad.numpy._promotion import refuse_out, to_array
from funcgrad.numpy._reductions import keep_axes
from funcgrad.primitives import reduction


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The first place of the maximum along an axis, or in the flattened array; nan counts as it."""
    return _place("argmax", reduction.argmax, a, axis, out, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The first place of the minimum along an axis, or in the flattened array; nan counts as it."""
    return _place("argmin", reduction.argmin, a, axis, out, keepdims)


def _place(
    name: str, find: Callable[..., Any], a: Any, axis: int | None, out: Any, keepdims: bool | None
) -> Any:
    refuse_out(name, out)
    a = to_array(name, a)
    shape = a.aval.shape
    if axis is None:
        axes, flat = tuple(range(len(shape))), reshape(a, (a.aval.size,))
    else:
        axes, flat = (canonical_axis(concrete_int(axis, "axis"), len(shape)),), a
    along = 0 if axis is None else axes[0]
    if flat.aval.shape[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence: shape {shape}, axis {axis}")
    result = find(flat, along, dtypes.default_int())
    return keep_axes(result, shape, axes) if keepdims else result
