"""The elementary functions against longer arithmetic: samples of f64, and all of f32.

Errors are in units in the last place of the true value; what is promised stands in FUNCTIONS. The
comparison at every f32 that there is, with the f64 form of the function, runs with `-m exhaustive`.
The greatest found there, and in samples of 10^4 to 10^6 f64 (* and of as many pairs of f32):

    function      f32   f64     function      f32   f64     function      f32   f64
    exp          0.89  0.91     acos         1.12  1.15     erf          1.70  1.04
    exp2         0.92  0.96     atan         1.57  1.40     erfc         0.78  3.31
    expm1        1.52  1.73     sinh         1.62  1.53     erf_inv      1.79  3.27
    logistic     1.72  1.52     cosh         1.34  1.29     lgamma       0.50  4.11
    log          0.92  0.93     tanh         1.81  1.93     digamma      0.50  4.97
    log1p        1.54  1.28     asinh        0.50  1.82     bessel_i0e   0.64  3.99
    sin          1.55  2.33     acosh        0.50  2.01     bessel_i1e   0.67  3.89
    cos          1.55  2.35     atanh        0.50  1.95     pow          0.54  2.12 *
    tan          1.77  3.40     cbrt         1.04  0.94     atan2        1.65  1.44 *
    asin         1.89  2.16     rsqrt        1.49  1.49

Near zeros of lgamma and digamma the error is below 1e-14 for f64, whatever the units.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from drivers import possible
from funcgrad.compiler.elementary import (
    bessel,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_error_function,
    inverse_trigonometric,
    logarithm,
    powers,
    trigonometric,
)
from funcgrad.compiler.elementary.neighbor import nextafter
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.emit import Module, emit_kernel
from funcgrad.compiler.llvm.target import Target, host_target
from funcgrad.compiler.loops import (
    BITS,
    FLOATS,
    Acc,
    Combine,
    Expr,
    Graph,
    Index,
    Kernel,
    Loop,
    Operand,
    Reduce,
    Store,
    axis_index,
)
from funcgrad.compiler.reference import NUMPY, evaluate
from longer import (
    INF,
    LONG,
    LONGER,
    NAN,
    bessel_ie,
    digamma,
    erf,
    erf_inv,
    erfc,
    lgamma,
)


class Case(NamedTuple):
    """A function, the truth in longer arithmetic, where to sample, and the promised errors."""

    function: Callable[[Expr], Expr]
    truth: Callable[[Any], Any]
    low: float
    high: float
    f32: float = 2.0
    f64: float = 4.0
    f32_absolute: float = 0.0  # errors that are allowed as well, near zeros of the function
    f64_absolute: float = 0.0


FUNCTIONS = {
    "exp": Case(exponential.exp, np.exp, -750, 720),
    "exp2": Case(exponential.exp2, np.exp2, -1080, 1030),
    "expm1": Case(exponential.expm1, np.expm1, -40, 710),
    "logistic": Case(exponential.logistic, lambda x: 1 / (1 + np.exp(-x)), -750, 40),
    "log": Case(logarithm.log, np.log, 0, 10),
    "log1p": Case(logarithm.log1p, np.log1p, -1, 10),
    "sin": Case(trigonometric.sin, np.sin, -1e4, 1e4),
    "cos": Case(trigonometric.cos, np.cos, -1e4, 1e4),
    "tan": Case(trigonometric.tan, np.tan, -1e4, 1e4),
    "asin": Case(inverse_trigonometric.asin, np.arcsin, -1, 1),
    "acos": Case(inverse_trigonometric.acos, np.arccos, -1, 1),
    "atan": Case(inverse_trigonometric.atan, np.arctan, -10, 10),
    "sinh": Case(hyperbolic.sinh, np.sinh, -711, 711),
    "cosh": Case(hyperbolic.cosh, np.cosh, -711, 711),
    "tanh": Case(hyperbolic.tanh, np.tanh, -20, 20, f32=2.5),
    "asinh": Case(hyperbolic.asinh, np.arcsinh, -100, 100),
    "acosh": Case(hyperbolic.acosh, np.arccosh, 1, 100),
    "atanh": Case(hyperbolic.atanh, np.arctanh, -1, 1),
    "cbrt": Case(powers.cbrt, np.cbrt, -100, 100),
    "rsqrt": Case(powers.rsqrt, lambda x: 1 / np.sqrt(x), 0, 100),
    "erf": Case(error_function.erf, erf, -6, 6),
    "erfc": Case(error_function.erfc, erfc, -6, 26.5),
    "erf_inv": Case(inverse_error_function.erf_inv, erf_inv, -1, 1),
    "lgamma": Case(gamma.lgamma, lgamma, -20, 40, 2, 4, 1e-7, 4e-15),
    "digamma": Case(gamma.digamma, digamma, -20, 40, 2, 4, 1e-7, 4e-15),
    "bessel_i0e": Case(bessel.bessel_i0e, lambda x: bessel_ie(0, x), -40, 40, f64=5.0),
    "bessel_i1e": Case(bessel.bessel_i1e, lambda x: bessel_ie(1, x), -40, 40, f64=5.0),
}
NAMES = list(FUNCTIONS)
WITHOUT_FMA = {"erf_inv": 2.25}
EDGES = [0.0, INF, NAN, 1.0, 2.0, 0.5, 5e-324, 1e-45, 1e-310, 1e-40, 1.5, 8.0, 100.0, 3e38, 1.7e308]
# Close to multiples of pi/2; of all f64 the last is the closest.
EDGES += [11.0, 355.0, 103993.0, 1e22, 6381956970095103 * 2.0**797]


def errors(got: np.ndarray, truth: np.ndarray, absolute: float = 0.0) -> np.ndarray:
    """How many units in the last place lie between; infinite for a wrong nan, zero or infinity."""
    kind = got.dtype.type
    info = np.finfo(kind)
    bound = 2.0**info.maxexp if info.maxexp < 1000 else LONG(2) ** info.maxexp
    with np.errstate(all="ignore"):
        rounded = truth.astype(kind)
        nans = np.isnan(truth)
        wide, true = (np.clip(v.astype(truth.dtype), -bound, bound) for v in (got, truth))
        exponent = np.frexp(true)[1] - (info.nmant + 1)
        least = np.frexp(info.smallest_subnormal)[1] - 1
        distance = np.abs(wide - true)
        units = np.ldexp(distance, -np.maximum(exponent, least)).astype(np.float64)
        units[distance <= absolute] = 0
        units[(rounded == 0) & (got == 0) & (np.signbit(got) != np.signbit(rounded))] = INF
        units[np.isnan(got) != nans] = INF
        units[np.isnan(got) & nans] = 0
    return units


def through(function: Callable[..., Expr], *arrays: np.ndarray) -> np.ndarray:
    """A function of arrays by the reference evaluator."""
    graph = Graph([])
    names = {dtype: name for name, dtype in NUMPY.items()}
    params = [graph.param(i, names[a.dtype]) for i, a in enumerate(arrays)]
    return evaluate([function(*params)], dict(zip(params, arrays)))[0]


def samples(case: Case, dtype: type, count: int) -> np.ndarray:
    """Edges, random bits, and numbers that are evenly and geometrically spread over a domain."""
    rng = np.random.default_rng(0)
    word = np.uint32 if dtype is np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(word).max, count, word).view(dtype)
    spread = rng.uniform(case.low, case.high, count)
    small = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-60, 6, count)
    near = np.concatenate([1 + small, small])
    with np.errstate(over="ignore", under="ignore"):
        numbers = np.concatenate([EDGES, [-x for x in EDGES], spread, near]).astype(dtype)
    return np.concatenate([numbers, bits])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_by_the_reference(name: str, dtype: type) -> None:
    case = FUNCTIONS[name]
    x = samples(case, dtype, 300 if case.truth in (erf, erfc, erf_inv) else 2000)
    with np.errstate(all="ignore"):
        truth = np.asarray(case.truth(x.astype(LONG)), LONG)
    promised, absolute = (case.f32, case.f32_absolute)
    if dtype is np.float64:
        promised, absolute = case.f64, case.f64_absolute
    if dtype is np.float64 and not LONGER:
        promised += 1  # the truth itself is rounded
    check(through(case.function, x), truth, promised, (x,), absolute)


def check(
    got: np.ndarray,
    truth: np.ndarray,
    promised: float,
    args: Sequence[np.ndarray],
    absolute: float = 0.0,
) -> None:
    units = errors(got, truth, absolute)
    worst = int(np.argmax(units))
    assert units[worst] <= promised, (
        f"{[float(a[worst]) for a in args]}: {got[worst]}, not {truth[worst]}, {units[worst]} units"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_the_result_of_f32(name: str, dtype: Any) -> None:
    function = FUNCTIONS[name].function
    x = np.arange(2**16, dtype=np.uint16).view(dtype)[::7]
    with np.errstate(all="ignore"):
        wanted = through(function, x.astype(np.float32)).astype(dtype)
    got = through(function, x)
    nans = np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), nans)
    np.testing.assert_array_equal(got.view(np.uint16)[~nans], wanted.view(np.uint16)[~nans])


@pytest.mark.parametrize("dtype", ["i32", "bool"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    x = Graph([]).param(0, dtype)
    with pytest.raises(TypeError, match=f"exp takes floats of one dtype, not {dtype}"):
        exponential.exp(x)


# functions of two arguments


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edges, and random ones of several kinds."""
    rng = np.random.default_rng(1)
    edges = [*EDGES, 3.0, -3.0, 2.5, 16777217.0, 1e30, *(-x for x in EDGES)]
    with np.errstate(over="ignore", under="ignore"):
        edge = np.array(edges, dtype)
    first, second = (m.ravel() for m in np.meshgrid(edge, edge))
    word = np.uint32 if dtype is np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(word).max, (2, 4000), word).view(dtype)
    log_max = math.log(np.finfo(dtype).max)
    base = np.exp(rng.uniform(-log_max, log_max, 4000))
    near = 1 + rng.uniform(-1, 1, 4000) * 2.0 ** rng.integers(-20, 0, 4000)
    power = np.clip(rng.uniform(-1.1, 1.1, 4000) * log_max / np.log(near), -1e30, 1e30)
    whole = rng.integers(-20, 20, 4000)
    x = [first, bits[0], base, near, -near * 2, rng.normal(size=4000)]
    y = [second, bits[1], rng.uniform(-1.1, 1.1, 4000), power, whole, rng.normal(size=4000)]
    with np.errstate(all="ignore"):
        return np.concatenate(x).astype(dtype), np.concatenate(y).astype(dtype)


BINARY = {
    "pow": (powers.pow, np.power, 2.0, 4.0),
    "atan2": (inverse_trigonometric.atan2, np.arctan2, 2.0, 4.0),
}


@pytest.mark.skipif(not LONGER, reason="long double is no longer than double here")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(BINARY))
def test_two_arguments_by_the_reference(name: str, dtype: type) -> None:
    function, truth, f32, f64 = BINARY[name]
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = truth(x.astype(LONG), y.astype(LONG))
    check(through(function, x, y), wanted, f32 if dtype is np.float32 else f64, (x, y))


@pytest.mark.parametrize("dtype", list(FLOATS))
def test_nextafter(dtype: str) -> None:
    rng = np.random.default_rng(2)
    width = BITS[dtype] // 8
    bits = rng.integers(0, 2 ** (8 * width) - 1, (2, 3000), f"u{width}", endpoint=True)
    numbers = bits.view(NUMPY[dtype])
    edge = np.array([0, 1, -1, INF, -INF, NAN], NUMPY[dtype])
    first, second = (m.ravel() for m in np.meshgrid(edge, edge))
    x, y = np.concatenate([numbers[0], first]), np.concatenate([numbers[1], second])
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
    got = through(nextafter, x, y)
    nans = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nans)
    np.testing.assert_array_equal(got[~nans].view(f"u{width}"), wanted[~nans].view(f"u{width}"))


def test_powers_by_integers() -> None:
    x = np.array([-2.5, -0.0, 0.0, 3.0, INF, NAN, 1e-20], np.float64)
    with np.errstate(all="ignore"):
        for n in (0, 1, 2, 3, 7, 10, -1, -2, -5):
            got = through(lambda x, n=n: powers.integer_pow(x, n), x)
            np.testing.assert_allclose(got, x**n, rtol=1e-15)
    whole = np.array([-3, 0, 7], np.int32)
    np.testing.assert_array_equal(through(lambda x: powers.integer_pow(x, 5), whole), whole**5)
    with pytest.raises(ValueError, match="integers have no power -1"):
        powers.integer_pow(Graph([]).param(0, "i32"), -1)
    base, power = np.array([2.0, -3.0], np.float32), np.array([-3, 3], np.int32)
    np.testing.assert_array_equal(through(powers.pow, base, power), [0.125, -27])


# every f32


def units_between(got: Expr, true: Expr, absolute: float) -> Expr:
    """As `errors`, for an f32 and what it should be in f64."""
    graph = got.graph
    wide, bound = got.to("f64"), 2.0**128
    lost = (true.to("f32").eq(0.0)) & wide.eq(0.0) & (wide.bits("i64") < 0).ne(true.bits("i64") < 0)
    distance = (clip(wide, bound) - clip(true, bound)).apply("abs")
    exponent = clip(true, 2.0**127).bits("u64") & 0x7FF0000000000000
    power = exponent.bits("f64")
    power = graph.select(power < 2.0**-126, 2.0**-126, power)
    units = graph.select(distance <= absolute, 0.0, distance / (power * 2.0**-23))
    wrong = wide.eq(wide).ne(true.eq(true)) | lost
    units = graph.select(true.eq(true), units, 0.0)
    return graph.select(wrong, INF, units)


def clip(x: Expr, bound: float) -> Expr:
    graph = x.graph
    return graph.select(x > bound, bound, graph.select(x < -bound, -bound, x))


PARTS = 64


def sweep(case: Case, stride: int, target: Target) -> tuple[float, float]:
    """The greatest error of an f32 function over every stride-th pattern, and where it is."""
    graph = Graph([PARTS, 2**32 // PARTS // stride])
    position = Index(0, ((0, graph.extents[1] * stride), (1, stride)))
    bits = graph.value(position, "u32")
    x = bits.bits("f32")
    units = units_between(case.function(x), case.function(x.to("f64")), case.f32_absolute)
    most, where, other, place = (graph.param(i, d) for i, d in enumerate(["f64", "u32"] * 2))
    more = other > most
    results = graph.select(more, other, most), graph.select(more, place, where)
    combine = Combine((most, where, other, place), results, (-1.0, 0))
    fold = Reduce((0, 1), combine, (units, bits))
    accs = (Acc(0, "f64", -1.0), Acc(1, "u32", 0))
    inner = Loop(1, target.lanes("f32"), (fold,), accs)
    stores = (
        Store(0, axis_index(0), graph.acc(0, "f64")),
        Store(1, axis_index(0), graph.acc(1, "u32")),
    )
    operands = (Operand("f64", True), Operand("u32", True))
    kernel = Kernel(operands, tuple(graph.extents), (Loop(0, 1, (inner, *stores)),), True)
    module = Module()
    emit_kernel(module, kernel, "sweep", target)
    code = engine.Code([engine.compile_object(module.text(target), target)])
    arguments = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    run = ctypes.CFUNCTYPE(None, *arguments)(code.address("sweep"))
    units_found, bits_found = np.zeros(PARTS), np.zeros(PARTS, np.uint32)
    pointers = (ctypes.c_void_p * 2)(units_found.ctypes.data, bits_found.ctypes.data)
    run(ctypes.addressof(pointers), 0, PARTS)
    worst = int(np.argmax(units_found))
    return units_found[worst], float(bits_found[worst : worst + 1].view(np.float32)[0])


def promised(name: str, target: Target) -> float:
    """Without fused multiplication, each step rounds once more."""
    return FUNCTIONS[name].f32 if target.fma else WITHOUT_FMA.get(name, FUNCTIONS[name].f32)


needs_engine = pytest.mark.skipif(not engine.available(), reason="there is no code generator here")


@needs_engine
@pytest.mark.parametrize("name", NAMES)
def test_samples_of_f32_as_machine_code(name: str) -> None:
    for target in possible():
        error, where = sweep(FUNCTIONS[name], 4099, target)
        assert error <= promised(name, target), (target.isa, where, error)


@needs_engine
@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_f32_as_machine_code(name: str) -> None:
    error, where = sweep(FUNCTIONS[name], 1, host_target())
    assert error <= promised(name, host_target()), (where, error)
