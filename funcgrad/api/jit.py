"""jit: trace a function once for each kind of argument, and run the compiled program after that."""

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from funcgrad.api import compilelog, explain, refs
from funcgrad.api.flat import (
    Staged,
    argument_names,
    as_value,
    check_arguments,
    give_up,
    may_be_overwritten,
    stage_function,
)
from funcgrad.api.meshes import spread
from funcgrad.api.stages import Lowered, Traced
from funcgrad.api.statics import Statics, check_hashable, parameter_name, take_statics
from funcgrad.base import events
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.config import config
from funcgrad.base.dtypes import canonicalize_dtype
from funcgrad.base.memo import Cache, OncePerKey, context_key
from funcgrad.base.shapes import int_tuple
from funcgrad.base.source import function_name
from funcgrad.base.trace import EVALUATION, common_sharding, current_trace
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from funcgrad.compiler.dispatch import MISS, dispatcher
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.call import jit_p

P = ParamSpec("P")
R = TypeVar("R")

# Kinds of arguments that are tried one by one before the general way is taken.
MOST_DISPATCHERS = 8

Arguments = tuple[tuple, dict[str, Any]]


@dataclass(frozen=True)
class JitOptions:
    """The settings of one jit."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    follows_refs: bool = True


@dataclass(eq=False)
class Entry:
    """What one kind of arguments leads to."""

    staged: Staged

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.staged.program.out_avals


class Entries(OncePerKey):
    """The entries of one function, and the dispatch functions of those called last."""

    def __init__(self) -> None:
        super().__init__()
        self.dispatchers = Cache(MOST_DISPATCHERS)


class JitFunction(Generic[P, R]):
    """A function that `jit` made; calling it runs the compiled program."""

    def __init__(self, fun: Callable[P, R], options: JitOptions):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._entries = entries_of(fun, options)
        # The Refs that a kind of call touches, and what runs it as a pure function.
        self._pure: dict[Hashable, tuple[list[refs.Ref], JitFunction]] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        for dispatch in list(self._entries.dispatchers.values()):
            out = dispatch(args, kwargs)
            if out is not MISS:
                return out
        if config.disable_jit or refs.watched():
            return self._fun(*args, **kwargs)
        if refs.alive() and self._options.follows_refs:
            return self._following_refs(args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function that touches no Ref from outside."""
        dynamic, statics = self._split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        values = self._values(leaves, dynamic)
        entry = self._entry(in_tree, values, statics, dynamic)
        if self._options.donate_argnums or self._options.donate_argnames:
            given_up = self._donated(args, kwargs)
            outs = self._run(entry, values, may_be_overwritten(values, given_up))
            give_up(given_up)
            return tree_unflatten(entry.staged.out_tree, outs)
        outs = self._run(entry, values)
        if statics is None:
            self._write_dispatcher(entry, in_tree, values)
        return tree_unflatten(entry.staged.out_tree, outs)

    def _split(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Arguments, Statics | None]:
        """The arguments to trace, and the static ones."""
        options = self._options
        if not options.static_argnums and not options.static_argnames:
            return (args, kwargs), None
        rest, rest_named, statics = take_statics(
            options.static_argnums, options.static_argnames, args, kwargs
        )
        check_hashable("jit", self._fun, statics)
        return (rest, rest_named), statics

    def _following_refs(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function that may touch Refs: as it is, and as a pure one if it does."""
        dynamic, statics = self._split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        where, own = refs.split(leaves)
        plain = [x for x in leaves if not isinstance(x, refs.Ref)]
        try:
            types = tuple(aval_of(x) for x in (*own, *plain))
        except TypeError:
            return self._call(args, kwargs)  # which says what is wrong
        key = (in_tree, where, types, statics and statics.key(), context_key())
        if key not in self._pure:
            if not where:
                with contextlib.suppress(refs.Unfollowed):
                    return self._call(args, kwargs)
            function = self._fun if statics is None else statics.put_back(self._fun)
            body = refs.with_arguments(function, in_tree, where)
            found = refs.touched("jit", [body], refs.read_all(own), plain)
            options = JitOptions(follows_refs=False)
            self._pure[key] = found, JitFunction(refs.pure(body, found), options)
        found, run = self._pure[key]
        (out, values), others = run(refs.read_all(found), refs.read_all(own), plain)
        refs.write_all(own, values)
        refs.write_all(found, others)
        return out

    def _values(self, leaves: Sequence, dynamic: Arguments) -> list[Any]:
        try:
            return [as_value(x) for x in leaves]
        except TypeError:
            check_arguments("jit", self._fun, *dynamic)
            raise

    def _entry(
        self,
        in_tree: PyTreeDef,
        values: Sequence[Any],
        statics: Statics | None,
        dynamic: Arguments,
    ) -> Entry:
        avals = tuple([v.aval for v in values])
        key = (in_tree, avals, statics and statics.key(), context_key())

        def make() -> tuple[Entry, bool]:
            staged = self._stage(in_tree, avals, statics, dynamic)
            return Entry(staged), not staged.operands

        return self._entries.get(key, make)

    def _stage(
        self,
        in_tree: PyTreeDef,
        avals: Sequence[ShapedArray],
        statics: Statics | None,
        dynamic: Arguments,
    ) -> Staged:
        function = self._fun if statics is None else statics.put_back(self._fun)
        names = argument_names(function, *dynamic)
        events.notify(
            "trace",
            function=self._fun,
            options=self._options,
            in_tree=in_tree,
            avals=avals,
            statics=statics,
            names=names,
        )
        types = [a.str_short() for a in avals]
        if config.no_tracing:
            raise RuntimeError(
                f"tracing of function {function_name(self._fun)} was forbidden by no_tracing, and "
                "jit "
                f"needs it: the call has new types {types}"
            )
        staged = stage_function(function, in_tree, avals, "jit", names)
        events.notify("traced", function=self._fun, program=staged.program)
        return staged

    def _run(
        self, entry: Entry, values: Sequence[Any], donated: frozenset[int] = frozenset()
    ) -> Sequence[Any]:
        program = entry.staged.program
        if current_trace() is EVALUATION and not entry.staged.operands:
            if all(type(v) is ConcreteArray for v in values):
                sharding = common_sharding(jit_p, values)
                outs = compiled(program, None, donated)(*[v.contiguous() for v in values])
                return [
                    ConcreteArray(o, a, sharding)
                    for o, a in zip(outs, entry.out_avals, strict=True)
                ]
        return jit_p.bind(
            *entry.staged.operands, *values, jaxpr=program, name=function_name(self._fun)
        )

    def _write_dispatcher(self, entry: Entry, in_tree: PyTreeDef, values: Sequence[Any]) -> None:
        """Have the next call with such arguments take the short way."""
        known = self._entries.dispatchers
        if entry in known or entry.staged.operands or current_trace() is not EVALUATION:
            return
        executable = compiled(entry.staged.program)
        if isinstance(executable, NativeExecutable):
            avals = [v.aval for v in values]
            found = dispatcher(executable, in_tree, entry.staged.out_tree, avals)
            if found is not None:
                known[entry] = found

    def _donated(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        """The arguments that the caller gives up."""
        names = self._options.donate_argnames
        return [
            *(args[i] for i in self._donated_positions(len(args))),
            *(value for name, value in kwargs.items() if name in names),
        ]

    def _donated_positions(self, count: int) -> list[int]:
        """Which of so many positional arguments are donated."""
        options = self._options
        chosen = {i % count for i in options.donate_argnums if -count <= i < count}
        names = options.donate_argnames
        if names:
            chosen.update(i for i in range(count) if parameter_name(self._fun, i) in names)
        return sorted(chosen)

    def _donated_leaves(self, args: tuple, kwargs: dict[str, Any]) -> list[int]:
        """The numbers of the donated leaves among those of the arguments that are traced."""
        options, count = self._options, len(args)
        static = {i % count for i in options.static_argnums if -count <= i < count}
        donated = self._donated_positions(count)
        given = [
            *((a, i in donated) for i, a in enumerate(args) if i not in static),
            *(
                (a, name in options.donate_argnames)
                for name, a in sorted(kwargs.items())
                if name not in options.static_argnames
            ),
        ]
        marks = [mark for tree, mark in given for _ in tree_leaves(tree)]
        return [i for i, mark in enumerate(marks) if mark]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """The program for arguments like these (arrays, or anything with a shape and dtype)."""
        dynamic, statics = self._split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        avals = [described_aval(x) for x in leaves]
        staged = self._stage(in_tree, avals, statics, dynamic)
        trees, donated = (in_tree, staged.out_tree), self._donated_leaves(args, kwargs)
        program = with_constants(staged.program, staged.operands)
        return Traced(function_name(self._fun), program, *trees, donated)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """The program for arguments like these, ready to be compiled or printed."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The shapes and dtypes of the outputs, without running anything."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forget every program traced for this function."""
        self._entries.entries.clear()
        self._entries.dispatchers.clear()
        self._pure.clear()

    def _cache_size(self) -> int:
        return len(self._entries.entries)

    def __repr__(self) -> str:
        return f"<jit of {function_name(self._fun)}>"

    def __reduce__(self) -> tuple:
        return (_rebuild, (self._fun, self._options))


class SpreadFunction(JitFunction[P, R]):
    """A jitted function that spreads its arguments and outputs over devices."""

    def __init__(self, fun: Callable[P, R], options: JitOptions, inputs: Any, outputs: Any):
        super().__init__(fun, options)
        self._inputs, self._outputs = inputs, outputs

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = args
        if self._inputs is not None:
            given = spread(args, self._inputs, "jit in_shardings", move=False)
        out = super().__call__(*given, **kwargs)
        if self._outputs is None:
            return out
        return spread(out, self._outputs, "jit out_shardings")


def with_constants(program: ClosedJaxpr, operands: Sequence[Any]) -> ClosedJaxpr:
    """The program with its first arguments, those that a function closes over, as constants."""
    if not operands:
        return program
    jaxpr, count = program.jaxpr, len(operands)
    info = jaxpr.debug_info._replace(arg_names=jaxpr.debug_info.arg_names[count:])
    closed = jaxpr.replace(
        constvars=[*jaxpr.invars[:count], *jaxpr.constvars],
        invars=jaxpr.invars[count:],
        debug_info=info,
    )
    return ClosedJaxpr(closed, [*operands, *program.consts])


events.listen(compilelog.on_event)
events.listen(explain.on_event)


def _rebuild(fun: Callable, options: JitOptions) -> JitFunction:
    return JitFunction(fun, options)


def described_aval(x: Any) -> ShapedArray:
    """The aval of an array, or of anything that has a shape and a dtype."""
    if isinstance(getattr(x, "aval", None), ShapedArray):
        return x.aval
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(x.shape, canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return aval_of(x)


_entries: "weakref.WeakKeyDictionary[Callable, dict]" = weakref.WeakKeyDictionary()


def entries_of(fun: Callable, options: JitOptions) -> Entries:
    """The programs known for a function; every jit of it with the same options shares them."""
    try:
        per_function = _entries.setdefault(fun, {})
    except TypeError:
        return Entries()
    return per_function.setdefault(options, Entries())


def name_tuple(value: str | Iterable[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


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
        in_shardings, out_shardings: how arguments and outputs are spread over devices: a Sharding
            or PartitionSpec, or a pytree prefix of those for the positional arguments and for the
            output. None in it leaves arrays where they are.

    Returns:
        A callable with the signature of `fun`, and `lower`, `trace`, `eval_shape`, `clear_cache`.

    Raises:
        ValueError: if a static argument cannot be hashed, or an argument is committed to another
            sharding than told.
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
            in_shardings=in_shardings,
            out_shardings=out_shardings,
        )
    if not callable(fun):
        raise TypeError(f"jit expects a function (Expected a callable value), got {fun!r:.80}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"jit of {function_name(fun)}: generator functions cannot be traced")
    numbers, names = complete_statics(
        fun, int_tuple(static_argnums, "static_argnums"), name_tuple(static_argnames)
    )
    donated = int_tuple(donate_argnums, "donate_argnums")
    both = sorted(set(numbers) & set(donated))
    if both:
        raise ValueError(
            f"jit of {function_name(fun)}: arguments {both} are both static and donated"
        )
    donated_names = name_tuple(donate_argnames)
    options = JitOptions(numbers, names, donated, donated_names, keep_unused, inline)
    if in_shardings is not None or out_shardings is not None:
        return SpreadFunction(fun, options, in_shardings, out_shardings)
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
