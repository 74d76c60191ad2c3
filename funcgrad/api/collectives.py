"""Collectives on pytrees, as `lax` offers them: psum, pmean, all_gather, ppermute and the rest."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.array import as_value
from funcgrad.base.axes import AxisName, find_axis
from funcgrad.base.basis import scalar_like
from funcgrad.base.methods import Array
from funcgrad.base.shapes import canonical_axis
from funcgrad.base.tree import tree_map
from funcgrad.primitives.collective import Groups, axis_index_p, names_of, pmax_p, pmin_p, psum_p
from funcgrad.primitives.exchange import all_gather_p, all_to_all_p, ppermute_p, reduce_scatter_p

AxisNames = AxisName | tuple[AxisName, ...]


def axis_size(axis_name: AxisNames) -> int:
    """How many members the named axis (or the axes together) has; a Python int."""
    size = 1
    for name in names_of(axis_name):
        size *= find_axis(name, "axis_size").size
    return size


def axis_index(axis_name: AxisNames) -> Any:
    """This member's place along the named axis, an int32 scalar; row-major for several axes."""
    names = names_of(axis_name)
    index = None
    for name in names:
        size = find_axis(name, "axis_index").size
        own = axis_index_p.bind(axis_name=name)
        index = own if index is None else index * size + own
    return index


def check_groups(name: str, size: int, groups: Sequence[Sequence[int]] | None) -> Groups:
    """Groups as tuples; they must partition the members, all of one size."""
    if groups is None:
        return None
    result = tuple(tuple(int(i) for i in g) for g in groups)
    if sorted(i for g in result for i in g) != list(range(size)):
        raise ValueError(
            f"{name}: axis_index_groups must cover all indices 0..{size - 1} exactly once, got "
            f"{groups}"
        )
    if len({len(g) for g in result}) > 1:
        raise ValueError(f"{name}: axis_index_groups must all have the same size, got {groups}")
    return result


def _all_reduce(primitive: Any, x: Any, axis_name: AxisNames, groups: Any) -> Any:
    names = names_of(axis_name)
    for name in names:
        if not isinstance(name, int):
            find_axis(name, primitive.name)
    checked = None
    if groups is not None:
        if len(names) != 1:
            raise ValueError(f"{primitive.name}: axis_index_groups needs exactly one axis name")
        checked = check_groups(primitive.name, find_axis(names[0]).size, groups)
    return tree_map(
        lambda leaf: primitive.bind(as_value(leaf), axes=names, axis_index_groups=checked), x
    )


def psum(x: Any, axis_name: AxisNames, *, axis_index_groups: Any = None) -> Any:
    """The sum over the members of the named axis; every member gets it.

    Args:
        x: a pytree of arrays. A Python number is multiplied by the size at once.
        axis_name: a name, or several to sum over all of them.
        axis_index_groups: a partition of the members into groups that sum apart.

    Its transpose is psum itself, so that gradients of a replicated loss carry a factor of the
    axis size, as in JAX.
    """

    def one(leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)) and not isinstance(leaf, bool):
            size = len(axis_index_groups[0]) if axis_index_groups else axis_size(axis_name)
            return leaf * size
        return _all_reduce(psum_p, leaf, axis_name, axis_index_groups)

    return tree_map(one, x)


def pmean(x: Any, axis_name: AxisNames, *, axis_index_groups: Any = None) -> Any:
    """The mean over the members of the named axis."""
    size = len(axis_index_groups[0]) if axis_index_groups else axis_size(axis_name)

    def one(leaf: Any) -> Any:
        total = psum(leaf, axis_name, axis_index_groups=axis_index_groups)
        return (
            total / size if not isinstance(total, Array) else total / scalar_like(size, total * 1.0)
        )

    return tree_map(one, x)


def pmax(x: Any, axis_name: AxisNames, *, axis_index_groups: Any = None) -> Any:
    """The elementwise maximum over the members of the named axis."""
    return _all_reduce(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: AxisNames, *, axis_index_groups: Any = None) -> Any:
    """The elementwise minimum over the members of the named axis."""
    return _all_reduce(pmin_p, x, axis_name, axis_index_groups)


def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values along pairs (source, destination); a member that gets none has zeros.

    Raises:
        ValueError: if a source or destination occurs twice or is out of range.
    """
    (name,) = names_of(axis_name)
    size = find_axis(name, "ppermute").size
    pairs = tuple((int(s), int(d)) for s, d in perm)
    if any(not 0 <= i < size for pair in pairs for i in pair):
        raise ValueError(f"ppermute: perm {list(perm)} names members outside 0..{size - 1}")
    return tree_map(lambda leaf: ppermute_p.bind(as_value(leaf), axis_name=name, perm=pairs), x)


def pshuffle(x: Any, axis_name: AxisName, perm: Sequence[int]) -> Any:
    """`ppermute` with every member named: member i gets the value of member `perm[i]`."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: perm must be a permutation of all members, got {list(perm)}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def all_gather(
    x: Any,
    axis_name: AxisNames,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
) -> Any:
    """The values of all members along a new axis (or, tiled, concatenated along an old one).

    Args:
        axis: where the members' axis goes.
        tiled: whether to concatenate along `axis` instead.
    """
    names = names_of(axis_name)
    size = axis_size(axis_name)
    groups = check_groups("all_gather", size, axis_index_groups)

    def one(leaf: Any) -> Any:
        leaf = as_value(leaf)
        dim = canonical_axis(axis, len(leaf.shape) + (not tiled), "axis")
        for name in reversed(names):
            members = len(groups[0]) if groups else find_axis(name).size
            leaf = all_gather_p.bind(
                leaf,
                axis_name=(name,),
                axis_size=members,
                dim=dim,
                tiled=tiled or name != names[-1],
                axis_index_groups=groups,
            )
        return leaf

    return tree_map(one, x)


def psum_scatter(
    x: Any,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sum over the members, and give each one its slice of the sum.

    Args:
        scatter_dimension: the axis that is cut up; its length is the axis size, or a multiple of
            it with `tiled`.
        tiled: whether each member keeps that axis, shorter.
    """
    (name,) = names_of(axis_name)
    size = find_axis(name, "psum_scatter").size
    groups = check_groups("psum_scatter", size, axis_index_groups)

    def one(leaf: Any) -> Any:
        leaf = as_value(leaf)
        return reduce_scatter_p.bind(
            leaf,
            axis_name=(name,),
            axis_size=len(groups[0]) if groups else size,
            dim=canonical_axis(scatter_dimension, len(leaf.shape), "scatter_dimension"),
            tiled=tiled,
            axis_index_groups=groups,
        )

    return tree_map(one, x)


def all_to_all(
    x: Any,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Cut x along `split_axis` among the members, and join what arrives along `concat_axis`.

    Args:
        split_axis: its length is the axis size, or a multiple of it with `tiled`.
        concat_axis: where the members' axis goes, or with `tiled` the axis to concatenate along.
    """
    (name,) = names_of(axis_name)
    size = find_axis(name, "all_to_all").size
    groups = check_groups("all_to_all", size, axis_index_groups)
    members = len(groups[0]) if groups else size

    def one(leaf: Any) -> Any:
        leaf = as_value(leaf)
        ndim = len(leaf.shape)
        split = canonical_axis(split_axis, ndim, "split_axis")
        concat = canonical_axis(concat_axis, ndim, "concat_axis")
        length = leaf.shape[split]
        if length % members or (not tiled and length != members):
            raise ValueError(
                f"all_to_all: axis {split} of shape {leaf.shape} must have the axis size {members}"
                + (" (or use tiled=True)" if not tiled else " as a divisor")
            )
        if tiled:
            shape = leaf.shape
            leaf = leaf.reshape(*shape[:split], members, length // members, *shape[split + 1 :])
            concat += concat > split or (concat == split)
        out = all_to_all_p.bind(
            leaf,
            axis_name=name,
            split_axis=split,
            concat_axis=concat if not tiled else concat - (concat > split),
            axis_index_groups=groups,
        )
        if not tiled:
            return out
        # The members' axis now stands before the axis it is concatenated with.
        place = concat - (concat > split)
        shape = out.shape
        merged = shape[place] * shape[place + 1]
        return out.reshape(*shape[:place], merged, *shape[place + 2 :])

    return tree_map(one, x)


def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swap the members' axis with an axis of x."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """The value of one member, for every member."""
    return tree_map(lambda leaf: all_gather(leaf, axis_name)[source], x)
