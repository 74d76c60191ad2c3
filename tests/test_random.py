"""Random numbers against JAX's: bit for bit where no rounding comes in, closely elsewhere."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import funcgrad
from draws import FEW, PARAMS, ROWS, SAMPLES, recorded, storable
from funcgrad import lax, random
from funcgrad import numpy as fnp
from funcgrad.base import dtypes
from funcgrad.base.config import (
    Config,
    debug_key_reuse,
    disable_jit,
    enable_custom_prng,
    legacy_prng_key,
    threefry_partitionable,
)
from funcgrad.base.errors import KeyReuseError, TypePromotionError
from funcgrad.primitives import keys as family


def words(keys: Any) -> np.ndarray:
    return np.asarray(random.key_data(keys))


# against what JAX drew


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_draw(name: str):
    sample = SAMPLES[name]
    dtype, got = storable(sample.of(funcgrad))
    wanted, expected = recorded()[name]
    assert (dtype, got.shape) == (wanted, expected.shape)
    if sample.rtol == sample.atol == 0:
        assert got.tobytes() == expected.tobytes()
        return
    same = np.isclose(got, expected, sample.rtol, sample.atol, equal_nan=True)
    assert np.mean(~same) <= sample.outliers


# keys


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, [0, 0]),
        (42, [0, 42]),
        (-5, [0, 2**32 - 5]),
        (2**32 + 5, [0, 5]),
        (2**63 - 1, [0, 2**32 - 1]),
        (True, [0, 1]),
        (np.int8(-3), [0, 2**32 - 3]),
        (np.uint64(9), [0, 9]),
    ],
)
def test_seed(seed: Any, expected: list[int]):
    np.testing.assert_array_equal(words(random.key(seed)), expected)
    np.testing.assert_array_equal(np.asarray(random.PRNGKey(seed)), expected)


def test_seed_offset():
    with Config.random_seed_offset(3):
        np.testing.assert_array_equal(words(random.key(4)), [0, 7])


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


# the streams


def test_older_stream_beyond_one_counter(monkeypatch: pytest.MonkeyPatch):
    with threefry_partitionable(False):
        parts = zip(random.split(random.key(3), 3), (5, 5, 2), strict=True)
        expected = np.concatenate([np.asarray(random.bits(key, (n,))) for key, n in parts])
        monkeypatch.setattr(family, "LONGEST_BLOCK", 5)
        np.testing.assert_array_equal(random.bits(random.key(3), (12,)), expected)


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_multivariate_normal(method: str):
    mean = np.array([1, -2, 3], np.float32)
    cov = np.array([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]], np.float32)
    x = np.asarray(random.multivariate_normal(random.key(0), mean, cov, (20000,), method=method))
    np.testing.assert_allclose(np.mean(x, 0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.1)
    batch = random.multivariate_normal(random.key(0), np.zeros((2, 1, 3)), np.stack([cov] * 4))
    assert batch.shape == (2, 4, 3)


def test_no_farther_from_the_truth_than_a_rounding_or_two():
    shape, tiny = (4000,), np.finfo(np.float32).tiny
    lowest = -np.nextafter(np.float32(1), np.float32(0))
    key = random.key(7)
    unit = np.asarray(random.uniform(key, shape), np.float64)
    around = np.asarray(random.uniform(key, shape, minval=lowest), np.float64)
    above = np.asarray(random.uniform(key, shape, minval=tiny), np.float64)
    for drawn, truth in (
        (random.normal(key, shape), np.sqrt(2) * scipy.special.erfinv(around)),
        (random.exponential(key, shape), -np.log1p(-unit)),
        (random.gumbel(key, shape), -np.log(-np.log(above))),
    ):
        off = np.abs(np.asarray(drawn, np.float64) - truth) / np.maximum(np.abs(truth), 1)
        assert off.max() < 3e-7


def test_wald_is_exact_where_jax_cancels():
    means = np.linspace(0.3, 50, 1000).astype(np.float32)
    first, second = random.split(random.key(7))
    z = np.asarray(random.normal(first, (1000,)), np.float64)
    w = means * z**2 / 2
    x = means / (1 + w + np.sqrt(w**2 + 2 * w))
    u = np.asarray(random.uniform(second, (1000,)))
    truth = np.where(u <= means / (means + x), x, means.astype(np.float64) ** 2 / x)
    np.testing.assert_allclose(random.wald(random.key(7), means), truth, rtol=1e-6)


# under transformations

SAMPLERS: dict[str, Callable[[Any], Any]] = {
    "randint": lambda k: random.randint(k, (4,), -9, 1000),
    "permutation": lambda k: random.permutation(k, 20),
    "choice": lambda k: random.choice(k, 9, (4,)),
    "choice by p": lambda k: random.choice(k, 9, (4,), p=PARAMS[:9]),
    "categorical": lambda k: random.categorical(k, np.log(PARAMS[:10]), shape=(4,)),
    "gamma": lambda k: random.gamma(k, FEW),
    "poisson": lambda k: random.poisson(k, np.float32([3, 30])),
    "binomial": lambda k: random.binomial(k, 50, np.float32([0.1, 0.6])),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_vmap_and_jit_draw_the_same(name: str):
    def draw(key: Any) -> Any:
        return SAMPLERS[name](key)

    keys = random.split(random.key(3), 3)
    each = [np.asarray(draw(k)) for k in keys]
    np.testing.assert_array_equal(funcgrad.vmap(draw)(keys), each)
    np.testing.assert_array_equal(funcgrad.jit(draw)(keys[0]), each[0])
    with disable_jit():
        np.testing.assert_array_equal(draw(keys[0]), each[0])


def test_vmap_over_parameters():
    keys = random.split(random.key(3), 5)
    each = [float(random.gamma(k, a)) for k, a in zip(keys, FEW, strict=True)]
    np.testing.assert_array_equal(funcgrad.vmap(random.gamma)(keys, FEW), np.float32(each))
    draw = lambda low: random.uniform(keys[0], (2,), minval=low)
    np.testing.assert_allclose(funcgrad.vmap(draw)(-FEW)[3], draw(-FEW[3]), rtol=1e-6)


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


def test_forward_and_reverse_agree():
    draw = lambda a: random.beta(random.key(7), a, 2 * a)
    np.testing.assert_allclose(
        funcgrad.jacrev(draw)(FEW), funcgrad.jacfwd(draw)(FEW), rtol=1e-5, atol=1e-6
    )


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
        (lambda: random.choice(KEY, 2, p=np.ones(2) * 1j), TypeError, "real.*complex64"),
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
