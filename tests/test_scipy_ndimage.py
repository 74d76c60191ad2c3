"""funcgrad.scipy.ndimage and integrate: values, derivatives, vmap, jit, errors."""

import jax
import jax.scipy.ndimage as jsn
import numpy as np
import pytest
import scipy.integrate as si
import scipy.ndimage as sn

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy import integrate, ndimage
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
SHAPES = [(4,), (1,), (3, 5), (2, 1, 3)]
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


@pytest.fixture
def x64():
    with enable_x64(True):
        yield


def points(shape, dtype="f"):
    """Places inside and far outside, whole, half and in between, some lines of them per axis."""
    halves = np.arange(-7, 9) / 2
    places = [np.concatenate([RNG.permutation(halves), RNG.uniform(-9, 9, 24)]) for _ in shape]
    return [x.reshape(5, 8).astype(dtype) for x in places]


def close(got, want, tolerance=1e-5):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    wide = np.promote_types(np.asarray(want).dtype, "f") if got.dtype != bool else bool
    got, want = (np.asarray(x).astype(wide) for x in (got, want))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_derivatives_are_jaxs(shape, order, mode):
    x, places = RNG.normal(size=shape).astype("f"), points(shape)
    loss = lambda module: lambda x, c: (module.map_coordinates(x, c, order, mode, 2.0) ** 2).sum()
    for y in (x, (9 * x).astype(int), abs(9 * x).astype("uint8"), x > 0, x + 1j):
        want = jsn.map_coordinates(y, places, order, mode, 2.0)
        close(ndimage.map_coordinates(y, places, order, mode, 2.0), want)
    got = funcgrad.grad(loss(ndimage), argnums=(0, 1))(x, places)
    want = jax.grad(loss(jsn), argnums=(0, 1))(x, places)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        close(a, b, 1e-4)


@pytest.mark.parametrize("mode", ["nearest", "mirror", "reflect", "grid-wrap", "grid-constant"])
def test_lines_between_samples_are_scipys(x64, mode):
    x, places = RNG.normal(size=(4, 5)), points((4, 5), "d")
    ours = {"grid-wrap": "wrap", "grid-constant": "constant"}.get(mode, mode)
    got = ndimage.map_coordinates(x, places, 1, ours, 1.5)
    want = sn.map_coordinates(x, places, order=1, mode=mode, cval=1.5)
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_halves_go_away_from_zero():
    x, places = jnp.array([-4, -1, 0, 3]), [np.arange(3) + 0.5]
    assert ndimage.map_coordinates(x, places, 1).tolist() == [-3, -1, 2]
    assert ndimage.map_coordinates(x, places, 0).tolist() == [-1, 0, 3]
    assert ndimage.map_coordinates(x, [np.array([-0.5])], 0, cval=7).tolist() == [7]


def test_narrow_integers_reach_beyond_their_range():
    x = RNG.normal(size=300).astype("f")
    for dtype in (np.uint8, np.int8):
        places = [np.array([0, 3, 120], dtype)]
        for mode in MODES:
            close(ndimage.map_coordinates(x, places, 1, mode), x[places[0]])


def test_coordinates_broadcast_and_may_be_numbers_or_one_array():
    x = RNG.normal(size=(4, 5)).astype("f")
    for places in ([np.ones((3, 1)), np.arange(4)], [1.5, 2], np.ones((2, 3)), [[0, 1], [2, 3]]):
        close(ndimage.map_coordinates(x, places, 1), jsn.map_coordinates(x, places, 1))
    lists = ndimage.map_coordinates([[1.0, 2.0]], [[0.0], [0.5]], 1)
    np.testing.assert_allclose(lists, [1.5])


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_transformations(order, mode):
    x, places = RNG.normal(size=(3, 4, 5)).astype("f"), points((4, 5))
    stacked = np.stack(places, 1)
    f = lambda x, c: ndimage.map_coordinates(x, c, order, mode, cval=0.5)
    close(funcgrad.jit(f)(x[0], places), f(x[0], places))
    close(funcgrad.vmap(f, (0, None))(x, places), jnp.stack([f(y, places) for y in x]))
    mapped = funcgrad.vmap(f, (None, 0))(x[0], stacked)
    close(mapped, jnp.stack([f(x[0], line) for line in stacked]))
    both = funcgrad.vmap(f)(x, stacked[:3])
    close(both, jnp.stack([f(*pair) for pair in zip(x, stacked[:3], strict=True)]))


def test_second_derivatives_and_that_by_cval(x64):
    x, places = RNG.normal(size=(4, 5)), [RNG.uniform(-1, 5, 7) for _ in range(2)]
    f = lambda x, cval, *c: ndimage.map_coordinates(x, c, 1, cval=cval) ** 2
    check_grads(f, (x, 0.3, *places), order=2, modes=["fwd", "rev"])


X, ONE = np.ones((3, 4), "f"), np.ones(2, "f")
ERRORS = [
    (lambda: ndimage.map_coordinates(X, [ONE, ONE], 3), NotImplementedError, "not 3"),
    (lambda: ndimage.map_coordinates(X, [ONE, ONE], 1, "x"), NotImplementedError, "mode 'x'"),
    (lambda: ndimage.map_coordinates(X, [ONE], 1), ValueError, "takes 2 coordinates.*got 1"),
    (lambda: ndimage.map_coordinates(X[:0], [ONE, ONE], 1), ValueError, r"shape \(0, 4\)"),
    (lambda: ndimage.map_coordinates(1.0, [], 1), ValueError, "axes and elements"),
    (lambda: ndimage.map_coordinates(X, [ONE, 1j * ONE], 1), TypeError, "float32, complex64"),
    (lambda: ndimage.map_coordinates(X, [ONE, np.ones(3)], 1), ValueError, "broadcast"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_trapezoid(x64):
    y, x = RNG.normal(size=(3, 4)), np.sort(RNG.normal(size=4))
    for args in ((y, None, 0.5), (y, x), (y.T, x, 1.0, 0)):
        np.testing.assert_allclose(integrate.trapezoid(*args), si.trapezoid(*args), rtol=1e-12)
    check_grads(integrate.trapezoid, (y, x), order=2, modes=["fwd", "rev"])
