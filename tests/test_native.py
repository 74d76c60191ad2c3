"""Compiled programs against their oracle, which runs the same equations one by one with NumPy.

The rows of the table of samples; programs written to upset fusion and the memory plan; random ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from answers import pull, smooth_part
from engines import OURS
from funcgrad import lax
from funcgrad.compiler.llvm import engine
from oracle import assert_as_oracle
from rows import Row
from samples import ROWS

if not engine.available():
    pytest.skip("no code generator", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:.*scatter inputs have incompatible:FutureWarning")

barrier = lax.optimization_barrier


def array(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    numbers = rng.uniform(-1, 1, shape)
    return (numbers > 0) if kind == "b" else numbers.astype(dtype)


# the table of samples


def of_arrays(row: Row, args: Sequence[Any]) -> tuple[Callable, list[np.ndarray]]:
    """The row as a function of its arrays, and these."""
    function = row.make(OURS)
    places = [i for i, a in enumerate(args) if hasattr(a, "dtype")]

    def run(*arrays: Any) -> Any:
        full = list(args)
        for i, x in zip(places, arrays, strict=True):
            full[i] = x
        return function(*full)

    return run, [args[i] for i in places]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row: Row) -> None:
    run, arrays = of_arrays(row, row.arguments())
    assert_as_oracle(run, *arrays, error=row.error)


@pytest.mark.parametrize("row", [r for r in ROWS if r.order and r.loop], ids=str)
def test_row_differentiated_and_batched(row: Row) -> None:
    """The gradients of two members at once, which is what vjp and vmap make of the row."""
    with OURS.x64():
        run, _ = smooth_part(OURS, row)
        members = [[row.argument(i, True, m) for i in row.inexact] for m in range(2)]
        many = [np.stack(pair) for pair in zip(*members, strict=True)]
        assert_as_oracle(OURS.vmap(pull(OURS, row, run)), *many, error=100 * row.error)
