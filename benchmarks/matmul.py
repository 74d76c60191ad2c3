"""Matrix products on one core or more: our native code beside NumPy's OpenBLAS and JAX.

The least of the samples counts (see `side_by_side.py`). Small products are repeated in native code,
for JAX in a `fori_loop`.

    python benchmarks/matmul.py [--threads N] [--rounds N] [--match TEXT]
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from side_by_side import Repeated, Workers, answer, options_of

LIBRARIES = ("funcgrad", "numpy", "jax")
SAMPLE = 0.02  # seconds


class Case(NamedTuple):
    """A product; "t" in `layout` says that an operand is stored transposed: "nt", "tn"."""

    source: str
    out: str
    batch: int
    m: int
    n: int
    k: int
    layout: str = "nn"

    def __str__(self) -> str:
        types = self.source if self.source == self.out else f"{self.source} to {self.out}"
        batch = f"{self.batch} of " if self.batch > 1 else ""
        layout = "" if self.layout == "nn" else f" {self.layout}"
        return f"{types} {batch}{self.m}x{self.k}x{self.n}{layout}"

    @property
    def work(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k


def cases() -> list[Case]:
    f32 = [Case("f32", "f32", 1, s, s, s) for s in (8, 16, 32, 64, 128, 256, 512, 1024, 2048)]
    f32 += [Case("f32", "f32", 1, s, s, s, layout) for s in (128, 512) for layout in ("nt", "tn")]
    f32 += [
        Case("f32", "f32", 1, 128, 512, 784),
        Case("f32", "f32", 1, 8, 512, 512),
        Case("f32", "f32", 1, 8, 512, 512, "nt"),
        Case("f32", "f32", 1, 1, 4096, 4096),
        Case("f32", "f32", 1, 1, 4096, 4096, "nt"),
        Case("f32", "f32", 1, 4096, 1, 4096),
        Case("f32", "f32", 1, 4096, 1, 4096, "tn"),
        Case("f32", "f32", 1, 128, 128, 16384, "tn"),
        Case("f32", "f32", 64, 128, 128, 128),
        Case("f32", "f32", 10000, 8, 8, 8),
    ]
    others = [
        Case(*types, 1, 1024, 1024, 1024)
        for types in (
            ("f64", "f64"),
            ("bf16", "bf16"),
            ("bf16", "f32"),
            ("f16", "f16"),
            ("i8", "i32"),
            ("u8", "i32"),
            ("i32", "i32"),
        )
    ]
    return f32 + others


def operands(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Two operands, with a batch only where there is one."""
    import ml_dtypes

    names = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    names |= {"i8": np.int8, "u8": np.uint8, "i32": np.int32}
    rng = np.random.default_rng(0)
    results = []
    for shape, stored in zip(
        ((case.batch, case.m, case.k), (case.batch, case.k, case.n)), case.layout, strict=True
    ):
        shape = shape if stored == "n" else (shape[0], shape[2], shape[1])
        x = (rng.standard_normal(shape) * 3).astype(names[case.source])
        results.append(x if case.batch > 1 else x[0])
    return results[0], results[1]


# Runs a product many times.
REPEAT = """
declare void @{name}(ptr)

define void @repeat(ptr %params, i64 %count) {{
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  call void @{name}(ptr %params)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def ours(threads: int) -> Callable[[Case], Repeated | None]:
    """A maker of functions that run a product so many times."""
    from funcgrad.compiler.llvm import pool
    from funcgrad.compiler.llvm.engine import Code, compile_object
    from funcgrad.compiler.llvm.gemm.product import Matmul, matmul_ir, symbol
    from funcgrad.compiler.llvm.target import host_target

    pool.set_num_threads(threads)
    target = host_target()
    codes: dict[str, Code] = {}

    def prepare(case: Case) -> Repeated:
        name = symbol(case.source, case.out)
        product = Matmul(*case[:6])
        if name not in codes:
            texts = matmul_ir(product.name, target), REPEAT.format(name=name)
            codes[name] = Code([compile_object(t, target) for t in texts], pool.symbols())
        repeat = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(
            codes[name].address("repeat")
        )
        a, b = operands(case)
        out = {"bf16": a.dtype, "f16": np.float16, "f64": np.float64, "i32": np.int32}
        c = np.zeros((case.batch, case.m, case.n), out.get(case.out, np.float32))
        scratch = np.zeros(product.scratch(target) + 64, np.uint8)
        strides = {
            "a": (case.k, 1) if case.layout[0] == "n" else (1, case.m),
            "b": (case.n, 1) if case.layout[1] == "n" else (1, case.k),
        }
        values = [a.ctypes.data, b.ctypes.data, c.ctypes.data]
        values += [case.batch, case.m, case.n, case.k]
        values += [case.m * case.k, *strides["a"], case.k * case.n, *strides["b"]]
        values += [case.m * case.n, case.n, 0, 0, 0, scratch.ctypes.data]
        params = (ctypes.c_int64 * len(values))(*values)
        address, kept = ctypes.addressof(params), (params, a, b, c, scratch, codes[name])

        def run(count: int) -> Any:
            repeat(address, count)
            return kept

        return run

    return prepare


def numpy_maker(threads: int) -> Callable[[Case], Repeated | None]:
    def prepare(case: Case) -> Repeated | None:
        if case.source not in ("f32", "f64"):
            return None
        a, b = operands(case)
        a = a if case.layout[0] == "n" else a.swapaxes(-1, -2)
        b = b if case.layout[1] == "n" else b.swapaxes(-1, -2)
        c = np.matmul(a, b)

        def run(count: int) -> None:
            for _ in range(count):
                np.matmul(a, b, out=c)

        return run

    return prepare


def jax_maker(threads: int) -> Callable[[Case], Repeated | None]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    out = {"bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32, "f64": jnp.float64}
    out["i32"] = jnp.int32

    def prepare(case: Case) -> Repeated:
        a, b = map(jnp.asarray, operands(case))

        def product(a: Any, b: Any) -> Any:
            a = a if case.layout[0] == "n" else a.swapaxes(-1, -2)
            b = b if case.layout[1] == "n" else b.swapaxes(-1, -2)
            return jnp.matmul(a, b, preferred_element_type=out[case.out])

        if case.work < 2_000_000 and case.m == case.n == case.k:
            eye = jnp.eye(case.k, dtype=b.dtype)[::-1]  # so that the numbers stay what they are
            many = jax.jit(lambda a, b, n: lax.fori_loop(0, n, lambda _, x: product(x, b), a))
            return lambda count: many(a, eye, count).block_until_ready()
        once = jax.jit(product)

        def run(count: int) -> None:
            for _ in range(count):
                once(a, b).block_until_ready()

        return run

    return prepare


MAKERS = {"funcgrad": ours, "numpy": numpy_maker, "jax": jax_maker}


def amount(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def main() -> None:
    options = options_of("What matrix products cost.", 10, LIBRARIES)
    if options.worker:
        prepare = MAKERS[options.worker](options.threads)
        answer(lambda number: prepare(cases()[number]), options.threads, SAMPLE)
        return
    with Workers(LIBRARIES, options.threads) as workers:
        names = list(workers.by_name)
        heads = "".join(f"{name:>12}" for name in names)
        print(f"{'':34}{heads}   giga-op/s   ours/numpy   ours/jax")
        for number, case in enumerate(cases()):
            if options.match in str(case):
                print_row(case, names, workers.least(number, options.rounds))


def print_row(case: Case, names: list[str], least: dict[str, float]) -> None:
    cells = "".join(f"{amount(least[n]) if n in least else '-':>12}" for n in names)
    own = least["funcgrad"]
    ratios = "".join(
        f"{own / least[n]:{width}.2f}" if n in least else f"{'-':>{width}}"
        for n, width in (("numpy", 13), ("jax", 11))
    )
    print(f"{case!s:34}{cells}{case.work / own / 1e9:12.1f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
