"""Sparse arrays of other shapes: their indices are computed, their elements stay where they are."""

import math
from collections.abc import Sequence

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axis
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._coordinates import CoordinateArray, clean_parts, inside
from funcgrad.sparse._layouts import (
    Sparse,
    bcoo_transpose,
    cell_count,
)


def bcoo_broadcast_in_dim(
    mat: Sparse,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: None = None,
) -> Sparse:
    """The array repeated along new axes, and along axes of size one.

    Args:
        mat: a BCOO array.
        shape: of the result.
        broadcast_dimensions: which axis of the result each axis of mat becomes, in order.
        sharding: None.

    Returns:
        A BCOO array. New axes before the first sparse one are batched; those behind the last sparse
            one are dense if mat has dense axes; all others are sparse.

    Raises:
        ValueError: if the axes are not in order, or a size neither fits nor is 1.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> a = sparse.eye(2)
        >>> sparse.bcoo_broadcast_in_dim(a, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
        BCOO(float32[3, 2, 2], nse=2, n_batch=1)
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_broadcast_in_dim: sparse arrays are not sharded.")
    shape, to = tuple(int(size) for size in shape), tuple(int(a) for a in broadcast_dimensions)
    fits = len(to) == mat.ndim and list(to) == sorted(set(to))
    fits = fits and all(0 <= axis < len(shape) for axis in to)
    if not fits or any(old not in (1, shape[axis]) for old, axis in zip(mat.shape, to)):
        raise ValueError(
            f"an array of shape {mat.shape} does not broadcast to {shape} with its axes at {to}."
        )
    first = mat.n_batch + mat.n_sparse
    n_batch = to[mat.n_batch] if mat.n_sparse or mat.n_dense else len(shape)
    behind = (to[first - 1] + 1 if mat.n_sparse else n_batch) if mat.n_dense else len(shape)
    data, indices = broadcast_batch(mat, shape[:n_batch], to[: mat.n_batch])
    columns = {axis: indices[..., k] for k, axis in enumerate(to[mat.n_batch : first])}
    old = dict(zip(to, mat.shape))
    new = [a for a in range(n_batch, behind) if a not in columns or old[a] != shape[a]]
    dense = [old.get(axis, 1) for axis in range(behind, len(shape))]
    data = data.reshape(*data.shape[: n_batch + 1], *dense)
    data = jnp.broadcast_to(data, (*data.shape[: n_batch + 1], *shape[behind:]))
    grid = (*shape[:n_batch], mat.nse, *(shape[axis] for axis in new))
    count = math.prod(grid[n_batch:])
    kept = inside(mat_of(mat, data, indices, (*shape[:n_batch], *mat.sparse_shape)), indices)
    kept = jnp.broadcast_to(kept.reshape(*kept.shape, *[1] * len(new)), grid)
    out = []
    for axis in range(n_batch, behind):
        if axis in new:
            at = lax.broadcasted_iota(indices.dtype, grid, n_batch + 1 + new.index(axis))
        else:
            column = columns[axis]
            at = jnp.broadcast_to(column.reshape(*column.shape, *[1] * len(new)), grid)
        out.append(jnp.where(kept, at, shape[axis]).reshape(*shape[:n_batch], count))
    places = jnp.stack(out, -1) if out else jnp.zeros((*shape[:n_batch], count, 0), indices.dtype)
    data = jnp.repeat(data, count // mat.nse if mat.nse else 1, n_batch)
    return mat.like(data, places.astype(indices.dtype), shape, unique_indices=mat.unique_indices)


def mat_of(mat: Sparse, data: Array, indices: Array, shape: Sequence[int]) -> Sparse:
    """The array with these batch and sparse axes, and the dense ones that its data has."""
    n_batch = indices.ndim - 2
    return mat.like(data, indices, (*shape, *data.shape[n_batch + 1 :]))


def broadcast_batch(
    mat: CoordinateArray, batch: tuple[int, ...], to: tuple[int, ...]
) -> list[Array]:
    """Data and indices with these batch axes, of which the array's own are those in `to`."""
    out = []
    for part in clean_parts(mat):
        sizes = [1] * len(batch)
        for axis, size in zip(to, part.shape):
            sizes[axis] = size
        rest = part.shape[mat.n_batch :]
        out.append(jnp.broadcast_to(part.reshape(*sizes, *rest), (*batch, *rest)))
    return out


def bcoo_concatenate(operands: Sequence[Sparse], *, dimension: int) -> Sparse:
    """Sparse arrays one after another along an axis.

    Args:
        operands: BCOO arrays with as many batch and dense axes, of one shape but for `dimension`.
        dimension: a batch or sparse axis.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if there are no operands, or shapes or layouts differ.
        NotImplementedError: for a dense axis.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=0).shape
        (4, 2)
    """
    operands = list(operands)
    if not operands:
        raise ValueError("bcoo_concatenate takes at least one sparse array, and got none.")
    first = operands[0]
    axis = canonical_axis(dimension, first.ndim)
    layouts = {(mat.n_batch, mat.n_dense, mat.ndim) for mat in operands}
    others = {(*mat.shape[:axis], *mat.shape[axis + 1 :]) for mat in operands}
    if len(layouts) > 1 or len(others) > 1:
        raise ValueError(
            f"bcoo_concatenate along axis {axis} takes arrays of one layout, whose other axes have "
            f"one size, and got {operands}."
        )
    n_batch = first.n_batch
    if axis >= n_batch + first.n_sparse:
        raise NotImplementedError(
            f"bcoo_concatenate along the dense axis {axis} of {first!r}; call update_layout."
        )
    shape = list(first.shape)
    shape[axis] = sum(mat.shape[axis] for mat in operands)
    if axis < n_batch:
        nse = max(mat.nse for mat in operands)
        pairs = [padded_parts(mat, nse) for mat in operands]
        join = axis
    else:
        pairs, start, join = [], 0, n_batch
        for mat in operands:
            data, indices = clean_parts(mat)
            offset = np.zeros(mat.n_sparse, indices.dtype)
            offset[axis - n_batch] = start
            kept = inside(mat, indices)[..., None]
            ends = np.asarray(shape[n_batch : n_batch + mat.n_sparse], indices.dtype)
            pairs.append((data, jnp.where(kept, indices + offset, ends)))
            start += mat.shape[axis]
    data, indices = (jnp.concatenate(arrays, join) for arrays in zip(*pairs))
    return first.like(
        data, indices, shape, unique_indices=all(mat.unique_indices for mat in operands)
    )


def padded_parts(mat: CoordinateArray, nse: int) -> tuple[Array, Array]:
    """Data and indices with padding up to nse elements."""
    data, indices = clean_parts(mat)
    extra, n = nse - mat.nse, mat.n_batch
    zeros = jnp.zeros((*mat.batch_shape, extra, *mat.dense_shape), data.dtype)
    ends = np.asarray(mat.sparse_shape, indices.dtype)
    ends = jnp.broadcast_to(ends, (*mat.batch_shape, extra, mat.n_sparse))
    return jnp.concatenate([data, zeros], n), jnp.concatenate([indices, ends], n)


def bcoo_reshape(
    mat: Sparse,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> Sparse:
    """The array in another shape, row by row; batch and sparse axes each among themselves.

    Args:
        mat: a BCOO array.
        new_sizes: the shape of the result.
        dimensions: the order in which mat's axes are read; as they are, by default.
        sharding: None.

    Returns:
        A BCOO array.

    Raises:
        TypeError: if the number of elements differs.
        ValueError: if there are more places than an index can count.
        NotImplementedError: if an axis of the result would be part batched, part sparse, or a dense
            axis changes.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_reshape(sparse.eye(2), new_sizes=(4,)).todense()
        Array([1., 0., 0., 1.], dtype=float32)
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_reshape: sparse arrays are not sharded.")
    sizes = tuple(int(size) for size in new_sizes)
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    if math.prod(sizes) != mat.size:
        raise TypeError(f"an array of shape {mat.shape} does not reshape to {sizes}.")
    batch, sparse = split_sizes(mat, sizes)
    data, indices = clean_parts(mat)
    kept = inside(mat, indices)
    cell_count(mat.sparse_shape, indices.dtype)
    flat = jnp.zeros(kept.shape, indices.dtype)
    for k, size in enumerate(mat.sparse_shape):
        flat = flat * size + jnp.where(kept, indices[..., k], 0)
    columns = []
    for size in reversed(sparse):
        columns.append(jnp.where(kept, flat % max(size, 1), size))
        flat = flat // max(size, 1)
    places = jnp.stack(columns[::-1], -1) if columns else jnp.zeros((*kept.shape, 0), flat.dtype)
    return mat.like(
        data.reshape(*batch, mat.nse, *mat.dense_shape),
        places.astype(indices.dtype).reshape(*batch, mat.nse, len(sparse)),
        sizes,
        unique_indices=mat.unique_indices,
    )


def split_sizes(mat: CoordinateArray, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The batch and the sparse axes of the shape that an array is to get."""
    end = len(sizes) - mat.n_dense
    wanted = math.prod(mat.batch_shape)
    for n_batch in range(end + 1) if mat.n_batch else (0,):
        batch, sparse = sizes[:n_batch], sizes[n_batch:end]
        same = math.prod(batch) == wanted and math.prod(sparse) == math.prod(mat.sparse_shape)
        if same and sizes[end:] == mat.dense_shape:
            return batch, sparse
    raise NotImplementedError(
        f"reshape of {mat!r} to {sizes}: batch axes {mat.batch_shape} and sparse axes "
        f"{mat.sparse_shape} are reshaped each for themselves, dense axes not; call update_layout."
    )
