"""stax against JAX's: parameters from the same random bits, the same shapes and results."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.example_libraries import stax as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.example_libraries import stax as ours

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape).astype("f4")


# name, what makes the layer from a library, its inputs
LAYERS = {
    "Dense": (lambda s: s.Dense(3), normal(2, 4)),
    "Conv": (lambda s: s.Conv(3, (2, 3)), normal(2, 5, 6, 4)),
    "Conv SAME": (lambda s: s.Conv(3, (2, 2), (2, 1), "SAME"), normal(2, 5, 6, 4)),
    "Conv pairs": (lambda s: s.Conv(3, (2, 2), None, [(1, 0), (0, 2)]), normal(2, 5, 6, 4)),
    "Conv NCHW": (
        lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 3, (2, 3)),
        normal(2, 4, 5, 6),
    ),
    "ConvTranspose": (lambda s: s.ConvTranspose(3, (2, 2), (2, 2), "SAME"), normal(2, 5, 6, 4)),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(3, (3,), (2,)), normal(2, 5, 4)),
    "BatchNorm": (lambda s: s.BatchNorm(), normal(3, 5, 6, 4)),
    "BatchNorm of one axis": (lambda s: s.BatchNorm(0, scale=False), normal(3, 4)),
    "BatchNorm alone": (lambda s: s.BatchNorm((0, 1), center=False), normal(3, 5, 4)),
    "MaxPool": (lambda s: s.MaxPool((2, 2)), normal(2, 5, 6, 4)),
    "SumPool": (lambda s: s.SumPool((3,), (2,), spec="NWC"), normal(2, 5, 4)),
    "AvgPool": (lambda s: s.AvgPool((2, 2), (2, 1), "SAME"), normal(2, 5, 6, 4)),
    "AvgPool NCHW": (lambda s: s.AvgPool((2, 3), spec="NCHW"), normal(2, 4, 5, 6)),
    "Flatten": (lambda s: s.Flatten, normal(2, 5, 6)),
    "shape_dependent": (
        lambda s: s.shape_dependent(lambda shape: s.Dense(2 * shape[-1])),
        normal(2, 4),
    ),
    "residual": (
        lambda s: s.serial(
            s.FanOut(2),
            s.parallel(s.serial(s.Dense(4), s.Relu), s.Identity),
            s.FanInSum,
            s.Dense(2),
        ),
        normal(3, 4),
    ),
    "concatenated": (
        lambda s: s.serial(s.FanOut(3), s.parallel(s.Dense(4), s.Dense(2), s.Exp), s.FanInConcat()),
        normal(3, 4),
    ),
    "concatenated along 0": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Tanh, s.Identity), s.FanInConcat(0)),
        normal(3, 4),
    ),
    "convolutional": (
        lambda s: s.serial(
            s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2), (2, 2)),
            s.Flatten, s.Dense(10), s.LogSoftmax,
        ),
        normal(2, 6, 6, 3),
    ),
}  # fmt: skip
for kind in "Tanh Relu Exp LogSoftmax Softmax Softplus Sigmoid Elu LeakyRelu Selu Gelu".split():
    LAYERS[kind] = (lambda s, kind=kind: getattr(s, kind), normal(3, 4))


def both(name):
    make, inputs = LAYERS[name]
    results = []
    for lib, xp, stax in ((fg, fnp, ours), (jax, jnp, theirs)):
        init, apply = make(stax)
        shape, params = init(lib.random.key(7), inputs.shape)
        results.append((lib, apply, shape, params, xp.asarray(inputs)))
    return results


def assert_same(got, want, rtol=None):
    got, want = tree.leaves(got), jax.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if rtol is None:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_init_and_apply(name):
    (_, apply, shape, params, x), (_, their_apply, their_shape, their_params, y) = both(name)
    assert shape == jax.tree.map(int, their_shape)
    assert str(tree.structure(params)) == str(jax.tree.structure(their_params))
    assert_same(params, their_params, rtol=1e-6)
    out = apply(params, x)
    assert_same(out, their_apply(their_params, y), rtol=2e-5)
    assert jax.tree.map(np.shape, out) == shape
    assert_same(fg.jit(apply)(params, x), out, rtol=2e-5)


@pytest.mark.parametrize("name", ["ConvTranspose", "AvgPool", "residual"])
def test_gradients(name):
    found = []
    for lib, apply, _, params, x in both(name):
        loss = lambda params, x, apply=apply: (apply(params, x) ** 2).sum()
        found.append(lib.grad(loss, (0, 1))(params, x))
    assert_same(*found, rtol=1e-3)


def test_vmap_over_members_of_an_ensemble():
    init, apply = ours.serial(ours.Dense(3), ours.Tanh)
    keys = fg.random.split(fg.random.key(0), 4)
    x = fnp.asarray(normal(2, 5))
    params = fg.vmap(lambda k: init(k, (2, 5))[1])(keys)
    out = fg.vmap(apply, (0, None))(params, x)
    loop = [apply(init(k, (2, 5))[1], x) for k in keys]
    np.testing.assert_allclose(out, np.stack(loop), rtol=1e-6)


@pytest.mark.parametrize("wrap", ["serial", "parallel"])
def test_keys_reach_dropout(wrap):
    outs = []
    for lib, xp, stax in ((fg, fnp, ours), (jax, jnp, theirs)):
        key = lib.random.key(3)
        if wrap == "serial":
            _, apply = stax.serial(stax.Dropout(0.7), stax.Dropout(0.5))
            outs.append(apply([(), ()], xp.ones(50), rng=key))
        else:
            _, apply = stax.parallel(stax.Dropout(0.7), stax.Dropout(0.5, mode="test"))
            outs.append(apply([(), ()], [xp.ones(50), xp.ones(4)], rng=key))
    assert_same(*outs)


def test_unknown_batch_size_stays_unknown():
    init, _ = ours.serial(ours.Conv(2, (3, 3)), ours.AvgPool((2, 2)), ours.Flatten, ours.Dense(5))
    shape, params = init(fg.random.key(0), (-1, 8, 8, 3))
    assert shape == (-1, 5)
    assert params[3][0].shape == (50, 5)


def test_functions_take_settings():
    layer = ours.elementwise(fnp.clip, min=0.0, max=1.0)
    assert_same(layer[1]((), fnp.asarray([-1.0, 0.5, 3.0])), np.array([0, 0.5, 1], "f4"))
    assert ours.serial()[0](fg.random.key(0), (2, 3)) == ((2, 3), [])


def test_errors():
    with pytest.raises(ValueError, match="mode is 'train' or 'test', got 'eval'"):
        ours.Dropout(0.5, mode="eval")
    _, apply = ours.serial(ours.Dropout(0.5))
    with pytest.raises(ValueError, match="applied without a key; call"):
        apply([()], fnp.ones(3))


def test_all_names_and_parameters_are_there():
    for name in vars(theirs):
        value = getattr(theirs, name)
        if name.startswith("_") or getattr(value, "__module__", "") != theirs.__name__:
            continue
        want = list(inspect.signature(value).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == want, name
    assert {"Conv", "Conv1DTranspose", "ConvTranspose", "Softmax", "FanInSum"} <= set(ours.__all__)
