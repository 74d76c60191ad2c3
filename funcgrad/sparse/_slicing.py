"""Parts of sparse arrays: those elements whose indices lie in them, the others as padding."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._coordinates import clean_parts, inside, parts
from funcgrad.sparse._layouts import Sparse, bcoo_sum_duplicates


def bcoo_slice(
    mat: Sparse,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Sparse:
    """Every so many elements between two places along each axis, as lax.slice has it.

    Args:
        mat: a BCOO array.
        start_indices, limit_indices: one of each per axis; the limit is excluded.
        strides: one per axis, 1 by default.

    Returns:
        A BCOO array.

    Raises:
        TypeError: if the number of settings is not that of the axes, or they leave the array.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_slice(sparse.eye(3), start_indices=(1, 0), limit_indices=(3, 2)).todense()
        Array([[0., 1.],
               [0., 0.]], dtype=float32)
    """
    starts, limits = tuple(map(int, start_indices)), tuple(map(int, limit_indices))
    steps = (1,) * mat.ndim if strides is None else tuple(map(int, strides))
    fits = len(starts) == len(limits) == len(steps) == mat.ndim and all(s > 0 for s in steps)
    if not fits or any(not 0 <= a <= b <= n for a, b, n in zip(starts, limits, mat.shape)):
        raise TypeError(
            f"slice [{starts}, {limits}) with strides {steps} of a sparse array of "
            f"shape {mat.shape}."
        )
    n_batch, last = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = parts(mat)
    cut = [slice(a, b, s) for a, b, s in zip(starts, limits, steps)]
    data = data[(*cut[:n_batch], slice(None), *cut[last:])]
    indices = indices[tuple(cut[:n_batch])]
    shape = [len(range(a, b, s)) for a, b, s in zip(starts, limits, steps)]
    return sliced(mat, data, indices, starts[n_batch:last], steps[n_batch:last], shape)


def sliced(
    mat: Sparse,
    data: Array,
    indices: Array,
    starts: Sequence[Any],
    steps: Sequence[int],
    shape: Sequence[int],
) -> Sparse:
    """The elements whose indices are among those that start somewhere, with a step."""
    sizes = shape[mat.n_batch : mat.n_batch + mat.n_sparse]
    kept = inside(mat, indices)
    columns = []
    for k, (start, step, size) in enumerate(zip(starts, steps, sizes)):
        from_start = indices[..., k] - jnp.asarray(start, indices.dtype)
        at = from_start // step
        kept = kept & (from_start >= 0) & (from_start % step == 0) & (at < size)
        columns.append(at)
    ends = np.asarray(sizes, indices.dtype)
    if columns:
        indices = jnp.where(kept[..., None], jnp.stack(columns, -1), ends).astype(indices.dtype)
    out = mat.like(data, indices, shape, unique_indices=mat.unique_indices)
    cells = math.prod(sizes)
    return bcoo_sum_duplicates(out, nse=cells) if cells < out.nse else out


def bcoo_dynamic_slice(
    mat: Sparse, start_indices: Sequence[Any], slice_sizes: Sequence[int]
) -> Sparse:
    """A block of a static size that starts at a place known when it runs.

    Args:
        mat: a BCOO array.
        start_indices: an integer per axis, moved as far as needed for the block to fit.
        slice_sizes: the shape of the result.

    Returns:
        A BCOO array.

    Raises:
        TypeError: if the number of settings is not that of the axes, or the block is too large.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_dynamic_slice(sparse.eye(3), (1, 1), (1, 2)).todense()
        Array([[1., 0.]], dtype=float32)
    """
    sizes = tuple(map(int, slice_sizes))
    if not len(start_indices) == len(sizes) == mat.ndim or any(
        not 0 <= size <= full for size, full in zip(sizes, mat.shape)
    ):
        raise TypeError(
            f"a block of shape {sizes} at {len(start_indices)} start indices does not fit a sparse "
            f"array of shape {mat.shape}."
        )
    limits = [full - size for full, size in zip(mat.shape, sizes)]
    starts = [jnp.clip(jnp.asarray(s), 0, limit) for s, limit in zip(start_indices, limits)]
    n_batch, last = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = parts(mat)
    zero = [jnp.zeros_like(start) for start in starts[:1]]
    data = lax.dynamic_slice(
        data,
        [*starts[:n_batch], *zero, *starts[last:]],
        [*sizes[:n_batch], mat.nse, *sizes[last:]],
    )
    indices = lax.dynamic_slice(
        indices, [*starts[:n_batch], *zero, *zero], [*sizes[:n_batch], mat.nse, mat.n_sparse]
    )
    return sliced(mat, data, indices, starts[n_batch:last], (1,) * mat.n_sparse, sizes)


def bcoo_squeeze(arr: Sparse, *, dimensions: Sequence[int]) -> Sparse:
    """The array without some axes of size one.

    Args:
        arr: a BCOO array.
        dimensions: which ones.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if one of them has another size.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_squeeze(sparse.eye(1, 3), dimensions=(0,)).shape
        (3,)
    """
    gone = canonical_axes(dimensions, arr.ndim)
    if any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(
            f"axes {gone} of a sparse array of shape {arr.shape} are not all of size 1."
        )
    n_batch, n_sparse = arr.n_batch, arr.n_sparse
    data, indices = clean_parts(arr)
    batch = tuple(axis for axis in gone if axis < n_batch)
    dense = tuple(axis - n_sparse + 1 for axis in gone if axis >= n_batch + n_sparse)
    kept = np.asarray([k for k in range(n_sparse) if n_batch + k not in gone], np.int64)
    return arr.like(
        jnp.squeeze(data, (*batch, *dense)),
        jnp.squeeze(indices[..., kept], batch),
        [size for axis, size in enumerate(arr.shape) if axis not in gone],
        unique_indices=arr.unique_indices and len(kept) == n_sparse,
    )


def bcoo_rev(operand: Sparse, dimensions: Sequence[int]) -> Sparse:
    """The array read backwards along some axes.

    Args:
        operand: a BCOO array.
        dimensions: which axes.

    Returns:
        A BCOO array.

    Raises:
        ValueError: if an axis is out of range, or given twice.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_rev(sparse.eye(2), (0,)).todense()
        Array([[0., 1.],
               [1., 0.]], dtype=float32)
    """
    turned = canonical_axes(dimensions, operand.ndim)
    n_batch, n_sparse = operand.n_batch, operand.n_sparse
    data, indices = clean_parts(operand)
    batch = tuple(axis for axis in turned if axis < n_batch)
    dense = tuple(axis - n_sparse + 1 for axis in turned if axis >= n_batch + n_sparse)
    mirrored = np.asarray([n_batch + k in turned for k in range(n_sparse)], bool)
    last = np.asarray(operand.sparse_shape, indices.dtype) - 1
    moved = inside(operand, indices)[..., None] & mirrored
    return operand.like(
        jnp.flip(data, (*batch, *dense)),
        jnp.flip(jnp.where(moved, last - indices, indices), batch),
        operand.shape,
        unique_indices=operand.unique_indices,
    )
