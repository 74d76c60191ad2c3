"""The element that each window selects: read at its place (gather), or added to there (scatter).

They are what derivatives of a windowed maximum or minimum consist of, and each other's transpose.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    pad,
    slice_array,
)
from funcgrad.base.trace import (
    Primitive,
    abstract_rules,
    evaluate_rules,
    pure,
    single,
)
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Combine, Expr, Graph, Guarded
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.primitives.arithmetic import max_p, min_p
from funcgrad.primitives.combiner import identity_of
from funcgrad.primitives.compare import ge_p, le_p
from funcgrad.primitives.pieces import pad_evaluate
from funcgrad.primitives.reduction import surpasses
from funcgrad.primitives.sliding import (
    Window,
    base_buffer,
    check_window,
    covered_element,
    slide,
    take_from_buffer,
)
from funcgrad.transforms import backward, batching, forward

select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_scatter_add_p = Primitive("select_and_scatter_add")

# Which extremum a comparison selects; its identity is what padding holds.
EXTREMA = {ge_p: max_p, le_p: min_p}
ORDERS = {ge_p: "greater_equal", le_p: "less_equal"}
OPS = {ge_p: "max", le_p: "min"}

# Elements that a kernel compares for one element of a scattered sum, beyond which it is a step.
MOST_COMPARED = 128


def select_and_gather_add(
    tangents: Any, operand: Any, select_prim: Primitive, window: Window
) -> Any:
    """The tangent at the first extremum of each window of the operand; 0 where all is padding."""
    return select_and_gather_add_p.bind(
        tangents, operand, select_prim=select_prim, **window._asdict()
    )


def select_and_scatter_add(
    source: Any, operand: Any, select_prim: Primitive, window: Window
) -> Any:
    """Zeros like the operand, each window's element of `source` added at its first extremum."""
    params: dict[str, Any] = {
        "window_dimensions": window.window_dimensions,
        "window_strides": window.window_strides,
        "padding": window.padding,
    }
    if any(d != 1 for d in window.window_dilation):
        params["window_dilation"] = window.window_dilation
    return select_and_scatter_add_p.bind(source, operand, select_prim=select_prim, **params)


def undilated(
    window_dimensions: Any, window_strides: Any, padding: Any, window_dilation: Any = None
) -> Window:
    """The window of the params of the scattering primitives."""
    ones = (1,) * len(window_dimensions)
    return Window(window_dimensions, window_strides, padding, ones, window_dilation or ones)


# select_and_gather_add


def gather_abstract(
    tangents: ShapedArray, operand: ShapedArray, select_prim: Primitive, **params: Any
) -> ShapedArray:
    window = Window(**params)
    if tangents.shape != operand.shape:
        raise TypeError(
            f"select_and_gather_add: tangents and operand must have one shape, got "
            f"{tangents.str_short()} and {operand.str_short()}."
        )
    check_window("select_and_gather_add", operand.shape, window)
    return tangents.update(shape=window.out_shape(operand.shape))


def first_extremum(
    xp: Any, keys: Any, values: Any, select_prim: Primitive, window: Window
) -> tuple[Any, Any]:
    """The first extremum of each window, and the value that goes with it."""
    order = getattr(xp, ORDERS[select_prim])

    def better(left: list[Any], right: list[Any]) -> list[Any]:
        keep = order(left[0], right[0])
        return [xp.where(keep, a, b) for a, b in zip(left, right, strict=True)]

    key, value = slide([keys, values], window, better, take_from_buffer)
    return key, value


def gather_evaluate(
    xp: Any, tangents: Any, operand: Any, select_prim: Primitive, **params: Any
) -> Any:
    window = Window(**params)
    shape = window.out_shape(operand.shape)
    if 0 in shape:
        return xp.zeros(shape, tangents.dtype)
    identity = identity_of(EXTREMA[select_prim], operand.dtype)
    keys = base_buffer(xp, operand, window, identity)
    values = base_buffer(xp, tangents, window, 0)
    key, value = first_extremum(xp, keys, values, select_prim, window)
    # Every window starts from the identity, whose tangent is 0.
    start = getattr(xp, ORDERS[select_prim])(identity, key)
    return xp.where(start, tangents.dtype.type(0), value)


def gather_backward(
    cts: Sequence, tangents: Any, operand: Any, select_prim: Primitive, **params: Any
) -> list[Any]:
    window = Window(**params)
    holes = window.base_dilation
    shape = aval_of(operand).shape
    if any(d != 1 for d in holes):
        identity = identity_of(EXTREMA[select_prim], aval_of(operand).dtype)
        operand = pad(operand, identity, [(0, 0, d - 1) for d in holes])
        window = window._replace(base_dilation=(1,) * len(holes))
    out = select_and_scatter_add(cts[0], operand, select_prim, window)
    if any(d != 1 for d in holes):
        out = slice_array(out, [0] * len(shape), aval_of(out).shape, holes)
    return [out, None]


def selecting_forward(primitive: Primitive) -> Callable:
    """Linear in the first operand; the place that is selected does not move."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        out = primitive.bind(*primals, **params)
        if tangents[0] is None:
            return (out,), (None,)
        return (out,), (primitive.bind(tangents[0], primals[1], **params),)

    return rule


def gather_batch(
    axis: Any, values: Sequence, axes: Sequence, select_prim: Primitive, **params: Any
) -> tuple:
    moved = [batching.to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
    window = Window(**params).with_axis(0)
    return (select_and_gather_add(moved[0], moved[1], select_prim, window),), (0,)


evaluate_rules[select_and_gather_add_p] = single(gather_evaluate)
abstract_rules[select_and_gather_add_p] = pure(gather_abstract)
forward.rules[select_and_gather_add_p] = selecting_forward(select_and_gather_add_p)
backward.rules[select_and_gather_add_p] = gather_backward
batching.rules[select_and_gather_add_p] = gather_batch


def gather_lower(
    graph: Graph, tangents: Element, operand: Element, select_prim: Primitive, **params: Any
) -> Fold:
    """The fold by `surpasses`; of equal ones that at the earliest place is kept."""
    window, op = Window(**params), OPS[select_prim]
    lowest = lowering.extreme(operand.dtype, op == "min")
    types = (operand.dtype, tangents.dtype, "i32")
    key, tangent, place, *other = (graph.param(k, types[k % 3]) for k in range(6))
    better = surpasses(op, other[0], key) | (~surpasses(op, key, other[0]) & (other[2] < place))
    results = tuple(
        graph.select(better, b, a) for a, b in zip((key, tangent, place), other, strict=True)
    )
    identity = (lowest, 0, 2**31 - 1)
    combine = Combine((key, tangent, place, *other), results, identity)

    def values(index: Position, inner: Position) -> tuple[Expr, ...]:
        position, inside = covered_element(graph, index, inner, window, operand.shape)
        nothing = graph.const(lowest, operand.dtype), graph.const(0, tangents.dtype)
        found = (
            lowering.guarded(graph, inside, partial(x, position), default)
            for x, default in zip((operand, tangents), nothing, strict=True)
        )
        offset = lowering.linear(window.window_dimensions, inner)
        return (*found, graph.value(offset, "i32"))

    def finish(key: Expr, tangent: Expr, place: Expr) -> tuple[Expr]:
        # Every window starts from the identity, whose tangent is 0.
        above = surpasses(op, key, graph.const(lowest, key.dtype))
        return (graph.select(above, tangent, 0),)

    return Fold(window.window_dimensions, combine, values, identity, finish)


lowering.folds[select_and_gather_add_p] = gather_lower


# select_and_scatter_add


def scatter_add_abstract(
    source: ShapedArray, operand: ShapedArray, select_prim: Primitive, **params: Any
) -> ShapedArray:
    check_source("select_and_scatter_add", source, operand, undilated(**params))
    return source.update(shape=operand.shape)


def check_source(name: str, source: ShapedArray, operand: ShapedArray, window: Window) -> None:
    check_window(name, operand.shape, window)
    expected = window.out_shape(operand.shape)
    if source.shape != expected:
        raise TypeError(
            f"{name}: source must have an element for each window, shape {expected} for the "
            f"operand {operand.str_short()} and {window}; got {source.str_short()}."
        )


def scatter_add_evaluate(
    xp: Any, source: Any, operand: Any, select_prim: Primitive, **params: Any
) -> Any:
    window = undilated(**params)
    if 0 in source.shape or 0 in operand.shape:
        return xp.zeros(operand.shape, source.dtype)
    identity = identity_of(EXTREMA[select_prim], operand.dtype)
    keys = base_buffer(xp, operand, window, identity)
    places = xp.arange(keys.size).reshape(keys.shape)
    _, chosen = first_extremum(xp, keys, places, select_prim, window)
    sums = _sums_at(xp, chosen.reshape(-1), source.reshape(-1), keys.size)
    out = sums.astype(source.dtype, copy=False).reshape(keys.shape)
    undo = [(-low, -high, 0) for low, high in window.padding]
    return pad_evaluate(xp, out, 0, undo) if any(map(any, undo)) else out


def _sums_at(xp: Any, places: Any, values: Any, size: int) -> Any:
    """For each place below `size`, the sum of the values that go there."""
    if values.dtype.kind == "c":
        parts = [xp.bincount(places, part, size) for part in (values.real, values.imag)]
        return parts[0] + 1j * parts[1]
    if dtypes.issubdtype(values.dtype, np.floating):
        return xp.bincount(places, values.astype(np.float64), size)
    out = xp.zeros(size, values.dtype)
    (xp.bitwise_or if values.dtype == np.bool_ else xp.add).at(out, places, values)
    return out


def scatter_add_backward(
    cts: Sequence, source: Any, operand: Any, select_prim: Primitive, **params: Any
) -> list[Any]:
    return [select_and_gather_add(cts[0], operand, select_prim, undilated(**params)), None]


def scatter_add_batch(
    axis: Any, values: Sequence, axes: Sequence, select_prim: Primitive, **params: Any
) -> tuple:
    moved = [batching.to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
    window = undilated(**params).with_axis(0)
    return (select_and_scatter_add(moved[0], moved[1], select_prim, window),), (0,)


evaluate_rules[select_and_scatter_add_p] = single(scatter_add_evaluate)
abstract_rules[select_and_scatter_add_p] = pure(scatter_add_abstract)
forward.rules[select_and_scatter_add_p] = selecting_forward(select_and_scatter_add_p)
backward.rules[select_and_scatter_add_p] = scatter_add_backward
batching.rules[select_and_scatter_add_p] = scatter_add_batch


def scatter_add_lower(
    graph: Graph,
    index: Position,
    source: Element,
    operand: Element,
    select_prim: Primitive,
    **params: Any,
) -> Expr:
    """The sum over the windows that an element is the first extremum of."""
    window, op = undilated(**params), OPS[select_prim]
    work = lowering.accumulator(source.dtype)
    zero = graph.const(0, work)
    total = zero
    for number, offset, real in windows_over(graph, index, window, source.shape):
        with Guarded(graph, real):
            first = graph.both(real, is_first(graph, operand, op, index, offset, window))
            part = graph.select(first, source(number).to(work), zero)
        total = part if total is zero else total + part
    return total.to(source.dtype)


def windows_over(
    graph: Graph, index: Position, window: Window, counts: tuple[int, ...]
) -> Iterator[tuple[Position, Position, Expr]]:
    """The windows that cover an element: their index, the element's in them, and if there are."""
    along = []
    for i, size, stride, (low, _), count in zip(
        index, window.window_dimensions, window.window_strides, window.padding, counts, strict=True
    ):
        skipped = max(-(low // stride), 0)
        last, offset = graph.divide(i.plus(low + skipped * stride), stride)
        along.append(
            [
                (number, spot, graph.both(graph.within(number, 0, count), within))
                for k in range(-(-size // stride))
                for number, spot in [(last.plus(-skipped - k), offset.plus(k * stride))]
                for within in [graph.within(spot, 0, size)]
            ]
        )
    for chosen in itertools.product(*along):
        real = graph.const(True, "bool")
        for _, _, here in chosen:
            real = graph.both(real, here)
        if real.op != "const" or real.data:
            yield tuple(c[0] for c in chosen), tuple(c[1] for c in chosen), real


def is_first(
    graph: Graph, operand: Element, op: str, index: Position, offset: Position, window: Window
) -> Expr:
    """Whether the element at `offset` in a window is beyond all before it, and below none after."""
    sizes = window.window_dimensions
    key, own = operand(index), lowering.linear(sizes, offset)
    nothing = graph.const(lowering.extreme(operand.dtype, op == "min"), operand.dtype)
    result = graph.const(True, "bool")
    for number, spot in enumerate(itertools.product(*map(range, sizes))):
        place = tuple(
            i.plus(s).plus(o.times(-1)) for i, s, o in zip(index, spot, offset, strict=True)
        )
        inside = graph.const(True, "bool")
        for i, n in zip(place, operand.shape, strict=True):
            inside = graph.both(inside, graph.within(i, 0, n))
        other = lowering.guarded(graph, inside, partial(operand, place), nothing)
        itself = graph.within(own, number, number + 1)
        earlier = graph.within(own, number + 1, math.prod(sizes))
        kept = graph.select(earlier, surpasses(op, key, other), ~surpasses(op, other, key))
        result = graph.both(result, graph.select(itself, True, kept))
    return result


def many_compared(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    window = undilated(**{k: v for k, v in params.items() if k != "select_prim"})
    if any(d != 1 for d in window.window_dilation):
        return True
    pairs = zip(window.window_dimensions, window.window_strides, strict=True)
    windows = math.prod(-(-size // stride) for size, stride in pairs)
    return windows * math.prod(window.window_dimensions) > MOST_COMPARED


lowering.rules[select_and_scatter_add_p] = scatter_add_lower
lowering.refusals[select_and_scatter_add_p] = many_compared
