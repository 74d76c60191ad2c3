"""Calling Python from inside programs: pure_callback, io_callback, debug.callback, debug.print."""

import sys
from collections.abc import Callable
from functools import partial
from string import Formatter
from typing import Any

from funcgrad.api.flat import check_arguments
from funcgrad.base.array import as_value
from funcgrad.base.aval import shaped
from funcgrad.base.dtypes import canonicalize_dtype
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_structure, tree_unflatten
from funcgrad.primitives.host import debug_callback_p, io_callback_p, pure_callback_p

VMAP_METHODS = (
    None,
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


class _FlatCallback:
    """A callback on pytrees as one on flat arrays; equal when the function and tree are."""

    def __init__(self, callback: Callable, in_tree: PyTreeDef, out_tree: PyTreeDef | None):
        self.callback = callback
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out = self.callback(*args, **kwargs)
        if self.out_tree is None:
            return []
        outs, tree = tree_flatten(out)
        if tree != self.out_tree:
            raise ValueError(
                f"a callback returned the tree {tree} where result_shape_dtypes says "
                f"{self.out_tree}"
            )
        return outs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FlatCallback) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.callback, self.in_tree, self.out_tree))


def _result_avals(result_shape_dtypes: Any) -> tuple[tuple, PyTreeDef]:
    leaves, tree = tree_flatten(result_shape_dtypes)
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise TypeError(
                "result_shape_dtypes must be a pytree of objects with a shape and a dtype, such as "
                f"ShapeDtypeStruct; got {leaf!r:.60}"
            )
    return tuple(shaped(tuple(x.shape), canonicalize_dtype(x.dtype)) for x in leaves), tree


def pure_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a pure Python function from a program.

    Args:
        callback: from arrays to a pytree of arrays; may be called any number of times.
        result_shape_dtypes: a pytree of things with a shape and dtype, what it returns.
        args, kwargs: pytrees of arrays for the callback.
        vmap_method: how to batch: "sequential", "expand_dims" or "broadcast_all"; None refuses.

    Raises:
        RuntimeError: while running, if the callback returns another shape than it promised.
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"vmap_method {vmap_method!r} is unknown; choose from {VMAP_METHODS}")
    avals, out_tree = _result_avals(result_shape_dtypes)
    check_arguments("pure_callback", callback, args, kwargs)
    leaves, in_tree = tree_flatten((args, kwargs))
    outs = pure_callback_p.bind(
        *map(as_value, leaves),
        callback=_FlatCallback(callback, in_tree, out_tree),
        result_avals=avals,
        vmap_method=vmap_method,
    )
    return tree_unflatten(out_tree, outs)


def io_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an impure Python function from a program, exactly once each time it is reached.

    Args:
        callback: from arrays to a pytree of arrays (or None).
        result_shape_dtypes: a pytree of things with a shape and dtype, what it returns.
        ordered: whether calls keep their order; such a call cannot be vmapped.
    """
    avals, out_tree = _result_avals(result_shape_dtypes)
    check_arguments("io_callback", callback, args, kwargs)
    leaves, in_tree = tree_flatten((args, kwargs))
    outs = io_callback_p.bind(
        *map(as_value, leaves),
        callback=_FlatCallback(callback, in_tree, out_tree),
        result_avals=avals,
        vmap_method="sequential",
        ordered=ordered,
    )
    return tree_unflatten(out_tree, outs)


def debug_callback(callback: Callable, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a Python function with the values of the arguments when the program runs.

    Under `vmap` it is called for each member, under `grad` with the primal values.
    """
    if not callable(callback):
        raise TypeError(f"debug.callback expects a function, got {callback!r:.60}")
    leaves, in_tree = tree_flatten((args, kwargs))
    traced = [i for i, x in enumerate(leaves) if _is_array(x)]
    values = [as_value(leaves[i]) for i in traced]
    statics = [None if i in set(traced) else x for i, x in enumerate(leaves)]
    debug_callback_p.bind(
        *values,
        callback=_FlatCallback(
            partial(_with_statics, callback, in_tree, statics, traced),
            tree_structure((tuple(traced), {})),
            None,
        ),
        ordered=ordered,
    )


def _is_array(x: Any) -> bool:
    try:
        as_value(x)
    except TypeError:
        return False
    return True


def _with_statics(
    callback: Callable, in_tree: PyTreeDef, statics: list, traced: list[int], *values: Any
) -> None:
    """The callback with its array leaves filled in and everything else as it was given."""
    full = list(statics)
    for i, value in zip(traced, values, strict=True):
        full[i] = value
    args, kwargs = tree_unflatten(in_tree, full)
    callback(*args, **kwargs)


class _Check(Formatter):
    """Refuses format strings whose fields do not match the arguments."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [i for i in range(len(args)) if i not in used_args]
        unused += [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(f"debug.print: arguments {unused} are not used by the format string")


def debug_print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values when the program runs: `debug.print("x = {x}, y = {}", y, x=x)`.

    Args:
        fmt: a format string, filled by str.format with the arguments' values.
        ordered: whether printing keeps its order among ordered effects.
    """
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print: the first argument is a format string, got {fmt!r:.60}")
    if not skip_format_check:
        _Check().vformat(fmt, [_Any() for _ in args], {k: _Any() for k in kwargs})
    debug_callback(partial(_print, fmt), *args, ordered=ordered, **kwargs)


def _print(fmt: str, *args: Any, **kwargs: Any) -> None:
    sys.stdout.write(fmt.format(*args, **kwargs) + "\n")


class _Any:
    """Accepts every format spec, attribute and index: stands for a value not known yet."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getitem__(self, index: Any) -> "_Any":
        return self


def effects_barrier() -> None:
    """Wait until the effects of all programs have happened; they do before a call returns."""
