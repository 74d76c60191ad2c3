"""Primitives and the current trace: the interpreter that a bound primitive is handed to.

The current trace stands in a context variable. Each trace keeps its parent and applies one rule,
running whatever the rule calls under the parent; at the bottom, evaluation runs the array library.
"""

import contextvars
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from funcgrad.base import shortage
from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.aval import ShapedArray
from funcgrad.base.backend import ERROR_STATE, IGNORE_ERRORS, namespace, to_numpy
from funcgrad.base.config import config
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.errors import OutOfMemoryError
from funcgrad.base.memo import Cache
from funcgrad.base.source import current_source, inherited_source, mark_source, user_source
from funcgrad.base.switches import watching_results
from funcgrad.base.tracer import Tracer

Rule = Callable[..., Any]
Effects = frozenset
NO_EFFECTS: Effects = frozenset()


class Primitive:
    """A name that interpreters have rules for; in rules its outputs are always a tuple.

    A primitive made by a user has `impl`, a function of arrays that computes it.
    """

    __slots__ = ("__weakref__", "impl", "multiple_results", "name")

    def __init__(self, name: str, multiple_results: bool = False):
        self.name = name
        self.multiple_results = multiple_results
        self.impl: Callable | None = None

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply it: its output, or the tuple of them with `multiple_results`."""
        outs = _current.get().process(self, args, params)
        return outs if self.multiple_results else outs[0]

    def bind_list(self, args: Sequence, params: dict[str, Any]) -> tuple:
        """Apply it; always a tuple of outputs."""
        return _current.get().process(self, args, params)

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list, dict[str, Any]]:
        """Functions and params to `bind` an equation's with; the functions are in the params."""
        return [], params

    def def_impl(self, impl: Callable) -> Callable:
        """Compute it by a function of arrays, `impl(*args, **params)`; returns the function."""
        self.impl = impl
        evaluate_rules[self] = partial(evaluate_impl, self)
        return impl

    def def_abstract_eval(self, rule: Callable) -> Callable:
        """Say by `rule(*avals, **params)` of what shape and dtype its outputs are."""
        self.def_effectful_abstract_eval(lambda *avals, **params: (rule(*avals, **params), ()))
        return rule

    def def_effectful_abstract_eval(self, rule: Callable) -> Callable:
        """The same with a rule that returns (avals, effects)."""

        def abstract(*avals: ShapedArray, **params: Any) -> tuple[tuple, Effects]:
            outs, effects = rule(*avals, **params)
            return self.tupled(outs), Effects(effects)

        abstract_rules[self] = abstract
        return rule

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> tuple[Any, Effects]:
        """The avals of the outputs, and the effects."""
        outs, effects = abstract_eval(self, avals, params)
        return (list(outs) if self.multiple_results else outs[0]), effects

    def tupled(self, outs: Any) -> tuple:
        """What a user's rule returns, as the tuple that interpreters take."""
        return tuple(outs) if self.multiple_results else (outs,)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        if find_primitive(self.name) is not self:
            raise TypeError(f"primitive {self.name} was made here, so no other process knows it")
        return (find_primitive, (self.name,))


class CallPrimitive(Primitive):
    """A primitive that stands for a Python function `fun`: evaluating it is calling that."""

    __slots__ = ()

    def __init__(self, name: str, multiple_results: bool = False):
        super().__init__(name, multiple_results)
        self.impl = call_function


def call_function(*args: Any, fun: Callable, **_: Any) -> Any:
    return fun(*args)


def evaluate_impl(primitive: Primitive, xp: Any, *buffers: Any, **params: Any) -> tuple:
    """The evaluate rule of a primitive with `impl`."""
    assert primitive.impl is not None
    outs = primitive.impl(*map(as_array, buffers), **params)
    return tuple(as_array(out).buffer for out in primitive.tupled(outs))


# The two tables that a value and its abstract value are computed by.
evaluate_rules: dict[Primitive, Rule] = {}  # (xp, *buffers, **params) -> buffers
abstract_rules: dict[Primitive, Rule] = {}  # (*avals, **params) -> (avals, effects)


class single:
    """The evaluate rule of a primitive with one output, from a function that returns just that.

    The function is array code alone: it binds no primitives, and calls nothing that might.
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Rule):
        self.rule = rule

    def __call__(self, xp: Any, *buffers: Any, **params: Any) -> tuple:
        return (self.rule(xp, *buffers, **params),)


def pure(rule: Rule) -> Rule:
    """The abstract rule of a primitive without effects; `rule` returns one aval or a tuple."""

    def abstract(*avals: ShapedArray, **params: Any) -> tuple[tuple, Effects]:
        out = rule(*avals, **params)
        return (out,) if isinstance(out, ShapedArray) else tuple(out), NO_EFFECTS

    return abstract


def find_primitive(name: str) -> Primitive:
    """The primitive of that name (what a pickled program refers to)."""
    for primitive in abstract_rules:
        if primitive.name == name:
            return primitive
    raise KeyError(f"no primitive is named {name!r}")


_abstract_cache: Cache = Cache(65536)


def abstract_eval(
    primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]
) -> tuple[tuple[ShapedArray, ...], Effects]:
    """The avals and effects of a primitive's outputs; a user error is marked with its line."""
    key = (primitive, *avals, *params.items())
    found = _abstract_cache.get(key)
    if found is None:
        rule = abstract_rules.get(primitive)
        if rule is None:
            raise NotImplementedError(
                f"primitive {primitive} has no abstract evaluation: give it one with "
                "def_abstract_eval, which says the shape and dtype of its outputs."
            )
        try:
            found = rule(*avals, **params)
        except (TypeError, ValueError, NotImplementedError) as error:
            mark_source(error)
            raise
        if not holds_code(params.values()):
            _abstract_cache[key] = found
    return found


def holds_code(values: Iterable[Any]) -> bool:
    """Whether there is a program or function among these params, which a cache must not keep.

    Such params are often made for one call, and hold its arrays.
    """
    return any(callable(v) or (isinstance(v, tuple) and holds_code(v)) for v in values)


# Between the user and a rule or an equation stand at least bind, process, and apply or record.
FRAMES_OF_BIND = 3


class Trace:
    """One interpreter at work. `alive` turns False when the call that started it returns."""

    parent: "Trace"
    alive: bool = True
    description: str = "a transformation"
    records: bool = False  # whether this trace or one below it writes down equations

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        """What binding `primitive` to `args` means in this interpreter."""
        raise TypeError(f"{type(self).__name__} does not interpret primitives")

    def apply(self, primitive: Primitive, rule: Rule, args: tuple, params: dict[str, Any]) -> Any:
        """Run a rule of a primitive under the parent; what it records has the user's line."""
        parent = self.parent
        token = _current.set(parent)
        placed = None
        if parent.records and inherited_source.get() is None and primitive.impl is None:
            placed = inherited_source.set(user_source(FRAMES_OF_BIND))
        try:
            return rule(*args, **params)
        finally:
            if placed is not None:
                inherited_source.reset(placed)
            _current.reset(token)

    def check_alive(self, value: Any) -> None:
        """Raise if `value` is a tracer whose own trace has ended."""
        if isinstance(value, Tracer) and not value._trace.alive:
            raise value.leak_error()


def out_of_memory(primitive: Primitive, avals: Sequence, reason: MemoryError) -> OutOfMemoryError:
    """The error of an operation evaluated at once, with the user's line."""
    if type(reason) is OutOfMemoryError:  # a program told already
        return reason
    error = shortage.of_operation(primitive.name, avals, reason)
    mark_source(error)
    return error


class Evaluation(Trace):
    """The bottom trace: looks up what the primitive computes for these avals, and computes it."""

    description = "evaluation"

    def __init__(self) -> None:
        self.entries: Cache = Cache(65536)

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        if primitive.impl is not None:
            outs = primitive.tupled(under(self, partial(primitive.impl, **params), *args))
            return tuple(map(as_array, outs))
        avals, buffers, committed = [], [], False
        for arg in args:
            array = arg if type(arg) is ConcreteArray else self.concrete(arg)
            buffer = array._buffer
            avals.append(array.aval)
            buffers.append(array.buffer if buffer is None else buffer)
            if array._sharding is not None:
                committed = True
        key = (primitive, *avals, *params.items()) if params else (primitive, *avals)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entry(key, primitive, params)
        avals, evaluate, one = entry
        xp = np if not buffers or type(buffers[0]) is np.ndarray else namespace(buffers[0])
        error_token = ERROR_STATE.set(IGNORE_ERRORS)
        try:
            outs = evaluate(xp, *buffers) if one else under(self, evaluate, xp, *buffers)
        except MemoryError as error:
            raise out_of_memory(primitive, avals, error) from None
        finally:
            ERROR_STATE.reset(error_token)
        sharding = common_sharding(primitive, args) if committed else None
        if one:
            results = (ConcreteArray(outs, avals[0], sharding),)
        else:
            results = tuple(map(ConcreteArray, outs, avals, repeat(sharding)))
        if watching_results():
            check_results(primitive, results)
        return results

    def entry(self, key: tuple, primitive: Primitive, params: dict[str, Any]) -> tuple:
        """The avals of the outputs, what computes their buffers, and if it gives a bare one."""
        avals, _ = abstract_eval(primitive, key[1 : len(key) - len(params)], params)
        rule = evaluate_rules[primitive]
        one = isinstance(rule, single)
        evaluate = rule.rule if isinstance(rule, single) else rule
        entry = (avals, partial(evaluate, **params) if params else evaluate, one)
        if not holds_code(params.values()):
            self.entries[key] = entry
        return entry

    def concrete(self, value: Any) -> ConcreteArray:
        if isinstance(value, Tracer):
            raise value.leak_error()
        return as_array(value)


def common_sharding(primitive: Primitive, args: Sequence[Any]) -> Any:
    """The placement of the committed operands; they have to agree."""
    chosen = None
    for arg in args:
        placed = arg._sharding if type(arg) is ConcreteArray else None
        if placed is None or placed is chosen:
            continue
        if chosen is None or chosen.device_set < placed.device_set:
            chosen = placed
        elif not placed.device_set <= chosen.device_set:
            raise ValueError(
                f"{primitive} received incompatible devices: one operand is committed to "
                f"{sorted(map(str, chosen.device_set))}, another to "
                f"{sorted(map(str, placed.device_set))}. Move one with device_put."
            )
    return chosen if chosen is None or chosen.is_fully_replicated else None


def check_results(primitive: Primitive, results: Sequence[ConcreteArray]) -> None:
    """The checks of results that the configuration asks for."""
    if config.enable_checks:
        check_buffers(primitive, results)
    if config.debug_nans or config.debug_infs:
        check_finite(primitive, results)


def check_buffers(primitive: Primitive, results: Sequence[ConcreteArray]) -> None:
    """Raise unless every buffer has the shape and dtype that its aval promised."""
    for out in results:
        expected = buffer_dtype(out.aval.dtype)
        if out.buffer.shape != out.aval.shape or out.buffer.dtype != expected:
            raise AssertionError(
                f"{primitive} evaluated to {out.buffer.dtype}{list(out.buffer.shape)}, its "
                f"abstract rule says {out.aval.str_short()}"
            )


def check_finite(primitive: Primitive, results: Sequence[ConcreteArray]) -> None:
    """Raise FloatingPointError at the first nan (or inf) if `debug_nans` (`debug_infs`) is on."""
    for out in results:
        host = to_numpy(out.buffer)
        if host.dtype.kind == "V" or not np.issubdtype(host.dtype, np.inexact):
            continue
        for switch, test, what in (
            (config.debug_nans, np.isnan, "nan"),
            (config.debug_infs, np.isinf, "inf"),
        ):
            if switch and test(host).any():
                place = current_source()
                at = f" at {place.describe()}" if place else ""
                raise FloatingPointError(
                    f"invalid value ({what}) encountered in {primitive}: the output "
                    f"{out.aval.str_short()} holds {int(test(host).sum())} of them{at}"
                )


EVALUATION = Evaluation()
EVALUATION.parent = EVALUATION
_current: contextvars.ContextVar[Trace] = contextvars.ContextVar("trace", default=EVALUATION)


def current_trace() -> Trace:
    return _current.get()


class running:
    """Make `trace` the current one for a block."""

    __slots__ = ("token", "trace")

    def __init__(self, trace: Trace):
        self.trace = trace

    def __enter__(self) -> Trace:
        self.token = _current.set(self.trace)
        return self.trace

    def __exit__(self, *exception: object) -> None:
        _current.reset(self.token)


def start(trace: Trace, function: Callable, /, *args: Any) -> Any:
    """Call a user's function under a new trace; its tracers are dead when that returns."""
    token = _current.set(trace)
    try:
        return function(*args)
    finally:
        _current.reset(token)
        trace.alive = False


def under(trace: Trace, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)` with `trace` as the current one."""
    token = _current.set(trace)
    try:
        return function(*args, **kwargs)
    finally:
        _current.reset(token)
