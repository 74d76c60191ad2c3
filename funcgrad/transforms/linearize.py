"""Linearize: forward mode whose tangent half is written down; its transpose is reverse mode."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import Mask, given, pick, present, spread
from funcgrad.base.source import current_source, function_place
from funcgrad.base.trace import current_trace, start
from funcgrad.ir.evaluate import eval_jaxpr
from funcgrad.ir.jaxpr import DebugInfo, Jaxpr
from funcgrad.transforms.backward import Linear, backward_pass
from funcgrad.transforms.forward import jvp, with_zeros
from funcgrad.transforms.partial import Partial

DERIVATIVE = DebugInfo("<derivative>")


class LinearProgram(NamedTuple):
    """The derivative of a function at a point, as a program on its differentiable inputs."""

    jaxpr: Jaxpr
    consts: list[Any]
    in_avals: list[ShapedArray]
    out_avals: list[ShapedArray]
    out_nonzero: Mask

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs, from tangents of all inputs."""
        moves = [t for t, a in zip(tangents, self.in_avals, strict=True) if a.dtype != float0]
        outs = eval_jaxpr(self.jaxpr, self.consts, *moves)
        return with_zeros(spread(self.out_nonzero, outs), self.out_avals)

    def pull(self, cts: Sequence[Any]) -> list[Any]:
        """Cotangents of all inputs (None where zero), from cotangents of the outputs."""
        wanted = pick(self.out_nonzero, cts)
        args = [Linear(v.aval) for v in self.jaxpr.invars]
        found = backward_pass(self.jaxpr, self.consts, args, wanted)
        if len(found) == len(self.in_avals):
            return found
        return spread([a.dtype != float0 for a in self.in_avals], found)


def linear_program(
    function: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray]
) -> LinearProgram:
    """A flat function that is linear already, written down; what needs no argument is computed."""
    trace = Partial(current_trace(), DebugInfo(function_place(function)))
    place = current_source()
    outs = start(trace, function, *[trace.argument(a, place) for a in in_avals])
    jaxpr, consts = trace.close(outs)
    out_avals = jaxpr.out_avals
    return LinearProgram(jaxpr, consts, [*in_avals], out_avals, (True,) * len(out_avals))


def linearize_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any]
) -> tuple[list[Any], LinearProgram]:
    """Run a flat function once; its outputs, and its derivative there.

    Forward mode runs above partial evaluation: primals are known, so they are computed; tangents
    are unknown, so what is done to them is written down.
    """
    in_avals = [tangent_aval(aval_of(p)) for p in primals]
    trace = Partial(current_trace(), DERIVATIVE)
    tangents = [None if a.dtype == float0 else trace.argument(a) for a in in_avals]
    outs, out_tangents = start(trace, jvp, function, primals, tangents)
    jaxpr, consts = trace.close(given(out_tangents))
    out_avals = [tangent_aval(aval_of(o)) for o in outs]
    return outs, LinearProgram(jaxpr, consts, in_avals, out_avals, present(out_tangents))
