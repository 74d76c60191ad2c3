"""Running a jaxpr: bind each equation in order under whatever interpreter is current."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgrad.base.source import sources
from funcgrad.base.trace import current_trace
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, slots


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> tuple:
    """The outputs of `jaxpr` on flat arguments; an error is marked with the equation's line."""
    env: dict[Atom, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    trace = current_trace()
    with sources() as at:
        for eqn in jaxpr.eqns:
            at(eqn.source)
            values = [v.array if type(v) is Literal else env[v] for v in eqn.invars]
            outs = trace.process(eqn.primitive, values, eqn.params)
            for var, out in zip(eqn.outvars, outs):
                env[var] = out
    return tuple([v.array if type(v) is Literal else env[v] for v in jaxpr.outvars])


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., tuple]:
    """The function from flat arguments to a tuple of flat outputs that a program stands for."""
    return partial(eval_jaxpr, closed.jaxpr, closed.consts)


slots["eval_jaxpr"] = eval_jaxpr
