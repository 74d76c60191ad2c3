"""Calling a program: jit_p, and the rules of every primitive that runs one program once."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.lists import drop, given, present, spread
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import dce, inline
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.backward import backward_program, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted
from funcgrad.transforms.forward import jvp_program
from funcgrad.transforms.masking import masked_program

jit_p = Primitive("jit", multiple_results=True)


def program_call(primitive: Primitive) -> None:
    """Register every rule of a primitive that runs its param `jaxpr` once on its operands."""

    def evaluate(xp: Any, *buffers: Any, jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        return compiled(jaxpr)(*buffers)

    def abstract(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> tuple[tuple, Effects]:
        return tuple(jaxpr.out_avals), jaxpr.effects

    def forward_rule(
        primals: Sequence, tangents: Sequence, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple:
        program, out_nonzero = jvp_program(jaxpr, present(tangents))
        outs = primitive.bind(*primals, *given(tangents), jaxpr=program, **params)
        count = len(out_nonzero)
        return outs[:count], spread(out_nonzero, outs[count:])

    def backward_rule(cts: Sequence, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        linear = tuple(map(is_linear, args))
        program, in_nonzero = backward_program(jaxpr, linear, present(cts))
        outs = primitive.bind(*drop(linear, args), *given(cts), jaxpr=program, **params)
        return spread(linear, spread(in_nonzero, outs))

    def batch(
        axis: BatchAxis, values: Sequence, axes: Sequence, *, jaxpr: ClosedJaxpr, **params: Any
    ) -> tuple:
        program, out_batched = batch_program(jaxpr, axis, present(axes))
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


program_call(jit_p)
inline.rules[jit_p] = lambda eqn: eqn.params["jaxpr"]
