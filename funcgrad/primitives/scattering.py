"""scatter and its combining kinds: updates written into windows of an array."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, shaped
from funcgrad.base.basis import neg
from funcgrad.base.shapes import Shape
from funcgrad.base.trace import Primitive, Rule, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import ZERO, Expr, Graph, Index
from funcgrad.compiler.lowering import Element, Position, Update
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.gathering import shifted
from funcgrad.primitives.indexing import (
    COMBINE,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from funcgrad.primitives.indexing_spec import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    batch_axes,
    check_dimension_numbers,
    check_mode,
    element_strides,
    positions,
    walk,
    window_axes,
    window_sizes,
    window_start,
    windows_shape,
)
from funcgrad.primitives.nary import ANY, NUMBER, check_dtype, check_same_dtype
from funcgrad.primitives.scatter_derivatives import (
    extremal_forward,
    linear_scatter_backward,
    linear_scatter_forward,
    scatter_backward,
    scatter_forward,
    scatter_mul_backward,
    scatter_mul_forward,
)
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.batching import BatchAxis, batch_program

# evaluate

_UFUNCS = {
    scatter_add_p: "add",
    scatter_sub_p: "subtract",
    scatter_mul_p: "multiply",
    scatter_min_p: "minimum",
    scatter_max_p: "maximum",
}


def scatter_evaluate(primitive: Primitive) -> Rule:
    def evaluate(
        xp: Any,
        x: Any,
        indices: Any,
        updates: Any,
        update_jaxpr: Any,
        dimension_numbers: ScatterDimensionNumbers,
        unique_indices: bool,
        mode: GatherScatterMode,
        **_: Any,
    ) -> Any:
        if not updates.size:
            return x
        numbers, clip = dimension_numbers, mode is GatherScatterMode.CLIP
        sizes = window_sizes(numbers, x.ndim, updates.shape)
        limits = [x.shape[a] - sizes[a] for a in numbers.scatter_dims_to_operand_dims]
        starts, inside = positions(xp, indices, limits, clamp=clip)
        if clip:
            inside = None
        write: Callable
        if primitive is not scatter_p:
            write = combiner(getattr(xp, _UFUNCS[primitive]), unique_indices)
        else:
            write = replace if update_jaxpr is None else applier(update_jaxpr)
        out = xp.array(x, x.dtype if primitive is scatter_p else widened(x.dtype), order="C")
        updates = updates.astype(out.dtype, copy=False)
        if math.prod(starts.shape[:-1]) == 1:
            if inside is None or inside.all():
                write_one_window(out, starts.reshape(-1), updates, numbers, sizes, write)
        else:
            by_rows = primitive is scatter_p or unique_indices
            write_windows(xp, out, starts, inside, updates, numbers, sizes, write, by_rows)
        return out.astype(x.dtype, copy=False)

    return single(evaluate)


def widened(dtype: Any) -> Any:
    """Where updates are combined: narrow floats in float32, integers that NumPy lacks in int64."""
    if dtypes.issubdtype(dtype, np.floating):
        return dtype if dtype.itemsize > 2 else np.dtype(np.float32)
    return dtype if dtype.kind in "biuc" else np.dtype(np.int64)


def write_one_window(
    out: Any,
    start: Any,
    updates: Any,
    numbers: ScatterDimensionNumbers,
    sizes: Shape,
    write: Callable,
) -> None:
    first = dict(zip(numbers.scatter_dims_to_operand_dims, start.tolist(), strict=True))
    parts = [slice(first.get(a, 0), first.get(a, 0) + size) for a, size in enumerate(sizes)]
    window = out[(*parts, ...)]
    write(window, None, updates.reshape(sizes))


def write_windows(
    xp: Any,
    out: Any,
    starts: Any,
    inside: Any,
    updates: Any,
    numbers: ScatterDimensionNumbers,
    sizes: Shape,
    write: Callable,
    by_rows: bool,
) -> None:
    """Turn index vectors into row-major positions, and hand elements to `write`.

    With `by_rows`, windows that lie in one piece in memory are handed over whole.
    """
    strides, batch = element_strides(out.shape), starts.shape[:-1]
    first: Any = 0
    for k, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        first = first + starts[..., k] * strides[axis]
    for axis, index_axis in zip(
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True
    ):
        first = first + walk(xp, batch, index_axis) * strides[axis]
    first = xp.broadcast_to(first, batch).reshape(-1)
    outer = batch_axes(numbers, updates.ndim)
    rows = updates.transpose(*outer, *numbers.update_window_dims).reshape(len(first), -1)
    if inside is not None:
        kept = inside.reshape(-1)
        first, rows = first[kept], rows[kept]
    axes, width = [a for a, size in enumerate(sizes) if size > 1], rows.shape[1]
    if by_rows and axes and sizes[axes[0] :] == out.shape[axes[0] :]:
        write(out.reshape(-1, width), first // width, rows)
        return
    within = xp.zeros(1, np.int64)
    for axis in axes:
        within = within[..., None] + xp.arange(sizes[axis]) * strides[axis]
    write(out.reshape(-1), (first[:, None] + within.reshape(1, -1)).reshape(-1), rows.reshape(-1))


# Ways to write: `(out, index, updates)` changes out in place, all of it where the index is None.


def replace(out: Any, index: Any, updates: Any) -> None:
    out[... if index is None else index] = updates


def combiner(ufunc: Any, unique: bool) -> Callable:
    def write(out: Any, index: Any, updates: Any) -> None:
        if index is None:
            out[...] = ufunc(out, updates)
        elif unique:
            out[index] = ufunc(out[index], updates)
        else:
            ufunc.at(out, index, updates)

    return write


def applier(program: ClosedJaxpr) -> Callable:
    """Apply a program of one number to elements: all once, then those met again, and so on."""

    def applied(values: Any) -> Any:
        flat = values.reshape(-1)
        batched, _ = batch_program(program, BatchAxis(len(flat)), (True, False), force=True)
        operand = ConcreteArray(flat, shaped(flat.shape, flat.dtype))
        zero = ConcreteArray(np.zeros((), flat.dtype), shaped((), flat.dtype))
        return batched(operand, zero)[0].buffer.reshape(values.shape)

    def write(out: Any, index: Any, updates: Any) -> None:
        if index is None:
            out[...] = applied(out)
            return
        places, counts = np.unique(index, return_counts=True)
        for met in range(1, int(counts.max(initial=0)) + 1):
            again = places[counts >= met]
            out[again] = applied(out[again])

    return write


# abstract


def scatter_abstract(primitive: Primitive) -> Rule:
    def abstract(
        x: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **_: Any,
    ) -> ShapedArray:
        name, numbers = primitive.name, dimension_numbers
        check_mode(name, mode)
        if primitive is not scatter_p:
            arithmetic = primitive not in (scatter_min_p, scatter_max_p)
            check_dtype(name, 0, x, NUMBER if arithmetic else ANY)
        check_same_dtype(name, (x, updates))
        check_dimension_numbers(name, numbers, x, indices)
        batch = indices.shape[:-1]
        if updates.ndim != len(batch) + len(numbers.update_window_dims):
            raise TypeError(
                f"{name}: updates must have one axis for each batch axis of the indices and for "
                f"each of update_window_dims {numbers.update_window_dims}; got updates of shape "
                f"{updates.shape} for indices of shape {indices.shape}"
            )
        sizes = window_sizes(numbers, x.ndim, updates.shape)
        if any(
            s > n
            for a, (s, n) in enumerate(zip(sizes, x.shape, strict=True))
            if a in window_axes(numbers, x.ndim)
        ):
            raise TypeError(
                f"{name}: the windows of the updates may not exceed the operand, got windows of "
                f"{sizes} in updates of shape {updates.shape} for an operand of shape {x.shape}"
            )
        expected = windows_shape(numbers, sizes, batch)
        if updates.shape != expected:
            raise TypeError(
                f"{name}: updates must have the batch axes of the indices outside of their "
                f"windows: expected shape {expected} for indices of shape {indices.shape}, got "
                f"{updates.shape}"
            )
        return x

    return pure(abstract)


# batching


def scatter_batch(primitive: Primitive) -> Callable:
    def rule(
        axis: Any,
        values: Sequence,
        axes: Sequence,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> Any:
        x = batching.to_front(axis, values[0], axes[0])
        updates = batching.to_front(axis, values[2], axes[2])
        (indices,) = batching.fronted([values[1]], [axes[1]])
        window, inserted, indexed, batched, index_batched = map(shifted, dimension_numbers)
        if axes[1] is None:
            # The same places for all members: the batch axis is one more axis of each window.
            window, index_batched = (0, *window), tuple(dimension_numbers[4])
        else:
            batched, index_batched = (0, *batched), (0, *index_batched)
        numbers = ScatterDimensionNumbers(window, inserted, indexed, batched, index_batched)
        out = primitive.bind(x, indices, updates, dimension_numbers=numbers, **params)
        return (out,), (0,)

    return rule


for _primitive in (scatter_p, *COMBINE):
    evaluate_rules[_primitive] = scatter_evaluate(_primitive)
    abstract_rules[_primitive] = scatter_abstract(_primitive)
    batching.rules[_primitive] = scatter_batch(_primitive)

for _primitive, _sign in ((scatter_add_p, lambda ct: ct), (scatter_sub_p, neg)):
    forward.rules[_primitive] = linear_scatter_forward(_primitive)
    backward.rules[_primitive] = linear_scatter_backward(_sign)

for _primitive in (scatter_min_p, scatter_max_p):
    forward.rules[_primitive] = extremal_forward(_primitive)

forward.rules[scatter_mul_p] = scatter_mul_forward
backward.rules[scatter_mul_p] = scatter_mul_backward
forward.rules[scatter_p] = scatter_forward
backward.rules[scatter_p] = scatter_backward


# lower

_COMBINED: dict[Primitive, Callable[[Expr, Expr], Expr]] = {
    scatter_p: lambda old, new: new,
    scatter_add_p: lambda old, new: old + new,
    scatter_sub_p: lambda old, new: old - new,
    scatter_mul_p: lambda old, new: old * new,
    scatter_min_p: lambda old, new: lowering.extremum("min", old, new),
    scatter_max_p: lambda old, new: lowering.extremum("max", old, new),
}


def scatter_lower(primitive: Primitive) -> None:
    def lower(
        graph: Graph,
        x: Element,
        indices: Element,
        updates: Element,
        update_jaxpr: Any,
        dimension_numbers: ScatterDimensionNumbers,
        unique_indices: bool,
        mode: GatherScatterMode,
        **_: Any,
    ) -> Update:
        numbers = dimension_numbers
        outer = batch_axes(numbers, len(updates.shape))
        axes = (*outer, *numbers.update_window_dims)
        batch_ndim = len(outer)

        def place(index: Position) -> tuple[Position, Expr]:
            batch, window = index[:batch_ndim], index[batch_ndim:]
            sizes = window_sizes(numbers, len(x.shape), updates.shape)
            return window_place(graph, x, indices, numbers, sizes, batch, window, mode)

        def value(index: Position, old: Expr) -> Expr:
            if primitive is scatter_p and update_jaxpr is not None:
                (new,) = lowering.applied(graph, update_jaxpr, (old, old))
                return new
            return _COMBINED[primitive](old, updates(lowering.interleaved(axes, index, ())))

        return Update(
            extents=tuple(updates.shape[a] for a in axes),
            place=place,
            value=value,
            window=len(axes) - batch_ndim,
            distinct=unique_indices or math.prod(updates.shape[a] for a in outer) == 1,
        )

    def refuses(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
        """Whether `func` has no kernel, or partial sums and products are wider than the operand."""
        if isinstance(params["update_jaxpr"], ClosedJaxpr):
            return not lowering.holds_scalars(params["update_jaxpr"])
        rounds = primitive in (scatter_add_p, scatter_sub_p, scatter_mul_p)
        dtype = avals[0].dtype
        return rounds and not params["unique_indices"] and widened(dtype) != dtype

    lowering.updates[primitive] = lower
    lowering.refusals[primitive] = refuses


def window_place(
    graph: Graph,
    x: Element,
    indices: Element,
    numbers: ScatterDimensionNumbers,
    sizes: Shape,
    batch: Position,
    window: Position,
    mode: GatherScatterMode,
) -> tuple[Position, Expr]:
    """The operand element that an element of a window is for, and whether it is to be written."""
    axes = numbers.scatter_dims_to_operand_dims
    limits = [x.shape[a] - sizes[a] for a in axes]
    clip = mode is GatherScatterMode.CLIP
    starts, inside = window_start(graph, indices, batch, limits, clip)
    position: list[Index] = [ZERO] * len(x.shape)
    for axis, index in zip(window_axes(numbers, len(x.shape)), window, strict=True):
        position[axis] = index
    for axis, index_axis in zip(
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True
    ):
        position[axis] = batch[index_axis]
    for axis, start in zip(axes, starts, strict=True):
        position[axis] = position[axis].plus(start)
    return tuple(position), inside


for _primitive in (scatter_p, *COMBINE):
    scatter_lower(_primitive)
lowering.movers.add(scatter_p)
