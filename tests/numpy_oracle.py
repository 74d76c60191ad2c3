"""One expression, evaluated with JAX's numpy and with ours, on the same arrays."""

import math
import operator
import warnings
from typing import Any

import jax
import jax.numpy
import numpy as np

import funcgrad
import funcgrad.numpy

_rng = np.random.default_rng(0)

# Floats, integers, booleans, complex numbers of shape (3, 4), and some of other shapes.
ARRAYS: dict[str, np.ndarray] = {
    "f": _rng.normal(size=(3, 4)).astype(np.float32),
    "g": _rng.uniform(0.1, 0.9, (3, 4)).astype(np.float32),
    "i": _rng.integers(-5, 6, (3, 4)).astype(np.int32),
    "j": _rng.integers(1, 6, (3, 4)).astype(np.int32),
    "b": _rng.integers(0, 2, (3, 4)).astype(bool),
    "u": _rng.integers(0, 200, (3, 4)).astype(np.uint8),
    "s": _rng.integers(-100, 100, (3, 4)).astype(np.int8),
    "c": (_rng.normal(size=(3, 4)) + 1j * _rng.normal(size=(3, 4))).astype(np.complex64),
    "h": _rng.normal(size=(3, 4)).astype(np.float16),
    "n": np.array([[1.0, np.nan, 3.0, -2.0], [np.nan] * 4, [0.0, 5.0, -1.0, 2.0]], np.float32),
    "z": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 2.5, -3.5], np.float32),
    "v": _rng.normal(size=4).astype(np.float32),
    "w": np.sort(_rng.normal(size=6)).astype(np.float32),
    "k": np.array([2, 0, 1, 2], np.int32),
    "t": _rng.normal(size=(2, 3, 4)).astype(np.float32),
    "q": _rng.normal(size=(4, 4)).astype(np.float32),
    "m": _rng.normal(size=(2, 3, 3)).astype(np.float32),
    "e": np.zeros((0, 3), np.float32),
    "bf": np.asarray(_rng.normal(size=(3, 4)).astype(jax.numpy.bfloat16)),
}
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


def evaluate(expression: str, lib: Any) -> Any:
    """The value of an expression in which `jnp`, `jx`, `np` and the names of arrays mean something."""
    jnp = lib.numpy
    names = {name: jnp.asarray(x) for name, x in ARRAYS.items()}
    names |= {"jnp": jnp, "jx": lib, "np": np, "math": math, "operator": operator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, names)


def check(expression: str, weak: bool = True, scale: float = 1.0) -> None:
    """Both values agree in structure, shapes, dtypes, weak types and elements."""
    want = evaluate(expression, jax)
    got = evaluate(expression, funcgrad)
    want_leaves, want_tree = jax.tree.flatten(want)
    got_leaves, got_tree = jax.tree.flatten(got, is_leaf=lambda x: isinstance(x, funcgrad.Array))
    assert len(want_leaves) == len(got_leaves), (got_tree, want_tree)
    for a, b in zip(got_leaves, want_leaves, strict=True):
        compare(a, b, weak, scale)


def compare(got: Any, want: Any, weak: bool, scale: float) -> None:
    if not isinstance(want, jax.Array):
        assert type(got) is type(want) or np.dtype(got) == np.dtype(want), (got, want)
        if isinstance(want, np.ndarray | np.generic | float):
            np.testing.assert_allclose(got, want, 1e-6)
        else:
            assert got == want
        return
    assert got.shape == want.shape, (got.shape, want.shape)
    assert str(got.dtype) == str(want.dtype)
    if weak and want.dtype != bool:
        assert got.weak_type == want.weak_type, f"weak_type {got.weak_type}"
    a, b = np.asarray(got), np.asarray(want)
    tolerance = TOLERANCE.get(str(want.dtype), 0) * scale
    if tolerance:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), tolerance, tolerance)
    else:
        np.testing.assert_array_equal(a, b)


def error_of(expression: str, lib: Any) -> BaseException | None:
    try:
        evaluate(expression, lib)
    except Exception as error:
        return error
    return None
