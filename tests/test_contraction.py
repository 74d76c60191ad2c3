"""dot_general and its friends against jax.lax."""

import jax
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.array import as_array
from funcgrad.base.config import enable_x64
from funcgrad.primitives.contraction import dot_general_p
from funcgrad.transforms.staging import stage_closed
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

MATRICES = (((1,), (0,)), ((), ()))
CASES = {
    "matrices": ((2, 3), (3, 4), MATRICES),
    "first axes": ((3, 2), (3, 4), (((0,), (0,)), ((), ()))),
    "vectors": ((3,), (3,), (((0,), (0,)), ((), ()))),
    "numbers": ((), (), (((), ()), ((), ()))),
    "outer": ((2, 3), (4,), (((), ()), ((), ()))),
    "batch": ((4, 2, 3), (4, 3, 5), (((2,), (1,)), ((0,), (0,)))),
    "batch last": ((2, 3, 4), (3, 5, 4), (((1,), (0,)), ((2,), (2,)))),
    "two of each": ((3, 4, 2, 5, 6), (2, 5, 6, 3, 7), (((3, 2), (1, 0)), ((0, 4), (3, 2)))),
    "all batch": ((2, 3), (3, 2), (((), ()), ((0, 1), (1, 0)))),
    "all contracted": ((2, 3, 4), (4, 3, 2), (((1, 0, 2), (1, 2, 0)), ((), ()))),
    "no rows": ((0, 3), (3, 2), MATRICES),
    "nothing to sum": ((2, 0), (0, 2), MATRICES),
    "empty batch": ((0, 2, 3), (0, 3, 2), (((2,), (1,)), ((0,), (0,)))),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("case", CASES)
def test_dot_general(case: str, rng: np.random.Generator) -> None:
    left, right, numbers = CASES[case]
    x, y = random_array(rng, left, "float32"), random_array(rng, right, "float32")

    def ours(x, y):
        return lax.dot_general(x, y, numbers)

    def theirs(x, y):
        return jlax.dot_general(x, y, numbers)

    check_values(ours, theirs, x, y)
    check_derivatives(ours, theirs, x, y)
    check_batches(ours, x, y)


DTYPES = "bool int8 uint8 int16 uint32 float16 bfloat16 float32 complex64 float8_e4m3fn".split()
# With a preferred type, one dtype of each kind.
KINDS = "bool int8 bfloat16 float32 complex64".split()


@pytest.mark.parametrize("left", DTYPES)
def test_dtypes(left: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (3, 5), left)
    for right in DTYPES:
        y = random_array(rng, (5, 4), right)
        assert_close(lax.dot(x, y), jlax.dot(x, y), f"{left} {right}")


@pytest.mark.parametrize("preferred", ["float32", "int32", "int8"])
@pytest.mark.parametrize("left", KINDS)
def test_preferred_dtypes(left: str, preferred: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (3, 5), left)
    for right in KINDS:
        y = random_array(rng, (5, 4), right)
        try:
            want = jlax.dot(x, y, preferred_element_type=preferred)
        except TypeError:
            with pytest.raises(TypeError, match="must not be narrower"):
                lax.dot(x, y, preferred_element_type=preferred)
            continue
        assert_close(lax.dot(x, y, preferred_element_type=preferred), want, f"{left} {right}")


@pytest.mark.parametrize("dtype", ["complex64", "float16", "bfloat16"])
def test_derivatives_of_other_dtypes(dtype: str, rng: np.random.Generator) -> None:
    x, y = random_array(rng, (2, 3), dtype), random_array(rng, (3, 2), "float32")
    check_derivatives(lax.dot, jlax.dot, x, y)


def test_preferred_type_in_derivatives(rng: np.random.Generator) -> None:
    x, y = random_array(rng, (2, 3), "float16"), random_array(rng, (3, 2), "float16")
    check_derivatives(
        lambda x, y: lax.dot(x, y, preferred_element_type="float32"),
        lambda x, y: jlax.dot(x, y, preferred_element_type="float32"),
        x,
        y,
    )


@pytest.mark.parametrize("bits", [3, 7, 15, 22, 31])
def test_integers_are_exact(bits: int, rng: np.random.Generator) -> None:
    """Each of the ways an integer product is computed, by how large the numbers are."""
    for shape in ((3, 5, 4), (40, 50, 30)):
        a = rng.integers(-(2**bits), 2**bits, shape[:2]).astype(np.int32)
        b = rng.integers(-(2**bits), 2**bits, shape[1:]).astype(np.int32)
        np.testing.assert_array_equal(lax.dot(a, b), a @ b)
        u, v = a.astype(np.uint32), b.astype(np.uint32)
        np.testing.assert_array_equal(lax.dot(u, v), u @ v)


def test_integers_of_64_bits(rng: np.random.Generator) -> None:
    with enable_x64(True):
        a = rng.integers(-(2**40), 2**40, (40, 30))
        b = rng.integers(-(2**40), 2**40, (30, 20))
        np.testing.assert_array_equal(lax.dot(a, b), a @ b)
        x = rng.standard_normal((4, 5))
        np.testing.assert_allclose(lax.dot(x, x.T), x @ x.T, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype: str, rng: np.random.Generator) -> None:
    a, b = random_array(rng, (20, 1000), dtype), random_array(rng, (1000, 20), dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(np.asarray(lax.dot(a, b)).astype(np.float64) - exact)
    spacing = 2.0 ** (np.floor(np.log2(np.abs(exact))) - (10 if dtype == "float16" else 7))
    assert np.all(error <= 0.51 * spacing)


def test_any_memory_layout(rng: np.random.Generator) -> None:
    base = rng.standard_normal((8, 6, 10)).astype(np.float32)
    views = [base[::2, :, ::-1], base[::-1, ::3, 1:5], base.transpose(2, 0, 1)]
    for view in views:
        x = as_array(np.zeros(()))
        x = type(x)(view, x.aval.update(shape=view.shape, dtype=view.dtype))
        numbers = (((2,), (2,)), ((0,), (0,)))
        want = np.einsum("bik,bjk->bij", view, view)
        assert_close(lax.dot_general(x, x, numbers), want)


def test_batch_matmul(rng: np.random.Generator) -> None:
    x, y = random_array(rng, (2, 3, 4, 5), "float32"), random_array(rng, (2, 3, 5, 2), "float32")
    check_values(lax.batch_matmul, jlax.batch_matmul, x, y)
    with pytest.raises(ValueError, match="same rank"):
        lax.batch_matmul(x, y[0])


def test_params_are_those_of_jax(rng: np.random.Generator) -> None:
    x = random_array(rng, (2, 2), "float32")

    def params(dot, **settings):
        if dot is jlax.dot:
            return jax.make_jaxpr(lambda x: dot(x, x, **settings))(x).eqns[0].params
        closed, _ = stage_closed(lambda x: [dot(x, x, **settings)], [as_array(x).aval])
        assert closed.eqns[0].primitive is dot_general_p
        return closed.eqns[0].params

    for settings in (
        {},
        {"precision": "high"},
        {"precision": ("highest", "default")},
        {"precision": "BF16_BF16_F32"},
        {"preferred_element_type": "bfloat16"},
    ):
        assert {k: repr(v) for k, v in params(lax.dot, **settings).items()} == {
            k: repr(v) for k, v in params(jlax.dot, **settings).items()
        }


def test_precision_forms() -> None:
    for name in ("highest", "float32", "high", "bfloat16_3x", "tensorfloat32", "default", None):
        assert lax.Precision(name).name == jlax.Precision(name).name
    assert str(lax.Precision.HIGH) == "HIGH" and repr(lax.Precision.HIGH) == "Precision.HIGH"
    x = np.ones((2, 2), np.float32)
    for wrong in ("precise", 7, ("high",), ("high", "low")):
        with pytest.raises(ValueError, match="not understood"):
            lax.dot(x, x, precision=wrong)  # type: ignore[arg-type]
    assert [p.name for p in lax.DotAlgorithmPreset] == [p.name for p in jlax.DotAlgorithmPreset]


def test_algorithms_round_operands() -> None:
    x = np.array([1 + 2.0**-10], np.float32)
    exact = float(x.item()) ** 2
    for name, want in (("BF16_BF16_F32", 1.0), ("F16_F16_F32", exact), ("F32_F32_F32", exact)):
        assert float(lax.dot(x, x, precision=name)) == np.float32(want)
    coarse = lax.DotAlgorithm(np.float16, np.float16, np.float16)
    assert float(lax.dot(x, x, precision=coarse)) == np.float16(exact)
    split = lax.DotAlgorithmPreset.BF16_BF16_F32_X3
    assert float(lax.dot(x, x, precision=split)) == np.float32(exact)


@pytest.mark.parametrize(
    "left, right, numbers, message",
    [
        ((2, 3), (2, 3), MATRICES, r"lhs float32\[2,3\] has \(3,\) at axes \(1,\)"),
        ((2, 3), (3, 2), (((-1,), (0,)), ((), ())), "nonnegative"),
        ((2, 3), (3, 2), (((2,), (0,)), ((), ())), "below 2"),
        ((2, 2), (2, 2), (((1, 1), (0, 1)), ((), ())), "distinct"),
        ((2, 2), (2, 2), (((1,), (1,)), ((1,), (1,))), "disjoint"),
        ((2, 2), (3, 2), (((1,), (1,)), ((0,), (0,))), "batch dimensions"),
        ((2, 2), (2, 2), (((), ()), ((0,), ())), "batch dimensions"),
    ],
)
def test_wrong_axes(left: tuple, right: tuple, numbers: tuple, message: str) -> None:
    x, y = np.ones(left, np.float32), np.ones(right, np.float32)
    with pytest.raises(TypeError):
        jlax.dot_general(x, y, numbers)
    with pytest.raises(TypeError, match=message):
        lax.dot_general(x, y, numbers)


def test_wrong_settings() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="dimension_numbers must be specified"):
        lax.dot(x, x)
    with pytest.raises(ValueError, match="out_sharding"):
        lax.dot(x, x.T, out_sharding="x")  # type: ignore[arg-type]
    i = np.ones((2, 2), np.int32)
    with pytest.raises(TypeError, match="must not be narrower"):
        lax.dot(i, i, preferred_element_type="int8")
