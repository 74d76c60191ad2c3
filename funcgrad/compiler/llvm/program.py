"""A whole program as one native function: its steps one after the other, its loops as loops.

    i32 entry(ptr table)    table: arena, host, constants, inputs..., outputs...
    i32 call(ptr words)     the same words with NumPy's array objects for inputs and outputs

Library steps call `i32 host(ptr {i64 step, ptr operands})`; unless it gives 0 the program ends.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.buffers import Layout, nbytes, reused_inputs
from funcgrad.compiler.kernels import picoseconds
from funcgrad.compiler.llvm import arrays, control
from funcgrad.compiler.llvm.elements import MEMORY, constant, register
from funcgrad.compiler.llvm.emit import emit_kernel, emit_scalars
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.values import Frame, Values
from funcgrad.compiler.loops import Expr, Kernel, Loop, ordered, structure
from funcgrad.compiler.steps import (
    Address,
    AliasStep,
    Block,
    CallStep,
    HostStep,
    KernelStep,
    RegisterStep,
    Step,
)
from funcgrad.ir.jaxpr import Eqn, Literal, Var

ENTRY, CALL = "entry", "call"
# What `call` returns when an input is no contiguous array, and the words before the inputs.
NOT_CONTIGUOUS, HEAD = 2, 3
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
        self.consts: list[Any] = []
        self.host_calls: list[HostCall] = []
        self.symbols: set[str] = set()
        self.most_operands, self.most_words = 1, 1

    def entry(self, block: Block, plan: Layout) -> None:
        num_in, num_out = len(block.inputs), len(block.outputs)
        arena, self.host, self.table = (self.loaded("%table", i) for i in range(HEAD))
        inputs = [self.loaded("%table", HEAD + i) for i in range(num_in)]
        outputs = [self.loaded("%table", HEAD + num_in + i) for i in range(num_out)]
        for i in reused_inputs(plan):
            outputs[i] = ""
        frame = Frame(plan, arena, inputs, outputs)
        self.writer.begin("start")
        self.block(block, frame)
        self.finish_outputs(block, frame)
        self.writer.emit("ret i32 0")
        head = [
            f"define i32 @{ENTRY}(ptr %table) nounwind {{",
            f"  %operands = alloca [{self.most_operands} x ptr]",
            "  %request = alloca {i64, ptr}",
            "  %operands_at = getelementptr i64, ptr %request, i64 1",
            "  store ptr %operands, ptr %operands_at",
            f"  %words = alloca [{self.most_words} x i64]",
            *self.prologue,
            "  br label %start",
        ]
        tail = ["failed:", "  ret i32 1", "}"]
        self.module.functions.append("\n".join([*head, *self.writer.lines, *tail]))
        self.module.declare(f"declare i32 @{arrays.NAME}(ptr, ptr, i64, i64, i64)")
        self.module.declare("declare i64 @fg_enter()")
        self.module.declare("declare void @fg_leave(i64)")
        self.symbols.update((arrays.NAME, "fg_enter", "fg_leave"))
        self.module.functions.append(call_text(num_in, num_in + num_out))

    # blocks

    def block(self, block: Block, frame: Frame) -> None:
        """The code of a block's steps."""
        for _, const in block.consts:
            frame.consts.append(self.loaded(self.table, len(self.consts)))
            self.consts.append(const)
        for var in block.inputs:
            if var in frame.elements and var in frame.layout.of:
                self.keep(frame, var, frame.elements[var])
        for i, step in enumerate(block.steps):
            self.step(i, step, frame)

    def step(self, i: int, step: Step, frame: Frame) -> None:
        if isinstance(step, KernelStep):
            self.kernel_step(step, frame)
        elif isinstance(step, RegisterStep):
            self.register_step(step, frame)
        elif isinstance(step, AliasStep):
            for out, source in zip(step.outs, step.ins, strict=True):
                if isinstance(source, Literal) and out in frame.layout.of:
                    self.copy(self.pointer(frame, out), self.literal(source), nbytes(out))
                if frame.layout.is_register(out):
                    frame.elements[out] = self.elements(frame, source)
        elif isinstance(step, HostStep):
            self.host_step(step.eqn, frame)
        elif isinstance(step, CallStep):
            self.call_step(i, step, frame)
        else:
            control.emit(self, i, step, frame)

    # steps

    def point_at(self, pointers: Sequence[str]) -> None:
        """Fill the array of operand pointers that kernels and library steps are given."""
        self.most_operands = max(self.most_operands, len(pointers))
        for i, pointer in enumerate(pointers):
            at = self.writer.assign(f"getelementptr ptr, ptr %operands, i64 {i}")
            self.writer.emit(f"store ptr {pointer}, ptr {at}")

    def kernel_step(self, step: KernelStep, frame: Frame) -> None:
        kernel = step.fused.kernel
        if step.updated is not None:
            target = self.pointer(frame, step.fused.writes[0])
            self.copy(target, self.pointer(frame, step.updated), nbytes(step.updated))
        (top,) = kernel.body
        assert isinstance(top, Loop)
        extent = kernel.extents[top.axis]
        if extent == 0:
            return
        self.point_at([self.pointer(frame, v) for v in step.fused.operands])
        name = self.kernel_name(kernel, step.names)
        grain = grain_of(kernel, top)
        if grain < extent:
            self.module.declare("declare void @fg_parallel(ptr, ptr, i64, i64)")
            self.writer.emit(
                f"call void @fg_parallel(ptr @{name}, ptr %operands, i64 {extent}, i64 {grain})"
            )
            self.symbols.add("fg_parallel")
        else:
            self.writer.emit(f"call void @{name}(ptr %operands, i64 0, i64 {extent})")

    def kernel_name(self, kernel: Kernel, names: Sequence[str]) -> str:
        """The function of a kernel, written when it is met for the first time."""
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
        pointer = self.pointer(frame, var)
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
        self.point_at([self.pointer(frame, v) for v in atoms])
        self.host_calls.append(HostCall(eqn))
        self.call_host(len(self.host_calls) - 1)
        for var in eqn.outvars:
            frame.elements.pop(var, None)

    def call_step(self, i: int, step: CallStep, frame: Frame) -> None:
        """Calls of library functions, whose words lie where no other step's do at that time."""
        places = [self.pointer(frame, v) for v in (*step.reads, step.out)]
        places += [self.storage(frame, s) for s in frame.layout.extra.get(i, ())]
        for call in step.calls:
            self.most_words = max(self.most_words, len(call.words))
            for k, word in enumerate(call.words):
                at = self.writer.assign(f"getelementptr i64, ptr %words, i64 {k}")
                if isinstance(word, Address):
                    place = self.advanced(places[word.number], word.offset)
                    self.writer.emit(f"store ptr {place}, ptr {at}")
                else:
                    self.writer.emit(f"store i64 {word}, ptr {at}")
            self.module.declare(f"declare void @{call.symbol}(ptr)")
            self.symbols.add(call.symbol)
            self.writer.emit(f"call void @{call.symbol}(ptr %words)")


def call_text(inputs: int, arrays_in_all: int) -> str:
    """The function that takes array objects: word 3 is NumPy's array type, then the objects."""
    counts = f"i64 {inputs}, i64 {arrays_in_all}"
    return f"""
define i32 @{CALL}(ptr %words) nounwind {{
  %table = alloca [{HEAD + arrays_in_all} x ptr]
  call void @llvm.memmove.p0.p0.i64(ptr %table, ptr %words, i64 {8 * HEAD}, i1 0)
  %kind_at = getelementptr i64, ptr %words, i64 {HEAD}
  %kind = load i64, ptr %kind_at, align 1
  %objects = getelementptr i64, ptr %words, i64 {HEAD + 1}
  %pointers = getelementptr ptr, ptr %table, i64 {HEAD}
  %odd = call i32 @{arrays.NAME}(ptr %objects, ptr %pointers, {counts}, i64 %kind)
  %refused = icmp ne i32 %odd, 0
  br i1 %refused, label %refuse, label %run
run:
  %kept = call i64 @fg_enter()
  %status = call i32 @{ENTRY}(ptr %table)
  call void @fg_leave(i64 %kept)
  ret i32 %status
refuse:
  ret i32 {NOT_CONTIGUOUS}
}}"""


def grain_of(kernel: Kernel, top: Loop) -> int:
    """How many turns of the outermost loop one part takes; all of them if it is not worth it."""
    extent = kernel.extents[top.axis]
    parts = min(picoseconds(kernel) // WORTH_DIVIDING, MOST_PARTS, extent)
    if not kernel.divisible or parts < 2:
        return extent
    return -(-extent // (parts * top.lanes)) * top.lanes
