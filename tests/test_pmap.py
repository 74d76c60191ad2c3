"""pmap and collectives: values, gradients, placement, and what wrong calls say."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.random.default_rng(0).normal(size=(4, 4, 3)).astype(np.float32)

COLLECTIVES = {
    "psum": lambda lax, x: lax.psum(x, "i"),
    "pmean": lambda lax, x: lax.pmean(x, "i"),
    "pmax": lambda lax, x: lax.pmax(x, "i"),
    "pmin": lambda lax, x: lax.pmin(x, "i"),
    "ppermute": lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (3, 0), (2, 3)]),
    "all_gather": lambda lax, x: lax.all_gather(x, "i", axis=1),
    "all_gather tiled": lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "i", 0, 1),
    "all_to_all tiled": lambda lax, x: lax.all_to_all(x, "i", 0, 1, tiled=True),
    "all_to_all tiled same": lambda lax, x: lax.all_to_all(x, "i", 0, 0, tiled=True),
    "psum_scatter": lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=0),
    "psum_scatter tiled": lambda lax, x: lax.psum_scatter(x, "i", tiled=True),
    "axis_index": lambda lax, x: x * lax.axis_index("i"),
    "axis_size": lambda lax, x: x * lax.axis_size("i"),
}
# JAX has no derivative for the first two, and gets the type of the third wrong.
NO_REFERENCE_GRADIENT = {"pmax", "pmin", "all_to_all"}


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("mapper", ["vmap", "pmap"])
def test_collective(name, mapper):
    collective = COLLECTIVES[name]

    def mapped(lib):
        return getattr(lib, mapper)(lambda x: collective(lib.lax, x), axis_name="i")

    close(mapped(fg)(X), mapped(jax)(X))
    if name in NO_REFERENCE_GRADIENT:
        return

    def outside(lib, cos):
        return lib.grad(lambda x: (mapped(lib)(x) * cos(mapped(lib)(x))).sum())

    def inside(lib, cos):
        loss = lambda x: (collective(lib.lax, x) * cos(collective(lib.lax, x))).sum()
        return getattr(lib, mapper)(lib.grad(loss), axis_name="i")

    close(outside(fg, fnp.cos)(X), outside(jax, jnp.cos)(X))
    close(inside(fg, fnp.cos)(X), inside(jax, jnp.cos)(X))


@pytest.mark.parametrize("name", COLLECTIVES)
def test_vmap_and_pmap_agree(name):
    collective = COLLECTIVES[name]
    one = lambda x: collective(lax, x)
    close(fg.vmap(one, axis_name="i")(X), fg.pmap(one, axis_name="i")(X))


@pytest.mark.parametrize("name", ["pmax", "pmin", "all_to_all"])
def test_gradient_by_finite_differences(name):
    collective = COLLECTIVES[name]

    def loss(x):
        y = fg.vmap(lambda x: collective(lax, x), axis_name="i")(x)
        return (y * fnp.sin(fnp.arange(y.size).reshape(y.shape))).sum()

    with fg.enable_x64(True):
        x = fnp.asarray(X.astype(np.float64))
        direction = np.cos(np.arange(x.size)).reshape(x.shape)
        slope = (loss(x + 1e-6 * direction) - loss(x - 1e-6 * direction)) / 2e-6
        close((fg.grad(loss)(x) * direction).sum(), slope)


def test_in_axes_and_out_axes():
    f = lambda a, b: (a + b, a * 2)
    a, b = X[:, :, 0].T, X[0, 0]
    a = np.ascontiguousarray(a)
    ours = fg.pmap(f, in_axes=(1, None), out_axes=(0, 1))(a[:3, :], b)
    theirs = jax.pmap(f, in_axes=(1, None), out_axes=(0, 1))(a[:3, :], b)
    for x, y in zip(ours, theirs, strict=True):
        close(x, y)


def test_shared_argument_gradient_is_summed():
    def loss(lib, w):
        return (lib.pmap(lambda w, x: (w * x) ** 2, in_axes=(None, 0))(w, X)).sum()

    w = X[0, 0]
    close(fg.grad(lambda w: loss(fg, w))(w), jax.grad(lambda w: loss(jax, w))(w))


def test_static_and_unnamed():
    f = lambda n, x: x * n
    close(fg.pmap(f, static_broadcasted_argnums=0)(3, X), X * 3)


def test_pmap_under_jit_and_vmap():
    f = fg.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    close(fg.jit(f)(X), f(X))
    close(fg.vmap(f, 1, 1)(X), f(X))


def test_result_says_which_device_holds_which_slice():
    y = fg.pmap(lambda x: x)(X)
    text = repr(y.sharding)
    assert "CPU_0: [0]" in text and "CPU_3: [3]" in text
    assert [s.device.id for s in y.addressable_shards] == [0, 1, 2, 3]
    close(y.addressable_shards[2].data, X[2:3])


def test_nested_pmap_is_refused():
    with pytest.raises(NotImplementedError, match="nested pmap"):
        fg.pmap(lambda x: fg.pmap(lambda y: y)(x))(X[:2, :2])


def test_error_on_one_device_stops_the_others():
    def callback(i):
        if i == 1:
            raise ValueError("broken member")
        return np.float32(0)

    def f(x):
        i = lax.axis_index("i")
        y = fg.pure_callback(callback, fg.ShapeDtypeStruct((), "float32"), i)
        return lax.psum(x + y, "i")

    with pytest.raises(ValueError, match="broken member") as caught:
        fg.pmap(f, axis_name="i")(X)
    assert any("CPU_1" in note for note in caught.value.__notes__)
    close(fg.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(X), np.stack([X.sum(0)] * 4))


def test_reduction_is_the_same_bits_every_time():
    f = fg.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    first = np.asarray(f(X)).tobytes()
    assert all(np.asarray(f(X)).tobytes() == first for _ in range(5))


def test_out_axes_are_checked():
    with pytest.raises(ValueError, match="out_axes 5 is out of bounds"):
        fg.pmap(lambda x: x, out_axes=5)(X)
