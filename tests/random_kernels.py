"""Random kernels for tests of what runs them: nests of loops, reads and stores at all kinds of
positions, accumulators. All values are small whole numbers, so every order of summing is exact.
"""

import random

import numpy as np

from funcgrad.compiler.loops import (
    Acc,
    Combine,
    Expr,
    Graph,
    Guarded,
    Index,
    Kernel,
    Loop,
    Operand,
    Prefix,
    Reduce,
    Statement,
    Store,
    walk,
)
from kernels import filled, folding, greatest

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 19, 33)
KINDS = ("f32", "i32", "f32", "i64", "u8", "f64", "i8", "bool", "bf16", "f16")
NUMBERS = ("f32", "i32", "i64", "f64")
# What is folded: an operation and the value that changes nothing, by whether it has a float.
FOLDS = (("add", 0, 0.0), ("min", 100, float("inf")), ("max", -100, float("-inf")))


class Draw:
    """One kernel in the making, with the arrays it is to run on."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        extents = EXTENTS, EXTENTS, EXTENTS[:8]
        self.extents = [self.random.choice(e) for e in extents[: self.random.randint(1, 3)]]
        self.graph = Graph(self.extents)
        self.operands: list[Operand] = []
        self.sizes: list[int] = []
        self.bounds: list[tuple[int, int]] = []  # of the numbers an operand holds
        self.readable: list[int] = []  # outputs whose loops have ended
        self.same: list[tuple[int, Index, list[int]]] = []  # what this iteration has stored
        self.folds: dict[int, Combine] = {}
        self.accs = 0

    def operand(self, dtype: str, written: bool, size: int, bounds: tuple[int, int]) -> int:
        self.operands.append(Operand(dtype, written))
        self.sizes.append(size)
        self.bounds.append(bounds)
        return len(self.operands) - 1

    def arrays(self) -> list[np.ndarray]:
        draw = np.random.default_rng(self.random.randrange(2**32))
        return filled(draw, self.operands, self.sizes, self.bounds)

    # expressions

    def index(self, axes: list[int]) -> Index:
        """A position that is never negative."""
        terms = {a: self.random.choice((1, 1, 1, 2, -1, 3, 0, -2)) for a in axes}
        stretch = self.random.choice((1, 1, 5))
        found = Index(0, tuple((a, c * stretch) for a, c in sorted(terms.items()) if c))
        return found.plus(self.random.choice((0, 0, 2)) - self.graph.bounds(found)[0])

    def read(self, axes: list[int], dtype: str) -> Expr:
        """A read of an input, or of an output that can be read here."""
        ready = [o for o in self.readable if self.operands[o].dtype == dtype]
        again = [(o, i) for o, i, _ in self.same if self.operands[o].dtype == dtype]
        if again and self.random.random() < 0.5:
            operand, index = self.random.choice(again)
            return self.graph.read(operand, index, dtype)
        if ready and self.random.random() < 0.6:
            operand = self.random.choice(ready)
            offset = self.random.randrange(self.sizes[operand])
            index = Index(offset)
            for axis in axes:
                if offset + self.extents[axis] <= self.sizes[operand]:
                    index = Index(offset, ((axis, 1),))
            return self.graph.read(operand, index, dtype)
        index = self.index(axes)
        kind = self.random.random()
        if kind < 0.15:
            table = self.operand("i32", False, self.graph.bounds(index)[1] + 1, (0, 20))
            place = self.graph.position(self.graph.read(table, index, "i32"))
            place = place.times(self.random.choice((1, 1, 3))).plus(self.random.choice((0, 1)))
            if axes and self.random.random() < 0.5:
                place = place.plus(Index(0, ((axes[-1], 1),)))
            size = 100 + sum(self.extents)
            return self.graph.read(self.operand(dtype, False, size, (0, 4)), place, dtype)
        size = self.graph.bounds(index)[1] + 1
        if kind < 0.35 and axes:
            size = max(size - 3, 1)
            shifted = index.plus(-2)
            with Guarded(self.graph, self.graph.within(shifted, 0, size)):
                return self.graph.read(self.operand(dtype, False, size, (0, 4)), shifted, dtype)
        return self.graph.read(self.operand(dtype, False, size, (0, 4)), index, dtype)

    def expression(self, axes: list[int], dtype: str, accs: list[Expr], depth: int) -> Expr:
        if depth == 0 or self.random.random() < 0.2:
            mine = [a for a in accs if a.dtype == dtype]
            kind = self.random.random()
            if mine and kind < 0.5:
                return self.random.choice(mine)
            if kind < 0.6:
                return self.graph.value(self.index(axes)).apply("rem", 7).to(dtype)
            return self.read(axes, self.random.choice(KINDS)).to(dtype)
        first = self.expression(axes, dtype, accs, depth - 1)
        kind = self.random.random()
        if kind < 0.3:
            other = self.random.choice(NUMBERS)
            return self.expression(axes, other, accs, depth - 1).to(dtype)
        second = self.expression(axes, dtype, accs, depth - 1)
        if kind < 0.5:
            rare = self.random.random() < 0.4
            return self.graph.select(first < second, second, first + 1, rare)
        if kind < 0.6:
            far = self.expression(axes, dtype, accs, 1) < 2
            both = second.apply("min", first)
            inner = self.graph.select(first < both, both + 2, first, rare=True)
            some = self.graph.select(far, inner + 1, first, rare=True)
            return some + self.graph.select(far, inner - both, second, rare=True)
        return first.apply(self.random.choice(("add", "sub", "min", "max")), second)

    # statements

    def kernel(self) -> Kernel:
        axes = list(range(len(self.extents)))
        self.random.shuffle(axes)
        first = self.nest([], axes, False, [])
        body: list[Statement] = [first]
        divisible = self.random.random() < 0.5 and not first.accs
        while not divisible and self.random.random() < 0.4:
            self.random.shuffle(axes)
            self.readable = [s.operand for s in walk(body) if isinstance(s, Store)]
            body.append(self.nest([], axes, False, self.results(body)))
        if not divisible and (accs := self.results(body)):
            body.append(self.store([], accs))
        return Kernel(tuple(self.operands), tuple(self.extents), tuple(body), divisible)

    def results(self, body: list[Statement]) -> list[Expr]:
        loops = [s for s in body if isinstance(s, Loop)]
        return [self.graph.acc(a.number, a.dtype) for s in loops for a in s.accs]

    def nest(self, outer: list[int], axes: list[int], vector: bool, accs: list[Expr]) -> Loop:
        """A loop over the first of the axes left, with loops over the others inside."""
        axis, rest = axes[0], axes[1:]
        here = [*outer, axis]
        lanes = 1
        if not vector and (not rest or self.random.random() < 0.4):
            lanes = self.random.choice((1, 4, 8, 16, 32, 64))
        body: list[Statement] = []
        own: list[Acc] = []
        running: list[Expr] = []
        outer_same, self.same = self.same, list(self.same)
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            known = accs + self.results(body) + running
            if rest and kind < 0.6:
                body.append(self.nest(here, rest, vector or lanes > 1, known))
            elif kind < 0.75:
                body.append(self.reduce(here, known, own))
            elif kind < 0.85:
                folded = self.reduce(here, known, own)
                running += [self.graph.acc(a.number, a.dtype) for a in own[-len(folded.accs) :]]
                self.folds.pop(folded.accs[0], None)
                body.append(Prefix(*folded))
            else:
                body.append(self.store(here, known))
        if rest and own and self.random.random() < 0.5:
            inner = self.nest(here, rest, vector or lanes > 1, accs + self.results(body))
            again = self.reduce_again([*here, inner.axis], accs, own[-1])
            if again and self.random.random() < 0.5:
                body = [s for s in body if not isinstance(s, Reduce) or s.accs != again.accs]
            body.append(inner._replace(body=(*inner.body, again)) if again else inner)
        self.same = outer_same
        return Loop(axis, lanes, tuple(body), tuple(own))

    def reduce(self, axes: list[int], accs: list[Expr], own: list[Acc]) -> Reduce:
        """A new accumulator of the loop, and what is folded into it."""
        if self.random.random() < 0.3:
            return self.reduce_pair(axes, accs, own)
        dtype = self.random.choice(NUMBERS)
        op, whole, real = self.random.choice(FOLDS)
        neutral = real if dtype[0] == "f" else whole
        number, self.accs = self.accs, self.accs + 1
        self.folds[number] = folding(self.graph, op, dtype, neutral)
        own.append(Acc(number, dtype, self.random.choice((neutral, 3))))
        value = self.small(self.expression(axes, dtype, accs, 2))
        return Reduce((number,), self.folds[number], (value,))

    def reduce_again(self, axes: list[int], accs: list[Expr], acc: Acc) -> Reduce | None:
        """More to fold into an accumulator that stands alone."""
        if acc.number not in self.folds:
            return None
        value = self.small(self.expression(axes, acc.dtype, accs, 1))
        return Reduce((acc.number,), self.folds[acc.number], (value,))

    def small(self, value: Expr) -> Expr:
        return value.apply("min", 50).apply("max", -50)

    def reduce_pair(self, axes: list[int], accs: list[Expr], own: list[Acc]) -> Reduce:
        """The greatest value and the least position that has it."""
        graph = self.graph
        combine = greatest(graph, "i64", 10**6)
        first, self.accs = self.accs, self.accs + 2
        own += [Acc(first, "f32", float("-inf")), Acc(first + 1, "i64", 10**6)]
        place = graph.value(Index(0, tuple((a, 100**n) for n, a in enumerate(sorted(axes)))))
        value = self.small(self.expression(axes, "f32", accs, 2))
        return Reduce((first, first + 1), combine, (value, place))

    def store(self, axes: list[int], accs: list[Expr]) -> Store:
        """A store of each index to a place of its own, in a random order of axes."""
        order = list(axes)
        self.random.shuffle(order)
        offset, size = Index(), 1
        for axis in order:
            sign = self.random.choice((1, 1, -1))
            start = 0 if sign == 1 else size * (self.extents[axis] - 1)
            offset = offset.plus(Index(start, ((axis, sign * size),)))
            size *= self.extents[axis]
        dtype = self.random.choice(KINDS)
        value = self.small(self.expression(axes, self.random.choice(NUMBERS), accs, 3)).to(dtype)
        guard = None
        if axes and self.random.random() < 0.25:
            guard = self.graph.within(self.index(axes), 3, 40)
        if guard is not None and guard.op == "const":
            guard = None
        earlier = [(o, i) for o, i, path in self.same if path == axes]
        if earlier and self.random.random() < 0.2:
            operand, offset = self.random.choice(earlier)
            return Store(operand, offset, value.to(self.operands[operand].dtype), guard)
        operand = self.operand(dtype, True, size, (0, 1))
        self.same.append((operand, offset, list(axes)))
        return Store(operand, offset, value, guard)
