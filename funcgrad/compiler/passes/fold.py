"""Constant folding: compute now what depends on literals and small constants only."""

from typing import Any

from funcgrad.base.dtypes import KeyType
from funcgrad.base.trace import EVALUATION, evaluate_rules, holds_code, running
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Literal, Var, carries_program

# Bytes up to which a folded result is kept as a constant of the program.
LARGEST_RESULT = 1 << 16


def fold(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with equations on known scalars and constants replaced by their results."""
    known: dict[Var, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    literals: dict[Var, Literal] = {}
    eqns: list[Eqn] = []

    def read(atom: Atom) -> Atom:
        return literals.get(atom, atom) if isinstance(atom, Var) else atom

    with running(EVALUATION):
        for eqn in program.eqns:
            eqn = eqn.replace(invars=[read(v) for v in eqn.invars])
            if not _foldable(eqn, known):
                eqns.append(eqn)
                continue
            args = [v.array if isinstance(v, Literal) else known[v] for v in eqn.invars]
            results = eqn.primitive.bind_list(args, eqn.params)
            for var, value in zip(eqn.outvars, results, strict=True):
                if value.aval.shape or isinstance(value.aval.dtype, KeyType):
                    known[var] = value
                else:
                    literals[var] = Literal(value)
    if len(eqns) == len(program.eqns):
        return program
    outvars = [read(v) for v in program.jaxpr.outvars]
    jaxpr = program.jaxpr.replace(constvars=list(known), eqns=eqns, outvars=outvars)
    return ClosedJaxpr(jaxpr, list(known.values()))


def _foldable(eqn: Eqn, known: dict[Var, Any]) -> bool:
    """Whether to compute an equation now; a user's function runs where the program calls it."""
    return (
        bool(eqn.invars)
        and not eqn.effects
        and eqn.primitive in evaluate_rules
        and all(isinstance(v, Literal) or v in known for v in eqn.invars)
        and sum(v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars) <= LARGEST_RESULT
        and not carries_program(eqn.params)
        and not holds_code(eqn.params.values())
        and eqn.primitive.impl is None
    )
