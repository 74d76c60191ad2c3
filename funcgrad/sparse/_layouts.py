"""The same sparse array stored otherwise: sorted, without duplicates, with other batch axes."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.typing import ArrayLike
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._base import SparseEfficiencyError, SparseEfficiencyWarning
from funcgrad.sparse._coordinates import (
    CoordinateArray,
    batch_places,
    clean_parts,
    concrete_count,
    inside,
    parts,
    trailing,
    values_at,
)

Sparse = TypeVar("Sparse", bound=CoordinateArray)


def bcoo_todense(mat: CoordinateArray) -> Array:
    """The dense array that a sparse one stands for.

    Args:
        mat: a BCOO array.

    Returns:
        An array of mat's shape and dtype; elements at the same place are added.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_todense(sparse.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return mat.todense()


def sorting_order(indices: Array) -> Array:
    """The positions that put indices in the order of their places: integers [*batch, nse]."""
    columns = [indices[..., k] for k in range(indices.shape[-1])]
    order = lax.broadcasted_iota(np.int32, indices.shape[:-1], indices.ndim - 2)
    operands = lax.sort(
        (*columns, order), dimension=-1, num_keys=max(1, len(columns)), is_stable=True
    )
    return operands[-1]


def reordered(array: Array, order: Array) -> Array:
    """The elements [*batch, nse, ...] in another order [*batch, nse]."""
    return array[(*batch_places(order.shape, order.ndim - 1), order)]


def bcoo_sort_indices(mat: Sparse) -> Sparse:
    """The same array with its elements in the order of their places.

    Args:
        mat: a BCOO array.

    Returns:
        A BCOO array with indices_sorted set; padding comes last. Elements at the same place keep
        their order.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_sort_indices(sparse.eye(3).T).indices_sorted
        True
    """
    flags = {"indices_sorted": True, "unique_indices": mat.unique_indices}
    if not mat.n_sparse:
        return mat.like(mat.data, mat.indices, mat.shape, **flags)
    data, indices = parts(mat)
    order = sorting_order(indices)
    return mat.like(reordered(data, order), reordered(indices, order), mat.shape, **flags)


def first_of_place(indices: Array, kept: Array) -> Array:
    """Which of sorted elements is the first one at its place and no padding."""
    changed = (indices[..., 1:, :] != indices[..., :-1, :]).any(-1)
    start = jnp.ones((*changed.shape[:-1], min(1, indices.shape[-2])), bool)
    return jnp.concatenate([start, changed], -1) & kept


def bcoo_sum_duplicates(mat: Sparse, nse: int | None = None) -> Sparse:
    """The same array with at most one element a place, in order.

    Args:
        mat: a BCOO array.
        nse: how many elements to store; without it as many as there are, which only an array with
            known indices can tell.

    Returns:
        A BCOO array with indices_sorted and unique_indices set; padding comes last.

    Raises:
        ValueError: if nse is less than the number of places, where that is known. Under a
            transformation the last places are dropped.
        ConcretizationTypeError: without nse, if the indices are traced.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> a = sparse.eye(2) + sparse.eye(2)
        >>> sparse.bcoo_sum_duplicates(a).data
        Array([2., 2.], dtype=float32)
    """
    data, indices = clean_parts(mat)
    order = sorting_order(indices)
    data, indices = reordered(data, order), reordered(indices, order)
    first = first_of_place(indices, inside(mat, indices))
    group = jnp.cumsum(first, -1) - 1
    count = (group.max(-1, initial=-1) + 1).max(initial=0)
    nse = concrete_count(count, nse, "sum_duplicates")
    if not first.shape[-1]:
        group = group.astype(np.int32)
    batch = batch_places(first.shape, first.ndim - 1)
    sizes = np.asarray(mat.sparse_shape, indices.dtype)
    target = (*first.shape[:-1], nse)
    summed = jnp.zeros((*target, *mat.dense_shape), np.int32 if mat.dtype == bool else mat.dtype)
    # What comes before the first place is padding: it has no group, and is zero.
    summed = summed.at[(*batch, jnp.where(group < 0, nse, group))].add(
        data.astype(summed.dtype), mode="drop"
    )
    ends = jnp.broadcast_to(sizes, (*target, mat.n_sparse))
    kept = ends.at[(*batch, jnp.where(first, group, nse))].set(indices, mode="drop")
    flags = {"indices_sorted": True, "unique_indices": True}
    summed = summed > 0 if mat.dtype == bool else summed
    return mat.like(summed, kept, mat.shape, **flags)


def without_zeros(mat: Sparse) -> Sparse:
    """The same array with zero elements made padding."""
    data, indices = parts(mat)
    wanted = (data != 0).any(tuple(range(mat.n_batch + 1, data.ndim)))
    ends = np.asarray(mat.sparse_shape, indices.dtype)
    return mat.like(data, jnp.where(wanted[..., None], indices, ends), mat.shape)


def bcoo_extract(sparr: Sparse, arr: ArrayLike, *, assume_unique: bool | None = None) -> Sparse:
    """The elements of a dense array at the places of a sparse one.

    Args:
        sparr: a BCOO array, of which only the places count.
        arr: an array of its shape.
        assume_unique: take a place that is listed twice to be two places; by default where sparr
            says that its indices are unique. Otherwise only the first gets the value.

    Returns:
        A BCOO array of sparr's indices with the values of arr.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_extract(sparse.eye(2), jnp.array([[1, 2], [3, 4]])).data
        Array([1, 4], dtype=int32)
    """
    array: Any = jnp.asarray(arr)
    if array.shape != sparr.shape:
        raise ValueError(
            f"bcoo_extract takes an array of the sparse array's shape {sparr.shape}, "
            f"and got one of shape {array.shape}."
        )
    indices = clean_parts(sparr)[1]
    values = values_at(array, indices)
    assume_unique = sparr.unique_indices if assume_unique is None else assume_unique
    if not assume_unique:
        order = sorting_order(indices)
        first = first_of_place(reordered(indices, order), reordered(inside(sparr, indices), order))
        batch = batch_places(order.shape, order.ndim - 1)
        wanted = jnp.zeros(order.shape, bool).at[(*batch, order)].set(first)
        values = jnp.where(trailing(wanted, sparr.n_dense), values, jnp.zeros((), array.dtype))
    return sparr.with_data(values)


def bcoo_transpose(mat: Sparse, *, permutation: Sequence[int]) -> Sparse:
    """The array with its axes in another order; batch, sparse and dense axes each keep together.

    Args:
        mat: a BCOO array.
        permutation: where each axis of the result comes from.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if `permutation` is not one.
        NotImplementedError: if it mixes axes that are stored in different ways.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_transpose(sparse.eye(2, 3), permutation=(1, 0)).shape
        (3, 2)
    """
    order = tuple(int(axis) for axis in permutation)
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(f"{order} is no permutation of the axes of shape {mat.shape}.")
    batch, sparse, dense = (
        order[:n_batch],
        order[n_batch : n_batch + n_sparse],
        order[n_batch + n_sparse :],
    )
    bounds = (batch, range(n_batch)), (sparse, range(n_batch, n_batch + n_sparse))
    if any(set(axes) != set(allowed) for axes, allowed in bounds):
        raise NotImplementedError(
            f"the permutation {order} moves axes between the {n_batch} batch, {n_sparse} sparse "
            f"and {mat.n_dense} dense ones of {mat!r}; call update_layout first."
        )
    columns = np.asarray([axis - n_batch for axis in sparse], np.int64)
    data = jnp.transpose(mat.data, (*batch, n_batch, *(axis - n_sparse + 1 for axis in dense)))
    indices = jnp.transpose(mat.indices, (*batch, n_batch, n_batch + 1))[..., columns]
    shape = [mat.shape[axis] for axis in order]
    kept = mat.indices_sorted and list(sparse) == sorted(sparse)
    return mat.like(data, indices, shape, indices_sorted=kept, unique_indices=mat.unique_indices)


def bcoo_update_layout(
    mat: Sparse,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> Sparse:
    """The same array with other numbers of batch and dense axes.

    Args:
        mat: a BCOO array.
        n_batch, n_dense: how many of each it is to have; as many as now, by default.
        on_inefficient: what to do where the result stores more than its elements, because a sparse
            axis becomes batched or dense: "error", "warn", or None for nothing.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if there are fewer axes than asked for, or on_inefficient is none of these.
        SparseEfficiencyError: see on_inefficient.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> a = sparse.BCOO.fromdense(jnp.eye(3), n_batch=1)
        >>> sparse.bcoo_update_layout(a, n_batch=0)
        BCOO(float32[3, 3], nse=3)
    """
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"on_inefficient is 'error', 'warn' or None, not {on_inefficient!r}.")
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"n_batch={n_batch} and n_dense={n_dense} do not fit an array of shape {mat.shape}."
        )
    if (n_batch > mat.n_batch or n_dense > mat.n_dense) and on_inefficient:
        text = (
            f"update_layout of {mat!r} to n_batch={n_batch}, n_dense={n_dense} stores mostly "
            "zeros; on_inefficient=None allows it."
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(text)
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    while mat.n_dense > n_dense:
        mat = first_dense_to_sparse(mat)
    while mat.n_batch > n_batch:
        mat = last_batch_to_sparse(mat)
    while mat.n_batch < n_batch:
        mat = first_sparse_to_batch(mat)
    while mat.n_dense < n_dense:
        mat = last_sparse_to_dense(mat)
    return mat


def first_dense_to_sparse(mat: Sparse) -> Sparse:
    """Each element along the first dense axis becomes one of its own."""
    data, indices = parts(mat)
    size, axis = mat.dense_shape[0], mat.n_batch
    count = mat.nse * size
    data = data.reshape(*data.shape[:axis], count, *data.shape[axis + 2 :])
    wide = jnp.broadcast_to(indices[..., :, None, :], (*indices.shape[:-1], size, mat.n_sparse))
    new = lax.broadcasted_iota(indices.dtype, (*wide.shape[:-1], 1), axis + 1)
    indices = jnp.concatenate([wide, new], -1).reshape(*mat.batch_shape, count, mat.n_sparse + 1)
    return mat.like(
        data,
        indices,
        mat.shape,
        indices_sorted=mat.indices_sorted and mat.unique_indices,
        unique_indices=mat.unique_indices,
    )


def last_batch_to_sparse(mat: Sparse) -> Sparse:
    """The elements of all members along the last batch axis, in one list."""
    data, indices = clean_parts(mat)
    axis = mat.n_batch - 1
    count = mat.batch_shape[-1] * mat.nse
    new = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), axis)
    new = jnp.where(inside(mat, indices)[..., None], new, mat.batch_shape[-1])
    indices = jnp.concatenate([new, indices], -1)
    return mat.like(
        data.reshape(*data.shape[:axis], count, *data.shape[axis + 2 :]),
        indices.reshape(*indices.shape[:axis], count, mat.n_sparse + 1),
        mat.shape,
        unique_indices=mat.unique_indices,
    )


def first_sparse_to_batch(mat: Sparse) -> Sparse:
    """Every member along the first sparse axis gets all elements; those of others are padding."""
    data, indices = clean_parts(mat)
    size, axis = mat.sparse_shape[0], mat.n_batch
    mine = indices[..., None, :, 0] == jnp.arange(size, dtype=indices.dtype)[:, None]
    rest = indices[..., None, :, 1:]
    ends = np.asarray(mat.sparse_shape[1:], indices.dtype)
    data = jnp.where(trailing(mine, mat.n_dense), jnp.expand_dims(data, axis), 0)
    return mat.like(
        data.astype(mat.dtype),
        jnp.where(mine[..., None], rest, ends),
        mat.shape,
        unique_indices=mat.unique_indices and mat.n_sparse > 1,
    )


def last_sparse_to_dense(mat: Sparse) -> Sparse:
    """Every element becomes a row that is zero but for it."""
    data, indices = clean_parts(mat)
    size, axis = mat.sparse_shape[-1], mat.n_batch + 1
    mine = indices[..., -1:] == jnp.arange(size, dtype=indices.dtype)
    data = jnp.where(trailing(mine, mat.n_dense), jnp.expand_dims(data, axis), 0)
    return mat.like(data.astype(mat.dtype), indices[..., :-1], mat.shape)


def cell_count(shape: Sequence[int], dtype: np.dtype) -> int:
    """How many places there are, which an index of this dtype must be able to count."""
    count = math.prod(shape)
    if count > np.iinfo(dtype).max:
        raise ValueError(
            f"{dtype} indices cannot count the {count} places of shape {tuple(shape)}."
        )
    return count
