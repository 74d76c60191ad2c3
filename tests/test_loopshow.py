"""The text of kernels, read as Python: run line by line, it computes what the kernel does."""

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as fnp
from funcgrad.base.array import as_array
from funcgrad.compiler.describe import planned
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.target import host_target
from funcgrad.compiler.loopshow import show_kernel
from funcgrad.compiler.pipeline import compiled, optimise
from funcgrad.compiler.steps import KernelStep

pytestmark = pytest.mark.skipif(not engine.available(), reason="needs llvmlite")

TYPES: dict[str, Any] = {
    **{f"f{8 * n}": np.dtype(f"f{n}").type for n in (2, 4, 8)},
    **{f"i{8 * n}": np.dtype(f"i{n}").type for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}").type for n in (1, 2, 4, 8)},
    "bf16": ml_dtypes.bfloat16,
    "bool": np.bool_,
}


def fma(x, y, z):
    return type(x)(math.fma(x, y, z)) if hasattr(math, "fma") else type(x)(np.float64(x) * y + z)


def converted(kind: type, x: Any) -> Any:
    """A float to an integer saturates; other conversions round or wrap."""
    if isinstance(x, np.floating) and issubclass(kind, np.integer):
        limits = np.iinfo(kind)
        return kind(0 if np.isnan(x) else min(max(int(np.trunc(x)), limits.min), limits.max))
    return kind(np.asarray(x).astype(kind))


def bits(kind: type, x: Any) -> Any:
    return np.asarray(x).view(kind)[()]


MEANING: dict[str, Any] = {
    "select": lambda test, a, b: a if test else b,
    "fma": fma,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "round": np.rint,
    "rotl": lambda x, n: (x << type(x)(n)) | (x >> type(x)(8 * x.itemsize - n)),
    "mulhi": lambda x, y: type(x)((int(x) * int(y)) >> (8 * x.itemsize)),
    "clz": lambda x: type(x)(8 * x.itemsize - (int(x) % 2 ** (8 * x.itemsize)).bit_length()),
    "popcount": lambda x: type(x)(int(x).bit_count()),
    "inf": math.inf,
    "nan": math.nan,
    **{name: lambda x, kind=kind: converted(kind, x) for name, kind in TYPES.items()},
    **{f"bits_{name}": lambda x, kind=kind: bits(kind, x) for name, kind in TYPES.items()},
}


def as_python(text: str) -> str:
    """The text of a kernel as a Python function; every named value gets its type."""
    lines = text.split("\n")
    parameters = re.findall(r"((?:in|out)\d+): ", lines[0])
    body = [re.sub(r", \d+ at a time:$", ":", line) for line in lines[1:]]
    body = [re.sub(r"^( *)((?:x|acc)\d+): (\w+) = (.*)$", r"\1\2 = \3(\4)", line) for line in body]
    # Loop indices have a type where they are values, and none where they are positions.
    return "\n".join([f"def kernel({', '.join(parameters)}):", *body])


def run_text(function, *args) -> np.ndarray:
    """What a function of one kernel and one output returns, by the text of the kernel."""
    program = optimise(funcgrad.jit(function).trace(*args).jaxpr)
    plan, _ = planned(program, optimise, host_target())
    (step,) = plan.block.steps
    assert isinstance(step, KernelStep)
    scope = dict(MEANING)
    exec(as_python(show_kernel(step.fused.kernel, "it")), scope)
    given = {
        var: np.ascontiguousarray(as_array(x).buffer).reshape(-1)
        for var, x in zip(plan.block.inputs, args, strict=True)
    }
    inputs = [given[var] for var in step.fused.reads]
    (aval,) = program.out_avals
    out = np.zeros(aval.size, aval.dtype)
    with np.errstate(all="ignore"):
        scope["kernel"](*inputs, out)
    return out.reshape(aval.shape)


RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.normal(size=(5, 7)).astype(np.float32)
VECTOR = RANDOM.normal(size=13).astype(np.float32)
NUMBERS = RANDOM.integers(-100, 100, size=(4, 6)).astype(np.int32)
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3.5, 80.0], np.float32)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: x * 3 - 1 / x, (VECTOR,)),
        (fnp.exp, (EDGES,)),
        (fnp.tanh, (EDGES,)),
        (fnp.sin, (VECTOR,)),
        (fnp.log1p, (np.abs(VECTOR),)),
        (lambda x: fnp.sum(x * x, axis=0), (MATRIX,)),
        (lambda x: fnp.sum(x), (MATRIX,)),
        (lambda x: x.max(axis=1), (MATRIX,)),
        (lambda x: fnp.argmin(x, axis=1), (MATRIX,)),
        (lambda x: fnp.cumsum(x * 2, axis=1) - x, (MATRIX,)),
        (lambda x: funcgrad.lax.cumlogsumexp(x, 0, reverse=True), (MATRIX,)),
        (funcgrad.nn.softmax, (MATRIX,)),
        (lambda x: fnp.pad(x, ((1, 2), (0, 3))).T, (MATRIX,)),
        (lambda x: fnp.flip(x, 1)[::2], (MATRIX,)),
        (lambda x: fnp.where(x > 0, x, -x).astype(np.int32), (MATRIX * 9,)),
        (lambda x: (x << 3) ^ (x >> 1) | ~x, (NUMBERS,)),
        (lambda x: (x.astype(np.uint8) * 7).astype(np.float32), (NUMBERS,)),
        (lambda x: fnp.concatenate([x, x[:2]]) * 2, (MATRIX,)),
        (lambda x, i: fnp.take(x, i, mode="clip"), (VECTOR, np.array([3, -9, 99], np.int32))),
        (lambda x: funcgrad.lax.clz(x), (NUMBERS,)),
    ],
)
def test_the_text_computes_what_the_kernel_does(function, args) -> None:
    wanted = np.asarray(funcgrad.jit(function)(*args))
    found = run_text(function, *args)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6, equal_nan=True)


def test_random_numbers_come_out_bit_for_bit() -> None:
    words = np.array([7, 42], np.uint32)
    key = funcgrad.random.wrap_key_data(words)
    program = funcgrad.jit(lambda k: funcgrad.random.bits(k, (9,))).trace(key).jaxpr
    (kernel,) = compiled(program).native.kernels.values()  # type: ignore[union-attr]
    scope = dict(MEANING)
    exec(as_python(show_kernel(kernel, "it")), scope)
    out = np.zeros(9, np.uint32)
    with np.errstate(all="ignore"):
        scope["kernel"](words.view(np.uint64), out)
    np.testing.assert_array_equal(out, np.asarray(funcgrad.random.bits(key, (9,))))
