"""Sparse arrays from a shape: empty, with ones on a diagonal, random."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as jnp
from funcgrad import random
from funcgrad.api.vmap import vmap
from funcgrad.base.shapes import canonical_shape
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._base import JAXSparse
from funcgrad.sparse._bcoo import BCOO
from funcgrad.sparse._layouts import cell_count


def todense(arr: JAXSparse | Array) -> Array:
    """The dense array that a sparse one stands for; a dense one as it is.

    Args:
        arr: a sparse or dense array.

    Returns:
        A dense array of its shape and dtype.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.todense(sparse.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


def check_format(sparse_format: str) -> None:
    """Raises unless this is a format that we have."""
    if sparse_format == "bcoo":
        return
    if sparse_format in ("coo", "csr", "csc", "bcsr"):
        raise NotImplementedError(f"sparse_format={sparse_format!r}: only 'bcoo' is there.")
    raise ValueError(f"sparse_format={sparse_format!r} is no format of sparse arrays; 'bcoo' is.")


def layout_sizes(
    shape: tuple[int, ...], n_batch: int, n_dense: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The sizes of the batch, sparse and dense axes of a shape."""
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit the shape {shape}.")
    end = len(shape) - n_dense
    return shape[:n_batch], shape[n_batch:end], shape[end:]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCOO:
    """A sparse array of zeros.

    Args:
        shape: of the array.
        dtype: of the elements; the default float, by default.
        index_dtype: of the indices.
        sparse_format: "bcoo".
        n_batch, n_dense: how many leading axes are batched, and how many trailing ones dense.
        nse: how many elements there is room for, all of them padding.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if there are fewer axes than asked for, or for a format that does not exist.
        NotImplementedError: for JAX's other formats.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.empty((2, 3))
        BCOO(float32[2, 3], nse=0)
    """
    check_format(sparse_format)
    shape = canonical_shape(shape)
    batch, sparse, dense = layout_sizes(shape, n_batch, n_dense)
    ends = jnp.asarray(np.asarray(sparse, np.int64), index_dtype)
    indices = jnp.broadcast_to(ends, (*batch, nse, len(sparse)))
    data = jnp.zeros((*batch, nse, *dense), dtype)
    return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    """A sparse matrix with ones on a diagonal.

    Args:
        N, M: how many rows and columns; M is N by default.
        k: which diagonal: the main one is 0, those above it positive.
        dtype: of the elements; the default float, by default.
        index_dtype: of the indices.
        sparse_format: "bcoo".
        n_batch, n_dense: how many leading axes are batched, and how many trailing ones dense.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if there are fewer axes than asked for, or for a format that does not exist.
        NotImplementedError: for JAX's other formats.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.eye(2, 3, k=1).indices
        Array([[0, 1],
               [1, 2]], dtype=int32)
    """
    check_format(sparse_format)
    N, k = operator.index(N), operator.index(k)
    M = N if M is None else operator.index(M)
    batch, sparse, dense = layout_sizes((N, M), n_batch, n_dense)
    count = max(0, min(N + min(k, 0), M - max(k, 0)))
    rows, columns = np.arange(count) - min(k, 0), np.arange(count) + max(k, 0)
    if dense or batch:
        matrix = jnp.eye(N, M, k, dtype=dtype)
        # Every row of the diagonal is an element where it is batched: one, or padding.
        nse = None if sparse else 1
        return BCOO.fromdense(
            matrix, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
        )
    indices = jnp.asarray(np.stack([rows, columns], -1), index_dtype)
    data = jnp.ones(count, dtype)
    return BCOO((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)


def random_bcoo(
    key: Array,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    indices_dtype: Any = None,
    nse: float | int = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array of random elements at random places.

    Args:
        key: a random key.
        shape: of the array.
        dtype: of the elements; the default float, by default.
        indices_dtype: of the indices; the default integer, by default.
        nse: how many elements each batch member has; below 1, the share of its places.
        n_batch, n_dense: how many leading axes are batched, and how many trailing ones dense.
        unique_indices: whether places differ.
        sorted_indices: whether they are in order.
        generator: what draws the elements: `generator(key, shape=..., dtype=..., **kwds)`.
        kwds: for `generator`.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if nse is not less than the number of places, there are fewer axes than asked
            for, or more places than an index can count.

    Example:
        >>> import funcgrad as fg
        >>> from funcgrad.experimental import sparse
        >>> sparse.random_bcoo(fg.random.key(0), (3, 4), nse=3)
        BCOO(float32[3, 4], nse=3)
    """
    shape = canonical_shape(shape)
    batch, sparse, dense = layout_sizes(shape, n_batch, n_dense)
    places = math.prod(sparse)
    if not 0 <= nse < places:
        raise ValueError(f"nse={nse} of random_bcoo is not from 0 up to the {places} places.")
    count = math.ceil(nse * places) if 0 < nse < 1 else operator.index(int(nse))
    dtype = jnp.zeros(0).dtype if dtype is None else dtype
    index_dtype = np.dtype(indices_dtype or jnp.arange(0).dtype)
    cell_count(sparse, index_dtype)
    keys = random.split(key, math.prod(batch) + 1)
    data = generator(keys[0], shape=(*batch, count, *dense), dtype=dtype, **kwds)

    def draw(key: Array) -> Array:
        if not sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = random.choice(key, places, shape=(count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat.astype(index_dtype), sparse), -1)

    indices = vmap(draw)(keys[1:]) if math.prod(batch) else jnp.zeros((0,), index_dtype)
    indices = indices.astype(index_dtype).reshape(*batch, count, len(sparse))
    mat = BCOO((data, indices), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
