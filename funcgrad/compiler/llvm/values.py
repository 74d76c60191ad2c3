"""Where the values of a program are while its entry function is written: in memory or registers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from funcgrad.compiler.buffers import Layout, Storage, nbytes
from funcgrad.compiler.llvm.elements import BYTES, MEMORY, constant
from funcgrad.compiler.llvm.emit import Module, Writer
from funcgrad.compiler.llvm.sequence import NOWHERE, Place
from funcgrad.compiler.lowering import element_type, literal_value
from funcgrad.compiler.steps import Block
from funcgrad.ir.jaxpr import Atom, Literal, Var

# What a block is given: the elements of a small value, else where it lies.
Argument = tuple[str, ...] | Place

POLL = -1  # the number of the host call that lets Python look for signals


class BlockWriter(Writer):
    """A writer that knows the label of the block it writes."""

    current = ""

    def begin(self, label: str) -> None:
        self.current = label
        super().begin(label)


class Frame:
    """Where the values of one block are while its code is written."""

    def __init__(
        self,
        layout: Layout,
        arena: Place,
        inputs: Sequence[Place],
        outputs: Sequence[Place | None],
    ):
        self.layout, self.arena = layout, arena
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.consts: list[Place] = []
        self.elements: dict[Var, tuple[str, ...]] = {}


class Values(ABC):
    """Writes the code that moves values; whoever writes the steps of a block builds on it."""

    host = "%word1"  # the base that is the callback

    def __init__(self) -> None:
        self.module = Module()
        self.module.declare("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        self.writer = BlockWriter()
        self.prologue: list[str] = []
        self.literals: dict[tuple, Place] = {}
        self.polls = False

    @abstractmethod
    def block(self, block: Block, frame: Frame) -> None:
        """The code of a block's steps."""

    @abstractmethod
    def direct(self, base: str) -> str:
        """A pointer that code can name, given the name of a base."""

    # values

    def place(self, frame: Frame, atom: Atom) -> Place:
        """Where a value lies in memory."""
        if isinstance(atom, Literal):
            return self.literal(atom)
        if atom.aval.size == 0:
            return NOWHERE
        return self.storage(frame, frame.layout.of[atom])

    def storage(self, frame: Frame, storage: Storage) -> Place:
        if storage.kind == "arena":
            return frame.arena.on(storage.offset)
        provided = {"input": frame.inputs, "output": frame.outputs, "const": frame.consts}
        found = provided[storage.kind][storage.number]
        assert found is not None
        return found

    def pointer(self, place: Place) -> str:
        """The name of a pointer to a place."""
        base = self.direct(place.base)
        if not place.offset:
            return base
        return self.writer.assign(f"getelementptr i8, ptr {base}, i64 {place.offset}")

    def literal(self, atom: Literal) -> Place:
        dtype = element_type(atom.aval.dtype)
        image = atom.array.tobytes()
        key = (dtype, image)
        if key not in self.literals:
            name = f"@literal{len(self.literals)}"
            data = ", ".join(f"i8 {b}" for b in image)
            self.module.declare(f"{name} = private constant [{len(image)} x i8] [{data}], align 16")
            self.literals[key] = Place(name)
        return self.literals[key]

    def elements(self, frame: Frame, atom: Atom) -> tuple[str, ...]:
        """The elements of a small value, in registers."""
        if isinstance(atom, Literal):
            return (constant(literal_value(atom), element_type(atom.aval.dtype) or ""),)
        found = frame.elements.get(atom)
        if found is None:
            dtype = element_type(atom.aval.dtype) or ""
            found = self.load_all(self.place(frame, atom), dtype, atom.aval.size)
            frame.elements[atom] = found
        return found

    def load_all(self, place: Place, dtype: str, count: int) -> tuple[str, ...]:
        return tuple(
            self.load(self.pointer(place.on(i * BYTES[dtype])), dtype) for i in range(count)
        )

    def load(self, pointer: str, dtype: str) -> str:
        value = self.writer.assign(f"load {MEMORY[dtype]}, ptr {pointer}, align {BYTES[dtype]}")
        return self.writer.assign(f"trunc i8 {value} to i1") if dtype == "bool" else value

    def store_all(self, place: Place, dtype: str, values: Sequence[str]) -> None:
        for i, value in enumerate(values):
            at = self.pointer(place.on(i * BYTES[dtype]))
            if dtype == "bool":
                value = self.writer.assign(f"zext i1 {value} to i8")
            self.writer.emit(f"store {MEMORY[dtype]} {value}, ptr {at}, align {BYTES[dtype]}")

    def keep(self, frame: Frame, var: Var, values: tuple[str, ...]) -> None:
        """Remember a value's elements, and write them out where something reads them there."""
        frame.elements[var] = values
        if var in frame.layout.of:
            dtype = element_type(var.aval.dtype) or ""
            self.store_all(self.place(frame, var), dtype, values)

    def copy(self, target: Place, source: Place, count: int) -> None:
        if target != source and count:
            pointers = f"ptr {self.pointer(target)}, ptr {self.pointer(source)}"
            self.writer.emit(f"call void @llvm.memmove.p0.p0.i64({pointers}, i64 {count}, i1 0)")

    # blocks inside steps

    def inner_frame(
        self,
        layout: Layout,
        arena: Place,
        arguments: Sequence[Argument],
        outputs: Sequence[Place | None],
    ) -> Frame:
        """The frame of a step's block."""
        inner = Frame(layout, arena, [], outputs)
        for var, argument in zip(layout.block.inputs, arguments, strict=True):
            if isinstance(argument, Place):
                inner.inputs.append(argument)
            else:
                inner.elements[var] = argument
                inner.inputs.append(NOWHERE)
        return inner

    def argument(self, frame: Frame, inner: Layout, var: Var, atom: Atom) -> Argument:
        """An operand as a block wants it: elements of what is small there, else its place."""
        if not inner.is_register(var):
            return self.place(frame, atom)
        return self.all_elements(frame, atom)

    def all_elements(self, frame: Frame, atom: Atom) -> tuple[str, ...]:
        """The elements of a value that is small for a block inside this one."""
        if frame.layout.is_register(atom):
            return self.elements(frame, atom)
        dtype = element_type(atom.aval.dtype) or ""
        return self.load_all(self.place(frame, atom), dtype, atom.aval.size)

    def put_result(self, frame: Frame, var: Var, values: tuple[str, ...]) -> None:
        """A result that a block left in registers, as the block around it holds it."""
        if frame.layout.is_register(var):
            self.keep(frame, var, values)
        else:
            dtype = element_type(var.aval.dtype) or ""
            self.store_all(self.place(frame, var), dtype, values)

    def finish_outputs(self, block: Block, frame: Frame) -> None:
        """Put every output where it is wanted that is not made there."""
        for i, atom in enumerate(block.outputs):
            target = frame.outputs[i]
            if target is None or not atom.aval.size:
                continue
            storage = None if isinstance(atom, Literal) else frame.layout.of.get(atom)
            if storage is not None and (storage.kind, storage.number) == ("output", i):
                continue
            if storage is None and not isinstance(atom, Literal):
                dtype = element_type(atom.aval.dtype) or ""
                self.store_all(target, dtype, self.elements(frame, atom))
            else:
                self.copy(target, self.place(frame, atom), nbytes(atom))

    def call_host(self, number: int) -> None:
        """Hand over to Python; end the program if that says so."""
        self.polls = self.polls or number == POLL
        self.writer.emit(f"store i64 {number}, ptr %request")
        status = self.writer.assign(f"call i32 {self.direct(self.host)}(ptr %request)")
        test = self.writer.assign(f"icmp eq i32 {status}, 0")
        after = self.writer.label("resumed")
        self.writer.branch(test, after, "failed")
        self.writer.begin(after)
