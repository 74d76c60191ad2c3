"""Flattening for those who write transformations: functions on leaves, and argument positions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad.api.flat import argument_names
from funcgrad.api.linear_functions import (
    WrappedFun,
    transformation2,
    transformation_with_aux2,
)
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.shapes import concrete_int
from funcgrad.base.source import function_name, function_place
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.ir.jaxpr import DebugInfo


def shaped_abstractify(x: Any) -> ShapedArray:
    """The shape, dtype and weak type of an array or number.

    Raises:
        TypeError: for anything else.
    """
    return aval_of(x)


def safe_map(f: Callable, *sequences: Iterable[Any]) -> list[Any]:
    """`list(map(f, *sequences))`, with a ValueError unless all are equally long."""
    lists = [list(s) for s in sequences]
    if len({len(items) for items in lists}) > 1:
        raise ValueError(f"safe_map: the lengths differ: {[len(items) for items in lists]}")
    return [f(*items) for items in zip(*lists)]


@transformation_with_aux2
def flatten_fun(f: Callable, store: Any, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """A function on the leaves of (args, kwargs) that returns the leaves of its output.

    Args:
        f: a WrappedFun, as from `extend.linear_util.wrap_init`.
        in_tree: the structure of the pair (args, kwargs).

    Returns:
        `(flat, out_tree)`; the thunk `out_tree()` gives the output's structure once flat has run.
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    outs, out_tree = tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return outs


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable, store: Any, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """The same for functions of positional arguments, `in_tree` being the structure of args."""
    outs, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return outs


@transformation2
def _with_fixed(f: Callable, dynamic: tuple[int, ...], fixed: list[Any], *args: Any) -> Any:
    filled = list(fixed)
    for position, arg in zip(dynamic, args, strict=True):
        filled[position] = arg
    return f(*filled)


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A function of some arguments, the others fixed.

    Args:
        f: a WrappedFun.
        dyn_argnums: the positions that stay arguments; negative ones count from the end.
        args: all arguments.
        require_static_args_hashable: whether the others must be hashable.

    Returns:
        `(function, dynamic)`: the arguments that stay, which the function takes.

    Raises:
        ValueError: if a position is out of range, or a fixed argument is not hashable.
    """
    asked = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    count = len(args)
    outside = [i for i in asked if not -count <= concrete_int(i, "dyn_argnums") < count]
    if outside:
        raise ValueError(f"argnums_partial: positions {outside} of {count} arguments")
    dynamic = tuple(i % count for i in asked)
    fixed = [None if i in dynamic else x for i, x in enumerate(args)]
    if require_static_args_hashable:
        for i, x in enumerate(fixed):
            try:
                hash(x)
            except TypeError:
                raise ValueError(
                    f"argnums_partial: argument {i} of {function_name(f.f)} is fixed, so it must "
                    f"be hashable, and {x!r:.60} of type {type(x).__name__} is not"
                ) from None
    return _with_fixed(f, dynamic, fixed), tuple(args[i] for i in dynamic)


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """For each leaf of the arguments, whether its argument is donated.

    Args:
        donate_argnums, donate_argnames: the positions and keywords that are.
        in_tree: the structure of (args, kwargs), or of args alone if not `kws`.
    """
    positions, names = set(donate_argnums), set(donate_argnames)
    arguments = tree_unflatten(in_tree, range(in_tree.num_leaves))
    args, kwargs = arguments if kws else (arguments, {})
    donated = [leaf for i, x in enumerate(args) if i in positions for leaf in tree_flatten(x)[0]]
    donated += [leaf for k, x in kwargs.items() if k in names for leaf in tree_flatten(x)[0]]
    return tuple(i in donated for i in range(in_tree.num_leaves))


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """The donated positions counted among the arguments that are not static.

    Raises:
        ValueError: if an argument is both.
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise ValueError(
            f"donate_argnums {tuple(donate_argnums)} and static_argnums {tuple(static_argnums)} "
            f"both name {both}; a static argument has no memory to donate"
        )
    return tuple(sorted({d - sum(s < d for s in set(static_argnums)) for d in donate_argnums}))


def debug_info(
    traced_for: str,
    fun: Callable,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Any = None,
    sourceinfo: str | None = None,
    signature: Any = None,
) -> DebugInfo:
    """What errors and printed programs call a function and its arguments.

    Args:
        traced_for: the transformation that traces it.
        fun: the function.
        args, kwargs: its arguments; pytrees whose leaves stand for arrays.
        static_argnums, static_argnames: arguments that are settings, and get no name.
        result_paths_thunk, signature: accepted as in JAX; paths and names are found anew.
        sourceinfo: where the function is, if not where its code says.
    """
    hidden = {i % len(args) for i in static_argnums if -len(args) <= i < len(args)}
    shown = [() if i in hidden else x for i, x in enumerate(args)]
    named = {k: x for k, x in kwargs.items() if k not in static_argnames}
    place = function_place(fun) if sourceinfo is None else f"{function_name(fun)} at {sourceinfo}"
    return DebugInfo(f"{place} for {traced_for}", argument_names(fun, shown, named))
