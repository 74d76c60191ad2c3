"""Compiled programs against their oracle, which runs the same equations one by one with NumPy.

The rows of the table of samples; programs written to upset fusion and the memory plan; random ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad
import funcgrad.numpy as jnp
import random_programs
from answers import pull, smooth_part
from engines import OURS
from funcgrad import lax
from funcgrad.compiler.llvm import engine
from oracle import assert_as_oracle
from rows import Row
from samples import ROWS

if not engine.available():
    pytest.skip("no code generator", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:.*scatter inputs have incompatible:FutureWarning")

barrier = lax.optimization_barrier


def array(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    numbers = rng.uniform(-1, 1, shape)
    return (numbers > 0) if kind == "b" else numbers.astype(dtype)


# the table of samples


def of_arrays(row: Row, args: Sequence[Any]) -> tuple[Callable, list[np.ndarray]]:
    """The row as a function of its arrays, and these."""
    function = row.make(OURS)
    places = [i for i, a in enumerate(args) if hasattr(a, "dtype")]

    def run(*arrays: Any) -> Any:
        full = list(args)
        for i, x in zip(places, arrays, strict=True):
            full[i] = x
        return function(*full)

    return run, [args[i] for i in places]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row: Row) -> None:
    run, arrays = of_arrays(row, row.arguments())
    assert_as_oracle(run, *arrays, error=row.error)


@pytest.mark.parametrize("row", [r for r in ROWS if r.order and r.loop], ids=str)
def test_row_differentiated_and_batched(row: Row) -> None:
    """The gradients of two members at once, which is what vjp and vmap make of the row."""
    with OURS.x64():
        run, _ = smooth_part(OURS, row)
        members = [[row.argument(i, True, m) for i in row.inexact] for m in range(2)]
        many = [np.stack(pair) for pair in zip(*members, strict=True)]
        assert_as_oracle(OURS.vmap(pull(OURS, row, run)), *many, error=100 * row.error)


# the memory plan

CONTENDED: dict[str, Callable[..., Any]] = {
    "an update that reads what it changes": lambda y: y.at[3:].set(y[:-3]),
    "an update, shifted the other way": lambda y: y.at[:-3].set(y[3:]),
    "a scatter that reads what it changes": lambda y: y.at[jnp.arange(y.size)].set(y[::-1]),
    "adding at the places that are read": lambda y: y.at[jnp.arange(y.size) // 2].add(y[::-1]),
    "an alias read out of line": lambda y: barrier(y) + barrier(barrier(y))[::-1],
    "an alias read by an update": lambda y: barrier(y).at[3:].set(barrier(y)[:-3]),
    "an alias returned": lambda y: ((z := barrier(y)), z.at[0].set(1), z),
    "a carry that the body also reads": lambda y: repeat(3, lambda c: c + y[::-1], y),
    "a carry that the body also reads, by an alias": lambda y: (
        (z := barrier(y)),
        repeat(2, lambda c: c + z[::-1], y),
    )[1],
    "two carries that begin the same": lambda y: repeat(
        3, lambda c: (c[0] + c[1][::-1], c[1] * 2), (y, y)
    ),
    "a carry that also goes along": lambda y: lax.scan(
        lambda c, x: (c + x, c * x), y, jnp.stack([y, y[::-1], y])
    ),
    "a while loop that tests its first carry": lambda y: lax.while_loop(
        lambda c: c[0] + y[0] * 0 < 3, lambda c: (c[0] + 1, c[1] * 2), (jnp.float32(0), y)
    ),
    "a carry and an output at once": lambda y: lax.scan(
        lambda c, i: ((d := c.at[i].set(c[i + 1])), d), y, jnp.arange(4)
    ),
    "a carry and its old value": lambda y: lax.scan(
        lambda c, i: (c.at[i].set(c[i + 1]), c), y, jnp.arange(4)
    ),
    "a carry rewritten with its old value kept": lambda y: repeat(
        3, lambda c: (c[0].at[1].set(c[0][2]), c[0]), (y, y)
    ),
    "an input of a loop returned": lambda y: (repeat(3, lambda c: c * 2, y), y),
    "carries that change places": lambda y: repeat(4, lambda c: (c[1], c[2], c[0]), (y, y * 2, -y)),
    "carries made in each other's memory": lambda y: repeat(
        3, lambda c: (c[1] + 1, c[0] + 2), (y, -y)
    ),
    "a chain in an output's memory": lambda y: (z := barrier(y * 2)).at[0].set(5).at[1].set(z[0]),
    "a branch that returns what another changes": lambda y: lax.cond(
        y[0] > 0, lambda x: (x, x.at[0].set(2)), lambda x: (x.at[1].set(3), x), y * 2
    ),
    "a choice in a loop": lambda y: lax.fori_loop(
        0, 4, lambda i, c: lax.switch(i % 3, [jnp.sin, lambda x: x[::-1], lambda x: x], c), y
    ),
    "a view that a loop reads, in a kernel after it": lambda y: viewed_by_a_loop(y),
    "outputs that are one": lambda y: ((z := y + 1), z, z.T, z.reshape(-1, 1), z),
    "recomputation": lambda y: funcgrad.vjp(funcgrad.checkpoint(lambda x: jnp.sin(x) * x), y)[1](y),
    "a loop in a loop": lambda y: lax.scan(
        lambda c, x: (repeat(2, lambda d: d.at[0].add(x), c), c), y, y[:3]
    ),
}


def viewed_by_a_loop(y: Any) -> tuple:
    wide = jnp.broadcast_to(y, (2, *y.shape))
    first, second, _ = repeat(1, lambda c: (c[0] * 2, c[2], c[2]), (y, wide, wide))
    return jnp.maximum(y[None], wide) * first[None], second


def repeat(turns: int, function: Callable, start: Any) -> Any:
    return lax.fori_loop(0, turns, lambda _, c: function(c), start)


@pytest.mark.parametrize("made_here", [True, False])
@pytest.mark.parametrize("name", CONTENDED)
def test_memory_is_not_written_too_early(name: str, made_here: bool) -> None:
    """On an input, which must stay as it is, and on a value whose memory may be used again."""
    function = CONTENDED[name]
    assert_as_oracle(lambda x: function(jnp.sin(x) if made_here else x), array(100), times=2)


@pytest.mark.parametrize("size", [1, 4, 9])
@pytest.mark.parametrize("name", CONTENDED)
def test_small_values_in_a_loop(name: str, size: int) -> None:
    """Where values of a few elements live in registers."""

    def run(x: Any) -> Any:
        return lax.scan(lambda c, _: (c * 0.5 + 1, CONTENDED[name](c)), x, None, length=2)

    assert_as_oracle(run, array(size))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 100])
def test_carries(size: int, length: int, reverse: bool) -> None:
    """Carries in registers and in memory: kept, swapped, the same value twice, constants."""

    def turn(carry: tuple, piece: Any) -> tuple:
        kept, first, second, total, _ = carry
        new = first + second
        return (kept, second, first * 2, new, 2.0), (total, new, new, piece * kept, jnp.int32(3))

    def run(a: Any, b: Any, pieces: Any) -> Any:
        return lax.scan(turn, (a, a, b, b, jnp.float32(1)), pieces, length, reverse)

    assert_as_oracle(run, array(size), array(size, seed=1), array(length, size))


def test_what_is_not_computed() -> None:
    """Constants, literals and inputs returned, twice, through a barrier, to a library step."""
    assert_as_oracle(lambda: (jnp.arange(5), np.arange(4.0), 2, True, 1j, jnp.zeros((0, 3))))
    assert_as_oracle(lambda x: (x, x, x.T, x[0], barrier(2.0), barrier((x, 3.0))), array(4, 6))

    def literals(x: Any) -> tuple:
        y, z, w = barrier((x, 1 + 2j, 2.0))
        return y * z, jnp.sort(x.real) * w, lax.igamma(w, x.real**2), z, w

    assert_as_oracle(literals, array(5).astype(np.complex64))
    looped = lambda x: repeat(3, lambda c: literals(c)[0] * literals(c)[4], x)
    assert_as_oracle(looped, array(5).astype(np.complex64))


# fusion


def chain(count: int, function: Callable) -> Callable:
    def run(x: Any) -> Any:
        for _ in range(count):
            x = function(x)
        return x

    return run


# Each would go too deep, or take time exponential in its length, if all of it were one expression.
CHAINS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "sines": (chain(150, jnp.sin), (8,)),
    "cuts": (chain(300, lambda x: x[1:]), (310,)),
    "transposes": (chain(301, lambda x: x.T), (4, 5)),
    "reshapes": (chain(200, lambda x: x.reshape(x.shape[::-1]).T), (4, 5)),
    "turns": (chain(20, lambda x: jnp.roll(x, 3)), (10,)),
    "doublings": (chain(10, lambda x: jnp.concatenate([x, x])), (4,)),
    "turns added": (chain(20, lambda x: (x + jnp.roll(x, 3)) * 0.5), (10,)),
    "neighbours": (chain(20, lambda x: x[1:] * x[:-1]), (30,)),
    "a split late": (
        lambda x: chain(90, lambda x: x * 0.9 + 1)(x).reshape(4, 6).T.reshape(3, 8) * 2,
        (24,),
    ),
    "a split between": (
        chain(2, lambda x: chain(90, lambda x: x * 0.9 + 1)(x.reshape(4, 6).T.reshape(24))),
        (24,),
    ),
    "a long reduction of a chain": (
        lambda x: chain(100, lambda x: x * 0.9 + 1)(x).reshape(100, -1).T.sum(1), (100_000,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str) -> None:
    function, shape = CHAINS[name]
    assert_as_oracle(function, array(*shape))


def softmax(x: Any, axis: int) -> Any:
    e = jnp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalised(x: Any) -> Any:
    n = x - x.mean(1, keepdims=True)
    return n / jnp.sqrt((n * n).mean(1, keepdims=True) + 1)


def rows_and_columns(x: Any) -> tuple:
    return x.sum(0), x.sum(1), x.max(), x - x.mean(0), x - x.mean(1)[:, None]


def reduced_along_no_axis(x: Any) -> tuple:
    return lax.reduce_max(x * 2, axes=()), (x * 2).sum(0), (x * 2).sum(1)


def reduced_views(x: Any) -> tuple:
    return x.T[::2].sum(0), x.reshape(-1)[1:].sum(), jnp.pad(x, 1).sum(1)


def merged_and_split(x: Any) -> tuple:
    n, m = x.shape
    return (x.reshape(2, n // 2, m).sum((0, 2)), x.reshape(-1).reshape(m, n).T + x)


def partial_results(x: Any) -> tuple:
    cut = x[:1, :1]
    sums = x.cumsum(0) + x, x.cumsum(1).max(1), lax.cummax(x, 0, reverse=True)
    return (*sums, cut.cumsum(1) + 1, cut.sum(1) * x)


def diamond(x: Any) -> Any:
    moved = jnp.concatenate([x, -x])[2 : 2 + x.shape[0]]
    return (jnp.sin(x) + jnp.cos(x)) * (jnp.sin(x) - x) + moved


def products(x: Any) -> tuple:
    return x @ x.T, jnp.tensordot(x, x, 2), jnp.einsum("ab,ab->b", x, x), x.T @ x[:, 0]


def extremes(x: Any) -> tuple:
    return x.argmax(1), x.max(1), x.argmin(0), x.min(0), x.argmax()


def unread_fill(x: Any) -> Any:
    """A read that its guard forbids, at a place that is always the same."""
    return x[:1, 0].at[jnp.int32(3)].get(mode="fill", fill_value=7)


FUSED = [
    *(rows_and_columns, reduced_along_no_axis, reduced_views, merged_and_split, partial_results),
    *(diamond, products, extremes, unread_fill, normalised),
    lambda x: softmax(softmax(x, 1), 0),
]


@pytest.mark.parametrize("shape", [(4, 6), (300, 400)], ids=str)
@pytest.mark.parametrize("function", FUSED, ids=lambda f: f.__name__)
def test_fusion(function: Callable, shape: tuple[int, ...]) -> None:
    with OURS.x64():
        for dtype in (np.float32, np.float16, np.float64, np.int32)[: 4 if shape == (4, 6) else 1]:
            assert_as_oracle(function, array(*shape, dtype=dtype), error=5)


# random programs


@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_random_programs(data: st.DataObject, wide: bool) -> None:
    def choose(options: Sequence[Any]) -> Any:
        return data.draw(st.sampled_from(list(options)))

    with OURS.x64() if wide else OURS.enable_x64(False):
        specs = random_programs.draw_specs(choose, choose([1, 2, 3, 4]), wide)
        block = random_programs.draw_block(choose, specs, choose([3, 6, 12]))
        assert_as_oracle(block.__call__, *(random_programs.draw_array(choose, s) for s in specs))
