"""The larger parts of funcgrad.nn: attention and initial weights as in jax.nn; layers, losses."""

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

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(2, 3, 4)).astype(np.float32) * 3

# attention

B, T, S, N, H = 2, 5, 6, 4, 8
draw = lambda *shape: RNG.normal(size=shape).astype(np.float32)
QUERY, KEY, VALUE = draw(B, T, N, H), draw(B, S, N, H), draw(B, S, N, H)
SEEN = RNG.random((B, 1, T, S)) > 0.3
SEEN[0, :, 2] = False
LENGTHS = np.array([3, 5], np.int32)


@pytest.mark.parametrize(
    "heads, kwargs",
    [
        (N, {}),
        (2, {"scale": 0.3, "is_causal": True}),
        (2, {"mask": SEEN, "bias": draw(1, N, T, S)}),
        (1, {"query_seq_lengths": LENGTHS, "key_value_seq_lengths": LENGTHS}),
        (N, {"local_window_size": (1, 2)}),
        (1, {"local_window_size": 1, "is_causal": True, "implementation": "xla"}),
        (2, {"return_residual": True, "mask": SEEN}),
    ],
)
def test_attention(heads, kwargs):
    qkv = (QUERY, KEY[:, :, :heads], VALUE[:, :, :heads])

    def outs_and_slopes(lib):
        f = lambda *qkv: lib.nn.dot_product_attention(*qkv, **kwargs)
        first = lambda *qkv: lib.tree.leaves(f(*qkv))[0]
        return lambda *qkv: (
            f(*qkv),
            lib.grad(lambda *qkv: (first(*qkv) ** 2).sum(), (0, 1, 2))(*qkv),
        )

    with jax.disable_jit(False):  # one program is compiled sooner than its many parts
        wanted = jax.jit(outs_and_slopes(jax))(*qkv)
    same(outs_and_slopes(fg)(*qkv), wanted, 1e-4, 1e-5)


def test_attention_of_one_example_and_half_precision():
    q, k, v = (x[0].astype(jnp.bfloat16) for x in (QUERY, KEY, VALUE))
    with jax.disable_jit(False):
        wanted = jax.jit(jax.nn.dot_product_attention)(q, k, v)
    same(nn.dot_product_attention(q, k, v), wanted)


@pytest.mark.parametrize(
    "args, kwargs, said",
    [
        ((QUERY, KEY, VALUE[:, 1:]), {}, r"value of shape \(2, 6, 4, 8\), and got \(2, 5"),
        ((QUERY, KEY, VALUE.astype(np.float16)), {}, "value of dtype float32"),
        ((QUERY, KEY[:, :, :3], VALUE[:, :, :3]), {}, "3 do not divide 4"),
        ((QUERY, KEY, VALUE), {"mask": SEEN.astype(int)}, "mask of dtype bool"),
        ((QUERY, KEY, VALUE), {"bias": draw(1, 3, T, S)}, r"bias shape .* \(2, 4, 5, 6\)"),
        ((QUERY, KEY, VALUE), {"query_seq_lengths": LENGTHS[:1]}, "query_seq_lengths of shape"),
        ((QUERY, KEY, VALUE), {"implementation": "cudnn"}, "'cudnn'"),
    ],
)
def test_attention_refuses(args, kwargs, said):
    with pytest.raises(ValueError, match=said):
        nn.dot_product_attention(*args, **kwargs)


# initializers

RECIPES = {
    "zeros": lambda lib: lib.zeros,
    "ones": lambda lib: lib.ones,
    "constant": lambda lib: lib.constant(np.arange(6.0)),
    "uniform": lambda lib: lib.uniform(0.5),
    "normal": lambda lib: lib.normal(0.5),
    "truncated_normal": lambda lib: lib.truncated_normal(0.5, lower=-1.0, upper=3.0),
    "orthogonal": lambda lib: lib.orthogonal(2.0),
    "orthogonal along another axis": lambda lib: lib.orthogonal(column_axis=0),
    "delta_orthogonal": lambda lib: lib.delta_orthogonal(),
    "fan_in": lambda lib: lib.variance_scaling(1.5, "fan_in", "truncated_normal"),
    "fan_out": lambda lib: lib.variance_scaling(1.5, "fan_out", "normal"),
    "fan_avg": lambda lib: lib.variance_scaling(1.5, "fan_avg", "uniform"),
    "fan_geo_avg": lambda lib: lib.variance_scaling(1.5, "fan_geo_avg", "normal"),
    "axes": lambda lib: lib.he_normal(in_axis=0, out_axis=(1, 2), batch_axis=3),
}


@pytest.mark.parametrize("name", RECIPES)
def test_initializer(name):
    ours, theirs = RECIPES[name](initializers), RECIPES[name](jax.nn.initializers)
    shape = (3, 3, 4, 6)
    same(ours(fg.random.key(7), shape), theirs(jax.random.key(7), shape), 2e-5, 2e-6)
    if name in ("normal", "fan_in", "fan_avg"):
        low, wanted = (
            init(lib.random.key(7), shape, jnp.bfloat16)
            for init, lib in ((ours, fg), (theirs, jax))
        )
        same(low, wanted)


@pytest.mark.parametrize(
    "name, scale, mode, draws",
    [
        ("glorot_uniform", 1.0, "fan_avg", "uniform"),
        ("glorot_normal", 1.0, "fan_avg", "truncated_normal"),
        ("lecun_uniform", 1.0, "fan_in", "uniform"),
        ("lecun_normal", 1.0, "fan_in", "truncated_normal"),
        ("he_uniform", 2.0, "fan_in", "uniform"),
        ("he_normal", 2.0, "fan_in", "truncated_normal"),
    ],
)
def test_initializer_by_name(name, scale, mode, draws):
    named = getattr(initializers, name)
    spelled = initializers.variance_scaling(scale, mode, draws)
    args = fg.random.key(1), (4, 6)
    assert_array_equal(named()(*args), spelled(*args))
    assert named(dtype=np.float16)(*args).dtype == np.float16
    assert isinstance(named(), initializers.Initializer)
    other = name.replace("glorot", "xavier").replace("he_", "kaiming_")
    assert getattr(initializers, other) is named


@pytest.mark.parametrize("draws", ["truncated_normal", "normal", "uniform"])
def test_complex_initializer(draws):
    args = (2.0, "fan_in", draws)
    ours = initializers.variance_scaling(*args)(fg.random.key(3), (8, 9), np.complex64)
    wanted = jax.nn.initializers.variance_scaling(*args)(jax.random.key(3), (8, 9), np.complex64)
    same(ours, wanted, 1e-5, 1e-6)


def test_orthogonal_is_orthogonal():
    tall = np.asarray(initializers.orthogonal()(fg.random.key(0), (2, 5, 4))).reshape(10, 4)
    assert_allclose(tall.T @ tall, np.eye(4), atol=1e-6)
    delta = np.asarray(initializers.delta_orthogonal()(fg.random.key(0), (4, 3, 2, 5)))
    assert_allclose(delta[1, 1] @ delta[1, 1].T, np.eye(2), atol=1e-6)
    assert np.count_nonzero(np.abs(delta).sum((2, 3))) == 1


@pytest.mark.parametrize(
    "make, shape, said",
    [
        (lambda: initializers.lecun_normal(), (3,), r"\(3,\) has no in_axis -2"),
        (lambda: initializers.variance_scaling(1.0, "fan", "normal"), (3, 3), "no mode 'fan'"),
        (lambda: initializers.variance_scaling(1.0, "fan_in", "cauchy"), (3, 3), "'cauchy'"),
        (lambda: initializers.orthogonal(), (3,), r"two or more axes, not of shape \(3,\)"),
        (lambda: initializers.delta_orthogonal(), (3, 3), r"4 or 5 axes, not of shape \(3, 3\)"),
        (lambda: initializers.delta_orthogonal(), (3, 4, 2), "4 inputs and 2 outputs"),
    ],
)
def test_initializer_refuses(make, shape, said):
    with pytest.raises(ValueError, match=said):
        make()(fg.random.key(0), shape)


# layers

IMAGES = draw(5, 8, 7, 3)


def test_dense():
    layer = nn.dense(4)
    params = layer.init(fg.random.key(0), (1, 3))
    assert {k: v.shape for k, v in params.items()} == {"kernel": (3, 4), "bias": (4,)}
    params["bias"] = fnp.arange(4.0)
    y = layer.apply(params, IMAGES)
    assert_allclose(y, IMAGES @ np.asarray(params["kernel"]) + np.arange(4), atol=1e-6)
    assert list(nn.dense(4, use_bias=False).init(fg.random.key(0), (3,))) == ["kernel"]
    with pytest.raises(
        ValueError, match=r"kernel for 3 input features, but was given x of shape \(2, 4"
    ):
        layer.apply(params, fnp.ones((2, 4)))


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"strides": 2, "padding": "VALID"},
        {"padding": [(1, 0), (2, 1)], "kernel_dilation": (1, 2)},
        {"input_dilation": 2, "feature_group_count": 3, "padding": [(1, 1), (0, 1)]},
    ],
)
def test_conv(kwargs):
    layer = nn.conv(6, (3, 2), **kwargs)
    params = layer.init(fg.random.key(0), IMAGES.shape)
    groups = kwargs.get("feature_group_count", 1)
    assert params["kernel"].shape == (3, 2, 3 // groups, 6)
    pair = lambda x: (x, x) if isinstance(x, int) else x
    wanted = jax.lax.conv_general_dilated(
        IMAGES,
        np.asarray(params["kernel"]),
        pair(kwargs.get("strides", 1)),
        kwargs.get("padding", "SAME"),
        pair(kwargs.get("input_dilation", 1)),
        pair(kwargs.get("kernel_dilation", 1)),
        ("NHWC", "HWIO", "NHWC"),
        groups,
    )
    assert_allclose(layer.apply(params, IMAGES), wanted, rtol=1e-5, atol=1e-5)


def test_conv_of_other_ranks():
    for rank in (1, 3):
        layer = nn.conv(2, (2,) * rank, use_bias=False)
        x = fnp.ones((1, *(4,) * rank, 3))
        assert layer.apply(layer.init(fg.random.key(0), x.shape), x).shape == (1, *(4,) * rank, 2)


def test_conv_refuses():
    layer = nn.conv(4, (3, 3))
    with pytest.raises(ValueError, match=r"x of 4 axes, \[batch, h, w, channels\].*\(8, 7, 3\)"):
        layer.init(fg.random.key(0), IMAGES.shape[1:])
    params = layer.init(fg.random.key(0), IMAGES.shape)
    with pytest.raises(ValueError, match="kernel for 3 channels"):
        layer.apply(params, IMAGES[..., :2])
    with pytest.raises(ValueError, match="strides must be one number or 2"):
        nn.conv(4, (3, 3), strides=(1, 1, 1))
    with pytest.raises(ValueError, match="4 features do not split into feature_group_count = 3"):
        nn.conv(4, (3, 3), feature_group_count=3)


def test_sequential():
    model = nn.sequential(nn.conv(4, (3, 3), strides=2), nn.relu, nn.flatten(), nn.dense(10))
    params = model.init(fg.random.key(0), (1, 8, 7, 3))
    assert params[1] is None and params[2] is None
    assert params[3]["kernel"].shape == (4 * 4 * 4, 10)
    logits = model.apply(params, IMAGES)
    assert logits.shape == (5, 10)
    by_hand = nn.relu(nn.conv(4, (3, 3), strides=2).apply(params[0], IMAGES)).reshape(5, -1)
    assert_allclose(logits, nn.dense(10).apply(params[3], by_hand), rtol=1e-6)
    gradient = fg.jit(fg.grad(lambda p: fnp.sum(model.apply(p, IMAGES) ** 2)))(params)
    assert fg.tree.structure(gradient) == fg.tree.structure(params)
    assert nn.sequential().apply((), IMAGES) is IMAGES


def test_sequential_refuses():
    with pytest.raises(TypeError, match="argument 1 is 3"):
        nn.sequential(nn.relu, 3)
    with pytest.raises(ValueError, match="has 2 layers, but was given params of 1"):
        nn.sequential(nn.relu, nn.relu).apply((None,), IMAGES)


# losses


def test_softmax_cross_entropy():
    optax = pytest.importorskip("optax")
    logits, classes = SCORES[0], np.array([1, 3, 0])
    losses = nn.softmax_cross_entropy(logits, classes)
    same(losses, optax.softmax_cross_entropy_with_integer_labels(logits, classes), 1e-6)
    chances = np.asarray(jax.nn.softmax(SCORES[1]))
    same(
        nn.softmax_cross_entropy(logits, chances),
        optax.softmax_cross_entropy(logits, chances),
        1e-6,
    )
    one_hot = np.eye(4, dtype=np.float32)[classes]
    assert_allclose(nn.softmax_cross_entropy(logits.T, one_hot.T, axis=0), losses, rtol=1e-6)
    assert_allclose(nn.softmax_cross_entropy(logits.T, classes, axis=0), losses, rtol=1e-6)
    gradient = fg.grad(lambda x: nn.softmax_cross_entropy(x, classes).sum())(logits)
    assert_allclose(gradient, jax.nn.softmax(logits) - one_hot, atol=1e-6)


def test_softmax_cross_entropy_far_out():
    logits = np.array([[1e4, 0], [0, 1e4], [-np.inf, 0]], np.float32)
    assert_allclose(nn.softmax_cross_entropy(logits, np.array([0, 0, 1])), [0, 1e4, 0])
    chances = np.array([[1, 0], [0.5, 0.5], [0, 1]], np.float32)
    f = lambda x: nn.softmax_cross_entropy(x, chances)
    assert_allclose(f(logits), [0, 5e3, 0])
    assert_allclose(fg.grad(lambda x: f(x).sum())(logits), [[0, 0], [-0.5, 0.5], [0, 0]])


def test_softmax_cross_entropy_of_bad_labels():
    logits = fnp.zeros((3, 4))
    losses = nn.softmax_cross_entropy(logits, np.array([-1, 4, 0]))
    assert_array_equal(np.isnan(losses), [True, True, False])
    with pytest.raises(TypeError, match=r"integers, got dtype float32; .* \(3, 4\)"):
        nn.softmax_cross_entropy(logits, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"shape \(3,\) \(classes\) or \(3, 4\).*got \(4,\)"):
        nn.softmax_cross_entropy(logits, np.zeros(4, int))
    with pytest.raises(ValueError, match="no axis 2"):
        nn.softmax_cross_entropy(logits, np.zeros(3, int), axis=2)
