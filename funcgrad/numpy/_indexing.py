"""x[...]: reading by integers, slices, masks, index arrays, new axes and any mixture of them.

What is known while tracing becomes slices; traced integers become a dynamic slice; only index
arrays need a gather. Indices out of bounds are moved to the nearest that is inside.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import broadcast_in_dim, broadcast_scalar, slice_array, squeeze
from funcgrad.base.config import config
from funcgrad.base.memo import Cache
from funcgrad.base.shapes import Shape
from funcgrad.numpy._gathering import Plan, plan
from funcgrad.numpy._index import (
    ARRAY,
    DOTS,
    INTEGER,
    NEW_AXIS,
    SLICE,
    TRUTH,
    Entry,
    entries,
    is_known,
)
from funcgrad.primitives.indexing import gather
from funcgrad.primitives.indexing_spec import GatherScatterMode
from funcgrad.primitives.slicing import dynamic_slice
from funcgrad.primitives.structural import rev

_CLAMPING = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


def getitem(x: Any, index: Any) -> Any:
    """x[index]."""
    shape = x.aval.shape
    key = _static_key(index)
    if key is not None:
        reading = _readings.get((key, shape))
        if reading is None:
            parts = entries(index, shape)
            if not _all_inside(parts, shape):
                return _read_unless_static(x, parts)
            reading = _readings[key, shape] = _static_reading(parts, shape)
        return _read_static(x, reading)
    parts = [_settled(p) for p in entries(index, shape)]
    if is_static(parts) and _all_inside(parts, shape):
        return _read_static(x, _static_reading(parts, shape))
    return _read_unless_static(x, parts)


def _read_unless_static(x: Any, parts: list[Entry]) -> Any:
    """x at an index that is not known, or is out of bounds, which checks have to see."""
    if _is_dynamic_slice(parts):
        return _read_dynamic(x, parts)
    return read(x, plan(parts, x.aval.shape), GatherScatterMode.PROMISE_IN_BOUNDS)


def _static_key(index: Any) -> tuple | None:
    """A hashable form of an index made of Python integers, slices of them, None and Ellipsis."""
    result = []
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is slice:
            item = (item.start, item.stop, item.step)
            if not all(type(bound) is int or bound is None for bound in item):
                return None
        elif kind is not int and item is not None and item is not Ellipsis:
            return None
        result.append(item)
    return tuple(result)


def _all_inside(parts: list[Entry], shape: Shape) -> bool:
    """Whether all known integers are inside of their axes; an IndexError where they must be."""
    axes = [p for p in parts if p.kind not in (NEW_AXIS, TRUTH, DOTS)]
    known = [(p.value, n, a) for a, (p, n) in enumerate(zip(axes, shape)) if p.kind == INTEGER]
    return all(place_of(i, n, axis) == (i if i >= 0 else i + n) for i, n, axis in known)


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
        clips = mode is GatherScatterMode.CLIP
        if is_static(parts) and (clips or _all_inside(parts, x.aval.shape)):
            return _read_static(x, _static_reading(parts, x.aval.shape))
        if _is_dynamic_slice(parts):
            return _read_dynamic(x, parts)
    parts = entries(index, x.aval.shape)
    found = plan(parts, x.aval.shape, wrap_negative_indices)
    if fill_value is not None and np.ndim(fill_value):
        raise ValueError(
            f"x.at[idx].get fills with one scalar; this fill_value has shape {np.shape(fill_value)}"
        )
    return read(x, found, mode, fill_value, unique_indices, indices_are_sorted)


def place_of(index: int, size: int, axis: int) -> int:
    """A known index counted from the front, moved inside if it is not."""
    at = index + size if index < 0 else index
    if 0 <= at < size:
        return at
    if size == 0 or config.check_static_indices:
        raise IndexError(f"out of bounds: axis {axis} with size {size} has no index {index}")
    return 0 if at < 0 else size - 1


def _settled(part: Entry) -> Entry:
    """An index array of rank 0 whose number is known as that number."""
    if part.kind == ARRAY and is_known(part.value) and not part.value.shape:
        return Entry(INTEGER, int(part.value))
    return part


# slices


def is_static(parts: list[Entry]) -> bool:
    return all(p.kind in (INTEGER, SLICE, NEW_AXIS, DOTS) for p in parts)


class Reading(NamedTuple):
    """A static index as operations, each None where there is nothing to do."""

    part: tuple[Any, Any, Any] | None
    reverse: tuple[int, ...]
    drop: tuple[int, ...]
    spread: tuple[Shape, tuple[int, ...]] | None


_readings: Cache = Cache(4096)


def _static_reading(parts: list[Entry], shape: Shape) -> Reading:
    """What reading by known integers and slices comes to."""
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
    whole = not any(start) and tuple(limit) == shape and all(s == 1 for s in strides)
    steps = tuple(strides) if any(s != 1 for s in strides) else None
    drop, spread = _new_shape(
        parts, tuple(e - b for b, e in zip(start, limit, strict=True)), strides
    )
    return Reading(
        None if whole else (tuple(start), tuple(limit), steps), tuple(reverse), drop, spread
    )


def _new_shape(
    parts: list[Entry], covered: Shape, strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[Shape, tuple[int, ...]] | None]:
    """Which axes are dropped; and the shape with new ones, if any, and where the others go."""
    kinds = [p.kind for p in parts if p.kind not in (NEW_AXIS, DOTS)]
    drop = tuple(axis for axis, kind in enumerate(kinds) if kind != SLICE)
    shown = [p.kind for p in parts if p.kind in (SLICE, NEW_AXIS)]
    if NEW_AXIS not in shown:
        return drop, None
    lengths = iter(
        -(-n // step)
        for n, step, kind in zip(covered, strides, kinds, strict=True)
        if kind == SLICE
    )
    shape = tuple(1 if kind == NEW_AXIS else next(lengths) for kind in shown)
    return drop, (shape, tuple(i for i, kind in enumerate(shown) if kind == SLICE))


def _read_static(x: Any, reading: Reading) -> Any:
    if reading.part is not None:
        x = slice_array(x, *reading.part)
    if reading.reverse:
        x = rev(x, reading.reverse)
    return _arranged(x, reading.drop, reading.spread)


def _arranged(x: Any, drop: tuple[int, ...], spread: Any) -> Any:
    if drop:
        x = squeeze(x, drop)
    return x if spread is None else broadcast_in_dim(x, *spread)


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
    limits = np.iinfo(index_dtype)
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
            if part.kind == INTEGER:
                place_of(part.value, x.aval.shape[axis], axis)  # raises where it must be inside
                starts.append(np.array(np.clip(part.value, limits.min, limits.max), index_dtype))
            else:
                starts.append(basis.convert(part.value, index_dtype))
            sizes.append(1)
    out = rev(dynamic_slice(x, starts, sizes), reverse)
    return _arranged(out, *_new_shape(parts, tuple(sizes), [1] * len(sizes)))


def _check_axis(size: int, axis: int) -> None:
    if size == 0:
        raise IndexError(f"out of bounds: axis {axis} with size 0 has nothing to index")


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
