"""funcgrad.nn against jax.nn: values, dtypes, and slopes where pieces meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import nn
from funcgrad.nn import initializers
from nn_oracle import jax_uncompiled, same  # noqa: F401

ELEMENTWISE = """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu
    log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid
    squareplus swish tanh""".split()
# Where pieces meet, far out on both sides, and in between.
POINTS = np.array(
    [-1e4, -100, -3.5, -3, -1, -0.5, -0.0, 0, 1e-6, 0.7, 1, 3, 6, 6.5, 100, 1e4, np.inf, -np.inf],
    np.float32,
)
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(2, 3, 4)).astype(np.float32) * 3
MASK = RNG.random((2, 3, 4)) > 0.4
MASK[0, 1] = False


# elementwise


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    same(ours(fnp.asarray(POINTS)), theirs(jnp.asarray(POINTS)))
    same(ours(POINTS), theirs(POINTS))
    same(ours(0.5), theirs(0.5))
    same(ours(fnp.asarray(POINTS[:4], fnp.bfloat16)), theirs(jnp.asarray(POINTS[:4], jnp.bfloat16)))
    if name not in ("sigmoid", "silu", "swish"):
        same(ours(fnp.arange(-2, 3)), theirs(jnp.arange(-2, 3)))
    with pytest.raises(TypeError, match=f"{name}|hard_silu|silu"):
        ours([1.0, 2.0])


@pytest.mark.parametrize("name", [*ELEMENTWISE, "log1mexp"])
def test_slopes(name):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    points = np.abs(POINTS) if name == "log1mexp" else POINTS
    slope, wanted = fg.vmap(fg.grad(ours))(points), jax.vmap(jax.grad(theirs))(points)
    same(slope, wanted)
    finite = points[np.isfinite(points) & (np.abs(points) < 1e3) & (points != 0)]
    bend = fg.vmap(fg.grad(fg.grad(ours)))(finite)
    same(bend, jax.vmap(jax.grad(jax.grad(theirs)))(finite), rtol=1e-4, atol=1e-5)
    # Far to the left 1 + tanh and the like lose digits, and compiled code rounds otherwise.
    assert_allclose(fg.jit(ours)(points), ours(points), rtol=1e-6, atol=2e-7)


def test_slopes_at_the_joints():
    assert [float(fg.grad(nn.relu)(x)) for x in (-1.0, 0.0, 1.0)] == [0, 0, 1]
    assert [float(fg.grad(nn.relu6)(x)) for x in (0.0, 3.0, 6.0)] == [0, 1, 0]
    assert float(fg.grad(nn.leaky_relu)(0.0)) == 1
    assert [float(fg.grad(nn.elu)(x)) for x in (1e4, 100.0)] == [1, 1]
    assert np.isnan(nn.relu(np.float32(np.nan)))


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("celu", (2.0,), {}),
        ("elu", (np.array([0.5, 1, 2], np.float32),), {}),
        ("gelu", (), {"approximate": False}),
        ("gelu", (True,), {}),
        ("leaky_relu", (0.2,), {}),
        ("squareplus", (1.5,), {}),
    ],
)
def test_settings(name, args, kwargs):
    x = SCORES[..., :3]
    same(getattr(nn, name)(x, *args, **kwargs), getattr(jax.nn, name)(x, *args, **kwargs))


def test_log1mexp():
    x = np.array([0, 1e-20, 1e-3, 0.5, np.log(2), 1, 20, 90], np.float32)
    same(nn.log1mexp(x), jax.nn.log1mexp(x))


def test_glu():
    for axis in (-1, 0):
        same(nn.glu(SCORES, axis), jax.nn.glu(SCORES, axis))
    with pytest.raises(ValueError, match=r"\(2, 3, 4\).*even size, not 3"):
        nn.glu(SCORES, 1)
    with pytest.raises(ValueError, match="axis 3"):
        nn.glu(SCORES, 3)


# along an axis


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "standardize"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None])
@pytest.mark.parametrize("where", [None, MASK])
def test_scaled_along_axes(name, axis, where):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    same(ours(SCORES, axis, where=where), theirs(SCORES, axis, where=where), 2e-5, 2e-5)
    weights = np.where(MASK, RNG.normal(size=SCORES.shape), 0).astype(np.float32)

    def total(f, lib):
        return lambda x: lib.sum(lib.where(MASK, f(x, axis, where=where), 0) * weights)

    gradient = fg.grad(total(ours, fnp))(SCORES)
    wanted = jax.grad(total(theirs, jnp))(SCORES)
    if name == "standardize" and where is not None:
        keep = np.broadcast_to(MASK.any(axis, keepdims=True), MASK.shape)
        gradient, wanted = fnp.where(keep, gradient, 0), jnp.where(keep, wanted, 0)
    same(gradient, wanted, 2e-4, 2e-4)


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "standardize", "logsumexp", "logmeanexp"]
)
def test_dtypes_and_empty(name):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    for x in (np.arange(6).reshape(2, 3), np.ones((2, 3), np.float16)):
        same(ours(x, axis=-1), theirs(x, axis=-1))
    if name not in ("standardize", "logmeanexp"):  # the mean of nothing is nan, with a warning
        nothing = np.zeros((2, 0), np.float32)
        same(ours(nothing, axis=-1), theirs(nothing, axis=-1))


@pytest.mark.parametrize("by_rule", [False, True])
def test_softmax_ignores_what_is_masked(by_rule):
    x = np.array([[1, 2, np.nan], [np.inf, 3, -np.inf], [np.nan] * 3], np.float32)
    keep = np.array([[True, True, False], [False, True, False], [False] * 3])
    wanted = np.array([[1 / (1 + np.e), np.e / (1 + np.e), 0], [0, 1, 0], [0, 0, 0]])
    weights = np.arange(9, dtype=np.float32).reshape(3, 3)
    f = lambda x: fnp.sum(nn.softmax(x, where=keep) * weights)
    with fg.softmax_custom_jvp(by_rule):
        assert_allclose(nn.softmax(x, where=keep), wanted, rtol=1e-6)
        gradient = np.asarray(fg.grad(f)(x))
        assert_allclose(gradient[0], [-0.19661194, 0.19661194, 0], atol=1e-6)
        assert_array_equal(gradient[1:], 0)
        tangent = np.where(keep, 1, np.nan).astype(np.float32)
        assert np.isfinite(fg.jvp(lambda x: nn.softmax(x, where=keep), (x,), (tangent,))[1]).all()
    log = nn.log_softmax(x, where=keep)
    assert_allclose(log, np.log(wanted, where=keep, out=np.full((3, 3), -np.inf)), atol=1e-6)
    total = lambda x: fnp.sum(fnp.where(keep, nn.log_softmax(x, where=keep), 0))
    assert np.isfinite(fg.grad(total)(x)).all()


def test_softmax_rule_is_the_derivative():
    f = lambda x: fnp.sum(nn.softmax(x, axis=0)[1] ** 2)
    with fg.softmax_custom_jvp(True):
        by_rule = fg.hessian(f)(SCORES[0])
    assert_allclose(by_rule, fg.hessian(f)(SCORES[0]), atol=1e-6)


def test_softmax_of_infinite_scores():
    masked = np.array([0, -np.inf, 0], np.float32)
    assert_allclose(nn.softmax(masked), [0.5, 0, 0.5])
    assert_allclose(
        fg.grad(lambda x: nn.softmax(x + masked)[0])(np.ones(3, np.float32)), [0.25, 0, -0.25]
    )
    assert np.isnan(nn.softmax(np.full(2, -np.inf, np.float32))).all()


def test_standardize_settings():
    x = np.arange(4, dtype=np.float32)
    same(nn.standardize(x, variance=2.0), jax.nn.standardize(x, variance=2.0))
    same(nn.standardize(x, mean=1.0, epsilon=0.5), jax.nn.standardize(x, mean=1.0, epsilon=0.5))
    same(nn.standardize(x, algorithm="stable"), jax.nn.standardize(x, algorithm="stable"))
    with pytest.raises(ValueError, match="'quick'; use 'fast' or 'stable'"):
        nn.standardize(x, algorithm="quick")


# logsumexp


@pytest.mark.parametrize("axis", [None, 1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("where", [None, MASK])
def test_logsumexp(axis, keepdims, where):
    factors = np.where(SCORES > 2, 0, SCORES)
    for kwargs in (
        {},
        {"b": factors},
        {"b": factors[0, :1], "return_sign": True},
        {"return_sign": True},
    ):
        options = {"axis": axis, "keepdims": keepdims, "where": where, **kwargs}
        same(nn.logsumexp(SCORES, **options), jax.nn.logsumexp(SCORES, **options), 1e-5, 1e-5)
    options = {"axis": axis, "keepdims": keepdims, "where": where}
    same(nn.logmeanexp(SCORES, **options), jax.nn.logmeanexp(SCORES, **options), 1e-5, 1e-5)


def test_logsumexp_of_other_dtypes():
    z = (SCORES[0] + 1j * SCORES[1]).astype(np.complex64)
    same(nn.logsumexp(z, axis=0), jax.nn.logsumexp(z, axis=0))
    same(nn.logsumexp(z, return_sign=True), jax.nn.logsumexp(z, return_sign=True))
    same(nn.logsumexp(2.0, b=3), jax.nn.logsumexp(2.0, b=3))
    same(nn.logsumexp(np.arange(3), b=np.arange(3)), jax.nn.logsumexp(np.arange(3), b=np.arange(3)))
    same(nn.logsumexp(np.array([1e4, -1e4])), jax.nn.logsumexp(np.array([1e4, -1e4])))


def test_logsumexp_is_scipys():
    assert nn.logsumexp is fg.scipy.special.logsumexp


def test_logsumexp_gradient_of_nothing_is_zero():
    nothing = np.full((2, 3), -np.inf, np.float32)
    nothing[1, 0] = 1.0
    values = nn.logsumexp(nothing, axis=1)
    assert_array_equal(values, [-np.inf, 1])
    gradient = fg.grad(lambda x: fnp.sum(nn.logsumexp(x, axis=1)))(nothing)
    assert_array_equal(gradient, [[0, 0, 0], [1, 0, 0]])
    assert_array_equal(fg.grad(lambda x: nn.logsumexp(x, b=np.zeros(3)))(np.ones(3, np.float32)), 0)


@pytest.mark.parametrize("order", [1, 2])
def test_logsumexp_gradient(order):
    f, g = lambda x: nn.logsumexp(x, axis=1).sum(), lambda x: jax.nn.logsumexp(x, axis=1).sum()
    if order == 1:
        same(fg.grad(f)(SCORES), jax.grad(g)(SCORES), 1e-5, 1e-6)
    else:
        same(fg.hessian(f)(SCORES[0]), jax.hessian(g)(SCORES[0]), 1e-5, 1e-6)


# one_hot


@pytest.mark.parametrize(
    "x, size, kwargs",
    [
        (1, 3, {}),
        ([0, 2, -1, 3], 3, {}),
        (np.array([[0, 1], [2, 0]]), 3, {"axis": 0}),
        (np.array([[0, 1], [2, 0]]), 3, {"axis": -2, "dtype": np.int32}),
        (np.array([2, 0], np.uint8), 4, {"axis": 1, "dtype": jnp.bfloat16}),
        (np.zeros((0,), np.int32), 4, {}),
        (np.array([1, 0]), 0, {}),
    ],
)
def test_one_hot(x, size, kwargs):
    same(nn.one_hot(x, size, **kwargs), jax.nn.one_hot(np.asarray(x), size, **kwargs))


def test_one_hot_of_more_classes_than_the_dtype_counts():
    assert_array_equal(nn.one_hot(np.array([1], np.uint8), 300)[0].nonzero()[0], [1])


def test_one_hot_along_a_named_axis():
    f = lambda lib: lambda c: lib.nn.one_hot(c, 3, axis="i")
    x = np.array([1, 2, 0])
    same(fg.vmap(f(fg), axis_name="i")(x), jax.vmap(f(jax), axis_name="i")(x))
    with pytest.raises(ValueError, match=r"num_classes is 4.*'i' has size 3"):
        fg.vmap(lambda c: nn.one_hot(c, 4, axis="i"), axis_name="i")(x)


def test_one_hot_refuses():
    with pytest.raises(TypeError, match="integers, got dtype float32"):
        nn.one_hot(fnp.array(0.5), 4)
    with pytest.raises(TypeError, match="num_classes"):
        fg.jit(nn.one_hot)(3, 5)
    with pytest.raises(TypeError, match="num_classes"):
        try:
            nn.one_hot(3, 5.0)
        except TypeError as error:
            raise TypeError("\n".join(error.__notes__)) from error
    with pytest.raises(ValueError, match="axis 5"):
        nn.one_hot(fnp.array([1]), 3, axis=5)


def test_every_public_name_of_jax_but_the_quantized():
    missing = {n for n in dir(jax.nn) if not n.startswith("_")} - set(nn.__all__)
    assert missing == {"get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"}
    assert {n for n in dir(jax.nn.initializers) if not n.startswith("_")} <= {
        *initializers.__all__,
    }
