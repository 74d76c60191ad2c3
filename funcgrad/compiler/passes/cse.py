"""Common subexpressions: compute once what the program writes twice."""

from typing import Any

from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Literal, Var

# Primitives whose every occurrence is wanted for itself (optimization_barrier, say).
never_merged: set[Primitive] = set()


def cse(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with each effect-free equation that repeats an earlier one taken out."""
    seen: dict[Any, list[Var]] = {}
    names: dict[Var, Atom] = {}
    eqns: list[Eqn] = []

    def read(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Var) else atom

    for eqn in program.eqns:
        invars = [read(v) for v in eqn.invars]
        eqn = eqn.replace(invars=invars)
        key = (eqn.primitive, *map(_key, invars), *eqn.params.items())
        earlier = None if eqn.effects or eqn.primitive in never_merged else seen.get(key)
        if earlier is None:
            seen[key] = eqn.outvars
            eqns.append(eqn)
        else:
            names.update(zip(eqn.outvars, earlier, strict=True))
    if len(eqns) == len(program.eqns):
        return program
    outvars = [read(v) for v in program.jaxpr.outvars]
    return program.replace(jaxpr=program.jaxpr.replace(eqns=eqns, outvars=outvars))


def _key(atom: Atom) -> Any:
    if isinstance(atom, Literal):
        return atom.aval, atom.array.tobytes()
    return atom
