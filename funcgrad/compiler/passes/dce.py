"""Dead code elimination: drop what no output needs and nothing outside can notice."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Eqn,
    Jaxpr,
    Var,
    joined_effects,
)

# (keep mask of the outputs, eqn) -> smaller eqn, for primitives that carry programs
rules: dict[Primitive, Callable[[tuple[bool, ...], Eqn], Eqn]] = {}


def dce(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program without unneeded equations and constants; its arguments stay."""
    jaxpr, _ = dce_jaxpr(program.jaxpr, (True,) * len(program.jaxpr.outvars), keep_inputs=True)
    used = {v for e in jaxpr.eqns for v in e.invars} | set(jaxpr.outvars)
    pairs = zip(jaxpr.constvars, program.consts, strict=True)
    kept = [(v, c) for v, c in pairs if v in used]
    return ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in kept]), [c for _, c in kept])


def dce_jaxpr(
    jaxpr: Jaxpr, keep: Sequence[bool], keep_inputs: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """The part of a jaxpr that computes the outputs marked in `keep`; which inputs it uses."""
    outvars = [v for v, k in zip(jaxpr.outvars, keep, strict=True) if k]
    needed: set[Any] = {v for v in outvars if isinstance(v, Var)}
    eqns: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        wanted = tuple(v in needed for v in eqn.outvars)
        if not any(wanted) and not eqn.effects:
            continue
        rule = rules.get(eqn.primitive)
        if rule is not None and not all(wanted):
            eqn = rule(wanted, eqn)
        else:
            outs = [
                v if w or isinstance(v, DropVar) else DropVar(v.aval)
                for v, w in zip(eqn.outvars, wanted, strict=True)
            ]
            eqn = eqn.replace(outvars=outs)
        needed.update(v for v in eqn.invars if isinstance(v, Var))
        eqns.append(eqn)
    eqns.reverse()
    used_inputs = [v in needed for v in jaxpr.invars]
    invars = [v for v, u in zip(jaxpr.invars, used_inputs, strict=True) if u or keep_inputs]
    names = jaxpr.debug_info.arg_names
    if names and not keep_inputs:
        names = tuple(n for n, u in zip(names, used_inputs, strict=False) if u)
    result = jaxpr.replace(
        invars=invars,
        outvars=outvars,
        eqns=eqns,
        effects=joined_effects(eqns),
        debug_info=jaxpr.debug_info._replace(arg_names=names),
    )
    return result, used_inputs


def dce_call(keep: tuple[bool, ...], eqn: Eqn) -> Eqn:
    """The rule of a primitive that runs its param `jaxpr` once on its operands."""
    closed: ClosedJaxpr = eqn.params["jaxpr"]

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        jaxpr, used = dce_jaxpr(closed.jaxpr, keep)
        return ClosedJaxpr(jaxpr, closed.consts), used

    smaller, used = closed.derived(("dce", keep), make)
    return eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
        outvars=[v for v, k in zip(eqn.outvars, keep, strict=True) if k],
        params={**eqn.params, "jaxpr": smaller},
        effects=smaller.effects,
    )
