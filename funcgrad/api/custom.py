"""What custom_jvp and custom_vjp share: positional arguments, and which are differentiable."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.source import function_name
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

R = TypeVar("R")


@dataclass
class Call:
    """One call of a function with a custom rule: what is differentiable and what not.

    It holds no arrays, since programs keep it. The first operands are the `num_consts` tracers
    among the settings; `rebuild` puts values for them back in.
    """

    avals: list[ShapedArray]
    tree: PyTreeDef
    num_consts: int
    rebuild: Callable[[Sequence[Any]], list[Any]]
    out_tree: PyTreeDef | None = None

    def results(self, outs: Sequence[Any]) -> Any:
        """The outputs in the tree that the function returned."""
        assert self.out_tree is not None
        return tree_unflatten(self.out_tree, outs)


class CustomFunction(Generic[R]):
    """A function on which the user sets a derivative rule."""

    def __init__(
        self,
        fun: Callable[..., R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        update_wrapper(self, fun)
        self.fun = fun
        names = _parameter_names(fun)
        by_name = [names.index(n) for n in nondiff_argnames if n in names]
        self.nondiff_argnums = tuple(sorted({*nondiff_argnums, *by_name}))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        raise TypeError("use custom_jvp or custom_vjp")

    def _positional(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments by position; rules are written for those."""
        if not kwargs:
            try:
                bound = inspect.signature(self.fun).bind(*args)
            except ValueError:
                return args
        else:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{function_name(self.fun)} has a custom derivative rule, so its arguments must be "
                f"given by position; {sorted(bound.kwargs)} cannot be"
            )
        return bound.args

    def _take_apart(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Call, list[Any]]:
        """The call, and its operands."""
        args = self._positional(args, kwargs)
        count = len(args)
        nondiff = {i % count for i in self.nondiff_argnums if -count <= i < count}
        dynamic = [a for i, a in enumerate(args) if i not in nondiff]
        static = [a for i, a in enumerate(args) if i in nondiff]
        leaves, tree = tree_flatten(tuple(dynamic))
        static_leaves, static_tree = tree_flatten(static)
        traced = [i for i, v in enumerate(static_leaves) if isinstance(v, Tracer)]
        consts = [static_leaves[i] for i in traced]
        settings = [None if isinstance(v, Tracer) else v for v in static_leaves]

        def rebuild(consts: Sequence[Any]) -> list[Any]:
            filled = list(settings)
            for i, value in zip(traced, consts, strict=True):
                filled[i] = value
            return tree_unflatten(static_tree, filled)

        checked = [self._leaf(x, i, dynamic) for i, x in enumerate(leaves)]
        call = Call([aval_of(x) for x in checked], tree, len(consts), rebuild)
        return call, [*consts, *checked]

    def _leaf(self, leaf: Any, index: int, dynamic: list[Any]) -> Any:
        try:
            return as_value(leaf)
        except TypeError:
            path = keystr(tree_flatten_with_path(tuple(dynamic))[0][index][0])
            raise TypeError(
                f"{function_name(self.fun)} has a custom derivative rule, so each argument must be "
                f"an array or number; argument {path} is {leaf!r:.60} of type {type(leaf)}. "
                "List it in nondiff_argnums if it is a setting."
            ) from None

    def _merged(self, static: list[Any], dynamic: Sequence[Any]) -> list[Any]:
        """The arguments in their places again."""
        total = len(static) + len(dynamic)
        nondiff = {i % total for i in self.nondiff_argnums if -total <= i < total}
        s, d = iter(static), iter(dynamic)
        return [next(s) if i in nondiff else next(d) for i in range(total)]

    def _flat(self, call: Call) -> Callable[..., list[Any]]:
        """The function itself on flat values, (*consts, *leaves)."""
        count = call.num_consts

        def fun(*flat: Any) -> list[Any]:
            dynamic = tree_unflatten(call.tree, flat[count:])
            out = self.fun(*self._merged(call.rebuild(flat[:count]), dynamic))
            outs, call.out_tree = tree_flatten(out)
            return [as_value(o) for o in outs]

        return fun


def _parameter_names(fun: Callable) -> list[str]:
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return []
