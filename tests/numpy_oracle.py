"""Expressions in which `jnp` is JAX's numpy or ours, and the recorded answers of JAX to them.

`python tests/numpy_oracle.py` asks JAX about expressions that are new, and writes its answers down
in `reference/numpy.npz`; with `all`, about every one (a few minutes).
"""

import importlib
import math
import operator
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

import conftest  # noqa: F401  (the environment that JAX must be started in)
import funcgrad
import funcgrad.numpy
from answers import Store, describe, storable
from funcgrad.base.methods import Array

STORE = Store("numpy")
TOPICS = ("numpy", "numpy_indexing", "numpy_reductions", "numpy_products", "numpy_transforms")

_rng = np.random.default_rng(0)

ARRAYS: dict[str, np.ndarray] = {
    # of shape (3, 4), one of each kind
    "f": _rng.normal(size=(3, 4)).astype(np.float32),
    "g": _rng.uniform(0.1, 0.9, (3, 4)).astype(np.float32),
    "i": _rng.integers(-5, 6, (3, 4)).astype(np.int32),
    "j": _rng.integers(1, 6, (3, 4)).astype(np.int32),
    "b": _rng.integers(0, 2, (3, 4)).astype(bool),
    "u": _rng.integers(0, 200, (3, 4)).astype(np.uint8),
    "s": _rng.integers(-100, 100, (3, 4)).astype(np.int8),
    "c": (_rng.normal(size=(3, 4)) + 1j * _rng.normal(size=(3, 4))).astype(np.complex64),
    "h": _rng.normal(size=(3, 4)).astype(np.float16),
    "bf": _rng.normal(size=(3, 4)).astype(ml_dtypes.bfloat16),
    "n": np.array([[1.0, np.nan, 3.0, -2.0], [np.nan] * 4, [0.0, 5.0, -1.0, 2.0]], np.float32),
    # of other shapes
    "z": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 2.5, -3.5], np.float32),
    "v": _rng.normal(size=4).astype(np.float32),
    "w": np.sort(_rng.normal(size=6)).astype(np.float32),
    "k": np.array([2, 0, 1, 2], np.int32),
    "t": _rng.normal(size=(2, 3, 4)).astype(np.float32),
    "q": _rng.normal(size=(4, 4)).astype(np.float32),
    "m": _rng.normal(size=(2, 3, 3)).astype(np.float32),
    "e": np.zeros((0, 3), np.float32),
}
TOLERANCE = {"float32": 3e-5, "complex64": 3e-5, "float16": 2e-3, "bfloat16": 2e-2}


def listed(text: str) -> list[str]:
    """The expressions of a text, one in each line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def evaluate(expression: str, lib: Any) -> list[Any]:
    """The leaves of what an expression gives, with `lib` as `jx` and its numpy as `jnp`."""
    jnp = lib.numpy
    names: dict[str, Any] = {name: jnp.asarray(x) for name, x in ARRAYS.items()}
    names |= {"jnp": jnp, "jx": lib, "np": np, "math": math, "operator": operator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.tree.leaves(eval(expression, names))


def plain(x: Any) -> np.ndarray:
    """A leaf as an array that npz files know: a text for what is neither array nor number."""
    numeric = hasattr(x, "__array__") or isinstance(x, bool | int | float | complex)
    return storable(x) if numeric else np.asarray(str(x))


def types_of(leaves: list[Any]) -> list[str]:
    return [describe(x) if hasattr(x, "dtype") else type(x).__name__ for x in leaves]


def known(kind: str) -> str:
    """A type as far as it matters: whether a boolean is weakly typed decides nothing."""
    return kind.rstrip("*") if kind.startswith("bool") else kind


def check(expression: str) -> None:
    """Our answer agrees with JAX's in structure, shapes, dtypes, weak types and elements."""
    want_types = STORE.types(expression)
    if want_types and want_types[0].startswith("raises "):
        check_error(expression, want_types[0].removeprefix("raises "))
        return
    got = evaluate(expression, funcgrad)
    assert list(map(known, types_of(got))) == list(map(known, want_types))
    for ours, theirs in zip(got, STORE.answer(expression), strict=True):
        compare(plain(ours), theirs, TOLERANCE.get(dtype_name(ours), 1e-6))


def check_error(expression: str, kind: str) -> None:
    try:
        evaluate(expression, funcgrad)
    except Exception as error:
        names = [cls.__name__ for cls in type(error).__mro__]
        assert kind in names, f"raised {names[0]}, JAX raises {kind}"
        assert str(error), "an error without a message"
    else:
        raise AssertionError(f"no error; JAX raises {kind}")


def dtype_name(x: Any) -> str:
    return str(x.dtype) if isinstance(x, Array) else ""


def compare(got: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    if got.dtype.kind in "fc":
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), tolerance, tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def expressions() -> Iterator[str]:
    for topic in TOPICS:
        yield from importlib.import_module(f"test_{topic}").EXPRESSIONS


def ask(expression: str) -> tuple[list[str], list[np.ndarray]]:
    """What JAX answers: the types of its results and their elements, or the name of its error."""
    import jax

    try:
        found = evaluate(expression, jax)
    except Exception as error:
        return [f"raises {type(error).__name__}"], []
    return types_of(found), [plain(x) for x in found]


def main(everything: bool) -> None:
    import jax

    known = {} if everything or not STORE.exists() else STORE.manifest["answers"]
    answers = {}
    for expression in expressions():
        if expression in known:
            old = known[expression]
            arrays = [] if old and old[0].startswith("raises ") else STORE.answer(expression)
            answers[expression] = old, arrays
        else:
            answers[expression] = ask(expression)
    STORE.write({"jax": jax.__version__}, answers)
    print(f"{len(answers)} answers, {STORE.arrays_path.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main("all" in sys.argv[1:])
