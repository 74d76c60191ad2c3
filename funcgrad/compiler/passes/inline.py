"""Inline: put the body of a called program in the place of the call."""

from collections.abc import Callable, Collection

from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    Eqn,
    Jaxpr,
    Literal,
    Var,
    joined_effects,
)

# eqn -> the program that it runs once on its operands
rules: dict[Primitive, Callable[[Eqn], ClosedJaxpr]] = {}


def inline(program: ClosedJaxpr, only: Collection[Primitive] | None = None) -> ClosedJaxpr:
    """The program with every call of an inlinable primitive replaced by the called equations.

    A program that will be differentiated again asks for `only` the calls that have no derivative
    rule of their own.
    """
    jaxpr = program.jaxpr
    chosen = rules if only is None else only
    if not any(e.primitive in chosen for e in jaxpr.eqns):
        return program
    consts = dict(zip(jaxpr.constvars, program.consts, strict=True))
    eqns: list[Eqn] = []
    names: dict[Var, Atom] = {}

    def read(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Var) else atom

    def emit(eqn: Eqn) -> None:
        invars = [read(v) for v in eqn.invars]
        if eqn.primitive not in chosen:
            eqns.append(eqn.replace(invars=invars))
            return
        body = inline(rules[eqn.primitive](eqn), only)
        copies = _renamed(body)
        for var, const in zip(copies.constvars, body.consts, strict=True):
            consts[var] = const
        names.update(zip(copies.invars, invars, strict=True))
        for inner in copies.eqns:
            eqns.append(inner.replace(invars=[read(v) for v in inner.invars]))
        names.update(zip(eqn.outvars, map(read, copies.outvars), strict=True))

    for eqn in jaxpr.eqns:
        emit(eqn)
    outvars = [read(v) for v in jaxpr.outvars]
    result = jaxpr.replace(
        constvars=list(consts), eqns=eqns, outvars=outvars, effects=joined_effects(eqns)
    )
    return ClosedJaxpr(result, list(consts.values()))


def _renamed(program: ClosedJaxpr) -> Jaxpr:
    """The same program with variables of its own, so that it can be put in more than once."""
    jaxpr = program.jaxpr
    fresh: dict[Var, Var] = {}

    def new(var: Var) -> Var:
        fresh[var] = type(var)(var.aval)
        return fresh[var]

    def read(atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else fresh[atom]

    constvars, invars = [new(v) for v in jaxpr.constvars], [new(v) for v in jaxpr.invars]
    eqns = [
        e.replace(invars=[read(v) for v in e.invars], outvars=[new(v) for v in e.outvars])
        for e in jaxpr.eqns
    ]
    outvars = [read(v) for v in jaxpr.outvars]
    return jaxpr.replace(constvars=constvars, invars=invars, eqns=eqns, outvars=outvars)
