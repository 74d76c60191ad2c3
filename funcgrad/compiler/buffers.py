"""The memory plan: where each value of a block lies, and who takes over whose memory.

Values live in storages: pieces of the block's arena, or memory that whoever runs the block provides
for its inputs and outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from funcgrad.base.dtypes import buffer_dtype
from funcgrad.compiler.loops import BITS, ordered
from funcgrad.compiler.lowering import Cond, Scan, element_type
from funcgrad.compiler.steps import (
    AliasStep,
    Block,
    CallStep,
    ControlStep,
    KernelStep,
    RegisterStep,
    Step,
    reads_of,
    writes_of,
)
from funcgrad.ir.jaxpr import Atom, Literal, Var

# Bytes that storages in the arena start at a multiple of: a cache line.
ALIGNMENT = 64


@dataclass(eq=False)
class Storage:
    """Memory of one value at a time: in the arena, or input, output or constant `number`."""

    kind: str
    number: int
    nbytes: int
    offset: int = -1


@dataclass(eq=False)
class Layout:
    """Where the values of a block lie; `size` is the bytes of its arena."""

    block: Block
    donated: frozenset[int]  # the inputs that may be written over
    of: dict[Var, Storage] = field(default_factory=dict)
    inner: dict[int, list["Layout"]] = field(default_factory=dict)
    extra: dict[int, list[Storage]] = field(default_factory=dict)
    size: int = 0

    def is_register(self, atom: Atom) -> bool:
        aval = atom.aval
        return 0 < aval.size <= self.block.registers and element_type(aval.dtype) is not None


def nbytes(atom: Atom) -> int:
    return atom.aval.size * buffer_dtype(atom.aval.dtype).itemsize


def element_bytes(dtype: str) -> int:
    return BITS[dtype] // 8


def layout(block: Block, donated: frozenset[int] = frozenset(), nested: bool = False) -> Layout:
    """The memory plan of a block that may write into the inputs listed in `donated`.

    The small inputs and outputs of a nested block are handed over in registers.
    """
    return Planner(block, donated, nested).run()


def reused_inputs(plan: Layout) -> dict[int, int]:
    """The outputs that lie in the memory of a donated input of the same type, with its number."""
    found: dict[int, int] = {}
    for i, atom in enumerate(plan.block.outputs):
        storage = plan.of.get(atom) if isinstance(atom, Var) else None
        if storage is None or storage.kind != "input" or storage.number not in plan.donated:
            continue
        given = plan.block.inputs[storage.number].aval
        same = (given.shape, given.dtype) == (atom.aval.shape, atom.aval.dtype)
        if same and storage.number not in found.values():
            found[i] = storage.number
    return found


class Planner:
    """Goes through the steps in order, giving each value that must be in memory a storage."""

    def __init__(self, block: Block, donated: frozenset[int], nested: bool):
        self.block, self.donated, self.nested = block, donated, nested
        self.layout = Layout(block, donated)
        self.in_memory = read_from_memory(block)
        self.end = len(block.steps)
        self.last = self.last_uses()
        self.aliased: dict[Storage, list[Var]] = {}

    def last_uses(self) -> dict[Var, int]:
        """The last step that reads each value, through its aliases."""
        last: dict[Var, int] = {}
        for i, step in enumerate(self.block.steps):
            last.update((v, i) for v in (*reads_of(step), *writes_of(step)))
        last.update((v, self.end) for v in self.block.outputs if isinstance(v, Var))
        for step in reversed(self.block.steps):
            if isinstance(step, AliasStep):
                for out, source in zip(step.outs, step.ins, strict=True):
                    if isinstance(source, Var):
                        last[source] = max(last[source], last[out])
        return last

    def run(self) -> Layout:
        for i, var in enumerate(self.block.inputs):
            if not (self.nested and self.layout.is_register(var)):
                self.place(var, Storage("input", i, nbytes(var)))
            elif var in self.in_memory:
                self.place(var, Storage("arena", -1, nbytes(var)))
        for i, (var, _) in enumerate(self.block.consts):
            self.place(var, Storage("const", i, nbytes(var)))
        wanted = self.wanted_outputs()
        for i, step in enumerate(self.block.steps):
            self.plan_step(i, step, wanted)
        self.release_unused_outputs()
        self.assign_offsets()
        return self.layout

    def release_unused_outputs(self) -> None:
        """Move into the arena what lies in an output's memory that the output itself left alone."""
        for storage in self.aliased:
            if storage.kind == "output":
                atom = self.block.outputs[storage.number]
                if isinstance(atom, Literal) or self.layout.of.get(atom) is not storage:
                    storage.kind = "arena"

    def place(self, var: Var, storage: Storage) -> None:
        self.layout.of[var] = storage
        self.aliased.setdefault(storage, []).append(var)

    def wanted_outputs(self) -> dict[Var, int]:
        """The output whose memory each value is best made in: its own, or its successor's."""
        steps = [s for s in self.block.steps if not isinstance(s, AliasStep)]
        made_here = {v for s in steps for v in writes_of(s)}
        wanted: dict[Var, int] = {}
        aliases = [s for s in self.block.steps if isinstance(s, AliasStep)]
        source = {o: v for s in aliases for o, v in zip(s.outs, s.ins, strict=True)}
        for i, atom in enumerate(self.block.outputs):
            in_register = self.nested and self.layout.is_register(atom)
            while isinstance(atom, Var) and atom in source:
                atom = source[atom]
            if isinstance(atom, Var) and atom in made_here and not in_register:
                wanted.setdefault(atom, i)
        passed_on: set[Var] = set()
        for i, step in reversed(list(enumerate(self.block.steps))):
            for out, source in successors(step):
                if (
                    out in wanted
                    and out not in passed_on
                    and source in made_here
                    and source not in wanted
                    and self.last[source] == i
                    and nbytes(source) == nbytes(out)
                ):
                    wanted[source] = wanted[out]
                    passed_on.add(out)
        return wanted

    def plan_step(self, i: int, step: Step, wanted: dict[Var, int]) -> None:
        if isinstance(step, AliasStep):
            for out, source in zip(step.outs, step.ins, strict=True):
                if isinstance(source, Literal):
                    if out in self.in_memory or not self.layout.is_register(out):
                        self.place(out, Storage("arena", -1, nbytes(out)))
                elif source in self.layout.of:
                    self.place(out, self.layout.of[source])
            return
        if isinstance(step, ControlStep):
            self.plan_control(i, step)
        if isinstance(step, CallStep) and step.scratch:
            self.layout.extra[i] = [Storage("arena", -1, step.scratch)]
        taken: set[Storage] = set()
        for position, var in enumerate(writes_of(step)):
            if self.stays_in_registers(step, var, wanted):
                continue
            storage = self.taken_over(i, step, var, position, taken)
            if storage is None and var in wanted:
                storage = Storage("output", wanted[var], nbytes(var))
            if storage is None:
                storage = Storage("arena", -1, nbytes(var))
            taken.add(storage)
            self.place(var, storage)

    def stays_in_registers(self, step: Step, var: Var, wanted: dict[Var, int]) -> bool:
        made_there = isinstance(step, (RegisterStep, ControlStep))
        needed = var in self.in_memory or var in wanted
        return made_there and self.layout.is_register(var) and not needed

    def taken_over(
        self, i: int, step: Step, var: Var, position: int, taken: set[Storage]
    ) -> Storage | None:
        """The storage of an operand that dies here and that `var` can be written over."""
        sources = overwritable(step, var, position)
        for source in sources:
            storage = self.layout.of.get(source)
            if storage is None or storage in taken or storage.nbytes != nbytes(var):
                continue
            owned = storage.kind in ("arena", "output") or (
                storage.kind == "input" and storage.number in self.donated
            )
            aliases = self.aliased[storage]
            read_there = {v for v in reads_of(step) if v in aliases}
            if owned and read_there <= {*sources} and all(self.last[v] <= i for v in aliases):
                return storage
        return None

    def plan_control(self, i: int, step: ControlStep) -> None:
        """Memory for the blocks of a loop or choice, and second buffers for carries."""
        control = step.control
        layouts: list[Layout] = []
        if isinstance(control, Cond):
            layouts = [layout(b, nested=True) for b in step.blocks]
        elif isinstance(control, Scan):
            first = control.num_consts
            carries = frozenset(range(first, first + control.num_carry))
            layouts = [layout(step.blocks[0], carries, nested=True)]
        else:
            first, count = control.body_consts, len(step.eqn.outvars)
            carries = frozenset(range(first, first + count))
            body = layout(step.blocks[1], carries, nested=True)
            layouts = [layout(step.blocks[0], nested=True), body]
        self.layout.inner[i] = layouts
        sizes = [inner.size for inner in layouts]
        extra = [max(sizes) if isinstance(control, Cond) else sum(sizes)]
        extra += carried_twice(step, layouts[-1])
        self.layout.extra[i] = [Storage("arena", -1, n) for n in extra]

    def assign_offsets(self) -> None:
        """Put storages where their lifetimes do not meet at the same place, first fit."""
        spans: list[tuple[int, int, Storage]] = []
        first: dict[Storage, int] = {}
        for var in self.block.inputs:
            storage = self.layout.of.get(var)
            if storage is not None and storage.kind == "arena":
                first[storage] = 0
        for i, step in enumerate(self.block.steps):
            for storage in self.layout.extra.get(i, ()):
                spans.append((i, i, storage))
            for var in writes_of(step):
                storage = self.layout.of.get(var)
                if storage is not None and storage.kind == "arena":
                    first.setdefault(storage, i)
        for storage, start in first.items():
            spans.append((start, max(self.last[v] for v in self.aliased[storage]), storage))
        spans.sort(key=lambda span: span[0])
        self.layout.size = pack(spans)


def pack(spans: Sequence[tuple[int, int, Storage]]) -> int:
    """Give each storage an offset; returns the bytes needed for all."""
    live: list[tuple[int, int, int]] = []  # (offset, end offset, last step), by offset
    total = 0
    for start, last, storage in spans:
        live = [piece for piece in live if piece[2] >= start]
        need = -(-max(storage.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        best, at, gap = -1, 0, None
        for offset, end, _ in [*live, (1 << 62, 0, 0)]:
            free = offset - at
            if free >= need and (gap is None or free < gap):
                best, gap = at, free
            at = max(at, end)
        storage.offset = best
        live.append((best, best + need, last))
        live.sort()
        total = max(total, best + need)
    return total


def read_from_memory(block: Block) -> set[Var]:
    """The values that some step reads through a pointer."""
    found: set[Var] = set()
    for step in reversed(block.steps):
        if isinstance(step, RegisterStep):
            names = dict(enumerate(step.reads))
            nodes = ordered([e for elements in step.outputs.values() for e in elements])
            found.update(names[n.data[0]] for n in nodes if n.op == "read" and any(n.data[3:]))
        elif isinstance(step, AliasStep):
            pairs = zip(step.outs, step.ins, strict=True)
            found.update(v for o, v in pairs if o in found and isinstance(v, Var))
        elif isinstance(step, ControlStep):
            found.update(slices_of(step))
        else:
            found.update(reads_of(step))
    return found


def slices_of(step: ControlStep) -> set[Var]:
    """The arrays that a loop reads or writes a slice of in each turn, however small."""
    control, eqn = step.control, step.eqn
    if not isinstance(control, Scan):
        return set()
    along = eqn.invars[control.num_consts + control.num_carry :]
    return {v for v in (*along, *eqn.outvars[control.num_carry :]) if isinstance(v, Var)}


def successors(step: Step) -> list[tuple[Var, Var]]:
    """Pairs (output, input) where the output would best be made in the input's memory."""
    if isinstance(step, KernelStep):
        if isinstance(step.updated, Var):
            return [(step.fused.writes[0], step.updated)]
        return [
            (out, source)
            for position, out in enumerate(step.fused.writes)
            for source in overwritable(step, out, position)
        ]
    if isinstance(step, ControlStep) and not isinstance(step.control, Cond):
        return [(o, v) for o, v in carries_of(step) if isinstance(v, Var)]
    return []


def overwritable(step: Step, var: Var, position: int) -> list[Var]:
    """The operands that a step may overwrite with output `var`, its `position`-th."""
    if isinstance(step, KernelStep):
        if step.updated is not None:
            updated = step.updated
            read_too = updated in step.fused.reads
            return [updated] if isinstance(updated, Var) and not read_too else []
        itemsize = buffer_dtype(var.aval.dtype).itemsize
        return [
            source
            for source, last in step.fused.aligned.items()
            if last <= position and buffer_dtype(source.aval.dtype).itemsize == itemsize
        ]
    if isinstance(step, ControlStep) and not isinstance(step.control, Cond):
        others = [v for v in step.eqn.invars if isinstance(v, Var)]
        pairs = [(o, v) for o, v in carries_of(step) if o is var and isinstance(v, Var)]
        return [v for _, v in pairs if others.count(v) == 1]
    return []


def carries_of(step: ControlStep) -> list[tuple[Var, Atom]]:
    """The carried outputs of a loop with their first values."""
    control, eqn = step.control, step.eqn
    if isinstance(control, Scan):
        first = control.num_consts
        return list(zip(eqn.outvars, eqn.invars[first : first + control.num_carry], strict=False))
    assert not isinstance(control, Cond)
    first = control.test_consts + control.body_consts
    return list(zip(eqn.outvars, eqn.invars[first:], strict=True))


def carried_twice(step: ControlStep, body: Layout) -> list[int]:
    """Bytes of a second buffer for each carry that a turn does not rewrite in place; else 0."""
    if isinstance(step.control, Cond):
        return []
    control = step.control
    first = control.num_consts if isinstance(control, Scan) else control.body_consts
    sizes = []
    for j, _ in enumerate(carries_of(step)):
        var = body.block.inputs[first + j]
        sizes.append(0 if body.is_register(var) or rewritten(body, first + j, j) else nbytes(var))
    return sizes


def rewritten(body: Layout, number: int, output: int) -> bool:
    """Whether output `output` of a loop's body ends up in the memory of input `number`."""
    atom = body.block.outputs[output]
    if isinstance(atom, Literal):
        return False
    storage = body.of.get(atom)
    return storage is not None and (storage.kind, storage.number) == ("input", number)
