"""Native programs while they run: exceptions, signals, threads, forks, calls from within calls."""

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.array import as_array
from funcgrad.compiler.llvm import engine
from oracle import assert_as_oracle

if not engine.available():
    pytest.skip("no code generator", allow_module_level=True)

SCALAR = funcgrad.ShapeDtypeStruct((), np.float32)


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


# Python called from native code


class FailingError(Exception):
    pass


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_an_exception_in_a_callback_ends_the_program(depth: int) -> None:
    """It arrives as it is, from any depth, and the same executable runs again."""
    fails = True
    calls = []

    def step(i: Any) -> np.ndarray:
        calls.append(int(i))
        if fails and len(calls) == 3:
            raise FailingError("at the third call")
        return np.float32(i)

    def body(i: Any, total: Any) -> Any:
        return total + funcgrad.pure_callback(step, SCALAR, i)

    def nested(level: int) -> Callable:
        if level == 0:
            return lambda x: lax.fori_loop(0, 4, body, x)
        return lambda x: lax.fori_loop(0, 2, lambda _, c: nested(level - 1)(c), x)

    function = funcgrad.jit(nested(depth))
    for _ in range(2):
        calls.clear()
        with pytest.raises(FailingError, match="at the third call"):
            function(np.float32(1))
        assert len(calls) == 3
    fails = False
    assert float(function(np.float32(1))) == 1 + 6 * 2**depth


def test_a_base_exception_passes_through() -> None:
    def stop(x: Any) -> Any:
        raise SystemExit(3)

    function = funcgrad.jit(lambda x: funcgrad.pure_callback(stop, SCALAR, x) + 1)
    with pytest.raises(SystemExit):
        function(np.float32(1))


def test_compiled_functions_inside_callbacks() -> None:
    inner = funcgrad.jit(lambda x: jnp.sin(x) * 2)

    def step(x: Any) -> np.ndarray:
        return np.asarray(inner(jnp.asarray(x)))

    @funcgrad.jit
    def outer(x: Any) -> Any:
        kind = funcgrad.ShapeDtypeStruct(x.shape, x.dtype)
        return lax.fori_loop(0, 5, lambda _, c: funcgrad.pure_callback(step, kind, c), x)

    want = array(7)
    for _ in range(5):
        want = np.sin(want) * 2
    np.testing.assert_allclose(np.asarray(outer(array(7))), want, rtol=1e-5)


def test_a_program_that_calls_itself() -> None:
    """Each call has memory of its own."""
    depth = itertools.count(1)

    def again(x: Any) -> np.ndarray:
        return np.asarray(function(jnp.asarray(x)) if next(depth) < 4 else x)

    @funcgrad.jit
    def function(x: Any) -> Any:
        kind = funcgrad.ShapeDtypeStruct(x.shape, x.dtype)
        below = funcgrad.pure_callback(again, kind, x + 1)
        return below * 2 + x

    def expected(x: np.ndarray, levels: int) -> np.ndarray:
        return (expected(x + 1, levels - 1) if levels > 1 else x + 1) * 2 + x

    x = array(100)
    np.testing.assert_allclose(np.asarray(function(x)), expected(x, 4), rtol=1e-6)


# what callers do meanwhile


@pytest.fixture
def interrupt() -> Iterator[Callable[[], float]]:
    """Sends this process a SIGINT in a moment; the function tells how long ago that was."""
    sent: list[float] = []
    started = threading.Event()

    def send() -> None:
        started.wait()
        time.sleep(0.05)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()

    def since() -> float:
        if sent:
            return time.perf_counter() - sent[0]
        started.set()
        return 0

    yield since
    started.set()
    with contextlib.suppress(KeyboardInterrupt):  # of a loop that ended by itself
        thread.join()


def forever(body: Callable) -> Callable:
    return lambda x: lax.while_loop(lambda c: jnp.isfinite(c.ravel()[0]), body, x)


LONG: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "scalars": (forever(jnp.sin), ()),
    "vectors": (forever(jnp.sin), (1000,)),
    "large arrays": (forever(jnp.sin), (300_000,)),
    "short loops in a loop": (
        forever(lambda x: lax.fori_loop(0, 60, lambda _, c: jnp.sin(c), x)),
        (3,),
    ),
    "loops in loops": (
        forever(
            lambda x: lax.fori_loop(
                0, 100, lambda _, c: lax.fori_loop(0, 100, lambda _, d: jnp.sin(d), c), x
            )
        ),
        (1000,),
    ),
    "products": (forever(lambda x: jnp.sin(x @ x)), (300, 300)),
    "a choice": (
        forever(lambda x: lax.cond(x[0, 0] > 0.5, lambda y: jnp.sin(y @ y), jnp.cos, x)),
        (300, 300),
    ),
    "reductions": (forever(lambda x: jnp.cos(jnp.sum(jnp.cos(x)) * x)), (100_000,)),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_loop(name: str, interrupt: Callable[[], float]) -> None:
    """Within milliseconds; a second is left to a machine that is busy."""
    function, shape = LONG[name]
    x = jnp.asarray(array(*shape))
    compiled = funcgrad.jit(function).lower(x).compile()
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        compiled(x)
    assert interrupt() < 1


def test_threads_share_an_executable() -> None:
    @funcgrad.jit
    def function(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            return jnp.sin(c) @ x * 0.01 + c.at[i].set(1)

        return lax.fori_loop(0, 20, body, x), x.sum(0), jnp.sort(x, 0)

    inputs = [array(64, 64, seed=i) for i in range(6)]
    want = [[np.asarray(y).tobytes() for y in function(x)] for x in inputs]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(3):
            got = pool.map(lambda x: [np.asarray(y).tobytes() for y in function(x)], inputs)
            assert list(got) == want


def test_threads_compile_at_once() -> None:
    def made(i: int) -> float:
        return float(funcgrad.jit(lambda x: (jnp.cos(x) * i).sum())(np.zeros(10, np.float32)))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(made, range(12))) == [10.0 * i for i in range(12)]


def test_exceptions_stay_in_their_threads() -> None:
    meeting = threading.Barrier(4)

    def step(i: Any) -> Any:
        meeting.wait(10)
        if i % 2:
            raise FailingError(int(i))
        return np.float32(i)

    function = funcgrad.jit(lambda i: funcgrad.pure_callback(step, SCALAR, i) + 1)

    def outcome(i: int) -> Any:
        try:
            return float(function(np.int32(i)))
        except FailingError as error:
            return error.args[0], "failed"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(outcome, range(4))) == [1.0, (1, "failed"), 3.0, (3, "failed")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_runs_and_compiles() -> None:
    function = funcgrad.jit(lambda x: (jnp.sin(x) * 2, x.sum(0), x @ x))
    x = array(300, 300)
    want = [np.asarray(y).tobytes() for y in function(x)]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = [np.asarray(y).tobytes() for y in function(x)] == want
            new = float(funcgrad.jit(lambda x: jnp.exp(x) + 41)(np.float32(0)))
            code = 0 if same and new == 42 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


# what callers hand over


def test_inputs_that_are_not_in_order() -> None:
    x = array(40, 60)
    shifted = np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    inputs = [
        x[::2, ::3],
        x.T[:20, :20],
        x[::-1][:20, :20],
        np.broadcast_to(x[0, :20], (20, 20)),
        np.asfortranarray(x[:20, :20]),
        shifted[:20, :20],
        shifted[:20].reshape(60, 20)[:20],
        x[:20, :20].astype(">f4"),
    ]
    function = funcgrad.jit(lambda x: (x + 1, x.T * 2, x.sum(0)))
    for given in inputs:
        found = [np.asarray(y) for y in function(given)]
        for got, want in zip(found, (given + 1, given.T * 2, given.sum(0)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_many_inputs() -> None:
    weights = [array(3 + i % 4, seed=i) for i in range(300)]

    def loss(weights: list) -> Any:
        return sum((jnp.sin(w) ** 2).sum() for w in weights)

    got = funcgrad.jit(funcgrad.grad(loss))(weights)
    for g, w in zip(got, weights, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.sin(2 * w), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["loops", "choices", "calls"])
def test_deep_nesting(kind: str) -> None:
    def nested(depth: int, x: Any) -> Any:
        if depth == 0:
            return jnp.sin(x)
        if kind == "loops":
            return lax.fori_loop(0, 2, lambda _, c: nested(depth - 1, c), x)
        if kind == "calls":
            return funcgrad.jit(lambda x: nested(depth - 1, x) + 1)(x)
        return lax.cond(x[0] > 0, lambda x: nested(depth - 1, x), lambda x: x * 2, x)

    assert_as_oracle(lambda x: nested(8 if kind == "loops" else 20, x), array(5))


def test_a_view_is_put_in_order_once() -> None:
    f = funcgrad.jit(lambda x: x + 1)
    for x in (jnp.zeros((7, 5)), jnp.arange(35.0).reshape(5, 7).T):
        before = np.asarray(x)
        first = f(x)
        buffer = as_array(x).buffer
        assert buffer.flags.c_contiguous
        np.testing.assert_array_equal(f(x), before + 1)
        np.testing.assert_array_equal(first, before + 1)
        assert as_array(x).buffer is buffer


def test_a_loop_of_no_turns_hands_over_no_constants() -> None:
    table = jnp.arange(5000.0)
    turn = funcgrad.jit(lambda c: c + table[:5])

    def f(x: Any) -> Any:
        return lax.scan(lambda c, _: (turn(c) * 2, None), x, None, length=0)[0]

    executable = assert_as_oracle(f, jnp.ones(5))
    assert executable.native.consts == ()
    assert "%consts" not in executable.native.text  # which would be read past their end
