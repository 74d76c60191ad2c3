"""Cumulative reductions: each element combined with all before it along an axis.

Their derivatives run the same combination as a tree of pairs, which takes log(n) steps and needs
neither division nor a loop.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    broadcast_scalar,
    concatenate,
    eq,
    full_like,
    mul,
    reshape,
    select_n,
    slice_array,
)
from funcgrad.base.shapes import canonical_axis
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.elementary.exponential import exp as exp_element
from funcgrad.compiler.elementary.logarithm import log as log_element
from funcgrad.compiler.loops import FLOATS, Combine, Expr, Graph
from funcgrad.compiler.lowering import Accumulation, Element
from funcgrad.primitives.arithmetic import max as maximum
from funcgrad.primitives.arithmetic import min as minimum
from funcgrad.primitives.arithmetic import sub
from funcgrad.primitives.exponential import exp
from funcgrad.primitives.nary import INEXACT, NUMBER, Accepted, check_dtype
from funcgrad.primitives.structural import rev
from funcgrad.transforms import backward, batching, forward

cumsum_p = Primitive("cumsum")
cumprod_p = Primitive("cumprod")
cummax_p = Primitive("cummax")
cummin_p = Primitive("cummin")
cumlogsumexp_p = Primitive("cumlogsumexp")


def _bind(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Any:
    return primitive.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The sum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cumsum_p, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The product of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cumprod_p, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The maximum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The minimum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """log of the sum of exp of each element and all before it (with `reverse`, after it)."""
    return _bind(cumlogsumexp_p, operand, axis, reverse)


# evaluate


def summing(function: str) -> Callable:
    """cumsum or cumprod: floats narrower than 64 bits are accumulated wider and rounded once."""

    def run(xp: Any, x: Any, axis: int) -> Any:
        return getattr(xp, function)(x, axis=axis, dtype=_wide(x.dtype)).astype(x.dtype, copy=False)

    return run


def extremum(ufunc: str) -> Callable:
    def run(xp: Any, x: Any, axis: int) -> Any:
        wide = x if x.dtype.kind in "iufc" and x.dtype != np.float16 else x.astype(_wide(x.dtype))
        return getattr(xp, ufunc).accumulate(wide, axis=axis).astype(x.dtype, copy=False)

    return run


def _wide(dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.integer):
        return dtype if dtype.kind in "iu" else np.dtype(np.int64)
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def logsumexp(xp: Any, x: Any, axis: int) -> Any:
    wide = x.astype(_wide(x.dtype))
    if x.dtype.kind != "c":
        return xp.logaddexp.accumulate(wide, axis=axis).astype(x.dtype)
    out, step = xp.moveaxis(wide, axis, 0), 1
    out = out.real + 1j * xp.angle(xp.exp(1j * out.imag))
    while step < len(out):
        # Each element covers `step` of them by now; join it with the one that many places before.
        low, high = out[:-step], out[step:]
        shift = xp.maximum(low.real, high.real)
        shift = xp.where(xp.isfinite(shift), shift, 0)
        joined = shift + xp.log(xp.exp(low - shift) + xp.exp(high - shift))
        out, step = xp.concatenate([out[:step], joined]), 2 * step
    return xp.moveaxis(out, 0, axis).astype(x.dtype)


def cumulative(primitive: Primitive, accepted: Accepted, run: Callable) -> None:
    """Register evaluate, abstract and batching; `run(xp, x, axis)` goes from first to last."""

    def evaluate(xp: Any, x: Any, axis: int, reverse: bool) -> Any:
        if not x.size:
            return x
        return xp.flip(run(xp, xp.flip(x, axis), axis), axis) if reverse else run(xp, x, axis)

    def abstract(x: ShapedArray, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(primitive.name, 0, x, accepted)
        if axis < 0:
            raise ValueError(
                f"lax.{primitive.name} counts axes from 0 and takes no negative axes, got {axis} "
                f"for {x.str_short()}"
            )
        canonical_axis(axis, x.ndim)
        return x

    evaluate_rules[primitive] = single(evaluate)
    abstract_rules[primitive] = pure(abstract)
    batching.shifted(primitive, axis=lambda axis, ndim: axis + 1)


cumulative(cumsum_p, NUMBER, summing("cumsum"))
cumulative(cumprod_p, NUMBER, summing("cumprod"))
cumulative(cummax_p, NUMBER, extremum("maximum"))
cumulative(cummin_p, NUMBER, extremum("minimum"))
cumulative(cumlogsumexp_p, INEXACT, logsumexp)


# the tree


def tree_scan(
    combine: Callable[[list, list], list], arrays: Sequence[Any], axis: int, reverse: bool = False
) -> list[Any]:
    """All prefix combinations along an axis, of an associative operation on tuples of arrays.

    Pairs of neighbours are combined and scanned, which gives every other element of the result;
    each of the rest is one more combination.
    """
    if reverse:
        flipped = [rev(x, (axis,)) for x in arrays]
        return [rev(x, (axis,)) for x in tree_scan(combine, flipped, axis)]
    size = aval_of(arrays[0]).shape[axis]
    if size < 2:
        return list(arrays)
    pairs = combine(
        [_every(x, axis, 0, size - 1, 2) for x in arrays],
        [_every(x, axis, 1, size, 2) for x in arrays],
    )
    odd = tree_scan(combine, pairs, axis)
    even = [_every(x, axis, 0, 1) for x in arrays]
    if size > 2:
        later = combine(
            [_every(x, axis, 0, (size - 1) // 2) for x in odd],
            [_every(x, axis, 2, size, 2) for x in arrays],
        )
        even = [concatenate([e, x], axis) for e, x in zip(even, later, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _every(x: Any, axis: int, start: int, limit: int, stride: int = 1) -> Any:
    """x[start:limit:stride] along one axis."""
    shape = aval_of(x).shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return slice_array(x, starts, limits, strides)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Elements of two arrays by turns, beginning with `even`, which may be longer by one."""
    shape, more = aval_of(even).shape, aval_of(odd).shape[axis]
    size = shape[axis]
    if more < size:
        odd = concatenate([odd, _every(even, axis, size - 1, size)], axis)
    columns = [reshape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :])) for x in (even, odd)]
    joined = concatenate(columns, axis + 1)
    joined = reshape(joined, (*shape[:axis], 2 * size, *shape[axis + 1 :]))
    return _every(joined, axis, 0, size + more)


def recurrence(factor: Any, term: Any, axis: int, reverse: bool) -> Any:
    """y with y[i] = factor[i] y[i - 1] + term[i] along an axis, y before the first being 0."""

    def combine(first: list, then: list) -> list:
        (a, b), (c, d) = first, then
        return [mul(a, c), add(mul(b, c), d)]

    return tree_scan(combine, [factor, term], axis, reverse)[1]


def before(x: Any, initial: Any, axis: int, reverse: bool) -> Any:
    """x moved on by one place along an axis, `initial` coming in."""
    shape = aval_of(x).shape
    one = aval_of(x).update(shape=(*shape[:axis], 1, *shape[axis + 1 :]))
    first = broadcast_scalar(initial, one)
    if reverse:
        return concatenate([_every(x, axis, 1, shape[axis]), first], axis)
    return concatenate([first, _every(x, axis, 0, shape[axis] - 1)], axis)


# derivatives

forward.linear(cumsum_p)
backward.unary(cumsum_p, lambda ct, x, axis, reverse: cumsum(ct, axis, not reverse))


def cumulative_forward(primitive: Primitive, tangent: Callable) -> None:
    """Register `tangent(t, out, x, axis, reverse)`, which is not asked for an empty axis."""

    def rule(primals: Sequence, tangents: Sequence, axis: int, reverse: bool) -> tuple:
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, axis=axis, reverse=reverse)
        empty = not aval_of(x).shape[axis]
        return (out,), (t if empty else tangent(t, out, x, axis, reverse),)

    forward.rules[primitive] = rule


def cumprod_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    """The product rule, one factor at a time: no division, so zeros do no harm."""
    return recurrence(x, mul(before(out, 1, axis, reverse), t), axis, reverse)


def cumlogsumexp_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    """Weights exp(x - out) of what came in, and of all that came before."""

    def weight(part: Any) -> Any:
        same = eq(part, out)  # also where both are infinite
        return exp(select_n(same, sub(part, out), full_like(out, 0)))

    earlier = before(out, -np.inf, axis, reverse)
    return recurrence(weight(earlier), mul(weight(x), t), axis, reverse)


def extremum_tangent(choose: Callable) -> Callable:
    """Along the tree of pairs; where two elements tie, each gives half."""

    def tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
        def scan(x: Any) -> list:
            return tree_scan(lambda a, b: [choose(a[0], b[0])], [x], axis, reverse)

        return forward.jvp(scan, [x], [t])[1][0]

    return tangent


cumulative_forward(cumprod_p, cumprod_tangent)
cumulative_forward(cumlogsumexp_p, cumlogsumexp_tangent)
cumulative_forward(cummax_p, extremum_tangent(maximum))
cumulative_forward(cummin_p, extremum_tangent(minimum))


# lowering


def accumulation_lower(op: str, start: Callable, work: Callable) -> Callable[..., Accumulation]:
    """Elements combined as the dtype `work(dtype)` by one operation, whose identity is `start`."""

    def lower(graph: Graph, x: Element, axis: int, reverse: bool) -> Accumulation:
        dtype = work(x.dtype)
        combine = lowering.simple_combine(graph, op, dtype, start(dtype))
        return Accumulation(
            axis,
            reverse,
            combine,
            values=lambda index: (x(index).to(dtype),),
            starts=combine.identity,
            finish=lambda folded: folded.to(x.dtype),
        )

    return lower


def as_double(dtype: str) -> str:
    """Where sums and products are made, so that long ones are as exact as the result."""
    return "f64" if dtype in FLOATS else dtype


def zero(dtype: str) -> float:
    """What sums start from: -0, or a -0 that comes first would be lost."""
    return -0.0 if dtype in FLOATS else 0


def two_sums(graph: Graph) -> Combine:
    """Sums as pairs of what was rounded and the errors of that (Knuth)."""
    x, e, y, f = (graph.param(i, "f64") for i in range(4))
    total = x + y
    shadow = total - x
    error = (x - (total - shadow)) + (y - shadow)
    return Combine((x, e, y, f), (total, (e + f) + error), (zero("f64"), 0.0))


narrow_sums = accumulation_lower("add", zero, as_double)


def cumsum_lower(graph: Graph, x: Element, axis: int, reverse: bool) -> Accumulation:
    """Doubles have no wider type to be summed in, so the errors are summed apart."""
    if x.dtype != "f64":
        return narrow_sums(graph, x, axis, reverse)

    def finish(total: Expr, error: Expr) -> Expr:
        # Not where the sum is a zero with a sign, infinite or nan.
        return graph.select(error.apply("abs") > 0.0, total + error, total)

    return Accumulation(
        axis,
        reverse,
        two_sums(graph),
        values=lambda index: (x(index), graph.const(0.0, "f64")),
        starts=(zero("f64"), 0.0),
        finish=finish,
    )


lowering.accumulations[cumsum_p] = cumsum_lower
lowering.accumulations[cumprod_p] = accumulation_lower("mul", lambda dtype: 1, as_double)
lowering.accumulations[cummax_p] = accumulation_lower(
    "max", lambda dtype: lowering.extreme(dtype, False), lowering.accumulator
)
lowering.accumulations[cummin_p] = accumulation_lower(
    "min", lambda dtype: lowering.extreme(dtype, True), lowering.accumulator
)


def log_sums(graph: Graph) -> Combine:
    """Sums of exp as pairs (m, s) that stand for s e^m, where m is the greatest exponent."""
    m, s, n, t = (graph.param(i, "f64") for i in range(4))
    equal = m.eq(n)  # also where both are infinite
    scale = exp_element(-graph.select(equal, 0.0, m - n).apply("abs"))
    later = n > m
    total = graph.select(later, s, t) * scale + graph.select(later, t, s)
    return Combine((m, s, n, t), (m.apply("max", n), total), (-np.inf, 0.0))


def cumlogsumexp_lower(graph: Graph, x: Element, axis: int, reverse: bool) -> Accumulation:
    def finish(most: Expr, total: Expr) -> Expr:
        return (most + log_element(total)).to(x.dtype)

    return Accumulation(
        axis,
        reverse,
        log_sums(graph),
        values=lambda index: (x(index).to("f64"), graph.const(1.0, "f64")),
        starts=(-np.inf, 0.0),
        finish=finish,
    )


lowering.accumulations[cumlogsumexp_p] = cumlogsumexp_lower
