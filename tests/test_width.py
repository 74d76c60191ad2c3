"""Loops that take several machine vectors side by side, and those that ask for memory ahead: the
same results as the reference evaluator's, however a kernel is divided.
"""

import numpy as np
import pytest

from funcgrad.compiler.llvm import stream, width
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.loops import (
    Acc,
    Graph,
    Index,
    Kernel,
    Loop,
    Operand,
    Reduce,
    Store,
    axis_index,
)
from kernels import folding
from test_emit import Native, compare, every_target, samples


@every_target
@pytest.mark.parametrize("count", [128, 200, 1003])
@pytest.mark.parametrize("grain", [0, 48, 160])
def test_vectors_side_by_side(
    count: int, grain: int, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several at a time, then one by one, then the rest, wherever a part begins and ends."""
    monkeypatch.setattr(width, "LEAST_TURNS", 1)
    lanes = target.lanes("f32")
    graph, i = Graph((count,)), axis_index(0)
    x, y = (graph.read(number, i, "f32") for number in range(2))
    loop = Loop(0, lanes, (Store(2, i, x * y + 1.0), Store(3, i, x.apply("max", y))))
    operands = (*[Operand("f32", False)] * 2, *[Operand("f32", True)] * 2)
    kernel = Kernel(operands, (count,), (loop,), True)
    (wide,) = width.widened(kernel, target).body
    assert isinstance(wide, Loop) and wide.lanes == width.SIDE_BY_SIDE * lanes
    arrays = [samples("f32", count, seed) for seed in range(2)]
    compare(kernel, [*arrays, *(np.zeros(count, np.float32) for _ in range(2))], target, grain)


def two_passes(rows: int, columns: int, lanes: int) -> Kernel:
    """The greatest element of each row, and the sum of the row's distances from it."""
    graph = Graph((rows, columns))
    x = graph.read(0, Index(0, ((0, columns), (1, 1))), "f32")
    greatest = Reduce((0,), folding(graph, "max", "f32", -np.inf), (x,))
    total = Reduce((1,), folding(graph, "add", "f32", 0.0), (graph.acc(0, "f32") - x,))
    first = Loop(1, lanes, (greatest,), (Acc(0, "f32", -np.inf),))
    second = Loop(1, lanes, (total,), (Acc(1, "f32", 0.0),))
    store = Store(1, axis_index(0), graph.acc(1, "f32"))
    body = (Loop(0, 1, (first, second, store)),)
    return Kernel((Operand("f32", False), Operand("f32", True)), (rows, columns), body, True)


@every_target
@pytest.mark.parametrize("columns", [128, 150, 1003])
def test_folds_side_by_side(columns: int, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(width, "LEAST_TURNS", 1)
    kernel = two_passes(7, columns, target.lanes("f32"))
    (rows,) = width.widened(kernel, target).body
    assert isinstance(rows, Loop)
    assert [s.lanes for s in rows.body if isinstance(s, Loop)] == [4 * target.lanes("f32")] * 2
    # Small integers: their sums are exact in any order.
    whole = np.random.default_rng(0).integers(-50, 50, 7 * columns).astype(np.float32)
    compare(kernel, [whole, np.zeros(7, np.float32)], target, 2)


@every_target
def test_long_rows_are_asked_for_once(target: Target) -> None:
    """The first pass over large rows asks for lines ahead; the second finds them near."""
    lanes = target.lanes("f32")
    text = Native(two_passes(300, 1024, lanes), target).text
    assert text.count(f"call void {stream.ASK}") == 4 * target.vector_bytes // stream.LINE
    assert stream.streamed(two_passes(300, 1024, lanes)) == {0}
    assert not stream.streamed(two_passes(30, 1024, lanes))
