"""What type checkers see: transformations keep the signature of what they transform.

pyright checks this file together with the package; nothing here is meant to run.
"""

from collections.abc import Callable
from typing import Any, assert_type

import funcgrad as fg


def scaled(x: float, n: int = 2) -> float:
    return x * n


assert_type(fg.jit(scaled)(1.0, n=3), float)
assert_type(fg.vmap(scaled)(1.0), float)
assert_type(fg.pmap(scaled)(1.0), float)
assert_type(fg.checkpoint(scaled)(1.0), float)
assert_type(fg.grad(scaled)(1.0, n=3), Any)
assert_type(fg.value_and_grad(scaled)(1.0), tuple[float, Any])
takes_two: Callable[[float, int], float] = fg.vmap(scaled)
fg.jit(scaled)("a")  # pyright: ignore[reportArgumentType]
fg.grad(scaled)(1.0, m=3)  # pyright: ignore[reportCallIssue]
