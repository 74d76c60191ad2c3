"""Collectives: sums and extrema over the members of a named axis, and a member's own place.

Under `vmap(axis_name=...)` the members are slices of one array, so a collective becomes ordinary
array work; under `pmap` they are devices, and a communicator carries the values.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.axes import AxisName, Communicator, NamedAxisEffect, find_axis
from funcgrad.base.basis import (
    concatenate,
    convert,
    eq,
    expand,
    iota,
    moveaxis,
    mul,
    reduce_sum,
    scalar_like,
    slice_axis,
)
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules, single
from funcgrad.compiler import lowering
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.reduction import reduce_max, reduce_min
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.batching import BatchAxis

psum_p = Primitive("psum")
pmax_p = Primitive("pmax")
pmin_p = Primitive("pmin")
axis_index_p = Primitive("axis_index")

Names = tuple[AxisName, ...]
Groups = tuple[tuple[int, ...], ...] | None


def names_of(axis_name: AxisName | Sequence[AxisName]) -> Names:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def named_effects(names: Sequence[AxisName]) -> Effects:
    return frozenset(NamedAxisEffect(n) for n in names)


def communicator_of(name: AxisName, asked_by: str) -> Communicator:
    """Who carries values along an axis while a program runs."""
    axis = find_axis(name, asked_by)
    if axis.communicator is None:
        raise RuntimeError(f"{asked_by}: nothing runs along the axis {name!r} here")
    return axis.communicator


def within_groups(axis: BatchAxis, value: Any, groups: Groups, exchange: Callable) -> Any:
    """`exchange`, from the members' values to what each gets, within each group apart."""
    if groups is None:
        return exchange(value)
    rows: dict[int, Any] = {}
    for group in groups:
        results = exchange(concatenate([member(value, i) for i in group], 0))
        rows.update({i: member(results, place) for place, i in enumerate(group)})
    return concatenate([rows[i] for i in range(axis.size)], 0)


def combined(
    axis: BatchAxis, value: Any, groups: Groups, combine: Callable
) -> tuple[Any, int | None]:
    """What `combine` makes of the members' values: one result for all, or one for each group."""
    if groups is None:
        return combine(value), None
    size = len(groups[0])
    return within_groups(axis, value, groups, lambda v: expand(combine(v), 0, size)), 0


def member(value: Any, index: int) -> Any:
    """Row `index` of a batch, as a batch of one."""
    return slice_axis(value, index, index + 1)


# psum, pmax, pmin


def reducer(
    primitive: Primitive, combine: str, reduce: Callable, of_same: Callable[[Any, int], Any]
) -> None:
    """Register evaluate, abstract and batching of an all-reduce.

    `reduce(x, axes)` is the reduction over array axes; `of_same(x, n)` that of n equal members.
    """

    def evaluate(xp: Any, x: Any, axes: Names, axis_index_groups: Groups) -> tuple:
        for name in axes:
            comm = communicator_of(name, primitive.name)
            x = comm.reduce(x, getattr(xp, combine), axis_index_groups)
        return (x,)

    def abstract(x: ShapedArray, axes: Names, axis_index_groups: Groups) -> tuple:
        return (x,), named_effects(axes)

    def batch(
        axis: BatchAxis,
        values: Sequence,
        at_axes: Sequence,
        /,
        axes: Names,
        axis_index_groups: Groups,
    ) -> tuple:
        (x,), (at,) = values, at_axes
        if axis.name is None or axis.name not in axes:
            out = primitive.bind(x, axes=axes, axis_index_groups=axis_index_groups)
            return (out,), at_axes
        if at is None:
            size = axis.size if axis_index_groups is None else len(axis_index_groups[0])
            out, at = of_same(x, size), None
        else:
            x = moveaxis(x, at, 0)
            out, at = combined(axis, x, axis_index_groups, lambda v: reduce(v, (0,)))
        rest = tuple(n for n in axes if n != axis.name)
        if rest:
            out = primitive.bind(out, axes=rest, axis_index_groups=None)
        return (out,), (at,)

    evaluate_rules[primitive] = evaluate
    abstract_rules[primitive] = abstract
    batching.rules[primitive] = batch


def times(x: Any, size: int) -> Any:
    return mul(x, scalar_like(size, x))


reducer(psum_p, "add", reduce_sum, times)
forward.linear(psum_p)
backward.unary(psum_p, lambda ct, x, **params: psum_p.bind(ct, **params))

reducer(pmax_p, "maximum", reduce_max, lambda x, size: x)
reducer(pmin_p, "minimum", reduce_min, lambda x, size: x)


def extremum_forward(primitive: Primitive) -> Callable:
    """The mean of the tangents of the members that attain the extremum."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, **params)
        attained = convert(eq(x, out), aval_of(t).dtype)
        total = psum_p.bind(mul(attained, t), **params)
        return (out,), (div(total, psum_p.bind(attained, **params)),)

    return rule


forward.rules[pmax_p] = extremum_forward(pmax_p)
forward.rules[pmin_p] = extremum_forward(pmin_p)


# axis_index


INDEX = shaped((), np.dtype(np.int32))


def axis_index_evaluate(xp: Any, axis_name: AxisName) -> Any:
    return np.array(communicator_of(axis_name, "axis_index").index(), np.int32)


def axis_index_batch(axis: BatchAxis, values: Sequence, axes: Sequence, axis_name: Any) -> tuple:
    return (iota(np.int32, (axis.size,)),), (0,)


evaluate_rules[axis_index_p] = single(axis_index_evaluate)
abstract_rules[axis_index_p] = lambda axis_name: ((INDEX,), named_effects((axis_name,)))
forward.zero_derivative(axis_index_p)
batching.rules[axis_index_p] = axis_index_batch

# Members hand their arrays to each other, and go on while the others still read them.
lowering.keepers.update((psum_p, pmax_p, pmin_p))
