"""Compiled cumulative reductions against their oracle: along every axis, both ways, of every type;
what is computed in their loops; and that long ones are exact.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.config import Config
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.target import host_target
from funcgrad.compiler.loops import Prefix, walk
from funcgrad.compiler.native import NativeExecutable
from oracle import assert_as_oracle

if not engine.available():
    pytest.skip("no code generator", allow_module_level=True)

NAMES = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
LENGTHS = [0, 1, 2, 15, 16, 17, 31, 33, 64, 100, 1000]


def array(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return draw.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return draw.uniform(-1.5, 1.5, shape).astype(dtype)


def every_way(*names: str) -> Callable[[Any], list]:
    """The named functions along each axis, both ways."""

    def run(x: Any) -> list:
        return [
            getattr(lax, name)(x, axis, reverse)
            for name in names
            for axis in range(x.ndim)
            for reverse in (False, True)
        ]

    return run


def prefixes(executable: NativeExecutable) -> list[int]:
    """How many there are in each kernel; a step of the array library is none."""
    assert not executable.steps
    kernels = executable.native.kernels.values()
    return [sum(isinstance(s, Prefix) for s in walk(kernel.body)) for kernel in kernels]


@pytest.mark.parametrize("shape", [(37,), (3, 37), (37, 3), (2, 19, 3), (2, 3, 40)], ids=str)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_types(dtype: Any, shape: tuple[int, ...]) -> None:
    names = NAMES if dtype in FLOATS else NAMES[:-1]
    with funcgrad.enable_x64(True):
        executable = assert_as_oracle(every_way(*names), array(*shape, dtype=dtype))
    assert set(prefixes(executable)) == {1}


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(length: int) -> None:
    run = every_way("cumsum", "cummax")
    for shape in [(length,), (3, length), (length, 2), (2, length, 70)]:
        assert_as_oracle(run, array(*shape))
        assert_as_oracle(run, array(*shape, dtype=np.int8))


@pytest.mark.parametrize("isa", ["avx512", "avx2", "sse2", "neon"])
def test_processors(isa: str) -> None:
    with Config.isa(isa):  # type: ignore[arg-type]
        try:
            host_target()
        except ValueError:
            pytest.skip("another processor")
        assert_as_oracle(every_way(*NAMES), array(5, 77))


def test_complex_numbers_stay_with_the_library() -> None:
    z = array(9) + 1j * array(9, seed=1)
    executable = assert_as_oracle(every_way("cumsum"), z.astype(np.complex64))
    assert len(executable.steps) == 2


SPECIAL = {
    "zeros": [-0.0, -0.0, 0.0, -0.0],
    "infinities": [-np.inf, -np.inf, 1, np.inf, 2, -np.inf, 3],
    "no number": [1, 2, np.nan, 3, np.inf],
    "far apart": [-1000, 0, 1000, -2000, 5],
    "large": [3e38, 3e38, -3e38, -3e38, 1],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    x = np.tile(np.array(SPECIAL[name], np.float32), 6)
    assert_as_oracle(every_way(*NAMES), x)
    assert_as_oracle(every_way(*NAMES), np.stack([x, x, x]))


def test_signs_of_zeros() -> None:
    x = np.array([-0.0] * 20 + [0.0, -0.0], np.float32)
    found = np.asarray(funcgrad.jit(lax.cumsum)(x))
    assert np.signbit(found[:20]).all() and not np.signbit(found[20:]).any()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_sums_are_exact(dtype: Any, reverse: bool) -> None:
    with funcgrad.enable_x64(True):
        x = array(1_000_003, dtype=dtype)
        found = np.asarray(funcgrad.jit(lambda x: lax.cumsum(x, 0, reverse))(x))
    step = -1 if reverse else 1
    wanted = np.cumsum(x[::step].astype(np.longdouble))[::step]
    error = np.abs(found - wanted).max() / np.abs(wanted).max()
    assert error < {np.float32: 6e-8, np.float64: 2e-16}[dtype]


def test_results_do_not_depend_on_the_threads() -> None:
    x = array(300, 700)
    found = []
    for threads in (1, 2, 3):
        with Config.num_threads(threads):
            found.append([np.asarray(y) for y in funcgrad.jit(every_way("cumsum"))(x)])
    for others in found[1:]:
        for y, z in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(y, z)


# what is computed in the same loops

FUSED: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "what goes in": (lambda x: lax.cumsum(jnp.sin(x) * 2, 1), [1]),
    "what comes out": (lambda x: jnp.exp(lax.cumsum(x, 1)) + x, [1]),
    "both, backward": (lambda x: jnp.exp(lax.cumsum(jnp.sin(x), 0, True)) + x, [1]),
    "what goes in, needed": (lambda x: ((y := jnp.sin(x)), lax.cumsum(y, 0, True)), [1]),
    "sums of sums": (lambda x: lax.cumsum(lax.cumsum(x, 1) * 2, 1), [2]),
    "sums and products": (lambda x: lax.cumprod(lax.cummax(jnp.sin(x), 0, True), 0, True), [2]),
    "one way, then the other": (lambda x: lax.cumsum(lax.cumsum(x, 1), 1, True), [1, 1]),
    "one axis, then the other": (lambda x: lax.cumsum(lax.cumsum(x, 0) + 1, 1), [1, 1]),
    "there and back": (
        lambda x: ((y := jnp.sin(x)), lax.cumsum(y, 1), lax.cumsum(y, 1, True), lax.cumsum(y, 0)),
        [1, 1, 1],
    ),
    "of a reversed array": (lambda x: lax.cumsum(x[:, ::-1], 1)[:, ::-1], [1, 0]),
    "of rows laid end to end": (lambda x: lax.cumsum(x.reshape(-1), 0), [1]),
    "of rows laid end to end, backward": (lambda x: lax.cumsum(x.reshape(-1) * 2, 0, True), [1]),
    "of part": (lambda x: lax.cumsum(x[1:, 3:20:2], 1), [1]),
    "of a number": (lambda x: lax.cumsum(jnp.full((5, 40), x[0, 0]), 1), [1]),
    "of positions": (lambda x: lax.cumsum(jnp.arange(40), 0), [1]),
}


@pytest.mark.parametrize("name", FUSED)
def test_fused(name: str) -> None:
    function, counts = FUSED[name]
    assert prefixes(assert_as_oracle(function, array(6, 45), times=2)) == counts


APART: dict[str, Callable[[Any], Any]] = {
    "the last of them": lambda x: jnp.exp(lax.cumsum(x, 1)[:, -1]) + 1,
    "all but the last": lambda x: lax.cumsum(x, 1)[:, :-1] + x[:, 1:],
    "of a transpose": lambda x: lax.cumsum(jnp.sin(x).T, 1),
    "turned around": lambda x: lax.cumsum(x, 1)[:, ::-1] + x,
    "added to those along the other axis": lambda x: lax.cumsum(x, 0) + lax.cumsum(x, 1),
    "divided by the sum": lambda x: lax.cumsum(x, 1) / (2 + jnp.sum(x * x, 1, keepdims=True)),
    "of a softmax": lambda x: lax.cumsum(funcgrad.nn.softmax(x, 1), 1),
    "summed up": lambda x: jnp.sum(lax.cumsum(jnp.sin(x), 1), 1),
    "in another shape": lambda x: jnp.sin(lax.cumsum(x, 1).reshape(-1)),
    "turned around, in another shape": lambda x: lax.cumsum(x, 1, True).reshape(5, 9, 6) * 2,
    "of one row": lambda x: lax.cumsum(x[:1], 0) * lax.cumsum(x[:1], 1),
    "of a few elements in a loop": lambda x: lax.fori_loop(
        0, 4, lambda i, c: lax.cumsum(c, 0) / 2 + c[::-1], x[0, :3]
    ),
    "of one element in a loop": lambda x: lax.fori_loop(
        0, 4, lambda i, c: lax.cumsum(c, 0) / 2, x[0, :1]
    ),
    "in place": lambda x: lax.fori_loop(0, 5, lambda i, c: lax.cumsum(c, 1) / 4, x),
    "in place, backward": lambda x: lax.fori_loop(0, 5, lambda i, c: lax.cumsum(c, 0, True) / 4, x),
    "as the derivative": lambda x: funcgrad.grad(lambda x: jnp.sum(lax.cumsum(jnp.sin(x), 1) ** 2))(
        x
    ),
    "of many": lambda x: funcgrad.vmap(lambda r: lax.cumlogsumexp(r * 2, reverse=True), 1)(x),
}


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    """What has to wait, or is asked for in another order."""
    assert not assert_as_oracle(APART[name], array(6, 45), times=2).steps
