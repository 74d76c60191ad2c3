"""Kernels: the loops that compute a group, with axes merged, phases ordered and lanes chosen."""

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from funcgrad.compiler.fuse import Group, Member
from funcgrad.compiler.loops import (
    BITS,
    Acc,
    Combine,
    Expr,
    Graph,
    Index,
    Kernel,
    Loop,
    Operand,
    Prefix,
    Reduce,
    Statement,
    Store,
    alike,
    ordered,
    roots,
    walk,
    weight,
)
from funcgrad.compiler.lowering import element_type, linear
from funcgrad.ir.jaxpr import Var

# The number of the first operand that is written, while a kernel is being put together.
WRITTEN = 1 << 20
# Vectors of the machine that one lane group takes: several keep an adder's latency hidden.
ROW_VECTORS = 4
MAP_VECTORS = 2
# Lanes of tiles that are turned in registers, at most.
TILE = 16
# Nodes from which a body fills the machine by itself and one vector at a time is enough.
LARGE_BODY = 40

# Picoseconds that an operation on 32 bits takes in a vector; how many times that one by one.
TIME = 10
TIMES = {"const": 0, "index": 0, "acc": 0, "read": 70, "div": 60, "rem": 60, "sqrt": 60}
ONE_BY_ONE = 8


class Fused(NamedTuple):
    """A kernel with the values that its operands are, and how much work it does."""

    kernel: Kernel
    reads: tuple[Var, ...]
    writes: tuple[Var, ...]
    aligned: dict[Var, int]  # reads made only where every store writes -> last store they reach

    @property
    def operands(self) -> tuple[Var, ...]:
        return (*self.reads, *self.writes)


class Lanes(Enum):
    """Which axes may be taken several indices at a time."""

    ANY = 0
    INNER = 1
    OUTER = 2


class Plan(NamedTuple):
    """The statements of a group before its axes are merged."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    phases: tuple[tuple[tuple[Acc, ...], tuple[Reduce | Prefix | Store, ...]], ...]
    last: tuple[Store, ...] = ()
    lanes_along: Lanes = Lanes.ANY
    vector: int = -1  # the outer axis that lanes go along if it is not the last


def planned(group: Group, needed: Sequence[Var]) -> Plan:
    """The statements that compute the needed values of a group."""
    stores = {
        v: Store(
            WRITTEN + i,
            linear(v.aval.shape, group.index_of(v.aval.shape, group.members[v].row)),
            group.output(v),
        )
        for i, v in enumerate(needed)
    }
    return arrange(group, stores) if group.going is None else arrange_in_order(group, stores)


class Kernels:
    """Puts the kernels of one program together; plans that are alike are one kernel."""

    def __init__(self, vector_bytes: int):
        self.vector_bytes = vector_bytes
        self._known: dict[tuple, tuple[Kernel, tuple[int, ...], dict[int, int]]] = {}

    def assemble(self, group: Group, plan: Plan, writes: Sequence[Var]) -> Fused:
        """The kernel of a plan, with the values that its operands are."""
        operands = sorted(group.operands, key=group.operands.__getitem__)
        types = tuple(element_type(v.aval.dtype) or "" for v in writes)
        key = (tuple(group.graph.extents), types, shape_of(plan))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(group.graph, plan, types)
        kernel, numbers, aligned = found
        reads = tuple(operands[i] for i in numbers)
        return Fused(kernel, reads, tuple(writes), {reads[i]: n for i, n in aligned.items()})

    def _made(
        self, graph: Graph, plan: Plan, written: Sequence[str]
    ) -> tuple[Kernel, tuple[int, ...], dict[int, int]]:
        """A kernel, the numbers of the operands that it reads, and those it reads aligned."""
        merged = Merger(graph, plan)
        body, extents = merged.loops(self.vector_bytes)
        types = [Operand(d, False) for d in merged.types] + [Operand(d, True) for d in written]
        kernel = Kernel(tuple(types), extents, body, plan.lanes_along is not Lanes.INNER)
        once = all(not isinstance(s, Reduce) for _, body in plan.phases for s in body)
        passes_once = len(plan.phases) <= 1 and once
        aligned = aligned_reads(kernel, len(merged.reads)) if passes_once else {}
        return kernel, tuple(merged.reads), aligned


def shape_of(plan: Plan) -> tuple:
    """What two plans have in common exactly when their kernels are the same."""
    statements = [s for _, body in plan.phases for s in body]
    accs = tuple((accs, len(body)) for accs, body in plan.phases)
    ways = (plan.outer, plan.inner, plan.lanes_along, plan.vector, accs)
    return ways, alike([*statements, *plan.last])


def arrange(group: Group, stores: dict[Var, Store]) -> Plan:
    """Which reduction and which store belongs to which pass over the rows."""
    by_acc = {a.data: m for m in dict.fromkeys(group.members.values()) if m.fold for a in m.accs}
    folds: dict[Member, tuple[int, tuple[Expr, ...]]] = {}

    def phase(values: Iterable[Expr]) -> int:
        """The first pass in which all accumulators behind the values are complete."""
        accs = {n.data for n in ordered(tuple(values)) if n.op == "acc"}
        return max((fold_phase(by_acc[a]) + 1 for a in sorted(accs)), default=0)

    def fold_phase(member: Member) -> int:
        if member not in folds:
            values = group.fold_values(member)
            folds[member] = phase(values), values
        return folds[member][0]

    inner = sorted(group.inner_axes)
    last: list[Store] = []
    passes: dict[int, list[Store]] = {}
    for var, store in stores.items():
        at = phase((store.value,))
        if group.members[var].row and group.folded:
            last.append(store)
        else:
            passes.setdefault(at, []).append(store)
    phases = []
    for number in range(max([*passes, *(p for p, _ in folds.values())], default=-1) + 1):
        accs: list[Acc] = []
        statements: list[Reduce | Store] = []
        for member, (at, values) in folds.items():
            if at == number and member.fold is not None:
                fold = member.fold
                accs += [
                    Acc(a.data, a.dtype, s) for a, s in zip(member.accs, fold.starts, strict=True)
                ]
                numbers = tuple(a.data for a in member.accs)
                statements.append(Reduce(numbers, fold.combine, values))
        statements += passes.get(number, [])
        phases.append((tuple(accs), tuple(statements)))
    outer = [a for a in range(len(group.graph.extents)) if a not in inner]
    in_order = any(m.fold is not None and m.fold.ordered for m in folds)
    along = Lanes.OUTER if in_order else Lanes.ANY
    return Plan(tuple(outer), tuple(inner), tuple(phases), tuple(last), along)


def arrange_in_order(group: Group, stores: dict[Var, Store]) -> Plan:
    """One pass in the order of the partial results that the stores need."""
    needed = {n.data for n in ordered([s.value for s in stores.values()]) if n.op == "acc"}
    accs: list[Acc] = []
    statements: list[Prefix | Store] = [*stores.values()]
    for member in reversed(list(dict.fromkeys(group.members.values()))):
        numbers = tuple(a.data for a in member.accs)
        if member.accumulation is not None and not needed.isdisjoint(numbers):
            values = group.accumulated_values(member)
            needed |= {n.data for n in ordered(values) if n.op == "acc"}
            statements.insert(0, Prefix(numbers, member.accumulation.combine, values))
            starts = zip(member.accs, member.accumulation.starts, strict=True)
            accs += [Acc(a.data, a.dtype, start) for a, start in starts]
    inner = sorted(group.inner_axes)
    outer = tuple(a for a in range(len(group.graph.extents)) if a not in inner)
    return Plan(outer, tuple(inner), ((tuple(accs), tuple(statements)),))


class Merger:
    """Rewrites a plan over fewer, longer axes and the operands it uses, and makes its loops."""

    def __init__(self, graph: Graph, plan: Plan):
        self.old, self.plan = graph, plan
        statements = [s for _, body in plan.phases for s in body] + list(plan.last)
        self.values = [e for s in statements for e in roots(s)]
        self.results = [
            v for s in statements for v in ((s.value,) if isinstance(s, Store) else s.values)
        ]
        self.nodes = ordered(self.values)
        combined = [e for s in statements if isinstance(s, Prefix) for e in s.combine.results]
        self.large = sum(map(weight, (*self.nodes, *ordered(combined)))) > LARGE_BODY
        types = {n.data[0]: n.dtype for n in self.nodes if n.op == "read"}
        self.reads = sorted(n for n in types if n < WRITTEN)
        self.types = [types[n] for n in self.reads]
        self.number = {old: new for new, old in enumerate(self.reads)}
        for statement in statements:
            if isinstance(statement, Store):
                place = len(self.reads) + statement.operand - WRITTEN
                self.number[statement.operand] = place
        terms = {n.data[1] for n in self.nodes if n.op == "index"}
        terms |= {n.data[2] for n in self.nodes if n.op == "read"}
        terms |= {s.offset.terms for s in statements if isinstance(s, Store)}
        self.coeffs = [dict(t) for t in terms]
        self.outer, self.inner = self.merged(plan.outer), self.merged(plan.inner)
        self.axis_of: dict[int, int] = {}
        self.extents: list[int] = []
        for axes in (*self.outer, *self.inner):
            # The last of merged axes has the coefficient of the merged one.
            self.axis_of[axes[-1]] = len(self.extents)
            count = 1
            for a in axes:
                count *= graph.extents[a]
            self.extents.append(count)
        if not self.outer:
            self.extents.append(1)  # a loop of one turn, so that there is an outermost one
        self.new = Graph(self.extents)
        self.copies: dict[Expr, Expr] = {}

    @property
    def positions(self) -> list[Index]:
        """Where the reads are made, apart from what is known at run time only."""
        return [self.moved(Index(n.data[1], n.data[2])) for n in self.nodes if n.op == "read"]

    def merged(self, axes: Sequence[int]) -> list[list[int]]:
        """Runs of axes that every index goes through as if they were one."""
        extents = self.old.extents
        runs: list[list[int]] = []
        for axis in axes:
            if extents[axis] == 1:
                continue
            extent = extents[axis]
            if runs and all(c.get(runs[-1][-1], 0) == c.get(axis, 0) * extent for c in self.coeffs):
                runs[-1].append(axis)
            else:
                runs.append([axis])
        return runs

    def moved(self, index: Index) -> Index:
        terms = tuple(sorted((self.axis_of[a], c) for a, c in index.terms if a in self.axis_of))
        dynamic = tuple((self.copies[e], c) for e, c in index.dynamic)
        return Index(index.const, terms, dynamic)

    def copied(self, node: Expr) -> Expr:
        args = tuple(self.copies[a] for a in node.args)
        data = node.data
        if node.op == "deferred":
            return data(*args)
        if node.op == "index":
            moved = self.moved(Index(*data))
            data = (moved.const, moved.terms)
        elif node.op == "read":
            moved = self.moved(Index(data[1], data[2]))
            data = (self.number[data[0]], moved.const, moved.terms, *data[3:])
        return self.new.make(node.op, args, node.dtype, data)

    def rewritten(self, statement: Reduce | Prefix | Store) -> Reduce | Prefix | Store:
        if not isinstance(statement, Store):
            combine = self.combine(statement.combine)
            values = tuple(self.copies[v] for v in statement.values)
            return type(statement)(statement.accs, combine, values)
        guard = None if statement.guard is None else self.copies[statement.guard]
        value = self.copies[statement.value]
        offset = self.moved(statement.offset)
        return Store(self.number[statement.operand], offset, value, guard)

    def combine(self, combine: Combine) -> Combine:
        for node in ordered((*combine.params, *combine.results)):
            if node not in self.copies:
                self.copies[node] = self.copied(node)
        params = tuple(self.copies[p] for p in combine.params)
        return Combine(params, tuple(self.copies[r] for r in combine.results), combine.identity)

    # loops

    def axes(self) -> tuple[list[int], list[int]]:
        """The outer and the inner axes."""
        outer = [self.axis_of[axes[-1]] for axes in self.outer]
        return outer, [self.axis_of[axes[-1]] for axes in self.inner]

    def loops(self, vector_bytes: int) -> tuple[tuple[Statement, ...], tuple[int, ...]]:
        """The loops and the extents of their axes."""
        for node in self.nodes:
            self.copies[node] = self.copied(node)
        outer, inner = self.axes()
        phases = [(accs, [self.rewritten(s) for s in body]) for accs, body in self.plan.phases]
        last = [self.rewritten(s) for s in self.plan.last]
        vector, lanes = self.lanes(outer, inner, vector_bytes)

        def nest(axes: Sequence[int], body: Sequence[Statement], accs: tuple) -> list[Statement]:
            for depth, axis in enumerate(reversed(axes)):
                width = lanes if axis == vector else 1
                outermost = depth == len(axes) - 1
                body = [Loop(axis, width, tuple(body), accs if outermost else ())]
            return list(body)

        body: list[Statement] = []
        for accs, statements in phases:
            if inner:
                body += nest(inner, statements, accs)
            else:
                body += self.without_loop(accs, statements)
        body += last
        if not outer:
            outer = [len(inner)]
        top = nest(outer, body, ())
        return tuple(top), tuple(self.extents)

    def without_loop(
        self, accs: Sequence[Acc], statements: Sequence[Reduce | Prefix | Store]
    ) -> list[Statement]:
        """A pass over axes that are all of length 1."""
        axis = len(self.extents)
        self.extents.append(1)
        return [Loop(axis, 1, tuple(statements), tuple(accs))] if accs else list(statements)

    def base(self, vector_bytes: int) -> int:
        """How many of the widest elements a vector of the machine holds."""
        wide = [n.dtype for n in self.nodes if n.op == "acc" or varies(n)]
        wide += [v.dtype for v in self.results]
        return max(vector_bytes * 8 // max([BITS[d] for d in wide], default=32), 1)

    def lanes(
        self, outer: Sequence[int], inner: Sequence[int], vector_bytes: int
    ) -> tuple[int, int]:
        """The axis whose indices are taken several at a time, and how many."""
        extents, base = self.extents, self.base(vector_bytes)
        along = self.plan.lanes_along
        if not inner and (not outer or along is Lanes.INNER):
            return -1, 1
        if along is Lanes.INNER:
            whole = not self.large and extents[inner[-1]] % (base * ROW_VECTORS) == 0
            return inner[-1], base * (ROW_VECTORS if whole else 1)
        if along is Lanes.OUTER:
            return (outer[-1], base) if outer else (-1, 1)
        if self.plan.vector >= 0:
            return self.axis_of[self.plan.vector], min(base, TILE)
        if not inner:
            return outer[-1], base * (1 if self.large else MAP_VECTORS)
        if not outer or self.rows_are_better(outer[-1], inner[-1]):
            short = extents[inner[-1]] < base * ROW_VECTORS or self.large
            return inner[-1], base * (1 if short else ROW_VECTORS)
        return outer[-1], base * self.column_vectors(outer[-1], inner, base, vector_bytes)

    def column_vectors(self, axis: int, inner: Sequence[int], base: int, vector_bytes: int) -> int:
        """How many vectors side by side keep their accumulators in registers: wide tiles go
        through memory in longer runs.
        """
        if self.large:
            return 1
        held = sum(len(accs) for accs, _ in self.plan.phases)
        for position in self.positions:
            held += not any(a in inner for a, _ in position.terms)
        room = (24 if vector_bytes == 64 else 12) // max(held, 1)
        fit = min(room, self.extents[axis] // base)
        return 1 << max(fit, 1).bit_length() - 1

    def rows_are_better(self, outer: int, inner: int) -> bool:
        """Whether lanes along the folded axis read memory in order more often than across it."""
        if len(self.plan.phases) > 1:
            return True
        positions = self.positions

        def scattered(axis: int) -> int:
            return sum(i.coeff(axis) not in (-1, 0, 1) for i in positions)

        if scattered(outer) == scattered(inner):
            return self.extents[outer] < 8
        return scattered(inner) < scattered(outer)


def varies(node: Expr) -> bool:
    """Whether a node reads more than one element."""
    return node.op == "read" and bool(node.data[2] or node.data[3])


def aligned_reads(kernel: Kernel, reads: int) -> dict[int, int]:
    """The operands read only at the one offset that all stores write: the last store they reach."""
    stores = [s for s in walk(kernel.body) if isinstance(s, Store)]
    offsets = {(s.offset.const, s.offset.terms, bool(s.offset.dynamic)) for s in stores}
    if len(offsets) != 1:
        return {}
    ((const, terms, dynamic),) = offsets
    last: dict[int, int] = {}
    moved = set()
    before = [(0, s) for s in walk(kernel.body) if isinstance(s, Prefix)]
    for position, statement in [*before, *enumerate(stores)]:
        for node in ordered(list(roots(statement))):
            if node.op == "read":
                last[node.data[0]] = position
                if dynamic or node.data[1:4] != (const, terms, ()):
                    moved.add(node.data[0])
    return {i: last[i] for i in range(reads) if i in last and i not in moved}


def work_of(kernel: Kernel) -> int:
    """An estimate of a kernel's work: its expressions, as often as its innermost loops turn."""
    return sum(
        len(ordered(list(roots(s)))) * math.prod(turns)
        for s, turns in innermost(kernel, kernel.body)
    )


def picoseconds(kernel: Kernel) -> int:
    """An estimate of the time a kernel takes, of elements that come from far away in memory."""
    total = 0
    for statement, turns in innermost(kernel, kernel.body):
        cost = 0
        for node in ordered(list(roots(statement))):
            each = TIMES.get(node.op, TIME)
            cost += each * BITS[node.dtype] // 32
        if isinstance(statement, Store):
            cost += TIMES["read"] * BITS[statement.value.dtype] // 32
        total += cost * math.prod(turns)
    vectors = any(isinstance(s, Loop) and s.lanes > 1 for s in walk(kernel.body))
    return total if vectors else total * ONE_BY_ONE


def innermost(
    kernel: Kernel, statements: Sequence[Statement], turns: tuple[int, ...] = ()
) -> Iterator[tuple[Statement, tuple[int, ...]]]:
    """The stores and reductions with the extents of the loops around them."""
    for statement in statements:
        if isinstance(statement, Loop):
            extent = kernel.extents[statement.axis]
            yield from innermost(kernel, statement.body, (*turns, extent))
        else:
            yield statement, turns
