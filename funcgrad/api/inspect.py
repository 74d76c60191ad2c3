"""Looking at what a function does without running it: make_jaxpr and eval_shape."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any

from funcgrad.api.flat import FlatFunction
from funcgrad.api.jit import JitFunction, described_aval, jit
from funcgrad.api.stages import struct_of
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.axes import Axis, bind_axis
from funcgrad.base.source import function_name
from funcgrad.base.tree import tree_flatten, tree_unflatten
from funcgrad.transforms.staging import stage


def make_jaxpr(
    fun: Callable,
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple] | None = None,
    return_shape: bool = False,
) -> Callable:
    """A function that returns the jaxpr of `fun` for arguments like those it is called with.

    Args:
        fun: the function to write down.
        static_argnums: positional arguments that are settings.
        axis_env: pairs (name, size) of axes to bind for collectives.
        return_shape: whether to return `(jaxpr, shapes and dtypes of the output)`.
    """
    jitted: JitFunction = jit(fun, static_argnums=static_argnums)  # type: ignore[arg-type]

    @wraps(fun)
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        with contextlib.ExitStack() as axes:
            for name, size in axis_env or ():
                axes.enter_context(bind_axis(Axis(name, size)))
            traced = jitted.trace(*args, **kwargs)
        return (traced.jaxpr, traced.out_info) if return_shape else traced.jaxpr

    return jaxpr_maker


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)` as ShapeDtypeStructs, nothing computed.

    The arguments may be arrays or anything with a shape and a dtype.
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    flat = FlatFunction(fun, in_tree)
    jaxpr, _ = stage(flat, [described_aval(x) for x in leaves])
    assert flat.out_tree is not None
    return tree_unflatten(flat.out_tree, [struct_of(a) for a in jaxpr.out_avals])


def typeof(x: Any) -> ShapedArray:
    """The type of an array or number: shape, dtype and whether the dtype is weak."""
    return aval_of(x)


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """The function with a name for profiles, `name` or its own; it may take any arguments."""
    scope = name or function_name(fun)

    @wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return called


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name a part of a program, for profiles."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope expects a string, got {name!r:.60}")
    yield
