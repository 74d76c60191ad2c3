"""Expressions in nested loops: each is computed once, in the outermost loop where all that it
depends on is known, on vectors if it depends on the axis of a vector loop.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from funcgrad.compiler.llvm.elements import (
    HALVES,
    constant,
    lane_list,
    literal,
    register,
    vector,
)
from funcgrad.compiler.llvm.operations import ON_BITS, Operations, operand_dtype
from funcgrad.compiler.llvm.plan import Plans
from funcgrad.compiler.llvm.ranges import narrow_nodes
from funcgrad.compiler.llvm.rare import Region, is_rare, regions
from funcgrad.compiler.llvm.stream import streamed
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import Expr, Kernel, Statement, Store, walk


class Value(NamedTuple):
    """What an expression came to: its name, its lanes, and the loop level that it belongs to."""

    text: str
    lanes: int
    level: int


class Frame:
    """The code of one loop level while it is written; level 0 is the function's own."""

    __slots__ = ("block", "lines", "memo", "nodes", "stored")

    def __init__(self, block: str, stored: frozenset[int]):
        self.lines: list[str] = []
        self.block = block  # the label that the last line stands under
        self.stored = stored  # operands written inside the loop
        self.memo: dict[Any, str] = {}
        self.nodes: list[Expr] = []


class Evaluation:
    """The state of writing one kernel: where loops stand, and what has a value there."""

    def __init__(
        self,
        kernel: Kernel,
        plans: Plans,
        module: Module,
        target: Target,
        read: Callable[["Evaluation", Expr], Value],
    ):
        self.kernel = kernel
        self.read = read
        self.writer = Writer()
        self.ops = Operations(self.writer, module, target)
        self.frames = [Frame("entry", frozenset())]
        self.values: dict[Expr, Value] = {}
        self.finished: dict[int, Value] = {}  # accumulators whose loop has ended
        self.axes: dict[int, tuple[int | str, int]] = {}  # index (of lane 0) and level of an axis
        self.lane_axis, self.lane_level, self.lanes = -1, 0, 1  # of the present vector loop
        self.live = 0  # lanes that stand for an index, of the present vector loop
        self.orders = plans.orders
        self.narrow, self.ranges = narrow_nodes(plans.nodes, kernel.extents)
        self.changing = changing(kernel, plans.nodes)
        self.streamed = streamed(kernel)
        self.owners, found = regions(plans.nodes, plans.roots, plans.orders.values())
        self.regions = {region.test: region for region in found}
        self.open: list[Expr] = []  # the tests of the regions being written
        self.held_true: Expr | None = None  # a guard that holds where code is being written
        self.floor = 0  # the level of the innermost of these

    def evaluate(self, statement: Statement) -> None:
        """Give values to the expressions of a statement."""
        self._run(self.orders[id(statement)])

    def _run(self, order: Sequence[Expr]) -> None:
        values, owners = self.values, self.owners
        for node in order:
            if node in values:
                continue
            if owners:
                if node in owners and owners[node] not in self.open:
                    continue
                if is_rare(node) and node.args[0] in self.regions:
                    self._region(self.regions[node.args[0]])
            value = values[node] = self._value(node)
            self.frames[value.level].nodes.append(node)

    def _region(self, region: Region) -> None:
        """Give values to what a rare select takes, behind a branch if that is not hoisted."""
        if all(node in self.values for node in region.results):
            return
        self._run(region.before)
        level = len(self.frames) - 1
        if max(self.values[node].level for node in region.inputs) < level:
            self.open.append(region.test)
            self._run(region.nodes)
            self.open.pop()
            return
        outer, inner = self.frames[level], Frame(self.writer.label("rare"), frozenset())
        label, floor = inner.block, self.floor
        self.frames.append(inner)
        self.open.append(region.test)
        self.floor = level + 1
        self._run(region.nodes)
        self.floor = floor
        self.open.pop()
        self.frames.pop()
        found = [(node, self.values[node]) for node in region.results]
        for node in inner.nodes:
            self.values.pop(node, None)
        before = outer.block
        self._branch(region.test, label, inner)
        for node, value in found:
            kind = register(self.held(node, value), value.lanes)
            ends = f"[{value.text}, %{inner.block}], [poison, %{before}]"
            text = self.writer.assign(f"phi {kind} {ends}")
            self.values[node] = Value(text, value.lanes, level)
            outer.nodes.append(node)

    def under_guard(self, statement: Store, write: Callable[[Store], None]) -> None:
        """A store of one element behind a branch on its guard, with the reads that share it."""
        guard, order = statement.guard, self.orders[id(statement)]
        assert guard is not None
        inside: set[Expr] = set()
        for node in order:
            guarded = node.op == "read" and node.data[4] and node.args[-1] is guard
            if guarded or any(arg in inside for arg in node.args):
                inside.add(node)
        self._run([node for node in order if node not in inside])
        inner = Frame(self.writer.label("write"), frozenset())
        label, floor, self.floor = inner.block, self.floor, len(self.frames)
        self.frames.append(inner)
        self.held_true = guard
        self._run(order)
        write(statement._replace(guard=None))
        self.held_true, self.floor = None, floor
        self.frames.pop()
        for node in inner.nodes:
            self.values.pop(node, None)
        self._branch(guard, label, inner)

    def _branch(self, test: Expr, label: str, inner: Frame) -> None:
        """Code that is run only if a test holds in some lane."""
        writer, outer, value = self.at(-1), self.frames[-1], self.values[test]
        after = writer.label("after")
        some = value.text if value.lanes == 1 else self.ops.any(value.text, value.lanes)
        writer.branch(some, label, after)
        writer.begin(label)
        outer.lines += inner.lines
        writer.jump(after)
        writer.begin(after)
        outer.block = after

    def held(self, node: Expr, value: Value) -> str:
        """The type in which a node's value is held."""
        return "i32" if value.lanes > 1 and node in self.narrow else node.dtype

    def at(self, level: int) -> Writer:
        """The writer, at the end of what has been written of a level."""
        self.writer.lines = self.frames[level].lines
        return self.writer

    def _value(self, node: Expr) -> Value:
        op = node.op
        if op == "const":
            return Value(literal(node.data, node.dtype), 1, 0)
        if op == "read":
            return self.read(self, node)
        if op == "index":
            return self._index(node)
        if op == "acc":
            return self.finished[node.data]
        level, lanes = self.floor, 1
        for arg in node.args:
            _, arg_lanes, arg_level = self.values[arg]
            level = max(level, arg_level)
            lanes = max(lanes, arg_lanes)
        dtype = operand_dtype(node)
        if dtype in HALVES:
            if op not in ON_BITS:
                dtype = "f32"
        elif lanes > 1 and dtype == "i64" and self._narrows(node):
            dtype = "i32"
        if op == "select":
            args = [self.operand(node.args[0], lanes, "bool")]
            args += [self.operand(arg, lanes, dtype) for arg in node.args[1:]]
        else:
            args = [self.operand(arg, lanes, dtype) for arg in node.args]
        self.writer.lines = self.frames[level].lines
        if op == "convert" and lanes > 1 and node in self.narrow:
            text = self.ops.cast(args[0], dtype, "i32", lanes)
        else:
            text = self.ops.apply(node, args, dtype, lanes)
        return Value(text, lanes, level)

    def _narrows(self, node: Expr) -> bool:
        """Whether an operation on i64 vectors is right in 32 bits."""
        if node.dtype == "i64":
            return node in self.narrow
        return node.op != "bitcast" and all(arg in self.narrow for arg in node.args)

    def operand(self, node: Expr, lanes: int, dtype: str) -> str:
        """A node's value in so many lanes: as it is, widened to f32, or as i32 if narrow."""
        if node.op == "const":
            if dtype == "f32" and node.dtype in HALVES:
                return self.ops.widened(node, "", lanes)
            return constant(node.data, dtype, lanes)
        value = self.values[node]
        held = self.held(node, value)
        if value.lanes == lanes and held == dtype:
            return value.text
        memo = self.frames[value.level].memo
        key = (value.text, lanes, dtype)
        found = memo.get(key)
        if found is None:
            self.writer.lines = self.frames[value.level].lines
            text = value.text
            if held != dtype:
                text = self.ops.cast(text, held, dtype, value.lanes)
            if lanes != value.lanes:
                text = self.ops.broadcast(text, register(dtype), lanes)
            found = memo[key] = text
        return found

    def _index(self, node: Expr) -> Value:
        const, terms = node.data
        step = 0
        if self.lanes > 1:
            step = dict(terms).get(self.lane_axis, 0)
        level = max([self.floor, *[self.axes[axis][1] for axis, _ in terms]])
        base = self.position(const, terms)
        if not step:
            return Value(base, 1, level)
        dtype = "i32" if node in self.narrow else "i64"
        return Value(self.progression(base, level, step, dtype), self.lanes, level)

    def progression(self, base: str, level: int, step: int, dtype: str) -> str:
        """base, base + step, ... in the lanes."""
        scalar, lanes = register(dtype), self.lanes
        steps = lane_list(scalar, tuple(step * lane for lane in range(lanes)))
        writer = self.at(level)
        if base == "0":
            return steps
        if dtype == "i32":
            base = writer.assign(f"trunc i64 {base} to i32")
        start = self.ops.broadcast(base, scalar, lanes)
        return writer.assign(f"add {vector(scalar, lanes)} {start}, {steps}")

    # positions: sums of scaled indices, each part added at the level where it is known

    def parts(
        self,
        const: int,
        terms: Sequence[tuple[int, int]],
        dynamic: Sequence[tuple[Value, int]],
    ) -> tuple[int, list[tuple[int, list[tuple[str, int]]]]]:
        """What is constant of a sum, and the rest as (text, coefficient) grouped by level."""
        found: list[tuple[int, str, int]] = []
        for axis, coeff in terms:
            text, level = self.axes[axis]
            if isinstance(text, int):
                const += coeff * text
            else:
                found.append((level, text, coeff))
        found += [(value.level, value.text, coeff) for value, coeff in dynamic]
        found.sort()
        groups = groupby(found, key=lambda part: part[0])
        return const, [(level, [part[1:] for part in parts]) for level, parts in groups]

    def scaled(self, level: int, parts: Sequence[tuple[str, int]]) -> str:
        """The sum of coeff * text."""
        writer, memo = self.at(level), self.frames[level].memo
        total = ""
        for text, coeff in parts:
            if coeff != 1:
                key = (text, coeff)
                if key not in memo:
                    memo[key] = writer.assign(f"mul i64 {text}, {coeff}")
                text = memo[key]
            total = writer.assign(f"add i64 {total}, {text}") if total else text
        return total

    def position(self, const: int, terms: Sequence[tuple[int, int]]) -> str:
        """A sum as an i64."""
        const, groups = self.parts(const, terms, ())
        total, level, key = "", 0, ("position",)
        for level, parts in groups:
            key = (*key, *parts)
            memo = self.frames[level].memo
            if key not in memo:
                text = self.scaled(level, parts)
                writer = self.at(level)
                memo[key] = writer.assign(f"add i64 {total}, {text}") if total else text
            total = memo[key]
        if const and total:
            memo, key = self.frames[level].memo, (total, "plus", const)
            if key not in memo:
                memo[key] = self.at(level).assign(f"add i64 {total}, {const}")
            total = memo[key]
        return total or str(const)

    def address(
        self,
        operand: int,
        const: int,
        terms: Sequence[tuple[int, int]],
        dynamic: Sequence[tuple[Value, int]],
        element: str,
    ) -> str:
        """A pointer to an element."""
        const, groups = self.parts(const, terms, dynamic)
        pointer, level = f"%p{operand}", 0
        for level, parts in groups:
            memo, key = self.frames[level].memo, (pointer, element, *parts)
            if key not in memo:
                offset = self.scaled(level, parts)
                writer = self.at(level)
                memo[key] = writer.assign(f"getelementptr {element}, ptr {pointer}, i64 {offset}")
            pointer = memo[key]
        if const:
            memo, key = self.frames[level].memo, (pointer, element, const)
            if key not in memo:
                writer = self.at(level)
                memo[key] = writer.assign(f"getelementptr {element}, ptr {pointer}, i64 {const}")
            pointer = memo[key]
        return pointer

    def mask(self) -> str | None:
        """The lanes that stand for an index, None if all do."""
        if self.live == self.lanes:
            return None
        return lane_list("i1", tuple(int(lane < self.live) for lane in range(self.lanes)))


def changing(kernel: Kernel, nodes: Sequence[Expr]) -> dict[int, list[Expr]]:
    """For each operand that is stored to, the nodes whose value depends on what it holds."""
    found: dict[int, list[Expr]] = {
        s.operand: [] for s in walk(kernel.body) if isinstance(s, Store)
    }
    depends: dict[Expr, set[int]] = {}
    for node in nodes:
        operands = set().union(*[depends[arg] for arg in node.args if arg in depends])
        if node.op == "read" and node.data[0] in found:
            operands.add(node.data[0])
        if operands:
            depends[node] = operands
            for operand in operands:
                found[operand].append(node)
    return found
