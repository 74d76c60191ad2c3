"""gather: windows of an array read at given positions. Its transpose is scatter_add."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import broadcast_scalar, reshape
from funcgrad.base.shapes import Shape, check_lengths, remove_axes
from funcgrad.base.trace import abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import ZERO, Expr, Graph, Index
from funcgrad.primitives.indexing import gather, gather_p, scatter_add
from funcgrad.primitives.indexing_spec import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    batch_axes,
    check_dimension_numbers,
    check_mode,
    element_strides,
    positions,
    walk,
    window_axes,
    window_start,
    windows_shape,
)
from funcgrad.transforms import backward, batching, forward


def take_along(x: Any, indices: Any, axis: int, unique: bool = False) -> Any:
    """The elements of x at the indices along one axis, all other axes walked along together."""
    shape = aval_of(indices).shape
    others = remove_axes(tuple(range(len(shape))), (axis,))
    return gather(
        x,
        reshape(indices, (*shape, 1)),
        GatherDimensionNumbers((), (axis,), (axis,), others, others),
        (1,) * len(shape),
        unique_indices=unique,
    )


# evaluate


def gather_evaluate(
    xp: Any,
    x: Any,
    indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Any:
    numbers, batch = dimension_numbers, indices.shape[:-1]
    shape = windows_shape(numbers, slice_sizes, batch)
    if 0 in shape:
        return xp.zeros(shape, x.dtype)
    limits = [x.shape[a] - slice_sizes[a] for a in numbers.start_index_map]
    starts, inside = positions(xp, indices, limits, clamp=True)
    if math.prod(batch) == 1:
        out = one_window(x, starts.reshape(-1), numbers, slice_sizes).reshape(shape)
    else:
        out = arranged(xp, *windows(xp, x, starts, numbers, slice_sizes), numbers, shape)
    if mode is not GatherScatterMode.FILL_OR_DROP or inside is None:
        return out
    spread = [1] * len(shape)
    for axis, size in zip(batch_axes(numbers, len(shape)), batch, strict=True):
        spread[axis] = size
    return xp.where(inside.reshape(spread), out, filling(xp, fill_value, x.dtype))


def filling(xp: Any, value: Any, dtype: np.dtype) -> Any:
    """The fill value as a 0-d array; for keys, in each of their words."""
    return xp.asarray((value,) * len(dtype.names) if dtype.names else value, dtype)


def one_window(x: Any, start: Any, numbers: GatherDimensionNumbers, sizes: Shape) -> Any:
    first = dict(zip(numbers.start_index_map, start.tolist(), strict=True))
    parts = [slice(first.get(a, 0), first.get(a, 0) + size) for a, size in enumerate(sizes)]
    return x[(*parts, ...)]


def windows(
    xp: Any, x: Any, starts: Any, numbers: GatherDimensionNumbers, sizes: Shape
) -> tuple[Any, list[int]]:
    """The windows, and what each axis is: a window's operand axis a as a, batch axis b as ~b."""
    batch = starts.shape[:-1]
    at: dict[int, Any] = {
        axis: starts[..., k]
        for k, axis in enumerate(numbers.start_index_map)
        if sizes[axis] < x.shape[axis]  # a whole window can start nowhere but at 0
    }
    for axis, index_axis in zip(
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
    ):
        at[axis] = walk(xp, batch, index_axis)
    x = x[tuple(slice(None) if a in at else slice(0, size) for a, size in enumerate(sizes))]
    axes, order = sorted(at), list(range(x.ndim))
    batch_names = [~i for i in range(len(batch))]
    if not axes:
        return xp.broadcast_to(x, (*batch, *x.shape)), [*batch_names, *order]
    first, last = axes[0], axes[-1]
    flattens = x.flags.c_contiguous or x.size <= starts.size
    if flattens and last - first + 1 == len(axes) and all(sizes[a] == 1 for a in axes):
        # Neighbouring axes, one element each: a single index into them flattened.
        run = x.shape[first : last + 1]
        flat: Any = 0
        for axis, stride in zip(axes, element_strides(run), strict=True):
            flat = flat + (at[axis] if stride == 1 else at[axis] * stride)
        rows = x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])
        index = xp.broadcast_to(flat, batch)
        return rows.take(index, axis=first), [*order[:first], *batch_names, *order[last + 1 :]]
    # Windows as further axes of a strided view, so that one index for each axis remains.
    sliding = [a for a in axes if sizes[a] > 1]
    view = x
    if sliding:
        lengths = [sizes[a] for a in sliding]
        view = xp.lib.stride_tricks.sliding_window_view(x, lengths, axis=sliding)
    rest = [a for a in order if a not in at]
    view = view.transpose(*axes, *rest, *range(x.ndim, view.ndim))
    taken = view[tuple(xp.broadcast_to(at[a], batch) for a in axes)]
    return taken, [*batch_names, *rest, *sliding]


def arranged(
    xp: Any, taken: Any, names: list[int], numbers: GatherDimensionNumbers, shape: Shape
) -> Any:
    """The axes of `windows` in the order of the result; axes of length 1 come and go."""
    inner = iter(window_axes(numbers, numbers_ndim(numbers)))
    outer = iter(range(len(shape)))
    wanted = [next(inner) if i in numbers.offset_dims else ~next(outer) for i in range(len(shape))]
    kept = [names.index(name) for name in wanted if name in names]
    dropped = [i for i in range(len(names)) if i not in kept]
    return taken.transpose(*kept, *dropped).reshape(shape)


def numbers_ndim(numbers: GatherDimensionNumbers) -> int:
    """The rank of the operand."""
    windows, collapsed, _, batched, _ = numbers
    return len(windows) + len(collapsed) + len(batched)


# abstract


def gather_abstract(
    x: ShapedArray,
    indices: ShapedArray,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    check_mode("gather", mode)
    check_dimension_numbers("gather", numbers, x, indices)
    check_lengths("gather", x.ndim, slice_sizes=slice_sizes)
    some = 0 not in indices.shape[:-1]
    if some and any(s > n for s, n in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            f"gather: slice_sizes may not exceed the operand's shape, got {slice_sizes} for "
            f"{x.str_short()}"
        )
    for name, most in (("collapsed_slice_dims", (1,)), ("operand_batching_dims", (0, 1))):
        axes = getattr(numbers, name)
        if any(slice_sizes[a] not in most for a in axes):
            raise TypeError(f"gather: slice_sizes must be 1 along {name} {axes}, got {slice_sizes}")
    return x.update(shape=windows_shape(numbers, slice_sizes, indices.shape[:-1]))


# derivatives


def gather_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    x, indices = primals
    out = gather_p.bind(x, indices, **params)
    if tangents[0] is None:
        return (out,), (None,)
    fill = 0 if params["mode"] is GatherScatterMode.FILL_OR_DROP else None
    return (out,), (gather_p.bind(tangents[0], indices, **{**params, "fill_value": fill}),)


def gather_backward(
    cts: Sequence,
    x: Any,
    indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    **_: Any,
) -> list[Any]:
    (ct,) = cts
    zeros = broadcast_scalar(0, aval_of(ct).update(shape=x.shape))
    return [
        scatter_add(
            zeros,
            indices,
            ct,
            ScatterDimensionNumbers(*dimension_numbers),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        ),
        None,
    ]


# batching


def gather_batch(
    axis: Any,
    values: Sequence,
    axes: Sequence,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    **params: Any,
) -> Any:
    x, indices = batching.fronted(values, axes)
    of_x, of_indices = axes[0] is not None, axes[1] is not None
    offset, collapsed, indexed, batched, index_batched = dimension_numbers
    offset = shifted(offset)
    if of_x:
        collapsed, indexed, batched = shifted(collapsed), shifted(indexed), shifted(batched)
    if of_indices:
        index_batched = shifted(index_batched)
    if of_x and of_indices:
        batched, index_batched = (0, *batched), (0, *index_batched)
        slice_sizes = (min(axis.size, 1), *slice_sizes)
    elif of_x:
        offset, slice_sizes = (0, *offset), (axis.size, *slice_sizes)
    else:
        # Members index one operand: together their windows may overlap and be in any order.
        unique_indices = indices_are_sorted = False
    out = gather_p.bind(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset, collapsed, indexed, batched, index_batched
        ),
        slice_sizes=slice_sizes,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        **params,
    )
    return (out,), (0,)


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


evaluate_rules[gather_p] = single(gather_evaluate)
abstract_rules[gather_p] = pure(gather_abstract)
forward.rules[gather_p] = gather_forward
backward.rules[gather_p] = gather_backward
batching.rules[gather_p] = gather_batch


# lower


def gather_lower(
    graph: Graph,
    index: lowering.Position,
    x: lowering.Element,
    indices: lowering.Element,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Expr:
    numbers, ndim = dimension_numbers, len(x.shape)
    batch = tuple(index[d] for d in batch_axes(numbers, len(index)))
    limits = [x.shape[a] - slice_sizes[a] for a in numbers.start_index_map]
    fills = mode is GatherScatterMode.FILL_OR_DROP
    starts, inside = window_start(graph, indices, batch, limits, clamp=not fills)
    place: list[Index] = [ZERO] * ndim
    for axis, offset in zip(window_axes(numbers, ndim), numbers.offset_dims, strict=True):
        place[axis] = index[offset]
    for axis, index_axis in zip(
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
    ):
        place[axis] = batch[index_axis]
    for axis, start in zip(numbers.start_index_map, starts, strict=True):
        if slice_sizes[axis] < x.shape[axis]:
            place[axis] = place[axis].plus(start)
    if not fills:
        return x(tuple(place))
    fill = lowering.constant(graph, fill_value, x.dtype)
    return lowering.guarded(graph, inside, lambda: x(tuple(place)), fill)


def fills_keys(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    """Whether the fill value is one for each word of a key, and not for a number of their bits."""
    fills = params["mode"] is GatherScatterMode.FILL_OR_DROP
    return fills and isinstance(avals[0].dtype, dtypes.KeyType)


lowering.view(gather_p, gather_lower)
lowering.refusals[gather_p] = fills_keys
lowering.fillers[gather_p] = lambda params: params["mode"] is GatherScatterMode.FILL_OR_DROP
