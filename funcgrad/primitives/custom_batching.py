"""Functions with a batching rule of the user's: custom_vmap_call, and what derivatives make of it.

Its params are the program `fun` and `rule(size, batched, *values) -> (outs, out_batched)`, which
computes a whole batch, batch axes in front. Derivatives are calls of the same primitive: the
tangents' by the derivative of the rule, the cotangents' by its transpose.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from funcgrad.base.aval import ShapedArray, tangent_aval
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import Mask, cut, drop, given, merge, pick, present, spread
from funcgrad.base.trace import CallPrimitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import inline
from funcgrad.compiler.passes.dce import dce
from funcgrad.ir.effects import quiet
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.custom import call_abstract, call_evaluate
from funcgrad.transforms import backward, batching, forward, masking
from funcgrad.transforms.backward import backward_program, is_linear
from funcgrad.transforms.batching import BatchAxis, fronted, to_front
from funcgrad.transforms.forward import instantiate_zeros, jvp, jvp_program, with_zeros
from funcgrad.transforms.linearize import linear_program
from funcgrad.transforms.masking import masked_program, needs_mask

custom_vmap_call_p = CallPrimitive("custom_vmap_call", multiple_results=True)

BatchRule = Callable[..., tuple[Sequence[Any], Mask]]


def custom_vmap_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, *, rule: BatchRule, **params: Any
) -> tuple:
    outs, out_batched = rule(axis.size, present(axes), *fronted(values, axes))
    return outs, [0 if b else None for b in out_batched]


def custom_vmap_forward(
    primals: Sequence, tangents: Sequence, *, fun: ClosedJaxpr, rule: BatchRule, name: str
) -> tuple:
    """Outputs and tangents are two calls, so that reverse mode can write the second one down."""
    nonzero = present(tangents)
    moving = tuple(tangent_aval(a).dtype != float0 for a in fun.out_avals)
    outs = custom_vmap_call_p.bind(*primals, fun=fun, rule=rule, name=name)
    out_tangents = custom_vmap_call_p.bind(
        *primals,
        *given(tangents),
        fun=tangent_program(fun, nonzero, moving),
        rule=TangentRule(rule, nonzero, moving),
        name=name,
    )
    return outs, spread(moving, out_tangents)


def tangent_program(fun: ClosedJaxpr, nonzero: Mask, moving: Mask) -> ClosedJaxpr:
    """The program from primals and nonzero tangents to the tangents of the outputs in `moving`.

    Its effects are left to the call that computes the outputs.
    """

    def make() -> ClosedJaxpr:
        both, _ = jvp_program(fun, nonzero, moving)
        unknown = tuple(i >= len(nonzero) for i in range(len(both.in_avals)))
        tangents = both.replace(both.jaxpr.replace(outvars=both.jaxpr.outvars[len(moving) :]))
        return dce(quiet(tangents, unknown))

    return fun.derived(("tangents", nonzero, moving), make)


def custom_vmap_backward(
    cts: Sequence, *args: Any, fun: ClosedJaxpr, rule: BatchRule, name: str
) -> list[Any]:
    linear, nonzero = tuple(map(is_linear, args)), present(cts)
    program, in_nonzero = backward_program(fun, linear, nonzero)
    in_avals = tuple(pick(linear, fun.in_avals))
    found = custom_vmap_call_p.bind(
        *drop(linear, args),
        *given(cts),
        fun=program,
        rule=TransposedRule(rule, linear, in_avals, nonzero, in_nonzero),
        name=name,
    )
    return spread(linear, spread(in_nonzero, found))


@dataclass(frozen=True)
class TangentRule:
    """The derivative of a batch rule: (*primals, *nonzero tangents) -> tangents in `moving`."""

    rule: BatchRule
    nonzero: Mask
    moving: Mask

    def __call__(self, size: int, batched: Mask, *flat: Any) -> tuple[list[Any], Mask]:
        count = len(self.nonzero)
        primals, given_tangents = cut(flat, count)
        tangent_batched = spread(self.nonzero, batched[count:])
        tangents = spread(self.nonzero, given_tangents)
        both = tuple(p or bool(t) for p, t in zip(batched, tangent_batched))
        axis, out_batched = BatchAxis(size), []

        def whole(value: Any, is_batch: bool | None, wanted: bool) -> Any:
            return value if is_batch or not wanted else to_front(axis, value, None)

        def outputs(*values: Any) -> Sequence[Any]:
            outs, where = self.rule(size, both, *values)
            out_batched.extend(where)
            return outs

        primals = [whole(p, b, w) for p, b, w in zip(primals, batched, both)]
        tangents = [
            t if t is None else whole(t, b, w) for t, b, w in zip(tangents, tangent_batched, both)
        ]
        outs, out_tangents = jvp(outputs, primals, tangents)
        full = [instantiate_zeros(o, t) for o, t in zip(outs, out_tangents, strict=True)]
        return pick(self.moving, full), tuple(pick(self.moving, out_batched))


@dataclass(frozen=True)
class TransposedRule:
    """The transpose of a batch rule in its linear inputs: (*others, *nonzero cts) -> their cts."""

    rule: BatchRule
    linear: Mask
    in_avals: tuple[ShapedArray, ...]
    nonzero: Mask
    in_nonzero: Mask

    def __call__(self, size: int, batched: Mask, *flat: Any) -> tuple[list[Any], Mask]:
        axis, count = BatchAxis(size), len(self.linear) - len(self.in_avals)
        known, cts = cut(flat, count)
        avals = [a.update(shape=(size, *a.shape)) for a in self.in_avals]
        mask = merge(self.linear, batched[:count], [True] * len(avals))

        def outputs(*values: Any) -> list[Any]:
            outs, where = self.rule(size, mask, *merge(self.linear, known, values))
            fronts = [to_front(axis, o, 0 if b else None) for o, b in zip(outs, where, strict=True)]
            return pick(self.nonzero, fronts)

        full = [to_front(axis, c, 0 if b else None) for c, b in zip(cts, batched[count:])]
        found = linear_program(outputs, avals).pull(full)
        outs = pick(self.in_nonzero, with_zeros(found, avals))
        return outs, (True,) * len(outs)


def custom_vmap_masked(on: Any, args: Sequence, params: dict[str, Any]) -> Sequence[Any]:
    """The function's own operations where some must see the switch, which no rule could be told."""
    if needs_mask(params["fun"]):
        return masked_program(params["fun"])(on, *args)
    return custom_vmap_call_p.bind(*args, **params)


evaluate_rules[custom_vmap_call_p] = call_evaluate
abstract_rules[custom_vmap_call_p] = call_abstract
forward.rules[custom_vmap_call_p] = custom_vmap_forward
backward.rules[custom_vmap_call_p] = custom_vmap_backward
batching.rules[custom_vmap_call_p] = custom_vmap_batch
masking.rules[custom_vmap_call_p] = custom_vmap_masked
inline.rules[custom_vmap_call_p] = lambda eqn: eqn.params["fun"]
