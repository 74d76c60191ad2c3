"""An executable: a program made ready to run on buffers, for one Target.

This one walks the optimised equations and lets NumPy (or CuPy) compute each.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import backend
from funcgrad.base.array import ConcreteArray
from funcgrad.base.config import config
from funcgrad.base.source import at_source, mark_source
from funcgrad.base.trace import EVALUATION, check_buffers, check_finite, evaluate_rules, running
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Literal, Var, carries_program


@dataclass(frozen=True)
class NumpyTarget:
    """Every machine that the array library runs on."""

    platform: str = "numpy"


# Whether the array library computes step by step here, and so whatever these steps run as well.
stepwise: ContextVar[bool] = ContextVar("stepwise", default=False)


class Step(NamedTuple):
    """One equation: what to call, from which slots, into which, and which are then free."""

    evaluate: Callable[..., Sequence[Any]]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    frees: tuple[int, ...]
    eqn: Eqn


class Executable:
    """Calling it runs the program on NumPy or CuPy buffers and returns the output buffers."""

    def __init__(self, program: ClosedJaxpr, target: NumpyTarget):
        self.program = program
        self.target = target
        jaxpr = program.jaxpr
        self._slots: dict[Any, int] = {}
        self._template: list[Any] = []
        for var, const in zip(jaxpr.constvars, program.consts, strict=True):
            self._new_slot(var, const.buffer)
        self._inputs = [self._new_slot(var, None) for var in jaxpr.invars]
        self.steps = self._schedule(jaxpr.eqns)
        self._outputs = [self._slot(atom) for atom in jaxpr.outvars]

    def _new_slot(self, key: Any, value: Any) -> int:
        self._slots[key] = len(self._template)
        self._template.append(value)
        return self._slots[key]

    def _slot(self, atom: Any) -> int:
        if isinstance(atom, Literal) and atom not in self._slots:
            return self._new_slot(atom, atom.array.buffer)
        return self._slots[atom]

    def _schedule(self, eqns: Sequence[Eqn]) -> list[Step]:
        """The steps in order; a value's slot is freed after its last use."""
        kept = set(self.program.jaxpr.outvars) | set(self.program.jaxpr.constvars)
        last = {v: i for i, e in enumerate(eqns) for v in (*e.outvars, *e.invars)}
        steps = []
        for i, eqn in enumerate(eqns):
            reads = tuple(map(self._slot, eqn.invars))
            writes = tuple(self._new_slot(v, None) for v in eqn.outvars)
            dead = {
                v
                for v in (*eqn.invars, *eqn.outvars)
                if isinstance(v, Var) and v not in kept and last[v] == i
            }
            evaluate = partial(evaluate_rules[eqn.primitive], **eqn.params)
            frees = tuple(self._slots[v] for v in dead)
            steps.append(Step(evaluate, reads, writes, frees, eqn))
        return steps

    def __call__(self, *buffers: Any) -> list[Any]:
        values = self._template.copy()
        for slot, buffer in zip(self._inputs, buffers, strict=True):
            values[slot] = buffer
        xp = backend.namespace(buffers[0]) if buffers else np
        watch = config.debug_nans or config.debug_infs or config.enable_checks
        token = stepwise.set(True)
        try:
            with np.errstate(all="ignore"), running(EVALUATION):
                for step in self.steps:
                    outs = self._run(step, xp, values)
                    for slot, out in zip(step.writes, outs, strict=True):
                        values[slot] = np.asarray(out) if isinstance(out, np.generic) else out
                    if watch:
                        self._check(step, values)
                    for slot in step.frees:
                        values[slot] = None
        finally:
            stepwise.reset(token)
        return [values[slot] for slot in self._outputs]

    def _run(self, step: Step, xp: Any, values: list[Any]) -> Sequence[Any]:
        try:
            return step.evaluate(xp, *[values[slot] for slot in step.reads])
        except Exception as error:
            at_source(step.eqn.source, mark_source, error)
            raise

    def _check(self, step: Step, values: list[Any]) -> None:
        outs = [
            ConcreteArray(values[slot], var.aval)
            for slot, var in zip(step.writes, step.eqn.outvars, strict=True)
        ]
        if config.enable_checks:
            check_buffers(step.eqn.primitive, outs)
        if not carries_program(step.eqn.params):
            at_source(step.eqn.source, check_finite, step.eqn.primitive, outs)
