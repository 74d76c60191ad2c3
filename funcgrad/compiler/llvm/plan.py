"""What is known of a kernel's loops before they are written."""

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.loops import (
    Combine,
    Expr,
    Kernel,
    Loop,
    Prefix,
    Reduce,
    Statement,
    Store,
    ordered,
    roots,
    walk,
)


class LoopPlan(NamedTuple):
    """What happens inside a loop."""

    stored: frozenset[int]  # the operands written
    folded: tuple[int, ...]  # the accumulators folded into, its own and those of loops around it
    nodes: int  # how many are computed in a turn, inner loops counted as often as they turn


class Group(NamedTuple):
    """Accumulators that are folded into together."""

    accs: tuple[int, ...]
    dtypes: tuple[str, ...]
    combine: Combine


class Plans:
    """The plans of a kernel's loops and the expressions of its other statements, by id; and how
    accumulators are used.
    """

    def __init__(self, kernel: Kernel):
        self.extents = kernel.extents
        self.roots: list[Expr] = []
        self.orders: dict[int, list[Expr]] = {}  # each node after those it depends on
        for statement in walk(kernel.body):
            if not isinstance(statement, Loop):
                own = list(roots(statement))
                self.orders[id(statement)] = ordered(own)
                self.roots += own
        every = set().union(*self.orders.values())
        self.nodes = sorted(every, key=lambda node: node.number)
        self.loops: dict[int, LoopPlan] = {}
        self.groups: dict[int, Group] = {}  # by accumulator
        self.widths: dict[int, set[int]] = {}  # the lanes in which one is folded into
        self.prefixed: set[int] = set()  # those whose partial results are of use
        loops = [s for s in walk(kernel.body) if isinstance(s, Loop)]
        self.dtypes = {acc.number: acc.dtype for loop in loops for acc in loop.accs}
        self._survey(kernel.body, 1)

    def _survey(self, statements: Sequence[Statement], lanes: int) -> LoopPlan:
        stored: set[int] = set()
        folded: set[int] = set()
        nodes = 0
        for statement in statements:
            if isinstance(statement, Loop):
                extent = self.extents[statement.axis]
                width = max(lanes, min(statement.lanes, power_of_two(max(extent, 1))))
                inner = self.loops[id(statement)] = self._survey(statement.body, width)
                stored |= inner.stored
                folded.update(set(inner.folded) - {acc.number for acc in statement.accs})
                nodes += inner.nodes * extent
                continue
            nodes += len(self.orders[id(statement)])
            if isinstance(statement, Store):
                stored.add(statement.operand)
            else:
                self._fold(statement, lanes)
                folded.update(statement.accs)
        return LoopPlan(frozenset(stored), tuple(sorted(folded)), nodes)

    def _fold(self, statement: Reduce | Prefix, lanes: int) -> None:
        dtypes = tuple(self.dtypes[acc] for acc in statement.accs)
        group = Group(statement.accs, dtypes, statement.combine)
        for acc in statement.accs:
            self.groups[acc] = group
            self.widths.setdefault(acc, set()).add(lanes)
        if isinstance(statement, Prefix):
            self.prefixed.update(statement.accs)


def power_of_two(count: int) -> int:
    """The least power of two that is not less than a positive count."""
    return 1 << (count - 1).bit_length()
