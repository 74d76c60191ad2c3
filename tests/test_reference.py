"""The loop IR's definition against values worked out by hand, integers of Python and rationals."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from funcgrad.compiler import reference
from funcgrad.compiler.loops import (
    INTEGERS,
    ZERO,
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
    Store,
    axis_index,
)
from kernels import folding


def run(op: str, dtype: str, *operands: list) -> np.ndarray:
    """`op` of lists of elements."""
    graph = Graph([])
    params = [graph.param(i, dtype) for i in range(len(operands))]
    comparison = op in ("eq", "ne", "lt", "le", "gt", "ge")
    root = graph.make(op, tuple(params), "bool" if comparison else dtype)
    leaves = [np.array(x, reference.NUMPY[dtype]) for x in operands]
    (result,) = reference.evaluate([root], dict(zip(params, leaves)))
    return result


def through(root: Expr, param: Expr, values: np.ndarray) -> np.ndarray:
    return reference.evaluate([root], {param: values})[0]


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal with signs of zeros, and nan where nan is expected."""
    np.testing.assert_array_equal(actual, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_truncates_and_is_total(dtype: str) -> None:
    info = np.iinfo(reference.NUMPY[dtype])
    numbers = sorted({info.min, info.min + 1, 0, 1, 2, 3, 7, 10, info.max - 1, info.max})
    if info.min:
        numbers += [-1, -2, -3, -7]
    pairs = [(x, y) for x in numbers for y in numbers]
    xs, ys = map(list, zip(*pairs))
    mask = 2**info.bits - 1

    def quotient(x: int, y: int) -> int:
        if y == 0:
            return -1
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    divided = [int(q) & mask for q in run("div", dtype, xs, ys)]
    assert divided == [quotient(x, y) & mask for x, y in pairs]
    remainders = [int(r) for r in run("rem", dtype, xs, ys)]
    assert remainders == [x - quotient(x, y) * y if y else x for x, y in pairs]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype: str) -> None:
    info = np.iinfo(reference.NUMPY[dtype])
    bits, mask = info.bits, 2**info.bits - 1
    numbers = [info.min, info.max, 0, 1, 2, 5, 100, info.max // 3]
    words = [x & mask for x in numbers]
    rotated = run("rotl", dtype, numbers, [3] * len(numbers))
    assert [int(x) & mask for x in rotated] == [(w << 3 | w >> (bits - 3)) & mask for w in words]
    assert [int(x) & mask for x in run("rotl", dtype, numbers, [0] * len(numbers))] == words
    assert list(run("popcount", dtype, numbers)) == [w.bit_count() for w in words]
    assert list(run("clz", dtype, numbers)) == [bits - w.bit_length() for w in words]
    assert list(run("shr", dtype, numbers, [2] * len(numbers))) == [x >> 2 for x in numbers]


@pytest.mark.parametrize("bits", [32, 64])
def test_upper_half_of_a_product(bits: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**bits, 1000, f"u{bits // 8}")
    y = rng.integers(0, 2**bits, 1000, f"u{bits // 8}")
    x[0] = y[0] = 2**bits - 1
    high = run("mulhi", f"u{bits}", list(x), list(y))
    assert [int(h) for h in high] == [int(a) * int(b) >> bits for a, b in zip(x, y)]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_min_and_max_order_zeros_and_keep_nan(dtype: str) -> None:
    nan = float("nan")
    xs = [0.0, -0.0, -0.0, nan, 1.0, nan, 1.0, -np.inf]
    ys = [-0.0, 0.0, -0.0, 1.0, nan, nan, 2.0, np.inf]
    low, high = run("min", dtype, xs, ys), run("max", dtype, xs, ys)
    same(low.astype(float), np.array([-0.0, -0.0, -0.0, nan, nan, nan, 1.0, -np.inf]))
    same(high.astype(float), np.array([0.0, 0.0, -0.0, nan, nan, nan, 2.0, np.inf]))


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_floats_to_integers_saturate(source: str, target: str) -> None:
    info = np.iinfo(reference.NUMPY[target])
    graph = Graph([])
    x = graph.param(0, source)
    values = [0.5, -0.5, 2.9, -2.9, 127.5, -128.0, 300.0, -300.0, 2.0**31, 2.0**63, 2.0**64, -1e30]
    with np.errstate(over="ignore"):
        values = np.array([*values, np.inf, -np.inf], reference.NUMPY[source])
    got = through(x.to(target), x, values)
    kept = [min(max(v, info.min), info.max) for v in map(float, values)]
    assert [int(v) for v in got] == [info.max if v == info.max else int(v) for v in kept]
    assert through(x.to(target), x, np.array([np.nan], values.dtype)) == [0]


def test_fused_multiply_add_rounds_once() -> None:
    rng = np.random.default_rng(1)
    for dtype, low, high in (("f32", -149, 127), ("f64", -1074, 1023), ("f64", -300, 300)):
        x, y, z = (
            np.ldexp(rng.uniform(-1, 1, 3000), rng.integers(low, high, 3000)).astype(
                reference.NUMPY[dtype]
            )
            for _ in range(3)
        )
        with np.errstate(over="ignore", under="ignore"):
            z[::2] = -(x * y)[::2]  # cancels all but the error of the product
        z[~np.isfinite(z)] = 1
        got = run("fma", dtype, list(x), list(y), list(z))
        for a, b, c, r in zip(x, y, z, got):
            exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            assert nearest(exact, dtype, r), (dtype, a, b, c, r)


def nearest(exact: Fraction, dtype: str, result: np.floating) -> bool:
    """Whether no neighbour of `result` is closer to `exact`."""
    kind = reference.NUMPY[dtype].type
    if np.isinf(result):
        top = Fraction(float(np.finfo(kind).max)) * (1 + Fraction(1, 2 ** np.finfo(kind).nmant))
        return abs(exact) > top * Fraction(99, 100) and (exact > 0) == (result > 0)
    distance = abs(exact - Fraction(float(result)))
    for way in (-np.inf, np.inf):
        with np.errstate(over="ignore", under="ignore"):
            other = np.nextafter(result, kind(way))
        if np.isfinite(other) and abs(exact - Fraction(float(other))) < distance:
            return False
    return True


def test_fused_multiply_add_at_the_edges() -> None:
    inf, nan = np.inf, np.nan
    rows = [
        (inf, 0.0, 1.0, nan),
        (inf, 1.0, -inf, nan),
        (1e300, 1e300, -inf, -inf),
        (1e300, 1e300, -1e300, inf),
        (1.0, -1.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0, -0.0),
        (1e-300, -1e-300, 0.0, -0.0),
        (1.0, nan, 1.0, nan),
    ]
    x, y, z, expected = (list(c) for c in zip(*rows))
    same(run("fma", "f64", x, y, z), np.array(expected))


def test_narrow_floats_round_after_each_operation() -> None:
    graph = Graph([])
    x = graph.param(0, "f16")
    got = through(x * 3.0 - x, x, np.array([0.1, 1000.0, 40000.0], np.float16))
    expected = [(np.float16(v) * np.float16(3)) - np.float16(v) for v in (0.1, 1000.0)]
    np.testing.assert_array_equal(got, np.array([*expected, np.inf], np.float16))
    b = graph.param(1, "bf16")
    values = np.array([1.0, 1 + 2**-7], ml_dtypes.bfloat16)
    assert through(b + 2.0**-9, b, values).tolist() == [1.0, 1 + 2**-7]


def test_constants_wrap_and_bits_pass() -> None:
    graph = Graph([])
    assert reference.evaluate([graph.const(-1, "u32")], {})[0] == 2**32 - 1
    assert reference.evaluate([graph.const("0x1.8p-149", "f32")], {})[0] == 2.0**-148
    x = graph.param(0, "f32")
    values = np.array([1.0, -0.0], np.float32)
    assert through(x.bits("u32"), x, values).tolist() == [0x3F800000, 0x80000000]


# kernels


def test_a_sum_of_each_row() -> None:
    graph = Graph([3, 5])
    add = folding(graph, "add", "f32", 0.0)
    element = graph.read(0, Index(0, ((0, 5), (1, 1))), "f32")
    inner = Loop(1, 4, (Reduce((7,), add, (element,)),), (Acc(7, "f32", 0.5),))
    store = Store(1, axis_index(0), graph.acc(7, "f32"))
    operands = (Operand("f32", False), Operand("f32", True))
    kernel = Kernel(operands, (3, 5), (Loop(0, 1, (inner, store)),), True)
    x, out = np.arange(15, dtype=np.float32), np.zeros(3, np.float32)
    reference.run_kernel(kernel, [x, out])
    np.testing.assert_array_equal(out, x.reshape(3, 5).sum(1) + 0.5)


def test_two_results_fold_together() -> None:
    graph = Graph([6])
    best, at, other, place = (graph.param(i, d) for i, d in enumerate(["f32", "i64"] * 2))
    larger = other > best
    results = graph.select(larger, other, best), graph.select(larger, place, at)
    combine = Combine((best, at, other, place), results, (-np.inf, 0))
    values = graph.read(0, axis_index(0), "f32"), graph.value(axis_index(0))
    loop = Loop(
        0, 1, (Reduce((0, 1), combine, values),), (Acc(0, "f32", -np.inf), Acc(1, "i64", 0))
    )
    stores = (Store(1, ZERO, graph.acc(0, "f32")), Store(2, ZERO, graph.acc(1, "i64")))
    kernel = Kernel((), (6,), (loop, *stores), False)
    x = np.array([1, 5, 2, 5, -1, 0], np.float32)
    top, where = np.zeros(1, np.float32), np.zeros(1, np.int64)
    reference.run_kernel(kernel, [x, top, where])
    assert (top[0], where[0]) == (5, 1)


def test_guards_keep_reads_and_stores_in_bounds() -> None:
    graph = Graph([6])
    i = axis_index(0)
    source = i.plus(-2)
    inside = graph.within(source, 0, 4)
    with Guarded(graph, inside):
        padded = graph.read(0, source, "i32")
    gathered = graph.read(2, graph.position(padded), "bool")
    stores = (
        Store(1, i, padded),
        Store(3, source, gathered, inside),
    )
    kernel = Kernel((), (6,), (Loop(0, 8, stores),), True)
    x, out = np.array([3, 0, 2, 1], np.int32), np.full(6, -7, np.int32)
    flags, taken = np.array([True, False, True, True]), np.zeros(4, bool)
    reference.run_kernel(kernel, [x, out, flags, taken])
    assert out.tolist() == [0, 0, 3, 0, 2, 1]
    assert taken.tolist() == [True, True, True, False]


def test_partial_results_are_read_in_order() -> None:
    """Numbers written digit by digit: what a digit adds depends on those after it."""
    graph = Graph([2, 4])
    value, power, digit, ten = (graph.param(i, "i32") for i in range(4))
    combine = Combine((value, power, digit, ten), (value * ten + digit, power * ten), (0, 1))
    place = Index(3, ((0, 4), (1, -1)))
    values = graph.read(0, place, "i32"), graph.const(10, "i32")
    fold = Prefix((0, 1), combine, values)
    inner = Loop(
        1, 4, (fold, Store(1, place, graph.acc(0, "i32"))), (Acc(0, "i32", 7), Acc(1, "i32", 1))
    )
    store = Store(2, axis_index(0), graph.acc(1, "i32"))
    kernel = Kernel((), (2, 4), (Loop(0, 1, (inner, store)),), True)
    x = np.array([4, 3, 2, 1, 0, 8, 0, 5], np.int32)
    out, powers = np.zeros(8, np.int32), np.zeros(2, np.int32)
    reference.run_kernel(kernel, [x, out, powers])
    assert out.tolist() == [71234, 7123, 712, 71, 75080, 7508, 750, 75]
    assert powers.tolist() == [10_000, 10_000]
