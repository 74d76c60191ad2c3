"""The float next to another one: their bits, as integers, are neighbors too."""

from funcgrad.compiler.elementary.floats import absolute, select
from funcgrad.compiler.loops import BITS, FLOATS, Expr


def nextafter(x: Expr, y: Expr) -> Expr:
    """The float after x in the direction of y; for every float dtype by its own bits."""
    if x.dtype not in FLOATS or y.dtype != x.dtype:
        raise TypeError(f"nextafter takes floats of one dtype, not {x.dtype}, {y.dtype}")
    graph, signed, unsigned = x.graph, f"i{BITS[x.dtype]}", f"u{BITS[x.dtype]}"
    zero, one = graph.const(0.0, x.dtype), graph.const(1, signed)
    outward = (y > x).eq(x > zero)
    stepped = (x.bits(signed) + select(outward, one, -one)).bits(x.dtype)
    sign = y.bits(unsigned) & (1 << (BITS[x.dtype] - 1))
    from_zero = (sign | 1).bits(x.dtype)
    moved = select(x.eq(zero), from_zero, stepped)
    both = absolute(x) + absolute(y)  # nan if either is
    return select(x.eq(y), y, select(both.eq(both), moved, both))
