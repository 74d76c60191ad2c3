"""Simplify: rewrite an equation together with the one that makes its operand."""

from collections import Counter
from collections.abc import Callable

from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Var

# (primitive, primitive that makes its operand 0) -> rule(eqn, maker) -> one equation that does the
# work of both, None where there is none. The maker's output is used nowhere else.
rules: dict[tuple[Primitive, Primitive], Callable[[Eqn, Eqn], Eqn | None]] = {}


def simplify(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with pairs of equations that have a rule made one."""
    uses = Counter(v for e in program.eqns for v in e.invars if isinstance(v, Var))
    uses.update(v for v in program.jaxpr.outvars if isinstance(v, Var))
    makers: dict[Var, int] = {}
    eqns: list[Eqn | None] = []
    for eqn in program.eqns:
        operand = eqn.invars[0] if eqn.invars else None
        place = makers.get(operand) if isinstance(operand, Var) and uses[operand] == 1 else None
        maker = None if place is None else eqns[place]
        if maker is not None and place is not None:
            rule = rules.get((eqn.primitive, maker.primitive))
            joined = rule(eqn, maker) if rule else None
            if joined is not None:
                eqns[place], eqn = None, joined
        makers.update((v, len(eqns)) for v in eqn.outvars)
        eqns.append(eqn)
    kept = [eqn for eqn in eqns if eqn is not None]
    if len(kept) == len(program.eqns):
        return program
    return program.replace(program.jaxpr.replace(eqns=kept))
