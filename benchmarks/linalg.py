"""Factorizations and linear systems, and their gradients: our compiled programs beside JAX's.

The least of the samples counts (see `side_by_side.py`).

    python benchmarks/linalg.py [--threads N] [--rounds N] [--match TEXT]
"""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from side_by_side import Repeated, Workers, answer, options_of, repeated

LIBRARIES = ("funcgrad", "jax")


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


def preparing(library: str) -> Callable[[int], Repeated]:
    """For the number of a case, a function that computes it so many times."""
    module = importlib.import_module(library)
    jnp = importlib.import_module(f"{library}.numpy")
    module.config.update("jax_enable_x64", True)

    def prepare(number: int) -> Repeated:
        case = cases()[number]

        def outputs(a: Any) -> Any:
            return FUNCTIONS[case.function](jnp, a)

        def total(a: Any) -> Any:
            return sum(jnp.sum(leaf**2 * 0.5 + leaf) for leaf in module.tree.leaves(outputs(a)))

        compiled = module.jit(module.grad(total) if case.gradient else outputs)
        x = jnp.asarray(operand(case))
        return repeated(lambda: module.block_until_ready(compiled(x)))

    return prepare


def main() -> None:
    options = options_of("What linear algebra costs.", 5, LIBRARIES)
    if options.worker:
        answer(preparing(options.worker), options.threads)
        return
    print(f"{'':36}{'funcgrad':>12}{'jax':>12}   ours/jax")
    with Workers(LIBRARIES, options.threads) as workers:
        for number, case in enumerate(cases()):
            if options.match not in str(case):
                continue
            least = workers.least(number, options.rounds)
            own, other = least["funcgrad"], least["jax"]
            columns = f"{own * 1e6:9.1f} us{other * 1e6:9.1f} us{own / other:11.2f}"
            print(f"{case!s:36}{columns}", flush=True)


if __name__ == "__main__":
    main()
