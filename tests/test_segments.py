"""Segment reductions against JAX, and the gradient of segment_prod, which JAX lacks."""

import jax
import numpy as np
import pytest
from jax import ops as jops

import funcgrad
from funcgrad import numpy as jnp
from funcgrad import ops
from funcgrad.base.config import enable_x64

REDUCTIONS = ["segment_sum", "segment_prod", "segment_max", "segment_min"]
IDS = np.array([2, 0, 2, -1, 5, 0, 2], np.int32)
DTYPES = ["f4", "i4", "i1", "u1", "f2", "c8", jax.numpy.bfloat16]


def same(ours, theirs, rtol=1e-6):
    assert ours.dtype == theirs.dtype
    got, want = np.asarray(ours), np.asarray(theirs)
    assert got.shape == want.shape
    if want.dtype.kind not in "iu":
        got, want = got.astype(np.complex128), want.astype(np.complex128)
    np.testing.assert_allclose(got, want, rtol=rtol)


def data_of(dtype, shape=(7,)):
    low = 0 if dtype == "u1" else -3
    return np.random.default_rng(0).uniform(low, 4, shape).astype(dtype)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(name, dtype):
    if dtype == "c8" and name in ("segment_max", "segment_min"):
        return
    data = data_of(dtype)
    rtol = 1e-6 if np.dtype(dtype).itemsize > 2 else 2e-2
    same(getattr(ops, name)(data, IDS, 4), getattr(jops, name)(data, IDS, 4), rtol)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_segments": 2},
        {"num_segments": 0},
        {"num_segments": 4, "mode": "clip"},
        {"num_segments": 4, "bucket_size": 3},
        {"num_segments": 4, "bucket_size": 3, "mode": "clip"},
        {"num_segments": 8, "bucket_size": 100},
    ],
    ids=str,
)
def test_settings(name, settings):
    data = data_of("f4", (7, 2))
    same(getattr(ops, name)(data, IDS, **settings), getattr(jops, name)(data, IDS, **settings))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_sorted_and_unique(name):
    ids = np.array([0, 1, 3, 4])
    settings = {"indices_are_sorted": True, "unique_indices": True}
    data = data_of("f4", (4, 3))
    same(
        getattr(ops, name)(data, ids, 5, **settings),
        getattr(jops, name)(data, ids, 5, **settings),
    )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_no_rows(name):
    empty, ids = np.zeros((0, 2), np.float32), np.zeros(0, np.int32)
    same(getattr(ops, name)(empty, ids, 3), getattr(jops, name)(empty, ids, 3))
    assert getattr(ops, name)(empty, ids).shape == (0, 2)


@pytest.mark.parametrize("name", ["segment_sum", "segment_max", "segment_min"])
@pytest.mark.parametrize("bucket_size", [None, 2])
def test_gradients(name, bucket_size):
    data = data_of("f4", (7, 2))

    def loss(library):
        return lambda x: (
            getattr(library, name)(x, np.minimum(IDS, 2), 3, bucket_size=bucket_size) ** 2
        ).sum()

    same(funcgrad.grad(loss(ops))(data), jax.grad(loss(jops))(data))


def product_by_hand(data, ids, count):
    return jnp.stack([jnp.prod(jnp.where(ids == i, data, 1)) for i in range(count)])


@pytest.mark.parametrize("bucket_size", [None, 2])
@pytest.mark.parametrize("zeros", [(), (0,), (0, 2)])
def test_derivatives_of_products(zeros, bucket_size):
    data = np.array([1.5, -2.0, 0.5, 3.0, 4.0, -1.0, 2.5])
    data[list(zeros)] = 0
    weights = np.array([1.0, -2.0, 3.0, 0.5])

    def ours(x):
        out = ops.segment_prod(x, IDS, 4, bucket_size=bucket_size)
        return (weights * out + out**2).sum()

    def by_hand(x):
        out = product_by_hand(x, IDS, 4)
        return (weights * out + out**2).sum()

    with enable_x64(True):
        for derivative in (funcgrad.grad, funcgrad.hessian):
            got, want = derivative(ours)(data), derivative(by_hand)(data)
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=1e-12)
        out, moved = funcgrad.jvp(ours, (data,), (np.ones(7),))
        want = funcgrad.jvp(by_hand, (data,), (np.ones(7),))
        np.testing.assert_allclose([float(out), float(moved)], [float(v) for v in want])


def test_under_jit_and_vmap():
    data, ids = data_of("f4", (3, 7)), np.stack([IDS, IDS[::-1], np.roll(IDS, 2)])
    for name in REDUCTIONS:
        function = getattr(ops, name)
        batched = funcgrad.vmap(lambda d, i, f=function: f(d, i, 4))
        want = np.stack([np.asarray(function(d, i, 4)) for d, i in zip(data, ids, strict=True)])
        np.testing.assert_allclose(np.asarray(batched(data, ids)), want, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(funcgrad.jit(batched)(data, ids)), want, rtol=1e-6)
    gradients = funcgrad.vmap(funcgrad.grad(lambda d, i: ops.segment_prod(d, i, 4).sum()))
    want = [
        funcgrad.grad(lambda d, i=i: ops.segment_prod(d, i, 4).sum())(d)
        for d, i in zip(data, ids, strict=True)
    ]
    np.testing.assert_allclose(np.asarray(gradients(data, ids)), np.stack(want), rtol=1e-5)


@pytest.mark.parametrize(
    "call, error, said",
    [
        (
            lambda: ops.segment_sum(np.ones(3), np.zeros(2, int), 2),
            ValueError,
            "one number for each",
        ),
        (lambda: ops.segment_sum(np.ones(3), np.zeros(3), 2), TypeError, "hold an integer"),
        (
            lambda: ops.segment_sum(np.ones((2, 2)), np.zeros((2, 2), int), 2),
            TypeError,
            "on one axis",
        ),
        (lambda: ops.segment_sum(np.ones(3), np.zeros(3, int), -1), ValueError, "non-negative"),
        (lambda: ops.segment_sum(np.ones(3), np.zeros(3, int), 2, mode="wrap"), ValueError, "wrap"),
        (
            lambda: ops.segment_sum(np.ones(3), np.zeros(3, int), 2, bucket_size=0),
            ValueError,
            "bucket_size",
        ),
        (
            lambda: funcgrad.jit(lambda i: ops.segment_sum(np.ones(3), i))(np.zeros(3, int)),
            funcgrad.errors.ConcretizationTypeError,
            "num_segments",
        ),
    ],
)
def test_errors(call, error, said):
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
