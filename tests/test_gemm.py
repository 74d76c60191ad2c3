"""Matrix products in native code against NumPy's, in every layout, at every edge, for each type."""

import ctypes
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from drivers import BACKWARDS, WHOLE
from funcgrad.compiler.llvm import pool
from funcgrad.compiler.llvm.engine import Code, available, compile_object
from funcgrad.compiler.llvm.gemm import product
from funcgrad.compiler.llvm.gemm.product import (
    PARAMS,
    PRODUCTS,
    RELU,
    Matmul,
    matmul_ir,
    matmul_scratch,
)
from funcgrad.compiler.llvm.target import AVX2, AVX512, NEON, SSE2, Target, host_target

pytestmark = pytest.mark.skipif(not available(), reason="llvmlite is not installed")

NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    **{d: np.dtype(f"{'u' * (d[0] == 'u')}int{d[1:]}").type for d in ("i8", "u8", "i16", "u16")},
    **{d: np.dtype(f"int{d[1:]}").type for d in ("i32", "i64")},
}
# Relative to the sum of the products' magnitudes: rounding of the sums, and of the result.
SUM_ERROR = {"f32": 1e-6, "f64": 2e-15}
OUT_ERROR = {"f16": 1.0 / 1024, "bf16": 1.0 / 128, "f32": 1e-7, "f64": 2e-16}
GUARD = 64


def targets() -> list[Target]:
    """The host, and the lesser levels that it can run."""
    host = host_target()
    lesser = [t for t in (AVX512, AVX2, SSE2) if t.vector_bytes <= host.vector_bytes]
    return [host] if host.isa == "neon" else [host, *lesser]


TARGETS = targets() if available() else []
NAMES = ["host", "avx512", "avx2", "sse2"][:1] + [t.isa for t in TARGETS[1:]]


@functools.cache
def function(name: str, target: Target, parallel: str = BACKWARDS) -> tuple[Code, Any]:
    """The product of that name, linked with a `fg_parallel`, that of the pool if none is given."""
    texts = (matmul_ir(name, target), parallel) if parallel else (matmul_ir(name, target),)
    code = Code([compile_object(t, target) for t in texts], None if parallel else pool.symbols())
    return code, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(f"fg_matmul_{name}"))


def strides(x: np.ndarray) -> list[int]:
    """In elements, with 0 for a batch of one."""
    first, *rest = (s // x.itemsize for s in x.strides)
    return [first if x.shape[0] > 1 else 0, *rest]


def run(
    name: str,
    target: Target,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    bias: np.ndarray | None = None,
    accumulate: bool = False,
    flags: int = 0,
    parallel: str = BACKWARDS,
) -> None:
    """c = or += a b by native code; all have three axes, and scratch is checked for overruns."""
    batch, m, n = c.shape
    k = a.shape[2]
    size = matmul_scratch(name, batch, m, n, k, target)
    scratch = np.full(size + GUARD, 0xFF, np.uint8)  # nan, where floats are read from it
    values = [
        *(x.ctypes.data for x in (a, b, c)),
        *(batch, m, n, k, *strides(a), *strides(b), *strides(c)[:2]),
        0 if bias is None else bias.ctypes.data,
        int(accumulate),
        flags,
        scratch.ctypes.data,
    ]
    assert len(values) == len(PARAMS)
    params = (ctypes.c_int64 * len(values))(*values)
    function(name, target, parallel)[1](ctypes.addressof(params))
    assert (scratch[size:] == 0xFF).all()


def draw(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a type, integers over all of its range."""
    if dtype in ("f16", "bf16", "f32", "f64"):
        return rng.standard_normal(shape).astype(NUMPY[dtype])
    limits = np.iinfo(NUMPY[dtype])
    return rng.integers(limits.min, limits.max, shape, NUMPY[dtype], endpoint=True)


LAYOUTS = ("rows", "columns", "padded", "strided", "both strided", "reversed")


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers with other strides."""
    batch, rows, cols = x.shape
    if layout == "columns":
        return np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)
    holder = {
        "rows": np.empty((batch, rows, cols), x.dtype),
        "padded": np.empty((batch, rows, cols + 3), x.dtype)[:, :, :cols],
        "strided": np.empty((batch, rows, 3 * cols), x.dtype)[:, :, : 3 * cols : 3],
        "both strided": np.empty((batch, cols, 2, rows, 3), x.dtype)[:, :, 0, :, 1].swapaxes(1, 2),
        "reversed": np.empty((batch, rows, cols), x.dtype)[:, ::-1, :],
    }[layout]
    holder[...] = x
    return holder


def check(
    result: np.ndarray, a: np.ndarray, b: np.ndarray, name: str, start: np.ndarray | None = None
) -> None:
    """Close to the exact product, or for integers equal to it, modulo their range."""
    source, out = PRODUCTS[name]
    if out[0] != "f" and out != "bf16":
        exact = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(NUMPY[out])
        exact = np.broadcast_to(exact, result.shape)
        np.testing.assert_array_equal(result, exact if start is None else exact + start)
        return
    wide = [x.astype(np.float64) for x in (a, b)]
    exact = np.matmul(*wide)
    size = np.matmul(*(abs(x) for x in wide))
    if start is not None:
        exact, size = exact + start.astype(np.float64), size + abs(start.astype(np.float64))
    sums = "f64" if source == "f64" else "f32"
    error = SUM_ERROR[sums] * size + OUT_ERROR[out] * abs(exact) + 1e-7 * (out == "f16")
    assert (abs(result.astype(np.float64) - exact) <= error).all()


def attempt(
    name: str,
    target: Target,
    rng: np.random.Generator,
    sizes: Sequence[int],
    layouts: Sequence[str] = ("rows", "rows"),
    accumulate: bool = False,
    share: str = "",
) -> None:
    """One product of drawn numbers, checked; `share` names operands whose batch is repeated."""
    batch, m, n, k = sizes
    source, out = PRODUCTS[name]
    a = laid_out(draw(rng, source, (1 if "a" in share else batch, m, k)), layouts[0])
    b = laid_out(draw(rng, source, (1 if "b" in share else batch, k, n)), layouts[1])
    held = draw(rng, out, (batch, m + 1, n + 2))
    c = held[:, :m, :n]
    before = held.copy()
    run(name, target, a, b, c, accumulate=accumulate)
    check(c, a, b, name, before[:, :m, :n] if accumulate else None)
    held[:, :m, :n] = before[:, :m, :n]
    assert (held.view(np.uint8) == before.view(np.uint8)).all(), "written outside of c"


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_edges(name: str, target: Target) -> None:
    rng = np.random.default_rng(0)
    for trial in range(60):
        sizes = tuple(int(x) for x in rng.integers(0, 41, 3))
        layouts = tuple(LAYOUTS[i] for i in rng.integers(0, len(LAYOUTS), 2))
        batch = int(rng.integers(0, 5)) if trial % 3 == 0 else 1
        attempt(name, target, rng, (batch, *sizes), layouts, trial % 4 == 1)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_few_rows_or_columns(name: str, target: Target) -> None:
    rng = np.random.default_rng(1)
    for m, n in itertools.chain(
        itertools.product((1, 2, 7, 8, 9), (1, 31, 100, 700)), ((100, 1), (700, 1), (65, 2))
    ):
        for layouts in (*itertools.product(("rows", "columns"), repeat=2), ("strided", "strided")):
            k = int(rng.integers(0, 300))
            attempt(name, target, rng, (1, m, n, k), layouts, accumulate=bool(k % 2))


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_blocks(name: str, target: Target) -> None:
    """Sizes that are cut along m, n and k."""
    rng = np.random.default_rng(2)
    for sizes in ((1, 201, 1100, 300), (1, 97, 70, 5000), (1, 30, 40, 2100), (2, 120, 260, 270)):
        for layouts in itertools.product(("rows", "columns"), repeat=2):
            attempt(name, target, rng, sizes, layouts, accumulate=layouts[0] == "rows")
    for sizes in ((1, 500, 1050, 40), (1, 800, 1050, 20), (1, 260, 1030, 7)):
        attempt(name, target, rng, sizes)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_batches(name: str, target: Target) -> None:
    rng = np.random.default_rng(3)
    for m, n, k in ((8, 8, 8), (3, 3, 3), (13, 40, 5), (1, 20, 30), (30, 1, 20), (70, 130, 90)):
        attempt(name, target, rng, (5, m, n, k), ("columns", "columns"))
        for share in ("", "a", "b", "ab"):
            for layout in ("rows", "columns"):
                sizes = (37, m, n, k)
                attempt(name, target, rng, sizes, (layout, "rows"), share == "a", share)
                attempt(name, target, rng, sizes, ("rows", layout), share == "b", share)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "f16", "bf16_f32", "f16_f32"])
def test_bias_and_relu(name: str, target: Target) -> None:
    rng = np.random.default_rng(4)
    source, out = PRODUCTS[name]
    shapes = ((1, 5, 70, 9), (1, 50, 1, 30), (3, 40, 33, 300), (1, 130, 300, 20), (9, 8, 8, 8))
    for batch, m, n, k in (*shapes, (1, 20, 40, 12), (5, 30, 1, 20)):
        for accumulate in (False, True):
            a, b = draw(rng, source, (batch, m, k)), draw(rng, source, (batch, k, n))
            bias, c = draw(rng, out, (n,)), draw(rng, out, (batch, m, n))
            start = np.broadcast_to(bias.astype(np.float64), c.shape)
            start = start + c.astype(np.float64) if accumulate else start
            plain, clipped = c.copy(), c.copy()
            run(name, target, a, b, plain, bias, accumulate)
            check(plain, a, b, name, start)
            run(name, target, a, b, clipped, bias, accumulate, RELU)
            np.testing.assert_array_equal(clipped, np.where(plain < 0, np.zeros_like(c), plain))


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "f16"])
@pytest.mark.parametrize("sizes", [(1, 90, 1), (4, 40, 40), (40, 40, 200), (300, 1, 50)])
def test_every_product_counts(name: str, target: Target, sizes: tuple[int, int, int]) -> None:
    """0 * inf is nan, in whatever way a product is computed; its row and column alone have it."""
    m, n, k = sizes
    for layout in ("rows", "columns"):
        a = np.ones((1, m, k), NUMPY[PRODUCTS[name][0]])
        b = np.ones((1, k, n), a.dtype)
        b[0] = 2  # so that sums are even, which the half types hold up to 512
        a[0, m // 2, k // 2], b[0, k // 2, n // 2] = 0, np.inf
        c = np.zeros((1, m, n), a.dtype)
        run(name, target, a, laid_out(b, layout), c)
        expected = np.full((m, n), 2 * k, np.float64)
        expected[m // 2] -= 2
        expected[:, n // 2] = np.inf
        expected[m // 2, n // 2] = np.nan
        np.testing.assert_array_equal(c[0].astype(np.float64), expected)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("name", ["f32", "bf16", "i8_i32", "i64"])
def test_repeated_operands(name: str, target: Target) -> None:
    """Strides of 0 along any axis."""
    rng = np.random.default_rng(6)
    source, out = PRODUCTS[name]
    for m, n, k in ((1, 40, 9), (6, 20, 30), (50, 60, 70), (30, 1, 20)):
        for axes in itertools.product(range(3), repeat=2):
            shapes = [(3, m, k), (3, k, n)]
            a, b = (
                np.broadcast_to(draw(rng, source, (*shape[:axis], 1, *shape[axis + 1 :])), shape)
                for shape, axis in zip(shapes, axes, strict=True)
            )
            c = np.empty((3, m, n), NUMPY[out])
            run(name, target, a, b, c)
            check(c, a, b, name)


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "i8_i32"])
def test_same_bits_however_divided(name: str) -> None:
    rng = np.random.default_rng(5)
    source, out = PRODUCTS[name]
    target = host_target()
    for batch, m, n, k in ((1, 300, 1100, 1100), (1, 1, 3000, 900), (40, 33, 60, 70)):
        for layout in ("rows", "columns"):
            a = draw(rng, source, (batch, m, k))
            b = laid_out(draw(rng, source, (batch, k, n)), layout)
            results = [np.empty((batch, m, n), NUMPY[out]) for _ in range(3)]
            for c, parallel in zip(results, (BACKWARDS, WHOLE, ""), strict=True):
                run(name, target, a, b, c, parallel=parallel)
                assert (results[0].view(np.uint8) == c.view(np.uint8)).all()


def test_names() -> None:
    assert product.symbol("f32", "f32") == "fg_matmul_f32"
    assert product.symbol("u32", "u32") == "fg_matmul_i32"
    assert product.symbol("u8", "u32") == "fg_matmul_u8_i32"
    assert Matmul("bf16", "f32", 1, 2, 3, 4).name == "bf16_f32"
    with pytest.raises(ValueError, match="no product of f32 that gives i8"):
        product.symbol("f32", "i8")


@pytest.mark.parametrize("name", PRODUCTS)
def test_text_for_arm(name: str) -> None:
    """The text for another processor is accepted by LLVM too."""
    assert compile_object(matmul_ir(name, NEON), NEON)
