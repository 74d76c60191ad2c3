"""What a scheduled program moves: the bytes that its steps read from memory and write there."""

import math
from collections.abc import Sequence

from funcgrad.compiler.buffers import (
    Layout,
    carried_twice,
    carries_of,
    element_bytes,
    nbytes,
)
from funcgrad.compiler.loops import Expr, Kernel, Store, ordered, roots, structure, walk
from funcgrad.compiler.lowering import Cond, Scan
from funcgrad.compiler.steps import (
    AliasStep,
    ControlStep,
    KernelStep,
    RegisterStep,
    Step,
    reads_of,
    writes_of,
)
from funcgrad.ir.jaxpr import Literal, Var


def bytes_accessed(plan: Layout) -> tuple[int, dict[tuple, int]]:
    """Bytes that one call reads and writes, in all and by the structure of each kernel.

    What stays in registers costs nothing. Loops of unknown length count as one turn; of choices the
    total has the dearest branch, and the kernels are those of all branches.
    """
    traffic = Traffic(plan)
    return traffic.total([True] * len(plan.block.outputs)), traffic.kernels


class Traffic:
    """Goes through the steps of one block, each of which runs so many `times` a call.

    A small value is loaded into registers only once.
    """

    def __init__(self, plan: Layout, loaded: Sequence[Var] = (), times: int = 1):
        self.plan, self.times = plan, times
        self.loaded = set(loaded)
        self.kernels: dict[tuple, int] = {}

    def total(self, wanted: Sequence[bool]) -> int:
        """The bytes of all steps, and of copying outputs to where they are `wanted`."""
        moved = sum(self.step(i, step) for i, step in enumerate(self.plan.block.steps))
        return moved + sum(self.output(i) for i, there in enumerate(wanted) if there)

    def step(self, i: int, step: Step) -> int:
        if isinstance(step, AliasStep):
            self.loaded.update(v for v in step.outs if self.plan.is_register(v))
            return 0
        if isinstance(step, KernelStep):
            return self.kernel_step(step)
        if isinstance(step, RegisterStep):
            return self.register_step(step)
        if isinstance(step, ControlStep):
            return self.control_step(i, step)
        return sum(map(nbytes, dict.fromkeys(reads_of(step)))) + sum(map(nbytes, writes_of(step)))

    def kernel_step(self, step: KernelStep) -> int:
        copied = 0
        if step.updated is not None:
            there = isinstance(step.updated, Var) and (
                self.plan.of.get(step.updated) is self.plan.of[step.fused.writes[0]]
            )
            copied = 0 if there else 2 * nbytes(step.updated)
        sizes = list(map(nbytes, step.fused.operands))
        moved = sum(touched(step.fused.kernel, sizes))
        key = structure(step.fused.kernel)
        self.kernels[key] = self.kernels.get(key, 0) + self.times * moved
        return copied + moved

    def register_step(self, step: RegisterStep) -> int:
        moved = 0
        for node in ordered([e for elements in step.outputs.values() for e in elements]):
            if node.op == "read":
                var = step.reads[node.data[0]]
                if self.plan.is_register(var) and not node.data[3]:
                    moved += self.load(var)
                else:
                    moved += element_bytes(node.dtype)
        self.loaded.update(step.outputs)
        return moved + sum(nbytes(v) for v in step.outputs if v in self.plan.of)

    def load(self, var: Var) -> int:
        """Bytes of having a small value in registers."""
        if var in self.loaded or var not in self.plan.of:
            return 0
        self.loaded.add(var)
        return nbytes(var)

    def output(self, number: int) -> int:
        atom = self.plan.block.outputs[number]
        if isinstance(atom, Literal):
            return 2 * nbytes(atom)
        storage = self.plan.of.get(atom)
        if storage is not None and (storage.kind, storage.number) == ("output", number):
            return 0
        return nbytes(atom) if atom in self.loaded or storage is None else 2 * nbytes(atom)

    # loops and choices

    def control_step(self, i: int, step: ControlStep) -> int:
        control, inner = step.control, self.plan.inner[i]
        small = [v for v in step.eqn.invars if isinstance(v, Var) and self.plan.is_register(v)]
        moved = sum(map(self.load, small))
        registers = [v for v in step.eqn.outvars if self.plan.is_register(v)]
        moved += sum(nbytes(v) for v in registers if v in self.plan.of)
        self.loaded.update(registers)
        if isinstance(control, Cond):
            wanted = [not inner[0].is_register(v) for v in step.eqn.outvars]
            return moved + max(self.inside(plan, plan.block.inputs, wanted) for plan in inner)
        moved += self.first_carries(step)
        if isinstance(control, Scan):
            count = control.num_consts + control.num_carry
            return moved + control.length * self.turn(step, inner[0], count, control.length)
        carries = carried_twice(step, inner[1])
        moved += self.inside(inner[0], inner[0].block.inputs, [False])
        return moved + self.inside(inner[1], inner[1].block.inputs, [n > 0 for n in carries])

    def first_carries(self, step: ControlStep) -> int:
        """Copying the first values of large carries to where the loop keeps them."""
        pairs = [(o, v) for o, v in carries_of(step) if not self.plan.is_register(o)]
        return sum(
            2 * nbytes(out)
            for out, first in pairs
            if isinstance(first, Literal) or self.plan.of.get(first) is not self.plan.of.get(out)
        )

    def turn(self, step: ControlStep, body: Layout, count: int, turns: int) -> int:
        """One turn of a scan, whose slices are read from memory and written there."""
        block = body.block
        small = [v for v in block.inputs[count:] if body.is_register(v)]
        spare = [n > 0 for n in carried_twice(step, body)]
        wanted = [*spare, *(True for _ in block.outputs[len(spare) :])]
        return sum(map(nbytes, small)) + self.inside(body, block.inputs, wanted, turns)

    def inside(
        self, plan: Layout, inputs: Sequence[Var], wanted: Sequence[bool], turns: int = 1
    ) -> int:
        """The bytes of a block inside a step, once."""
        small = [v for v in inputs if plan.is_register(v)]
        inner = Traffic(plan, small, self.times * turns)
        moved = inner.total(wanted)
        for key, count in inner.kernels.items():
            self.kernels[key] = self.kernels.get(key, 0) + count
        return moved


def touched(kernel: Kernel, sizes: Sequence[int]) -> list[int]:
    """The bytes of each operand that a kernel reads or writes, at most all it has (`sizes`)."""
    found = [0] * len(sizes)
    axes: dict[Expr, frozenset[int]] = {}
    seen: set[Expr] = set()
    for statement in walk(kernel.body):
        nodes = ordered(list(roots(statement)))
        for node in nodes:
            own = axes_of_data(node)
            axes[node] = own.union(*(axes[a] for a in node.args))
            if node.op == "read" and node not in seen:
                seen.add(node)
                count = math.prod(kernel.extents[a] for a in axes[node])
                found[node.data[0]] += count * element_bytes(node.dtype)
        if isinstance(statement, Store):
            offset = frozenset(a for a, _ in statement.offset.terms)
            moving = offset.union(*(axes[e] for e, _ in statement.offset.dynamic))
            count = math.prod(kernel.extents[a] for a in moving)
            found[statement.operand] += count * element_bytes(statement.value.dtype)
    limits = [2 * s if o.written else s for s, o in zip(sizes, kernel.operands, strict=True)]
    return [min(n, most) for n, most in zip(found, limits, strict=True)]


def axes_of_data(node: Expr) -> frozenset[int]:
    """The loop axes that an expression itself names."""
    if node.op == "index":
        return frozenset(a for a, _ in node.data[1])
    return frozenset(a for a, _ in node.data[2]) if node.op == "read" else frozenset()
