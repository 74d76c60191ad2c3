"""A compiled program to be read: its steps in order with the user's lines, then its kernels."""

import os
from collections.abc import Iterator, Sequence

from funcgrad.base.source import Place, Source
from funcgrad.compiler.buffers import Layout, layout
from funcgrad.compiler.llvm.library import NativeMachine
from funcgrad.compiler.llvm.program import Native, emit_program, grain_of
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.loops import Kernel, Loop, structure
from funcgrad.compiler.loopshow import INDENT, LEAVES, ExpressionWriter, show_kernel
from funcgrad.compiler.lowering import Cond, Scan
from funcgrad.compiler.schedule import schedule
from funcgrad.compiler.steps import (
    AliasStep,
    CallStep,
    ControlStep,
    HostStep,
    KernelStep,
    Optimise,
    RegisterStep,
    Step,
    writes_of,
)
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Var
from funcgrad.ir.show import Printer

# User lines that are listed at one step when they are not shown in full.
SHOWN_PLACES = 4


def planned(program: ClosedJaxpr, optimise: Optimise, target: Target) -> tuple[Layout, Native]:
    """The memory plan and the code of an optimised program, as compiling it makes them."""
    block = schedule(program, optimise, NativeMachine(target))
    plan = layout(block)
    return plan, emit_program(block, plan, target)


def describe(program: ClosedJaxpr, plan: Layout, native: Native, source: bool = False) -> str:
    """The steps and kernels of a program; with `source`, the user's lines are shown in full."""
    printer = Printer(source=False)
    printer.program(program)  # gives the variables the names that the jaxpr is shown with
    names = {structure(kernel): name for name, kernel in native.kernels.items()}
    lines = StepWriter(printer, names, source).block(plan)
    parts = ["\n".join(["steps:", *(INDENT + line for line in lines)])]
    parts += [show_kernel(kernel, name) for name, kernel in native.kernels.items()]
    return "\n\n".join(parts)


class StepWriter:
    """Writes the steps of one block, one or more lines each."""

    def __init__(self, printer: Printer, kernels: dict[tuple, str], source: bool):
        self.printer, self.kernels, self.source = printer, kernels, source

    def block(self, plan: Layout) -> list[str]:
        lines = []
        for i, step in enumerate(plan.block.steps):
            lines += self.step(i, step, plan)
        results = ", ".join(map(self.printer.atom, plan.block.outputs))
        return [*lines, f"return {results}"]

    def step(self, i: int, step: Step, plan: Layout) -> list[str]:
        if isinstance(step, KernelStep):
            lines = self.kernel_step(step, plan)
        elif isinstance(step, RegisterStep):
            lines = self.register_step(step)
        elif isinstance(step, CallStep):
            lines = self.call_step(step)
        elif isinstance(step, HostStep):
            lines = ["host " + self.printer.equation(step.eqn)]
        elif isinstance(step, AliasStep):
            lines = [f"alias {self.results(step)} = {self.given(step.ins)}"]
        else:
            lines = self.control_step(i, step, plan)
        return self.placed(lines, places_of(step))

    def results(self, step: Step) -> str:
        return " ".join(map(self.printer.typed, writes_of(step)))

    def given(self, atoms: Sequence[Atom]) -> str:
        return ", ".join(map(self.printer.atom, atoms))

    def kernel_step(self, step: KernelStep, plan: Layout) -> list[str]:
        kernel = step.fused.kernel
        name = self.kernels.get(structure(kernel), "nothing")
        line = f"kernel {self.results(step)} = {name}({self.given(step.fused.reads)})"
        notes = [f"parts of {n}" for n in parts_of(kernel)]
        if step.updated is not None:
            out = step.fused.writes[0]
            there = isinstance(step.updated, Var) and plan.of.get(step.updated) is plan.of[out]
            notes.append(f"{'over' if there else 'on a copy of'} {self.given([step.updated])}")
        return [f"{line} [{', '.join(notes)}]" if notes else line]

    def register_step(self, step: RegisterStep) -> list[str]:
        """Scalars one by one; elements of small arrays are written as v[i]."""

        def read(number: int, at: str) -> str:
            var = step.reads[number]
            return self.printer.name(var) + (f"[{at}]" if var.aval.shape else "")

        nodes = [e for elements in step.outputs.values() for e in elements]
        writer = ExpressionWriter(nodes, read, LEAVES | {"read"})
        lines = []
        for var, elements in step.outputs.items():
            lines += writer.definitions(elements)
            value = ", ".join(writer.known[e].text for e in elements)
            lines.append(f"{self.printer.typed(var)} = {f'[{value}]' if var.aval.shape else value}")
            if not var.aval.shape:
                writer.known[elements[0]] = writer.known[elements[0]]._replace(
                    text=self.printer.name(var), closed=True
                )
        return ["scalar " + line for line in lines]

    def call_step(self, step: CallStep) -> list[str]:
        symbols = ", ".join(dict.fromkeys(call.symbol for call in step.calls))
        line = f"call {self.results(step)} = {symbols}({self.given(step.reads)})"
        return [f"{line} [{step.scratch} bytes of scratch]" if step.scratch else line]

    def control_step(self, i: int, step: ControlStep, plan: Layout) -> list[str]:
        control, eqn = step.control, step.eqn
        if isinstance(control, Cond):
            kind, titles = "cond", [f"branch {n}" for n in range(len(step.blocks))]
        elif isinstance(control, Scan):
            backwards = ", backwards" if control.reverse else ""
            kind, titles = f"scan [{control.length} turns{backwards}]", ["body"]
        else:
            kind, titles = "while", ["test", "body"]
        lines = [f"{self.results(step)} = {kind} {self.given(eqn.invars)}".lstrip()]
        for title, inner in zip(titles, plan.inner[i], strict=True):
            writer = StepWriter(Printer(source=False), self.kernels, self.source)
            consts = [v for v, _ in inner.block.consts]
            inputs = " ".join(map(writer.printer.typed, (*consts, *inner.block.inputs)))
            lines.append(f"{INDENT}{title}({inputs}):")
            lines += [INDENT * 2 + line for line in writer.block(inner)]
        return lines

    def placed(self, lines: Sequence[str], places: Sequence[Place]) -> list[str]:
        """The lines with the user's lines that they come from."""
        if self.source:
            return [*lines, *(f"{INDENT}# {text}" for text in unique(p.describe() for p in places))]
        shown = unique(map(short_place, places))
        more = "" if len(shown) <= SHOWN_PLACES else ", ..."
        if not shown:
            return list(lines)
        return [f"{lines[0]}  # {', '.join(shown[:SHOWN_PLACES])}{more}", *lines[1:]]


def unique(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def places_of(step: Step) -> list[Place]:
    """The user's lines that a step comes from."""
    if isinstance(step, KernelStep):
        return [p for p in step.places if p is not None]
    source = getattr(getattr(step, "eqn", None), "source", None)
    return [] if source is None else [source]


def short_place(place: Place) -> str:
    """`file.py:12`, without the folder and the function."""
    if isinstance(place, Source):
        return f"{os.path.basename(place.code.co_filename)}:{place.line}"
    return os.path.basename(place.where.rpartition(" (")[0])


def parts_of(kernel: Kernel) -> list[int]:
    """How many turns of the outermost loop one thread takes at a time, if they are shared."""
    (top,) = kernel.body
    assert isinstance(top, Loop)
    grain = grain_of(kernel)
    return [grain] if grain < kernel.extents[top.axis] else []
