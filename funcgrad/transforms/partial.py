"""Partial evaluation: do what is known now, and write the rest down as a program."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray
from funcgrad.base.trace import Primitive, current_trace, starting, under
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import RecordedTracer, Recorder, stage

# (trace, args, params) -> outs, for primitives that carry a program
rules: dict[Primitive, Callable] = {}


class Partial(Recorder):
    """Known values are computed under the parent; what depends on unknown ones is recorded."""

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        if not any(map(self.is_unknown, args)):
            for arg in args:
                self.check_alive(arg)
            return under(self.parent, primitive.bind, *args, **params)
        rule = rules.get(primitive)
        if rule is not None:
            return under(self.parent, rule, self, args, params)
        return self.record(primitive, args, params)

    def is_unknown(self, value: Any) -> bool:
        return isinstance(value, RecordedTracer) and value._trace is self


class Split(NamedTuple):
    """A program in two: `known` gives the known outputs and then the residuals; `unknown` takes
    the residuals and then the unknown inputs."""

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    out_unknown: tuple[bool, ...]
    residual_avals: list[ShapedArray]


def split_program(
    program: ClosedJaxpr, unknown: tuple[bool, ...], force_unknown: tuple[bool, ...] = ()
) -> Split:
    """Split by which inputs are unknown; outputs marked in `force_unknown` go to the unknown side.

    Run the program under Partial, with Staging as its parent.
    """

    def make() -> Split:
        found: list[Any] = []
        forced = force_unknown or (False,) * len(program.out_avals)

        def known_half(*known_args: Any) -> list[Any]:
            trace = Partial(current_trace(), program.jaxpr.debug_info)
            given = iter(known_args)
            with starting(trace):
                args = [
                    trace.argument(a) if u else next(given)
                    for a, u in zip(program.in_avals, unknown, strict=True)
                ]
                outs = program(*args)
                out_unknown = tuple(
                    f or trace.is_unknown(o) for o, f in zip(outs, forced, strict=True)
                )
                rest = [o for o, u in zip(outs, out_unknown, strict=True) if u]
                jaxpr, values = trace.close(rest)
            found.extend((jaxpr, out_unknown))
            known_outs = [o for o, u in zip(outs, out_unknown, strict=True) if not u]
            return [*known_outs, *values]

        known_avals = [a for a, u in zip(program.in_avals, unknown, strict=True) if not u]
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
        known_args = [a for a, u in zip(args, unknown, strict=True) if not u]
        outs = primitive.bind(*known_args, **known_params(params, split))
        count = len(outs) - len(split.residual_avals)
        rest_args = [*outs[count:], *(a for a, u in zip(args, unknown, strict=True) if u)]
        rest = trace.record(primitive, rest_args, unknown_params(params, split))
        return merge(split.out_unknown, outs[:count], rest)

    rules[primitive] = rule


def merge(mask: Sequence[bool], where_false: Sequence[Any], where_true: Sequence[Any]) -> tuple:
    """Interleave two lists again: True takes the next of `where_true`."""
    false, true = iter(where_false), iter(where_true)
    return tuple(next(true) if m else next(false) for m in mask)
