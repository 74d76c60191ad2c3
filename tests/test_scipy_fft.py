"""funcgrad.scipy.fft: values against SciPy and JAX, derivatives, vmap, jit, errors."""

import jax
import jax.scipy.fft as jsf
import numpy as np
import pytest
import scipy.fft as sf

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy import fft
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
NAMES = ("dct", "idct", "dctn", "idctn")
NORMS = (None, "backward", "ortho")
SIZES = (1, 2, 3, 4, 7, 8, 15)


@pytest.fixture
def x64():
    with enable_x64(True):
        yield


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_scipys(x64, name, norm):
    ours, theirs = getattr(fft, name), getattr(sf, name)
    for n in SIZES:
        x = RNG.normal(size=(3, n))
        for y in (x, x + 1j * x[::-1]):
            got = ours(y, norm=norm)
            assert got.dtype == y.dtype
            np.testing.assert_allclose(got, theirs(y, norm=norm), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 9])
def test_lengths_and_axes(x64, name, axis, n):
    x = RNG.normal(size=(4, 5, 2))
    for norm in NORMS:
        got = getattr(fft, name)(x, 2, n, axis, norm)
        want = getattr(sf, name)(x, 2, n, axis, norm)
        np.testing.assert_allclose(got, want, atol=1e-12)


CUTS = [
    {},
    {"s": (3,)},
    {"s": (6, 1)},
    {"axes": (0,)},
    {"axes": (-1, 0)},
    {"axes": ()},
    {"s": (3, 8), "axes": (2, 0)},
    {"s": (5, 6, 7)},
]


@pytest.mark.parametrize("name", NAMES[2:])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_several_axes(x64, name, cut):
    x = RNG.normal(size=(4, 5, 2))
    got, want = getattr(fft, name)(x, **cut), getattr(sf, name)(x, **cut)
    np.testing.assert_allclose(got, want, atol=1e-11)


@pytest.mark.parametrize("name", NAMES[2:])
def test_one_axis_without_a_sequence(name):
    x = np.eye(3, 4, dtype="f")
    got, want = getattr(fft, name)(x, s=2, axes=0), getattr(jsf, name)(x, s=2, axes=0)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_no_rows():
    for name in NAMES[:2]:
        assert getattr(fft, name)(np.ones((0, 3), "f")).shape == (0, 3)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float16", "bfloat16", "complex64"])
def test_dtypes_are_jaxs(dtype, norm):
    x = np.arange(6).reshape(2, 3)
    # JAX scales half precision before it goes over to float32.
    tolerance = 2e-2 if "float16" in dtype else 1e-5
    for name in NAMES:
        got = getattr(fft, name)(jnp.asarray(x, dtype), norm=norm)
        want = getattr(jsf, name)(jax.numpy.asarray(x, dtype), norm=norm)
        assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", NAMES)
def test_transformations(name, norm):
    f = lambda x: getattr(fft, name)(x, norm=norm)
    x = RNG.normal(size=(3, 4, 7)).astype("f")
    for rows in (x, x[..., :6]):
        np.testing.assert_allclose(funcgrad.jit(f)(rows), f(rows), rtol=1e-5, atol=1e-5)
        loop = jnp.stack([f(row) for row in rows])
        np.testing.assert_allclose(funcgrad.vmap(f)(rows), loop, rtol=1e-5, atol=1e-5)
        last = jnp.stack([f(rows[..., i]) for i in range(rows.shape[-1])], -1)
        mapped = funcgrad.vmap(f, -1, -1)(rows)
        np.testing.assert_allclose(mapped, last, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(x64, name, norm):
    f = lambda x: getattr(fft, name)(x, norm=norm) ** 2
    for n in (1, 4, 5):
        check_grads(f, (RNG.normal(size=(2, n)),), order=2, modes=["fwd", "rev"])


def test_the_orthonormal_transform_has_its_transpose_for_inverse():
    matrix = funcgrad.jacobian(lambda x: fft.dct(x, norm="ortho"))(jnp.zeros(7))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(7), atol=1e-6)
    inverse = funcgrad.jacobian(lambda x: fft.idct(x, norm="ortho"))(jnp.zeros(7))
    np.testing.assert_allclose(inverse, matrix.T, atol=1e-6)


X = np.ones((3, 4), "f")
ERRORS = [
    (lambda: fft.dct(X, type=3), NotImplementedError, "not 3"),
    (lambda: fft.idctn(X, type=1), NotImplementedError, "idctn has type 2"),
    (lambda: fft.dct(X, norm="forward"), ValueError, "norm 'forward'"),
    (lambda: fft.idct(X, n=0), ValueError, "needs a sample"),
    (lambda: fft.dct(X, n=-2), ValueError, "it got -2"),
    (lambda: fft.dct(X[:, :0]), ValueError, r"shape \(3, 0\)"),
    (lambda: fft.dct(X, axis=2), ValueError, "axis 2 is out of bounds"),
    (lambda: fft.dct(1.0), ValueError, "out of bounds"),
    (lambda: fft.dct([1.0, 2.0]), TypeError, "dct takes arrays"),
    (lambda: fft.dctn(X, axes=(0, -2)), ValueError, "duplicate"),
    (lambda: fft.dctn(X, s=(2, 3), axes=(0,)), ValueError, "a length for each axis"),
    (lambda: fft.dctn(X, s=(2, 3, 4)), ValueError, "out of bounds"),
    (lambda: funcgrad.jit(lambda n: fft.dct(X, n=n))(3), TypeError, "integer"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
