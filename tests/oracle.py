"""The oracle of compiled programs: the same optimised equations, each computed by NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad
from funcgrad.base.array import as_array
from funcgrad.compiler.executable import Executable, NumpyTarget
from funcgrad.compiler.llvm.target import host_target
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.pipeline import optimise
from funcgrad.tree_util import tree_leaves

# Relative to the largest element: kernels contract, reorder sums, and round less between steps.
ROUNDING = {
    "bfloat16": 3e-2,
    "float16": 4e-3,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-11,
    "complex128": 1e-11,
}


def assert_near(got: np.ndarray, want: np.ndarray, error: float, what: str) -> None:
    """Same type and shape; floats up to rounding, anything else bit for bit."""
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), what
    rounding = ROUNDING.get(want.dtype.name)
    if rounding is None:
        if want.dtype.names is None and want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want, what)
        elif want.dtype.names is not None or want.dtype.itemsize > 1:
            assert got.tobytes() == np.ascontiguousarray(want).tobytes(), what
        else:  # floats of 8 bits, whose neighbours are far
            rounding = 0.25
    if rounding is not None:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        got, want = got.astype(wide), want.astype(wide)
        scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
        np.testing.assert_allclose(
            got, want, error * rounding, error * rounding * scale, err_msg=what
        )


def assert_as_oracle(
    function: Callable, *args: Any, error: float = 1, times: int = 1
) -> NativeExecutable:
    """Compiled, a function gives what the oracle gives, each time, and its inputs stay."""
    program = optimise(funcgrad.make_jaxpr(function)(*args))
    buffers = [np.asarray(as_array(x).buffer) for x in tree_leaves(args)]
    before = [b.tobytes() for b in buffers]
    wanted = Executable(program, NumpyTarget())(*buffers)
    executable = NativeExecutable(program, optimise, host_target())
    for _ in range(times):
        found = executable(*buffers)
        assert len(found) == len(wanted)
        for i, (got, want) in enumerate(zip(found, wanted, strict=True)):
            assert_near(got, want, error, f"output {i} of {program}")
        assert [b.tobytes() for b in buffers] == before, "an input was written over"
    return executable
