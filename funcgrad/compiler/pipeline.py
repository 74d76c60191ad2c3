"""The road from a program to an executable: the passes in their order, each with its reason."""

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import NamedTuple

from funcgrad.base import events
from funcgrad.base.config import config
from funcgrad.compiler.executable import Executable, NumpyTarget, stepwise
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.target import Target as Processor
from funcgrad.compiler.llvm.target import host_target
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.passes.cse import cse
from funcgrad.compiler.passes.dce import dce
from funcgrad.compiler.passes.fold import fold
from funcgrad.compiler.passes.inline import inline
from funcgrad.compiler.passes.loops import loops
from funcgrad.compiler.passes.simplify import simplify
from funcgrad.compiler.passes.sink import sink
from funcgrad.compiler.passes.widen import widen
from funcgrad.ir.check import check_jaxpr
from funcgrad.ir.jaxpr import ClosedJaxpr

NUMPY = NumpyTarget()

Target = NumpyTarget | Processor


class Pass(NamedTuple):
    run: Callable[[ClosedJaxpr], ClosedJaxpr]
    reason: str


PASSES = (
    Pass(inline, "calls hide repeated work from the passes below, and cost a step each"),
    Pass(dce, "derived programs carry outputs that nobody asked for"),
    Pass(sink, "one large product is faster than a small one in every turn of a scan"),
    Pass(fold, "derivative rules write arithmetic on literals"),
    Pass(widen, "kernels and products compute with f32 and i32, and not with what is narrower"),
    Pass(cse, "a jvp computes again what its primal already has"),
    Pass(simplify, "derivatives transpose products, which a product of the other order gives"),
    Pass(loops, "what is the same in every turn need not be computed in each"),
    Pass(dce, "folding and merging leave equations unused"),
)


def optimise(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program after all passes; with `config.enable_checks` each result is type-checked."""
    for step in PASSES:
        program = step.run(program)
        if config.enable_checks:
            check_jaxpr(program)
    return program


def compiled(
    program: ClosedJaxpr, target: Target | None = None, donated: frozenset[int] = frozenset()
) -> Executable | NativeExecutable:
    """The executable of a program, made once for each Target; it may overwrite donated inputs."""
    if target is None:
        target = present_target()

    def make() -> Executable | NativeExecutable:
        events.notify("compile", program=program, target=target)
        with collection_paused():
            return executable()

    def executable() -> Executable | NativeExecutable:
        optimised = optimise(program)
        events.notify("stage", name="passes")
        if isinstance(target, NumpyTarget):
            made = Executable(optimised, target)
        else:
            made = NativeExecutable(optimised, optimise, target, donated)
        events.notify("compiled", program=program, executable=made)
        return made

    return program.derived(("executable", target, donated), make)


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection: compiling makes many objects at once, and none of them in circles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def present_target() -> Target:
    """The processor, if code can be generated for it and nothing is to be watched step by step."""
    # Keys are followed through the memory that NumPy keeps them in.
    followed = config.debug_key_reuse
    watched = config.debug_nans or config.debug_infs or config.enable_checks or followed
    if watched or stepwise.get() or not engine.available():
        return NUMPY
    return host_target()
