"""funcgrad.image: values and derivatives against JAX, vmap, jit, errors."""

import jax
import jax.image as jim
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import image

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 6, 2)).astype("f")
NAMES = ["NEAREST", "LINEAR", "LANCZOS3", "LANCZOS5", "CUBIC", "CUBIC_PYTORCH", "AREA"]
SHAPES = [(2, 13, 2), (10, 3, 3), (1, 1, 2), (0, 3, 2)]


def close(got, want, tolerance=2e-5):
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_resize_is_jaxs(name, antialias):
    ours, theirs = image.ResizeMethod[name], jim.ResizeMethod[name]
    for shape in SHAPES:
        close(image.resize(X, shape, ours, antialias), jim.resize(X, shape, theirs, antialias))
    one = X[:1]
    close(image.resize(one, (3, 6, 2), ours, antialias),
          jim.resize(one, (3, 6, 2), theirs, antialias))  # fmt: skip


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize(
    "scale, shift", [((0.7, 1.5), (0.3, 0.2)), ((2.0, 0.4), (-1.3, 2.6)), ((1.0, 3.0), (4.5, -9.0))]
)
def test_scale_and_translate_is_jaxs(name, antialias, scale, shift):
    args = (np.float32(scale), np.float32(shift))
    call = lambda module, method: module.scale_and_translate(
        X, (4, 8, 2), (0, -2), *map(module_array(module), args), method, antialias
    )
    close(call(image, image.ResizeMethod[name]), call(jim, jim.ResizeMethod[name]))


def module_array(module):
    return jax.numpy.asarray if module is jim else jnp.asarray


def test_names_are_jaxs():
    for name in image.NAMES:
        ours, theirs = image.ResizeMethod.from_string(name), jim.ResizeMethod.from_string(name)
        assert (ours.name, ours.value) == (theirs.name, theirs.value)
    assert [m.name for m in image.ResizeMethod] == [m.name for m in jim.ResizeMethod]


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int32, np.bool_, np.complex64])
def test_dtypes_are_jaxs(dtype):
    x = (abs(X) * 3).astype(dtype)
    for method in ("nearest", "linear", "cubic"):
        close(image.resize(x, (7, 4, 2), method), jim.resize(x, (7, 4, 2), method), 5e-3)


def test_nearest_has_jaxs_ties():
    for size, out in ((2, 49), (14, 49), (28, 99), (30, 29), (30, 13)):
        want = jim.resize(np.arange(size), (out,), "nearest")
        close(image.resize(np.arange(size), (out,), "nearest"), want)


def test_transformations():
    for method in ("AREA", "LANCZOS3", "CUBIC_PYTORCH"):
        f = lambda x, m=method: image.resize(x, (3, 8, 2), image.ResizeMethod[m])
        g = lambda x, m=method: jim.resize(x, (3, 8, 2), jim.ResizeMethod[m])
        close(funcgrad.jit(f)(X), f(X))
        batch = np.stack([X, 2 * X[::-1]])
        close(funcgrad.vmap(f)(batch), jnp.stack([f(x) for x in batch]))
        close(
            funcgrad.grad(lambda x, f=f: (f(x) ** 2).sum())(X),
            jax.grad(lambda x, g=g: (g(x) ** 2).sum())(X),
        )


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3"])
def test_derivatives_by_scale_and_translation(method):
    def loss(module):
        return lambda s, t: (
            module.scale_and_translate(X, (4, 8, 2), (0, 1), s, t, method) ** 2
        ).sum()

    args = np.float32([0.83, 1.57]), np.float32([0.31, 0.23])
    got = funcgrad.jit(funcgrad.grad(loss(image), argnums=(0, 1)))(*args)
    want = jax.grad(loss(jim), argnums=(0, 1))(*args)
    for a, b in zip(got, want, strict=True):
        close(a, b, 1e-3)


ONES = np.ones(2, "f")
ERRORS = [
    (lambda: image.resize(X, (3, 4), "linear"), "one length for each axis"),
    (lambda: image.resize(X, (3, 4, 2), "sharp"), "'sharp' is not one of"),
    (lambda: image.resize(X, (3, -4, 2), "linear"), "-4"),
    (lambda: image.resize(X, (3, 4, 2), 1), "a string, and not 1"),
    (lambda: image.resize(X[:0], (3, 4, 2), "linear"), "can not grow"),
    (lambda: image.resize(X[:0], (3, 4, 2), "nearest"), "can not grow"),
    (lambda: image.scale_and_translate(X, (3, 4, 2), (0,), ONES[:1], ONES[:1], "linear"), "keep"),
    (lambda: image.scale_and_translate(X, (3, 4, 2), (0, 1), ONES[:1], ONES, "linear"), "as many"),
    (lambda: image.scale_and_translate(X, (3, 4, 2), (0, 1), ONES, ONES, "nearest"), "'nearest'"),
    (lambda: image.scale_and_translate(X, (3, 4, 2), (0, 3), ONES, ONES, "linear"), "3"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
