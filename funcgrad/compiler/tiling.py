"""Transposed reads: maps that go down the columns of an operand take its rows a few at a time, so
that each cache line is used up while it is near.
"""

from collections.abc import Sequence

from funcgrad.compiler.fuse import Group
from funcgrad.compiler.kernels import TILE, Merger, Plan, planned
from funcgrad.ir.jaxpr import Var

# Elements up to which the lines of all operands stay near anyway.
SMALL = 1 << 12
# Widths of a tile: that of a vector, if possible, up to the greatest.
LEAST, MOST = 8, 32


def tiled(group: Group, plan: Plan, needed: Sequence[Var], vector_bytes: int) -> Plan:
    """The plan of a map; where lanes go across the lines of a read, a tile of the axis that goes
    along them comes innermost.
    """
    merged = Merger(group.graph, plan)
    outer, inner = merged.axes()
    total = 1
    for axis in outer:
        total *= merged.extents[axis]
    if inner or len(outer) < 2 or total <= SMALL:
        return plan
    column = column_axis(merged, outer)
    if column is None:
        return plan
    runs = merged.outer
    axis, extent = runs[column][-1], group.graph.extents[runs[column][-1]]
    width = tile_width(extent, min(merged.base(vector_bytes), TILE))
    if width is None:
        return plan
    vector = runs[-1][-1]
    if width < extent:
        group.split(axis, width)
        for member in dict.fromkeys(group.members.values()):
            group.look_at(member)
        plan, vector, axis = planned(group, needed), vector + (vector > axis), axis + 1
    elif len(runs[column]) == 1:
        return plan
    rest = tuple(a for a in plan.outer if a != axis)
    return plan._replace(outer=(*rest, axis), vector=vector)


def column_axis(merged: Merger, outer: Sequence[int]) -> int | None:
    """The axis, by its place, along which a read that lanes scatter is contiguous."""
    for index in merged.positions:
        if abs(index.coeff(outer[-1])) > 1:
            for place, axis in enumerate(outer[:-1]):
                if abs(index.coeff(axis)) == 1:
                    return place
    return None


def tile_width(extent: int, best: int) -> int | None:
    """The divisor of an extent nearest to the best width."""
    if extent % best == 0:
        return best
    widths = [n for n in range(LEAST, min(MOST, extent) + 1) if extent % n == 0]
    return min(widths, key=lambda n: max(n, best) / min(n, best), default=None)
