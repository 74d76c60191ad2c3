"""funcgrad.nn against jax.nn: values, dtypes, slopes where pieces meet, initial weights; layers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import nn
from funcgrad.nn import initializers

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


@pytest.fixture(autouse=True)
def jax_uncompiled():
    """Its operations one by one, which costs less than compiling each function for each shape."""
    with jax.disable_jit():
        yield


def same(ours, theirs, rtol=2e-6, atol=2e-6):
    """Equal within tolerance, with the same dtype, weak type and nans."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        kind = np.complex64 if np.iscomplexobj(np.asarray(b)) else np.float32
        low = b.dtype in (np.float16, jnp.bfloat16)
        assert_allclose(
            np.asarray(a).astype(kind),
            np.asarray(b).astype(kind),
            rtol=2e-2 if low else rtol,
            atol=2e-2 if low else atol,
        )


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
    assert_allclose(fg.jit(ours)(points), ours(points), rtol=1e-6)


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
    with pytest.raises(ValueError, match=r"\(2, 3, 4\).*divisible by 2; it is 3"):
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
@pytest.mark.parametrize(
    "x", [np.arange(6).reshape(2, 3), np.ones((2, 3), np.float16), np.zeros((2, 0), np.float32)]
)
def test_dtypes_and_empty(name, x):
    if x.size == 0 and name in ("standardize", "logmeanexp"):
        pytest.skip("the mean of nothing")
    same(getattr(nn, name)(x, axis=-1), getattr(jax.nn, name)(x, axis=-1))


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
        ((QUERY, KEY, VALUE[:, 1:]), {}, r"value shape should be \(2, 6, 4, 8\), but got \(2, 5"),
        ((QUERY, KEY, VALUE.astype(np.float16)), {}, "value dtype should be float32"),
        ((QUERY, KEY[:, :, :3], VALUE[:, :, :3]), {}, "multiple .* got 4 and 3"),
        ((QUERY, KEY, VALUE), {"mask": SEEN.astype(int)}, "mask dtype should be bool"),
        ((QUERY, KEY, VALUE), {"bias": draw(1, 3, T, S)}, r"bias shape .* \(2, 4, 5, 6\)"),
        ((QUERY, KEY, VALUE), {"query_seq_lengths": LENGTHS[:1]}, "query_seq_lengths shape"),
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
        (lambda: initializers.lecun_normal(), (3,), r"\(3,\): it has no in_axis -2"),
        (lambda: initializers.variance_scaling(1.0, "fan", "normal"), (3, 3), "'fan'; use one of"),
        (lambda: initializers.variance_scaling(1.0, "fan_in", "cauchy"), (3, 3), "'cauchy'"),
        (lambda: initializers.orthogonal(), (3,), r"at least a 2D shape, got \(3,\)"),
        (lambda: initializers.delta_orthogonal(), (3, 3), r"4D or 5D shape, got \(3, 3\)"),
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
    with pytest.raises(ValueError, match="multiple of feature_group_count, got 4 and 3"):
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


def test_every_public_name_of_jax_but_the_quantized():
    missing = {n for n in dir(jax.nn) if not n.startswith("_")} - set(nn.__all__)
    assert missing == {"get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"}
    assert {n for n in dir(jax.nn.initializers) if not n.startswith("_")} <= {
        *initializers.__all__,
    }
