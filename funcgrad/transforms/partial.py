"""Partial evaluation: do what is known now, and write the rest down as a program."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray
from funcgrad.base.lists import Mask, drop, merge, pick
from funcgrad.base.trace import Primitive, current_trace, start
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import RecordedTracer, Recorder, stage

# (trace, args, params) -> outs, for primitives that carry a program
rules: dict[Primitive, Callable] = {}


class Partial(Recorder):
    """Known values are computed under the parent; what depends on unknown ones is recorded."""

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        for arg in args:
            if type(arg) is RecordedTracer and arg._trace is self:
                rule = rules.get(primitive)
                if rule is not None:
                    return self.apply(primitive, rule, (self, args, params), {})
                return self.record(primitive, args, params)
            if type(arg) is not ConcreteArray:
                self.check_alive(arg)
        return self.parent.process(primitive, args, params)

    def is_unknown(self, value: Any) -> bool:
        return type(value) is RecordedTracer and value._trace is self


class Split(NamedTuple):
    """A program in two: `known` gives the known outputs and then the residuals; `unknown` takes
    the residuals and then the unknown inputs."""

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    out_unknown: Mask
    residual_avals: list[ShapedArray]


def split_program(program: ClosedJaxpr, unknown: Mask, force_unknown: Mask = ()) -> Split:
    """Split by which inputs are unknown; outputs marked in `force_unknown` go to the unknown side.

    Run the program under Partial, with Staging as its parent.
    """

    def make() -> Split:
        found: list[Any] = []
        forced = force_unknown or (False,) * len(program.out_avals)

        def known_half(*known_args: Any) -> list[Any]:
            trace = Partial(current_trace(), program.jaxpr.debug_info)
            unknown_args = map(trace.argument, pick(unknown, program.in_avals))
            outs = start(trace, program, *merge(unknown, known_args, unknown_args))
            out_unknown = tuple(f or trace.is_unknown(o) for o, f in zip(outs, forced, strict=True))
            jaxpr, values = trace.close(pick(out_unknown, outs))
            found.extend((jaxpr, out_unknown))
            return [*drop(out_unknown, outs), *values]

        known_avals = drop(unknown, program.in_avals)
        known, consts = stage(known_half, known_avals, program.jaxpr.debug_info)
        jaxpr, out_unknown = found
        rest = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
        residual_avals = [v.aval for v in jaxpr.constvars]
        return Split(ClosedJaxpr(known, consts), ClosedJaxpr(rest), out_unknown, residual_avals)

    return program.derived(("split", unknown, force_unknown), make)


def program_rule(primitive: Primitive, known_params: Callable, unknown_params: Callable) -> None:
    """Register the partial rule of a primitive whose param `jaxpr` it runs once on its operands.

    `known_params(params, split)` and `unknown_params(params, split)` are those of the two halves.
    """

    def rule(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
        unknown = tuple(map(trace.is_unknown, args))
        split = split_program(params["jaxpr"], unknown)
        outs = primitive.bind_list(drop(unknown, args), known_params(params, split))
        count = len(outs) - len(split.residual_avals)
        rest_args = [*outs[count:], *pick(unknown, args)]
        rest = trace.record(primitive, rest_args, unknown_params(params, split))
        return merge(split.out_unknown, outs[:count], rest)

    rules[primitive] = rule
