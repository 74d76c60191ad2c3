"""The road from a program to an executable: the passes in their order, each with its reason."""

from collections.abc import Callable
from typing import NamedTuple

from funcgrad.base import events
from funcgrad.base.config import config
from funcgrad.compiler.executable import Executable, Target
from funcgrad.compiler.passes.cse import cse
from funcgrad.compiler.passes.dce import dce
from funcgrad.compiler.passes.fold import fold
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.check import check_jaxpr
from funcgrad.ir.jaxpr import ClosedJaxpr

NUMPY = Target("numpy")


class Pass(NamedTuple):
    run: Callable[[ClosedJaxpr], ClosedJaxpr]
    reason: str


PASSES = (
    Pass(inline, "calls hide repeated work from the passes below, and cost a step each"),
    Pass(dce, "derived programs carry outputs that nobody asked for"),
    Pass(fold, "derivative rules write arithmetic on literals"),
    Pass(cse, "a jvp computes again what its primal already has"),
    Pass(dce, "folding and merging leave equations unused"),
)


def optimise(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program after all passes; with `config.enable_checks` each result is type-checked."""
    for step in PASSES:
        program = step.run(program)
        if config.enable_checks:
            check_jaxpr(program)
    return program


def compiled(program: ClosedJaxpr, target: Target = NUMPY) -> Executable:
    """The executable of a program, made once."""

    def make() -> Executable:
        events.notify("compile", program=program, target=target)
        return Executable(optimise(program), target)

    return program.derived(("executable", target), make)
