"""Convolutions in native code against NumPy's and JAX's: layouts, strides, holes, padding, groups,
element types and instruction levels; the same bits however the work is divided."""

import ctypes
import functools
import random
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax as jlax

import funcgrad
from drivers import BACKWARDS, WHOLE, possible
from funcgrad import lax
from funcgrad.compiler.llvm import pool
from funcgrad.compiler.llvm.conv.plans import MODULES, plan
from funcgrad.compiler.llvm.conv.steps import ConvPlan
from funcgrad.compiler.llvm.engine import Code, available, cached_object, compile_object
from funcgrad.compiler.llvm.target import (
    AVX2,
    AVX512,
    NEON,
    SSE2,
    Target,
    architecture,
    host_target,
)
from funcgrad.primitives.convolution import conv_evaluate
from funcgrad.primitives.convolution_spec import ConvDimensionNumbers
from test_convolution import CASES

pytestmark = pytest.mark.skipif(not available(), reason="llvmlite is not installed")

NHWC = ("NHWC", "HWIO", "NHWC")
DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
}
# Relative to the largest element of the result.
TOLERANCE = {"f32": 2e-5, "f64": 1e-13, "bf16": 1e-2, "f16": 2e-3}
SETTINGS = (
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "dimension_numbers",
    "feature_group_count",
    "batch_group_count",
)


@functools.cache
def driver(text: str) -> Code:
    return Code([compile_object(text, host_target())])


@functools.cache
def function(symbol: str, target: Target, division: str) -> tuple[Any, Code]:
    """A library function, and the code that keeps it alive."""
    if division == "threads":
        parallel = pool.symbols()["fg_parallel"]
    else:
        parallel = driver(division).address("fg_parallel")
    image = cached_object(MODULES[symbol](target), target)
    code = Code([image], {"fg_parallel": parallel})
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(symbol)), code


GUARD = 256


def run(
    found: ConvPlan,
    lhs: np.ndarray,
    rhs: np.ndarray,
    out: np.ndarray,
    target: Target,
    division: str = WHOLE,
) -> None:
    """Makes the calls of a plan, and sees that scratch memory was not left."""
    memory = np.full(found.scratch + 64 + 2 * GUARD, 0xFF, np.uint8)
    start = -(-(memory.ctypes.data + GUARD) // 64) * 64
    addresses = {name: a.ctypes.data for name, a in (("lhs", lhs), ("rhs", rhs), ("out", out))}
    addresses["scratch"] = start
    for symbol, places, values in found.calls:
        words = np.array([addresses[n] + offset for n, offset in places] + [*values], np.int64)
        function(symbol, target, division)[0](words.ctypes.data)
    used = start - memory.ctypes.data
    assert (memory[:used] == 0xFF).all() and (memory[used + found.scratch :] == 0xFF).all()


def convolved(
    lhs: np.ndarray,
    rhs: np.ndarray,
    params: dict[str, Any],
    dtype: str = "f32",
    out_dtype: str | None = None,
    target: Target | None = None,
    division: str = WHOLE,
    **more: Any,
) -> np.ndarray:
    """The convolution by native code."""
    target = target or host_target()
    found = plan(target, lhs.shape, rhs.shape, dtype, out_dtype=out_dtype, **params, **more)
    assert found is not None
    out = np.full(expected(lhs, rhs, params).shape, np.nan, DTYPES[out_dtype or dtype])
    run(found, lhs, rhs, out, target, division)
    return out


def expected(lhs: np.ndarray, rhs: np.ndarray, params: dict[str, Any]) -> np.ndarray:
    """The convolution by NumPy, in f64."""
    wide = lhs.astype(np.float64), rhs.astype(np.float64)
    return conv_evaluate(np, *wide, preferred_element_type=None, **params)


def assert_near(got: np.ndarray, want: np.ndarray, dtype: str, what: Any) -> None:
    assert got.shape == want.shape
    if want.size:
        scale = np.abs(want).max() + 1e-30
        error = np.abs(got.astype(np.float64) - want).max() / scale
        assert error <= TOLERANCE[dtype], (error, what)


# random convolutions


def random_spec(rng: random.Random, rank: int) -> tuple[int, ...]:
    """(batch, feature, *spatial) axes, in one of the usual layouts or in any."""
    spatial = tuple(range(1, rank + 1))
    usual = [
        (0, rank + 1, *spatial),
        (rank + 1, 0, *spatial),
        tuple(range(rank + 2)),
        (rank + 1, rank, *range(rank)),
        (rank, rank + 1, *range(rank)),
    ]
    return tuple(rng.choice([*usual, rng.sample(range(rank + 2), rank + 2)]))


def placed(sizes: list[int], spec: tuple[int, ...]) -> tuple[int, ...]:
    by_axis = dict(zip(spec, sizes, strict=True))
    return tuple(by_axis[axis] for axis in range(len(spec)))


def random_case(rng: random.Random) -> tuple[tuple, tuple, dict[str, Any]]:
    """Shapes of lhs and rhs, and parameters."""
    rank = rng.choice((0, 1, 1, 2, 2, 2, 2))
    groups = rng.choice((1, 1, 1, 1, 2, 3, 17, 32))
    inputs = rng.choice((1, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33) if groups < 9 else (1, 1, 2, 3))
    outputs = rng.choice((1, 1, 2, 3, 8, 16, 17, 33, 48, 70) if groups < 9 else (1, 1, 2, 3))
    batch = rng.choice((1, 1, 2, 3, 4))
    by_batch = groups > 1 and rng.random() < 0.5
    kernel = rng.choices((1, 1, 2, 3, 4), k=rank)
    sizes = rng.choices((1, 2, 4, 5, 7, 9), k=rank)
    holes = rng.choices((1, 1, 1, 2, 3), k=rank)
    padding = []
    for size, hole in zip(sizes, holes, strict=True):
        low, high = rng.choices((0, 1, 2, -1, 3), k=2)
        fits = 1 + hole * (size - 1) + low + high >= 0
        padding.append((low, high) if fits else (0, 0))
    lhs = [groups * inputs, batch] if by_batch else [batch, groups * inputs]
    rhs = [groups * outputs, batch if by_batch else inputs]
    specs = [random_spec(rng, rank) for _ in range(3)]
    params = {
        "window_strides": tuple(rng.choices((1, 1, 2, 3), k=rank)),
        "padding": tuple(padding),
        "lhs_dilation": tuple(holes),
        "rhs_dilation": tuple(rng.choices((1, 1, 1, 2, 3), k=rank)),
        "dimension_numbers": ConvDimensionNumbers(*specs),
        "feature_group_count": 1 if by_batch else groups,
        "batch_group_count": groups if by_batch else 1,
    }
    return placed([*lhs, *sizes], specs[0]), placed([*rhs, *kernel], specs[1]), params


def check_random(rng: random.Random, numbers: np.random.Generator, target: Target) -> None:
    dtype = rng.choice(("f32", "f32", "f64", "bf16", "f16"))
    out_dtype = "f32" if dtype in ("bf16", "f16") and rng.random() < 0.3 else dtype
    left, right, params = random_case(rng)
    lhs = numbers.standard_normal(left).astype(DTYPES[dtype])
    rhs = numbers.standard_normal(right).astype(DTYPES[dtype])
    turned = rng.random() < 0.3
    spatial = tuple(params["dimension_numbers"].rhs_spec[2:])
    want = expected(lhs, np.flip(rhs, spatial) if turned else rhs, params)
    results = [
        convolved(lhs, rhs, params, dtype, out_dtype, target, division, rhs_reversed=turned)
        for division in (WHOLE, BACKWARDS)
    ]
    assert_near(results[0], want, dtype, (left, right, dtype, params))
    assert results[0].tobytes() == results[1].tobytes(), (left, right, dtype, params)


@pytest.mark.parametrize("seed", range(12))
def test_random_convolutions(seed: int) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(25):
        check_random(rng, numbers, host_target())


@pytest.mark.skipif(architecture(host_target().triple) != "x86_64", reason="levels of x86")
@pytest.mark.parametrize("target", [AVX2, SSE2], ids=lambda t: t.isa)
def test_lower_levels(target: Target) -> None:
    rng, numbers = random.Random(99), np.random.default_rng(99)
    for _ in range(60):
        check_random(rng, numbers, target)


@pytest.mark.parametrize("target", [AVX512, NEON], ids=lambda t: t.isa)
@pytest.mark.parametrize("symbol", list(MODULES))
def test_modules_compile(symbol: str, target: Target) -> None:
    text = MODULES[symbol](target)
    assert text == MODULES[symbol](target)
    assert symbol.encode() in compile_object(text, target)


# the cases of the primitive's own tests


@pytest.mark.parametrize("case", list(CASES))
def test_cases_of_the_primitive(case: str) -> None:
    left, right, strides, padding, more = CASES[case]
    numbers = np.random.default_rng(1)
    lhs = numbers.standard_normal(left).astype(np.float32)
    rhs = numbers.standard_normal(right).astype(np.float32)
    eqn = equations(lambda x, w: lax.conv_general_dilated(x, w, strides, padding, **more), lhs, rhs)
    params = settings(eqn[0])
    if len(strides) > 2:
        assert plan(host_target(), left, right, "f32", **params) is None
        return
    theirs = jlax.conv_general_dilated(lhs, rhs, strides, padding, **more)
    assert_near(convolved(lhs, rhs, params), np.asarray(theirs), "f32", case)


def equations(function: Any, *args: Any) -> list:
    """The convolutions that a function stages, in order."""
    found = []

    def walk(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "conv_general_dilated":
                found.append(eqn)
            for value in eqn.params.values():
                inner = getattr(value, "jaxpr", value)
                if hasattr(inner, "eqns"):
                    walk(inner)

    walk(funcgrad.make_jaxpr(function)(*args).jaxpr)
    return found


def settings(eqn: Any) -> dict[str, Any]:
    return {name: eqn.params[name] for name in SETTINGS}


# what gradients become


def image(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def calls_of(eqn: Any) -> list[str]:
    shapes = (tuple(v.aval.shape) for v in eqn.invars)
    found = plan(host_target(), *shapes, "f32", **settings(eqn))
    assert found is not None
    return [call.symbol.removeprefix("fg_conv_") for call in found.calls]


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_of_images_are_not_copied(stride: int) -> None:
    x, w = image(2, 8, 8, 32), image(3, 3, 32, 64)

    def loss(x: Any, w: Any) -> Any:
        out = lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=NHWC)
        return (out**2).sum()

    forward, *gradients = map(calls_of, equations(funcgrad.grad(loss, (0, 1)), x, w))
    assert forward == ["copy_f32_f32", "dense_f32"]  # the copy packs the kernel
    assert sorted(gradients) == [["copy_f32_f32", "dense_f32"], ["weights_f32"]]


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_of_depthwise_images_are_not_copied(stride: int) -> None:
    x, w = image(2, 8, 8, 32), image(3, 3, 1, 32)

    def loss(x: Any, w: Any) -> Any:
        out = lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=NHWC, feature_group_count=32
        )
        return (out**2).sum()

    found = sorted(map(calls_of, equations(funcgrad.grad(loss, (0, 1)), x, w)))
    kernel = "depthwise_3_f32" if stride == 1 else "depthwise_f32"
    assert found == [[kernel], [kernel], ["depthwise_weights_f32"]]


# (width, taps, groups, inputs, outputs, padding, stride of h, spread of h): rows in which no place
# meets the border, one side of it, or both; fewer places than a tile; fewer features than a vector.
ROWS = (
    (41, (3, 3), 32, 1, 1, ((1, 1), (1, 1)), 1, 1),
    (17, (1, 2), 40, 1, 1, ((0, 0), (0, 1)), 1, 1),
    (40, (2, 4), 5, 2, 1, ((3, 0), (2, 5)), 2, 1),
    (33, (3, 5), 7, 1, 3, ((2, 2), (-2, -3)), 1, 2),
    (16, (2, 6), 33, 1, 1, ((0, 1), (20, 0)), 3, 1),
    (3, (3, 7), 16, 1, 2, ((-1, 4), (5, 5)), 1, 3),
    (64, (5, 3), 65, 1, 1, ((0, 0), (0, 0)), 1, 1),
)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_depthwise_rows(case: tuple, dtype: str) -> None:
    width, taps, groups, inputs, outputs, padding, stride, spread = case
    params = {
        "window_strides": (stride, 1),
        "padding": padding,
        "lhs_dilation": (1, 1),
        "rhs_dilation": (spread, 1),
        "dimension_numbers": ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
        "feature_group_count": groups,
        "batch_group_count": 1,
    }
    lhs = image(2, 9, width, groups * inputs).astype(DTYPES[dtype])
    rhs = image(*taps, inputs, groups * outputs, seed=1).astype(DTYPES[dtype])
    for turned in (False, True):
        want = expected(lhs, np.flip(rhs, (0, 1)) if turned else rhs, params)
        for target in possible():
            found = plan(target, lhs.shape, rhs.shape, dtype, rhs_reversed=turned, **params)
            assert found is not None
            kernel = f"fg_conv_depthwise_{taps[1]}_{'f64' if dtype == 'f64' else 'f32'}"
            assert kernel in {call.symbol for call in found.calls}
            got = convolved(lhs, rhs, params, dtype, target=target, rhs_reversed=turned)
            assert_near(got, want, dtype, (case, target.isa))
            parts = convolved(lhs, rhs, params, dtype, None, target, BACKWARDS, rhs_reversed=turned)
            assert got.tobytes() == parts.tobytes()


def test_depthwise_padding_is_multiplied() -> None:
    """Zeros around the image meet infinite weights, as they do in JAX."""
    x, w = image(1, 4, 20, 16), image(3, 3, 1, 16, seed=1)
    w[0, 0, 0, 3], w[1, 2, 0, 5] = np.inf, np.nan
    conv = lambda lax: (
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=NHWC, feature_group_count=16
        )
    )
    want = np.asarray(conv(jlax)(x, w))
    got = np.asarray(funcgrad.jit(conv(lax))(x, w))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))


def test_few_outputs_are_dot_products() -> None:
    lanes = host_target().lanes("f32")
    for outputs, inputs, kernel in ((1, 2 * lanes, "few"), (1, 2 * lanes + 1, "dense")):
        conv = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC)
        x, w = image(2, 8, 8, inputs), image(3, 3, inputs, outputs, seed=1)
        eqn = equations(conv, x, w)[0]
        assert calls_of(eqn)[-1] == f"{kernel}_f32"
        assert_near(convolved(x, w, settings(eqn)), expected(x, w, settings(eqn)), "f32", kernel)


GRADIENTS = {
    "strided": ((2, 9, 8, 20), (3, 3, 20, 24), (2, 2), {}),
    "dilated": ((2, 9, 8, 12), (3, 2, 12, 16), (1, 2), {"rhs_dilation": (2, 3)}),
    "stem": ((2, 12, 13, 3), (7, 7, 3, 64), (2, 2), {}),
    "one channel": ((3, 9, 9, 1), (3, 3, 1, 33), (1, 1), {}),
    "one channel to many": ((3, 9, 9, 1), (3, 3, 1, 32), (1, 1), {}),
    "pointwise": ((2, 5, 5, 17), (1, 1, 17, 35), (1, 1), {}),
    "groups": ((2, 6, 6, 12), (3, 3, 4, 24), (1, 1), {"feature_group_count": 3}),
    "multiplier": ((2, 6, 7, 20), (3, 3, 1, 60), (2, 1), {"feature_group_count": 20}),
    "few channels": ((2, 6, 7, 3), (3, 3, 1, 3), (1, 1), {"feature_group_count": 3}),
}


@pytest.mark.parametrize("case", list(GRADIENTS))
def test_gradients_against_jax(case: str) -> None:
    left, right, strides, more = GRADIENTS[case]
    x, w = image(*left), image(*right, seed=1)

    def conv(library: Any, x: Any, w: Any) -> Any:
        return library.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=NHWC, **more)

    out, vjp = jax.vjp(lambda x, w: conv(jlax, x, w), x, w)
    ct = image(*out.shape, seed=2)
    dx, dw = map(np.asarray, vjp(ct))
    backward = lambda x, w, ct: funcgrad.vjp(lambda x, w: conv(lax, x, w), x, w)[1](ct)
    forward, of_x, of_w = sorted_by_result(equations(backward, x, w, ct), x.shape, w.shape)
    assert_near(convolved(x, w, settings(forward)), np.asarray(out), "f32", case)
    assert_near(convolved(x, ct, settings(of_w)), dw, "f32", case)
    groups = more.get("feature_group_count", 1)
    # As the rule of the primitive arranges it: [..., group, inputs, outputs of the group].
    arranged = w.reshape(*w.shape[:3], groups, -1).swapaxes(2, 3)
    arranged = np.ascontiguousarray(arranged.reshape(*w.shape[:2], -1, right[-1] // groups))
    got = convolved(ct, arranged, settings(of_x), rhs_reversed=True)
    assert_near(got, dx, "f32", case)


def sorted_by_result(eqns: list, x: tuple, w: tuple) -> tuple[Any, Any, Any]:
    """The convolution itself, and those that give the cotangents of x and of w."""
    forward, *rest = eqns
    of_x = next(e for e in rest if tuple(e.outvars[0].aval.shape) == x)
    of_w = next(e for e in rest if e is not of_x)
    return forward, of_x, of_w


# Inputs and results of one size, though the places do not meet the elements that stand there.
SHIFTED = {
    "moved": ((1, 1), (1, 1), ((1, -1), (0, 0)), (1, 1)),
    "moved back": ((1, 1), (1, 1), ((0, 0), (-2, 2)), (1, 1)),
    "taps to one side": ((3, 2), (1, 1), ((0, 2), (0, 1)), (1, 1)),
    "holes": ((1, 1), (2, 1), ((1, 0), (0, 0)), (2, 1)),
    "wide holes": ((2, 1), (64, 1), ((63, 1), (0, 0)), (64, 1)),
    "holes cut off": ((1, 1), (1, 1), ((-2, -3), (0, 0)), (2, 1)),
}


@pytest.mark.parametrize("case", list(SHIFTED))
def test_places_that_are_not_their_elements(case: str) -> None:
    kernel, strides, padding, holes = SHIFTED[case]
    x, w = image(2, 6, 6, 9), image(*kernel, 9, 20, seed=1)
    conv = lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation=holes, dimension_numbers=NHWC
    )
    params = settings(equations(conv, x, w)[0])
    want = expected(x, w, params)
    assert want.shape[:3] == x.shape[:3]
    assert_near(convolved(x, w, params), want, "f32", case)


# element types


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_halves_are_summed_in_f32_and_rounded_once(dtype: str) -> None:
    x = image(2, 9, 9, 20).astype(DTYPES[dtype])
    w = image(3, 3, 20, 40, seed=1).astype(DTYPES[dtype])
    eqn = equations(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC), x, w
    )[0]
    wide = convolved(x.astype(np.float32), w.astype(np.float32), settings(eqn))
    half = convolved(x, w, settings(eqn), dtype)
    np.testing.assert_array_equal(half, wide.astype(DTYPES[dtype]))
    kept = convolved(x, w, settings(eqn), dtype, "f32")
    np.testing.assert_array_equal(kept, wide)


def test_what_has_no_kernel() -> None:
    two = {
        "window_strides": (1, 1),
        "padding": ((0, 0), (0, 0)),
        "lhs_dilation": (1, 1),
        "rhs_dilation": (1, 1),
        "dimension_numbers": ((0, 1, 2, 3),) * 3,
    }
    shapes = (1, 2, 5, 5), (3, 2, 2, 2)
    target = host_target()
    assert plan(target, *shapes, "f32", **two) is not None
    assert plan(target, *shapes, "i32", **two) is None
    assert plan(target, *shapes, "f32", out_dtype="f64", **two) is None
    far = two | {"padding": ((1 << 30, 0), (0, 0))}
    assert plan(target, *shapes, "f32", **far) is None
    apart = two | {"lhs_dilation": (1, 65)}
    assert plan(target, *shapes, "f32", **apart) is None


# operands in other layouts, memory, threads


def test_strides_of_operands() -> None:
    x, w = image(2, 7, 6, 18), image(3, 3, 18, 37, seed=1)
    conv = lambda x, w: lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=NHWC)
    params = settings(equations(conv, x, w)[0])
    want = expected(x, w, params)
    # The same arrays, held with their axes in other orders.
    for order in ((0, 3, 1, 2), (3, 2, 1, 0)):
        held = np.ascontiguousarray(x.transpose(order))
        kernel = np.ascontiguousarray(w.transpose(order))
        back = np.argsort(order)
        strides = [tuple(s // 4 for s in a.transpose(back).strides) for a in (held, kernel)]
        found = plan(
            host_target(),
            x.shape,
            w.shape,
            "f32",
            lhs_strides=strides[0],
            rhs_strides=strides[1],
            **params,
        )
        assert found is not None
        out = np.full(want.shape, np.nan, np.float32)
        run(found, held, kernel, out, host_target())
        assert_near(out, want, "f32", order)


def test_scratch_does_not_grow_with_the_batch_of_places() -> None:
    params = {
        "window_strides": (1, 1),
        "padding": ((1, 1), (1, 1)),
        "lhs_dilation": (1, 1),
        "rhs_dilation": (1, 1),
        "dimension_numbers": ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
    }
    target = host_target()
    many = plan(target, (4096, 64, 64, 32), (3, 3, 32, 64), "f32", **params)
    assert many is not None and many.scratch < 8 << 20


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same_bits(threads: int) -> None:
    x, w = image(3, 20, 20, 24), image(3, 3, 24, 72, seed=1)

    def loss(x: Any, w: Any) -> Any:
        out = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC)
        return (out**2).sum()

    forward, *rest = equations(funcgrad.grad(loss, (0, 1)), x, w)
    out = convolved(x, w, settings(forward))
    before = pool.num_threads()
    pool.set_num_threads(threads)
    try:
        again = convolved(x, w, settings(forward), division="threads")
        assert again.tobytes() == out.tobytes()
        for eqn in rest:
            lhs, rhs = (out, w) if eqn.outvars[0].aval.shape == x.shape else (x, out)
            alone = convolved(lhs, rhs, settings(eqn))
            shared = convolved(lhs, rhs, settings(eqn), division="threads")
            assert alone.tobytes() == shared.tobytes()
    finally:
        pool.set_num_threads(before)
