"""Square tiles turned in registers: where lanes go down columns that are written out one by one,
the rows of a tile are loaded whole and exchanged.
"""

from collections.abc import Sequence

from funcgrad.compiler.llvm.elements import BYTES, MEMORY, lane_list, vector
from funcgrad.compiler.llvm.evaluation import Evaluation
from funcgrad.compiler.llvm.writer import Writer
from funcgrad.compiler.loops import Expr, Loop, Store, ordered, roots

# Nodes in all columns of a tile up to which they are written out.
MOST_COPIED = 1024


def is_tile(state: Evaluation, loop: Loop, nodes: int) -> bool:
    """Whether a loop goes over the columns of square tiles that lanes go down."""
    extent = state.kernel.extents[loop.axis]
    if not state.lanes == state.live == extent or extent < 4 or nodes * extent > MOST_COPIED:
        return False
    return all(isinstance(s, Store) for s in loop.body) and any(
        _turns(state, node, loop.axis) for s in loop.body for node in ordered(list(roots(s)))
    )


def _turns(state: Evaluation, node: Expr, axis: int) -> bool:
    """Whether a read is contiguous along the axis and strided along the lanes."""
    if node.op != "read" or node.data[3] or node.data[4] or node.data[0] in state.changing:
        return False
    terms = dict(node.data[2])
    return terms.get(axis) == 1 and abs(terms.get(state.lane_axis, 0)) > 1


def column(state: Evaluation, node: Expr) -> tuple[str, int] | None:
    """A read in all lanes as a column of a tile, and its level; None if it is no such read."""
    for axis, coeff in node.data[2]:
        number, level = state.axes[axis]
        square = state.kernel.extents[axis] == state.lanes == state.live
        inside = level > state.lane_level
        if (
            coeff == 1
            and isinstance(number, int)
            and square
            and inside
            and _turns(state, node, axis)
        ):
            return _column(state, node, axis, number), level
    return None


def _column(state: Evaluation, node: Expr, axis: int, number: int) -> str:
    """Column `number` of a tile; all of them are made at once, outside the loop over them."""
    operand, const, terms, _, _ = node.data
    terms = tuple((a, c) for a, c in terms if a != axis)
    step = dict(terms)[state.lane_axis]
    level = max(state.axes[a][1] for a, _ in terms)
    memo, key = state.frames[level].memo, ("tile", operand, const, terms)
    if (key, number) not in memo:
        scalar, lanes = MEMORY[node.dtype], state.lanes
        rows = []
        for lane in range(lanes):
            pointer = state.address(operand, const + lane * step, terms, (), scalar)
            load = f"load {vector(scalar, lanes)}, ptr {pointer}, align {BYTES[node.dtype]}"
            rows.append(state.at(level).assign(load))
        columns = transposed(state.at(level), rows, scalar)
        memo.update(((key, i), text) for i, text in enumerate(columns))
    return memo[key, number]


def transposed(writer: Writer, rows: Sequence[str], scalar: str) -> list[str]:
    """The columns of a square of vectors: pairs from the two halves are interleaved until each row
    has gone through all places.
    """
    lanes = len(rows)
    kind, half = vector(scalar, lanes), lanes // 2
    low = tuple(k // 2 + lanes * (k % 2) for k in range(lanes))
    orders = [low, tuple(k + half for k in low)]
    texts = [f"{vector('i32', lanes)} {lane_list('i32', order)}" for order in orders]
    turn = 1
    while turn < lanes:
        rows = [
            writer.assign(f"shufflevector {kind} {x}, {kind} {y}, {order}")
            for x, y in zip(rows[:half], rows[half:], strict=True)
            for order in texts
        ]
        turn *= 2
    return list(rows)
