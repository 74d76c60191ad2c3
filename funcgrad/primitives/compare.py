"""Comparisons, and choosing between arrays: eq, lt, ..., select_n, clamp, is_finite."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    broadcast_in_dim,
    convert,
    eq_p,
    full_like,
    mul,
    select_n,
    select_n_p,
)
from funcgrad.base.lists import present
from funcgrad.base.trace import Primitive, Rule, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.primitives.nary import ANY, BITS, FLOAT, always, by_int32, elementwise, ufunc
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.forward import instantiate_zeros

ne_p = Primitive("ne")
lt_p = Primitive("lt")
le_p = Primitive("le")
gt_p = Primitive("gt")
ge_p = Primitive("ge")
is_finite_p = Primitive("is_finite")
clamp_p = Primitive("clamp")
not_p = Primitive("not")
and_p = Primitive("and")
or_p = Primitive("or")
xor_p = Primitive("xor")


def ne(x: Any, y: Any) -> Any:
    """Elementwise x != y."""
    return ne_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    """Elementwise x < y; complex numbers are not ordered."""
    return lt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    """Elementwise x <= y."""
    return le_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    """Elementwise x > y."""
    return gt_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    """Elementwise x >= y."""
    return ge_p.bind(x, y)


def is_finite(x: Any) -> Any:
    """Elementwise: neither infinite nor nan."""
    return is_finite_p.bind(x)


def bitwise_not(x: Any) -> Any:
    """Elementwise ~x; logical negation of booleans."""
    return not_p.bind(x)


def bitwise_and(x: Any, y: Any) -> Any:
    """Elementwise x & y of booleans or integers."""
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """Elementwise x | y of booleans or integers."""
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """Elementwise x ^ y of booleans or integers."""
    return xor_p.bind(x, y)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Elementwise `on_true` where pred, else `on_false`; pred is a scalar or of their shape."""
    return select_n(pred, on_false, on_true)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x limited to the range min..max; the bounds are scalars or shaped like x."""
    return clamp_p.bind(min, x, max)


def comparing(compare: Callable[[Any, Any], Any]) -> Rule:
    return lambda xp, x, y: compare(x, y)


# Keys are equal or not; more cannot be asked of them, and of their buffers no ufunc can.
for _primitive, _compare, _accepted in (
    (eq_p, operator.eq, (*ANY, dtypes.prng_key)),
    (ne_p, operator.ne, (*ANY, dtypes.prng_key)),
    (lt_p, operator.lt, ANY),
    (le_p, operator.le, ANY),
    (gt_p, operator.gt, ANY),
    (ge_p, operator.ge, ANY),
):
    elementwise(_primitive, _accepted, comparing(_compare), always(np.bool_))
    forward.zero_derivative(_primitive)


def comparing_lower(
    compare: Callable[[Expr, Expr], Expr], of_booleans: Callable[[Expr, Expr], Expr]
) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: (of_booleans if x.dtype == "bool" else compare)(x, y)


lowering.elementwise(eq_p, comparing_lower(Expr.eq, lambda x, y: ~(x ^ y)))
lowering.elementwise(ne_p, comparing_lower(Expr.ne, operator.xor))
lowering.elementwise(lt_p, comparing_lower(operator.lt, lambda x, y: ~x & y))
lowering.elementwise(le_p, comparing_lower(operator.le, lambda x, y: ~x | y))
lowering.elementwise(gt_p, comparing_lower(operator.gt, lambda x, y: x & ~y))
lowering.elementwise(ge_p, comparing_lower(operator.ge, lambda x, y: x | ~y))

elementwise(is_finite_p, FLOAT, lambda xp, x: xp.isfinite(x), always(np.bool_))
forward.zero_derivative(is_finite_p)
lowering.elementwise(is_finite_p, lambda x: x.apply("abs") < math.inf)

for _primitive, _name in (
    (not_p, "bitwise_not"),
    (and_p, "bitwise_and"),
    (or_p, "bitwise_or"),
    (xor_p, "bitwise_xor"),
):
    elementwise(_primitive, BITS, ufunc(_name))
    forward.zero_derivative(_primitive)

lowering.elementwise(not_p, lambda x: ~x)
lowering.elementwise(and_p, operator.and_)
lowering.elementwise(or_p, operator.or_)
lowering.elementwise(xor_p, operator.xor)


# select_n


def select_abstract(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise TypeError("select_n needs at least one case")
    first = cases[0]
    if any(c.shape != first.shape for c in cases):
        raise TypeError(
            f"select needs cases of equal shapes, got {', '.join(str(c.shape) for c in cases)}"
        )
    if any(c.dtype != first.dtype for c in cases):
        raise TypeError(
            f"select needs cases of equal dtypes, got {', '.join(str(c.dtype) for c in cases)}"
        )
    if which.dtype != np.bool_ and which.dtype != np.int32:
        raise TypeError(f"select takes a bool or int32 `which`, got {which.str_short()}")
    if which.dtype == np.bool_ and len(cases) > 2:
        raise TypeError(f"select with a boolean `which` takes 2 cases, got {len(cases)}")
    if which.shape and which.shape != first.shape:
        raise TypeError(
            f"select takes a `which` that is a scalar or has the cases' shape {first.shape}, got "
            f"shape {which.shape}"
        )
    return first.update(weak_type=all(c.weak_type for c in cases))


def select_evaluate(xp: Any, which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return cases[0]
    if len(cases) == 2:
        chosen = which if which.dtype == bool else which.astype(bool)
        return xp.where(chosen, cases[1], cases[0])
    index = xp.clip(which, 0, len(cases) - 1)
    if not index.shape:
        return cases[int(index)]
    return xp.take_along_axis(xp.stack(cases), index[None], 0)[0]


def select_forward(primals: Sequence, tangents: Sequence) -> tuple:
    which, *cases = primals
    out = select_n(which, *cases)
    if not any(present(tangents[1:])):
        return (out,), (None,)
    return (out,), (select_n(which, *map(instantiate_zeros, cases, tangents[1:])),)


def select_backward(cts: Sequence, which: Any, *cases: Any) -> list[Any]:
    (ct,) = cts
    zeros = full_like(ct, 0)
    return [None] + [
        select_n(which, *(ct if j == i else zeros for j in range(len(cases))))
        if is_linear(case)
        else None
        for i, case in enumerate(cases)
    ]


def select_batch(axis: Any, values: Sequence, axes: Sequence) -> Any:
    which, *cases = values
    if axes[0] is None and not aval_of(which).shape:
        moved = [batching.to_front(axis, c, a) for c, a in zip(cases, axes[1:], strict=True)]
        return (select_n(which, *moved),), (0,)
    moved = [batching.to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
    shape = aval_of(moved[1]).shape
    if aval_of(moved[0]).ndim < len(shape):
        moved[0] = broadcast_in_dim(moved[0], shape, (0,))
    return (select_n(*moved),), (0,)


def select_members(which: Any, *cases: Any) -> Any:
    """For each member along axis 0 of the cases, the one that its entry of `which` names."""
    return select_n(broadcast_in_dim(which, aval_of(cases[0]).shape, (0,)), *cases)


evaluate_rules[select_n_p] = single(select_evaluate)
abstract_rules[select_n_p] = pure(select_abstract)
forward.rules[select_n_p] = select_forward
backward.rules[select_n_p] = select_backward
batching.rules[select_n_p] = select_batch


def select_lower(
    graph: Graph, index: lowering.Position, which: lowering.Element, *cases: lowering.Element
) -> Expr:
    """Each case where `which` reaches its number; numbers beyond the ends mean the ends."""
    chosen = cases[0](index)
    if len(cases) == 1:
        return chosen
    number = lowering.at_broadcast(which, index)
    if len(cases) == 2:
        second = number if number.dtype == "bool" else number.ne(0)
        return graph.select(second, cases[1](index), chosen)
    for k, case in enumerate(cases[1:], 1):
        chosen = graph.select(number >= k, case(index), chosen)
    return chosen


lowering.rules[select_n_p] = select_lower
lowering.movers.add(select_n_p)


# clamp


def clamp_abstract(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    if not low.dtype == x.dtype == high.dtype:
        raise TypeError(
            "clamp takes min, operand and max in the same dtypes, got "
            f"{low.dtype}, {x.dtype}, {high.dtype}"
        )
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp requires {name} to be a scalar or of the operand's shape {x.shape}, got "
                f"{bound.shape}"
            )
    return x.update(weak_type=low.weak_type and x.weak_type and high.weak_type)


def clamp_partial(which: int) -> Any:
    """The derivative with respect to min, x or max: 1 where that is the one returned."""

    def partial(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
        mask = (
            bitwise_and(gt(low, x), lt(low, high)),
            bitwise_and(gt(x, low), lt(x, high)),
            gt(x, high),
        )[which]
        return mul(convert(mask, aval_of(t).dtype), t)

    return partial


def clamp_batch(axis: Any, values: Sequence, axes: Sequence) -> Any:
    x = batching.to_front(axis, values[1], axes[1])
    shape = aval_of(x).shape

    def bound(value: Any, at: int | None) -> Any:
        if at is None and not aval_of(value).shape:
            return value
        value = batching.to_front(axis, value, at)
        return broadcast_in_dim(value, shape, range(aval_of(value).ndim))

    return (clamp(bound(values[0], axes[0]), x, bound(values[2], axes[2])),), (0,)


def clamp_evaluate(xp: Any, low: Any, x: Any, high: Any) -> Any:
    return by_int32(lambda low, x, high: xp.minimum(xp.maximum(x, low), high), low, x, high)


evaluate_rules[clamp_p] = single(clamp_evaluate)
abstract_rules[clamp_p] = pure(clamp_abstract)
forward.elementwise(clamp_p, clamp_partial(0), clamp_partial(1), clamp_partial(2))
batching.rules[clamp_p] = clamp_batch
lowering.elementwise(
    clamp_p,
    lambda low, x, high: lowering.extremum("min", lowering.extremum("max", x, low), high),
)
