"""A whole program as one native function: its steps one after the other, its loops as loops.

    i32 entry(ptr table)    table: arena, host, constants, inputs..., outputs...

Library steps call `i32 host(ptr {i64 step, ptr operands})`; unless it gives 0 the program ends.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.buffers import Layout, nbytes, reused_inputs
from funcgrad.compiler.kernels import picoseconds
from funcgrad.compiler.llvm import control, sequence
from funcgrad.compiler.llvm.arrays import HEAD
from funcgrad.compiler.llvm.elements import MEMORY, constant, register
from funcgrad.compiler.llvm.emit import emit_kernel, emit_scalars
from funcgrad.compiler.llvm.sequence import Place
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.values import Frame, Values
from funcgrad.compiler.loops import Expr, Kernel, Loop, ordered, structure
from funcgrad.compiler.steps import (
    Address,
    AliasStep,
    Block,
    CallStep,
    ControlStep,
    HostStep,
    KernelStep,
    RegisterStep,
    Step,
)
from funcgrad.ir.jaxpr import Eqn, Literal, Var

ENTRY = "entry"
# Picoseconds of work that one part of a parallel kernel is at least: waking a thread takes as long.
WORTH_DIVIDING = 20_000_000
# Parts that a parallel kernel is cut into at most.
MOST_PARTS = 64


class HostCall(NamedTuple):
    """A library step: its equation, whose operands and then results the native code points at."""

    eqn: Eqn


class Native(NamedTuple):
    """The text of a program and what has to be provided when it runs."""

    text: str
    arena: int
    consts: tuple[Any, ...]
    host_calls: tuple[HostCall, ...]
    kernels: dict[str, Kernel]
    symbols: frozenset[str]
    polls: bool  # whether it asks Python for signals now and then
    reused: dict[int, int]  # outputs that are made in the memory of an input


def emit_program(block: Block, plan: Layout, target: Target) -> Native:
    """The native program of a block."""
    emitter = Emitter(target)
    emitter.entry(block, plan)
    return Native(
        emitter.module.text(target),
        plan.size,
        tuple(emitter.consts),
        tuple(emitter.host_calls),
        emitter.kernels,
        frozenset(emitter.symbols),
        emitter.polls,
        reused_inputs(plan),
    )


class Emitter(Values):
    """Writes the entry function, and each kernel that it calls once."""

    def __init__(self, target: Target):
        super().__init__()
        self.target = target
        self.kernels: dict[str, Kernel] = {}
        self.names: dict[tuple, str] = {}
        self.named: dict[int, tuple[str, int]] = {}
        self.consts: list[Any] = []
        self.host_calls: list[HostCall] = []
        self.symbols: set[str] = set()
        self.run: list[sequence.Call] = []  # steps in a row that are not written yet
        self.runs = 0
        self.most_words = 1
        self.slots: dict[str, int] = {}  # where the table of bases holds a pointer
        self.used: set[str] = set()  # bases from the table that the code names itself

    def entry(self, block: Block, plan: Layout) -> None:
        num_in, num_out = len(block.inputs), len(block.outputs)
        words = HEAD + num_in + num_out
        consts = constants_of(block)
        self.slots = {f"%word{i}": 1 + i for i in range(words)}
        self.slots |= {f"%const{i}": 1 + words + i for i in range(consts)}
        inputs = [Place(f"%word{HEAD + i}") for i in range(num_in)]
        outputs: list[Place | None] = [Place(f"%word{HEAD + num_in + i}") for i in range(num_out)]
        for i in reused_inputs(plan):
            outputs[i] = None
        frame = Frame(plan, Place("%word0"), inputs, outputs)
        self.writer.begin("start")
        self.block(block, frame)
        self.finish_outputs(block, frame)
        self.writer.emit("ret i32 0")
        head = [
            f"define i32 @{ENTRY}(ptr %table) nounwind {{",
            f"  %words = alloca [{self.most_words} x i64]",
            *self.request(),
            *self.bases(words, len(self.consts)),
            "  br label %start",
        ]
        tail = ["failed:", "  ret i32 1", "}"]
        self.module.functions.append("\n".join([*head, *self.writer.lines, *tail]))

    def request(self) -> list[str]:
        """What the callback is given: the number of a library step and its operands."""
        if not (self.host_calls or self.polls):
            return []
        return [
            "  %request = alloca {i64, ptr}",
            "  %operands_at = getelementptr i64, ptr %request, i64 1",
            "  store ptr %words, ptr %operands_at",
        ]

    def bases(self, words: int, consts: int) -> list[str]:
        """The table of bases: zero, the program's words, its constants, and what loops point at."""
        move = "call void @llvm.memmove.p0.p0.i64"
        size = max(self.slots.values(), default=0) + 1
        lines = [
            f"  %bases = alloca [{size} x ptr]",
            "  store ptr null, ptr %bases",
            "  %base1 = getelementptr ptr, ptr %bases, i64 1",
            f"  {move}(ptr %base1, ptr %table, i64 {8 * words}, i1 0)",
        ]
        if consts:
            lines += [
                "  %consts_at = getelementptr ptr, ptr %table, i64 2",
                "  %consts = load ptr, ptr %consts_at",
                f"  %base2 = getelementptr ptr, ptr %bases, i64 {1 + words}",
                f"  {move}(ptr %base2, ptr %consts, i64 {8 * consts}, i1 0)",
            ]
        for name in sorted(self.used):
            lines += [
                f"  {name}_at = getelementptr ptr, ptr %bases, i64 {self.slots[name]}",
                f"  {name} = load ptr, ptr {name}_at",
            ]
        return lines

    def direct(self, base: str) -> str:
        if base in self.slots and base.startswith(("%word", "%const")):
            self.used.add(base)
        return base

    # blocks

    def block(self, block: Block, frame: Frame) -> None:
        """The code of a block's steps."""
        for _, const in block.consts:
            frame.consts.append(Place(f"%const{len(self.consts)}"))
            self.consts.append(const)
        for var in block.inputs:
            if var in frame.elements and var in frame.layout.of:
                self.keep(frame, var, frame.elements[var])
        for i, step in enumerate(block.steps):
            self.step(i, step, frame)
        self.finish_run()

    def step(self, i: int, step: Step, frame: Frame) -> None:
        if not isinstance(step, (KernelStep, CallStep)):
            self.finish_run()
        if isinstance(step, KernelStep):
            self.kernel_step(step, frame)
        elif isinstance(step, RegisterStep):
            self.register_step(step, frame)
        elif isinstance(step, AliasStep):
            for out, source in zip(step.outs, step.ins, strict=True):
                if isinstance(source, Literal) and out in frame.layout.of:
                    self.copy(self.place(frame, out), self.literal(source), nbytes(out))
                if frame.layout.is_register(out):
                    frame.elements[out] = self.elements(frame, source)
        elif isinstance(step, HostStep):
            self.host_step(step.eqn, frame)
        elif isinstance(step, CallStep):
            self.call_step(i, step, frame)
        else:
            control.emit(self, i, step, frame)

    # steps

    def finish_run(self) -> None:
        """Write the call that goes through the steps put off so far."""
        if not self.run:
            return
        bases = dict.fromkeys(o.base for c in self.run for o in c.operands if isinstance(o, Place))
        for base in bases:
            if base.startswith("%v"):
                at = self.writer.assign(f"getelementptr ptr, ptr %bases, i64 {self.slot(base)}")
                self.writer.emit(f"store ptr {base}, ptr {at}")
        name = f"run{self.runs}"
        self.runs += 1
        self.most_words = max(self.most_words, *(len(call.operands) for call in self.run))
        self.module.declare(sequence.DECLARATION)
        self.symbols.add(sequence.NAME)
        self.module.functions.append(sequence.data(name, self.run, self.slot))
        self.writer.emit(
            f"call void @{sequence.NAME}(ptr @{name}, i64 {len(self.run)}, ptr %bases, ptr %words)"
        )
        self.run = []

    def slot(self, base: str) -> int:
        return self.slots.setdefault(base, len(self.slots) + 1)

    def kernel_step(self, step: KernelStep, frame: Frame) -> None:
        kernel = step.fused.kernel
        if step.updated is not None:
            target, source = (self.place(frame, v) for v in (step.fused.writes[0], step.updated))
            if target != source:
                self.finish_run()
                self.copy(target, source, nbytes(step.updated))
        (top,) = kernel.body
        assert isinstance(top, Loop)
        extent = kernel.extents[top.axis]
        if extent:
            name, grain = self.function(kernel, step.names)
            operands = [self.place(frame, v) for v in step.fused.operands]
            self.run.append(sequence.Call(name, extent, grain, operands))

    def function(self, kernel: Kernel, names: Sequence[str]) -> tuple[str, int]:
        """The function of a kernel, written when it is met for the first time, and its grain."""
        found = self.named.get(id(kernel))
        if found is None:
            found = self.named[id(kernel)] = self.kernel_name(kernel, names), grain_of(kernel)
        return found

    def kernel_name(self, kernel: Kernel, names: Sequence[str]) -> str:
        """The name of a kernel that may have been met as another object."""
        key = structure(kernel)
        name = self.names.get(key)
        if name is None:
            words = list(dict.fromkeys(n.replace("-", "_") for n in names))[:4]
            name = self.names[key] = f"k{len(self.names)}_{'_'.join(words)}"
            self.kernels[name] = kernel
            emit_kernel(self.module, kernel, name, self.target)
        return name

    def register_step(self, step: RegisterStep, frame: Frame) -> None:
        roots = [e for elements in step.outputs.values() for e in elements]
        leaves: dict[Expr, str] = {}
        for node in ordered(roots):
            if node.op == "read":
                leaves[node] = self.register_read(step.reads[node.data[0]], node, leaves, frame)
        values = iter(self.scalars(roots, leaves))
        for var, elements in step.outputs.items():
            self.keep(frame, var, tuple(next(values) for _ in elements))

    def scalars(self, roots: Sequence[Expr], leaves: dict[Expr, str]) -> list[str]:
        return emit_scalars(self.writer, self.module, self.target, roots, leaves)

    def register_read(self, var: Var, node: Expr, leaves: dict[Expr, str], frame: Frame) -> str:
        """One element that a register step reads, from registers or from memory."""
        _, const, _, coeffs, guarded = node.data
        if frame.layout.is_register(var) and not coeffs and not guarded:
            return self.elements(frame, var)[const]
        pointer = self.pointer(self.place(frame, var))
        at = str(const)
        for arg, coeff in zip(node.args, coeffs, strict=False):
            (value,) = self.scalars([arg], leaves)
            part = self.writer.assign(f"mul i64 {value}, {coeff}")
            at = self.writer.assign(f"add i64 {at}, {part}")
        if not guarded:
            return self.load(self.element_at(pointer, at, node.dtype), node.dtype)
        (test,) = self.scalars([node.args[-1]], leaves)
        at = self.writer.assign(f"select i1 {test}, i64 {at}, i64 0")
        value = self.load(self.element_at(pointer, at, node.dtype), node.dtype)
        kind, zero = register(node.dtype), constant(0, node.dtype)
        return self.writer.assign(f"select i1 {test}, {kind} {value}, {kind} {zero}")

    def element_at(self, pointer: str, index: str, dtype: str) -> str:
        return self.writer.assign(f"getelementptr {MEMORY[dtype]}, ptr {pointer}, i64 {index}")

    def host_step(self, eqn: Eqn, frame: Frame) -> None:
        atoms = [*eqn.invars, *eqn.outvars]
        self.most_words = max(self.most_words, len(atoms))
        for i, atom in enumerate(atoms):
            pointer = self.pointer(self.place(frame, atom))
            at = self.writer.assign(f"getelementptr ptr, ptr %words, i64 {i}")
            self.writer.emit(f"store ptr {pointer}, ptr {at}")
        self.host_calls.append(HostCall(eqn))
        self.call_host(len(self.host_calls) - 1)
        for var in eqn.outvars:
            frame.elements.pop(var, None)

    def call_step(self, i: int, step: CallStep, frame: Frame) -> None:
        """Calls of library functions, whose words lie where no other step's do at that time."""
        places = [self.place(frame, v) for v in (*step.reads, step.out)]
        places += [self.storage(frame, s) for s in frame.layout.extra.get(i, ())]
        for call in step.calls:
            words = [
                places[word.number].on(word.offset) if isinstance(word, Address) else word
                for word in call.words
            ]
            self.module.declare(f"declare void @{call.symbol}(ptr)")
            self.symbols.add(call.symbol)
            self.run.append(sequence.Call(call.symbol, 0, 0, words))


def constants_of(block: Block) -> int:
    """How many constants a block holds, with those of the blocks inside it."""
    inner = [b for step in block.steps if isinstance(step, ControlStep) for b in step.blocks]
    return len(block.consts) + sum(map(constants_of, inner))


def grain_of(kernel: Kernel) -> int:
    """How many turns of the outermost loop one part takes; all of them if it is not worth it."""
    (top,) = kernel.body
    assert isinstance(top, Loop)
    extent = kernel.extents[top.axis]
    parts = min(picoseconds(kernel) // WORTH_DIVIDING, MOST_PARTS, extent)
    if not kernel.divisible or parts < 2:
        return extent
    return -(-extent // (parts * top.lanes)) * top.lanes
