"""Products: an element of a sparse array meets only those elements that its index leads to."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.api.jit import jit
from funcgrad.base.shapes import canonical_axes
from funcgrad.base.typing import ArrayLike
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._coordinates import (
    CoordinateArray,
    batch_places,
    clean_parts,
    parts,
    places,
    trailing,
)
from funcgrad.sparse._layouts import (
    Sparse,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
)
from funcgrad.sparse._shapes import bcoo_broadcast_in_dim

Dimensions = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def bcoo_multiply_dense(sp_mat: CoordinateArray, v: ArrayLike) -> Array:
    """The elements of a sparse array times those of a dense one at the same places.

    Args:
        sp_mat: a BCOO array.
        v: an array that broadcasts to its shape.

    Returns:
        What is the data of the product, whose indices are those of sp_mat.

    Raises:
        ValueError: if the shapes do not broadcast.
        NotImplementedError: if what they broadcast to is not the shape of sp_mat.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_multiply_dense(sparse.eye(2), jnp.array([3., 4.]))
        Array([3., 4.], dtype=float32)
    """
    return sp_mat.data * matching_values(sp_mat, v)


def matching_values(mat: CoordinateArray, values: ArrayLike, outside: int = 0) -> Array:
    """The values of a dense array, broadcast to a sparse one's shape, at its places."""
    array: Any = jnp.asarray(values)
    if not array.ndim:
        return array
    if np.broadcast_shapes(array.shape, mat.shape) != mat.shape:
        raise NotImplementedError(
            f"a sparse array of shape {mat.shape} and a dense one of shape {array.shape} have a "
            "result of another shape than the sparse one, which is not stored as a sparse array."
        )
    array = array.reshape((1,) * (mat.ndim - array.ndim) + array.shape)
    # Axes of size one are looked at where they are, so that nothing of full size is made.
    stretched = [axis for axis in range(mat.ndim) if array.shape[axis] != mat.shape[axis]]
    indices = clean_parts(mat)[1]
    columns = [indices[..., k] for k in range(mat.n_sparse)]
    found = [*batch_places(indices.shape[:-1], mat.n_batch), *columns]
    found = [jnp.zeros_like(at) if axis in stretched else at for axis, at in enumerate(found)]
    if not found:
        return jnp.broadcast_to(array, (mat.nse, *array.shape))
    return array.at[tuple(found)].get(mode="fill", fill_value=outside)


def bcoo_multiply_sparse(lhs: Sparse, rhs: CoordinateArray) -> Sparse:
    """The product of two sparse arrays, element by element.

    Args:
        lhs, rhs: BCOO arrays whose shapes broadcast.

    Returns:
        A BCOO array with lhs.nse * rhs.nse elements, most of which are padding.

    Raises:
        ValueError: if the shapes do not broadcast.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_multiply_sparse(sparse.eye(2), sparse.eye(2)).todense()
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    lhs, rhs = same_layout(lhs, rhs)
    (left, at), (right, other) = clean_parts(lhs), clean_parts(rhs)
    met = (at[..., :, None, :] == other[..., None, :, :]).all(-1)
    sizes = np.asarray(lhs.sparse_shape, at.dtype)
    n = lhs.n_batch
    product = jnp.expand_dims(left, n + 1) * jnp.expand_dims(right, n)
    product = jnp.where(trailing(met, lhs.n_dense), product, jnp.zeros((), product.dtype))
    indices = jnp.where(met[..., None], at[..., :, None, :], sizes)
    count = lhs.nse * rhs.nse
    batch = lhs.batch_shape
    return lhs.like(
        product.reshape(*batch, count, *lhs.dense_shape),
        indices.reshape(*batch, count, lhs.n_sparse),
        lhs.shape,
    )


def same_layout(lhs: Sparse, rhs: Any) -> tuple[Sparse, Any]:
    """Two arrays of the shape that theirs broadcast to, with as many batch and dense axes."""
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    out = []
    for mat in (lhs, rhs):
        if mat.shape != shape:
            at = range(len(shape) - mat.ndim, len(shape))
            mat = bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=at)
        out.append(mat)
    layout = {
        "n_batch": min(mat.n_batch for mat in out),
        "n_dense": min(mat.n_dense for mat in out),
    }
    left, right = (bcoo_update_layout(mat, **layout) for mat in out)
    return left, right


def bcoo_reduce_sum(mat: Sparse, *, axes: Sequence[int]) -> Sparse:
    """The sum along some axes.

    Args:
        mat: a BCOO array.
        axes: which ones.

    Returns:
        A BCOO array without these axes. Indices may repeat: sum_duplicates adds the elements.

    Raises:
        ValueError: if an axis is out of range, or given twice.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_reduce_sum(sparse.eye(2, 3), axes=(0,)).todense()
        Array([1., 1., 0.], dtype=float32)
    """
    summed = canonical_axes(axes, mat.ndim)
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = clean_parts(mat)
    kept = [k for k in range(n_sparse) if n_batch + k not in summed]
    indices = indices[..., np.asarray(kept, np.int64)]
    # Padding stays padding where an index remains, and is zero in any case.
    dense = tuple(axis - n_sparse + 1 for axis in summed if axis >= n_batch + n_sparse)
    data = data.sum(dense, dtype=data.dtype)
    batch = [axis for axis in range(n_batch) if axis not in summed]
    order = [*batch, *(axis for axis in range(n_batch) if axis in summed), n_batch]
    data = jnp.transpose(data, (*order, *range(n_batch + 1, data.ndim)))
    indices = jnp.transpose(indices, (*order, n_batch + 1))
    sizes = tuple(mat.shape[axis] for axis in batch)
    count = math.prod(mat.shape[axis] for axis in order[len(batch) : -1]) * mat.nse
    shape = [size for axis, size in enumerate(mat.shape) if axis not in summed]
    return mat.like(
        data.reshape(*sizes, count, *data.shape[n_batch + 1 :]),
        indices.reshape(*sizes, count, len(kept)),
        shape,
    )


class Roles(NamedTuple):
    """The axes of one operand of a product: what they are for."""

    batch: tuple[int, ...]
    contracting: tuple[int, ...]
    free: tuple[int, ...]


def roles(ndim: int, contracting: Sequence[int], batch: Sequence[int]) -> Roles:
    """The axes of one operand, sorted by what they are for."""
    batch, contracting = canonical_axes(batch, ndim), canonical_axes(contracting, ndim)
    named = (*batch, *contracting)
    return Roles(batch, contracting, tuple(axis for axis in range(ndim) if axis not in named))


def check_dot(left: Any, right: Any, lhs: Roles, rhs: Roles) -> None:
    """Raises TypeError unless the axes that meet have one size."""
    for what in ("batch", "contracting"):
        sizes = [
            tuple(array.shape[axis] for axis in getattr(side, what))
            for array, side in ((left, lhs), (right, rhs))
        ]
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"a product of shapes {left.shape} and {right.shape} has {what} axes of "
                f"different sizes: {sizes[0]} and {sizes[1]}."
            )


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Dimensions,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """A product over the axes that `dimension_numbers` names, as lax.dot_general has it.

    Args:
        lhs, rhs: arrays of which at least one is a BCOO array.
        dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)).
        precision: has no say: products are taken in the dtype of the result.
        preferred_element_type: the dtype of the result.
        out_sharding: None.

    Returns:
        A dense array for a dense operand, else a BCOO array; axes in the order batch, the rest of
        lhs, the rest of rhs.

    Raises:
        TypeError: if sizes disagree, or both arrays are dense.
        NotImplementedError: if batch axes of the product are not batch axes of the sparse array; or
            for two sparse arrays of which one has dense axes, or contracts batch axes.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> axes = (((1,), (0,)), ((), ()))
        >>> sparse.bcoo_dot_general(sparse.eye(2), jnp.ones(2), dimension_numbers=axes)
        Array([1., 1.], dtype=float32)
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_dot_general: products of sparse arrays are not sharded.")
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    sparse = isinstance(lhs, CoordinateArray), isinstance(rhs, CoordinateArray)
    lhs, rhs = (x if is_sparse else jnp.asarray(x) for x, is_sparse in zip((lhs, rhs), sparse))
    left = roles(lhs.ndim, left_contracting, left_batch)
    right = roles(rhs.ndim, right_contracting, right_batch)
    check_dot(lhs, rhs, left, right)
    dtype = preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype)
    match sparse:
        case (True, True):
            return sparse_sparse(lhs, rhs, left, right, dtype)
        case (True, False):
            return sparse_dense(lhs, rhs, left, right, dtype)
        case (False, True):
            out = sparse_dense(rhs, lhs, right, left, dtype)
            shared, ours = len(left.batch), len(right.free)
            order = [*range(shared), *range(shared + ours, out.ndim)]
            return jnp.transpose(out, (*order, *range(shared, shared + ours)))
    raise TypeError("bcoo_dot_general takes at least one sparse array; lax.dot_general takes none.")


def check_batched(mat: CoordinateArray, side: Roles) -> None:
    """The batch axes of a product must be batch axes of the sparse array."""
    if any(axis >= mat.n_batch for axis in side.batch):
        raise NotImplementedError(
            f"a product of {mat!r} with batch axes {side.batch}: they must be among its "
            f"{mat.n_batch} batch axes; call update_layout."
        )


@partial(jit, static_argnames=("ours", "theirs", "dtype"))
def sparse_dense(mat: CoordinateArray, array: Array, ours: Roles, theirs: Roles, dtype: Any) -> Any:
    """A product whose left operand is sparse: gathered rows, scaled, added where they belong."""
    check_batched(mat, ours)
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = clean_parts(mat)
    first_dense = n_batch + n_sparse
    meets = dict(zip((*ours.batch, *ours.contracting), (*theirs.batch, *theirs.contracting)))
    looked = [axis for axis in meets if axis < first_dense]
    joined = [axis for axis in meets if axis >= first_dense]
    array = jnp.transpose(
        array, [*(meets[a] for a in looked), *(meets[a] for a in joined), *theirs.free]
    ).astype(dtype)
    where = places(indices)
    if looked:
        array = array.at[tuple(where[axis] for axis in looked)].get(mode="fill", fill_value=0)
    products = scaled(data.astype(dtype), array, mat, joined, bool(looked))
    rest = [axis for axis in ours.free if axis < first_dense]
    target = (*ours.batch, *rest)
    if not target:
        return products.sum(tuple(range(n_batch + 1)), dtype=dtype)
    shape = (*(mat.shape[axis] for axis in target), *products.shape[n_batch + 1 :])
    out = jnp.zeros(shape, dtype)
    return out.at[tuple(where[axis] for axis in target)].add(products, mode="drop")


def scaled(data: Array, rows: Array, mat: CoordinateArray, joined: list[int], taken: bool) -> Array:
    """Each element times its row, summed along the dense axes that are joined.

    rows has the axes [*batch, nse, *joined, *free], or, unless taken, lacks the stored ones.
    """
    stored = list(range(mat.n_batch + 1))
    free = rows.ndim - len(joined) - (len(stored) if taken else 0)
    if not joined:
        shape = [*rows.shape[: len(stored)], *[1] * mat.n_dense] if taken else []
        return trailing(data, free) * rows.reshape(*shape, *rows.shape[rows.ndim - free :])
    dense = list(range(mat.n_batch + mat.n_sparse, mat.ndim))
    names = [mat.ndim + k for k in range(free)]
    # Stored axes are named by numbers that no axis of the array has.
    stored = [mat.ndim + free + k for k in stored]
    kept = [axis for axis in dense if axis not in joined]
    read = [*(stored if taken else ()), *joined, *names]
    return jnp.einsum(data, [*stored, *dense], rows, read, [*stored, *kept, *names])


def sparse_sparse(
    lhs: Sparse, rhs: CoordinateArray, ours: Roles, theirs: Roles, dtype: Any
) -> Sparse:
    """A product of sparse arrays: every pair of elements, those that do not meet as padding."""
    left, right = aligned(lhs, ours), aligned(rhs, theirs)
    shared, count = len(ours.batch), len(ours.contracting)
    if right.n_batch > shared and left.n_sparse > count:
        raise NotImplementedError(
            f"a product of {lhs!r} and {rhs!r} would have batch axes after sparse ones; call "
            "update_layout."
        )
    batch = (*left.batch_shape, *right.batch_shape[shared:])
    (a, at), (b, other) = parts(left), parts(right)
    grow = (1,) * (right.n_batch - shared)
    a = a.reshape(*left.batch_shape, *grow, lhs.nse, 1).astype(dtype)
    at = at.reshape(*left.batch_shape, *grow, lhs.nse, 1, left.n_sparse)
    grow = (1,) * (left.n_batch - shared)
    heads, tails = right.batch_shape[:shared], right.batch_shape[shared:]
    b = b.reshape(*heads, *grow, *tails, 1, rhs.nse).astype(dtype)
    other = other.reshape(*heads, *grow, *tails, 1, rhs.nse, right.n_sparse)
    met = (at[..., :count] == other[..., :count]).all(-1)
    kept = (left.n_sparse - count, right.n_sparse - count)
    ends = np.asarray((*left.sparse_shape[count:], *right.sparse_shape[count:]), at.dtype)
    pairs = (*batch, lhs.nse, rhs.nse)
    columns = [
        jnp.broadcast_to(index[..., count:], (*pairs, size))
        for index, size in zip((at, other), kept)
    ]
    indices = jnp.where(met[..., None], jnp.concatenate(columns, -1).astype(at.dtype), ends)
    data = jnp.where(met, a * b, jnp.zeros((), dtype))
    nse = lhs.nse * rhs.nse
    shape = (*batch, *left.sparse_shape[count:], *right.sparse_shape[count:])
    out = lhs.like(data.reshape(*batch, nse), indices.reshape(*batch, nse, sum(kept)), shape)
    cells = math.prod(out.sparse_shape)
    return bcoo_sum_duplicates(out, nse=cells) if cells < nse else out


def aligned(mat: Sparse, side: Roles) -> Sparse:
    """An operand with batch axes in front, its contracted sparse axes first, padding set apart."""
    check_batched(mat, side)
    if mat.n_dense or any(axis < mat.n_batch for axis in side.contracting):
        raise NotImplementedError(
            f"a product of two sparse arrays, one of them {mat!r}, contracting its axes "
            f"{side.contracting}: dense axes, or contracted batch axes; call update_layout."
        )
    data, indices = clean_parts(mat)
    whole = mat.like(data, indices, mat.shape)
    free = [axis for axis in side.free if axis < mat.n_batch]
    rest = [axis for axis in side.free if axis >= mat.n_batch]
    return bcoo_transpose(whole, permutation=(*side.batch, *free, *side.contracting, *rest))
