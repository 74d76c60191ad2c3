"""Random programs, run by us and by JAX: values, dtypes, weak types, gradients and batches.

A program is drawn step by step on our own arrays, so that a step always fits what it is given;
the steps are then replayed in JAX.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import JAX, OURS, Engine

SHAPES = [(), (3,), (2, 3), (1, 3), (0, 3)]
DTYPES = [np.float32, np.float32, ml_dtypes.bfloat16, np.int32, np.uint8, np.bool_, np.complex64]
# Relative to the largest element: programs of some steps, in op-by-op rounding on both sides.
ERROR = {
    "bfloat16": 5e-2,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-10,
    "complex128": 1e-10,
}


class Op(NamedTuple):
    """`run(library, *operands)` for operands that `fits` says it can take."""

    run: Callable[..., Any]
    arity: int
    fits: Callable[..., bool] = lambda *operands: True


def kind(x: Any) -> str:
    dtype = np.dtype(x.dtype)
    return "f" if dtype == ml_dtypes.bfloat16 else dtype.kind


def real(*xs: Any) -> bool:
    return all(kind(x) in "fiu" for x in xs)


def real_float(*xs: Any) -> bool:
    return all(kind(x) == "f" for x in xs)


def number(*xs: Any) -> bool:
    return all(kind(x) in "fiuc" for x in xs)


def inexact(x: Any) -> bool:
    return kind(x) in "fc"


def exact_order(*xs: Any) -> bool:
    """Comparing them is not a matter of rounding."""
    return all(kind(x) in "iub" for x in xs)


def together(*xs: Any) -> bool:
    try:
        np.broadcast_shapes(*(x.shape for x in xs))
    except ValueError:
        return False
    return True


def filled(x: Any) -> bool:
    return x.ndim > 0 and x.shape[0] > 0


OPS: dict[str, Op] = {
    "add": Op(lambda lib, x, y: lib.numpy.add(x, y), 2, together),
    "subtract": Op(
        lambda lib, x, y: lib.numpy.subtract(x, y), 2, lambda x, y: number(x, y) and together(x, y)
    ),
    "multiply": Op(lambda lib, x, y: x * y, 2, together),
    "divide": Op(lambda lib, x, y: x / (lib.numpy.abs(y) + 2), 2,
                 lambda x, y: number(x, y) and together(x, y)),
    "maximum": Op(lambda lib, x, y: lib.numpy.maximum(x, y), 2,
                  lambda x, y: real(x, y) and together(x, y)),
    "plus two": Op(lambda lib, x: x + 2, 1),
    "times half": Op(lambda lib, x: 0.5 * x, 1),
    "minus array": Op(lambda lib, x: 3 - x, 1, number),
    "times i": Op(lambda lib, x: x * 1j, 1, lambda x: np.dtype(x.dtype) != ml_dtypes.bfloat16),
    "power": Op(lambda lib, x: x**2, 1, number),
    "floor_divide": Op(lambda lib, x: x // 2, 1, exact_order),
    "negative": Op(lambda lib, x: -x, 1, number),
    "abs": Op(lambda lib, x: abs(x), 1, number),
    "sin": Op(lambda lib, x: lib.numpy.sin(x), 1),
    "tanh": Op(lambda lib, x: lib.numpy.tanh(x), 1, lambda x: kind(x) != "c"),
    "logistic": Op(lambda lib, x: lib.logistic(x), 1, real_float),
    "exp": Op(lambda lib, x: lib.numpy.exp(-abs(x)), 1, number),
    "sqrt": Op(lambda lib, x: lib.numpy.sqrt(x * x + 1), 1, real),
    "astype f32": Op(lambda lib, x: x.astype(np.float32), 1, lambda x: kind(x) != "c"),
    "astype bf16": Op(lambda lib, x: x.astype(ml_dtypes.bfloat16), 1, lambda x: kind(x) != "c"),
    "astype i32": Op(lambda lib, x: x.astype(np.int32), 1, exact_order),
    "real": Op(lambda lib, x: lib.numpy.real(x), 1),
    "conj": Op(lambda lib, x: lib.numpy.conj(x), 1),
    "less": Op(lambda lib, x, y: x < y, 2, lambda x, y: exact_order(x, y) and together(x, y)),
    "equal": Op(lambda lib, x, y: x == y, 2, lambda x, y: exact_order(x, y) and together(x, y)),
    "where": Op(lambda lib, p, x, y: lib.numpy.where(p, x, y), 3,
                lambda p, x, y: kind(p) == "b" and together(p, x, y)),
    "invert": Op(lambda lib, x: ~x, 1, exact_order),
    "sum": Op(lambda lib, x: lib.numpy.sum(x), 1),
    "sum first": Op(lambda lib, x: x.sum(0), 1, lambda x: x.ndim > 0),
    "mean": Op(lambda lib, x: x.mean(), 1, lambda x: x.size > 0),
    "max": Op(lambda lib, x: x.max(), 1, lambda x: real(x) and x.size > 0),
    "prod": Op(lambda lib, x: lib.numpy.prod(x), 1, number),
    "cumsum": Op(lambda lib, x: lib.numpy.cumsum(x, -1), 1, lambda x: number(x) and x.ndim > 0),
    "sort": Op(lambda lib, x: lib.numpy.sort(x), 1, lambda x: real(x) and x.ndim > 0),
    "transpose": Op(lambda lib, x: x.T, 1),
    "ravel": Op(lambda lib, x: x.reshape(-1), 1),
    "flip": Op(lambda lib, x: x[::-1], 1, lambda x: x.ndim > 0),
    "first": Op(lambda lib, x: x[0], 1, filled),
    "new axis": Op(lambda lib, x: x[None], 1, lambda x: x.ndim < 2),
    "take": Op(lambda lib, x: x[np.array([0, -1, 0])], 1, filled),
    "set": Op(lambda lib, x: x.at[0].set(1), 1, lambda x: filled(x) and number(x)),
    "add at": Op(lambda lib, x: x.at[np.array([0, 0])].add(2), 1,
                 lambda x: filled(x) and number(x)),
    "concatenate": Op(lambda lib, x, y: lib.numpy.concatenate([x, y]), 2,
                      lambda x, y: x.ndim > 0 and x.shape[1:] == y.shape[1:] and y.ndim > 0),
    "stack": Op(lambda lib, x, y: lib.numpy.stack([x, y]), 2,
                lambda x, y: x.shape == y.shape and x.ndim < 2),
    "dot": Op(lambda lib, x, y: lib.numpy.dot(x, y), 2,
              lambda x, y: x.ndim * y.ndim > 0 and x.shape[-1] == y.shape[max(y.ndim - 2, 0)]),
    "pad": Op(lambda lib, x: lib.numpy.pad(x, 1), 1, lambda x: x.ndim > 0),
    "clip": Op(lambda lib, x: lib.numpy.clip(x, -1, 1), 1, lambda x: kind(x) in "fi"),
    "cond": Op(lambda lib, x: lib.cond(x.size > 2, lib.numpy.sin, lib.numpy.cos, x), 1, inexact),
    "scan": Op(lambda lib, x: lib.scan(lambda c, s: (c + s, c * s), x[0] * 0, x)[1], 1,
               lambda x: number(x) and filled(x)),
    "stop_gradient": Op(lambda lib, x: lib.stop_gradient(x), 1),
}  # fmt: skip


class Step(NamedTuple):
    """An op and which of the values so far it takes."""

    op: str
    operands: tuple[int, ...]


Inputs = list[Any]
Program = list[Step]


def replay(lib: Engine, program: Program, inputs: Sequence[Any]) -> list[Any]:
    """All values that the program makes."""
    values = list(inputs)
    for step in program:
        values.append(OPS[step.op].run(lib, *(values[i] for i in step.operands)))
    return values[len(inputs) :]


def draw_array(data: st.DataObject) -> np.ndarray:
    """Multiples of a quarter, so that much of the arithmetic is exact."""
    shape, dtype = data.draw(st.sampled_from(SHAPES)), np.dtype(data.draw(st.sampled_from(DTYPES)))
    seed = data.draw(st.integers(0, 9))
    values = np.random.default_rng(seed).integers(-6, 7, shape)
    if dtype.kind in "ub":
        values = abs(values)
    return (values / (4 if dtype.kind not in "iub" else 1)).astype(dtype)


def draw_program(data: st.DataObject) -> tuple[Program, list[np.ndarray]]:
    """A program and its inputs."""
    arrays = [draw_array(data) for _ in range(data.draw(st.integers(1, 3)))]
    values = [OURS.numpy.asarray(a) for a in arrays]
    program: Program = []
    for _ in range(data.draw(st.integers(3, 7))):
        places = data.draw(st.tuples(*[st.integers(0, len(values) - 1)] * 3))
        drawn = [values[i] for i in places]
        fitting = [name for name, op in OPS.items() if op.fits(*drawn[: op.arity])]
        name = data.draw(st.sampled_from(fitting))
        arity = OPS[name].arity
        values.append(OPS[name].run(OURS, *drawn[:arity]))
        program.append(Step(name, places[:arity]))
    return program, arrays


def assert_equal(got: Any, want: Any, what: str) -> None:
    """Same dtype, weak type and shape; elements up to rounding."""
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, JAX {want.dtype}"
    assert got.shape == want.shape, f"{what}: {got.shape}, JAX {want.shape}"
    weak = bool(getattr(got, "weak_type", False)), bool(getattr(want, "weak_type", False))
    assert weak[0] == weak[1], f"{what}: weak type {weak[0]}, JAX {weak[1]}"
    dtype = np.dtype(got.dtype)
    got, want = np.asarray(got), np.asarray(want)
    if dtype.name not in ERROR:
        np.testing.assert_array_equal(got, want, what)
        return
    wide = np.complex128 if dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
    error = ERROR[dtype.name]
    np.testing.assert_allclose(got, want, error, error * scale, err_msg=what)


@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_values(data: st.DataObject, wide: bool) -> None:
    with OURS.enable_x64(wide), JAX.enable_x64(wide):
        program, arrays = draw_program(data)
        got = replay(OURS, program, [OURS.numpy.asarray(a) for a in arrays])
        want = replay(JAX, program, [JAX.numpy.asarray(a) for a in arrays])
        for step, a, b in zip(program, got, want, strict=True):
            assert_equal(a, b, step.op)
        compiled = OURS.jit(lambda *xs: replay(OURS, program, xs))(*arrays)
        for step, a, b in zip(program, compiled, got, strict=True):
            assert_equal(a, b, f"{step.op} compiled")


def derivative(lib: Engine, program: Program, arrays: Sequence[np.ndarray]) -> Callable:
    """The gradient of the sum of all inexact values (their real and imaginary parts)."""
    places = [i for i, a in enumerate(arrays) if kind(a) in "fc"]

    def total(*moved: Any) -> Any:
        inputs = [lib.numpy.asarray(a) for a in arrays]
        for i, x in zip(places, moved, strict=True):
            inputs[i] = x
        outs = [v for v in replay(lib, program, inputs) if inexact(v)]
        parts = [lib.numpy.sum(p) for v in outs for p in (lib.numpy.real(v), lib.numpy.imag(v))]
        return sum((p.astype(np.float32) for p in parts), lib.numpy.float32(0))

    primals = [lib.numpy.asarray(arrays[i]) for i in places]
    return lambda: lib.grad(total, tuple(range(len(places))))(*primals) if places else ()


@settings(max_examples=80)
@given(st.data())
def test_gradients(data: st.DataObject) -> None:
    program, arrays = draw_program(data)
    got = derivative(OURS, program, arrays)()
    want = derivative(JAX, program, arrays)()
    for a, b in zip(got, want, strict=True):
        assert_equal(a, b, f"gradient of {[step.op for step in program]}")


@settings(max_examples=80)
@given(st.data(), st.integers(0, 2))
def test_batches(data: st.DataObject, mapped: int) -> None:
    """vmap of the program over some of its inputs, the first always among them."""
    program, arrays = draw_program(data)
    axes = tuple(0 if i == 0 or i == mapped else None for i in range(len(arrays)))
    batches = [
        a if axis is None else np.stack([a, a[::-1] if a.ndim else a + a])
        for a, axis in zip(arrays, axes, strict=True)
    ]
    got, want = (
        lib.vmap(lambda *xs, lib=lib: replay(lib, program, xs), axes)(
            *map(lib.numpy.asarray, batches)
        )
        for lib in (OURS, JAX)
    )
    for step, a, b in zip(program, got, want, strict=True):
        assert_equal(a, b, f"vmap of {step.op}")
