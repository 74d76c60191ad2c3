"""Loop shapes of programs: reductions in blocks, tiles turned in registers, exact extrema."""

from collections.abc import Iterator

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as jnp

FAR = [(4096, 40), (997, 300), (100_000, 3), (3, 70_000), (1 << 17,), (2, 5, 40_000), (64, 64, 64)]
DTYPES = ["float32", "float64", "float16", "int32", "uint8", "bool"]


@pytest.fixture(autouse=True)
def x64() -> Iterator[None]:
    with fg.enable_x64(True):
        yield


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(7)


def axes_of(shape: tuple[int, ...]) -> list[int | None]:
    return [None, *range(len(shape))]


@pytest.mark.parametrize("shape", FAR, ids=str)
def test_sums_of_blocks(draw, shape):
    x = draw.integers(-8, 9, shape).astype(np.float32)  # whose sums are exact in any order
    for axis in axes_of(shape):
        sums = fg.jit(lambda x, axis=axis: (jnp.sum(x, axis), jnp.sum(x * 2 + 1, axis)))(x)
        np.testing.assert_array_equal(sums[0], x.sum(axis, dtype=np.float64))
        np.testing.assert_array_equal(sums[1], (2 * x + 1).sum(axis, dtype=np.float64))


@pytest.mark.parametrize("shape", FAR, ids=str)
def test_blocks_with_a_map_that_is_kept(draw, shape):
    x = draw.integers(-8, 9, shape).astype(np.float32)

    def f(x):
        y = x * 3
        return y, jnp.sum(y, 0), jnp.max(y, 0), jnp.argmax(y, 0)

    y, total, most, first = fg.jit(f)(x)
    np.testing.assert_array_equal(y, 3 * x)
    np.testing.assert_array_equal(total, (3 * x).sum(0, dtype=np.float64))
    np.testing.assert_array_equal(most, (3 * x).max(0))
    np.testing.assert_array_equal(first, x.argmax(0))


def test_first_value_counts_once():
    x = np.ones((1 << 10, 128), np.int32)
    found = fg.jit(lambda x: fg.lax.reduce(x, np.int32(7), fg.lax.add, [0]))(x)
    np.testing.assert_array_equal(found, np.full(128, 1031))


def test_sums_do_not_depend_on_threads(draw):
    x = draw.normal(size=(8192, 257)).astype(np.float32)
    before = fg.config.num_threads
    found = []
    try:
        for threads in (1, 2, 5):
            fg.config.update("num_threads", threads)
            found.append([np.asarray(fg.jit(lambda x, a=a: jnp.sum(x, a))(x)) for a in (0, None)])
    finally:
        fg.config.update("num_threads", before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def extremum(x: np.ndarray, axis: int | None, most: bool) -> np.ndarray:
    """The max or min with nan where there is one and -0 < +0."""
    found = np.max(x, axis) if most else np.min(x, axis)
    negative = np.signbit(x) & (x == 0)
    zero = (negative | (x != 0)).all(axis) if most else negative.any(axis)
    return np.where(found == 0, np.where(zero, -0.0, 0.0), found).astype(x.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(300, 500), (4096, 40), (70_000, 3), (7, 5)], ids=str)
def test_extrema_of_zeros_and_nans(draw, shape, dtype):
    zeros = np.where(draw.random(shape) < 0.5, 0.0, -0.0)
    below = np.where(draw.random(shape) < 0.999, -abs(draw.normal(size=shape)), zeros)
    nans = np.where(draw.random(shape) < 0.002, -np.nan, below)
    nans = np.where(draw.random(shape) < 0.002, np.nan, nans)
    for x in (zeros, below, nans, -below, -nans):
        x = x.astype(dtype)
        for axis in axes_of(shape):
            for most, f in ((True, jnp.max), (False, jnp.min)):
                found = np.asarray(fg.jit(lambda x, f=f, axis=axis: f(x, axis))(x))
                want = extremum(x, axis, most)
                np.testing.assert_array_equal(found, want)
                real = ~np.isnan(want)
                np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(want[real]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(128, 96), (1000, 99), (131, 257), (1024, 48)], ids=str)
def test_transposes(draw, shape, dtype):
    x = (draw.normal(size=shape) * 50).astype(dtype)
    other = (draw.normal(size=shape[::-1]) * 50).astype(dtype)
    np.testing.assert_array_equal(fg.jit(lambda x: x.T.copy())(x), x.T)
    np.testing.assert_array_equal(fg.jit(lambda x, y: x.T == y)(x, other), x.T == other)
    np.testing.assert_array_equal(
        fg.jit(lambda x, y: jnp.where(y > 0, x.T, y))(x, other), np.where(other > 0, x.T, other)
    )


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0), (1, 0, 2)], ids=str)
def test_transposes_of_three_axes(draw, order):
    x = draw.normal(size=(6, 80, 112)).astype(np.float32)
    want = x.transpose(order)
    np.testing.assert_array_equal(fg.jit(lambda x: x.transpose(order).copy())(x), want)
    turned = fg.jit(lambda x: x.transpose(order)[::-1, :, ::-1].copy())(x)
    np.testing.assert_array_equal(turned, want[::-1, :, ::-1])
    lines = fg.jit(lambda x: x.transpose(order).reshape(-1, 2) * 2)(x)
    np.testing.assert_array_equal(lines, want.reshape(-1, 2) * 2)


def test_updates_compute_what_only_they_read(draw):
    x = draw.normal(size=2000).astype(np.float32)

    def f(x):
        return fg.lax.fori_loop(0, 500, lambda i, x: x.at[i].set(x[i + 1] * 2 + i), x)

    want = x.copy()
    for i in range(500):
        want[i] = want[i + 1] * 2 + np.float32(i)
    np.testing.assert_allclose(fg.jit(f)(x), want, rtol=1e-6)


def test_scattered_additions_leave_out_what_lies_outside(draw):
    index = draw.integers(-1005, 1005, 30_000)
    value = draw.integers(-8, 9, 30_000).astype(np.float32)
    found = fg.jit(lambda i, v: jnp.zeros(1000, np.float32).at[i].add(v))(index, value)
    place = np.where(index < 0, index + 1000, index)
    inside = (place >= 0) & (place < 1000)
    want = np.zeros(1000)
    np.add.at(want, place[inside], value[inside])
    np.testing.assert_array_equal(found, want)
