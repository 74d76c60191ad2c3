"""Operators between sparse arrays, dense ones and numbers, where the result is worth storing so."""

from typing import Any

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.sparse._base import JAXSparse
from funcgrad.sparse._coordinates import CoordinateArray, clean_parts
from funcgrad.sparse._layouts import Sparse, bcoo_sum_duplicates
from funcgrad.sparse._products import (
    bcoo_dot_general,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
    matching_values,
    same_layout,
)
from funcgrad.sparse._slicing import bcoo_squeeze


def negative(x: Any) -> Any:
    """Minus x, sparse or dense."""
    return x.with_data(-x.data) if isinstance(x, CoordinateArray) else jnp.negative(x)


def multiply(mat: Sparse, other: Any) -> Sparse:
    """A product element by element: sparse, whatever the other operand is."""
    if isinstance(other, CoordinateArray):
        return bcoo_multiply_sparse(mat, other)
    if isinstance(other, JAXSparse):
        raise NotImplementedError(f"a product of {mat!r} with a {type(other).__name__}.")
    return mat.with_data(bcoo_multiply_dense(mat, other))


def divide(mat: Sparse, other: Any) -> Sparse:
    """A quotient by numbers or a dense array."""
    if isinstance(other, JAXSparse):
        raise NotImplementedError(
            f"{mat!r} divided by a sparse array is nan nearly everywhere; divide by todense()."
        )
    return mat.with_data(mat.data / matching_values(mat, other, outside=1))


def power(mat: Sparse, exponent: Any) -> Sparse:
    """A positive integer power of each element."""
    if not isinstance(exponent, int | np.integer) or exponent <= 0:
        raise NotImplementedError(
            f"{mat!r} to the power {exponent!r}: only positive integers leave zeros zero for "
            "certain; use todense() for others."
        )
    mat = mat if mat.unique_indices else bcoo_sum_duplicates(mat, nse=mat.nse)
    return mat.with_data(mat.data**exponent)


def add(mat: Any, other: Any) -> Any:
    """A sum: sparse with a sparse array, dense with a dense one."""
    if isinstance(mat, CoordinateArray) and isinstance(other, CoordinateArray):
        return add_sparse(mat, other)
    dense, sparse = (other, mat) if isinstance(mat, CoordinateArray) else (mat, other)
    dense = jnp.asarray(dense)
    if np.broadcast_shapes(dense.shape, sparse.shape) != dense.shape:
        raise NotImplementedError(
            f"{sparse!r} plus a dense array of shape {dense.shape} has more elements than either "
            "stores; use todense() if that is meant."
        )
    return sparse.todense() + dense


def add_sparse(lhs: Sparse, rhs: CoordinateArray) -> Sparse:
    """The elements of both, in one list."""
    pairs = [clean_parts(mat) for mat in same_layout(lhs, rhs)]
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    axis = pairs[0][1].ndim - 2
    data, indices = (jnp.concatenate(arrays, axis) for arrays in zip(*pairs))
    return lhs.like(data, indices, shape)


def matmul(lhs: Any, rhs: Any) -> Any:
    """The matrix product of two operands, of which at least one is sparse."""
    lhs, rhs = (x if isinstance(x, JAXSparse) else jnp.asarray(x) for x in (lhs, rhs))
    if not (lhs.ndim and rhs.ndim):
        raise ValueError(f"matmul takes no scalars, and got shapes {lhs.shape} and {rhs.shape}.")
    batch = max(lhs.ndim, rhs.ndim, 2) - 2
    row, column, joined = batch, batch + 1, batch + 2
    left = [*range(batch + 2 - lhs.ndim, batch), row, joined] if lhs.ndim > 1 else [joined]
    right = [*range(batch + 2 - rhs.ndim, batch), joined, column] if rhs.ndim > 1 else [joined]
    lhs, left = without_ones(lhs, left, rhs, right, batch)
    rhs, right = without_ones(rhs, right, lhs, left, batch)
    shared = [axis for axis in left if axis in right and axis < batch]
    out = bcoo_dot_general(
        lhs,
        rhs,
        dimension_numbers=(
            ([left.index(joined)], [right.index(joined)]),
            ([left.index(axis) for axis in shared], [right.index(axis) for axis in shared]),
        ),
    )
    named = [*shared, joined]
    axes = [*shared, *(axis for axis in (*left, *right) if axis not in named)]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order == list(range(len(axes))):
        return out
    sparse = isinstance(out, JAXSparse)
    return out.transpose(order) if sparse else jnp.transpose(out, order)


def without_ones(
    mat: Any, axes: list[int], other: Any, others: list[int], batch: int
) -> tuple[Any, list[int]]:
    """An operand without the batch axes of size one along which the other one is longer."""
    sizes = dict(zip(others, other.shape))
    gone = [
        k
        for k, axis in enumerate(axes)
        if axis < batch and mat.shape[k] == 1 and sizes.get(axis, 1) != 1
    ]
    if not gone:
        return mat, axes
    squeeze = isinstance(mat, CoordinateArray)
    mat = bcoo_squeeze(mat, dimensions=gone) if squeeze else jnp.squeeze(mat, tuple(gone))
    return mat, [axis for k, axis in enumerate(axes) if k not in gone]
