"""The remainder bit for bit against C's fmod, over all sizes of quotients and what is special."""

import ctypes

import numpy as np
import pytest

from funcgrad.compiler.elementary.remainder import remainder
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.emit import Module, emit_kernel
from funcgrad.compiler.llvm.target import host_target
from funcgrad.compiler.loops import FLOATS, Graph, Kernel, Loop, Operand, Store, axis_index
from funcgrad.compiler.reference import NUMPY, evaluate

COUNT = 60_000


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    limits = np.finfo(NUMPY[dtype]) if dtype != "bf16" else np.finfo(np.float32)
    special = [0.0, 1.0, 2.0, 3.0, 0.1, np.inf, np.nan, limits.max, limits.tiny, limits.tiny / 8]
    special += [2.0**26, 2.0**26 - 1, 2.0**28, 2.0**28 - 1, 1 - limits.epsneg, 1 + limits.eps]
    special = np.array(special + [-s for s in special])
    y = np.exp2(draw.uniform(-30, 30, COUNT)) * draw.choice([-1, 1], COUNT)
    x = y * np.exp2(draw.uniform(-3, 40, COUNT)) * draw.choice([-1, 1], COUNT)
    whole = draw.random(COUNT) < 0.4  # quotients that are integers, or almost
    with np.errstate(all="ignore"):
        y = y.astype(NUMPY[dtype])
        x = np.where(whole, np.round(x / y) * y.astype(np.float64), x).astype(NUMPY[dtype])
        near = np.nextafter(x.astype(np.float64), 0) if dtype == "f64" else x
        x = np.where(draw.random(COUNT) < 0.5, x, near).astype(NUMPY[dtype])
        grid = [a.ravel() for a in np.meshgrid(special, special)]
        x = np.concatenate([x, grid[0].astype(x.dtype)])
        y = np.concatenate([y, grid[1].astype(y.dtype)])
    return x, y


def wanted(x: np.ndarray, y: np.ndarray, dtype: str) -> np.ndarray:
    wide = np.float64 if dtype == "f64" else np.float32
    with np.errstate(all="ignore"):
        return np.fmod(x.astype(wide), y.astype(wide)).astype(x.dtype)


def same(got: np.ndarray, right: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        nans = np.isnan(right)
        np.testing.assert_array_equal(np.isnan(got), nans)
    word = f"u{got.dtype.itemsize}"
    assert (got[~nans].view(word) == right[~nans].view(word)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_by_definition(dtype: str) -> None:
    x, y = pairs(dtype)
    graph = Graph(())
    params = graph.param(0, dtype), graph.param(1, dtype)
    (got,) = evaluate([remainder(*params)], dict(zip(params, (x, y))))
    same(np.ascontiguousarray(got), wanted(x, y, dtype))


@pytest.mark.skipif(not engine.available(), reason="there is no code generator here")
@pytest.mark.parametrize("dtype", FLOATS)
def test_native(dtype: str) -> None:
    x, y = pairs(dtype)
    graph, i = Graph((x.size,)), axis_index(0)
    element = remainder(graph.read(0, i, dtype), graph.read(1, i, dtype))
    operands = Operand(dtype, False), Operand(dtype, False), Operand(dtype, True)
    kernel = Kernel(operands, (x.size,), (Loop(0, 16, (Store(2, i, element),)),), True)
    module, target = Module(), host_target()
    emit_kernel(module, kernel, "kernel", target)
    code = engine.Code([engine.compile_object(module.text(target), target)])
    got = np.zeros_like(x)
    pointers = (ctypes.c_void_p * 3)(*[a.ctypes.data for a in (x, y, got)])
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    kind(code.address("kernel"))(ctypes.addressof(pointers), 0, x.size)
    same(got, wanted(x, y, dtype))


def test_of_integers() -> None:
    graph = Graph(())
    x, y = graph.param(0, "i32"), graph.param(1, "i32")
    assert remainder(x, y).op == "rem"
