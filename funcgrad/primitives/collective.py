"""Collectives: operations that speak to the other members of a named axis.

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
    full_like,
    iota,
    moveaxis,
    mul,
    reduce_sum,
    reshape,
    scalar_like,
    slice_array,
)
from funcgrad.base.shapes import insert_dim, remove_axes
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.reduction import reduce_max, reduce_min
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.batching import BatchAxis, to_front

psum_p = Primitive("psum")
pmax_p = Primitive("pmax")
pmin_p = Primitive("pmin")
ppermute_p = Primitive("ppermute")
all_gather_p = Primitive("all_gather")
all_to_all_p = Primitive("all_to_all")
reduce_scatter_p = Primitive("reduce_scatter")
axis_index_p = Primitive("axis_index")

Groups = tuple[tuple[int, ...], ...] | None


def names_of(axis_name: AxisName | Sequence[AxisName]) -> tuple[AxisName, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def named_effects(names: Sequence[AxisName]) -> Effects:
    return frozenset(NamedAxisEffect(n) for n in names)


def communicator_of(name: AxisName, asked_by: str) -> Communicator:
    """Who carries values along an axis while a program runs."""
    axis = find_axis(name, asked_by)
    if axis.communicator is None:
        raise RuntimeError(f"{asked_by}: nothing runs along the axis {name!r} here")
    return axis.communicator


def over_groups(axis: BatchAxis, value: Any, groups: Groups, combine: Callable) -> Any:
    """`combine` (over axis 0) within each group of members; every member gets its group's."""
    if groups is None:
        return combine(value)
    rows: dict[int, Any] = {}
    for group in groups:
        members = concatenate([member(value, i) for i in group], 0)
        result = expand(combine(members), 0)
        rows.update(dict.fromkeys(group, result))
    return concatenate([rows[i] for i in range(axis.size)], 0)


def member(value: Any, index: int) -> Any:
    """Row `index` of a batch, as a batch of one."""
    shape = aval_of(value).shape
    return slice_array(value, [index, *[0] * (len(shape) - 1)], [index + 1, *shape[1:]])


# psum, pmax, pmin


def reducer(
    primitive: Primitive, combine: str, reduce: Callable, of_same: Callable[[Any, int], Any]
) -> None:
    """Register evaluate, abstract and batching of an all-reduce.

    `reduce(x, axes)` is the reduction over array axes; `of_same(x, n)` that of n equal members.
    """

    def evaluate(xp: Any, x: Any, *, axes: tuple, axis_index_groups: Groups) -> tuple:
        for name in axes:
            comm = communicator_of(name, primitive.name)
            x = comm.reduce(x, getattr(xp, combine), axis_index_groups)
        return (x,)

    def abstract(x: ShapedArray, *, axes: tuple, axis_index_groups: Groups) -> tuple:
        return (x,), named_effects(axes)

    def batch(
        axis: BatchAxis,
        values: Sequence,
        mapped: Sequence,
        /,
        *,
        axes: tuple,
        axis_index_groups: Groups,
    ) -> tuple:
        (x,), (at,) = values, mapped
        if axis.name not in axes or axis.name is None:
            params = {"axes": axes, "axis_index_groups": axis_index_groups}
            return primitive.bind(x, **params), mapped
        if at is None:
            size = axis.size if axis_index_groups is None else len(axis_index_groups[0])
            out, at = of_same(x, size), None
        else:
            x = moveaxis(x, at, 0)
            out = over_groups(axis, x, axis_index_groups, lambda v: reduce(v, (0,)))
            at = None if axis_index_groups is None else 0
        rest = tuple(n for n in axes if n != axis.name)
        if rest:
            out = primitive.bind1(out, axes=rest, axis_index_groups=None)
        return (out,), (at,)

    evaluate_rules[primitive] = evaluate
    abstract_rules[primitive] = abstract
    batching.rules[primitive] = batch


def times(x: Any, size: int) -> Any:
    return mul(x, scalar_like(size, x))


reducer(psum_p, "add", reduce_sum, times)
forward.linear(psum_p)
backward.unary(psum_p, lambda ct, x, **params: psum_p.bind1(ct, **params))

reducer(pmax_p, "maximum", reduce_max, lambda x, size: x)
reducer(pmin_p, "minimum", reduce_min, lambda x, size: x)


def extremum_forward(primitive: Primitive) -> Callable:
    """The mean of the tangents of the members that attain the extremum."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        (x,), (t,) = primals, tangents
        out = primitive.bind1(x, **params)
        attained = convert(eq(x, out), aval_of(t).dtype)
        total = psum_p.bind1(mul(attained, t), **params)
        return (out,), (div(total, psum_p.bind1(attained, **params)),)

    return rule


forward.rules[pmax_p] = extremum_forward(pmax_p)
forward.rules[pmin_p] = extremum_forward(pmin_p)


# ppermute


def ppermute_evaluate(xp: Any, x: Any, *, axis_name: AxisName, perm: tuple) -> tuple:
    return (communicator_of(axis_name, "ppermute").permute(x, perm),)


def ppermute_abstract(x: ShapedArray, *, axis_name: AxisName, perm: tuple) -> tuple:
    sources, targets = [s for s, _ in perm], [d for _, d in perm]
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(f"ppermute sources and destinations must be unique, got perm={list(perm)}")
    return (x,), named_effects((axis_name,))


def ppermute_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, /, *, axis_name: AxisName, perm: tuple
) -> tuple:
    if axis_name != axis.name:
        return ppermute_p.bind(*values, axis_name=axis_name, perm=perm), axes
    x = to_front(axis, values[0], axes[0])
    source_of = {d: s for s, d in perm}
    nothing = full_like(member(x, 0), 0)
    rows = [member(x, source_of[i]) if i in source_of else nothing for i in range(axis.size)]
    return (concatenate(rows, 0),), (0,)


evaluate_rules[ppermute_p] = ppermute_evaluate
abstract_rules[ppermute_p] = ppermute_abstract
forward.linear(ppermute_p)
backward.unary(
    ppermute_p,
    lambda ct, x, axis_name, perm: ppermute_p.bind1(
        ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm)
    ),
)
batching.rules[ppermute_p] = ppermute_batch


# all_gather and its transpose reduce_scatter


def all_gather_shape(shape: tuple[int, ...], dim: int, size: int, tiled: bool) -> tuple[int, ...]:
    if tiled:
        return (*shape[:dim], shape[dim] * size, *shape[dim + 1 :])
    return insert_dim(shape, dim, size)


def merge_axis(x: Any, dim: int, tiled: bool) -> Any:
    """Gathered members in front: put that axis at `dim`, or merge it into axis `dim`."""
    out = moveaxis(x, 0, dim)
    if not tiled:
        return out
    shape = aval_of(out).shape
    return reshape(out, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def all_gather_evaluate(
    xp: Any,
    x: Any,
    *,
    axis_name: tuple,
    axis_size: int,
    dim: int,
    tiled: bool,
    axis_index_groups: Groups,
) -> tuple:
    for name in reversed(axis_name):
        gathered = communicator_of(name, "all_gather").gather(x, axis_index_groups)
        x = xp.concatenate(gathered, dim) if tiled else xp.stack(gathered, dim)
    return (x,)


def all_gather_abstract(
    x: ShapedArray,
    *,
    axis_name: tuple,
    axis_size: int,
    dim: int,
    tiled: bool,
    axis_index_groups: Groups,
) -> tuple:
    shape = all_gather_shape(x.shape, dim, axis_size, tiled)
    return (x.update(shape=shape),), named_effects(axis_name)


def all_gather_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, /, *, axis_name: tuple, dim: int, tiled: bool,
    **params: Any,
) -> tuple:  # fmt: skip
    (x,), (at,) = values, axes
    if axis.name not in axis_name:
        x = to_front(axis, x, at)
        out = all_gather_p.bind1(x, axis_name=axis_name, dim=dim + 1, tiled=tiled, **params)
        return (out,), (0,)
    x = to_front(axis, x, at)
    groups: Groups = params["axis_index_groups"]
    out = over_groups(axis, x, groups, lambda v: merge_axis(v, dim, tiled))
    return (out,), (None if groups is None else 0,)


def all_gather_backward(ct: Any, x: Any, **params: Any) -> Any:
    return reduce_scatter_p.bind1(ct, **params)


evaluate_rules[all_gather_p] = all_gather_evaluate
abstract_rules[all_gather_p] = all_gather_abstract
forward.linear(all_gather_p)
backward.unary(all_gather_p, all_gather_backward)
batching.rules[all_gather_p] = all_gather_batch


def reduce_scatter_evaluate(
    xp: Any,
    x: Any,
    *,
    axis_name: tuple,
    axis_size: int,
    dim: int,
    tiled: bool,
    axis_index_groups: Groups,
) -> tuple:
    for name in axis_name:
        comm = communicator_of(name, "psum_scatter")
        moved = xp.moveaxis(x, dim, 0)
        members = comm.size if axis_index_groups is None else len(axis_index_groups[0])
        parts = moved.reshape(members, moved.shape[0] // members, *moved.shape[1:])
        mine = comm.scatter_reduce(parts, xp.add, axis_index_groups)
        x = xp.moveaxis(mine, 0, dim) if tiled else mine[0]
    return (x,)


def reduce_scatter_abstract(
    x: ShapedArray,
    *,
    axis_name: tuple,
    axis_size: int,
    dim: int,
    tiled: bool,
    axis_index_groups: Groups,
) -> tuple:
    if tiled:
        if x.shape[dim] % axis_size:
            raise ValueError(
                f"psum_scatter: dimension {dim} of shape {x.shape} must be divisible by the axis "
                f"size {axis_size}"
            )
        shape = (*x.shape[:dim], x.shape[dim] // axis_size, *x.shape[dim + 1 :])
    else:
        if x.shape[dim] != axis_size:
            raise ValueError(
                f"psum_scatter: dimension {dim} of shape {x.shape} must equal the axis size "
                f"{axis_size} (or use tiled=True)"
            )
        shape = remove_axes(x.shape, (dim,))
    return (x.update(shape=shape),), named_effects(axis_name)


def reduce_scatter_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, /, *, axis_name: tuple, dim: int, tiled: bool,
    **params: Any,
) -> tuple:  # fmt: skip
    (x,), (at,) = values, axes
    if axis.name not in axis_name:
        x = to_front(axis, x, at)
        out = reduce_scatter_p.bind1(x, axis_name=axis_name, dim=dim + 1, tiled=tiled, **params)
        return (out,), (0,)
    groups: Groups = params["axis_index_groups"]
    x = to_front(axis, x, at)
    total = over_groups(axis, x, groups, lambda v: reduce_sum(v, (0,)))
    if groups is None:
        total = moveaxis(total, dim, 0)
        return (split_members(total, axis.size, dim, tiled),), (0,)
    rows: dict[int, Any] = {}
    for group in groups:
        for place, i in enumerate(group):
            row = moveaxis(reshape(member(total, i), aval_of(total).shape[1:]), dim, 0)
            rows[i] = member(split_members(row, len(group), dim, tiled), place)
    return (concatenate([rows[i] for i in range(axis.size)], 0),), (0,)


def split_members(x: Any, size: int, dim: int, tiled: bool) -> Any:
    """Axis 0 cut into `size` parts, one a member, in front; what is left of it goes to `dim`."""
    if not tiled:
        return x
    shape = aval_of(x).shape
    parts = reshape(x, (size, shape[0] // size, *shape[1:]))
    return moveaxis(parts, 1, dim + 1)


evaluate_rules[reduce_scatter_p] = reduce_scatter_evaluate
abstract_rules[reduce_scatter_p] = reduce_scatter_abstract
forward.linear(reduce_scatter_p)
backward.unary(reduce_scatter_p, lambda ct, x, **params: all_gather_p.bind1(ct, **params))
batching.rules[reduce_scatter_p] = reduce_scatter_batch


# all_to_all: split an axis among the members, and join what comes back along another


def all_to_all_evaluate(
    xp: Any,
    x: Any,
    *,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
) -> tuple:
    comm = communicator_of(axis_name, "all_to_all")
    parts = comm.all_to_all(xp.moveaxis(x, split_axis, 0), axis_index_groups)
    return (xp.moveaxis(xp.stack(parts), 0, concat_axis),)


def all_to_all_abstract(
    x: ShapedArray,
    *,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
) -> tuple:
    size = x.shape[split_axis]
    shape = insert_dim(remove_axes(x.shape, (split_axis,)), concat_axis, size)
    return (x.update(shape=shape),), named_effects((axis_name,))


def all_to_all_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, /, *, axis_name: AxisName, split_axis: int,
    concat_axis: int, axis_index_groups: Groups,
) -> tuple:  # fmt: skip
    x = to_front(axis, values[0], axes[0])
    if axis_name != axis.name:
        out = all_to_all_p.bind1(
            x,
            axis_name=axis_name,
            split_axis=split_axis + 1,
            concat_axis=concat_axis + 1,
            axis_index_groups=axis_index_groups,
        )
        return (out,), (0,)
    if axis_index_groups is None:
        swapped = moveaxis(x, split_axis + 1, 0)
        return (moveaxis(swapped, 1, concat_axis + 1),), (0,)
    rows: dict[int, Any] = {}
    for group in axis_index_groups:
        members = concatenate([member(x, i) for i in group], 0)
        swapped = moveaxis(moveaxis(members, split_axis + 1, 0), 1, concat_axis + 1)
        rows.update({i: member(swapped, place) for place, i in enumerate(group)})
    return (concatenate([rows[i] for i in range(axis.size)], 0),), (0,)


def all_to_all_backward(
    ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any
) -> Any:
    return all_to_all_p.bind1(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


evaluate_rules[all_to_all_p] = all_to_all_evaluate
abstract_rules[all_to_all_p] = all_to_all_abstract
forward.linear(all_to_all_p)
backward.unary(all_to_all_p, all_to_all_backward)
batching.rules[all_to_all_p] = all_to_all_batch


# axis_index


def axis_index_evaluate(xp: Any, *, axis_name: AxisName) -> tuple:
    return (np.array(communicator_of(axis_name, "axis_index").index(), np.int32),)


evaluate_rules[axis_index_p] = axis_index_evaluate
abstract_rules[axis_index_p] = lambda *, axis_name: (
    (shaped((), np.dtype(np.int32)),),
    named_effects((axis_name,)),
)
forward.zero_derivative(axis_index_p)
batching.rules[axis_index_p] = lambda axis, values, axes, /, *, axis_name: (
    (iota(np.int32, (axis.size,)),),
    (0,),
)
