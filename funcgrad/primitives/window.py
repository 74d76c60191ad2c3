"""reduce_window: a reduction of what a sliding window covers, at each of its places."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.basis import (
    add_p,
    broadcast_in_dim,
    broadcast_to_shape,
    convert,
    full_like,
    pad,
    scalar_like,
    select_n,
)
from funcgrad.base.shapes import dilate
from funcgrad.base.trace import (
    EVALUATION,
    Primitive,
    abstract_rules,
    evaluate_rules,
    pure,
    single,
    under,
)
from funcgrad.base.tree import tree_flatten, tree_unflatten
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.arithmetic import max_p, min_p
from funcgrad.primitives.combiner import (
    MONOIDS,
    check_operands,
    combine,
    combiner_of,
    fold_lower,
    identity_of,
    is_identity,
    without_kernel,
)
from funcgrad.primitives.compare import bitwise_and, bitwise_or, ge_p, le_p
from funcgrad.primitives.nary import ANY, NUMBER, Accepted, check_dtype
from funcgrad.primitives.selecting import select_and_gather_add
from funcgrad.primitives.sliding import (
    Window,
    base_buffer,
    check_window,
    covered_element,
    slide,
    take_from_array,
    take_from_buffer,
    window_of,
)
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear

reduce_window_p = Primitive("reduce_window", multiple_results=True)
reduce_window_sum_p = Primitive("reduce_window_sum")
reduce_window_max_p = Primitive("reduce_window_max")
reduce_window_min_p = Primitive("reduce_window_min")

REDUCERS = {add_p: reduce_window_sum_p, max_p: reduce_window_max_p, min_p: reduce_window_min_p}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements that each window covers.

    Args:
        operand: an array, or a pytree of arrays of one shape.
        init_value: a number, or a tree of them of that structure; an identity of the computation,
            with which every window starts.
        computation: an associative function of two trees of numbers, such as `lax.add`.
        window_dimensions: how many elements a window covers along each axis.
        window_strides: the steps in which it moves; 1 by default.
        padding: 'VALID', 'SAME', 'SAME_LOWER', or a (low, high) pair of ints for each axis, which
            may be negative.
        base_dilation: how far apart the operand's elements are put first; 1 by default.
        window_dilation: how far apart the elements are that a window covers; 1 by default.

    Returns:
        Arrays with an element for each window, in the structure of the operand.

    Raises:
        TypeError: shapes, dtypes, structures or the window's settings do not fit.

    Example:
        >>> reduce_window(np.arange(5.0), -np.inf, lax.max, (2,), (2,))
        Array([1., 3.], dtype=float32)
    """
    arrays, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"reduce_window: operand and init_value must have one tree structure, got {tree} and "
            f"{init_tree}."
        )
    if not arrays:
        raise ValueError("reduce_window: there is nothing to reduce, operand has no arrays.")
    shape = aval_of(arrays[0]).shape
    if len(window_dimensions) != len(shape):
        raise TypeError(
            f"reduce_window: window_dimensions must have one entry for each axis of the operand "
            f"of shape {shape}, got {tuple(window_dimensions)}."
        )
    window = window_of(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    monoid = MONOIDS.get(computation) if len(arrays) == 1 else None
    if monoid in REDUCERS and is_identity(inits[0], monoid):
        outs: Sequence[Any] = [REDUCERS[monoid].bind(arrays[0], **window._asdict())]
        return tree_unflatten(tree, outs)
    check_operands("reduce_window", [aval_of(a) for a in arrays], [aval_of(i) for i in inits])
    combiner = combiner_of(
        "reduce_window", computation, [shaped((), aval_of(a).dtype) for a in arrays], tree
    )
    reducer = REDUCERS.get(combiner.monoid) if combiner.monoid else None
    if reducer is not None and combiner.monoid is not None:
        out = reducer.bind(arrays[0], **window._asdict())
        if not is_identity(inits[0], combiner.monoid):
            start = broadcast_in_dim(inits[0], aval_of(out).shape, ())
            out = combiner.monoid.bind(start, out)
        outs = [out]
    else:
        outs = reduce_window_p.bind(*arrays, *inits, jaxpr=combiner.program, **window._asdict())
    return tree_unflatten(tree, list(outs))


# reduce_window_sum, reduce_window_max, reduce_window_min


def windowed(primitive: Primitive, monoid: Primitive, accepted: Accepted, ufunc: str) -> None:
    """Register evaluate, abstract and batching of a windowed reduction by a monoid."""

    def abstract(x: ShapedArray, **params: Any) -> ShapedArray:
        check_dtype(primitive.name, 0, x, accepted)
        window = Window(**params)
        check_window(primitive.name, x.shape, window)
        return x.update(shape=window.out_shape(x.shape))

    def evaluate(xp: Any, x: Any, **params: Any) -> Any:
        window = Window(**params)
        shape = window.out_shape(x.shape)
        if 0 in shape:
            return xp.zeros(shape, x.dtype)
        narrow = monoid is add_p and x.dtype.itemsize < 4
        rounded = narrow and dtypes.issubdtype(x.dtype, np.floating)
        wide = x.astype(np.float32) if rounded else x
        base = base_buffer(xp, wide, window, identity_of(monoid, wide.dtype))
        operation = getattr(xp, ufunc)
        (out,) = slide([base], window, lambda a, b: [operation(a[0], b[0])], take_from_buffer)
        return out.astype(x.dtype, copy=False)

    def batch(axis: Any, values: Sequence, axes: Sequence, **params: Any) -> tuple:
        window = Window(**params).with_axis(axes[0])
        return (primitive.bind(values[0], **window._asdict()),), (axes[0],)

    evaluate_rules[primitive] = single(evaluate)
    abstract_rules[primitive] = pure(abstract)
    batching.rules[primitive] = batch


def window_sum_backward(ct: Any, x: Linear, **params: Any) -> Any:
    """The windowed sum of the cotangent, spread by the strides, with the window turned round.

    An element at place p of the base is in window j as element t where `j * stride + t * dilation`
    is p; so it collects the spread cotangent at `p - t * dilation`.
    """
    window = Window(**params)
    shape, counts = x.shape, aval_of(ct).shape
    if 0 in shape or 0 in counts:
        return full_like(convert(broadcast_in_dim(scalar_like(0, ct), shape, ()), x.aval.dtype), 0)
    config = []
    for size, count, stride, (low, _), hole, extent in zip(
        shape,
        counts,
        window.window_strides,
        window.padding,
        window.base_dilation,
        window.extents,
        strict=True,
    ):
        before = extent - 1 - low
        length = dilate(size, hole) + extent - 1
        config.append((before, length - dilate(count, stride) - before, stride - 1))
    ones = (1,) * len(shape)
    turned = Window(
        window.window_dimensions,
        window.base_dilation,
        ((0, 0),) * len(shape),
        ones,
        window.window_dilation,
    )
    spread = pad(ct, scalar_like(0, ct), config)
    return reduce_window_sum_p.bind(spread, **turned._asdict())


def extremum_forward(primitive: Primitive, select_prim: Primitive) -> Callable:
    """The tangent at the first extremum of each window."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        out = primitive.bind(*primals, **params)
        return (out,), (
            select_and_gather_add(tangents[0], primals[0], select_prim, Window(**params)),
        )

    return rule


def windowed_lower(primitive: Primitive, op: str) -> None:
    def lower(graph: Graph, x: Element, **params: Any) -> Fold:
        window, work = Window(**params), x.dtype
        if op == "add":
            work = lowering.accumulator(x.dtype)
            combine = lowering.simple_combine(graph, "add", work, 0)
        else:
            name = {"max": "or", "min": "and"}[op] if work == "bool" else op
            combine = lowering.simple_combine(
                graph, name, work, lowering.extreme(work, op == "min")
            )
        nothing = graph.const(combine.identity[0], x.dtype)

        def values(index: Position, inner: Position) -> tuple[Expr]:
            place, inside = covered_element(graph, index, inner, window, x.shape)
            return (lowering.guarded(graph, inside, lambda: x(place), nothing).to(work),)

        return Fold(
            inner=window.window_dimensions,
            combine=combine,
            values=values,
            starts=combine.identity,
            finish=lambda folded: (folded.to(x.dtype),),
        )

    lowering.folds[primitive] = lower


windowed(reduce_window_sum_p, add_p, NUMBER, "add")
windowed_lower(reduce_window_sum_p, "add")
forward.linear(reduce_window_sum_p)
backward.unary(reduce_window_sum_p, window_sum_backward)

windowed(reduce_window_max_p, max_p, ANY, "maximum")
windowed_lower(reduce_window_max_p, "max")
forward.rules[reduce_window_max_p] = extremum_forward(reduce_window_max_p, ge_p)

windowed(reduce_window_min_p, min_p, ANY, "minimum")
windowed_lower(reduce_window_min_p, "min")
forward.rules[reduce_window_min_p] = extremum_forward(reduce_window_min_p, le_p)


# reduce_window with any function


def slide_program(
    program: ClosedJaxpr, operands: Sequence[Any], inits: Sequence[Any], window: Window
) -> list[Any]:
    """The windowed reduction by a program of numbers, in operations that can be differentiated."""
    operands = [convert(x, aval_of(x).dtype) for x in operands]
    inits = [convert(i, aval_of(i).dtype) for i in inits]
    shape = window.out_shape(aval_of(operands[0]).shape)
    starts = [broadcast_in_dim(i, shape, ()) for i in inits]
    if 0 in shape:
        return starts
    bases = [pad(x, i, window.padding_config) for x, i in zip(operands, inits, strict=True)]

    def apply(left: list[Any], right: list[Any]) -> list[Any]:
        return combine(program, [*left, *right])

    if all(max(low, high, hole) <= 0 for low, high, hole in window.padding_config):
        return apply(starts, slide(bases, window, apply, take_from_array))

    def apply_inside(left: list[Any], right: list[Any]) -> list[Any]:
        """The same where padding and holes, marked False in the last array, take no part."""
        *xs, x_inside = left
        *ys, y_inside = right
        both = bitwise_and(x_inside, y_inside)
        single = (select_n(y_inside, x, y) for x, y in zip(xs, ys, strict=True))
        outs = [select_n(both, s, out) for s, out in zip(single, apply(xs, ys), strict=True)]
        return [*outs, bitwise_or(x_inside, y_inside)]

    inside = pad(
        broadcast_to_shape(np.bool_(True), aval_of(operands[0]).shape),
        np.bool_(False),
        window.padding_config,
    )
    always = broadcast_to_shape(np.bool_(True), shape)
    rows = slide([*bases, inside], window, apply_inside, take_from_array)
    return apply_inside([*starts, always], rows)[:-1]


def _halves(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def window_abstract(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
    operands, inits = _halves(avals)
    check_operands("reduce_window", operands, inits)
    window = Window(**params)
    check_window("reduce_window", operands[0].shape, window)
    shape = window.out_shape(operands[0].shape)
    return [a.update(shape=shape, weak_type=False) for a in operands]


def window_evaluate(xp: Any, *buffers: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    avals = [shaped(b.shape, b.dtype) for b in buffers]
    operands, inits = _halves(list(map(ConcreteArray, buffers, avals)))
    outs = under(EVALUATION, slide_program, jaxpr, operands, inits, Window(**params))
    return [o.buffer for o in outs]


def window_forward(
    primals: Sequence, tangents: Sequence, jaxpr: ClosedJaxpr, **params: Any
) -> tuple:
    def run(*values: Any) -> list[Any]:
        return slide_program(jaxpr, *_halves(values), Window(**params))

    return forward.jvp(run, primals, tangents)


def window_batch(
    axis: Any, values: Sequence, axes: Sequence, jaxpr: ClosedJaxpr, **params: Any
) -> tuple:
    operands, inits = _halves(values)
    operand_axes, init_axes = _halves(axes)
    window = Window(**params)
    if any(a is not None for a in init_axes):
        return batching.vmap_flat(
            lambda *args: slide_program(jaxpr, *_halves(args), window), axis, values, axes
        )
    moved = [batching.to_front(axis, v, a) for v, a in zip(operands, operand_axes, strict=True)]
    wider = window.with_axis(0)._asdict()
    outs = reduce_window_p.bind(*moved, *inits, jaxpr=jaxpr, **wider)
    return outs, [0] * len(outs)


evaluate_rules[reduce_window_p] = window_evaluate
abstract_rules[reduce_window_p] = pure(window_abstract)
forward.rules[reduce_window_p] = window_forward
batching.rules[reduce_window_p] = window_batch


def window_lower(graph: Graph, *elements: Element, jaxpr: ClosedJaxpr, **params: Any) -> Fold:
    operands, inits = _halves(elements)
    window, shape = Window(**params), operands[0].shape
    zeros = [graph.const(0, x.dtype) for x in operands]

    def element(index: Position, inner: Position) -> tuple[Expr, list[Expr]]:
        place, inside = covered_element(graph, index, inner, window, shape)
        pairs = zip(operands, zeros, strict=True)
        return inside, [lowering.guarded(graph, inside, partial(x, place), z) for x, z in pairs]

    return fold_lower(graph, jaxpr, inits, window.window_dimensions, element)


lowering.folds[reduce_window_p] = window_lower
lowering.refusals[reduce_window_p] = without_kernel
