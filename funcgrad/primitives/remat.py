"""checkpoint: keep little of the forward computation, and run it again for the derivative."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray
from funcgrad.base.trace import NO_EFFECTS, Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import cse, dce
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from funcgrad.primitives.call import program_call
from funcgrad.transforms import backward, batching, forward, partial
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.forward import instantiate_zeros
from funcgrad.transforms.partial import Partial, merge, split_program

remat_p = Primitive("checkpoint")
optimization_barrier_p = Primitive("optimization_barrier")
name_p = Primitive("name")

Policy = Callable[..., bool]


# optimization_barrier: the identity, which no pass looks through


def barrier(values: Sequence[Any]) -> tuple:
    """The values themselves; what comes after is not merged with what came before."""
    return optimization_barrier_p.bind(*values) if values else ()


def barrier_forward(primals: Sequence, tangents: Sequence) -> tuple:
    outs = barrier(primals)
    if all(t is None for t in tangents):
        return outs, tangents
    full = [instantiate_zeros(p, t) for p, t in zip(primals, tangents, strict=True)]
    return outs, barrier(full)


def barrier_backward(cts: Sequence, *args: Any) -> list[Any]:
    present = [ct for ct in cts if ct is not None]
    through = iter(barrier(present))
    passed = [None if ct is None else next(through) for ct in cts]
    return [ct if is_linear(a) else None for ct, a in zip(passed, args, strict=True)]


evaluate_rules[optimization_barrier_p] = lambda xp, *buffers: buffers
abstract_rules[optimization_barrier_p] = lambda *avals: (avals, NO_EFFECTS)
forward.rules[optimization_barrier_p] = barrier_forward
backward.rules[optimization_barrier_p] = barrier_backward
batching.rules[optimization_barrier_p] = lambda axis, values, axes: (barrier(values), axes)
cse.never_merged.add(optimization_barrier_p)


# name: the identity, which policies know by its name


def name_abstract(x: ShapedArray, name: str) -> tuple[tuple, Effects]:
    return (x,), NO_EFFECTS


evaluate_rules[name_p] = lambda xp, x, name: (x,)
abstract_rules[name_p] = name_abstract
forward.elementwise(name_p, lambda t, out, x, name: t)
backward.unary(name_p, lambda ct, x, name: ct)
batching.elementwise(name_p)


# checkpoint


def remat_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """The known half keeps what the policy allows; the unknown half computes the rest again."""
    unknown = tuple(map(trace.is_unknown, args))
    plan = params["jaxpr"].derived(
        ("remat", unknown, params["policy"]),
        lambda: recompute_plan(params["jaxpr"], unknown, params["policy"]),
    )
    known, rest, out_unknown, num_saved, used = plan
    known_args = [a for a, u in zip(args, unknown, strict=True) if not u]
    outs = remat_p.bind(*known_args, **{**params, "jaxpr": known})
    count = len(outs) - num_saved
    again = [a for a, u in zip(known_args, used, strict=True) if u]
    unknown_args = [a for a, u in zip(args, unknown, strict=True) if u]
    rest_outs = trace.record(
        remat_p,
        [*outs[count:], *again, *unknown_args],
        {**params, "jaxpr": rest, "differentiated": True},
    )
    return merge(out_unknown, outs[:count], rest_outs)


def recompute_plan(
    program: ClosedJaxpr, unknown: tuple[bool, ...], policy: Policy | None
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int, list[bool]]:
    """The known half (outputs, saved values) and the rest (saved, known inputs, unknown inputs).

    Also which outputs are unknown, how many values are saved, and which known inputs are needed
    again.
    """
    split = split_program(program, unknown)
    known = inline(split.known)
    jaxpr = known.jaxpr
    count = len(jaxpr.outvars) - len(split.residual_avals)
    residuals = jaxpr.outvars[count:]
    allowed = [v for e in jaxpr.eqns for v in e.outvars if saveable(policy, e)]
    # The program that makes the residuals, with what the policy saves as inputs.
    cut = [e for e in jaxpr.eqns if not any(v in set(allowed) for v in e.outvars)]
    recompute = jaxpr.replace(
        invars=[*allowed, *jaxpr.invars], outvars=residuals, eqns=_without_effects(cut)
    )
    recompute, used = dce.dce_jaxpr(recompute, (True,) * len(residuals))
    saved = [v for v, u in zip(allowed, used[: len(allowed)], strict=True) if u]
    used_inputs = used[len(allowed) :]
    first = dce.dce(known.replace(jaxpr=jaxpr.replace(outvars=[*jaxpr.outvars[:count], *saved])))
    return (
        first,
        _after_recompute(ClosedJaxpr(recompute, known.consts), split.unknown),
        split.out_unknown,
        len(saved),
        used_inputs,
    )


def saveable(policy: Policy | None, eqn: Eqn) -> bool:
    if policy is None:
        return False
    return bool(policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params))


def _without_effects(eqns: Sequence[Eqn]) -> list[Eqn]:
    """Effects happen once, in the known half; equations that only have effects are not repeated."""
    return [e for e in eqns if not e.effects]


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
    jaxpr = Jaxpr(
        [*first.constvars, *second.constvars],
        [*inputs, *second.invars[num_res:]],
        [read(v) for v in second.outvars],
        [*([opaque] if inputs else []), *first.eqns, *eqns],
        second.effects,
        second.debug_info,
    )
    return ClosedJaxpr(jaxpr, [*again.consts, *rest.consts])


program_call(remat_p)
partial.rules[remat_p] = remat_partial
