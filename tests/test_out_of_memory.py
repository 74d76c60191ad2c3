"""Memory that is refused: the error names the operation, the line, the bytes and what is alive, and
the process goes on.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.compiler import pages
from funcgrad.errors import OutOfMemoryError

HUGE = 1 << 42  # rows of eight f32: 141 TB, more than any machine maps
BYTES = f"{HUGE * 32:,}"
SHAPES = [(1234 * 567, (1234, 567)), (1234 * 567, (1234, 567)), (99 * 9999, (99, 9999))]


def wide(x: Any) -> Any:
    return jnp.broadcast_to(x, (HUGE, 8))


def in_result(x: Any) -> Any:
    return wide(x) * 3  # the line of the result


def in_arena(x: Any) -> Any:
    kept = lax.optimization_barrier(jnp.sin(wide(x)))  # the line of the arena
    return jnp.sum(kept)


def in_scan(x: Any) -> Any:
    def turn(carry: Any, _: Any) -> tuple[Any, None]:
        return carry + in_arena(x), None

    return lax.scan(turn, jnp.float32(0), None, length=3)[0]


def refusal(f: Callable, x: Any) -> str:
    """The message with its notes."""
    with pytest.raises(OutOfMemoryError) as caught:
        f(x)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(
    ("f", "operation", "line"),
    [
        (in_result, "mul", "the line of the result"),
        (funcgrad.jit(in_result), "mul", "the line of the result"),
        (in_arena, "sin", "the line of the arena"),
        (funcgrad.jit(in_arena), "sin", "the line of the arena"),
        (funcgrad.jit(in_scan), "sin", "the line of the arena"),
    ],
    ids=["eager result", "result", "eager", "arena", "scan"],
)
def test_refusals_name_operation_line_and_bytes(
    f: Callable, operation: str, line: str, twice: bool
) -> None:
    x = jnp.arange(8.0)
    if twice:  # the second call of a compiled function takes another way
        refusal(f, x)
    message = refusal(f, x)
    assert operation in message and line in message and "test_out_of_memory.py:" in message
    assert f"{BYTES} bytes" in message and f"float32[{HUGE},8]" in message


def test_the_largest_live_arrays_are_named() -> None:
    kept = [jnp.arange(float(n)).reshape(s) for n, s in SHAPES]
    views = [kept[2].T, jnp.zeros((5000, 5000))]  # neither takes memory of its own
    message = refusal(funcgrad.jit(in_result), jnp.arange(8.0))
    listed = re.search(r"bytes large: (.*?)\. Delete", message)
    assert listed is not None
    first, second = listed[1].split("), ")[:2]
    assert first == f"float32[99,9999] ({99 * 9999 * 4:,} bytes"
    assert second == f"2 times float32[1234,567] ({1234 * 567 * 4:,} bytes"
    del kept, views


@pytest.mark.skipif(not pages.RECYCLING, reason="work space is NumPy's own")
def test_work_space_of_an_eager_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: pages.Block, bucket: pages.Bucket) -> None:
        raise OSError(12, "ENOMEM")

    x = jnp.eye(900) * 2
    pages.trim()
    monkeypatch.setattr(pages.Block, "__init__", refuse)
    message = refusal(lambda x: lax.linalg.cholesky(x), x)  # the line of the factors
    assert message.startswith("cholesky was refused memory for its result float32[900,900]")
    assert "the line of the factors" in message and "float32[900,900] (3,240,000 bytes)" in message
    monkeypatch.undo()
    assert float(lax.linalg.cholesky(x)[0, 0]) == pytest.approx(2**0.5)


def test_the_process_goes_on() -> None:
    x = jnp.arange(8.0)
    f = funcgrad.jit(lambda x, n: jnp.broadcast_to(x, (n, 8)) + 1, static_argnums=1)
    with pytest.raises(OutOfMemoryError):
        f(x, HUGE)
    assert (f(x, 3)[2] == x + 1).all()
    with pytest.raises(MemoryError):
        in_result(x)
    assert float(jnp.sum(x)) == 28
