"""Arrays as pieces of others: slices of them, padding put around and between, concatenation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    broadcast_in_dim,
    broadcast_to_shape,
    concatenate_p,
    moveaxis,
    neg,
    pad,
    pad_p,
    reduce_sum,
    scalar_like,
    select_n,
    slice_array,
    slice_axis,
    slice_p,
)
from funcgrad.base.shapes import canonical_axis, check_lengths, dilate, remove_axes
from funcgrad.base.trace import abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph, Guarded
from funcgrad.compiler.lowering import Element, Position
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear, is_linear

# Arrays whose concatenation a kernel reads from, each element asking which of them it is in.
MOST_PIECES = 64


# slice


def slice_abstract(
    x: ShapedArray, start_indices: Any, limit_indices: Any, strides: Any
) -> ShapedArray:
    steps = strides or (1,) * x.ndim
    check_lengths(
        "slice", x.ndim, start_indices=start_indices, limit_indices=limit_indices, strides=steps
    )
    for start, limit, step, size in zip(start_indices, limit_indices, steps, x.shape, strict=True):
        if not 0 <= start <= limit <= size or step < 1:
            raise TypeError(
                f"slice: needs 0 <= start <= limit <= size and strides >= 1 on each axis, got "
                f"start_indices {start_indices}, limit_indices {limit_indices}, strides {strides} "
                f"for shape {x.shape}"
            )
    sizes = zip(start_indices, limit_indices, steps, strict=True)
    return x.update(shape=tuple(-(-(limit - start) // step) for start, limit, step in sizes))


def slice_evaluate(xp: Any, x: Any, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    if strides is None:
        return x[tuple(map(slice, start_indices, limit_indices))]
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def slice_backward(ct: Any, x: Linear, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or (1,) * len(x.shape)
    covered = [dilate(n, s) for n, s in zip(aval_of(ct).shape, steps, strict=True)]
    config = [
        (start, size - start - c, step - 1)
        for start, size, c, step in zip(start_indices, x.shape, covered, steps, strict=True)
    ]
    return pad(ct, scalar_like(0, ct), config)


def slice_batch(
    axis: Any,
    values: Sequence,
    axes: Sequence,
    start_indices: Any,
    limit_indices: Any,
    strides: Any,
) -> Any:
    value, at = values[0], axes[0]

    def put(items: Sequence[int], item: int) -> list[int]:
        return [*items[:at], item, *items[at:]]

    steps = None if strides is None else put(strides, 1)
    out = slice_array(value, put(start_indices, 0), put(limit_indices, axis.size), steps)
    return (out,), (at,)


evaluate_rules[slice_p] = single(slice_evaluate)
abstract_rules[slice_p] = pure(slice_abstract)
forward.linear(slice_p)
backward.unary(slice_p, slice_backward)
batching.rules[slice_p] = slice_batch


def slice_lower(
    graph: Graph,
    index: Position,
    x: Element,
    start_indices: Any,
    limit_indices: Any,
    strides: Any,
) -> Expr:
    steps = strides or (1,) * len(index)
    places = zip(index, start_indices, steps, strict=True)
    return x(tuple(i.times(step).plus(start) for i, start, step in places))


lowering.view(slice_p, slice_lower)


# pad


def pad_abstract(x: ShapedArray, value: ShapedArray, padding_config: Any) -> ShapedArray:
    if value.shape != () or value.dtype != x.dtype:
        raise TypeError(
            f"pad: the padding value must be a scalar of the operand's dtype {x.dtype}, got "
            f"{value.str_short()}"
        )
    check_lengths("pad", x.ndim, padding_config=padding_config)
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(f"pad: interior padding may not be negative, got {padding_config}")
    shape = tuple(
        lo + dilate(n, interior + 1) + hi
        for n, (lo, hi, interior) in zip(x.shape, padding_config, strict=True)
    )
    if min(shape, default=0) < 0:
        raise ValueError(
            f"pad: the result would have a negative size: shape {x.shape}, padding_config "
            f"{padding_config}"
        )
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def pad_evaluate(xp: Any, x: Any, value: Any, padding_config: Any) -> Any:
    holes = [dilate(n, i + 1) for n, (_, _, i) in zip(x.shape, padding_config, strict=True)]
    shape = [lo + n + hi for n, (lo, hi, _) in zip(holes, padding_config, strict=True)]
    out = xp.empty(shape, x.dtype)
    out[...] = value
    target, taken = [], []
    for n, size, (lo, _, interior) in zip(x.shape, shape, padding_config, strict=True):
        step = interior + 1
        first = -(lo // step) if lo < 0 else 0
        last = min(n, -(-(size - lo) // step))
        taken.append(slice(first, max(first, last)))
        target.append(slice(lo + first * step, max(0, lo + last * step), step))
    if all(t.stop > t.start for t in taken):
        out[tuple(target)] = x[tuple(taken)]
    return out


def pad_forward(primals: Sequence, tangents: Sequence, padding_config: Any) -> tuple:
    (x, value), (dx, dvalue) = primals, map(forward.instantiate_zeros, primals, tangents)
    return (pad(x, value, padding_config),), (pad(dx, dvalue, padding_config),)


def pad_backward(cts: Sequence, x: Any, value: Any, padding_config: Any) -> list[Any]:
    (ct,) = cts

    inner = pad(ct, scalar_like(0, ct), [(-lo, -hi, 0) for lo, hi, _ in padding_config])
    steps = [interior + 1 for _, _, interior in padding_config]
    ct_x = slice_array(inner, [0] * len(steps), aval_of(inner).shape, steps)
    ct_value = None
    if is_linear(value):
        everywhere = range(len(steps))
        ct_value = add(reduce_sum(ct, everywhere), neg(reduce_sum(ct_x, everywhere)))
    return [ct_x if is_linear(x) else None, ct_value]


def pad_batch(axis: Any, values: Sequence, axes: Sequence, padding_config: Any) -> Any:
    x, value = values
    if axes[1] is None:
        config = [*padding_config[: axes[0]], (0, 0, 0), *padding_config[axes[0] :]]
        return (pad(x, value, config),), (axes[0],)
    # Each member has its own padding value: pad with zeros and choose by a padded mask.
    x = batching.to_front(axis, x, axes[0])
    config = [(0, 0, 0), *padding_config]
    inside = pad(broadcast_to_shape(np.bool_(True), aval_of(x).shape), np.bool_(False), config)
    padded = pad(x, scalar_like(0, x), config)
    outside = broadcast_in_dim(moveaxis(value, axes[1], 0), aval_of(padded).shape, (0,))
    return (select_n(inside, outside, padded),), (0,)


evaluate_rules[pad_p] = single(pad_evaluate)
abstract_rules[pad_p] = pure(pad_abstract)
forward.rules[pad_p] = pad_forward
backward.rules[pad_p] = pad_backward
batching.rules[pad_p] = pad_batch


def pad_lower(
    graph: Graph, index: Position, x: Element, value: Element, padding_config: Any
) -> Expr:
    position, inside = [], graph.const(0 not in x.shape, "bool")
    for i, n, (low, _, interior) in zip(index, x.shape, padding_config, strict=True):
        place, here = lowering.undilated(graph, i, low, n, interior + 1)
        position.append(place)
        inside = graph.both(inside, here)
    return lowering.guarded(graph, inside, lambda: x(tuple(position)), value(()))


lowering.view(pad_p, pad_lower)


# concatenate


def concatenate_abstract(*arrays: ShapedArray, dimension: int) -> ShapedArray:
    if not arrays:
        raise TypeError("concatenate: needs at least one array")
    first = arrays[0]
    canonical_axis(dimension, first.ndim, "dimension")
    rest = {remove_axes(a.shape, (dimension,)) for a in arrays}
    if len({a.ndim for a in arrays}) > 1 or len(rest) > 1:
        raise TypeError(
            f"concatenate: arrays must agree in all axes but {dimension}, got shapes "
            f"{', '.join(str(a.shape) for a in arrays)}"
        )
    if len({a.dtype for a in arrays}) > 1:
        raise TypeError(
            f"concatenate: arrays must have one dtype, got {[str(a.dtype) for a in arrays]}"
        )
    total = sum(a.shape[dimension] for a in arrays)
    shape = (*first.shape[:dimension], total, *first.shape[dimension + 1 :])
    return first.update(shape=shape, weak_type=all(a.weak_type for a in arrays))


def concatenate_backward(cts: Sequence, *arrays: Any, dimension: int) -> list[Any]:
    (ct,) = cts
    begin, result = 0, []
    for array in arrays:
        end = begin + aval_of(array).shape[dimension]
        result.append(slice_axis(ct, begin, end, dimension) if is_linear(array) else None)
        begin = end
    return result


def concatenate_batch(axis: Any, values: Sequence, axes: Sequence, dimension: int) -> Any:
    moved = [batching.to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
    return (concatenate_p.bind(*moved, dimension=dimension + 1),), (0,)


evaluate_rules[concatenate_p] = single(
    lambda xp, *arrays, dimension: xp.concatenate(arrays, axis=dimension)
)
abstract_rules[concatenate_p] = pure(concatenate_abstract)
forward.linear(concatenate_p)
backward.rules[concatenate_p] = concatenate_backward
batching.rules[concatenate_p] = concatenate_batch


def concatenate_lower(graph: Graph, index: Position, *arrays: Element, dimension: int) -> Expr:
    """The array whose stretch the index falls into, the last where it falls into no other."""
    begin, pieces = 0, []
    for array in arrays:
        end = begin + array.shape[dimension]
        here = graph.within(index[dimension], begin, end)
        if here.op != "const" or here.data:
            pieces.append((array, begin, end, here))
        begin = end
    chosen: Expr | None = None
    for array, start, end, here in reversed(pieces):
        place = (*index[:dimension], index[dimension].plus(-start), *index[dimension + 1 :])
        with Guarded(graph, here):
            found = array(place)
        before = graph.within(index[dimension], 0, end)
        chosen = found if chosen is None else graph.select(before, found, chosen)
    if chosen is None:
        raise AssertionError("an element of an empty concatenation is asked for")
    return chosen


lowering.view(concatenate_p, concatenate_lower)
lowering.refusals[concatenate_p] = lambda avals, params: len(avals) > MOST_PIECES
