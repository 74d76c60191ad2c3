"""jit: trace a function once for each kind of argument, and run the compiled program after that."""

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from funcgrad.api.flat import Staged, argument_names, as_value, check_arguments, stage_function
from funcgrad.api.stages import Lowered, Traced
from funcgrad.base import events
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.config import config
from funcgrad.base.dtypes import canonicalize_dtype
from funcgrad.base.memo import OncePerKey, context_key
from funcgrad.base.shapes import concrete_int
from funcgrad.base.source import function_name
from funcgrad.base.trace import EVALUATION, common_sharding, current_trace
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from funcgrad.compiler.pipeline import compiled
from funcgrad.primitives.call import jit_p

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class JitOptions:
    """The settings of one jit."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False


class Statics(NamedTuple):
    """The values of static arguments, compared by type and value."""

    positional: tuple[tuple[int, Any], ...]
    named: tuple[tuple[str, Any], ...]

    def key(self) -> Hashable:
        return (
            tuple((i, type(v), v) for i, v in self.positional),
            tuple((k, type(v), v) for k, v in self.named),
        )


class Entry(NamedTuple):
    """What one kind of arguments leads to."""

    staged: Staged
    out_avals: list[ShapedArray]


class JitFunction(Generic[P, R]):
    """A function that `jit` made; calling it runs the compiled program."""

    def __init__(self, fun: Callable[P, R], options: JitOptions):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._entries = entries_of(fun, options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if config.disable_jit:
            return self._fun(*args, **kwargs)
        dynamic, statics = self._split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        values = self._values(leaves, args, kwargs)
        entry = self._entry(in_tree, values, statics, args, kwargs)
        outs = self._run(entry, values)
        if self._options.donate_argnums or self._options.donate_argnames:
            self._delete_donated(dynamic, values)
        return tree_unflatten(entry.staged.out_tree, outs)

    def _split(self, args: tuple, kwargs: dict) -> tuple[tuple, Statics | None]:
        """The arguments to trace, and the static ones."""
        options = self._options
        if not options.static_argnums and not options.static_argnames:
            return (args, kwargs), None
        count = len(args)
        chosen = {i % count if -count <= i < count else i for i in options.static_argnums}
        positional = tuple((i, args[i]) for i in range(count) if i in chosen)
        named = tuple((k, v) for k, v in sorted(kwargs.items()) if k in options.static_argnames)
        for label, value in (*positional, *named):
            self._check_static(label, value)
        rest = tuple(a for i, a in enumerate(args) if i not in chosen)
        rest_named = {k: v for k, v in kwargs.items() if k not in options.static_argnames}
        return (rest, rest_named), Statics(positional, named)

    def _check_static(self, label: int | str, value: Any) -> None:
        try:
            hash(value)
        except TypeError:
            name = label if isinstance(label, str) else self._positional_name(label)
            raise ValueError(
                f"Non-hashable static arguments are used in a jit function: the static argument "
                f"{name!r} (static_argnums/static_argnames) of {function_name(self._fun)} has type "
                f"{type(value)}, which is unhashable. Pass a hashable value such as a tuple, or do "
                "not mark the argument as static."
            ) from None

    def _positional_name(self, index: int) -> str:
        try:
            return list(inspect.signature(self._fun).parameters)[index]
        except (TypeError, ValueError, IndexError):
            return f"argument {index}"

    def _values(self, leaves: Sequence, args: tuple, kwargs: dict) -> list[Any]:
        try:
            return [as_value(x) for x in leaves]
        except TypeError:
            dynamic, _ = self._split(args, kwargs)
            check_arguments("jit", self._fun, *dynamic)
            raise

    def _entry(
        self,
        in_tree: PyTreeDef,
        values: Sequence[Any],
        statics: Statics | None,
        args: tuple,
        kwargs: dict,
    ) -> Entry:
        avals = tuple([v.aval for v in values])
        key = (in_tree, avals, statics and statics.key(), context_key())

        def make() -> tuple[Entry, bool]:
            staged = self._stage(in_tree, avals, statics, args, kwargs)
            closed_over = bool(staged.operands)
            return Entry(staged, staged.program.out_avals), not closed_over

        return self._entries.get(key, make)

    def _stage(
        self,
        in_tree: PyTreeDef,
        avals: Sequence[ShapedArray],
        statics: Statics | None,
        args: tuple,
        kwargs: dict,
    ) -> Staged:
        events.notify("trace", function=self._fun, avals=avals)
        if config.no_tracing:
            raise RuntimeError(
                f"re-tracing function {function_name(self._fun)} for jit, but no_tracing is set: "
                f"it was called with new types {[a.str_short() for a in avals]}"
            )
        if config.log_compiles:
            print(f"jit: tracing {function_name(self._fun)} for {[a.str_short() for a in avals]}")
        names = argument_names(self._fun, args, kwargs)
        function = self._fun
        if statics is not None:
            function = functools.wraps(self._fun)(
                functools.partial(call_with_statics, self._fun, statics)
            )
            names = tuple(
                n for n in names if not any(n == self._positional_name(i) for i, _ in statics[0])
            )
        return stage_function(function, in_tree, avals, "jit", names)

    def _run(self, entry: Entry, values: Sequence[Any]) -> Sequence[Any]:
        program = entry.staged.program
        if current_trace() is EVALUATION and not entry.staged.operands:
            if all(type(v) is ConcreteArray for v in values):
                sharding = common_sharding(jit_p, values)
                outs = compiled(program)(*[v.buffer for v in values])
                return [
                    ConcreteArray(o, a, sharding)
                    for o, a in zip(outs, entry.out_avals, strict=True)
                ]
        return jit_p.bind(
            *entry.staged.operands, *values, jaxpr=program, name=function_name(self._fun)
        )

    def _delete_donated(self, dynamic: tuple, values: Sequence[Any]) -> None:
        args, kwargs = dynamic
        counts = [len(tree_leaves(a)) for a in args]
        spans = [range(sum(counts[:i]), sum(counts[: i + 1])) for i in range(len(args))]
        offset = sum(counts)
        names = (
            list(inspect.signature(self._fun).parameters) if self._options.donate_argnames else []
        )
        chosen = {
            i % len(args) for i in self._options.donate_argnums if -len(args) <= i < len(args)
        }
        chosen |= {i for i, n in enumerate(names) if n in self._options.donate_argnames}
        positions = [k for i in chosen if i < len(spans) for k in spans[i]]
        for name in sorted(kwargs):
            size = len(tree_leaves(kwargs[name]))
            if name in self._options.donate_argnames:
                positions += range(offset, offset + size)
            offset += size
        for k in positions:
            if type(values[k]) is ConcreteArray:
                values[k].delete()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """The program for arguments like these (arrays, or anything with a shape and dtype)."""
        dynamic, statics = self._split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        avals = [described_aval(x) for x in leaves]
        staged = self._stage(in_tree, avals, statics, args, kwargs)
        if staged.operands:
            raise ValueError("cannot lower a function that closes over a traced value")
        return Traced(function_name(self._fun), staged.program, in_tree, staged.out_tree)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """The program for arguments like these, ready to be compiled or printed."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The shapes and dtypes of the outputs, without running anything."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forget every program traced for this function."""
        self._entries.entries.clear()

    def _cache_size(self) -> int:
        return len(self._entries.entries)

    def __repr__(self) -> str:
        return f"<jit of {function_name(self._fun)}>"

    def __reduce__(self) -> tuple:
        return (_rebuild, (self._fun, self._options))


def _rebuild(fun: Callable, options: JitOptions) -> JitFunction:
    return JitFunction(fun, options)


def described_aval(x: Any) -> ShapedArray:
    """The aval of an array, or of anything that has a shape and a dtype."""
    if isinstance(getattr(x, "aval", None), ShapedArray):
        return x.aval
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(x.shape, canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return aval_of(x)


def call_with_statics(fun: Callable, statics: Statics, *args: Any, **kwargs: Any) -> Any:
    """Call `fun` with its static arguments put back in their places."""
    full = list(args)
    for index, value in statics.positional:
        full.insert(index, value)
    return fun(*full, **kwargs, **dict(statics.named))


_entries: "weakref.WeakKeyDictionary[Callable, dict]" = weakref.WeakKeyDictionary()


def entries_of(fun: Callable, options: JitOptions) -> OncePerKey:
    """The programs known for a function; every jit of it with the same options shares them."""
    try:
        per_function = _entries.setdefault(fun, {})
    except TypeError:
        return OncePerKey()
    return per_function.setdefault(options, OncePerKey())


def as_tuple(value: Any, kind: type) -> tuple:
    if value is None:
        return ()
    return (value,) if isinstance(value, kind) else tuple(value)


def jit(
    fun: Callable[P, R] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> JitFunction[P, R]:
    """Compile a function: trace it once for each kind of argument, then run the program.

    Args:
        fun: a pure function of pytrees of arrays. Python control flow on traced values raises.
        static_argnums, static_argnames: arguments that are settings: hashable, compared by value;
            each new value traces again. Given one, the other is found from the signature.
        donate_argnums, donate_argnames: arguments whose Arrays may be given up; they raise when
            used after the call.
        keep_unused: accepted for compatibility; unused arguments cost nothing here.
        inline: whether the call disappears into an enclosing jit's program.

    Returns:
        A callable with the signature of `fun`, and `lower`, `trace`, `eval_shape`, `clear_cache`.

    Raises:
        ValueError: if a static argument cannot be hashed.
    """
    if fun is None:
        return functools.partial(  # type: ignore[return-value]
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
        )
    if not callable(fun):
        raise TypeError(f"jit expects a function (Expected a callable value), got {fun!r:.80}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"jit of {function_name(fun)}: generator functions cannot be traced")
    numbers = tuple(concrete_int(i, "static_argnums") for i in as_tuple(static_argnums, int))
    names = as_tuple(static_argnames, str)
    numbers, names = complete_statics(fun, numbers, names)
    donated = tuple(concrete_int(i, "donate_argnums") for i in as_tuple(donate_argnums, int))
    donated_names = as_tuple(donate_argnames, str)
    if set(numbers) & set(donated):
        raise ValueError(
            f"jit of {function_name(fun)}: arguments {sorted(set(numbers) & set(donated))} are both "
            "static and donated"
        )
    options = JitOptions(numbers, names, donated, donated_names, keep_unused, inline)
    return JitFunction(fun, options)


def complete_statics(
    fun: Callable, numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Static arguments by number and by name, each found from the other through the signature."""
    if not numbers and not names:
        return (), ()
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p.name for p in parameters if p.kind in kinds]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for i in numbers:
        if not variadic and not -len(positional) <= i < len(positional):
            raise ValueError(
                f"jit of {function_name(fun)}: static_argnums {i} is out of range, the function "
                f"takes {len(positional)} positional arguments"
            )
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in names:
        if not any_name and name not in {p.name for p in parameters}:
            raise ValueError(
                f"jit of {function_name(fun)}: static_argnames {name!r} is not a parameter; it has "
                f"{[p.name for p in parameters]}"
            )
    by_number = {positional[i] for i in numbers if -len(positional) <= i < len(positional)}
    by_name = {positional.index(n) for n in names if n in positional}
    return tuple(sorted(set(numbers) | by_name)), tuple(sorted(set(names) | by_number))
