"""Random numbers against JAX's: bit for bit where no rounding comes in, closely elsewhere."""

import copy
import pickle
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import scipy.special

import funcgrad
from funcgrad import lax, random
from funcgrad import numpy as fnp
from funcgrad.base import dtypes
from funcgrad.base.config import (
    Config,
    debug_key_reuse,
    enable_custom_prng,
    enable_x64,
    legacy_prng_key,
    threefry_partitionable,
)
from funcgrad.base.errors import KeyReuseError, TypePromotionError

BF16 = ml_dtypes.bfloat16
ROWS = np.arange(60).reshape(12, 5)
PARAMS = np.linspace(0.3, 20, 400).astype(np.float32)
FEW = np.linspace(0.5, 3, 5).astype(np.float32)

Draw = Callable[[ModuleType, Any], Any]


def words(keys: Any) -> np.ndarray:
    return np.asarray(random.key_data(keys))


def both(draw: Draw, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Our result and JAX's, as NumPy arrays; of the same shape and dtype."""
    ours, theirs = draw(random, random.key(seed)), draw(jax.random, jax.random.key(seed))
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    return ours, theirs


def assert_equal(draw: Draw, seed: int = 7) -> None:
    ours, theirs = both(draw, seed)
    assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes()


def assert_close(draw: Draw, rtol: float = 1e-5, atol: float = 1e-6, outliers: float = 0) -> None:
    ours, theirs = both(draw)
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    same = np.isclose(ours, theirs, rtol, atol, equal_nan=True)
    assert np.mean(~same) <= outliers


# keys


@pytest.mark.parametrize(
    "seed", [0, 42, -1, -5, 2**32 + 5, 2**63 - 1, True, np.int8(-3), np.uint64(9)]
)
def test_seed(seed: Any):
    expected = np.asarray(jax.random.key_data(jax.random.key(seed)))
    np.testing.assert_array_equal(words(random.key(seed)), expected)
    np.testing.assert_array_equal(np.asarray(random.PRNGKey(seed)), expected)


@pytest.mark.parametrize("seed", [-1, 2**40 + 3, np.uint64(2**64 - 3), np.int32(-2)])
def test_seed_of_64_bits(seed: Any):
    with enable_x64(True), jax.enable_x64(True):
        expected = np.asarray(jax.random.key_data(jax.random.key(seed)))
        np.testing.assert_array_equal(words(random.key(seed)), expected)


def test_seed_offset():
    with Config.random_seed_offset(3):
        np.testing.assert_array_equal(words(random.key(4)), [0, 7])


@pytest.mark.parametrize("partitionable", [True, False])
def test_new_keys(partitionable: bool):
    with threefry_partitionable(partitionable), jax.threefry_partitionable(partitionable):
        for num in (2, 1, 0, (2, 3), 5):
            assert_equal(lambda r, k, num=num: r.key_data(r.split(k, num)))
        assert_equal(lambda r, k: r.key_data(r.fold_in(k, 9)))
        assert_equal(lambda r, k: r.key_data(r.fold_in(k, np.int32(-4))))
        raw = jax.random.split(jax.random.PRNGKey(5), 3)
        np.testing.assert_array_equal(np.asarray(random.split(random.PRNGKey(5), 3)), raw)


def test_key_arrays_move_like_others():
    keys, data = random.split(random.key(0), 6), words(random.split(random.key(0), 6))
    assert keys.shape == (6,) and keys.ndim == 1 and len(keys) == 6
    assert str(keys.dtype) == "key<fry>" and dtypes.issubdtype(keys.dtype, dtypes.prng_key)
    assert keys.dtype == random.key_dtype() == random.key_dtype("threefry2x32")
    assert random.key_impl(keys) == "threefry2x32"
    square = data.reshape(2, 3, 2)
    for ours, expected in (
        (keys[2], data[2]),
        (keys[1:5:2], data[1:5:2]),
        (keys[np.array([3, 0])], data[[3, 0]]),
        (keys[:, None], data[:, None]),
        (keys.reshape(2, 3), square),
        (keys.reshape(2, 3).T, square.transpose(1, 0, 2)),
        (fnp.concatenate([keys, keys]), np.concatenate([data, data])),
        (fnp.stack([keys[0], keys[5]]), data[[0, 5]]),
        (fnp.where(np.arange(6) < 3, keys, keys[::-1]), data[[0, 1, 2, 2, 1, 0]]),
        (fnp.broadcast_to(keys[1], (2,)), data[[1, 1]]),
        (keys.at[0].set(keys[4]), data[[4, 1, 2, 3, 4, 5]]),
        (lax.dynamic_slice(keys, (2,), (2,)), data[2:4]),
        (funcgrad.jit(lambda k: k[1:])(keys), data[1:]),
        (lax.scan(lambda c, k: (c, k), 0, keys)[1], data),
        (copy.deepcopy(keys), data),
        (pickle.loads(pickle.dumps(keys)), data),
    ):
        np.testing.assert_array_equal(words(ours), expected)
    first, *_ = keys
    np.testing.assert_array_equal(words(first), data[0])
    np.testing.assert_array_equal(keys == keys[3], [False, False, False, True, False, False])
    assert bool((keys != keys).any()) is False
    assert repr(random.key(3)) == "Array((), dtype=key<fry>) overlaying:\n[0 3]"
    np.testing.assert_array_equal(words(random.wrap_key_data(random.key_data(keys))), data)


def test_keys_in_transformations():
    keys = random.split(random.key(1), 4)
    each = [np.asarray(random.normal(k, (3,))) for k in keys]
    draw = lambda k: random.normal(k, (3,))
    np.testing.assert_array_equal(funcgrad.vmap(draw)(keys), each)
    np.testing.assert_array_equal(funcgrad.vmap(draw, out_axes=1)(keys), np.stack(each, 1))
    np.testing.assert_array_equal(funcgrad.jit(funcgrad.vmap(draw))(keys), each)
    np.testing.assert_array_equal(lax.map(draw, keys), each)
    np.testing.assert_array_equal(lax.scan(lambda c, k: (c, draw(k)), 0, keys)[1], each)
    raw = random.key_data(keys)
    np.testing.assert_array_equal(funcgrad.vmap(draw)(raw), each)
    np.testing.assert_array_equal(funcgrad.vmap(draw, in_axes=1)(raw.T), each)
    seeds = funcgrad.vmap(random.key)(np.arange(3))
    np.testing.assert_array_equal(words(seeds), [[0, 0], [0, 1], [0, 2]])
    folded = funcgrad.vmap(random.fold_in, in_axes=(None, 0))(keys[0], np.arange(3))
    np.testing.assert_array_equal(words(folded[2]), words(random.fold_in(keys[0], 2)))

    def walk(key: Any) -> Any:
        def step(state: tuple) -> tuple:
            i, key, total = state
            key, sub = random.split(key)
            return i + 1, key, total + random.uniform(sub)

        return lax.while_loop(lambda s: s[0] < 3, step, (0, key, 0.0))[2]

    key, total = random.key(5), 0.0
    for _ in range(3):
        key, sub = random.split(key)
        total += float(random.uniform(sub))
    np.testing.assert_allclose(walk(random.key(5)), total, rtol=1e-6)
    np.testing.assert_allclose(
        funcgrad.vmap(walk)(random.split(random.key(5)))[1], walk(keys_of(5)[1])
    )

    value, pull = funcgrad.vjp(lambda k, x: x * random.uniform(k), keys[0], 2.0)
    of_key, of_x = pull(1.0)
    assert of_key.dtype == dtypes.float0
    assert float(of_x) * 2 == float(value)


def keys_of(seed: int) -> Any:
    return random.split(random.key(seed))


def test_raw_and_typed_keys_as_configured():
    with enable_custom_prng(True):
        assert dtypes.issubdtype(random.PRNGKey(0).dtype, dtypes.prng_key)
        with pytest.warns(FutureWarning, match="raw uint32 key"):
            random.uniform(np.zeros(2, np.uint32))
    with legacy_prng_key("error"), pytest.raises(ValueError, match=r"random\.key"):
        random.uniform(random.PRNGKey(0))
    with legacy_prng_key("warn"), pytest.warns(UserWarning, match="raw uint32 key"):
        random.uniform(random.PRNGKey(0))


# bit for bit

EXACT: dict[str, Draw] = {
    "bits": lambda r, k: r.bits(k, (3, 5)),
    "bits 8": lambda r, k: r.bits(k, (7,), np.uint8),
    "bits 16": lambda r, k: r.bits(k, (7,), np.uint16),
    "bits of no shape": lambda r, k: r.bits(k),
    "bits of none": lambda r, k: r.bits(k, (0, 3)),
    "uniform": lambda r, k: r.uniform(k, (300,)),
    "uniform float16": lambda r, k: r.uniform(k, (300,), np.float16),
    "uniform bfloat16": lambda r, k: r.uniform(k, (300,), BF16),
    "uniform bfloat16 in a range": lambda r, k: r.uniform(k, (300,), BF16, -3.0, 4.0),
    "uniform float8": lambda r, k: r.uniform(k, (300,), ml_dtypes.float8_e4m3fn),
    "randint": lambda r, k: r.randint(k, (300,), -5, 1000),
    "randint int8, full": lambda r, k: r.randint(k, (300,), -128, 128, np.int8),
    "randint uint8, full": lambda r, k: r.randint(k, (300,), 0, 256, np.uint8),
    "randint clipped": lambda r, k: r.randint(k, (300,), -1000, 9, np.int16),
    "randint uint32": lambda r, k: r.randint(k, (300,), 5, np.uint32(2**32 - 1), np.uint32),
    "randint empty": lambda r, k: r.randint(k, (3,), 7, 7),
    "randint arrays": lambda r, k: r.randint(k, (2, 5), np.zeros((2, 1), int), np.arange(1, 6)),
    "randint of floats": lambda r, k: r.randint(k, (9,), 1.5, 7.9),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (300,)),
    "bernoulli arrays": lambda r, k: r.bernoulli(k, PARAMS / 20),
    "bernoulli high": lambda r, k: r.bernoulli(k, PARAMS / 20, mode="high"),
    "bernoulli default": lambda r, k: r.bernoulli(k),
    "rademacher": lambda r, k: r.rademacher(k, (300,)),
    "rademacher float": lambda r, k: r.rademacher(k, (9,), np.float16),
    "permutation": lambda r, k: r.permutation(k, 2000),
    "permutation of rows": lambda r, k: r.permutation(k, ROWS),
    "permutation of columns": lambda r, k: r.permutation(k, ROWS, axis=-1),
    "permutation independent": lambda r, k: r.permutation(k, ROWS, axis=1, independent=True),
    "permutation of none": lambda r, k: r.permutation(k, np.zeros((0, 3), np.float32)),
    "choice": lambda r, k: r.choice(k, 100, (4, 5)),
    "choice of rows": lambda r, k: r.choice(k, ROWS, (4,)),
    "choice of columns": lambda r, k: r.choice(k, ROWS, (4, 2), axis=1),
    "choice without replacement": lambda r, k: r.choice(k, 100, (4, 5), replace=False),
    "choice of distinct rows": lambda r, k: r.choice(k, ROWS, (6,), False, axis=0),
    "choice of one": lambda r, k: r.choice(k, ROWS),
}


@pytest.mark.parametrize("name", EXACT)
def test_equal(name: str):
    assert_equal(EXACT[name])


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_older_stream(width: int):
    with threefry_partitionable(False), jax.threefry_partitionable(False):
        with enable_x64(True), jax.enable_x64(True):
            for shape in ((), (1,), (5,), (2, 3), (0,)):
                assert_equal(lambda r, k, s=shape: r.bits(k, s, np.dtype(f"uint{width}")))


@pytest.mark.parametrize("name", ["randint", "uniform bfloat16", "bernoulli high", "permutation"])
def test_older_stream_in_use(name: str):
    with threefry_partitionable(False), jax.threefry_partitionable(False):
        assert_equal(EXACT[name])


def test_older_stream_beyond_one_counter(monkeypatch: pytest.MonkeyPatch):
    from funcgrad.primitives import keys as family

    monkeypatch.setattr(family, "LONGEST_BLOCK", 5)
    with threefry_partitionable(False):
        parts = random.split(random.key(3), 3)
        expected = [np.asarray(random.bits(k, (n,))) for k, n in zip(parts, (5, 5, 2), strict=True)]
        np.testing.assert_array_equal(random.bits(random.key(3), (12,)), np.concatenate(expected))


@pytest.mark.parametrize(
    "draw",
    [
        lambda r, k: r.bits(k, (9,)),
        lambda r, k: r.uniform(k, (300,)),
        lambda r, k: r.randint(k, (300,), -(2**40), 2**50),
        lambda r, k: r.randint(k, (300,), 0, 9, np.int32),
        lambda r, k: r.choice(k, 50, (9,)),
        lambda r, k: r.key_data(r.fold_in(k, 8)),
    ],
)
def test_equal_with_64_bits(draw: Draw):
    with enable_x64(True), jax.enable_x64(True):
        assert_equal(draw, 2**35 + 1)


# up to rounding

CLOSE: dict[str, Draw] = {
    "uniform in a range": lambda r, k: r.uniform(k, (400,), minval=-PARAMS, maxval=PARAMS + 1),
    "normal": lambda r, k: r.normal(k, (400,)),
    "normal complex": lambda r, k: r.normal(k, (400,), np.complex64),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -1.0, PARAMS),
    "lognormal": lambda r, k: r.lognormal(k, PARAMS / 40),
    "exponential": lambda r, k: r.exponential(k, (400,)),
    "laplace": lambda r, k: r.laplace(k, (400,)),
    "logistic": lambda r, k: r.logistic(k, (400,)),
    "cauchy": lambda r, k: r.cauchy(k, (400,)),
    "gumbel": lambda r, k: r.gumbel(k, (400,)),
    "gumbel high": lambda r, k: r.gumbel(k, (400,), mode="high"),
    "gumbel highest": lambda r, k: r.gumbel(k, (400,), mode="highest"),
    "rayleigh": lambda r, k: r.rayleigh(k, PARAMS),
    "weibull_min": lambda r, k: r.weibull_min(k, PARAMS, 2.0, (400,)),
    "pareto": lambda r, k: r.pareto(k, PARAMS),
    "triangular": lambda r, k: r.triangular(k, -1.0, PARAMS, PARAMS + 20),
    "maxwell": lambda r, k: r.maxwell(k, (400,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, 1.0, PARAMS[:3], (5,)),
    "double_sided_maxwell alone": lambda r, k: r.double_sided_maxwell(k, 1.0, PARAMS[:3]),
    "orthogonal": lambda r, k: r.orthogonal(k, 4, (3,)),
    "orthogonal tall": lambda r, k: r.orthogonal(k, 4, m=2),
    "orthogonal wide": lambda r, k: r.orthogonal(k, 2, m=4, dtype=np.complex64),
    "gamma": lambda r, k: r.gamma(k, PARAMS),
    "gamma of one key": lambda r, k: r.gamma(k, 0.4, (3, 2)),
    "loggamma": lambda r, k: r.loggamma(k, PARAMS / 20),
    "beta": lambda r, k: r.beta(k, PARAMS, 2.0),
    "dirichlet": lambda r, k: r.dirichlet(k, PARAMS.reshape(80, 5)),
    "dirichlet shaped": lambda r, k: r.dirichlet(k, PARAMS[:3], (4,)),
    "chisquare": lambda r, k: r.chisquare(k, PARAMS),
    "f": lambda r, k: r.f(k, PARAMS, 4.0),
    "t": lambda r, k: r.t(k, PARAMS),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 1.5, (400,)),
    "ball": lambda r, k: r.ball(k, 3, 2.5, (50,)),
    "geometric": lambda r, k: r.geometric(k, PARAMS / 21),
    "poisson": lambda r, k: r.poisson(k, PARAMS),
    "poisson int16": lambda r, k: r.poisson(k, 3.0, (9,), np.int16),
    "poisson of no mean": lambda r, k: r.poisson(k, np.array([-1, 0, np.nan, 0], np.float32)),
    "binomial": lambda r, k: r.binomial(k, 50, PARAMS / 20),
    "binomial of odd parameters": lambda r, k: r.binomial(
        k,
        np.array([-1, np.nan, np.inf, 5, 5], np.float32),
        np.array([0.5, 0.5, 0.5, np.nan, 1.5], np.float32),
    ),
    "multinomial": lambda r, k: r.multinomial(k, 20, np.float32([[0.2, 0.3, 0.5], [0, 1, 0]])),
    "categorical": lambda r, k: r.categorical(k, np.log(PARAMS[:10]), shape=(400,)),
    "categorical axis": lambda r, k: r.categorical(
        k, PARAMS.reshape(20, 4, 5) / 9, axis=1, shape=(3, 20, 5)
    ),
    "categorical distinct": lambda r, k: r.categorical(
        k, PARAMS.reshape(20, 20) / 9, axis=0, shape=(3, 4, 20), replace=False
    ),
    "choice by p": lambda r, k: r.choice(k, 400, (300,), p=PARAMS),
    "choice of rows by p": lambda r, k: r.choice(k, ROWS, (6,), p=PARAMS[:12]),
    "choice by p, distinct": lambda r, k: r.choice(k, 400, (5, 6), False, p=PARAMS),
}
FEW_DIFFER = {"binomial": 0.01, "choice by p": 0.01}


@pytest.mark.parametrize("name", CLOSE)
def test_close(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert_close(CLOSE[name], outliers=FEW_DIFFER.get(name, 0))


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_multivariate_normal(method: str):
    """The factor is unique up to signs, or for Cholesky altogether."""
    mean = np.array([1, -2, 3], np.float32)
    cov = np.array([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]], np.float32)
    if method == "cholesky":
        assert_close(lambda r, k: r.multivariate_normal(k, mean, cov, (4,)))
    x = np.asarray(random.multivariate_normal(random.key(0), mean, cov, (20000,), method=method))
    np.testing.assert_allclose(np.mean(x, 0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.1)
    batch = random.multivariate_normal(random.key(0), np.zeros((2, 1, 3)), np.stack([cov] * 4))
    assert batch.shape == (2, 4, 3)


@pytest.mark.parametrize("dtype", [np.float16, BF16])
def test_close_in_half_precision(dtype: Any):
    assert_close(lambda r, k: r.normal(k, (400,), dtype), 2e-3, 1e-3, outliers=0.01)
    assert_close(lambda r, k: r.gamma(k, 2.5, (200,), dtype), 1e-2, 1e-3, outliers=0.01)


@pytest.mark.parametrize("draw", [CLOSE["normal"], CLOSE["exponential"], CLOSE["loggamma"]])
def test_close_with_64_bits(draw: Draw):
    with enable_x64(True), jax.enable_x64(True):
        assert_close(draw, 1e-12, 1e-12)


def test_no_farther_from_the_truth_than_jax():
    def error(r: ModuleType, draw: Draw, truth: np.ndarray) -> float:
        return float(np.median(np.abs(np.asarray(draw(r, r.key(7)), np.float64) / truth - 1)))

    shape, tiny = (4000,), np.finfo(np.float32).tiny
    lowest = -np.nextafter(np.float32(1), np.float32(0))
    key = random.key(7)
    unit = np.asarray(random.uniform(key, shape), np.float64)
    around = np.asarray(random.uniform(key, shape, minval=lowest), np.float64)
    above = np.asarray(random.uniform(key, shape, minval=tiny), np.float64)
    for draw, truth in (
        (lambda r, k: r.normal(k, shape), np.sqrt(2) * scipy.special.erfinv(around)),
        (lambda r, k: r.exponential(k, shape), -np.log1p(-unit)),
        (lambda r, k: r.gumbel(k, shape), -np.log(-np.log(above))),
    ):
        assert error(random, draw, truth) <= error(jax.random, draw, truth)


def test_wald_is_exact_where_jax_cancels():
    means = np.linspace(0.3, 50, 1000).astype(np.float32)
    first, second = random.split(random.key(7))
    z = np.asarray(random.normal(first, (1000,)), np.float64)
    w = means * z**2 / 2
    x = means / (1 + w + np.sqrt(w**2 + 2 * w))
    u = np.asarray(random.uniform(second, (1000,)))
    truth = np.where(u <= means / (means + x), x, means.astype(np.float64) ** 2 / x)
    np.testing.assert_allclose(random.wald(random.key(7), means), truth, rtol=1e-6)
    assert_close(lambda r, k: r.wald(k, means), rtol=1e-2)


# under transformations

SAMPLERS: dict[str, Draw] = {
    "randint": EXACT["randint"],
    "permutation": lambda r, k: r.permutation(k, 20),
    "choice": lambda r, k: r.choice(k, 9, (4,), p=PARAMS[:9]),
    "categorical": lambda r, k: r.categorical(k, np.log(PARAMS[:10]), shape=(4,)),
    "gamma": lambda r, k: r.gamma(k, FEW),
    "poisson": lambda r, k: r.poisson(k, np.float32([3, 30])),
    "binomial": lambda r, k: r.binomial(k, 50, np.float32([0.1, 0.6])),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_vmap_and_jit_draw_the_same(name: str):
    def draw(key: Any) -> Any:
        return SAMPLERS[name](random, key)

    keys = random.split(random.key(3), 3)
    each = [np.asarray(draw(k)) for k in keys]
    np.testing.assert_array_equal(funcgrad.vmap(draw)(keys), each)
    np.testing.assert_array_equal(funcgrad.jit(draw)(keys[0]), each[0])
    with funcgrad.config.__class__.disable_jit(True):
        np.testing.assert_array_equal(draw(keys[0]), each[0])


def test_vmap_over_parameters():
    keys = random.split(random.key(3), 5)
    each = [float(random.gamma(k, a)) for k, a in zip(keys, FEW, strict=True)]
    np.testing.assert_array_equal(funcgrad.vmap(random.gamma)(keys, FEW), np.float32(each))
    one = funcgrad.vmap(random.uniform, in_axes=(None, None, None, 0))(
        keys[0], (2,), np.float32, -FEW
    )
    np.testing.assert_allclose(
        one[3], random.uniform(keys[0], (2,), np.float32, -FEW[3]), rtol=1e-6
    )


def test_programs_read_like_jax():
    key = random.key(0)
    text = str(funcgrad.make_jaxpr(lambda k: random.split(k))(key))
    assert "random_split[shape=(2,)]" in text
    text = str(funcgrad.make_jaxpr(lambda k: random.bits(k, (3,)))(random.PRNGKey(0)))
    assert "key<fry>[] = random_wrap[impl=fry]" in text
    assert "u32[3] = random_bits[bit_width=32 shape=(3,)]" in text
    assert "random_gamma[log_space=False]" in str(
        funcgrad.make_jaxpr(lambda k: random.gamma(k, 2.0))(key)
    )


# derivatives

DIFFERENTIABLE: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "uniform": lambda r, k, a: r.uniform(k, (5,), minval=a, maxval=2 * a),
    "truncated_normal": lambda r, k, a: r.truncated_normal(k, -a, a),
    "lognormal": lambda r, k, a: r.lognormal(k, a),
    "gamma": lambda r, k, a: r.gamma(k, a),
    "loggamma": lambda r, k, a: r.loggamma(k, a),
    "beta": lambda r, k, a: r.beta(k, a, 2 * a),
    "dirichlet": lambda r, k, a: r.dirichlet(k, a),
    "t": lambda r, k, a: r.t(k, a),
    "generalized_normal": lambda r, k, a: r.generalized_normal(k, a[0], (4,)),
    "rayleigh": lambda r, k, a: r.rayleigh(k, a),
    "weibull_min": lambda r, k, a: r.weibull_min(k, a, a, (5,)),
    "pareto": lambda r, k, a: r.pareto(k, a),
    "triangular": lambda r, k, a: r.triangular(k, -a, a, 2 * a),
    "double_sided_maxwell": lambda r, k, a: r.double_sided_maxwell(k, a, a),
    "multivariate_normal": lambda r, k, a: r.multivariate_normal(k, a, jnp_or_ours(r).diag(a)),
}


def jnp_or_ours(r: ModuleType) -> ModuleType:
    return fnp if r is random else jnp


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivative(name: str):
    draw = DIFFERENTIABLE[name]
    ours = lambda a: draw(random, random.key(7), a)
    theirs = jax.jacfwd(lambda a: draw(jax.random, jax.random.key(7), a))(FEW)
    np.testing.assert_allclose(funcgrad.jacfwd(ours)(FEW), theirs, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(funcgrad.jacrev(ours)(FEW), theirs, rtol=2e-4, atol=1e-5)


def test_derivative_of_a_mean():
    mean = lambda a: random.gamma(random.key(0), a, (4000,)).mean()
    assert abs(float(funcgrad.jit(funcgrad.grad(mean))(3.0)) - 1) < 0.1


# what has probability 0


def test_choice_never_takes_what_is_improbable():
    p = np.zeros(1000, np.float32)
    p[np.random.default_rng(0).permutation(1000)[:300]] = 1e-3
    p[[0, -1]] = 0
    for key in random.split(random.key(0), 3):
        assert p[np.asarray(random.choice(key, 1000, (20000,), p=p))].min() > 0
        assert p[np.asarray(random.choice(key, 1000, (300,), replace=False, p=p))].min() > 0
    drawn = np.asarray(
        random.categorical(random.key(0), np.array([-np.inf, 0, 0], np.float32), shape=(200,))
    )
    assert set(drawn) == {1, 2}


def test_choice_sums_many_small_probabilities_well():
    n = 1_000_000
    p = np.full(n, np.float32(1) / n)
    drawn = np.asarray(random.choice(random.key(0), n, (100_000,), p=p))
    assert abs(drawn.mean() / n - 0.5) < 0.005


# errors

KEY = random.key(0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random.normal(0, (3,)), TypeError, r"key, got 0 of type int.*random\.key\(0\)"),
        (lambda: random.normal(1701), TypeError, r"random\.key\(1701\)"),
        (lambda: random.split(None), TypeError, r"split needs a random key, got None"),
        (lambda: random.normal(np.zeros(3, np.uint32)), TypeError, r"uint32\[2\].*uint32\[3\]"),
        (lambda: random.normal(np.zeros(2, np.float32)), TypeError, r"float32\[2\]"),
        (lambda: random.normal(random.split(KEY)), ValueError, r"shape \(2,\).*vmap"),
        (lambda: random.key(1.5), TypeError, "integer.*1.5"),
        (lambda: random.key(2**63), OverflowError, "64 bits"),
        (lambda: random.key(KEY), TypeError, "split"),
        (lambda: random.key(np.arange(3)), TypeError, r"\(3,\).*vmap"),
        (lambda: random.key(0, impl="rbg"), ValueError, "rbg.*threefry2x32"),
        (lambda: random.key(0, impl=3), TypeError, "threefry2x32"),
        (lambda: random.key(0, impl="rbg", dtype="rbg"), ValueError, "not both"),
        (lambda: random.fold_in(KEY, np.arange(2)), TypeError, r"\(2,\).*vmap"),
        (lambda: random.fold_in(KEY, -1), OverflowError, "uint32"),
        (lambda: random.split(KEY, -1), ValueError, "negative"),
        (lambda: random.split(KEY, 2.5), TypeError, "2.5"),
        (lambda: random.wrap_key_data(np.zeros(2, np.float32)), TypeError, "float32"),
        (lambda: random.bits(KEY, (), np.int32), ValueError, "unsigned.*int32"),
        (lambda: random.uniform(KEY, (2,), np.int32), ValueError, "float dtype, got int32"),
        (lambda: random.uniform(KEY, (-1,)), ValueError, "negative"),
        (lambda: random.uniform(KEY, (2,), minval=np.zeros(3)), ValueError, r"\(2,\).*\(3,\)"),
        (lambda: random.normal(KEY, 2.5), TypeError, "2.5"),
        (lambda: random.randint(KEY, (2,), 0, 5, float), TypeError, "integer dtype"),
        (lambda: random.bernoulli(KEY, 1), TypeError, "floating.*int32"),
        (lambda: random.bernoulli(KEY, mode="x"), ValueError, "'x'"),
        (lambda: random.gumbel(KEY, mode="x"), ValueError, "'x'"),
        (lambda: random.permutation(KEY, 2.5), TypeError, "integer"),
        (lambda: random.permutation(KEY, ROWS, axis=2), ValueError, "out of bounds"),
        (lambda: random.choice(KEY, 3, 4), TypeError, "sequence"),
        (lambda: random.choice(KEY, 0, (2,)), ValueError, "0 elements"),
        (lambda: random.choice(KEY, 3, (4,), False), ValueError, "larger sample"),
        (lambda: random.choice(KEY, 3, p=np.ones(2)), ValueError, r"\(2,\)"),
        (
            lambda: random.choice(KEY, 3, (2,), False, np.float32([1, 0, 0])),
            ValueError,
            "1 elements whose p is not 0",
        ),
        (lambda: random.categorical(KEY, np.zeros(3, np.float32), 1), ValueError, "axis 1"),
        (lambda: random.categorical(KEY, np.zeros(3, int)), ValueError, "float dtype"),
        (
            lambda: random.categorical(KEY, np.zeros((2, 3)), shape=(3,)),
            ValueError,
            r"\(3,\).*\(2,\)",
        ),
        (lambda: random.beta(KEY, np.float32(1), 2.0, dtype=np.float16), TypePromotionError, "a "),
        (lambda: random.dirichlet(KEY, 1.0), ValueError, "scalar"),
        (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)), ValueError, r"\(3, 3\)"),
        (
            lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="qr"),
            ValueError,
            "'qr'",
        ),
        (lambda: random.uniform(KEY, (2,), out_sharding=3), TypeError, "Sharding"),
        (lambda: np.asarray(KEY), TypeError, "key_data"),
        (lambda: bool(KEY), TypeError, "key"),
        (lambda: KEY < KEY, TypeError, "key<fry>"),
    ],
)
@pytest.mark.filterwarnings("ignore:dtype float64 requested")
def test_error(call: Callable[[], Any], error: type[Exception], message: str):
    with pytest.raises(error, match="(?s)" + message):
        call()


def test_shape_from_a_traced_value():
    with pytest.raises(TypeError, match="static"):
        funcgrad.jit(lambda n: random.normal(KEY, (n,)))(3)


# reuse of keys


def jitted_draw(key: Any) -> Any:
    return funcgrad.jit(random.uniform)(key)


@pytest.mark.parametrize(
    "use",
    [
        lambda k: (random.uniform(k), random.normal(k)),
        lambda k: (random.split(k), random.normal(k)),
        lambda k: (random.gamma(k, 2.0), random.split(k)),
        lambda k: [random.uniform(random.split(k)[0])] + [random.uniform(s) for s in (k, k)],
        lambda k: [random.uniform(s) for s in [random.split(k)] for s in (s[0], s[0])],
        lambda k: (jitted_draw(k), random.uniform(k)),
        funcgrad.jit(lambda k: (random.uniform(k), random.uniform(k))),
        lambda k: [(funcgrad.vmap(random.uniform)(s), random.uniform(s[1])) for s in [keys_of(9)]],
    ],
)
def test_key_reuse_is_found(use: Callable[[Any], Any]):
    with debug_key_reuse(True), pytest.raises(KeyReuseError, match=r"reused.*random\.split"):
        use(random.key(11))


@pytest.mark.parametrize(
    "use",
    [
        lambda k: [random.uniform(s) for s in random.split(k)],
        lambda k: [random.uniform(random.fold_in(k, i)) for i in (1, 2)] + [random.uniform(k)],
        lambda k: (random.uniform(random.clone(k)), random.uniform(k)),
        lambda k: (random.uniform(random.key_data(k)), random.uniform(random.key_data(k))),
        lambda k: funcgrad.value_and_grad(lambda x: x * random.uniform(k))(2.0),
        lambda k: (random.poisson(k, np.float32([3, 30])), random.t(random.fold_in(k, 1), 3.0)),
        lambda k: random.multinomial(k, 10, np.float32([0.3, 0.7])),
        lambda k: [jitted_draw(s) for s in random.split(k)],
    ],
)
def test_key_use_is_not_mistaken_for_reuse(use: Callable[[Any], Any]):
    with debug_key_reuse(True):
        use(random.key(11))


def test_public_names():
    theirs = {n for n in dir(jax.random) if not n.startswith("_")}
    assert theirs - set(dir(random)) <= {"annotations"}
