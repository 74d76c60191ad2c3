"""sort, sort_key_val and top_k against jax.lax."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_checks, enable_x64
from lax_oracle import (
    assert_all_close,
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

SPECIAL = [1.0, np.nan, -0.0, 0.0, -np.nan, 2.0, -np.inf, np.inf, 0.0, -0.0, -1.0, 2.0]
DTYPES = "bool int8 uint8 int16 uint32 int32 float8_e4m3fn float16 bfloat16 float32"


def same(ours: Any, theirs: Any) -> None:
    """Equal bit by bit, but for the bits of a nan."""
    got, want = np.asarray(ours), np.asarray(theirs)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "bui":
        np.testing.assert_array_equal(got, want)
        return
    got, want = got.astype(complex), want.astype(complex)
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_array_equal(a, b)
        there = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a[there]), np.signbit(b[there]))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", "float16 bfloat16 float32".split())
def test_special_numbers(dtype: str) -> None:
    x = np.asarray(jax.numpy.asarray(SPECIAL).astype(dtype))
    places = np.arange(len(x), dtype=np.int32)
    same(lax.sort(x), jlax.sort(x))
    for got, want in zip(lax.sort((x, places)), jlax.sort((x, places)), strict=True):
        same(got, want)
    for k in (0, 3, len(x)):
        for got, want in zip(lax.top_k(x, k), jlax.top_k(x, k), strict=True):
            same(got, want)


def test_special_numbers_in_double_precision() -> None:
    x = np.array(SPECIAL * 2)
    places = np.arange(len(x))
    with enable_x64(True), jax.enable_x64(True):
        for got, want in zip(lax.sort((x, places)), jlax.sort((x, places)), strict=True):
            same(got, want)
        for got, want in zip(lax.top_k(x, 5), jlax.top_k(x, 5), strict=True):
            same(got, want)
        for x in (np.array([2**62, -(2**62), 0, 5]), np.array([2**63, 2**63 + 1, 0], np.uint64)):
            same(lax.sort((x, x))[1], jlax.sort((x, x))[1])
            same(lax.top_k(x, 2)[1], jlax.top_k(x, 2)[1])


def test_complex_numbers() -> None:
    parts = [-1.0, -0.0, 0.0, 1.0, np.nan, np.inf]
    x = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    x = np.random.default_rng(1).permutation(x)
    places = np.arange(len(x), dtype=np.int32)
    for got, want in zip(lax.sort((x, places)), jlax.sort((x, places)), strict=True):
        same(got, want)
    same(lax.sort(x), jlax.sort(x))


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (3, 40), dtype)
    places = np.broadcast_to(np.arange(40, dtype=np.int32), (3, 40))
    with enable_checks(True):
        same(lax.sort(x), jlax.sort(x))
        same(lax.sort(x, 0, is_stable=False), jlax.sort(x, 0))
        for got, want in zip(
            lax.sort_key_val(x, places), jlax.sort_key_val(x, places), strict=True
        ):
            same(got, want)
        for axis, k in ((0, 2), (1, 7), (1, 40)):
            for got, want in zip(
                lax.top_k(x, k, axis=axis), jlax.top_k(x, k, axis=axis), strict=True
            ):
                same(got, want)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits(dtype: str, rng: np.random.Generator) -> None:
    wide = rng.integers(-8 if dtype == "int4" else 0, 8, 30)
    x = wide.astype(dtype)
    np.testing.assert_array_equal(np.asarray(lax.sort(x)).astype(int), np.sort(wide))
    order = np.asarray(lax.sort((x, np.arange(30)))[1])
    np.testing.assert_array_equal(order, np.argsort(wide, kind="stable"))
    order = np.asarray(lax.top_k(x, 4)[1])
    np.testing.assert_array_equal(order, np.argsort(-wide, kind="stable")[:4])


@pytest.mark.parametrize("num_keys", [1, 2, 3])
def test_several_keys(num_keys: int, rng: np.random.Generator) -> None:
    operands = (
        random_array(rng, (2, 30), "int8"),
        random_array(rng, (2, 30), "float32").round(),
        random_array(rng, (2, 30), "complex64"),
        random_array(rng, (2, 30), "float32"),
    )
    for dimension in (0, 1, -1):
        check_values(
            lambda *x, d=dimension: lax.sort(x, d, num_keys=num_keys),
            lambda *x, d=dimension: jlax.sort(x, d, num_keys=num_keys),
            *operands,
        )


@pytest.mark.parametrize("shape, dimension", [((7,), 0), ((3, 5), 0), ((3, 5), 1), ((0, 2), 0)])
def test_sort_transformed(shape: tuple, dimension: int, rng: np.random.Generator) -> None:
    x, y = random_array(rng, shape, "float32"), random_array(rng, shape, "float32")

    def ours(x, y):
        return lax.sort((x, y), dimension)

    def theirs(x, y):
        return jlax.sort((x, y), dimension)

    check_derivatives(ours, theirs, x, y)
    check_derivatives(lambda x: lax.sort(x, dimension), lambda x: jlax.sort(x, dimension), x)
    check_batches(ours, x, y)
    check_batches(lambda x: lax.sort(x, dimension), x)


@pytest.mark.parametrize("shape, k, axis", [((7,), 3, 0), ((3, 5), 2, 0), ((3, 5), 5, 1)])
def test_top_k_transformed(shape: tuple, k: int, axis: int, rng: np.random.Generator) -> None:
    x = random_array(rng, shape, "float32")

    def ours(x):
        return lax.top_k(x, k, axis=axis)

    def theirs(x):
        return jlax.top_k(x, k, axis=axis)

    check_values(ours, theirs, x)
    check_derivatives(lambda x: ours(x)[0], lambda x: theirs(x)[0], x)
    check_batches(ours, x)


def test_large_sorts(rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, 5000).astype(np.float32)
    places = np.arange(5000, dtype=np.int32)
    assert_all_close(lax.sort((x, places)), jlax.sort((x, places)), "sorted")
    assert_all_close(lax.top_k(x, 100), jlax.top_k(x, 100), "largest")
    assert_close(lax.sort(x, is_stable=False), np.sort(x))


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: lax.sort(()), TypeError, "at least one operand"),
        (lambda: lax.sort(np.ones(3), num_keys=2), ValueError, "num_keys must be 1"),
        (lambda: lax.sort((np.ones(3),), num_keys=2), ValueError, "from 1 to all"),
        (lambda: lax.sort((np.ones(3), np.ones(4))), TypeError, "equal shapes"),
        (lambda: lax.sort(np.ones(3), 1), ValueError, "out of bounds"),
        (lambda: lax.sort(np.float32(1)), ValueError, "out of bounds"),
        (lambda: lax.top_k(np.ones(3), 4), ValueError, "no larger than"),
        (lambda: lax.top_k(np.ones(3), -1), ValueError, "nonnegative"),
        (lambda: lax.top_k(np.ones(3, np.complex64), 1), ValueError, "complex"),
    ],
)
def test_errors(call: Any, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        call()
