"""Which 64-bit integers of a kernel fit in 32 bits: vectors of those are computed in i32, where
twice as many fit in a register and multiplication and division by constants have instructions.
"""

from collections.abc import Sequence

from funcgrad.compiler.loops import BITS, INTEGERS, SIGNED, Expr

Range = tuple[int, int]
LEAST, GREATEST = -(2**31), 2**31 - 1


def narrow_nodes(
    nodes: Sequence[Expr], extents: Sequence[int]
) -> tuple[set[Expr], dict[Expr, Range]]:
    """The i64 nodes to compute in i32, and the range of each integer node where it is known."""
    narrow: set[Expr] = set()
    ranges: dict[Expr, Range] = {}
    if not any(node.dtype == "i64" for node in nodes):
        return narrow, ranges
    for node in nodes:
        if node.dtype not in INTEGERS:
            continue
        found = _range(node, extents, ranges)
        if found is None:
            if node.dtype != "i64" and node.dtype != "u64":
                ranges[node] = _whole(node.dtype)
            continue
        ranges[node] = found
        if node.dtype == "i64" and LEAST <= found[0] and found[1] <= GREATEST:
            args = node.args[1:] if node.op == "select" else node.args
            converted = node.op == "convert" and args[0].dtype != "i64"
            if node.op != "read" and (converted or all(arg in narrow for arg in args)):
                narrow.add(node)
    return narrow, ranges


def _whole(dtype: str) -> Range:
    bits = BITS[dtype]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype in SIGNED else (0, (1 << bits) - 1)


def _range(node: Expr, extents: Sequence[int], ranges: dict[Expr, Range]) -> Range | None:
    """The least and greatest value, None where nothing says or the operation may wrap."""
    if node.op == "const":
        return node.data, node.data
    if node.op == "index":
        const, terms = node.data
        ends = [coeff * max(extents[axis] - 1, 0) for axis, coeff in terms]
        return const + sum(min(e, 0) for e in ends), const + sum(max(e, 0) for e in ends)
    if node.op == "convert" and node.args[0].dtype == "bool":
        return 0, 1
    args = [ranges.get(arg) for arg in (node.args[1:] if node.op == "select" else node.args)]
    rule = RULES.get(node.op)
    if rule is None or any(arg is None for arg in args):
        return None
    found = rule(*args)
    least, greatest = _whole(node.dtype)
    return found if found is not None and least <= found[0] and found[1] <= greatest else None


def _corners(values: Sequence[int]) -> Range:
    return min(values), max(values)


def _quotient(x: Range, y: Range) -> Range | None:
    if y[0] <= 0:
        return None
    return _corners([int(abs(a) // b) * (1 if a >= 0 else -1) for a in x for b in y])


def _remainder(x: Range, y: Range) -> Range | None:
    if y[0] <= 0:
        return None
    most = max(min(max(abs(x[0]), abs(x[1])), y[1] - 1), 0)
    return (-most if x[0] < 0 else 0), (most if x[1] > 0 else 0)


RULES = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "mul": lambda x, y: _corners([a * b for a in x for b in y]),
    "neg": lambda x: (-x[1], -x[0]),
    "min": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "max": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "div": _quotient,
    "rem": _remainder,
    "select": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "convert": lambda x: x,
}
