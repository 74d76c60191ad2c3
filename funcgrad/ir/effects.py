"""What a program does besides computing: effects that must happen once when it runs in halves."""

from typing import Any

from funcgrad.base.axes import NamedAxisEffect
from funcgrad.base.lists import Mask, pick
from funcgrad.base.trace import Effects, abstract_eval
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, joined_effects


def happens_once(effects: Effects) -> bool:
    """Whether something outside notices, so that what has run must not run again."""
    return any(not isinstance(e, NamedAxisEffect) for e in effects)


def quiet(program: ClosedJaxpr, unknown: Mask) -> ClosedJaxpr:
    """The program without the effects that depend on no unknown input, since those have happened.

    An equation whose outputs may be needed stays, and so do its own effects.
    """

    def make() -> ClosedJaxpr:
        waiting = set(pick(unknown, program.jaxpr.invars))
        eqns: list[Eqn] = []
        for eqn in program.eqns:
            if not waiting.isdisjoint(eqn.invars):
                waiting.update(eqn.outvars)
            elif happens_once(eqn.effects):
                if not eqn.outvars:
                    continue
                eqn = _quiet_inside(eqn)
            eqns.append(eqn)
        return program.replace(program.jaxpr.replace(eqns=eqns, effects=joined_effects(eqns)))

    return program.derived(("quiet", unknown), make) if happens_once(program.effects) else program


def _quiet_inside(eqn: Eqn) -> Eqn:
    params = {name: _quiet_param(value) for name, value in eqn.params.items()}
    _, effects = abstract_eval(eqn.primitive, [v.aval for v in eqn.invars], params)
    return eqn.replace(params=params, effects=effects)


def _quiet_param(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return quiet(value, (False,) * len(value.in_avals))
    return tuple(map(_quiet_param, value)) if isinstance(value, tuple) else value
