"""Long reductions in two kernels: fixed blocks are folded apart, then their results in order.

So memory is gone through nearly in its order, threads have something to share, and the result does
not depend on how many there are.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.base.aval import ShapedArray
from funcgrad.compiler.fuse import Group
from funcgrad.compiler.kernels import WRITTEN, Merger, Plan
from funcgrad.compiler.loops import Expr, Reduce, Store
from funcgrad.compiler.lowering import linear, numpy_dtype
from funcgrad.compiler.loops import axis_index
from funcgrad.ir.jaxpr import Var

# Elements from which a reduction is worth a second kernel.
LONG = 1 << 16
# Rows that a block of a reduction across rows takes, and elements that one along a row takes.
ROWS = (16, 32, 64)
ELEMENTS = (1 << 12, 1 << 14, 1 << 16)
# Independent rows that are enough to share among threads as they are.
MANY_ROWS = 64


class Cut(NamedTuple):
    """Where a folded axis is cut: `inner` of its indices, with the axes after it, are a block."""

    axis: int
    inner: int


def cut_of(group: Group, plan: Plan, vector_bytes: int) -> Cut | None:
    """How to divide the reductions of a plan, None where one kernel does as well."""
    if len(plan.phases) != 1 or not plan.phases[0][0]:
        return None
    merged = Merger(group.graph, plan)
    if not merged.inner:
        return None
    extents = group.graph.extents
    rows = math.prod(extents[a] for a in plan.outer)
    inner = math.prod(extents[a] for a in plan.inner)
    if rows * inner < LONG:
        return None
    vector, _ = merged.lanes(*merged.axes(), vector_bytes)
    across = vector in merged.axes()[0]
    if not across and rows >= MANY_ROWS:
        return None
    return _cut(extents, merged.inner, ROWS if across else ELEMENTS)


def _cut(
    extents: Sequence[int], runs: Sequence[Sequence[int]], sizes: tuple[int, int, int]
) -> Cut | None:
    """The cut of the outermost folded axes that makes blocks of about the middle size."""
    least, best, most = sizes
    below = math.prod(extents[a] for run in runs[1:] for a in run)
    found: list[tuple[float, Cut]] = []
    for axis in reversed(runs[0]):
        extent = extents[axis]
        for inner in range(2, min(extent, most // max(below, 1)) + 1):
            whole = inner == extent and axis == runs[0][0]
            if extent % inner == 0 and least <= below * inner and not whole:
                found.append((abs(math.log(below * inner / best)), Cut(axis, inner)))
        below *= extent
    total = below
    found = [(far, cut) for far, cut in found if total >= 4 * least]
    return min(found)[1] if found else None


class Partial(NamedTuple):
    """Two plans for one, with the values that each of them writes."""

    blocks: Plan
    block_writes: tuple[Var, ...]
    whole: Plan
    whole_writes: tuple[Var, ...]


def divided(group: Group, plan: Plan, cut: Cut, writes: Sequence[Var]) -> Partial:
    """A plan, made after the cut, as one for each block and one for what the blocks came to."""
    runs = Merger(group.graph, plan).inner
    del runs
    ((accs, statements),) = plan.phases
    blocks = tuple(a for a in plan.inner if a <= cut.axis)
    inner = tuple(a for a in plan.inner if a > cut.axis)
    extents = group.graph.extents
    outer = (*blocks, *plan.outer)
    shape = tuple(extents[a] for a in outer)
    offset = linear(shape, tuple(axis_index(a) for a in outer))
    combined = {acc: identity for s in statements if isinstance(s, Reduce) for acc, identity in zip(s.accs, s.combine.identity, strict=True)}
    stores = [s for s in statements if isinstance(s, Store)]
    own = tuple(writes[s.operand - WRITTEN] for s in stores)
    partial = {a.number: Var(ShapedArray(shape, numpy_dtype(a.dtype))) for a in accs}
    first = tuple(a._replace(start=combined[a.number]) for a in accs)
    body = [s for s in statements if isinstance(s, Reduce)]
    body += [s._replace(operand=WRITTEN + i) for i, s in enumerate(stores)]
    ends = [
        Store(WRITTEN + len(own) + i, offset, group.graph.acc(a.number, a.dtype))
        for i, a in enumerate(accs)
    ]
    return None
