"""Registers: values of a few elements, each element an expression of its own."""

import itertools
from collections.abc import Iterator, Sequence

from funcgrad.compiler import lowering
from funcgrad.compiler.fuse import Group, Member
from funcgrad.compiler.loops import Combine, Expr, Graph, Index, ordered, undeferred
from funcgrad.compiler.lowering import Position
from funcgrad.ir.jaxpr import Eqn, Var

# Nodes from which the next equation begins another step.
LARGEST_STEP = 4000
# Nodes up to which functions are written out where they are used, and not called.
MOST_INLINE = 1000
# Elements that a reduction here folds at most.
LONGEST_FOLD = 16


class Registers(Group):
    """Equations on values of a few elements; every index is a constant."""

    def __init__(self, views: dict[Var, Eqn]):
        super().__init__((), views)

    def join_map(self, eqn: Eqn, row: bool = False) -> bool:
        if self.graph.size > LARGEST_STEP:
            return False
        member = Member(eqn, row)
        if eqn.primitive not in lowering.rules:
            self._make_fold(member)
        self.members.update((v, member) for v in eqn.outvars)
        for var in eqn.outvars:
            self.elements(var)
        return True

    def elements(self, var: Var) -> tuple[Expr, ...]:
        return tuple(self.value(var, index) for index in constant_indices(var.aval.shape))

    def _folded_value(self, var: Var, member: Member, index: Position) -> Expr:
        fold = member.fold
        assert fold is not None
        key = (id(member.eqn), index, None)
        outs = self._known.get(key)
        if outs is None:
            dtypes = [p.dtype for p in fold.combine.params[: len(fold.starts)]]
            total = tuple(map(self.graph.const, fold.starts, dtypes))
            for inner in constant_indices(fold.inner):
                values = fold.values(index, inner)
                total = combined(self.graph, fold.combine, total, values)
            outs = self._known[key] = fold.finish(*total)
        return outs[member.eqn.outvars.index(var)]

    def build(self, wanted: Sequence[Var]) -> tuple[tuple[Var, ...], dict[Var, tuple[Expr, ...]]]:
        """What the step's reads are numbered by, and the elements of what it makes."""
        outputs = {v: self.elements(v) for v in wanted}
        if self.graph.size <= MOST_INLINE:
            flat = iter(undeferred([e for elements in outputs.values() for e in elements]))
            outputs = {v: tuple(next(flat) for _ in old) for v, old in outputs.items()}
        return tuple(self.operands), outputs


def constant_indices(shape: Sequence[int]) -> Iterator[Position]:
    """Every index into a shape, in row-major order."""
    for index in itertools.product(*map(range, shape)):
        yield tuple(map(Index, index))


def combined(
    graph: Graph, combine: Combine, first: Sequence[Expr], second: Sequence[Expr]
) -> tuple[Expr, ...]:
    """One partial result from two."""
    copies = dict(zip(combine.params, (*first, *second), strict=True))
    for node in ordered(combine.results):
        if node not in copies:
            args = tuple(copies[a] for a in node.args)
            copies[node] = graph.make(node.op, args, node.dtype, node.data)
    return tuple(copies[r] for r in combine.results)
