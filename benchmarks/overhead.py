"""What a call costs before any arithmetic: funcgrad beside JAX, autograd and torch where installed.

The table shows medians of samples taken in turns (see `side_by_side.py`) in microseconds, with the
ratio to JAX. Run on a quiet machine:

    python benchmarks/overhead.py
"""

import importlib.util
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable

from side_by_side import Repeated, Workers, answer, options_of, repeated

LIBRARIES = ("funcgrad", "jax", "autograd", "torch")

# Run in each library's process: defines `cases`, a dict from name to a function of no arguments.
PREPARE = {
    "funcgrad": """
        import funcgrad as lib, funcgrad.numpy as np
        from funcgrad import grad, vmap, jit
    """,
    "jax": """
        import jax as lib, jax.numpy as np
        from jax import grad, vmap, jit
        lib.config.update("jax_platforms", "cpu")
    """,
    "autograd": """
        import autograd.numpy as np
        from autograd import grad
    """,
    "torch": """
        import torch
        torch.set_num_threads(1)
    """,
}
CASES = {
    "funcgrad": """
        x = np.arange(10.0); s = np.array(2.0)
        f = lambda x: x**3 + 2 * x
        jf = jit(lambda x: x + x)
        cases = {
            "eager add, 10 elements": lambda: np.add(x, x),
            "eager grad": lambda: grad(f)(s),
            "eager grad(grad)": lambda: grad(grad(f))(s),
            "eager vmap": lambda: vmap(f)(x),
            "jit dispatch": lambda: jf(x),
        }
        wait = lib.block_until_ready
    """,
    "autograd": """
        x = np.arange(10.0)
        f = lambda x: x**3 + 2 * x
        cases = {
            "eager add, 10 elements": lambda: np.add(x, x),
            "eager grad": lambda: grad(f)(2.0),
            "eager grad(grad)": lambda: grad(grad(f))(2.0),
        }
        wait = lambda value: value
    """,
    "torch": """
        x = torch.arange(10.0)
        def grad(f, create=False):
            def g(v):
                v = v if create else v.detach().requires_grad_()
                return torch.autograd.grad(f(v), v, create_graph=create)[0]
            return g
        f = lambda x: x**3 + 2 * x
        s = torch.tensor(2.0)
        cases = {
            "eager add, 10 elements": lambda: torch.add(x, x),
            "eager grad": lambda: grad(f)(s),
            "eager grad(grad)": lambda: grad(grad(f, True))(s),
            "eager vmap": lambda: torch.func.vmap(f)(x),
        }
        wait = lambda value: value
    """,
}
CASES["jax"] = CASES["funcgrad"]


NAMES = (
    "eager add, 10 elements",
    "eager grad",
    "eager grad(grad)",
    "eager vmap",
    "jit dispatch",
)


def preparing(library: str) -> Callable[[str], Repeated | None]:
    """For the name of a case, a function that computes it so many times."""
    scope: dict = {}
    exec(textwrap.dedent(PREPARE[library]), scope)
    exec(textwrap.dedent(CASES[library]), scope)
    known, wait = scope["cases"], scope["wait"]
    return lambda name: repeated(known[name], wait) if name in known else None


def output_of(code: str) -> str:
    """What a fresh Python process prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def import_seconds(code: str) -> float:
    """The least of five imports in fresh processes."""

    clock = "from time import perf_counter as clock"

    def once(text: str) -> float:
        return float(output_of(f"{clock}; start = clock(); {text}; print(clock() - start)"))

    return min(once(code) for _ in range(5))


def first_call(library: str) -> tuple[int, int]:
    """Files entered and Python calls made by the first grad(jit(vmap(sin)))(x)."""
    code = f"""
        import sys
        import {library} as lib, {library}.numpy as np
        x = np.arange(3.0)
        lib.grad(lambda x: x * 2.0)(1.0)
        lib.jit(lambda x: x)(x)
        calls, files = 0, set()
        def watch(frame, event, arg):
            global calls
            if event == "call":
                calls += 1
                files.add(frame.f_code.co_filename)
        sys.setprofile(watch)
        lib.grad(lambda x: lib.jit(lib.vmap(np.sin))(x).sum())(x)
        sys.setprofile(None)
        print(len([f for f in files if "{library}" in f]), calls)
    """
    files, calls = output_of(textwrap.dedent(code)).split()
    return int(files), int(calls)


def main() -> None:
    options = options_of("What a call costs, in microseconds.", 15, LIBRARIES, threads=None)
    if options.worker:
        answer(preparing(options.worker), options.threads, sample=0.02)
        return
    names = "".join(f"{name:>12}" for name in LIBRARIES)
    print(f"{'microseconds, median':28}{names}   ours/jax")
    with Workers(LIBRARIES, options.threads) as workers:
        for case in NAMES:
            if options.match in case:
                print_row(case, workers.samples(case, options.rounds))
    if not options.match:
        print_first_uses()


def print_row(case: str, samples: dict[str, list[float]]) -> None:
    by = {name: 1e6 * statistics.median(taken) for name, taken in samples.items()}
    cells = "".join(f"{by[n]:12.1f}" if n in by else f"{'-':>12}" for n in LIBRARIES)
    ratio = f"{by['funcgrad'] / by['jax']:11.2f}" if "jax" in by else ""
    print(f"{case:28}{cells}{ratio}", flush=True)


def print_first_uses() -> None:
    """What importing costs, and how long the road through the code is."""
    base = import_seconds("import numpy")
    ours = import_seconds("import funcgrad")
    print(f"import: numpy {base:.3f} s, funcgrad {ours:.3f} s", end="")
    if importlib.util.find_spec("jax"):
        print(f", jax {import_seconds('import jax, jax.numpy'):.3f} s")
        for name in ("funcgrad", "jax"):
            files, calls = first_call(name)
            print(f"first grad(jit(vmap(sin)))(x) in {name}: {files} files, {calls} Python calls")
    else:
        print()


if __name__ == "__main__":
    main()
