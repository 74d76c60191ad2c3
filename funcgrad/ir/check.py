"""The rules that every well-formed jaxpr keeps; a transformation that breaks one is at fault."""

from funcgrad.base.aval import ShapedArray
from funcgrad.base.trace import abstract_eval
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var, subprograms


class JaxprTypeError(TypeError):
    """A jaxpr uses an unbound variable, assigns one twice, or an equation has the wrong types."""


def check_jaxpr(program: Jaxpr | ClosedJaxpr) -> None:
    """Raise JaxprTypeError unless every variable is bound once, before use, at the right type."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    bound: set[Var] = set()

    def bind(var: Var) -> None:
        if var in bound:
            raise JaxprTypeError(f"variable {var} is assigned twice")
        bound.add(var)

    def use(atom: Atom, where: object) -> ShapedArray:
        if not isinstance(atom, Literal) and atom not in bound:
            raise JaxprTypeError(f"variable {atom} is used before it is assigned, in {where}")
        return atom.aval

    for var in (*jaxpr.constvars, *jaxpr.invars):
        bind(var)
    for eqn in jaxpr.eqns:
        _check_eqn(eqn, [use(a, eqn) for a in eqn.invars])
        for var in eqn.outvars:
            bind(var)
        missing = eqn.effects - jaxpr.effects
        if missing:
            raise JaxprTypeError(f"effects {set(missing)} of {eqn} are not among the program's")
    for atom in jaxpr.outvars:
        use(atom, "the outputs")


def _check_eqn(eqn: Eqn, in_avals: list[ShapedArray]) -> None:
    for inner in subprograms(eqn.params):
        check_jaxpr(inner)
    out_avals, effects = abstract_eval(eqn.primitive, in_avals, eqn.params)
    if len(out_avals) != len(eqn.outvars):
        raise JaxprTypeError(f"{eqn} has {len(eqn.outvars)} outputs, its rule {len(out_avals)}")
    for var, aval in zip(eqn.outvars, out_avals, strict=True):
        if var.aval.shape != aval.shape or var.aval.dtype != aval.dtype:
            raise JaxprTypeError(f"{eqn} assigns {aval.str_short()} to {var}")
    if effects != eqn.effects:
        raise JaxprTypeError(f"{eqn} states effects {set(eqn.effects)}, its rule {set(effects)}")
