"""Calling a program: jit_p, and the rules of every primitive that runs one program once."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import dce, inline
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted
from funcgrad.transforms.forward import jvp_program
from funcgrad.transforms.masking import masked_program

jit_p = Primitive("jit")


def program_call(primitive: Primitive) -> None:
    """Register every rule of a primitive that runs its param `jaxpr` once on its operands."""

    def evaluate(xp: Any, *buffers: Any, jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        return compiled(jaxpr)(*buffers)

    def abstract(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> tuple[tuple, Effects]:
        return tuple(jaxpr.out_avals), jaxpr.effects

    def forward_rule(
        primals: Sequence, tangents: Sequence, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple:
        nonzero = tuple(t is not None for t in tangents)
        program, out_nonzero = jvp_program(jaxpr, nonzero)
        given = [t for t in tangents if t is not None]
        outs = primitive.bind(*primals, *given, jaxpr=program, **params)
        count = len(out_nonzero)
        return outs[:count], masked(out_nonzero, outs[count:])

    def backward_rule(cts: Sequence, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        linear = tuple(map(is_linear, args))
        nonzero = tuple(ct is not None for ct in cts)
        program, in_nonzero = backward.backward_program(jaxpr, linear, nonzero)
        known = [a for a, lin in zip(args, linear, strict=True) if not lin]
        given = [ct for ct in cts if ct is not None]
        found = masked(in_nonzero, primitive.bind(*known, *given, jaxpr=program, **params))
        rest = iter(found)
        return [next(rest) if lin else None for lin in linear]

    def batch(
        axis: BatchAxis, values: Sequence, axes: Sequence, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple:
        batched = tuple(a is not None for a in axes)
        program, out_batched = batch_program(jaxpr, axis, batched)
        outs = primitive.bind(*fronted(values, axes), jaxpr=program, **params)
        return outs, [0 if b else None for b in out_batched]

    evaluate_rules[primitive] = evaluate
    abstract_rules[primitive] = abstract
    forward.rules[primitive] = forward_rule
    backward.rules[primitive] = backward_rule
    batching.rules[primitive] = batch
    partial.program_rule(
        primitive,
        lambda params, split: {**params, "jaxpr": split.known},
        lambda params, split: {**params, "jaxpr": split.unknown},
    )
    dce.rules[primitive] = dce.dce_call
    masking.rules[primitive] = lambda on, args, params: primitive.bind(
        on, *args, **{**params, "jaxpr": masked_program(params["jaxpr"])}
    )


def masked(mask: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    """The values at the places marked True, None at the others."""
    rest = iter(values)
    return [next(rest) if m else None for m in mask]


program_call(jit_p)
inline.rules[jit_p] = lambda params: params["jaxpr"]
