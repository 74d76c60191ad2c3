"""Shifts, bit counts, high products and threefry2x32 against jax.lax."""

import itertools

import jax
import numpy as np
import pytest
from jax import lax as jlax
from jax._src.random.threefry2x32 import threefry2x32_p as their_threefry_p

from funcgrad import lax
from funcgrad.base.config import enable_checks, enable_x64
from funcgrad.primitives.bits import BLOCK, threefry2x32_p
from lax_oracle import assert_close, check_batches, check_values

DTYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")


def corners(dtype: str) -> np.ndarray:
    """Numbers of every size, with their negatives and complements."""
    bits = 8 * np.dtype(dtype).itemsize
    powers = [1 << i for i in range(bits)]
    values = {0, *powers, *(p - 1 for p in powers), *(-p for p in powers), -5, 100}
    low = 0 if dtype.startswith("u") else -(1 << (bits - 1))
    return np.array([(v - low) % (1 << bits) + low for v in sorted(values)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name: str, dtype: str) -> None:
    x = corners(dtype)
    bits = 8 * x.itemsize
    amounts = [0, 1, bits // 2, bits - 1, bits, bits + 1, 100]
    amounts += [-1] if x.dtype.kind == "i" else [2**bits - 1]
    x, y = (a.reshape(-1) for a in np.meshgrid(x, np.array(amounts, dtype)))
    with enable_x64(True), jax.enable_x64(True), enable_checks(True):
        check_values(getattr(lax, name), getattr(jlax, name), x, y)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("name", [*SHIFTS, "mulhi", "clz", "population_count"])
def test_four_bits(name: str, dtype: str) -> None:
    low = -8 if dtype == "int4" else 0
    values = np.arange(low, low + 16)
    if name in ("clz", "population_count"):
        got = getattr(lax, name)(values.astype(dtype))
        bits = [f"{v % 16:04b}" for v in values]
        want = [b.count("1") if name[0] == "p" else len(b) - len(b.lstrip("0")) for b in bits]
    else:
        x, y = (a.reshape(-1) for a in np.meshgrid(values, values))
        got = getattr(lax, name)(x.astype(dtype), y.astype(dtype))
        exact = {
            "shift_left": lambda a, b: a << b if 0 <= b < 4 else 0,
            "shift_right_logical": lambda a, b: (a % 16) >> b if 0 <= b < 4 else 0,
            "shift_right_arithmetic": lambda a, b: (a - 16 * (a > 7)) >> (b if 0 <= b < 4 else 3),
            "mulhi": lambda a, b: (a * b) >> 4,
        }[name]
        want = [(exact(int(a), int(b)) - low) % 16 + low for a, b in zip(x, y, strict=True)]
    assert np.asarray(got).dtype == np.asarray([0]).astype(dtype).dtype
    np.testing.assert_array_equal(np.asarray(got).astype(int), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_and_high_products(dtype: str) -> None:
    x = corners(dtype)
    with enable_x64(True), jax.enable_x64(True), enable_checks(True):
        check_values(lax.population_count, jlax.population_count, x)
        check_values(lax.clz, jlax.clz, x)
        a, b = (v.reshape(-1) for v in np.meshgrid(x, x))
        got = np.asarray(lax.mulhi(a, b))
        bits = 8 * x.itemsize
        want = [(int(p) * int(q)) >> bits for p, q in zip(a, b, strict=True)]
        np.testing.assert_array_equal(got, np.array(want, dtype))


def test_batches() -> None:
    x, y = np.array([3, -8, 5], np.int32), np.array([1, 2, 40], np.int32)
    for name in (*SHIFTS, "mulhi"):
        check_batches(getattr(lax, name), x, y)
    check_batches(lax.clz, x)
    check_batches(lambda k, x: threefry2x32_p.bind(k, k, x, x), np.uint32(3), x.astype(np.uint32))


def test_errors() -> None:
    with pytest.raises(TypeError, match="does not accept dtype float32"):
        lax.shift_left(np.float32(1), np.int32(1))
    with pytest.raises(TypeError, match="same dtypes"):
        lax.shift_left(np.int32(1), np.int8(1))
    with pytest.raises(TypeError, match="uint32"):
        threefry2x32_p.bind(np.uint32(1), np.uint32(1), np.int32(1), np.uint32(1))


def words(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 2**32, shape, np.uint32)


@pytest.mark.parametrize(
    "shapes",
    [
        [(), (), (), ()],
        [(), (), (5,), (5,)],
        [(5,), (5,), (5,), (5,)],
        [(3,), (3,), (), ()],
        [(2, 1), (2, 1), (1, 4), (1, 4)],
        [(), (), (0,), (0,)],
    ],
)
def test_threefry(shapes: list) -> None:
    args = [words(*s) for s in shapes]
    with enable_checks(True):
        for got, want in zip(threefry2x32_p.bind(*args), their_threefry_p.bind(*args), strict=True):
            assert_close(got, want)


def test_threefry_known_answers() -> None:
    """The answers that come with the reference code of the generator."""
    cases = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    for key, counter, answer in cases:
        outs = threefry2x32_p.bind(*map(np.uint32, itertools.chain(key, counter)))
        assert tuple(int(np.asarray(o)) for o in outs) == answer


def test_threefry_in_blocks() -> None:
    """More counters than are hashed at a time, with one key and with a key for each."""
    n = 2 * BLOCK + 7
    x, keys = np.arange(n, dtype=np.uint32), words(n)
    for key in (np.uint32(9), keys):
        a, b = threefry2x32_p.bind(key, key, x, x)
        for at in (0, BLOCK - 1, BLOCK, n - 1):
            k = key if np.ndim(key) == 0 else key[at]
            first, second = threefry2x32_p.bind(k, k, x[at], x[at])
            assert np.asarray(a)[at] == np.asarray(first) and np.asarray(b)[at] == np.asarray(
                second
            )
    np.testing.assert_array_equal(x, np.arange(n))
