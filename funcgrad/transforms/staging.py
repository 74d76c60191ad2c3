"""Staging: run a function on tracers that write down what it does, as a jaxpr."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.aval import ShapedArray
from funcgrad.base.config import config
from funcgrad.base.dtypes import KeyType
from funcgrad.base.errors import UnexpectedTracerError
from funcgrad.base.source import Place, current_source, inherited_source, user_source
from funcgrad.base.trace import (
    FRAMES_OF_BIND,
    NO_EFFECTS,
    Effects,
    Primitive,
    Trace,
    abstract_eval,
    current_trace,
    start,
    under,
)
from funcgrad.base.tracer import Tracer
from funcgrad.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    DebugInfo,
    Eqn,
    Jaxpr,
    Literal,
    Var,
    new_eqn,
)

# (trace, args, params) -> outs, for primitives whose params hold Python functions to be staged.
rules: dict[Primitive, Callable] = {}


class Recorder(Trace):
    """A trace that appends an equation for what it is handed, and knows its constants."""

    records = True

    def __init__(self, parent: Trace, debug_info: DebugInfo):
        self.parent = parent
        self.debug_info = debug_info
        self.invars: list[Var] = []
        self.eqns: list[Eqn] = []
        self.effects: Effects = NO_EFFECTS
        self._constants: dict[int, tuple[Var, Any]] = {}

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"the tracing of function {self.debug_info.function}"

    def argument(self, aval: ShapedArray, born: Place | None = None) -> "RecordedTracer":
        var = Var(aval)
        self.invars.append(var)
        return RecordedTracer(self, var, born)

    def atom(self, value: Any) -> Atom:
        """The program's name for a value: a variable, a literal, or a new constant."""
        if type(value) is RecordedTracer and value._trace is self:
            return value.variable
        if isinstance(value, Tracer):
            self.check_alive(value)
        else:
            value = value if isinstance(value, ConcreteArray) else self._constant(value)
            if not value.aval.shape and not isinstance(value.aval.dtype, KeyType):
                return Literal(value)
        known = self._constants.get(id(value))
        if known is None:
            known = self._constants[id(value)] = (Var(value.aval), value)
        return known[0]

    def _constant(self, value: Any) -> ConcreteArray:
        """A NumPy array or number as an Array; one source object gives one constant."""
        known = self._constants.get(-id(value))
        if known is None:
            array = as_array(value)
            if not array.aval.shape:
                return array
            known = self._constants[-id(value)] = (Var(array.aval), (array, value))
        return known[1][0]

    def record(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        """Append the equation primitive[params](args); its outputs as tracers."""
        invars, in_avals = [], []
        for arg in args:
            own = type(arg) is RecordedTracer and arg._trace is self
            atom = arg.variable if own else self.atom(arg)
            invars.append(atom)
            in_avals.append(atom.aval)
        avals, effects = abstract_eval(primitive, in_avals, params)
        if effects:
            self.effects = self.effects | effects
        place = inherited_source.get() or user_source(FRAMES_OF_BIND)
        outvars = [Var(avals[0])] if len(avals) == 1 else list(map(Var, avals))
        self.eqns.append(new_eqn((invars, outvars, primitive, params, effects, place)))
        if len(outvars) == 1:  # the usual case, put shortly
            return (RecordedTracer(self, outvars[0], place),)
        return tuple(RecordedTracer(self, v, place) for v in outvars)

    def close(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The program that computes `outs`, and the values of its constants."""
        outvars = [self.atom(o) for o in outs]
        constvars, values = [], []
        for key, (var, value) in self._constants.items():
            if key > 0:
                constvars.append(var)
                values.append(value)
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, self.effects, self.debug_info)
        return jaxpr, values

    def depends_on(self, var: Var) -> list[int]:
        """Positions of the arguments that the value of `var` was computed from."""
        needed: set[Var] = {var}
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outvars):
                needed.update(v for v in eqn.invars if isinstance(v, Var))
        return [i for i, v in enumerate(self.invars) if v in needed]


class RecordedTracer(Tracer):
    """The value of a variable of a program that is being written."""

    __slots__ = ("_born", "aval", "variable")

    def __init__(self, trace: Recorder, var: Var, born: Place | None):
        self._trace = trace
        self.variable = var
        self.aval = var.aval
        self._born = born

    def explain(self) -> str:
        names = self._trace.debug_info.arg_names
        positions = self._trace.depends_on(self.variable)
        listed = ", ".join(names[i] if i < len(names) else f"argument {i}" for i in positions)
        plural = "s" if len(positions) > 1 else ""
        depends = f"; it depends on the argument{plural} {listed}" if positions else ""
        return f"It is traced by {self._trace.description}{depends}."

    def birthplace(self) -> str:
        return f"\nIt was created at {self._born.describe()}" if self._born else ""


class Staging(Recorder):
    """The trace under which everything is written down, whether it depends on arguments or not."""

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        rule = rules.get(primitive)
        if rule is not None:
            return under(self, rule, self, args, params)
        return self.record(primitive, args, params)


def stage(
    function: Callable[..., Sequence[Any]],
    in_avals: Sequence[ShapedArray],
    debug_info: DebugInfo | None = None,
) -> tuple[Jaxpr, list[Any]]:
    """The program of a function from flat arrays to flat arrays, and its constants.

    Constants may be tracers of outer transformations; the caller passes those as operands.
    """
    trace = Staging(current_trace(), debug_info or DebugInfo())
    place = current_source()
    outs = start(trace, function, *[trace.argument(a, place) for a in in_avals])
    closed = trace.close(outs)
    if config.check_tracer_leaks:
        del outs
        check_leaks(trace)
    return closed


def check_leaks(ended: Trace) -> None:
    """Raise if a tracer of this trace still lives (`checking_leaks`); the caller has dropped its
    own."""
    gc.collect()
    held = [x for x in gc.get_referrers(ended) if isinstance(x, Tracer)]
    if held:
        shown = ", ".join(f"{t.aval.str_short()}{t.birthplace()}" for t in held[:3])
        raise UnexpectedTracerError(
            f"Leaked tracers: {ended.description} has ended, but {len(held)} of its traced values "
            f"are still held: {shown}. Return them from the function instead of storing them."
        )


def stage_closed(
    function: Callable[..., Sequence[Any]],
    in_avals: Sequence[ShapedArray],
    debug_info: DebugInfo | None = None,
) -> tuple[ClosedJaxpr, list[Any]]:
    """Like `stage`, with arrays closed over kept as constants and tracers made leading operands."""
    jaxpr, consts = stage(function, in_avals, debug_info)
    return close_over_tracers(jaxpr, consts)


def close_over_tracers(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """Move the constants that are tracers to the front of the arguments; returns them too."""
    pairs = list(zip(jaxpr.constvars, consts, strict=True))
    live = [(v, c) for v, c in pairs if isinstance(c, Tracer)]
    kept = [(v, c) for v, c in pairs if not isinstance(c, Tracer)]
    names = jaxpr.debug_info.arg_names
    jaxpr = jaxpr.replace(
        constvars=[v for v, _ in kept],
        invars=[v for v, _ in live] + jaxpr.invars,
        debug_info=jaxpr.debug_info._replace(arg_names=("",) * len(live) + names),
    )
    return ClosedJaxpr(jaxpr, [c for _, c in kept]), [c for _, c in live]
