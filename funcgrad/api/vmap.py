"""vmap as users call it: which axis of which argument is mapped, checked and named."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from funcgrad.api import refs
from funcgrad.api.flat import FlatFunction, argument_names, check_arguments
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.axes import AxisName
from funcgrad.base.basis import expand, moveaxis
from funcgrad.base.methods import Array
from funcgrad.base.shapes import concrete_int
from funcgrad.base.source import function_name
from funcgrad.base.tree import PyTreeDef, flatten_axes, tree_flatten, tree_leaves, tree_unflatten
from funcgrad.transforms.batching import BatchAxis, vmap_flat

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: int | Sequence[Any] | Any | None = 0,
    out_axes: Any = 0,
    axis_name: AxisName | None = None,
    axis_size: int | None = None,
    spmd_axis_name: AxisName | tuple[AxisName, ...] | None = None,
) -> Callable[P, R]:
    """Map a function over an axis of its arguments, all members computed at once.

    Args:
        fun: the function for one member.
        in_axes: which axis of each positional argument to map over: an int, None (the argument is
            shared), or a pytree prefix of those for each argument. Keyword arguments map over
            axis 0.
        out_axes: where the mapped axis appears in each output; None for an output that is the same
            for all members.
        axis_name: a name by which collectives such as `psum` can refer to the mapped axis.
        axis_size: the number of members; needed when no argument is mapped.
        spmd_axis_name: accepted for compatibility; sharding comes with meshes.

    Returns:
        A function with the arguments of `fun`, each with the mapped axis added.

    Raises:
        ValueError: if axis sizes disagree, an axis is out of bounds, or no size can be found.

    Example:
        >>> vmap(lambda x, y: x * y, in_axes=(0, None))(np.arange(3.0), 2.0)
        Array([0., 2., 4.], dtype=float32)
    """
    check_axes_spec("vmap", fun, in_axes, out_axes)

    @wraps(fun)
    def mapped(*args: P.args, **kwargs: P.kwargs) -> R:
        if refs.alive() or refs.watched():
            leaves, in_tree = tree_flatten((args, kwargs))
            where, own = refs.split(leaves)
            if where:
                axes = argument_axes("vmap", fun, in_tree, in_axes, args, kwargs)
                at = [axes[i] for i in where]
                rest = [i for i in range(len(leaves)) if i not in where]
                body = refs.with_arguments(fun, in_tree, where)
                axes_of_all = (at, [axes[i] for i in rest])
                settings = {"axis_name": axis_name, "axis_size": axis_size}
                run = vmap(body, axes_of_all, (out_axes, at), **settings)
                out, values = run(refs.read_all(own), [leaves[i] for i in rest])
                refs.write_all(own, values)
                return out
        given = mapped_arguments("vmap", fun, in_axes, axis_size, args, kwargs, passes=True)
        flat = FlatFunction(fun, given.in_tree)
        axis = BatchAxis(given.size, axis_name)
        outs, where = vmap_flat(flat, axis, given.values, given.axes)
        assert flat.out_tree is not None
        wanted = flatten_axes("vmap out_axes", flat.out_tree, out_axes)
        placed = [
            o if w == a else place_axis(fun, flat.out_tree, i, o, w, a, given.size)
            for i, (o, w, a) in enumerate(zip(outs, where, wanted, strict=True))
        ]
        return tree_unflatten(flat.out_tree, placed)

    return mapped


def check_axes_spec(name: str, fun: Callable, in_axes: Any, out_axes: Any) -> None:
    """Raise unless in_axes and out_axes are built from ints and None."""
    if not callable(fun):
        raise TypeError(f"{name} expects a function (a callable value), got {fun!r:.80}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple)) or hasattr(in_axes, "__index__")):
        raise TypeError(
            f"{name}: in_axes is {in_axes!r}; give an int or None for all arguments, or a tuple "
            "with "
            "an entry for each positional one."
        )
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in tree_leaves(axes):
            if not hasattr(leaf, "__index__") or isinstance(leaf, bool):
                raise TypeError(
                    f"{name}: {what} is built from ints and None, and {axes!r} holds {leaf!r}."
                )


class MappedArguments(NamedTuple):
    """Flat arguments, the axis (or None) that each is mapped over, and the size of that axis."""

    values: list[Any]
    axes: tuple[int | None, ...]
    size: int
    in_tree: PyTreeDef
    names: Callable[[], Sequence[str]]


def mapped_arguments(
    name: str,
    fun: Callable,
    in_axes: Any,
    axis_size: int | None,
    args: tuple,
    kwargs: dict[str, Any],
    passes: bool = False,
) -> MappedArguments:
    """The arguments of a call to a mapped function, checked against in_axes.

    What is no array `passes` where it is not mapped.
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    names = lambda: argument_names(fun, args, kwargs)
    asked = argument_axes(name, fun, in_tree, in_axes, args, kwargs)
    values = []
    for leaf, axis in zip(leaves, asked, strict=True):
        try:
            values.append(leaf if isinstance(leaf, Array) else as_value(leaf))
        except TypeError:
            if axis is not None or not passes:
                check_arguments(name, fun, args, kwargs)
                raise
            values.append(leaf)
    axes = tuple([canonical_in_axis(name, values[i], a, names, i) for i, a in enumerate(asked)])
    size = mapped_size(name, fun, values, axes, axis_size, names)
    return MappedArguments(values, axes, size, in_tree, names)


def argument_axes(
    name: str, fun: Callable, in_tree: Any, in_axes: Any, args: Sequence, kwargs: dict
) -> list[int | None]:
    """One axis (or None) for each argument leaf."""
    if type(in_axes) is int and (in_axes == 0 or not kwargs):
        return [in_axes] * in_tree.num_leaves
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        hint = (
            " Keyword arguments are not counted: they are always mapped over axis 0."
            if kwargs
            else ""
        )
        raise ValueError(
            f"{name} of {function_name(fun)}: in_axes has length {len(in_axes)}, one entry for "
            "each "
            f"positional argument, and {len(args)} positional arguments were given.{hint}"
        )
    per_argument = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    return flatten_axes(f"{name} in_axes", in_tree, (tuple(per_argument), 0))


def canonical_in_axis(
    name: str, value: Any, axis: int | None, names: Callable[[], Sequence[str]], index: int
) -> int | None:
    if axis is None:
        return None
    axis = axis if type(axis) is int else concrete_int(axis, "in_axes")
    ndim = len(aval_of(value).shape)
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: in_axes asks for axis {axis} of argument '{names()[index]}', which has "
            f"{ndim} axes (its shape is {aval_of(value).shape})."
        )
    return axis % ndim


def mapped_size(
    name: str,
    fun: Callable,
    values: Sequence[Any],
    axes: Sequence[int | None],
    axis_size: int | None,
    names: Callable[[], Sequence[str]],
) -> int:
    """The one size of all mapped axes; a ValueError lists who has which when they differ."""
    sizes = {}
    for i, axis in enumerate(axes):
        if axis is not None:
            sizes[i] = aval_of(values[i]).shape[axis]
    distinct = set(sizes.values())
    if axis_size is not None:
        axis_size = concrete_int(axis_size, "axis_size")
        distinct.add(axis_size)
    if len(distinct) == 1:
        return distinct.pop()
    where = function_name(fun)
    if not distinct:
        raise ValueError(
            f"{name} of {where}: in_axes maps no argument, so nothing says how many members there "
            "are; map one, or give axis_size."
        )
    listed = [
        f"  * argument '{names()[i]}' of shape {aval_of(values[i]).shape} has size {size} along "
        f"its mapped axis {axes[i]}"
        for i, size in sizes.items()
    ]
    if axis_size is not None:
        listed.insert(0, f"  * axis_size was given as size {axis_size}")
    raise ValueError(
        f"{name} of {where}: the mapped axes have inconsistent sizes:\n" + "\n".join(listed)
    )


def place_axis(
    fun: Callable, out_tree: Any, index: int, out: Any, at: int | None, wanted: Any, size: int
) -> Any:
    """An output with its mapped axis where out_axes wants it."""
    if wanted is None:
        if at is None:
            return out
        aval = aval_of(out)
        raise ValueError(
            f"vmap of {function_name(fun)}: output {index} of {out_tree} has the value None in "
            f"out_axes, but depends on the mapped arguments (its batch has type "
            f"{aval.str_short()}). Give it an axis in out_axes, or return something that is the "
            "same for all members."
        )
    ndim = len(aval_of(out).shape) + (at is None)
    if not -ndim <= wanted < ndim:
        raise ValueError(
            f"vmap of {function_name(fun)}: out_axes entry {wanted} is out of bounds for output "
            f"{index}, which has {ndim} axes with the mapped one (valid axes are -{ndim} to "
            f"{ndim - 1})."
        )
    axis = wanted % ndim
    return expand(out, axis, size) if at is None else moveaxis(out, at, axis)
