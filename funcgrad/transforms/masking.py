"""Masking: give a program a switch, so that where it is off nothing loops and nothing is noticed.

`vmap` of a cond with a batched predicate runs every branch for the whole batch; the members that
did not take a branch run it with their switch off.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import shaped
from funcgrad.base.source import at_source
from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Literal, Var, subprograms
from funcgrad.transforms.staging import stage_closed

# (on, args, params) -> outs, for primitives that must look at the switch `on`, a boolean scalar
rules: dict[Primitive, Callable[[Any, Sequence[Any], dict[str, Any]], Sequence[Any]]] = {}

# Those of `rules` that need the switch themselves, and not just for a program that they carry.
always_masked: set[Primitive] = set()

SWITCH = shaped((), np.dtype(np.bool_))


def needs_mask(program: ClosedJaxpr) -> bool:
    """Whether anything in the program looks at the switch."""

    def look() -> bool:
        return any(
            e.primitive in always_masked
            or any(needs_mask(p) for p in subprograms(e.params) if isinstance(p, ClosedJaxpr))
            for e in program.eqns
        )

    return program.derived("needs_mask", look)


def masked_program(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with one more argument in front, the switch."""

    def run(on: Any, *args: Any) -> list[Any]:
        env: dict[Var, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        env.update(zip(program.jaxpr.invars, args, strict=True))

        def read(atom: Atom) -> Any:
            return atom.array if isinstance(atom, Literal) else env[atom]

        for eqn in program.eqns:
            values = [read(v) for v in eqn.invars]
            rule = rules.get(eqn.primitive)
            if rule is None:
                outs = at_source(eqn.source, eqn.primitive.bind_list, values, eqn.params)
            else:
                outs = at_source(eqn.source, rule, on, values, eqn.params)
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(v) for v in program.jaxpr.outvars]

    return program.derived(
        "masked",
        lambda: stage_closed(run, [SWITCH, *program.in_avals], program.jaxpr.debug_info)[0],
    )
