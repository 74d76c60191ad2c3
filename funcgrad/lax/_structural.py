"""Structural operations with lax's own signatures: arguments checked and completed, then bound."""

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.api.flat import flat_values
from funcgrad.base import basis, dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of, shaped
from funcgrad.base.basis import broadcast_scalar, transpose_p
from funcgrad.base.shapes import broadcast_shapes as _broadcast
from funcgrad.base.shapes import (
    canonical_axes,
    canonical_axis,
    canonical_shape,
    concrete_int,
)
from funcgrad.base.tree import tree_map, tree_unflatten
from funcgrad.primitives.arithmetic import RoundingMethod
from funcgrad.primitives.arithmetic import round as round_with
from funcgrad.primitives.complex_parts import real
from funcgrad.primitives.remat import barrier
from funcgrad.primitives.structural import stop_gradient_p


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """The operand repeated along new leading axes of these sizes."""
    sizes = canonical_shape(tuple(sizes), "sizes")
    shape = aval_of(operand).shape
    dims = range(len(sizes), len(sizes) + len(shape))
    return basis.broadcast_in_dim(as_value(operand), (*sizes, *shape), dims)


def broadcast_in_dim(
    operand: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    """The operand with its axis i placed at axis `broadcast_dimensions[i]` of `shape`."""
    shape = canonical_shape(shape)
    dims = tuple(concrete_int(d, "broadcast_dimensions") for d in broadcast_dimensions)
    return basis.broadcast_in_dim(as_value(operand), shape, dims)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that NumPy broadcasting gives to arrays of these shapes."""
    return _broadcast(*map(canonical_shape, shapes))


def broadcasted_iota(
    dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Any:
    """0, 1, 2, ... along one axis of an array of the given shape."""
    shape = canonical_shape(shape)
    return basis.iota(
        dtypes.canonicalize_dtype(dtype), shape, canonical_axis(dimension, len(shape), "dimension")
    )


def iota(dtype: Any, size: int) -> Any:
    """The vector 0, 1, ..., size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    if not isinstance(operands, (list, tuple)) or not operands:
        raise ValueError("concatenate requires a non-empty sequence of arrays")
    if len(operands) == 1 and hasattr(operands[0], "aval"):
        return operands[0]
    return basis.concatenate(operands, concrete_int(dimension, "dimension"))


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The operand in another dtype; floats become integers by rounding towards zero.

    `float`, `int`, ... as the new dtype give a weakly typed result.
    """
    weak = any(new_dtype is kind for kind in (int, float, complex))
    target = dtypes.canonicalize_dtype(new_dtype)
    aval = aval_of(operand)
    operand = as_value(operand)
    if aval.dtype == target and not weak and aval.weak_type:
        return basis.convert_element_type_p.bind(operand, new_dtype=target, weak_type=False)
    if dtypes.issubdtype(aval.dtype, np.complexfloating) and not dtypes.issubdtype(
        target, np.complexfloating
    ):
        if target != np.bool_:
            operand = real(operand)
    return basis.convert(operand, target, weak)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """The array with new axes of length 1; `dimensions` are axes of the result."""
    shape = aval_of(array).shape
    ndim = len(shape) + len(tuple(dimensions))
    new = canonical_axes(tuple(dimensions), ndim, "dimensions")
    sizes = iter(shape)
    out = tuple(1 if i in new else next(sizes) for i in range(ndim))
    kept = [i for i in range(ndim) if i not in new]
    return basis.broadcast_in_dim(as_value(array), out, kept)


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of one value."""
    shape = canonical_shape(shape)
    aval = aval_of(fill_value)
    if aval.shape:
        raise TypeError(
            f"full repeats one value: fill_value is a scalar, but got shape {aval.shape}."
        )
    if dtype is None:
        dtype, weak = aval.dtype, aval.weak_type
    else:
        dtype, weak = dtypes.check_user_dtype(dtype, "full"), False
    if not hasattr(fill_value, "aval"):
        return broadcast_scalar(fill_value, shaped(shape, np.dtype(dtype), weak))
    return basis.broadcast_in_dim(basis.convert(fill_value, dtype, weak), shape, ())


def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    *,
    sharding: Any = None,
) -> Any:
    """An array of one value, with the shape and dtype of x unless others are given."""
    aval = aval_of(x) if not (hasattr(x, "shape") and not hasattr(x, "aval")) else None
    own_shape = tuple(x.shape) if aval is None else aval.shape
    own_dtype = x.dtype if aval is None else aval.dtype
    weak = dtype is None and aval is not None and aval.weak_type
    value = full(
        own_shape if shape is None else shape, fill_value, own_dtype if dtype is None else dtype
    )
    return basis.convert(value, value.dtype, weak)


def pad(operand: Any, padding_value: Any, padding_config: Iterable[tuple[int, int, int]]) -> Any:
    """The operand with (low, high, interior) elements put around and between; negative crops."""
    config = tuple(
        tuple(concrete_int(i, "padding_config") for i in triple) for triple in padding_config
    )
    if any(len(triple) != 3 for triple in config):
        raise TypeError(f"pad: padding_config entries must be (low, high, interior), got {config}")
    return basis.pad(operand, padding_value, config)  # type: ignore[arg-type]


def reshape(
    operand: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """The elements in row-major order in another shape.

    `dimensions` is an order of the axes to read them in.
    """
    operand = as_value(operand)
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    return basis.reshape(operand, canonical_shape(new_sizes, "new_sizes"))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The operand with a range of axes merged into one."""
    shape = aval_of(operand).shape
    low, high, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise ValueError(
            f"collapse: start_dimension {start_dimension} is past stop_dimension {stop_dimension}"
        )
    size = int(np.prod(shape[low:high], dtype=np.int64))
    return basis.reshape(as_value(operand), (*shape[:low], size, *shape[high:]))


def round(x: Any, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer; halves go away from zero, or to the even one."""
    return round_with(x, rounding_method)


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """The rectangular part from start to limit, every `strides`-th element of it."""

    def ints(values: Sequence[int], name: str) -> tuple[int, ...]:
        return tuple(concrete_int(v, name) for v in values)

    return basis.slice_array(
        operand,
        ints(start_indices, "start_indices"),
        ints(limit_indices, "limit_indices"),
        None if strides is None else ints(strides, "strides"),
    )


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """The array without the listed axes, each of length 1."""
    dims = canonical_axes(tuple(dimensions), len(aval_of(array).shape), "dimensions")
    return basis.squeeze(as_value(array), tuple(sorted(dims)))


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """The operand with its axes reordered: axis i of the result is axis `permutation[i]`."""
    perm = tuple(concrete_int(p, "permutation") for p in permutation)
    if perm == tuple(range(len(aval_of(operand).shape))):
        return as_value(operand)
    return transpose_p.bind(operand, permutation=perm)


def zeros_like_array(x: Any) -> Any:
    """Zeros of the shape and dtype of x."""
    return full_like(x, 0)


def stop_gradient(x: Any) -> Any:
    """The arrays of a pytree, with derivative zero."""
    return tree_map(_stopped, x)


def _stopped(leaf: Any) -> Any:
    if not dtypes.issubdtype(aval_of(leaf).dtype, np.inexact):
        return leaf
    return stop_gradient_p.bind(leaf)


def optimization_barrier(operand: Any) -> Any:
    """The arrays of a pytree unchanged; no compiler pass merges what comes before and after."""
    values, tree = flat_values(operand)
    return tree_unflatten(tree, barrier(values))
