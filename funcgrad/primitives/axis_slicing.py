"""Slices and parts along one axis, at fixed or computed places, the other axes being whole."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import aval_of
from funcgrad.base.basis import add, concatenate, reshape, scalar_like, slice_array, squeeze
from funcgrad.base.shapes import canonical_axis, concrete_int
from funcgrad.primitives.arithmetic import rem
from funcgrad.primitives.indexing import gather
from funcgrad.primitives.indexing_spec import GatherDimensionNumbers
from funcgrad.primitives.slicing import dynamic_slice, dynamic_update_slice


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """`operand[start:limit:stride]` along one axis; negative bounds count from the end."""
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    start, limit, strides = [0] * len(shape), list(shape), [1] * len(shape)
    if start_index is not None:
        start[axis] = _from_end(concrete_int(start_index, "start_index"), shape[axis])
    if limit_index is not None:
        limit[axis] = _from_end(concrete_int(limit_index, "limit_index"), shape[axis])
    strides[axis] = concrete_int(stride, "stride")
    return slice_array(operand, start, limit, strides)


def _from_end(index: int, size: int) -> int:
    return index + size if index < 0 else index


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The part of the operand at one index along an axis, which stays unless `keepdims` is off."""
    shape = aval_of(operand).shape
    axis, index = canonical_axis(axis, len(shape)), concrete_int(index, "index")
    at = _from_end(index, shape[axis])
    if not 0 <= at < shape[axis]:
        raise IndexError(f"axis {axis} has size {shape[axis]}: index {index} is out of bounds")
    part = slice_in_dim(operand, at, at + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis, the others whole."""
    sizes = list(aval_of(operand).shape)
    axis = canonical_axis(axis, len(sizes))
    starts, allowed = _along(start_index, len(sizes), axis, allow_negative_indices)
    sizes[axis] = concrete_int(slice_size, "slice_size")
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allowed)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The part of the operand at a computed index along one axis."""
    axis = canonical_axis(axis, len(aval_of(operand).shape))
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return part if keepdims else squeeze(part, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis, from the beginning of the others."""
    ndim = len(aval_of(operand).shape)
    axis = canonical_axis(axis, ndim)
    starts, allowed = _along(start_index, ndim, axis, allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allowed)


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """The operand with what is at a computed index along one axis replaced.

    The update may lack that axis.
    """
    shape, new = aval_of(operand).shape, aval_of(update).shape
    axis = canonical_axis(axis, len(shape))
    if len(new) + 1 == len(shape):
        update = reshape(update, (*new[:axis], 1, *new[axis:]))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def _along(start: Any, ndim: int, axis: int, negative: bool) -> tuple[list[Any], list[bool]]:
    starts: list[Any] = [np.zeros((), aval_of(start).dtype)] * ndim
    starts[axis] = start
    return starts, [negative and i == axis for i in range(ndim)]


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """The parts of `src` at the positions that one 1-D index array for each of the axes gives.

    Indices are taken modulo the length of their axis.
    """
    shape = aval_of(src).shape
    columns = []
    for index, axis in zip(idxs, axes, strict=True):
        size = scalar_like(shape[axis], index)
        wrapped = rem(add(rem(index, size), size), size)
        columns.append(reshape(wrapped, (*aval_of(wrapped).shape, 1)))
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) - len(columns) + 1)),
        collapsed_slice_dims=tuple(axes),
        start_index_map=tuple(axes),
    )
    sizes = [1 if a in axes else size for a, size in enumerate(shape)]
    return gather(src, concatenate(columns, 1), numbers, sizes)
