"""x[...]: reading by integers, slices, masks, index arrays, new axes and any mixture of them.

What is known while tracing becomes slices; traced integers become a dynamic slice; only index arrays
need a gather. Indices out of bounds are moved to the nearest that is inside.
"""

from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import broadcast_in_dim, broadcast_scalar, slice_array, squeeze
from funcgrad.base.config import config
from funcgrad.base.shapes import Shape
from funcgrad.numpy._gathering import Plan, plan
from funcgrad.numpy._index import ARRAY, DOTS, INTEGER, NEW_AXIS, SLICE, Entry, entries, is_known
from funcgrad.primitives.indexing import GatherScatterMode, gather
from funcgrad.primitives.slicing import dynamic_slice
from funcgrad.primitives.structural import rev

_CLAMPING = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


def getitem(x: Any, index: Any) -> Any:
    """x[index]."""
    shape = x.aval.shape
    if type(index) is int and shape:
        at = place_of(index, shape[0], 0)
        rest = shape[1:]
        part = slice_array(x, (at, *(0,) * len(rest)), (at + 1, *rest))
        return squeeze(part, (0,))
    parts = [_settled(p) for p in entries(index, shape)]
    if is_static(parts):
        return read_static(x, parts)
    if _is_dynamic_slice(parts):
        return _read_dynamic(x, parts)
    return read(x, plan(parts, shape), GatherScatterMode.PROMISE_IN_BOUNDS)


def get(
    x: Any,
    index: Any,
    mode: Any = None,
    fill_value: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    wrap_negative_indices: bool = True,
) -> Any:
    """x[index] with a say in what happens to indices out of bounds, for `x.at[index].get`."""
    mode = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if mode in _CLAMPING and wrap_negative_indices:
        parts = [_settled(p) for p in entries(index, x.aval.shape)]
        if is_static(parts):
            return read_static(x, parts)
        if _is_dynamic_slice(parts):
            return _read_dynamic(x, parts)
    parts = entries(index, x.aval.shape)
    found = plan(parts, x.aval.shape, wrap_negative_indices)
    if fill_value is not None and np.ndim(fill_value):
        raise ValueError(
            f"the fill_value of an indexed get() must be a scalar, got shape {np.shape(fill_value)}"
        )
    return read(x, found, mode, fill_value, unique_indices, indices_are_sorted)


def place_of(index: int, size: int, axis: int) -> int:
    """A known index counted from the front, moved inside if it is not."""
    at = index + size if index < 0 else index
    if 0 <= at < size:
        return at
    if size == 0 or config.check_static_indices:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return 0 if at < 0 else size - 1


def _settled(part: Entry) -> Entry:
    """An index array of rank 0 whose number is known as that number."""
    if part.kind == ARRAY and is_known(part.value) and not part.value.shape:
        return Entry(INTEGER, int(part.value))
    return part


# slices


def is_static(parts: list[Entry]) -> bool:
    return all(p.kind in (INTEGER, SLICE, NEW_AXIS, DOTS) for p in parts)


def read_static(x: Any, parts: list[Entry]) -> Any:
    """Integers and slices that are known."""
    shape = x.aval.shape
    start, limit, strides, reverse = [], [], [], []
    for part in parts:
        axis = len(start)
        if part.kind == INTEGER:
            at = place_of(part.value, shape[axis], axis)
            begin, end, step = at, at + 1, 1
        elif part.kind == SLICE:
            begin, length, step = part.value
            if step < 0 and length:
                begin += step * (length - 1)
                reverse.append(axis)
            step = abs(step)
            begin, end = (begin, begin + step * (length - 1) + 1) if length else (0, 0)
        else:
            continue
        start.append(begin)
        limit.append(end)
        strides.append(step if end - begin > 1 else 1)
    if any(start) or tuple(limit) != shape or any(s != 1 for s in strides):
        x = slice_array(x, start, limit, strides if any(s != 1 for s in strides) else None)
    return _reshaped(rev(x, reverse), parts)


def _reshaped(x: Any, parts: list[Entry]) -> Any:
    """x without the axes that integers have made 1 long, and with new ones."""
    here = [p.kind for p in parts if p.kind not in (NEW_AXIS, DOTS)]
    x = squeeze(x, [axis for axis, kind in enumerate(here) if kind != SLICE])
    shown = [p.kind for p in parts if p.kind in (SLICE, NEW_AXIS)]
    if NEW_AXIS not in shown:
        return x
    lengths = iter(x.aval.shape)
    kept = [i for i, kind in enumerate(shown) if kind == SLICE]
    return broadcast_in_dim(x, [1 if k == NEW_AXIS else next(lengths) for k in shown], kept)


def _is_dynamic_slice(parts: list[Entry]) -> bool:
    """Whether there are traced integers, but no index arrays and no steps."""
    return all(
        (p.kind == ARRAY and not p.value.shape)
        or (p.kind == SLICE and p.value[2] in (1, -1))
        or p.kind in (INTEGER, NEW_AXIS, DOTS)
        for p in parts
    )


def _read_dynamic(x: Any, parts: list[Entry]) -> Any:
    starts, sizes, reverse = [], [], []
    index_dtype = dtypes.default_int()
    for part in parts:
        axis = len(starts)
        if part.kind == SLICE:
            begin, length, step = part.value
            if step < 0 and length:
                begin -= length - 1
                reverse.append(axis)
            starts.append(np.array(begin if length else 0, index_dtype))
            sizes.append(length)
        elif part.kind in (INTEGER, ARRAY):
            _check_axis(x.aval.shape[axis], axis)
            known = part.kind == INTEGER
            at = place_of(part.value, x.aval.shape[axis], axis) if known else part.value
            starts.append(np.array(at, index_dtype) if known else basis.convert(at, index_dtype))
            sizes.append(1)
    return _reshaped(rev(dynamic_slice(x, starts, sizes), reverse), parts)


def _check_axis(size: int, axis: int) -> None:
    if size == 0:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")


# index arrays


def read(
    x: Any,
    found: Plan,
    mode: GatherScatterMode,
    fill_value: Any = None,
    unique: bool = False,
    is_sorted: bool = False,
) -> Any:
    """The windows of x that a plan names."""
    if 0 in found.shape:
        return broadcast_scalar(0, x.aval.update(shape=found.shape))
    for axis in found.numbers.collapsed_slice_dims:
        _check_axis(found.operand_shape[axis], axis)
    x = basis.reshape(x, found.operand_shape)
    out = gather(
        x,
        found.indices,
        found.numbers,
        found.sizes,
        unique_indices=unique or found.unique,
        indices_are_sorted=is_sorted or found.unique,
        mode=mode,
        fill_value=fill_value,
    )
    return basis.reshape(out, found.shape)


def result_shape(index: Any, shape: Shape) -> Shape:
    """The shape of x[index] for an x of that shape."""
    return plan(entries(index, shape), shape).shape
