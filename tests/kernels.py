"""Kernels by name, one for each thing that code for kernels has to get right, at any lanes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from funcgrad.compiler.loops import (
    Acc,
    Combine,
    Expr,
    Graph,
    Guarded,
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
from funcgrad.compiler.reference import NUMPY


class Example(NamedTuple):
    """A kernel, how many elements its operands have, and a bound on those that are positions."""

    kernel: Kernel
    sizes: tuple[int, ...]
    bounds: dict[int, int]

    def arrays(self) -> list[np.ndarray]:
        operands = self.kernel.operands
        counts = [2 if operand.dtype == "bool" else 20 for operand in operands]
        bounds = [(0, self.bounds.get(i, count) - 1) for i, count in enumerate(counts)]
        return filled(np.random.default_rng(0), operands, self.sizes, bounds)


def filled(
    draw: np.random.Generator,
    operands: Sequence[Operand],
    sizes: Sequence[int],
    bounds: Sequence[tuple[int, int]],
) -> list[np.ndarray]:
    """Arrays of whole numbers from the least to the greatest of each operand: while these are
    small, any order of summing gives the same."""
    return [
        draw.integers(low, high + 1, size).astype(NUMPY[operand.dtype])
        for operand, size, (low, high) in zip(operands, sizes, bounds)
    ]


def example(
    dtypes: str,
    sizes: tuple[int, ...],
    extents: tuple[int, ...],
    *body: Statement,
    divisible: bool = True,
    **bounds: int,
) -> Example:
    """Operands are given by their dtypes, `!` after those that are written."""
    operands = tuple(Operand(d.rstrip("!"), d.endswith("!")) for d in dtypes.split())
    limits = {int(name[1:]): bound for name, bound in bounds.items()}
    return Example(Kernel(operands, extents, tuple(body), divisible), sizes, limits)


def folding(graph: Graph, op: str, dtype: str, identity: float) -> Combine:
    """The Combine of one operation."""
    x, y = graph.param(0, dtype), graph.param(1, dtype)
    return Combine((x, y), (x.apply(op, y),), (identity,))


def greatest(graph: Graph, place: str = "i32", last: int = 2**31 - 1) -> Combine:
    """Of two values with their places, the greater, and of equal ones the first."""
    x, i, y, j = (graph.param(n, d) for n, d in enumerate(("f32", place, "f32", place)))
    wins = (x > y) | (x.eq(y) & (i < j))
    results = graph.select(wins, x, y), graph.select(wins, i, j)
    return Combine((x, i, y, j), results, (float("-inf"), last))


def map_with_rest(lanes: int) -> Example:
    """x * 2 + y, where the last vector is not whole."""
    graph, i = Graph((301,)), axis_index(0)
    x, y = graph.read(0, i, "f32"), graph.read(1, i, "f32")
    store = Store(2, i, graph.fma(x, 2.0, y))
    return example("f32 f32 f32!", (301,) * 3, (301,), Loop(0, lanes, (store,)))


def transposed(lanes: int) -> Example:
    """Lanes along a row read a column, a row backward, a row, and one element for all."""
    rows, columns = 13, 37
    graph, size = Graph((rows, columns)), rows * columns
    reads = [
        graph.read(0, Index(0, ((0, 1), (1, rows))), "f64"),
        graph.read(0, Index(size - 1, ((0, -columns), (1, -1))), "f64"),
        graph.read(1, Index(0, ((1, 1),)), "f64"),
        graph.read(2, Index(0, ((0, 1),)), "f64"),
        graph.read(3, Index(0, ((1, 2),)), "f64"),
    ]
    total = reads[0] + reads[1] * reads[2] - reads[3] * reads[4]
    inner = Loop(1, lanes, (Store(4, Index(0, ((0, columns), (1, 1))), total),))
    sizes = (size, columns, rows, 2 * columns - 1, size)
    return example("f64 f64 f64 f64 f64!", sizes, (rows, columns), Loop(0, 1, (inner,)))


def row_sums(lanes: int) -> Example:
    """Lanes along the axis that is summed, folded together at its end; a start that counts."""
    rows, columns = 5, 300
    graph = Graph((rows, columns))
    x = graph.read(0, Index(0, ((0, columns), (1, 1))), "f32")
    fold = Reduce((0,), folding(graph, "add", "f32", 0.0), (x,))
    inner = Loop(1, lanes, (fold,), (Acc(0, "f32", 3.0),))
    store = Store(1, axis_index(0), graph.acc(0, "f32"))
    loop = Loop(0, 1, (inner, store))
    return example("f32 f32!", (rows * columns, rows), (rows, columns), loop)


def column_sums(lanes: int) -> Example:
    """Lanes across the axis that is summed."""
    rows, columns = 9, 83
    graph = Graph((rows, columns))
    x = graph.read(0, Index(0, ((0, columns), (1, 1))), "f32")
    fold = Reduce((0,), folding(graph, "add", "f32", 0.0), (x,))
    inner = Loop(0, 1, (fold,), (Acc(0, "f32", 3.0),))
    store = Store(1, axis_index(1), graph.acc(0, "f32"))
    loop = Loop(1, lanes, (inner, store))
    return example("f32 f32!", (rows * columns, columns), (rows, columns), loop)


def nested_sum(lanes: int) -> Example:
    """One accumulator through two loops, its lanes folded together after the outer one."""
    graph = Graph((6, 70))
    x = graph.read(0, Index(0, ((0, 100), (1, 1))), "i64")
    fold = Reduce((0,), folding(graph, "add", "i64", 0), (x,))
    loop = Loop(0, 1, (Loop(1, lanes, (fold,)),), (Acc(0, "i64", 0),))
    store = Store(1, Index(), graph.acc(0, "i64"))
    return example("i64 i64!", (600, 1), tuple(graph.extents), loop, store, divisible=False)


def phases(lanes: int) -> Example:
    """A row's greatest element, the sum of what is below it, and the row divided by that."""
    rows, columns = 6, 77
    graph, place = Graph((rows, columns)), Index(0, ((0, columns), (1, 1)))
    x = graph.read(0, place, "f32")
    below = graph.acc(0, "f32") - x
    first = Reduce((0,), folding(graph, "max", "f32", float("-inf")), (x,))
    second = Reduce((1,), folding(graph, "add", "f32", 0.0), (below,))
    body = (
        Loop(1, lanes, (first,), (Acc(0, "f32", float("-inf")),)),
        Loop(1, lanes, (second,), (Acc(1, "f32", 0.0),)),
        Loop(1, lanes, (Store(1, place, below / graph.acc(1, "f32")),)),
    )
    return example("f32 f32!", (rows * columns,) * 2, (rows, columns), Loop(0, 1, body))


def place_of_greatest(lanes: int) -> Example:
    """Two accumulators that are folded together."""
    graph, i = Graph((150,)), axis_index(0)
    values = graph.read(0, i, "f32"), graph.value(i, "i32")
    accs = Acc(0, "f32", float("-inf")), Acc(1, "i32", 2**31 - 1)
    loop = Loop(0, lanes, (Reduce((0, 1), greatest(graph), values),), accs)
    stores = Store(1, Index(), graph.acc(0, "f32")), Store(2, Index(), graph.acc(1, "i32"))
    return example("f32 f32! i32!", (150, 1, 1), (150,), loop, *stores, divisible=False)


def padded(lanes: int) -> Example:
    """Reads that are only made within an array, zero outside."""
    graph = Graph((10, 40))
    row, column = Index(-1, ((0, 1),)), Index(-3, ((1, 1),))
    within = graph.both(graph.within(row, 0, 8), graph.within(column, 0, 30))
    with Guarded(graph, within):
        x = graph.read(0, Index(-33, ((0, 30), (1, 1))), "f32")
    store = Store(1, Index(0, ((0, 40), (1, 1))), x)
    loop = Loop(0, 1, (Loop(1, lanes, (store,)),))
    return example("f32 f32!", (240, 400), (10, 40), loop)


def gathered(lanes: int) -> Example:
    """Rows that another array names."""
    rows, columns = 7, 21
    graph = Graph((rows, columns))
    row = graph.position(graph.read(1, axis_index(1), "i32")).times(50)
    x = graph.read(0, row.plus(axis_index(0)), "f32")
    store = Store(2, Index(0, ((0, columns), (1, 1))), x)
    loop = Loop(0, 1, (Loop(1, lanes, (store,)),))
    return example("f32 i32 f32!", (1000, columns, rows * columns), (rows, columns), loop)


def scattered(lanes: int) -> Example:
    """Elements put where another array says, some of them."""
    graph, i = Graph((45,)), axis_index(0)
    place = graph.position(graph.read(1, i, "i64"))
    x = graph.read(0, i, "i16")
    stores = Store(2, place, x), Store(3, place.times(2), x, x > 7)
    loop = Loop(0, lanes, stores)
    sizes = (45, 45, 90, 180)
    return example("i16 i64 i16! i16!", sizes, (45,), loop, divisible=False, _1=90)


def added_in_place(lanes: int) -> Example:
    """Elements added where another array says, one after the other."""
    graph, i = Graph((45,)), axis_index(0)
    place = graph.position(graph.read(1, i, "i32"))
    total = graph.read(2, place, "f32") + graph.read(0, i, "f32")
    loop = Loop(0, 1, (Store(2, place, total),))
    return example("f32 i32 f32!", (45, 45, 6), (45,), loop, divisible=False, _1=6)


def updated_in_place(lanes: int) -> Example:
    """A read after a store sees what was stored, also in an earlier turn of a loop."""
    rows, columns = 7, 37
    graph = Graph((rows, columns))
    here, first = graph.read(0, axis_index(1), "f32"), graph.read(0, Index(), "f32")
    body = (
        Store(0, axis_index(1), here + graph.value(axis_index(0), "f32")),
        Store(1, Index(0, ((0, columns), (1, 1))), here * 2.0),
    )
    loop = Loop(0, 1, (Loop(1, lanes, body), Store(2, axis_index(0), first)))
    sizes = (columns, rows * columns, rows)
    return example("f32! f32! f32!", sizes, (rows, columns), loop, divisible=False)


def halves(lanes: int) -> Example:
    """Arithmetic on both half types, each operation rounded."""
    graph, i = Graph((64,)), axis_index(0)
    x, y = graph.read(0, i, "f16"), graph.read(1, i, "bf16")
    stores = Store(2, i, x * 0.1 + x), Store(3, i, (y * 0.1 + y).apply("max", x.to("bf16")))
    return example("f16 bf16 f16! bf16!", (64,) * 4, (64,), Loop(0, lanes, stores))


def divided_positions(lanes: int) -> Example:
    """Quotients of positions, which fit in 32 bits; bits and bools."""
    graph, i = Graph((200,)), Index(5, ((0, 3),))
    number = graph.value(i)
    quotient, rest = number / 7, number.apply("rem", 7)
    table = graph.read(0, graph.position(rest), "u8")
    stores = Store(1, axis_index(0), quotient.to("f32")), Store(2, axis_index(0), table > 9)
    return example("u8 f32! bool!", (7, 200, 200), (200,), Loop(0, lanes, stores))


def rarely(lanes: int) -> Example:
    """Work that is skipped unless a test holds in some lane."""
    graph, i = Graph((120,)), axis_index(0)
    x = graph.read(0, i, "f32")
    far = x > 17.0
    root = (x * x + 1.0).apply("sqrt")
    first = graph.select(far, root / 3.0, x, rare=True)
    second = graph.select(far, root - 2.0, x + 1.0, rare=True)
    return example("f32 f32!", (120, 120), (120,), Loop(0, lanes, (Store(1, i, first * second),)))


def windows(lanes: int) -> Example:
    """Small loops inside, written out."""
    graph = Graph((9, 19, 2, 3))
    place = Index(0, ((0, 80), (1, 2), (2, 40), (3, 1)))
    fold = Reduce((0,), folding(graph, "max", "f32", float("-inf")), (graph.read(0, place, "f32"),))
    inner = Loop(2, 1, (Loop(3, 1, (fold,)),), (Acc(0, "f32", float("-inf")),))
    store = Store(1, Index(0, ((0, 19), (1, 1))), graph.acc(0, "f32"))
    loop = Loop(0, 1, (Loop(1, lanes, (inner, store)),))
    return example("f32 f32!", (720, 171), tuple(graph.extents), loop)


def rare_in_two_loops(lanes: int) -> Example:
    """Work that is skipped for one test, of which each loop has a part that the other cannot do."""
    graph = Graph((2, 3, 50))
    word = graph.read(0, axis_index(0), "f32")
    far = word > 10.0
    stores = []
    for number, axis in enumerate((1, 2)):
        x = graph.value(axis_index(axis), "f32") * word
        value = graph.select(far, (x + 1.0).apply("sqrt"), x, rare=True)
        place = Index(0, ((0, graph.extents[axis]), (axis, 1)))
        stores.append(Store(number + 1, place, value))
    loops = Loop(1, 1, (stores[0],)), Loop(2, lanes, (stores[1],))
    return example("f32 f32! f32!", (2, 6, 100), (2, 3, 50), Loop(0, 1, loops))


def running_rows(lanes: int) -> Example:
    """Sums up to each element of a row with lanes along it, from 3 on; and what they end as."""
    rows, columns = 4, 75
    graph, place = Graph((rows, columns)), Index(0, ((0, columns), (1, 1)))
    x, total = graph.read(0, place, "f32"), graph.acc(0, "f32")
    fold = Prefix((0,), folding(graph, "add", "f32", 0.0), (x,))
    inner = Loop(1, lanes, (fold, Store(1, place, total * 2.0 - x)), (Acc(0, "f32", 3.0),))
    loop = Loop(0, 1, (inner, Store(2, axis_index(0), total)))
    size = rows * columns
    return example("f32 f32! f32!", (size, size, rows), (rows, columns), loop)


def running_columns(lanes: int) -> Example:
    """The greatest element so far of each column, from below, with lanes across."""
    rows, columns = 9, 70
    graph, place = Graph((rows, columns)), Index((rows - 1) * columns, ((0, -columns), (1, 1)))
    fold = Prefix((0,), folding(graph, "max", "i16", -(2**15)), (graph.read(0, place, "i16"),))
    inner = Loop(0, 1, (fold, Store(1, place, graph.acc(0, "i16"))), (Acc(0, "i16", 7),))
    size = rows * columns
    return example("i16 i16!", (size, size), (rows, columns), Loop(1, lanes, (inner,)))


def running_through(lanes: int) -> Example:
    """Sums through two loops, whose vectors are not whole, and sums of these sums."""
    rows, columns = 5, 43
    graph, place = Graph((rows, columns)), Index(0, ((0, columns), (1, 1)))
    first, second = graph.acc(0, "i64"), graph.acc(1, "i64")
    combine = folding(graph, "add", "i64", 0)
    body = (
        Prefix((0,), combine, (graph.read(0, place, "u8").to("i64"),)),
        Prefix((1,), combine, (first,)),
        Store(1, place, second - first),
    )
    loop = Loop(0, 1, (Loop(1, lanes, body),), (Acc(0, "i64", 0), Acc(1, "i64", -4)))
    store, size = Store(2, Index(), second), rows * columns
    dtypes, extents = "u8 i64! i64!", (rows, columns)
    return example(dtypes, (size, size, 1), extents, loop, store, divisible=False)


def recurrence(lanes: int) -> Example:
    """y = a y + b along a row, as pairs whose order counts."""
    graph, i = Graph((59,)), axis_index(0)
    a, b, c, d = (graph.param(n, "u32") for n in range(4))
    combine = Combine((a, b, c, d), (a * c, b * c + d), (1, 0))
    values = graph.read(0, i, "u32"), graph.read(1, i, "u32")
    body = Prefix((0, 1), combine, values), Store(2, i, graph.acc(1, "u32"))
    loop = Loop(0, lanes, body, (Acc(0, "u32", 1), Acc(1, "u32", 5)))
    return example("u32 u32 u32!", (59,) * 3, (59,), loop, divisible=False)


def scalar(lanes: int) -> Example:
    """No loop at all."""
    graph = Graph(())
    x: Expr = graph.read(0, Index(2), "i32")
    return example("i32 i32!", (3, 1), (), Store(1, Index(), x * x), divisible=False)


EXAMPLES: dict[str, Callable[[int], Example]] = {
    make.__name__: make
    for make in (
        map_with_rest,
        transposed,
        row_sums,
        column_sums,
        nested_sum,
        phases,
        place_of_greatest,
        padded,
        gathered,
        scattered,
        added_in_place,
        updated_in_place,
        halves,
        divided_positions,
        rarely,
        windows,
        rare_in_two_loops,
        running_rows,
        running_columns,
        running_through,
        recurrence,
        scalar,
    )
}
