"""Running a jaxpr: bind each equation in order under whatever interpreter is current."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgrad.base.trace import at_source
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var, slots


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> tuple:
    """The outputs of `jaxpr` on flat arguments; an error is marked with the equation's line."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Any:
        return atom.array if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        outs = at_source(eqn.source, eqn.primitive.bind, *map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
    return tuple(read(v) for v in jaxpr.outvars)


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., tuple]:
    """The function from flat arguments to a tuple of flat outputs that a program stands for."""
    return partial(eval_jaxpr, closed.jaxpr, closed.consts)


slots["eval_jaxpr"] = eval_jaxpr
