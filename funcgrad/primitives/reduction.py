"""Reductions over axes: sums, products, extrema, logical ones, argmax, and the generic reduce."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    broadcast_in_dim,
    concatenate,
    convert,
    eq,
    full_like,
    mul,
    reduce_sum,
    reduce_sum_p,
    reshape,
    slice_axis,
    transpose,
)
from funcgrad.base.shapes import canonical_axes, remove_axes
from funcgrad.base.trace import Primitive, Rule, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import FLOATS, Combine, Expr, Graph
from funcgrad.compiler.lowering import Element, Fold
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.nary import ANY, BITS, NUMBER, Accepted, by_int32, check_dtype
from funcgrad.primitives.structural import inverse_permutation
from funcgrad.transforms import backward, batching, forward

reduce_prod_p = Primitive("reduce_prod")
reduce_max_p = Primitive("reduce_max")
reduce_min_p = Primitive("reduce_min")
reduce_and_p = Primitive("reduce_and")
reduce_or_p = Primitive("reduce_or")
reduce_xor_p = Primitive("reduce_xor")
argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")


def _axes(operand: Any, axes: Sequence[int]) -> tuple[int, ...]:
    return canonical_axes(tuple(axes), len(aval_of(operand).shape), "axes")


def reduce_sum_over(operand: Any, axes: Sequence[int]) -> Any:
    """The sum over the listed axes; 0 over none."""
    return reduce_sum_p.bind(operand, axes=_axes(operand, axes))


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """The product over the listed axes."""
    return reduce_prod_p.bind(operand, axes=_axes(operand, axes))


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """The maximum over the listed axes, nan if there is one; ties share the gradient."""
    return reduce_max_p.bind(operand, axes=_axes(operand, axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """The minimum over the listed axes, nan if there is one; ties share the gradient."""
    return reduce_min_p.bind(operand, axes=_axes(operand, axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Whether all elements are true (bitwise for integers)."""
    return reduce_and_p.bind(operand, axes=_axes(operand, axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Whether any element is true (bitwise for integers)."""
    return reduce_or_p.bind(operand, axes=_axes(operand, axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """The parity of true elements (bitwise for integers)."""
    return reduce_xor_p.bind(operand, axes=_axes(operand, axes))


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first position of the maximum along an axis; a nan counts as the maximum."""
    (axis,) = _axes(operand, (axis,))
    return argmax_p.bind(operand, axes=(axis,), index_dtype=np.dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first position of the minimum along an axis; a nan counts as the minimum."""
    (axis,) = _axes(operand, (axis,))
    return argmin_p.bind(operand, axes=(axis,), index_dtype=np.dtype(index_dtype))


def reduction(primitive: Primitive, accepted: Accepted, evaluate: Rule) -> None:
    """Register evaluate, abstract and batching of a reduction with the one param `axes`."""

    def abstract(x: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
        check_dtype(primitive.name, 0, x, accepted)
        return x.update(shape=remove_axes(x.shape, canonical_axes(axes, x.ndim, "axes")))

    evaluate_rules[primitive] = single(evaluate)
    abstract_rules[primitive] = pure(abstract)
    batching.shifted(primitive, axes=batching.axes_shifted)


def spread_back(reduced: Any, shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    """A reduced array repeated along the axes that were reduced."""
    kept = [i for i in range(len(shape)) if i not in axes]
    return broadcast_in_dim(reduced, shape, kept)


def accumulate(ufunc: str) -> Rule:
    """Reduce in float32 what is narrower than that, and round once at the end."""

    def evaluate(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
        reduce = getattr(xp, ufunc).reduce
        if x.dtype.itemsize < 4 and dtypes.issubdtype(x.dtype, np.floating):
            return reduce(x.astype(np.float32), axis=axes).astype(x.dtype)
        return reduce(x, axis=axes, dtype=x.dtype)

    return evaluate


def fold_over(
    graph: Graph, x: Element, axes: tuple[int, ...], op: str, identity: Any, work: str
) -> Fold:
    """One operation over the listed axes, in the dtype `work`, rounded at the end."""
    combine = lowering.simple_combine(graph, op, work, identity)
    return Fold(
        inner=tuple(x.shape[a] for a in axes),
        combine=combine,
        values=lambda index, inner: (x(lowering.interleaved(axes, inner, index)).to(work),),
        starts=combine.identity,
        finish=lambda folded: (folded.to(x.dtype),),
    )


def accumulate_lower(primitive: Primitive, op: str, identity: int) -> None:
    def lower(graph: Graph, x: Element, axes: tuple[int, ...]) -> Fold:
        return fold_over(graph, x, axes, op, identity, lowering.accumulator(x.dtype))

    lowering.folds[primitive] = lower
    lowering.axis_folds.add(primitive)


reduction(reduce_sum_p, NUMBER, accumulate("add"))
accumulate_lower(reduce_sum_p, "add", 0)
forward.linear(reduce_sum_p)
backward.unary(reduce_sum_p, lambda ct, x, axes: spread_back(ct, x.shape, axes))


def reduce_prod_forward(primals: Sequence, tangents: Sequence, axes: tuple[int, ...]) -> tuple:
    """Each factor's tangent times the product of all the others, right also where some are 0."""
    (x,), (t,) = primals, tangents
    out = reduce_prod(x, axes)
    return (out,), (reduce_sum(mul(t, product_of_others(x, axes)), axes),)


def product_of_others(x: Any, axes: Sequence[int]) -> Any:
    """For each element the product of the others: a tree of pairwise products, up and down."""
    shape = aval_of(x).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    flat = transpose(x, (*axes, *kept))
    count = int(np.prod([shape[a] for a in axes]))
    rows = reshape(flat, (count, *(shape[i] for i in kept)))
    others = _others(rows, count)
    back = reshape(others, aval_of(flat).shape)
    return transpose(back, inverse_permutation((*axes, *kept)))


def _others(rows: Any, count: int) -> Any:
    if count <= 1:
        return full_like(rows, 1)
    half = count // 2
    low, high, last = (
        slice_axis(rows, 0, half),
        slice_axis(rows, half, 2 * half),
        slice_axis(rows, 2 * half, count),
    )
    outside = _others(concatenate([mul(low, high), last], 0), count - half)
    outer, of_last = slice_axis(outside, 0, half), slice_axis(outside, half, count - half)
    return concatenate([mul(outer, high), mul(outer, low), of_last], 0)


reduction(reduce_prod_p, NUMBER, accumulate("multiply"))
forward.rules[reduce_prod_p] = reduce_prod_forward
accumulate_lower(reduce_prod_p, "mul", 1)


def extremum_forward(primitive: Primitive) -> Callable:
    """The mean of the tangents at all positions that attain the extremum."""

    def rule(primals: Sequence, tangents: Sequence, axes: tuple[int, ...]) -> tuple:
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, axes=axes)
        attained = eq(x, spread_back(out, aval_of(x).shape, axes))
        where = convert(attained, aval_of(t).dtype)
        count = reduce_sum_p.bind(where, axes=axes)
        return (out,), (div(reduce_sum_p.bind(mul(t, where), axes=axes), count),)

    return rule


def extremum_evaluate(ufunc: str, highest: bool) -> Rule:
    def evaluate(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
        start, reduce = extreme_of(x.dtype, highest), getattr(xp, ufunc).reduce
        return by_int32(lambda x: reduce(x, axis=axes, initial=start), x)

    return evaluate


def extreme_of(dtype: Any, highest: bool) -> Any:
    """The largest (or smallest) value of a dtype, infinite where it has infinities."""
    if dtype == np.bool_:
        return highest
    if dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        return info.max if highest else info.min
    if not dtypes.supports_inf(dtype):
        info = dtypes.finfo(dtype)
        return info.max if highest else info.min
    value = np.inf if highest else -np.inf
    return np.dtype(dtype).type(value)


for _primitive, _ufunc, _start_high in (
    (reduce_max_p, "maximum", False),
    (reduce_min_p, "minimum", True),
):
    reduction(_primitive, ANY, extremum_evaluate(_ufunc, _start_high))
    forward.rules[_primitive] = extremum_forward(_primitive)


def extremum_lower(primitive: Primitive, op: str) -> None:
    def lower(graph: Graph, x: Element, axes: tuple[int, ...]) -> Fold:
        name = {"max": "or", "min": "and"}[op] if x.dtype == "bool" else op
        return fold_over(graph, x, axes, name, lowering.extreme(x.dtype, op == "min"), x.dtype)

    lowering.folds[primitive] = lower
    lowering.axis_folds.add(primitive)
    lowering.refuse_narrow(primitive, lambda x: x.size == 0)


extremum_lower(reduce_max_p, "max")
extremum_lower(reduce_min_p, "min")


def bitwise_evaluate(ufunc: str) -> Rule:
    return lambda xp, x, axes: by_int32(lambda x: getattr(xp, ufunc).reduce(x, axis=axes), x)


for _primitive, _ufunc in (
    (reduce_and_p, "bitwise_and"),
    (reduce_or_p, "bitwise_or"),
    (reduce_xor_p, "bitwise_xor"),
):
    reduction(_primitive, BITS, bitwise_evaluate(_ufunc))
    forward.zero_derivative(_primitive)


def bitwise_lower(primitive: Primitive, op: str) -> None:
    def lower(graph: Graph, x: Element, axes: tuple[int, ...]) -> Fold:
        every = lowering.constant(graph, -1, x.dtype).data
        return fold_over(graph, x, axes, op, every if op == "and" else 0, x.dtype)

    lowering.folds[primitive] = lower
    lowering.axis_folds.add(primitive)


bitwise_lower(reduce_and_p, "and")
bitwise_lower(reduce_or_p, "or")
bitwise_lower(reduce_xor_p, "xor")


# argmax, argmin


def arg_abstract(name: str) -> Rule:
    def abstract(x: ShapedArray, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
        check_dtype(name, 0, x, ANY)
        if len(axes) != 1 or not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"{name} takes one axis and an integer index_dtype, got axes {axes} and "
                f"{index_dtype}"
            )
        if x.shape[axes[0]] < 1:
            raise ValueError(
                f"{name}: attempt to get {name} of an empty sequence: axis {axes[0]} of shape "
                f"{x.shape} has no elements"
            )
        shape = remove_axes(x.shape, axes)
        return x.update(shape=shape, dtype=np.dtype(index_dtype), weak_type=False)

    return pure(abstract)


def arg_evaluate(name: str) -> Rule:
    return lambda xp, x, axes, index_dtype: getattr(xp, name)(x, axis=axes[0]).astype(index_dtype)


for _primitive in (argmax_p, argmin_p):
    evaluate_rules[_primitive] = single(arg_evaluate(_primitive.name))
    abstract_rules[_primitive] = arg_abstract(_primitive.name)
    forward.zero_derivative(_primitive)
    batching.shifted(_primitive, axes=batching.axes_shifted)


def arg_lower(primitive: Primitive, op: str) -> None:
    def lower(graph: Graph, x: Element, axes: tuple[int, ...], index_dtype: Any) -> Fold:
        (axis,) = axes
        counter = "i32" if x.shape[axis] < 2**31 else "i64"
        start = lowering.extreme(x.dtype, op == "min"), lowering.extreme(counter, True)
        target = lowering.element_type(index_dtype) or ""
        return Fold(
            inner=(x.shape[axis],),
            combine=first_extremum(graph, op, x.dtype, counter, start),
            values=lambda index, inner: (
                x(lowering.interleaved(axes, inner, index)),
                graph.value(inner[0], counter),
            ),
            starts=start,
            finish=lambda value, place: (place.to(target),),
        )

    lowering.folds[primitive] = lower
    lowering.axis_folds.add(primitive)


def first_extremum(graph: Graph, op: str, dtype: str, counter: str, identity: Any) -> Combine:
    """The extremum and the first place that has it, of two values with their places."""
    params = x, i, y, j = [graph.param(k, (dtype, counter)[k % 2]) for k in range(4)]
    better = surpasses(op, y, x) | (~surpasses(op, x, y) & (j < i))
    results = graph.select(better, y, x), graph.select(better, j, i)
    return Combine(tuple(params), results, identity)


def surpasses(op: str, x: Expr, y: Expr) -> Expr:
    """Whether x is a greater maximum (or lesser minimum) than y; nan is the greatest of both."""
    if x.dtype == "bool":
        return x & ~y if op == "max" else ~x & y
    beyond = x > y if op == "max" else x < y
    return beyond | (x.ne(x) & y.eq(y)) if x.dtype in FLOATS else beyond


arg_lower(argmax_p, "max")
arg_lower(argmin_p, "min")
