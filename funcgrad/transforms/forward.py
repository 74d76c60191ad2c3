"""Forward mode: values travel with their tangents, and each primitive knows its derivative.

A tangent that is known to be zero is `None`; only this file's tracer ever turns one into zeros.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.basis import add, broadcast_scalar, broadcast_to_shape
from funcgrad.base.config import config
from funcgrad.base.lists import Mask, given, pick, present, spread
from funcgrad.base.trace import Primitive, Trace, current_trace, start
from funcgrad.base.tracer import Tracer
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import check_leaks, stage_closed

# (primals, tangents, **params) -> outs, tangents
rules: dict[Primitive, Callable] = {}

Tangent = Any | None


class Forward(Trace):
    """The interpreter of forward mode; primals and tangents are computed under its parent."""

    description = "forward-mode differentiation (grad, jvp, linearize)"

    def __init__(self, parent: Trace):
        self.parent = parent
        self.records = parent.records

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        primals, tangents, moving = [], [], False
        for arg in args:
            if type(arg) is ForwardTracer and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                if type(arg) is not ConcreteArray:
                    self.check_alive(arg)
                primals.append(arg)
                tangents.append(None)
        if not moving:
            return self.parent.process(primitive, primals, params)
        rule = rules.get(primitive)
        if rule is None:
            raise NotImplementedError(f"{primitive} has no forward-mode derivative")
        outs, out_tangents = self.apply(primitive, rule, (primals, tangents), params)
        if len(outs) == 1:  # the usual case, put shortly
            (out,), (tangent,) = outs, out_tangents
            return (out if tangent is None else ForwardTracer(self, out, tangent),)
        return tuple(
            out if tangent is None else ForwardTracer(self, out, tangent)
            for out, tangent in zip(outs, out_tangents, strict=True)
        )

    def pack(self, primal: Any, tangent: Tangent) -> Any:
        if tangent is None:
            return primal
        return ForwardTracer(self, as_value(primal), as_value(tangent))

    def unpack(self, value: Any) -> tuple[Any, Tangent]:
        """The primal and tangent of a result, `None` for one that does not depend on the inputs."""
        if type(value) is ForwardTracer and value._trace is self:
            return value.primal, value.tangent
        self.check_alive(value)
        return value, None


class ForwardTracer(Tracer):
    """A primal and its nonzero tangent. Python control flow sees the primal."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: Forward, primal: Any, tangent: Any):
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval: ShapedArray = primal.aval

    def _concrete(self) -> Any:
        """The primal where it is something Python can look into, else this tracer's own error."""
        if not self._trace.alive:
            raise self.leak_error()
        return self.primal

    def __bool__(self) -> bool:
        return bool(self._concrete())

    def __int__(self) -> int:
        return int(self._concrete())

    def __float__(self) -> float:
        return float(self._concrete())

    def __complex__(self) -> complex:
        return complex(self._concrete())

    def __index__(self) -> int:
        return self._concrete().__index__()

    def __repr__(self) -> str:
        return f"ForwardTracer<{self.primal!r} with tangent {self.tangent!r}>"

    def __str__(self) -> str:
        return str(self.primal)


def jvp(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Tangent]
) -> tuple[list[Any], list[Tangent]]:
    """Run a flat function once; its outputs and their tangents (`None` where zero)."""
    trace = Forward(current_trace())
    outs = start(trace, function, *map(trace.pack, primals, tangents))
    pairs = [trace.unpack(out) for out in outs]
    if config.check_tracer_leaks:
        del outs
        check_leaks(trace)
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def jvp_program(
    program: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
) -> tuple[ClosedJaxpr, Mask]:
    """The program (primals, nonzero tangents) -> (outs, nonzero out tangents), and which those are.

    `instantiate` says which output tangents must be there even when they are zero.
    """

    def make() -> tuple[ClosedJaxpr, Mask]:
        out_nonzero: list[bool] = []

        def both(*flat: Any) -> list[Any]:
            primals, tangents = flat[: len(nonzero)], flat[len(nonzero) :]
            outs, out_tangents = jvp(program, primals, spread(nonzero, tangents))
            forced = (instantiate,) * len(outs) if isinstance(instantiate, bool) else instantiate
            out_tangents = [
                instantiate_zeros(o, t) if f else t
                for o, t, f in zip(outs, out_tangents, forced, strict=True)
            ]
            out_nonzero.extend(present(out_tangents))
            return [*outs, *given(out_tangents)]

        avals = [*program.in_avals, *map(tangent_aval, pick(nonzero, program.in_avals))]
        closed, operands = stage_closed(both, avals, program.jaxpr.debug_info)
        assert not operands
        return closed, tuple(out_nonzero)

    return program.derived(("jvp", nonzero, instantiate), make)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros; of the float0 dtype where that is what the aval says."""
    if aval.dtype == dtypes.float0:
        return ConcreteArray(np.zeros(aval.shape, dtypes.float0), aval)
    return broadcast_scalar(0, aval)


def with_zeros(
    values: Sequence[Any], avals: Iterable[ShapedArray], make: Callable = zeros_like_aval
) -> list[Any]:
    """The values themselves, or what `make` makes of their avals where they are None."""
    return [make(a) if v is None else v for v, a in zip(values, avals, strict=True)]


def instantiate_zeros(primal: Any, tangent: Tangent) -> Any:
    """The tangent itself, or zeros of the right type where it is None."""
    return zeros_like_aval(tangent_aval(aval_of(primal))) if tangent is None else tangent


def add_tangents(a: Tangent, b: Tangent) -> Tangent:
    """The sum of two tangents or cotangents, either of which may be zero."""
    if a is None:
        return b
    return a if b is None else add(a, b)


def elementwise(primitive: Primitive, *partials: Callable | None) -> None:
    """Register the derivative of a one-output primitive, argument by argument.

    `partials[i](tangent, out, *primals, **params)` is the contribution of argument i; None where
    the output does not depend on it differentiably. With no partials at all, the derivative is 0.
    """

    if not partials:
        return zero_derivative(primitive)

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        (out,) = primitive.bind_list(primals, params)
        total = None
        for i, tangent in enumerate(tangents):
            if tangent is not None and (partial := partials[i]) is not None:
                term = partial(tangent, out, *primals, **params)
                total = term if total is None else add_tangents(total, term)
        if total is not None and total.aval is not out.aval:
            # A scalar operand's tangent stands for one at every place of the result.
            total = broadcast_to_shape(total, out.aval.shape)
        return (out,), (total,)

    rules[primitive] = rule


def zero_derivative(primitive: Primitive) -> None:
    """Register a primitive whose outputs do not change under small changes of its inputs."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        outs = primitive.bind_list(primals, params)
        return outs, [None] * len(outs)

    rules[primitive] = rule


def linear(primitive: Primitive) -> None:
    """Register a primitive that is linear in all its array arguments together (one output)."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        outs = primitive.bind_list(primals, params)
        if len(tangents) > 1:
            tangents = [instantiate_zeros(p, t) for p, t in zip(primals, tangents, strict=True)]
        return outs, primitive.bind_list(tangents, params)

    rules[primitive] = rule
