"""Index arrays as a plan: which windows lie where in the operand, and where in the result.

Reading by a plan is a gather, writing by it a scatter.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import broadcast_in_dim, concatenate, convert, reshape
from funcgrad.base.shapes import Shape, broadcast_shapes, insert_dim
from funcgrad.numpy._index import (
    ARRAY,
    DOTS,
    INTEGER,
    NEW_AXIS,
    TRUTH,
    Entry,
    is_known,
    truth_entry,
)
from funcgrad.numpy._promotion import choose, like
from funcgrad.primitives.compare import lt
from funcgrad.primitives.indexing_spec import GatherDimensionNumbers


class Plan(NamedTuple):
    """The windows that an index stands for.

    Attributes:
        operand_shape: the operand's shape, with the axes that scalar bools add to it.
        indices: integers [*batch, components].
        numbers: how axes belong together.
        sizes: the length of a window along each axis of the operand.
        shape: that of the result.
        window_shape: the same without its new axes: what a gather gives and a scatter takes.
        unique: whether no element can be met twice.
    """

    operand_shape: Shape
    indices: Any
    numbers: GatherDimensionNumbers
    sizes: Shape
    shape: Shape
    window_shape: Shape
    unique: bool


class Segment(NamedTuple):
    """Neighbouring axes of the result: new ones, those inside a window, or batch axes."""

    kind: str
    lengths: Shape


class Component(NamedTuple):
    """Index numbers for one axis of the operand, and the first batch axis that they run along.

    `values` is an array that is known beforehand, or the position of the entry that has them.
    """

    values: Any
    batch_axis: int
    axis: int


class Layout(NamedTuple):
    """What a plan has in common with all plans of indices of the same shapes."""

    components: tuple[Component, ...]
    batch: Shape
    numbers: GatherDimensionNumbers
    sizes: Shape
    shape: Shape
    window_shape: Shape
    unique: bool


_NEW, _WINDOW, _BATCH = "new", "window", "batch"


def plan(parts: list[Entry], shape: Shape, wrap_negative: bool = True) -> Plan:
    """The plan of an index, given by its entries, into an array of that shape.

    Integer arrays are broadcast to a common shape, whose axes stand where they stood if they were
    neighbours, else in front. A slice with a step other than 1 is one more batch axis.
    """
    if any(p.kind == TRUTH for p in parts):
        parts, shape = _bools_as_arrays(parts, shape)
    dtype = _INT64 if max(shape, default=0) >= 2**31 else _INT32
    found = _layout(tuple(map(_shape_of, parts)), shape, dtype)
    components = [
        Component(
            _counted_from_front(parts[c.values].value, shape[c.axis], dtype, wrap_negative)
            if type(c.values) is int
            else c.values,
            c.batch_axis,
            c.axis,
        )
        for c in found.components
    ]
    indices = _index_vectors(components, found.batch, dtype)
    return Plan(
        shape, indices, found.numbers, found.sizes, found.shape, found.window_shape, found.unique
    )


_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _shape_of(part: Entry) -> Entry:
    """An entry with the shape of its array in place of the array."""
    if part.kind == ARRAY:
        return Entry(ARRAY, part.value.shape)
    return Entry(INTEGER, ()) if part.kind == INTEGER else part


@functools.lru_cache(4096)
def _layout(parts: tuple[Entry, ...], shape: Shape, dtype: np.dtype) -> Layout:
    axes = _axes(parts)
    arrays = {i: p.value for i, p in enumerate(parts) if p.kind in (INTEGER, ARRAY)}
    common = broadcast_shapes(*arrays.values(), names="index arrays of shapes")
    place = _place_of_arrays(list(arrays))
    segments: list[Segment] = []
    components: list[Component] = []
    sizes, collapsed, batch = list(shape), [], 0
    for i, part in enumerate(parts):
        if i == place:
            segments.append(Segment(_BATCH, common))
            for j, own in arrays.items():
                components.append(Component(j, batch + len(common) - len(own), axes[j]))
            batch += len(common)
        if i in arrays:
            sizes[axes[i]] = 1
            collapsed.append(axes[i])
        elif part.kind == NEW_AXIS:
            segments.append(Segment(_NEW, (1,)))
        elif part.kind != DOTS:
            start, length, step = part.value
            if step == 1:
                segments.append(Segment(_WINDOW, (length,)))
                sizes[axes[i]] = length
                if length != shape[axes[i]]:
                    components.append(Component(np.array(start, dtype), 0, axes[i]))
            else:
                segments.append(Segment(_BATCH, (length,)))
                line = np.arange(start, start + step * length, step, dtype=dtype)
                components.append(Component(line, batch, axes[i]))
                sizes[axes[i]] = 1
                collapsed.append(axes[i])
                batch += 1
    kinds = [s.kind for s in segments if s.kind != _NEW for _ in s.lengths]
    components.sort(key=lambda c: c.axis)
    return Layout(
        components=tuple(components),
        batch=tuple(n for s in segments if s.kind == _BATCH for n in s.lengths),
        numbers=GatherDimensionNumbers(
            tuple(i for i, kind in enumerate(kinds) if kind == _WINDOW),
            tuple(sorted(collapsed)),
            tuple(c.axis for c in components),
        ),
        sizes=tuple(sizes),
        shape=tuple(n for s in segments for n in s.lengths),
        window_shape=tuple(n for s in segments if s.kind != _NEW for n in s.lengths),
        unique=not any(arrays.values()),
    )


def _bools_as_arrays(parts: list[Entry], shape: Shape) -> tuple[list[Entry], Shape]:
    """Scalar bools as index arrays into axes of length 1 that are added for them."""
    result, axis = [], 0
    for part in parts:
        if part.kind == TRUTH:
            shape = insert_dim(shape, axis, 1)
            part = Entry(ARRAY, np.arange(int(truth_entry(part.value)), dtype=np.int32))
        axis += part.kind not in (NEW_AXIS, DOTS)
        result.append(part)
    return result, shape


def _axes(parts: Sequence[Entry]) -> list[int]:
    """For each entry the operand's axis that it is about, or that comes next."""
    result, axis = [], 0
    for part in parts:
        result.append(axis)
        axis += part.kind not in (NEW_AXIS, DOTS)
    return result


def _place_of_arrays(positions: list[int]) -> int | None:
    """The entry in front of which the common axes of index arrays stand."""
    if not positions:
        return None
    neighbours = positions[-1] - positions[0] == len(positions) - 1
    return positions[0] if neighbours else 0


def _counted_from_front(index: Any, size: int, dtype: np.dtype, wrap_negative: bool) -> Any:
    """An index with negative numbers moved up by the length of the axis."""
    if isinstance(index, int):
        return np.array(index + size if index < 0 and wrap_negative else index, dtype)
    signed = dtypes.issubdtype(index.dtype, np.signedinteger)
    if is_known(index):
        wide = np.asarray(index).astype(np.int64 if signed else index.dtype)
        return (np.where(wide < 0, wide + size, wide) if signed and wrap_negative else wide).astype(
            dtype
        )
    index = convert(index, dtype)
    if not signed or not wrap_negative:
        return index
    return choose(lt(index, like(0, index)), index + like(size, index), index)


def _index_vectors(components: list[Component], batch: Shape, dtype: np.dtype) -> Any:
    if not components:
        return np.zeros((*batch, 0), dtype)
    known = all(is_known(c.values) for c in components)
    columns = [_column(c, batch, known) for c in components]
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns, -1) if known else concatenate(columns, len(batch))


def _column(component: Component, batch: Shape, known: bool) -> Any:
    """The numbers of one component, spread over all batch axes, with one more axis at the end."""
    have = aval_of(component.values).shape
    first = component.batch_axis
    if known:
        trailing = (1,) * (len(batch) - first - len(have))
        values = np.asarray(component.values).reshape((*have, *trailing, 1))
        return np.broadcast_to(values, (*batch, 1))
    if have == batch:
        return reshape(component.values, (*batch, 1))
    return broadcast_in_dim(component.values, (*batch, 1), range(first, first + len(have)))
