"""Static arguments: settings taken out of a call before it is traced, and put back afterwards."""

import functools
import inspect
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, NamedTuple

from funcgrad.base.source import function_name


class Statics(NamedTuple):
    """The values of static arguments, compared by type and value."""

    positional: tuple[tuple[int, Any], ...] = ()
    named: tuple[tuple[str, Any], ...] = ()

    def key(self) -> Hashable:
        return tuple((label, type(v), v) for label, v in (*self.positional, *self.named))

    def put_back(self, fun: Callable) -> Callable:
        """`fun` as a function of its other arguments."""
        if not self.positional and not self.named:
            return fun

        @functools.wraps(fun)
        def rest(*args: Any, **kwargs: Any) -> Any:
            full = list(args)
            for index, value in self.positional:
                full.insert(index, value)
            return fun(*full, **kwargs, **dict(self.named))

        gone = {i for i, _ in self.positional}
        names = {name for name, _ in self.named}
        try:
            parameters = inspect.signature(fun).parameters.values()
        except (TypeError, ValueError):
            return rest
        kept = [
            p
            for i, p in enumerate(parameters)
            if p.kind is p.VAR_POSITIONAL or (i not in gone and p.name not in names)
        ]
        rest.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        return rest


def take_statics(
    numbers: Iterable[int], names: Collection[str], args: tuple, kwargs: dict[str, Any]
) -> tuple[tuple, dict[str, Any], Statics]:
    """The arguments to trace, by position and by name, and the static ones."""
    count = len(args)
    chosen = {i % count for i in numbers if -count <= i < count}
    positional = tuple((i, args[i]) for i in sorted(chosen))
    named = tuple((k, v) for k, v in sorted(kwargs.items()) if k in names)
    rest = tuple(a for i, a in enumerate(args) if i not in chosen)
    rest_named = {k: v for k, v in kwargs.items() if k not in names}
    return rest, rest_named, Statics(positional, named)


def check_hashable(transformation: str, fun: Callable, statics: Statics) -> None:
    """Raise a ValueError that names the first static argument which cannot be hashed."""
    for label, value in (*statics.positional, *statics.named):
        try:
            hash(value)
        except TypeError:
            name = label if isinstance(label, str) else parameter_name(fun, label)
            raise ValueError(
                f"Non-hashable static arguments are used in a {transformation} function: the "
                f"static argument {name!r} of {function_name(fun)} has type {type(value)}, which "
                "is unhashable. Pass a hashable value such as a tuple, or do not mark the argument "
                "as static."
            ) from None


def parameter_name(fun: Callable, index: int) -> str:
    """The name of the parameter that a positional argument fills."""
    try:
        return list(inspect.signature(fun).parameters)[index]
    except (TypeError, ValueError, IndexError):
        return f"argument {index}"
