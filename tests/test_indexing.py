"""Slices, gathers and scatters at computed positions, against jax.lax."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_checks
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

MODES = ("clip", "fill", "promise_in_bounds")

# operand shape, indices, (offset, collapsed, indexed, batching, index batching), slice sizes
GATHERS: dict[str, tuple] = {
    "numbers of a vector": ((5,), [[0], [4], [2], [2]], ((), (0,), (0,)), (1,)),
    "rows": ((4, 3), [[[3], [0]], [[1], [1]]], ((2,), (0,), (0,)), (1, 3)),
    "columns": ((3, 4), [[3], [0], [3]], ((0,), (1,), (1,)), (3, 1)),
    "columns last": ((3, 4), [[3], [0], [3]], ((1,), (1,), (1,)), (3, 1)),
    "elements": ((3, 4), [[0, 1], [2, 3], [0, 1]], ((), (0, 1), (0, 1)), (1, 1)),
    "elements, axes swapped": ((3, 4), [[1, 0], [3, 2]], ((), (0, 1), (1, 0)), (1, 1)),
    "outer axes": ((3, 2, 4), [[0, 3], [2, 1]], ((1,), (0, 2), (0, 2)), (1, 2, 1)),
    "windows": ((6,), [[0], [2], [3], [1]], ((1,), (), (0,)), (3,)),
    "windows first": ((6,), [[0], [2], [3], [1]], ((0,), (), (0,)), (3,)),
    "blocks": ((5, 6), [[0, 1], [2, 3], [1, 0]], ((1, 2), (), (0, 1)), (3, 2)),
    "blocks around batch": ((5, 6), [[0, 1], [2, 3], [1, 0]], ((0, 2), (), (0, 1)), (3, 2)),
    "blocks of one axis": ((5, 6), [[1], [3]], ((1, 2), (), (1,)), (4, 2)),
    "rows not collapsed": ((4, 3), [[3], [0]], ((1, 2), (), (0,)), (1, 3)),
    "collapsed, not indexed": ((4, 3), [[1], [0]], ((1,), (0,), (1,)), (1, 2)),
    "a whole axis": ((4, 3), [[0], [0]], ((1,), (0,), (1,)), (1, 3)),
    "one window": ((5, 6), [1, 2], ((0, 1), (), (0, 1)), (2, 3)),
    "no components": ((3,), np.zeros((2, 0)), ((1,), (), ()), (2,)),
    "no components at all": ((3,), np.zeros((0,)), ((0,), (), ()), (2,)),
    "no batch": ((3, 2), np.zeros((0, 1)), ((1,), (0,), (0,)), (1, 2)),
    "empty operand": ((0, 2), np.zeros((0, 1)), ((1,), (0,), (0,)), (1, 2)),
    "empty windows": ((3, 2), [[1], [2]], ((1,), (0,), (0,)), (1, 0)),
    "batching": (
        (3, 4),
        [[[0], [3]], [[1], [1]], [[2], [0]]],
        ((), (1,), (1,), (0,), (0,)),
        (1, 1),
    ),
    "batching, windows": ((3, 5), [[1], [0], [2]], ((1,), (), (1,), (0,), (0,)), (1, 3)),
    "batching across": (
        (2, 4, 3),
        [[[0], [3]], [[1], [1]], [[2], [0]]],
        ((), (1,), (1,), (0, 2), (1, 0)),
        (1, 1, 1),
    ),
    "batching and a row": (
        (2, 4, 3),
        [[[0], [3], [1]], [[1], [1], [2]]],
        ((2,), (1,), (1,), (0,), (0,)),
        (1, 1, 3),
    ),
}


def gather_case(case: str) -> tuple[np.ndarray, np.ndarray, tuple, tuple]:
    shape, indices, numbers, sizes = GATHERS[case]
    rng = np.random.default_rng(len(case))
    return random_array(rng, shape, "float32"), np.array(indices, np.int32), numbers, sizes


def outside(indices: np.ndarray) -> np.ndarray:
    """The indices with the first vector moved out on the one side and the last on the other."""
    if not indices.size:
        return indices
    moved = indices.copy().reshape(-1, indices.shape[-1])
    moved[0, 0] = -2
    moved[-1, -1] += 7
    return moved.reshape(indices.shape)


def gathers(numbers: tuple, sizes: tuple, **settings: Any) -> tuple[Callable, Callable]:
    def ours(x, i):
        return lax.gather(x, i, lax.GatherDimensionNumbers(*numbers), sizes, **settings)

    def theirs(x, i):
        return jlax.gather(x, i, jlax.GatherDimensionNumbers(*numbers), sizes, **settings)

    return ours, theirs


@pytest.mark.parametrize("case", GATHERS)
def test_gather(case: str) -> None:
    x, indices, numbers, sizes = gather_case(case)
    with enable_checks(True):
        for mode in MODES:
            ours, theirs = gathers(numbers, sizes, mode=mode)
            check_values(ours, theirs, x, indices)
            if mode != "promise_in_bounds":
                check_values(ours, theirs, x, outside(indices))
        ours, theirs = gathers(numbers, sizes, mode="fill")
        check_derivatives(
            lambda x: ours(x, outside(indices)), lambda x: theirs(x, outside(indices)), x
        )
        check_batches(ours, x, indices)
        ours, _ = gathers(numbers, sizes, mode="clip")
        check_batches(ours, x, indices)


@pytest.mark.parametrize("view", ["reversed", "strided", "transposed"])
@pytest.mark.parametrize("case", ["columns", "blocks", "outer axes", "batching", "one window"])
def test_gather_of_a_view(case: str, view: str) -> None:
    """Eager slices share memory, so operands come with any strides."""
    x, indices, numbers, sizes = gather_case(case)
    strided = {
        "reversed": lambda: lax.rev(x[::-1], (0,)) if hasattr(lax, "rev") else x,
        "strided": lambda: lax.slice_in_dim(np.repeat(x, 2, 0), 0, None, 2),
        "transposed": lambda: lax.dynamic_slice(x, (0,) * x.ndim, x.shape),
    }[view]()
    ours, theirs = gathers(numbers, sizes)
    assert_close(ours(strided, indices), theirs(x, indices))


@pytest.mark.parametrize("dtype", "bool int8 uint16 int32 float16 bfloat16 complex64 int4".split())
def test_gather_fills_by_dtype(dtype: str) -> None:
    x = np.asarray(jnp.arange(5).astype(dtype))
    indices = np.array([[0], [5], [-1], [3]], np.int32)
    numbers = ((), (0,), (0,))
    for settings in ({}, {"fill_value": 1}):
        ours, theirs = gathers(numbers, (1,), mode="fill", **settings)
        got, want = np.asarray(ours(np.asarray(x), indices)), np.asarray(theirs(x, indices))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(complex), want.astype(complex))


@pytest.mark.parametrize("dtype", "int8 uint8 int16 uint32 int32".split())
def test_index_dtypes(dtype: str) -> None:
    x = np.arange(300, dtype=np.float32)
    indices = np.array([[0], [100], [250 if dtype != "int8" else -1]]).astype(dtype)
    if dtype == "uint32":
        indices[0] = 2**32 - 1
    for mode in ("clip", "fill"):
        ours, theirs = gathers(((), (0,), (0,)), (1,), mode=mode)
        assert_close(ours(x, indices), theirs(x, indices))


SCATTERS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")


def scatters(name: str, numbers: tuple, **settings: Any) -> tuple[Callable, Callable]:
    def ours(x, i, u):
        return getattr(lax, name)(x, i, u, lax.ScatterDimensionNumbers(*numbers), **settings)

    def theirs(x, i, u):
        return getattr(jlax, name)(x, i, u, jlax.ScatterDimensionNumbers(*numbers), **settings)

    return ours, theirs


def scatter_case(case: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple]:
    x, indices, numbers, sizes = gather_case(case)
    ours, _ = gathers(numbers, sizes)
    shape = ours(x, indices).shape
    return x, indices, random_array(np.random.default_rng(1), shape, "float32"), numbers


SCATTER_CASES = [case for case in GATHERS if case != "collapsed, not indexed"]


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("case", SCATTER_CASES)
def test_scatter(case: str, name: str) -> None:
    x, indices, updates, numbers = scatter_case(case)
    with enable_checks(True):
        for mode in MODES:
            ours, theirs = scatters(name, numbers, mode=mode)
            check_values(ours, theirs, x, indices, updates)
            assert_close(ours(x, outside(indices), updates), theirs(x, outside(indices), updates))
        ours, _ = scatters(name, numbers)
        check_batches(ours, x, indices, updates, every_axis=x.ndim < 3)


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("case", SCATTER_CASES)
def test_scatter_derivatives(case: str, name: str) -> None:
    x, indices, updates, numbers = scatter_case(case)
    unique = name == "scatter_mul"
    if unique:
        if (
            np.unique(indices.reshape(-1, indices.shape[-1]), axis=0).shape[0]
            * max(1, indices.shape[-1])
            != indices.size
            or "window" in case
            or "block" in case
            or "batching" in case
        ):
            pytest.skip("derivatives of scatter_mul are for windows that do not meet")
    indices = outside(indices) if name in ("scatter", "scatter_add", "scatter_sub") else indices
    ours, theirs = scatters(name, numbers, unique_indices=unique)
    check_derivatives(
        lambda x, u: ours(x, indices, u), lambda x, u: theirs(x, indices, u), x, updates
    )


@pytest.mark.parametrize("name", SCATTERS[1:])
@pytest.mark.parametrize("dtype", "int8 uint8 int32 uint32 float16 bfloat16 complex64 int4".split())
def test_scatter_dtypes(name: str, dtype: str) -> None:
    if dtype == "complex64" and name in ("scatter_min", "scatter_max"):
        pytest.skip("XLA does not order complex numbers here")
    rng = np.random.default_rng(0)
    x, updates = random_array(rng, (7,), dtype), random_array(rng, (20,), dtype)
    indices = rng.integers(0, 7, (20, 1)).astype(np.int32)
    ours, theirs = scatters(name, ((), (0,), (0,)))
    got, want = np.asarray(ours(x, indices, updates)), np.asarray(theirs(x, indices, updates))
    assert got.dtype == want.dtype
    tolerance = {"float16": 2e-2, "bfloat16": 0.1, "complex64": 1e-5}.get(dtype, 0)
    np.testing.assert_allclose(
        got.astype(complex), want.astype(complex), rtol=tolerance, atol=tolerance
    )
