"""The nearest vector of a code book for each observation."""

from typing import Any

import funcgrad.numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.numpy._promotion import promote_dtypes


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """For each observation, the nearest vector of a code book and the distance to it.

    Args:
        obs: [observations, features], or [observations] of single numbers.
        code_book: [codes, features], or [codes].
        check_finite: taken for compatibility; it has no effect, and what is nan is at the
            distance nan from everything.

    Returns:
        Indices into the code book, integers [observations], the first of those equally near; and
        Euclidean distances, floats [observations]. Where a distance is 0, so is its gradient.

    Raises:
        TypeError: if obs or code_book is not an array.
        ValueError: if they have different or other numbers of dimensions, or of features, or the
            code book is empty.

    Example:
        >>> from funcgrad.scipy.cluster.vq import vq
        >>> vq(np.array([[1.0, 1.0], [4.0, 5.0]]), np.array([[0.0, 1.0], [4.0, 4.0]]))
        (Array([0, 1], dtype=int32), Array([1., 1.], dtype=float32))

    Source: `scipy.cluster.vq.vq`.
    """
    obs, code_book = promote_dtypes("vq", obs, code_book, kind=dtypes.to_inexact)
    given = f"got {aval_of(obs).str_short()} and {aval_of(code_book).str_short()}"
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2):
        raise ValueError(f"vq: obs and code_book must both be [n, features] or both [n], {given}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ValueError(f"vq: obs and code_book must have the same number of features, {given}")
    if not code_book.shape[0]:
        raise ValueError(f"vq: the code book must hold a vector at least, {given}")
    squares = jnp.sum(jnp.abs(obs[:, None] - code_book) ** 2, axis=-1)
    zero = squares == 0
    distances = jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares)))
    codes = jnp.argmin(distances, axis=-1)
    return codes, jnp.take_along_axis(distances, codes[:, None], axis=-1)[:, 0]
