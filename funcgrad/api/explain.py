"""Why jit traced a function again: what a call has that no earlier call of the function had."""

import contextlib
import itertools
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from funcgrad.api.statics import Statics, parameter_name
from funcgrad.base.aval import ShapedArray
from funcgrad.base.config import config
from funcgrad.base.keypaths import DictKey, keystr
from funcgrad.base.memo import Cache, context_key
from funcgrad.base.source import Place, function_place, user_source
from funcgrad.base.switches import SWITCHES
from funcgrad.base.tree import PyTreeDef
from funcgrad.base.treediff import differences, look_at_structure

_log = logging.getLogger("funcgrad.explain")
# Traces of one function that a later one is compared with.
REMEMBERED = 32


class Call(NamedTuple):
    """A call that made jit trace: all that its program depends on, and where it was made."""

    number: int
    options: Any
    in_tree: PyTreeDef
    avals: tuple[ShapedArray, ...]
    statics: Statics | None
    context: tuple
    names: tuple[str, ...]
    place: Place | None

    @property
    def where(self) -> str:
        return self.place.describe() if self.place else "an unknown place"


class Twins:
    """How many function objects one piece of code has made, as far as jit has seen them."""

    def __init__(self) -> None:
        self.count = 0
        self.last: weakref.ref | None = None

    def meets(self, function: Callable) -> int:
        """How many other functions of this code came before a function."""
        if self.last is not None and self.last() is function:
            return self.count - 1
        self.count += 1
        self.last = weakref.ref(function)
        return self.count - 1


_numbers = itertools.count(1)
_calls: "weakref.WeakKeyDictionary[Callable, Cache]" = weakref.WeakKeyDictionary()
_twins = Cache()  # by code
_others: "weakref.WeakKeyDictionary[Callable, int]" = weakref.WeakKeyDictionary()


def explain_recompile(jitted: Callable) -> str:
    """Say why a jitted function was traced each time that it was.

    Args:
        jitted: what `jit` returned.

    Returns:
        One paragraph a trace, oldest first: the user's line of the call, and what differs from the
        nearest earlier call: arguments by name with shape, dtype and weak type, the structure of
        arguments, values of static arguments, settings. Up to 32 traces of a function are
        remembered, until `clear_caches`.

    Raises:
        TypeError: if the function was not made by `jit`.

    Example:
        >>> f = jit(lambda x: x + 1)
        >>> _ = f(ones(3)), f(ones(4))
        >>> print(explain_recompile(f).split("- ")[-1])
        argument x: float32[3] before, float32[4] now
    """
    function = getattr(jitted, "_fun", None)
    options = getattr(jitted, "_options", None)
    if function is None or options is None:
        raise TypeError(f"explain_recompile takes what jit returned, got {jitted!r:.80}")
    calls = list(_history(function).values())
    name = function_place(function)
    if not any(call.options == options for call in calls):
        return f"{name} has not been traced."
    return "\n".join(
        explanation(function, call, calls[:i])
        for i, call in enumerate(calls)
        if call.options == options
    )


def explanation(function: Callable, call: Call, earlier: Sequence[Call]) -> str:
    """Why a call was traced, given those of the same function before it."""
    head = f"{function_place(function)} was traced for the call at {call.where}"
    if not earlier:
        lines = ["it is the first call of this function object.", *new_function(function)]
        return "\n".join([head, *(f"  {line}" for line in lines)])
    nearest, reasons = min(
        ((other, list(what_differs(function, call, other))) for other in reversed(earlier)),
        key=lambda pair: len(pair[1]),
    )
    lines = [f"the nearest earlier call is at {nearest.where}"]
    if not reasons:
        reasons = [
            "nothing differs: the earlier program was not kept. `lower` and `trace` keep none, nor "
            "does a call that closes over a traced value; clear_cache forgets them."
        ]
    lines += [f"- {reason}" for reason in reasons]
    return "\n".join([head, *(f"  {line}" for line in lines)])


def new_function(function: Callable) -> Iterator[str]:
    """What to say of a function whose code jit has met before, in another function object."""
    others = _others.get(function, 0)
    if not others:
        return
    objects = "another function object" if others == 1 else f"{others} other function objects"
    yield (
        f"- the function is new: jit has traced {objects} of the same code. Programs are kept by "
        "function object, so make the function once, outside of the loop or call."
    )
    free = codes_of(function)[-1].co_freevars
    if free:
        yield f"- it closes over {', '.join(free)}; pass as arguments what changes."


def what_differs(function: Callable, new: Call, old: Call) -> Iterator[str]:
    """Each difference between two calls of a function, in words."""
    if new.options != old.options:
        for name, before in vars(old.options).items():
            now = getattr(new.options, name)
            if now != before:
                yield f"jit's {name}: {before!r} before, {now!r} now"
    if new.in_tree != old.in_tree:
        yield from tree_differences(function, new, old)
    else:
        for name, before, now in zip(new.names, old.avals, new.avals, strict=True):
            if before is not now:
                yield f"argument {name}: {type_difference(before, now)}"
    yield from static_differences(function, new.statics or Statics(), old.statics or Statics())
    yield from context_differences(new.context, old.context)


def tree_differences(function: Callable, new: Call, old: Call) -> Iterator[str]:
    """Where the arguments are other containers than before."""
    for path, before, now, why in differences(
        old.in_tree, new.in_tree, look_at_structure, look_at_structure, prefix=False
    ):
        if len(path) == 1:
            kind = "keyword arguments" if path[0].idx else "positional arguments"
            given = [_given(call.in_tree.children()[path[0].idx]) for call in (old, new)]
            yield f"{kind}: {given[0]} before, {given[1]} now"
            continue
        name = path[1].key if path[0].idx else argument_name(function, path[1].idx, new.statics)
        told = f"{before} before, {now} now" if before != now else f"{before} each time, and {why}"
        yield f"the structure of {name}{keystr(path[2:])}: {told}"


def _given(arguments: PyTreeDef) -> str:
    """The names of keyword arguments, or how many positional ones there are."""
    head = arguments.head
    names = [key.key for key in head.keys if isinstance(key, DictKey)] if head else []
    return ", ".join(names) or str((head and head.arity) or "none")


def argument_name(function: Callable, position: int, statics: Statics | None) -> str:
    """The parameter of a traced positional argument, of which static ones have been taken out."""
    for index, _ in statics.positional if statics else ():
        position += index <= position
    return parameter_name(function, position)


def type_difference(before: ShapedArray, now: ShapedArray) -> str:
    """Two types, with the weak type where that is all that differs."""
    if before.shape == now.shape and before.dtype == now.dtype:
        was, is_now = (
            "weakly typed, as Python numbers are" if a.weak_type else "not weakly typed"
            for a in (before, now)
        )
        return f"{before.str_short()} {was} before, {is_now} now"
    return f"{before.str_short()} before, {now.str_short()} now"


def static_differences(function: Callable, new: Statics, old: Statics) -> Iterator[str]:
    before, now = ({**dict(s.positional), **dict(s.named)} for s in (old, new))
    for label in dict.fromkeys([*before, *now]):
        a, b = before.get(label, ABSENT), now.get(label, ABSENT)
        if type(a) is type(b) and a == b:
            continue
        texts = [_value_text(a), _value_text(b)]
        if texts[0] == texts[1]:
            texts = [f"{text} of hash {hash(v):#x}" for text, v in zip(texts, (a, b))]
        name = label if isinstance(label, str) else parameter_name(function, label)
        yield f"static argument {name}: {texts[0]} before, {texts[1]} now"


def _value_text(value: Any) -> str:
    text = f"{value!r:.60}"
    return (
        text
        if isinstance(value, (bool, str)) or value is ABSENT
        else f"{text} ({type(value).__name__})"
    )


def context_differences(new: tuple, old: tuple) -> Iterator[str]:
    """The settings and named axes that differ."""
    before, now = dict(old[0]), dict(new[0])
    for name in dict.fromkeys([*before, *now]):
        switch = SWITCHES.get(name)
        default = ABSENT if switch is None else switch.default
        a, b = before.get(name, default), now.get(name, default)
        if a != b:
            yield f"config.{name}: {a!r} before, {b!r} now"
    if new[1] != old[1]:
        texts = [
            ", ".join(f"{a.name!r} of size {a.size} by {a.bound_by}" for a in axes) or "none"
            for axes in (old[1], new[1])
        ]
        yield f"the named axes around the call: {texts[0]} before, {texts[1]} now"


class _Absent:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "not given"


ABSENT = _Absent()


# remembering


def codes_of(function: Any) -> tuple[CodeType, ...]:
    """The code of a function and of those inside it, where it is a method, partial or wrapper."""
    codes = []
    while function is not None:
        code = getattr(function, "__code__", None)
        codes += [code] if isinstance(code, CodeType) else []
        inner = (getattr(function, name, None) for name in ("__wrapped__", "__func__", "func"))
        function = next((f for f in inner if f is not None), None)
    return tuple(codes)


def _history(function: Callable) -> Cache:
    try:
        return _calls.setdefault(function, Cache(REMEMBERED))
    except TypeError:  # a callable that cannot be hashed or referred to weakly
        return Cache(REMEMBERED)


def _meet(function: Callable) -> None:
    """Count the function objects that one piece of code makes."""
    codes = codes_of(function)
    if codes:
        with contextlib.suppress(TypeError):
            if codes not in _twins:
                _twins[codes] = Twins()
            _others[function] = _twins[codes].meets(function)


def on_event(event: str, details: dict[str, Any]) -> None:
    """Remember each trace, and log why it came about where that is wanted."""
    if event != "trace":
        return
    function = details["function"]
    history = _history(function)
    if not history:
        _meet(function)
    call = Call(
        next(_numbers),
        details["options"],
        details["in_tree"],
        tuple(details["avals"]),
        details["statics"],
        context_key(),
        details["names"],
        user_source(),
    )
    if config.explain_cache_misses:
        _log.warning("%s", explanation(function, call, list(history.values())))
    history[call.number] = call
