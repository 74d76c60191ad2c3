"""Collectives that move values: each member of a named axis sends, and gets what others sent."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.axes import AxisName
from funcgrad.base.basis import concatenate, full_like, moveaxis, reduce_sum, reshape
from funcgrad.base.shapes import insert_dim, remove_axes
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, single
from funcgrad.compiler import lowering
from funcgrad.primitives.collective import (
    Groups,
    Names,
    combined,
    communicator_of,
    member,
    named_effects,
    within_groups,
)
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.batching import BatchAxis, to_front

ppermute_p = Primitive("ppermute")
all_gather_p = Primitive("all_gather")
reduce_scatter_p = Primitive("reduce_scatter")
all_to_all_p = Primitive("all_to_all")


# ppermute


def ppermute_evaluate(xp: Any, x: Any, axis_name: AxisName, perm: tuple) -> Any:
    return communicator_of(axis_name, "ppermute").permute(x, perm)


def ppermute_abstract(x: ShapedArray, axis_name: AxisName, perm: tuple) -> tuple:
    sources, targets = [s for s, _ in perm], [d for _, d in perm]
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(
            "ppermute lets no two pairs share a source or a destination (each must be unique), got "
            f"perm={list(perm)}"
        )
    return (x,), named_effects((axis_name,))


def ppermute_backward(ct: Any, x: Any, axis_name: AxisName, perm: tuple) -> Any:
    return ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm))


def ppermute_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, axis_name: AxisName, perm: tuple
) -> tuple:
    if axis_name != axis.name:
        return (ppermute_p.bind(*values, axis_name=axis_name, perm=perm),), axes
    x = to_front(axis, values[0], axes[0])
    source_of = {d: s for s, d in perm}
    nothing = full_like(member(x, 0), 0)
    rows = [member(x, source_of[i]) if i in source_of else nothing for i in range(axis.size)]
    return (concatenate(rows, 0),), (0,)


evaluate_rules[ppermute_p] = single(ppermute_evaluate)
abstract_rules[ppermute_p] = ppermute_abstract
forward.linear(ppermute_p)
backward.unary(ppermute_p, ppermute_backward)
batching.rules[ppermute_p] = ppermute_batch


# all_gather and its transpose reduce_scatter


def all_gather_evaluate(
    xp: Any, x: Any, axis_name: Names, dim: int, tiled: bool, axis_index_groups: Groups, **_: Any
) -> Any:
    for name in reversed(axis_name):
        gathered = communicator_of(name, "all_gather").gather(x, axis_index_groups)
        x = xp.concatenate(gathered, dim) if tiled else xp.stack(gathered, dim)
    return x


def all_gather_abstract(
    x: ShapedArray, axis_name: Names, axis_size: int, dim: int, tiled: bool, **_: Any
) -> tuple:
    if tiled:
        shape = (*x.shape[:dim], x.shape[dim] * axis_size, *x.shape[dim + 1 :])
    else:
        shape = insert_dim(x.shape, dim, axis_size)
    return (x.update(shape=shape),), named_effects(axis_name)


def all_gather_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    axis_name: Names,
    dim: int,
    tiled: bool,
    **params: Any,
) -> tuple:
    x = to_front(axis, values[0], axes[0])
    if axis.name not in axis_name:
        out = all_gather_p.bind(x, axis_name=axis_name, dim=dim + 1, tiled=tiled, **params)
        return (out,), (0,)
    groups: Groups = params["axis_index_groups"]
    out, at = combined(axis, x, groups, lambda v: joined_members(v, dim, tiled))
    return (out,), (at,)


def joined_members(x: Any, dim: int, tiled: bool) -> Any:
    """Members in front: put that axis at `dim`, or merge it into axis `dim`."""
    out = moveaxis(x, 0, dim)
    if not tiled:
        return out
    shape = aval_of(out).shape
    return reshape(out, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


evaluate_rules[all_gather_p] = single(all_gather_evaluate)
abstract_rules[all_gather_p] = all_gather_abstract
forward.linear(all_gather_p)
backward.unary(all_gather_p, lambda ct, x, **params: reduce_scatter_p.bind(ct, **params))
batching.rules[all_gather_p] = all_gather_batch


def reduce_scatter_evaluate(
    xp: Any, x: Any, axis_name: Names, dim: int, tiled: bool, axis_index_groups: Groups, **_: Any
) -> Any:
    for name in axis_name:
        comm = communicator_of(name, "psum_scatter")
        moved = xp.moveaxis(x, dim, 0)
        members = comm.size if axis_index_groups is None else len(axis_index_groups[0])
        parts = moved.reshape(members, moved.shape[0] // members, *moved.shape[1:])
        mine = comm.scatter_reduce(parts, xp.add, axis_index_groups)
        x = xp.moveaxis(mine, 0, dim) if tiled else mine[0]
    return x


def reduce_scatter_abstract(
    x: ShapedArray, axis_name: Names, axis_size: int, dim: int, tiled: bool, **_: Any
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
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    axis_name: Names,
    dim: int,
    tiled: bool,
    **params: Any,
) -> tuple:
    x = to_front(axis, values[0], axes[0])
    if axis.name not in axis_name:
        out = reduce_scatter_p.bind(x, axis_name=axis_name, dim=dim + 1, tiled=tiled, **params)
        return (out,), (0,)

    def exchange(members: Any) -> Any:
        """Axis `dim` of the sum cut up, one part a member; what is left of it stays at `dim`."""
        total = moveaxis(reduce_sum(members, (0,)), dim, 0)
        if not tiled:
            return total
        size, (length, *rest) = aval_of(members).shape[0], aval_of(total).shape
        return moveaxis(reshape(total, (size, length // size, *rest)), 1, dim + 1)

    return (within_groups(axis, x, params["axis_index_groups"], exchange),), (0,)


evaluate_rules[reduce_scatter_p] = single(reduce_scatter_evaluate)
abstract_rules[reduce_scatter_p] = reduce_scatter_abstract
forward.linear(reduce_scatter_p)
backward.unary(reduce_scatter_p, lambda ct, x, **params: all_gather_p.bind(ct, **params))
batching.rules[reduce_scatter_p] = reduce_scatter_batch


# all_to_all: split an axis among the members, and join what comes back along another


def all_to_all_evaluate(
    xp: Any,
    x: Any,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
) -> Any:
    comm = communicator_of(axis_name, "all_to_all")
    parts = comm.all_to_all(xp.moveaxis(x, split_axis, 0), axis_index_groups)
    return xp.moveaxis(xp.stack(parts), 0, concat_axis)


def all_to_all_abstract(
    x: ShapedArray, axis_name: AxisName, split_axis: int, concat_axis: int, **_: Any
) -> tuple:
    size = x.shape[split_axis]
    shape = insert_dim(remove_axes(x.shape, (split_axis,)), concat_axis, size)
    return (x.update(shape=shape),), named_effects((axis_name,))


def all_to_all_backward(ct: Any, x: Any, split_axis: int, concat_axis: int, **params: Any) -> Any:
    return all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


def all_to_all_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
) -> tuple:
    x = to_front(axis, values[0], axes[0])
    if axis_name != axis.name:
        out = all_to_all_p.bind(
            x,
            axis_name=axis_name,
            split_axis=split_axis + 1,
            concat_axis=concat_axis + 1,
            axis_index_groups=axis_index_groups,
        )
        return (out,), (0,)

    def exchange(members: Any) -> Any:
        return moveaxis(moveaxis(members, split_axis + 1, 0), 1, concat_axis + 1)

    return (within_groups(axis, x, axis_index_groups, exchange),), (0,)


evaluate_rules[all_to_all_p] = single(all_to_all_evaluate)
abstract_rules[all_to_all_p] = all_to_all_abstract
forward.linear(all_to_all_p)
backward.unary(all_to_all_p, all_to_all_backward)
batching.rules[all_to_all_p] = all_to_all_batch

lowering.keepers.update((ppermute_p, all_gather_p, reduce_scatter_p, all_to_all_p))
