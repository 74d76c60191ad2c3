"""What the checker of kernels refuses, and that it names what is wrong."""

from collections.abc import Callable

import pytest

from funcgrad.compiler.loopcheck import MalformedKernel, check
from funcgrad.compiler.loops import (
    Acc,
    Graph,
    Index,
    Kernel,
    Loop,
    Operand,
    Prefix,
    Reduce,
    Statement,
    Store,
    axis_index,
)
from kernels import EXAMPLES, folding
from random_kernels import Draw


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_well_formed(name: str) -> None:
    for lanes in (1, 16):
        check(EXAMPLES[name](lanes).kernel)


def test_random_kernels_are_well_formed() -> None:
    for seed in range(100):
        check(Draw(seed).kernel())


def kernel(graph: Graph, *body: Statement, divisible: bool = False) -> Kernel:
    operands = Operand("f32", False), Operand("f32", True), Operand("i32", False)
    return Kernel(operands, tuple(graph.extents), body, divisible)


GRAPH = Graph((4, 8))
I, J = axis_index(0), axis_index(1)
X = GRAPH.read(0, I, "f32")
WORD = GRAPH.read(2, I, "i32")
ADD = folding(GRAPH, "add", "f32", 0.0)
ACC = Acc(0, "f32", 0.0)
TOTAL = GRAPH.acc(0, "f32")


def over(*body: Statement, lanes: int = 1, axis: int = 0, accs: tuple[Acc, ...] = ()) -> Loop:
    return Loop(axis, lanes, body, accs)


REFUSED: dict[str, tuple[Callable[[], Kernel], str]] = {
    "axis": (lambda: kernel(GRAPH, over(axis=2)), "none of the 2 axes"),
    "again": (lambda: kernel(GRAPH, over(over())), "inside another one over the same axis"),
    "lanes": (lambda: kernel(GRAPH, over(lanes=3)), "no power of two"),
    "vectors": (
        lambda: kernel(GRAPH, over(over(axis=1, lanes=4), lanes=4)),
        "vector loop inside that over axis 0",
    ),
    "divisible": (
        lambda: kernel(GRAPH, over(), over(axis=1), divisible=True),
        "is not one loop without accumulators",
    ),
    "same number": (
        lambda: kernel(GRAPH, over(accs=(ACC,)), over(axis=1, accs=(ACC,))),
        "the number of another accumulator",
    ),
    "fold outside": (
        lambda: kernel(GRAPH, over(Reduce((0,), ADD, (X,)))),
        "accumulators of no loop around",
    ),
    "fold type": (
        lambda: kernel(GRAPH, over(Reduce((0,), ADD, (WORD,)), accs=(ACC,))),
        "values that are not of the types",
    ),
    "two ways": (
        lambda: kernel(
            GRAPH,
            over(
                Reduce((0,), ADD, (X,)),
                Reduce((0,), folding(GRAPH, "mul", "f32", 1.0), (X,)),
                accs=(ACC,),
            ),
        ),
        "in another way",
    ),
    "too early": (
        lambda: kernel(GRAPH, over(Store(1, I, TOTAL), accs=(ACC,))),
        "no loop that has ended",
    ),
    "prefix too late": (
        lambda: kernel(GRAPH, over(Store(1, I, TOTAL), Prefix((0,), ADD, (X,)), accs=(ACC,))),
        "no loop that has ended",
    ),
    "prefix further out": (
        lambda: kernel(
            GRAPH,
            over(over(Prefix((0,), ADD, (X,)), axis=1), Store(1, I, TOTAL), accs=(ACC,)),
        ),
        "no loop that has ended",
    ),
    "prefix and fold": (
        lambda: kernel(GRAPH, over(Prefix((0,), ADD, (X,)), Reduce((0,), ADD, (X,)), accs=(ACC,))),
        "has to be alone",
    ),
    "fold and prefix": (
        lambda: kernel(GRAPH, over(Reduce((0,), ADD, (X,)), Prefix((0,), ADD, (X,)), accs=(ACC,))),
        "has to be alone",
    ),
    "two prefixes": (
        lambda: kernel(GRAPH, over(*[Prefix((0,), ADD, (X,))] * 2, accs=(ACC,))),
        "has to be alone",
    ),
    "lanes out of order": (
        lambda: kernel(GRAPH, over(over(Prefix((0,), ADD, (X,)), axis=1), lanes=4, accs=(ACC,))),
        "not be gone through in order",
    ),
    "unwritten": (lambda: kernel(GRAPH, over(Store(0, I, X))), "not marked as written"),
    "store type": (lambda: kernel(GRAPH, over(Store(1, I, WORD))), "stores i32 to f32"),
    "no operand": (lambda: kernel(GRAPH, over(Store(9, I, X))), "none of 3 operands"),
    "no axis": (lambda: kernel(GRAPH, over(Store(1, J, X))), "depends on axis 1"),
    "below": (lambda: kernel(GRAPH, over(Store(1, I.plus(-1), X))), "down to element -1"),
    "read below": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.read(0, Index(2, ((0, -1),)), "f32")))),
        "down to element -1",
    ),
    "read type": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.read(2, I, "f32")))),
        "reads f32 of i32",
    ),
    "types": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.make("add", (X, WORD), "f32")))),
        r"does not go from \['f32', 'i32'\] to f32",
    ),
    "operation": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.make("sinh", (X,), "f32")))),
        "no operation",
    ),
    "param": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.param(0, "f32")))),
        "outside a Combine",
    ),
    "lanes meet": (
        lambda: kernel(GRAPH, over(Store(1, I, GRAPH.read(1, Index(), "f32")), lanes=4)),
        "lanes may meet",
    ),
    "lanes meet by chance": (
        lambda: kernel(
            GRAPH,
            over(
                Store(1, GRAPH.position(WORD), GRAPH.read(1, GRAPH.position(WORD), "f32") + X),
                lanes=4,
            ),
        ),
        "lanes may meet",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(MalformedKernel, match=why):
        check(make())
