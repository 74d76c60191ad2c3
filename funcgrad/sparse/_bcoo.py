"""BCOO: a sparse array as a pytree, with the operators of arrays."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axes
from funcgrad.base.tree import register_pytree_node_class
from funcgrad.base.typing import ArrayLike
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._coordinates import CoordinateArray, fromdense_parts
from funcgrad.sparse._indexing import indexed
from funcgrad.sparse._layouts import (
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
    without_zeros,
)
from funcgrad.sparse._operators import add, divide, matmul, multiply, negative, power
from funcgrad.sparse._products import bcoo_reduce_sum
from funcgrad.sparse._shapes import bcoo_broadcast_in_dim, bcoo_reshape


@register_pytree_node_class
class BCOO(CoordinateArray):
    """A sparse array as a list of elements and their indices, for each member of a batch.

    Of the axes of the shape, the first n_batch have elements of their own, the next n_sparse are
    those that indices tell places on, and each element is an array over the last n_dense. Elements
    at one place are added. One with an index outside the shape is padding and counts for nothing.

    Functions take BCOO arrays under jit, under vmap and under derivatives, of which `grad` of this
    module takes them by their data. An axis that vmap maps or makes must be a batch axis.

    Args:
        args: data [*batch, nse, *dense], and integers [*batch, nse, n_sparse].
        shape: of the array they stand for, [*batch, *sparse, *dense].
        indices_sorted: whether the indices are known to be in order.
        unique_indices: whether they are known to differ.

    Raises:
        TypeError: if the indices are not integers.
        ValueError: if the shapes do not fit.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> a = sparse.BCOO((jnp.array([1., 2.]), jnp.array([[0, 1], [1, 0]])), shape=(2, 2))
        >>> a @ jnp.array([1., 10.])
        Array([10.,  2.], dtype=float32)

    Source: jax.experimental.sparse.BCOO. Here a negative index is padding too, padding need not be
    zero, and array[i] raises IndexError where JAX gives zeros for a place outside the shape.
    """

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCOO":
        """The elements of a dense array that are not zero; see bcoo_fromdense."""
        return bcoo_fromdense(
            mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCOO":
        """The elements of a matrix of scipy.sparse, in the order in which it stores them."""
        if n_dense or n_batch:
            raise NotImplementedError(
                f"from_scipy_sparse with n_batch={n_batch}, n_dense={n_dense}: SciPy's matrices "
                "have sparse axes only; call update_layout on what this returns."
            )
        mat = mat.tocoo()
        indices = np.stack([mat.row, mat.col], -1).astype(index_dtype or np.int32)
        return cls((jnp.asarray(mat.data), jnp.asarray(indices)), shape=mat.shape)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        """The array with its axes in another order: each kind reversed, unless told."""
        order = range(self.ndim)[::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=order)

    def sort_indices(self) -> "BCOO":
        """The same array with its elements in the order of their places."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCOO":
        """The same array with one element a place, and none that is zero unless told to keep it."""
        return bcoo_sum_duplicates(without_zeros(self) if remove_zeros else self, nse=nse)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str = "error",
    ) -> "BCOO":
        """The same array with other numbers of batch and dense axes; see bcoo_update_layout."""
        return bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def astype(self, dtype: Any) -> "BCOO":
        """The array with elements of another dtype."""
        return self.with_data(self.data.astype(dtype))

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """The sum along some axes, sparse; along all of them, dense."""
        if out is not None:
            raise NotImplementedError("sum of a sparse array has no out.")
        if dtype is None:
            dtype = jnp.sum(jnp.zeros(0, self.dtype)).dtype
        axes = tuple(range(self.ndim)) if axis is None else axis
        axes = canonical_axes((axes,) if isinstance(axes, int) else axes, self.ndim)
        out_mat = bcoo_reduce_sum(self.astype(dtype), axes=axes)
        if keepdims:
            shape = [1 if axis in axes else size for axis, size in enumerate(self.shape)]
            kept = [axis for axis in range(self.ndim) if axis not in axes]
            out_mat = bcoo_broadcast_in_dim(out_mat, shape=shape, broadcast_dimensions=kept)
        return out_mat if len(axes) < self.ndim else out_mat.todense()

    def reshape(self, *args: Any, order: str = "C") -> "BCOO":
        """The array in another shape, given as integers or one sequence; one of them may be -1."""
        sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        sizes = [operator.index(size) for size in sizes]
        if -1 in sizes:
            rest = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
            sizes[sizes.index(-1)] = self.size // max(rest, 1)
        if order == "F":
            return bcoo_reshape(self.T, new_sizes=sizes[::-1]).T
        if order != "C":
            raise ValueError(f"reshape of a sparse array takes order 'C' or 'F', not {order!r}.")
        return bcoo_reshape(self, new_sizes=sizes)

    def __getitem__(self, idx: Any) -> "BCOO":
        return indexed(self, idx)

    def __iter__(self) -> "Iterator[BCOO]":
        return (self[k] for k in range(len(self)))

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return matmul(other, self)

    def __mul__(self, other: Any) -> "BCOO":
        return multiply(self, other)

    def __rmul__(self, other: Any) -> "BCOO":
        return multiply(self, other)

    def __truediv__(self, other: Any) -> "BCOO":
        return divide(self, other)

    def __pow__(self, exponent: Any) -> "BCOO":
        return power(self, exponent)

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise NotImplementedError(f"a quotient by {self!r} is not sparse; divide by its todense().")

    def __rpow__(self, other: Any) -> NoReturn:
        raise NotImplementedError(f"a power with exponents {self!r} is not sparse; use todense().")

    def __eq__(self, other: object) -> NoReturn:
        raise NotImplementedError(f"where {self!r} equals something is not sparse; use todense().")

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> "BCOO":
        return negative(self)

    def __pos__(self) -> "BCOO":
        return self

    def __abs__(self) -> "BCOO":
        mat = self if self.unique_indices else bcoo_sum_duplicates(self, nse=self.nse)
        return mat.with_data(abs(mat.data))

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add(self, other)

    def __sub__(self, other: Any) -> Any:
        return add(self, negative(other))

    def __rsub__(self, other: Any) -> Any:
        return add(negative(self), other)


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The elements of a dense array that are not zero, in order.

    Args:
        mat: an array.
        nse: how many to store for each batch member; without it, the most that a member has.
        n_batch: how many leading axes have elements of their own.
        n_dense: how many trailing axes each element has.
        index_dtype: of the indices.

    Returns:
        A BCOO array with indices_sorted and unique_indices set. Padding comes last.

    Raises:
        ValueError: if there are fewer axes than asked for, or more elements than nse where that is
            known. Under a transformation the last elements are dropped.
        ConcretizationTypeError: without nse, if mat is traced.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> sparse.bcoo_fromdense(jnp.array([0, 5, 0, 7])).indices
        Array([[1],
               [3]], dtype=int32)
    """
    array: Any = jnp.asarray(mat)
    data, indices = fromdense_parts(array, nse, n_batch, n_dense, index_dtype)
    return BCOO((data, indices), shape=array.shape, indices_sorted=True, unique_indices=True)
