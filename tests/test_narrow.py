"""8-bit and narrower dtypes compiled: every byte, every rounding, and whole programs without a
library step.
"""

from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.array import as_array
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.passes.widen import widen
from funcgrad.primitives.reduction import reduce_max_p
from oracle import assert_as_oracle

FLOATS = [
    getattr(ml_dtypes, name)
    for name in (
        "float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e3m4 "
        "float8_e4m3 float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn"
    ).split()
]
NAMES = ("int4", "uint4", "int2", "uint2", "int1", "uint1")
INTEGERS = [getattr(ml_dtypes, name) for name in NAMES if hasattr(ml_dtypes, name)]
E4M3, INT4 = ml_dtypes.float8_e4m3fn, ml_dtypes.int4
BYTES = np.arange(256, dtype=np.uint8)


def native(function: Callable, *args: Any) -> NativeExecutable:
    executable = assert_as_oracle(function, *args)
    assert [c.eqn.primitive.name for c in executable.native.host_calls] == []
    return executable


def bits(array: Any) -> np.ndarray:
    return np.asarray(as_array(array).buffer).view(np.uint8)


def sample_floats(dtype: Any) -> np.ndarray:
    """All values of bfloat16, and around each value of a dtype and each midpoint the next ones."""
    every = np.arange(1 << 16, dtype=np.uint32) << 16
    with np.errstate(all="ignore"):
        known = np.unique(BYTES.view(dtype).astype(np.float32))
    known = known[np.isfinite(known)]
    points = np.concatenate([known, (known[1:] + known[:-1]) / 2])
    up, down = (np.nextafter(points, np.float32(end)) for end in (np.inf, -np.inf))
    rng = np.random.default_rng(0)
    ordinary = rng.normal(size=20_000) * np.exp(rng.normal(size=20_000) * 4)
    parts = [every.view(np.float32), points, up, down, ordinary.astype(np.float32)]
    return np.concatenate(parts)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_every_byte_widens(dtype: Any) -> None:
    info: Any = ml_dtypes.finfo(dtype) if dtype in FLOATS else ml_dtypes.iinfo(dtype)
    x = BYTES[: 1 << info.bits].view(dtype)
    wide = np.float32 if dtype in FLOATS else np.int32
    executable = native(lambda x: x.astype(wide), x)
    (found,) = executable(x)
    np.testing.assert_array_equal(found, x.astype(wide))
    assert (np.signbit(found) == np.signbit(x.astype(wide)))[~np.isnan(found)].all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_kind_of_float_rounds(dtype: Any) -> None:
    x = sample_floats(dtype)
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype).view(np.uint8)
    (found,) = native(lambda x: x.astype(dtype), x)(x)
    np.testing.assert_array_equal(found.view(np.uint8), wanted)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("source", [np.float16, ml_dtypes.bfloat16, np.int32, np.bool_])
def test_other_dtypes_convert(dtype: Any, source: Any) -> None:
    x = np.asarray([0, 1, -1, 3, 7, 8, -8, -9, 100, 0.49, -0.99999999999, 5.5]).astype(source)
    (found,) = native(lambda x: x.astype(dtype), x)(x)
    wanted = bits(as_array(x).astype(dtype))
    mask = 255 if dtype in FLOATS else (1 << ml_dtypes.iinfo(dtype).bits) - 1
    np.testing.assert_array_equal(found.view(np.uint8) & mask, wanted & mask)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
def test_narrow_dtypes_convert_into_each_other(dtype: Any, source: Any) -> None:
    info: Any = ml_dtypes.finfo(source) if source in FLOATS else ml_dtypes.iinfo(source)
    x = BYTES[: 1 << info.bits].view(source)
    (found,) = native(lambda x: x.astype(dtype), x)(x)
    wide = x.astype(np.float32 if source in FLOATS else np.int32)
    wanted = np.asarray(as_array(wide).astype(dtype))
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


def test_floats_saturate_as_integers() -> None:
    x = np.asarray([np.nan, np.inf, -np.inf, 1e10, -1e10, 7.9, -9.2, 17, -0.5, 3.5], np.float32)
    wanted = [0, 7, -8, 7, -8, 7, -8, 7, 0, 3]  # as XLA converts
    assert as_array(x).astype(INT4).astype(np.int32).tolist() == wanted  # pyright: ignore
    assert funcgrad.jit(lambda x: x.astype(INT4).astype(np.int32))(x).tolist() == wanted


@pytest.mark.parametrize("dtype", [E4M3, ml_dtypes.float8_e5m2, INT4])
def test_elements_move_as_they_are(dtype: Any) -> None:
    x = BYTES[:16].repeat(12).reshape(12, 16)
    x = (x if dtype is INT4 else np.random.default_rng(0).integers(0, 256, (12, 16))).astype("u1")
    x = x.view(dtype)
    i = np.asarray([3, 0, 7])

    def moved(x: Any) -> list[Any]:
        y = x.T[::-1].reshape(4, 48)
        z = jnp.concatenate([x[2:5], x[7:8]], 0)
        taken = jnp.take(x, i, axis=0, mode="clip")
        put = x.at[i].set(x[:3], mode="promise_in_bounds")
        part = lax.dynamic_slice(x, (i[0], 2), (4, 5))
        chosen = jnp.where(jnp.arange(16) % 3 == 0, x, x[0])
        return [y, z, taken, put, part, chosen, jnp.broadcast_to(x[:, None], (12, 3, 16))]

    executable = native(moved, x)
    found = executable(x)
    for got, want in zip(found, moved(as_array(x)), strict=True):
        np.testing.assert_array_equal(got.view(np.uint8), bits(want))


@pytest.mark.parametrize("dtype", [E4M3, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz])
def test_each_operation_rounds(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        x, y = (rng.normal(size=(2, 999)) * 3).astype(dtype)

    def f(x: Any, y: Any) -> list[Any]:
        return [x * y + x, x - y, x / y, jnp.maximum(x, -y), abs(x), x < y, x == x, jnp.sign(y)]

    executable = native(f, x, y)
    for got, want in zip(executable(x, y), f(as_array(x), as_array(y)), strict=True):
        wanted = np.asarray(as_array(want).buffer)
        np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("dtype", [E4M3, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("rsqrt", {}),
        ("round", {"rounding_method": 0}),
        ("round", {"rounding_method": 1}),
        ("integer_pow", {"y": 3}),
        ("integer_pow", {"y": -2}),
    ],
)
def test_operations_of_several_steps_round_as_xla_does(
    dtype: Any, name: str, params: dict[str, Any]
) -> None:
    x = BYTES.view(dtype)
    wanted = getattr(jax.lax, name)(x, **params).astype(np.float32)

    def f(x: Any) -> Any:
        return getattr(lax, name)(x, **params)

    for found in (f(as_array(x)), funcgrad.jit(f)(x)):
        np.testing.assert_array_equal(found.astype(np.float32), wanted)


def test_small_integers_wrap() -> None:
    x = np.arange(-8, 8).astype(INT4)
    f = funcgrad.jit(lambda x: [x + x, x * x, -x, x < 2])
    for got, want in zip(f(x), [lambda v: v + v, lambda v: v * v, lambda v: -v], strict=False):
        wide = want(np.arange(-8, 8))
        assert got.astype(np.int32).tolist() == ((wide + 8) % 16 - 8).tolist()
    assert f(x)[3].tolist() == (np.arange(-8, 8) < 2).tolist()
    native(lambda x: [x + x, x * x, x < 2], x)


def test_products() -> None:
    rng = np.random.default_rng(2)
    x, w = (rng.normal(size=s).astype(E4M3) for s in ((40, 96), (96, 56)))
    wanted = x.astype(np.float32) @ w.astype(np.float32)
    f = lambda x, w: jnp.matmul(x, w, preferred_element_type=np.float32)
    (found,) = native(f, x, w)(x, w)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-4)

    q = rng.integers(-8, 8, (96, 56)).astype(INT4)
    y, scale = rng.normal(size=(40, 96)).astype(np.float32), np.float32(0.1)

    def weight_only(y: Any, q: Any) -> Any:
        return (y @ q.astype(np.float32)) * scale

    (found,) = native(weight_only, y, q)(y, q)
    np.testing.assert_allclose(found, y @ q.astype(np.float32) * scale, 1e-4, 1e-4)


def test_gradient_through_a_quantised_value() -> None:
    def loss(w: Any, x: Any) -> Any:
        quantised = w + lax.stop_gradient(w.astype(E4M3).astype(np.float32) - w)
        return jnp.sum(jnp.tanh(x @ quantised) ** 2)

    rng = np.random.default_rng(3)
    w, x = rng.normal(size=(8, 5)).astype(np.float32), rng.normal(size=(7, 8)).astype(np.float32)
    native(funcgrad.grad(loss), w, x)
    batch = rng.normal(size=(3, 7, 8)).astype(np.float32)
    native(funcgrad.vmap(funcgrad.grad(loss), (None, 0)), w, batch)


def test_a_loop_carries_bytes() -> None:
    def f(x: Any, s: Any) -> Any:
        def turn(c: Any, s: Any) -> tuple[Any, Any]:
            c = (c.astype(np.float32) * s + 0.25).astype(E4M3)
            return c, c[:2]

        return lax.scan(turn, x, s)

    x = np.linspace(-2, 2, 33).astype(E4M3)
    s = np.linspace(0.5, 1.5, 9, dtype=np.float32)
    executable = native(f, x, s)
    carry, ys = f(as_array(x), as_array(s))
    got = executable(x, s)
    np.testing.assert_array_equal(got[0].view(np.uint8), bits(carry))
    np.testing.assert_array_equal(got[1].view(np.uint8), bits(ys))
    scalar = np.float32(0.3).astype(E4M3)
    native(lambda x: lax.fori_loop(0, 5, lambda i, c: (c * 2 + 1).astype(E4M3), x), scalar)


def test_the_pass_leaves_other_programs_alone() -> None:
    program = funcgrad.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)
    assert widen(program) is program


BY_WIDTH = [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_beyond_the_dtype_do_not_count(dtype: Any) -> None:
    x = BYTES[: 1 << ml_dtypes.iinfo(dtype).bits].view(dtype)
    x, y = (v.reshape(-1) for v in np.meshgrid(x, x))
    bitwise = [lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: ~x]
    counts = [lambda x, y: lax.clz(x), lambda x, y: lax.population_count(x)]
    extremes = [jnp.maximum, lambda x, y: jnp.clip(x, 0, 1), lambda x, y: jnp.min(x)]
    arithmetic = [lax.div, lax.rem, lambda x, y: -x, lambda x, y: abs(x), lambda x, y: jnp.sign(x)]
    for f in (*BY_WIDTH, *bitwise, *counts, *extremes, *arithmetic):
        want = np.asarray(as_array(f(as_array(x), as_array(y))).buffer)
        (got,) = assert_as_oracle(f, x, y)(x, y)
        assert got.dtype == want.dtype == dtype
        np.testing.assert_array_equal(got.astype(np.int32), want.astype(np.int32))


def test_quotients_of_small_integers_truncate() -> None:
    x, y = (np.asarray(v, np.int32) for v in ([7, -7, -8, 5], [2, 2, -1, 0]))
    small = [as_array(v.astype(INT4)) for v in (x, y)]
    assert np.asarray(lax.div(*small)).astype(int).tolist() == [3, -3, -8, -1]
    assert np.asarray(lax.rem(*small)).astype(int).tolist() == [1, -1, 0, 5]


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_dtypes_without_infinity(dtype: Any) -> None:
    x = np.asarray([1, 4, 2]).astype(dtype)
    f = lambda x: [jnp.max(x), jnp.min(x)]
    assert [float(v) for v in f(as_array(x))] == [4, 1]
    assert [float(v) for v in native(f, x)(x)] == [4, 1]


def test_the_next_number_is_of_the_dtype() -> None:
    x, y = (np.asarray(v).astype(E4M3) for v in ([1, 1, -2], [2, 0, 0]))
    (found,) = assert_as_oracle(lax.nextafter, x, y)(x, y)
    assert found.astype(np.float32).tolist() == [1.125, 0.9375, -1.875]


@pytest.mark.parametrize("dtype", [E4M3, INT4])
def test_extremes_of_nothing_are_of_the_dtype(dtype: Any) -> None:
    x = np.zeros((0, 3), dtype)
    f = lambda x: reduce_max_p.bind(x, axes=(0,))
    (found,) = assert_as_oracle(f, x)(x)
    info: Any = ml_dtypes.finfo(dtype) if dtype is E4M3 else ml_dtypes.iinfo(dtype)
    assert found.astype(np.float32).tolist() == [float(info.min)] * 3
