"""Reductions, transposes and updates on one thread: our compiled code beside JAX's.

Each library runs in a process of its own, in turns; the least processor time of a call counts. What
moves the same bytes the other way around is listed together, so that a bad loop order shows.

    python benchmarks/reductions.py [--rounds N] [--match TEXT]
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

LIBRARIES = ("funcgrad", "jax")
ROWS, COLUMNS = 8192, 1024
SECONDS = 0.4  # that one library samples one case in one round


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


def serve(name: str) -> None:
    """Answer requests, a case a line, with the least seconds of a call."""
    library = importlib.import_module(name)
    known = cases(library)
    ready: dict[str, tuple[Callable, list[Any]]] = {}
    for line in sys.stdin:
        case = json.loads(line)
        if case not in ready:
            function, arguments = known[case]
            compiled = library.jit(function)
            arrays = [library.numpy.asarray(x) for x in arguments]
            library.block_until_ready(compiled(*arrays))
            ready[case] = compiled, arrays
        function, arrays = ready[case]
        best, until = float("inf"), time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            start = time.process_time()
            library.block_until_ready(function(*arrays))
            best = min(best, time.process_time() - start)
        print(json.dumps(best), flush=True)


def started(library: str) -> subprocess.Popen:
    command = [sys.executable, __file__, "--serve", library]
    one = {"FUNCGRAD_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    one["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | one)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(server.pid, {max(os.sched_getaffinity(0))})
    return server


def asked(server: subprocess.Popen, case: str) -> float:
    assert server.stdin is not None and server.stdout is not None
    print(json.dumps(case), file=server.stdin, flush=True)
    return json.loads(server.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--match", default="", help="only cases whose name has this in it")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    libraries = [name for name in LIBRARIES if importlib.util.find_spec(name)]
    names = [n for n in cases(importlib.import_module("funcgrad")) if options.match in n]
    servers = {library: started(library) for library in libraries}
    print(f"{'':36}" + "".join(f"{library:>12}" for library in libraries) + "   ratio")
    for case in names:
        best = dict.fromkeys(libraries, float("inf"))
        for _ in range(options.rounds):
            for library in libraries:
                best[library] = min(best[library], asked(servers[library], case))
        row = "".join(f"{best[library] * 1e3:9.3f} ms" for library in libraries)
        ratio = f"{best['funcgrad'] / best['jax']:8.2f}" if "jax" in best else ""
        print(f"{case:36}{row}{ratio}", flush=True)


if __name__ == "__main__":
    main()
