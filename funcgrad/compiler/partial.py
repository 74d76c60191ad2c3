"""Long reductions in two kernels: fixed blocks are folded apart, then what they came to in order.

So memory is gone through nearly in its order, threads have something to share, and the result does
not depend on how many there are.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.base.aval import ShapedArray
from funcgrad.compiler.fuse import Group
from funcgrad.compiler.kernels import WRITTEN, Fused, Kernels, Merger, Plan, planned
from funcgrad.compiler.loops import Reduce, Store, axis_index
from funcgrad.compiler.lowering import linear, numpy_dtype
from funcgrad.compiler.tiling import tiled
from funcgrad.ir.jaxpr import Var

# Elements from which a reduction is worth a second kernel.
LONG = 1 << 16
# The least, best and greatest length of a block: rows where lanes go across them, else elements.
ROWS = (16, 64, 128)
ELEMENTS = (1 << 12, 1 << 14, 1 << 16)
# Independent rows that are enough to share among threads as they are.
MANY_ROWS = 64


class Cut(NamedTuple):
    """Where a folded axis is cut: `inner` of its indices, with the axes after it, are a block."""

    axis: int
    inner: int


def build(group: Group, needed: Sequence[Var], kernels: Kernels) -> tuple[Fused, ...]:
    """The kernels that compute the needed values of a group, in their order."""
    plan = planned(group, needed)
    cut = cut_of(group, plan, kernels.vector_bytes) if group.going is None else None
    if cut is None:
        plan = tiled(group, plan, needed, kernels.vector_bytes)
        return (kernels.assemble(group, plan, needed),)
    first = cut.axis  # of the axes inside a block
    if cut.inner < group.graph.extents[cut.axis]:
        group.split(*cut)
        for member in dict.fromkeys(group.members.values()):
            group.look_at(member)
        plan, first = planned(group, needed), cut.axis + 1
    parts = divided(group, plan, first, needed)
    return tuple(kernels.assemble(group, part, writes) for part, writes in parts)


def cut_of(group: Group, plan: Plan, vector_bytes: int) -> Cut | None:
    """How to divide the reductions of a plan, None where one kernel does as well."""
    if len(plan.phases) != 1 or not plan.phases[0][0]:
        return None
    merged = Merger(group.graph, plan)
    extents = group.graph.extents
    rows = math.prod(extents[a] for a in plan.outer)
    if not merged.inner or rows * math.prod(extents[a] for a in plan.inner) < LONG:
        return None
    outer, inner = merged.axes()
    across = merged.lanes(outer, inner, vector_bytes)[0] in outer
    if not across and rows >= MANY_ROWS:
        return None
    return block_cut(extents, merged.inner, ROWS if across else ELEMENTS)


def block_cut(
    extents: Sequence[int], runs: Sequence[Sequence[int]], lengths: tuple[int, int, int]
) -> Cut | None:
    """The cut of the outermost folded axes that makes blocks nearest to the best length."""
    least, best, most = lengths
    below = math.prod(extents[a] for run in runs[1:] for a in run)
    found: list[tuple[float, Cut]] = []
    for axis in reversed(runs[0]):
        extent = extents[axis]
        for inner in range(2, min(extent, most // below) + 1):
            whole = inner == extent and axis == runs[0][0]
            if extent % inner == 0 and least <= below * inner and not whole:
                found.append((abs(math.log(below * inner / best)), Cut(axis, inner)))
        below *= extent
        if below > most:
            break
    return min(found)[1] if found else None


def divided(
    group: Group, plan: Plan, first: int, writes: Sequence[Var]
) -> tuple[tuple[Plan, tuple[Var, ...]], tuple[Plan, tuple[Var, ...]]]:
    """A plan as one that folds blocks and one that folds these, each with what it writes.

    The folded axes from `first` on are inside a block.
    """
    ((accs, statements),) = plan.phases
    graph = group.graph
    blocks = tuple(a for a in plan.inner if a < first)
    inner = tuple(a for a in plan.inner if a >= first)
    outer = (*blocks, *plan.outer)
    shape = tuple(graph.extents[a] for a in outer)
    offset = linear(shape, tuple(map(axis_index, outer)))
    partial = {a.number: Var(ShapedArray(shape, numpy_dtype(a.dtype))) for a in accs}

    reductions = [s for s in statements if isinstance(s, Reduce)]
    neutral = {n: i for s in reductions for n, i in zip(s.accs, s.combine.identity, strict=True)}
    stores = [s for s in statements if isinstance(s, Store)]
    made = tuple(writes[s.operand - WRITTEN] for s in stores)
    inside = (*reductions, *(s._replace(operand=WRITTEN + i) for i, s in enumerate(stores)))
    ends = tuple(
        Store(WRITTEN + len(made) + i, offset, graph.acc(a.number, a.dtype))
        for i, a in enumerate(accs)
    )
    starts = tuple(a._replace(start=neutral[a.number]) for a in accs)
    apart = plan._replace(outer=outer, inner=inner, phases=((starts, inside),), last=ends)

    folds = tuple(
        s._replace(values=tuple(group.read(partial[n], offset) for n in s.accs)) for s in reductions
    )
    rest = tuple(writes[s.operand - WRITTEN] for s in plan.last)
    last = tuple(s._replace(operand=WRITTEN + i) for i, s in enumerate(plan.last))
    together = plan._replace(inner=blocks, phases=((accs, folds),), last=last)
    return (apart, (*made, *partial.values())), (together, rest)
