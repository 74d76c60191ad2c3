"""lax functions that are made of others, against JAX."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax as jlax

import funcgrad
from funcgrad import lax

X = np.arange(24, dtype=np.float32).reshape(4, 6) % 7
LEFT = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
RIGHT = np.linspace(0, 2, 24, dtype=np.float32).reshape(4, 3, 2)
SIZES = np.array([2, 0, 3, 1], np.int32)
CASES: dict[str, Any] = {
    "dtype": lambda lax: np.zeros((), lax.dtype(np.int8(1))),
    "shape_as_value": lambda lax: lax.shape_as_value((2, 3)),
    "empty": lambda lax: lax.empty((2, 3), np.float32),
    "broadcast_to_rank": lambda lax: lax.broadcast_to_rank(X, 4),
    "broadcast_like": lambda lax: lax.broadcast_like(X[:, :1], np.zeros((2, 4, 6))),
    "split": lambda lax: lax.split(X, (1, 0, 5), axis=1),
    "split of axis -2": lambda lax: lax.split(X, (3, 1), axis=-2),
    "stack": lambda lax: lax.stack([X, X + 1], axis=1),
    "stack at the end": lambda lax: lax.stack([X, X + 1], axis=-1),
    "unstack": lambda lax: lax.unstack(X, axis=1),
    "tile": lambda lax: lax.tile(X, (2, 3)),
    "approx_max_k": lambda lax: lax.approx_max_k(X, 2, recall_target=1.0),
    "approx_min_k": lambda lax: lax.approx_min_k(X, 2, 0, recall_target=1.0),
    "ragged_dot": lambda lax: lax.ragged_dot(LEFT, RIGHT, SIZES),
    "ragged_dot in bfloat16": lambda lax: lax.ragged_dot(
        LEFT.astype(jax.numpy.bfloat16),
        RIGHT.astype(jax.numpy.bfloat16),
        SIZES,
        preferred_element_type=np.float32,
    ),
    "platform_dependent": lambda lax: lax.platform_dependent(
        X, cpu=lambda x: x + 1, cuda=lambda x: x
    ),
    "platform_dependent by default": lambda lax: lax.platform_dependent(X, default=lambda x: x * 2),
    "composite": lambda lax: lax.composite(lambda x, n: x**n, "my.power", 2)(X, n=2),
}


@pytest.mark.parametrize("name", list(CASES))
def test_values_are_those_of_jax(name: str) -> None:
    run = CASES[name]
    want = jax.tree.leaves(run(jlax))
    compiled = funcgrad.jit(lambda: run(lax))()
    for got in (funcgrad.tree.leaves(run(lax)), funcgrad.tree.leaves(compiled)):
        assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in want]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(g, float), np.asarray(w, float), 1e-6, 1e-6)


def test_ragged_products_differentiate_and_batch() -> None:
    def loss(lax: Any) -> Any:
        return lambda a, b: (lax.ragged_dot(a, b, SIZES) ** 2).sum()

    for got, want in zip(
        funcgrad.grad(loss(lax), (0, 1))(LEFT, RIGHT),
        jax.grad(loss(jlax), (0, 1))(LEFT, RIGHT),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, 1e-5, 1e-5)
    many = np.stack([LEFT, 2 * LEFT])
    got = funcgrad.vmap(lambda a: lax.ragged_dot(a, RIGHT, SIZES))(many)
    np.testing.assert_allclose(got[1], 2 * lax.ragged_dot(LEFT, RIGHT, SIZES), 1e-6)


WRONG: list[tuple[type, str, Any]] = [
    (ValueError, r"add up to 6.*they give 5", lambda: lax.split(X, (2, 3), axis=1)),
    (TypeError, "one number for each axis", lambda: lax.tile(X, (2,))),
    (ValueError, "at least one array", lambda: lax.stack([])),
    (ValueError, "shapes must be the same", lambda: lax.stack([X, X[1:]])),
    (
        TypeError,
        "dtypes must be the same, got float32, int32",
        lambda: lax.stack([X, X.astype(int)]),
    ),
    (ValueError, "more than 1 axes", lambda: lax.broadcast_to_rank(X, 1)),
    (ValueError, "axis 0", lambda: lax.unstack(np.float32(1))),
    (ValueError, "takes floats", lambda: lax.approx_max_k(X.astype(int), 2)),
    (ValueError, "recall_target", lambda: lax.approx_max_k(X, 2, recall_target=1.5)),
    (TypeError, "takes lhs .rows, k.", lambda: lax.ragged_dot(LEFT, RIGHT[:, :2], SIZES)),
    (TypeError, "are integers", lambda: lax.ragged_dot(LEFT, RIGHT, SIZES.astype(float))),
    (
        NotImplementedError,
        "group_offset",
        lambda: lax.ragged_dot(LEFT, RIGHT, SIZES, None, None, [0]),
    ),
    (NotImplementedError, "given for cuda", lambda: lax.platform_dependent(X, cuda=abs)),
    (ValueError, "'gpu'. are not among", lambda: lax.platform_dependent(X, gpu=abs)),
    (ValueError, "name is empty", lambda: lax.composite(abs, "")),
]


@pytest.mark.parametrize("error, text, act", WRONG, ids=[text for _, text, _ in WRONG])
def test_errors(error: type[Exception], text: str, act: Any) -> None:
    with pytest.raises(error, match=text):
        act()
