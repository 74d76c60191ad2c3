"""Reductions, transposes and updates: our compiled code beside JAX's.

The least of the samples counts (see `side_by_side.py`). What moves the same bytes
the other way around is listed together, so that a bad loop order shows.

    python benchmarks/reductions.py [--threads N] [--rounds N] [--match TEXT]
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import Repeated, Workers, answer, options_of, repeated

LIBRARIES = ("funcgrad", "jax")
ROWS, COLUMNS = 8192, 1024


def log_sum_exp(jnp: Any, x: Any) -> Any:
    most = jnp.max(x, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(x - most), axis=1)) + most[:, 0]


def set_rows(lax: Any, buffer: Any, row: Any) -> Any:
    """A loop that writes one row a turn."""

    def turn(i: Any, buffer: Any) -> Any:
        return lax.dynamic_update_slice(buffer, (row * (i + 1.0))[None], (i, 0))

    return lax.fori_loop(0, 1000, turn, buffer)


def cases(library: Any) -> dict[str, tuple[Callable, list[np.ndarray]]]:
    """A function and its arguments by the name of the case."""
    jnp = importlib.import_module(f"{library.__name__}.numpy")
    lax, draw = library.lax, np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return draw.normal(size=shape).astype(np.float32)

    matrix, square, line = normal(ROWS, COLUMNS), normal(4096, 4096), normal(10**7)
    found: dict[str, tuple[Callable, list[np.ndarray]]] = {}
    for name in ("sum", "mean", "max", "var", "argmax"):
        for axis in (0, 1):
            function = getattr(jnp, name)
            found[f"{name} over axis {axis}"] = (
                lambda x, function=function, axis=axis: function(x, axis=axis),
                [matrix],
            )
    index = draw.integers(0, 100_000, 10**6).astype(np.int32)
    found |= {
        "sum of all": (jnp.sum, [line]),
        "max of all": (jnp.max, [line]),
        "sum over a last axis of 4": (lambda x: jnp.sum(x, 1), [normal(2 * 10**6, 4)]),
        "log-sum-exp of rows": (lambda x: log_sum_exp(jnp, x), [matrix]),
        "x + x.T": (lambda x: x.T + x, [square]),
        "x of three axes, last two swapped": (
            lambda x: jnp.swapaxes(x, 1, 2) * 2,
            [normal(16, 1024, 1024)],
        ),
        "add 1e6 numbers at places": (
            lambda i, v: jnp.zeros(100_000, jnp.float32).at[i].add(v),
            [index, normal(10**6)],
        ),
        "set 1000 rows in a loop": (
            lambda x, row: set_rows(lax, x, row),
            [np.zeros((1000, 256), np.float32), normal(256)],
        ),
        "normal draws": (
            lambda seed: library.random.normal(library.random.PRNGKey(seed), (10**6,)),
            [np.int32(0)],
        ),
    }
    return found


def preparing(name: str) -> Callable[[str], Repeated]:
    """For the name of a case, a function that computes it so many times."""
    library = importlib.import_module(name)
    known = cases(library)

    def prepare(case: str) -> Repeated:
        function, arguments = known[case]
        compiled = library.jit(function)
        arrays = [library.numpy.asarray(x) for x in arguments]
        return repeated(lambda: library.block_until_ready(compiled(*arrays)))

    return prepare


def main() -> None:
    options = options_of("What reductions, transposes and updates cost.", 8, LIBRARIES)
    if options.worker:
        answer(preparing(options.worker), options.threads)
        return
    names = [n for n in cases(importlib.import_module("funcgrad")) if options.match in n]
    with Workers(LIBRARIES, options.threads) as workers:
        print(f"{'':36}" + "".join(f"{name:>12}" for name in workers.by_name) + "   ratio")
        for case in names:
            least = workers.least(case, options.rounds)
            row = "".join(f"{seconds * 1e3:9.3f} ms" for seconds in least.values())
            ratio = f"{least['funcgrad'] / least['jax']:8.2f}" if "jax" in least else ""
            print(f"{case:36}{row}{ratio}", flush=True)


if __name__ == "__main__":
    main()
