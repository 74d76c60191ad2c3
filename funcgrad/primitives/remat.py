"""checkpoint: keep little of the forward computation, and run it again for the derivative."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray
from funcgrad.base.lists import Mask, cut, drop, given, merge, pick, present, spread
from funcgrad.base.trace import NO_EFFECTS, Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler import lowering
from funcgrad.compiler.passes import cse, dce
from funcgrad.compiler.passes import inline as inlining
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.effects import happens_once
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var, joined_effects
from funcgrad.primitives.call import jit_p, program_call
from funcgrad.transforms import backward, batching, forward, partial
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.partial import Partial, split_program

remat_p = Primitive("checkpoint", multiple_results=True)
optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)
name_p = Primitive("name")

Policy = Callable[..., bool]


# optimization_barrier: the identity, which no pass looks through


def barrier(values: Sequence[Any]) -> tuple:
    """The values themselves; what comes after is not merged with what came before."""
    return optimization_barrier_p.bind(*values) if values else ()


def barrier_forward(primals: Sequence, tangents: Sequence) -> tuple:
    outs = barrier(primals)
    if not any(present(tangents)):
        return outs, tangents
    return outs, spread(present(tangents), barrier(given(tangents)))


def barrier_backward(cts: Sequence, *args: Any) -> list[Any]:
    passed = spread(present(cts), barrier(given(cts)))
    return [ct if is_linear(a) else None for ct, a in zip(passed, args, strict=True)]


evaluate_rules[optimization_barrier_p] = lambda xp, *buffers: buffers
abstract_rules[optimization_barrier_p] = lambda *avals: (avals, NO_EFFECTS)
forward.rules[optimization_barrier_p] = barrier_forward
backward.rules[optimization_barrier_p] = barrier_backward
batching.rules[optimization_barrier_p] = lambda axis, values, axes: (barrier(values), axes)
cse.never_merged.add(optimization_barrier_p)
lowering.barriers.add(optimization_barrier_p)


# name: the identity, which policies know by its name


def name_abstract(x: ShapedArray, name: str) -> tuple[tuple, Effects]:
    return (x,), NO_EFFECTS


evaluate_rules[name_p] = lambda xp, x, name: (x,)
abstract_rules[name_p] = name_abstract
forward.elementwise(name_p, lambda t, out, x, name: t)
backward.unary(name_p, lambda ct, x, name: ct)
batching.elementwise(name_p)
lowering.view(name_p, lambda graph, index, x, name: x(index))


# checkpoint


def remat_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """The known half keeps what the policy allows; the unknown half computes the rest again."""
    unknown = tuple(map(trace.is_unknown, args))
    plan = params["jaxpr"].derived(
        ("remat", unknown, params["policy"]),
        lambda: recompute_plan(params["jaxpr"], unknown, params["policy"]),
    )
    known_args = drop(unknown, args)
    outs = remat_p.bind(*known_args, **{**params, "jaxpr": plan.known})
    known_outs, saved = cut(outs, plan.out_unknown.count(False))
    rest_outs = trace.record(
        remat_p,
        [*saved, *pick(plan.used_again, known_args), *pick(unknown, args)],
        {**params, "jaxpr": plan.rest, "differentiated": True},
    )
    return merge(plan.out_unknown, known_outs, rest_outs)


class Plan(NamedTuple):
    """A program in two: `known` gives the known outputs and the saved values; `rest` takes those,
    the known inputs used again, and the unknown inputs."""

    known: ClosedJaxpr
    rest: ClosedJaxpr
    out_unknown: Mask
    used_again: list[bool]


def recompute_plan(program: ClosedJaxpr, unknown: Mask, policy: Policy | None) -> Plan:
    """Split a program, and replace what it would store by computing it again."""
    split = split_program(program, unknown)
    known = inline(split.known, only=(jit_p,))
    jaxpr = known.jaxpr
    outputs, residuals = cut(jaxpr.outvars, split.out_unknown.count(False))
    stored = [saveable(policy, e) for e in jaxpr.eqns]
    allowed = [v for e in pick(stored, jaxpr.eqns) for v in e.outvars]
    # The program that makes the residuals, with what may be saved as inputs.
    recompute, used = dce.dce_jaxpr(
        jaxpr.replace(
            invars=[*allowed, *jaxpr.invars], outvars=residuals, eqns=drop(stored, jaxpr.eqns)
        ),
        (True,) * len(residuals),
    )
    used_saved, used_inputs = cut(used, len(allowed))
    saved = pick(used_saved, allowed)
    first = dce.dce(known.replace(jaxpr.replace(outvars=[*outputs, *saved])))
    rest = _after_recompute(ClosedJaxpr(recompute, known.consts), split.unknown)
    return Plan(first, rest, split.out_unknown, used_inputs)


def saveable(policy: Policy | None, eqn: Eqn) -> bool:
    """Whether results may be saved: as the policy says, and always where effects happen once."""
    if happens_once(eqn.effects):
        return True
    if policy is None:
        return False
    return bool(policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params))


def _after_recompute(again: ClosedJaxpr, rest: ClosedJaxpr) -> ClosedJaxpr:
    """Recompute the residuals behind a barrier, then run the unknown half on them."""
    first, second = again.jaxpr, rest.jaxpr
    inputs = [Var(v.aval) for v in first.invars]
    num_res = len(first.outvars)
    opaque = Eqn(list(inputs), list(first.invars), optimization_barrier_p, {}, NO_EFFECTS, None)
    naming = dict(zip(second.invars[:num_res], first.outvars, strict=True))

    def read(atom: Any) -> Any:
        return naming.get(atom, atom) if isinstance(atom, Var) else atom

    eqns = [e.replace(invars=[read(v) for v in e.invars]) for e in second.eqns]
    eqns = [*([opaque] if inputs else []), *first.eqns, *eqns]
    jaxpr = Jaxpr(
        [*first.constvars, *second.constvars],
        [*inputs, *second.invars[num_res:]],
        [read(v) for v in second.outvars],
        eqns,
        joined_effects(eqns),
        second.debug_info,
    )
    return ClosedJaxpr(jaxpr, [*again.consts, *rest.consts])


program_call(remat_p)
inlining.rules[remat_p] = lambda eqn: eqn.params["jaxpr"]
partial.rules[remat_p] = remat_partial
