"""Cumulative reductions against jax.lax."""

from typing import Any

import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_checks
from funcgrad.transforms.forward import jvp
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

NAMES = "cumsum cumprod cummax cummin cumlogsumexp".split()
SHAPES = [((7,), 0), ((1,), 0), ((4, 3), 0), ((2, 6), 1), ((0,), 0), ((2, 0), 1), ((0, 2), 1)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def pair(name: str, axis: int, reverse: bool) -> tuple[Any, Any]:
    def ours(x):
        return getattr(lax, name)(x, axis, reverse)

    def theirs(x):
        return getattr(jlax, name)(x, axis, reverse)

    return ours, theirs


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape, axis", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_transformed(
    name: str, shape: tuple, axis: int, reverse: bool, rng: np.random.Generator
) -> None:
    x = random_array(rng, shape, "float32")
    ours, theirs = pair(name, axis, reverse)
    with enable_checks(True):
        check_values(ours, theirs, x)
        check_derivatives(ours, theirs, x, second=x.ndim == 1)
        check_batches(ours, x)


@pytest.mark.parametrize("dtype", "int8 uint8 int32 float16 bfloat16 complex64 int4".split())
@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (3, 9), dtype)
    if name == "cumlogsumexp" and "int" in dtype:
        with pytest.raises(TypeError, match="does not accept dtype"):
            lax.cumlogsumexp(x)
        return
    for reverse in (False, True):
        ours, theirs = pair(name, 1, reverse)
        got, want = np.asarray(ours(x)), np.asarray(theirs(x))
        assert got.dtype == want.dtype
        tolerance = {"float16": 1e-2, "bfloat16": 0.1, "complex64": 1e-5}.get(dtype, 0)
        np.testing.assert_allclose(
            got.astype(complex), want.astype(complex), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumlogsumexp"])
def test_complex_derivatives(name: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (5,), "complex64")
    ours, theirs = pair(name, 0, False)
    check_derivatives(ours, theirs, x)


@pytest.mark.parametrize("zeros", [(2,), (0,), (4,), (1, 3), (0, 1, 2, 3, 4)])
def test_product_with_zeros(zeros: tuple, rng: np.random.Generator) -> None:
    x = random_array(rng, (5,), "float32")
    x[list(zeros)] = 0
    for reverse in (False, True):
        ours, theirs = pair("cumprod", 0, reverse)
        check_derivatives(ours, theirs, x)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("values", [[1, 1, 1, 1], [2, 1, 2, 1, 2], [0, 1, 1, 0, 1, 1, 1], [3, 3]])
def test_ties_share_as_in_jax(name: str, values: list) -> None:
    x = np.array(values, np.float32)
    for reverse in (False, True):
        ours, theirs = pair(name, 0, reverse)
        check_derivatives(ours, theirs, x)


def test_infinities_and_nan() -> None:
    x = np.array([-np.inf, -np.inf, 0.0, 3.0, -np.inf, np.inf, 1.0], np.float32)
    for name in ("cumlogsumexp", "cummax", "cummin"):
        for reverse in (False, True):
            ours, theirs = pair(name, 0, reverse)
            assert_close(ours(x), theirs(x))
    _, (tangent,) = jvp(lambda x: [lax.cumlogsumexp(x)], [x[:5]], [np.ones(5, np.float32)])
    assert_close(np.asarray(tangent)[2:], np.ones(3, np.float32))
    x = np.array([1.0, np.nan, 2.0], np.float32)
    for name in NAMES:
        ours, theirs = pair(name, 0, False)
        assert_close(ours(x), theirs(x))


def test_sum_is_as_exact_as_jax(rng: np.random.Generator) -> None:
    x = rng.standard_normal(100_000).astype(np.float32)
    exact = np.cumsum(x.astype(np.float64))
    ours, theirs = np.abs(np.asarray(lax.cumsum(x)) - exact), np.abs(jlax.cumsum(x) - exact)
    assert ours.max() <= theirs.max()


def test_bad_arguments() -> None:
    for name in NAMES:
        function = getattr(lax, name)
        with pytest.raises(ValueError, match="out of bounds"):
            function(np.ones(3, np.float32), 1)
        with pytest.raises(ValueError, match="negative axes"):
            function(np.ones(3, np.float32), -1)
        with pytest.raises(TypeError, match="does not accept dtype bool"):
            function(np.ones(3, bool))
