"""Factorizations and linear systems, and their gradients: our compiled programs beside JAX's.

Each library runs in a process of its own; samples are interleaved and the least of them counts. On
one thread that is processor time, which other work on the machine disturbs least; on more it is
time by the clock.

    python benchmarks/linalg.py [--threads N] [--rounds N] [--match TEXT]
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LIBRARIES = ("funcgrad", "jax")
SAMPLE = 0.05  # seconds that one sample takes about


class Case(NamedTuple):
    """A function of this module on matrices of a shape; or its gradient."""

    function: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    gradient: bool = False

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"{self.function} {self.dtype} {shape}{' gradient' if self.gradient else ''}"


def cases() -> list[Case]:
    functions = ("cholesky", "solve", "qr", "eigh", "svd")
    one = [Case(f, (n, n)) for f in functions for n in (16, 64, 256)]
    gradients = [Case(f, (256, 256), gradient=True) for f in functions]
    stacks = [Case(f, (1000, 8, 8)) for f in functions] + [Case(f, (8, 64, 64)) for f in functions]
    types = [Case(f, (256, 256), dtype) for f in functions for dtype in ("float64", "complex64")]
    return one + gradients + stacks + types


def cholesky(jnp: Any, a: Any) -> Any:
    return jnp.linalg.cholesky(a)


def solve(jnp: Any, a: Any) -> Any:
    return jnp.linalg.solve(a, a[..., :16])


def qr(jnp: Any, a: Any) -> Any:
    return jnp.linalg.qr(a)


def eigh(jnp: Any, a: Any) -> Any:
    return jnp.linalg.eigh(a)


def svd(jnp: Any, a: Any) -> Any:
    return jnp.linalg.svd(a, full_matrices=False)


FUNCTIONS = {f.__name__: f for f in (cholesky, solve, qr, eigh, svd)}


def operand(case: Case) -> np.ndarray:
    """Positive definite matrices, with eigenvalues well apart from 0."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(case.shape) + 1j * rng.standard_normal(case.shape)
    a = a if np.dtype(case.dtype).kind == "c" else a.real
    n = case.shape[-1]
    return (a @ a.conj().swapaxes(-1, -2) / n + np.eye(n)).astype(case.dtype)


def prepare(library: str, case: Case) -> Callable[[], Any]:
    """A call that computes the case once."""
    module = importlib.import_module(library)
    jnp = importlib.import_module(f"{library}.numpy")
    module.config.update("jax_enable_x64", True)

    def outputs(a: Any) -> Any:
        return FUNCTIONS[case.function](jnp, a)

    def total(a: Any) -> Any:
        return sum(jnp.sum(leaf**2 * 0.5 + leaf) for leaf in module.tree.leaves(outputs(a)))

    compiled = module.jit(module.grad(total) if case.gradient else outputs)
    x = jnp.asarray(operand(case))
    return lambda: module.block_until_ready(compiled(x))


def worker(library: str, threads: int) -> None:
    """Answer each case's number on standard input with seconds for one call."""
    clock = time.process_time if threads == 1 else time.perf_counter
    known: dict[int, tuple[Callable[[], Any], int]] = {}
    for line in sys.stdin:
        number = int(line)
        if number not in known:
            run = prepare(library, cases()[number])
            run()
            start = clock()
            run()
            known[number] = run, max(1, int(SAMPLE / max(clock() - start, 1e-6)))
        run, count = known[number]
        start = clock()
        for _ in range(count):
            run()
        print(json.dumps((clock() - start) / count), flush=True)


class Worker:
    """A process that measures one library, one sample a question."""

    def __init__(self, library: str, threads: int):
        variables = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "FUNCGRAD_NUM_THREADS")
        environment = os.environ | dict.fromkeys(variables, str(threads))
        environment["JAX_PLATFORMS"] = "cpu"
        if threads == 1:
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", library, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, number: int) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description="What linear algebra costs.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--match", default="", help="only cases whose name has this text")
    parser.add_argument("--worker", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.threads)
        return
    workers = [Worker(name, options.threads) for name in LIBRARIES]
    print(f"{'':36}{'funcgrad':>12}{'jax':>12}   ours/jax")
    for number, case in enumerate(cases()):
        if options.match not in str(case):
            continue
        own, other = (
            min(times)
            for times in zip(
                *([w.ask(number) for w in workers] for _ in range(options.rounds)), strict=True
            )
        )
        columns = f"{own * 1e6:9.1f} us{other * 1e6:9.1f} us{own / other:11.2f}"
        print(f"{case!s:36}{columns}", flush=True)
    for asked in workers:
        asked.end()


if __name__ == "__main__":
    main()
