"""Elements and where they are: some leading axes batched, some sparse, some trailing ones dense.

An element whose index lies outside the shape is padding, whatever its value; so arrays of different
counts fit one static size.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.vmap import vmap
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.numpy._promotion import Array
from funcgrad.sparse._base import JAXSparse


class SparseInfo(NamedTuple):
    """What is static about a sparse array."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class Counts(NamedTuple):
    """What leaves of other shapes are compared with."""

    n_batch: int
    nse: int


class CoordinateArray(JAXSparse):
    """What is stored of a BCOO array, and what can be read from it.

    data has shape [*batch, nse, *dense] and indices [*batch, nse, n_sparse]. A batch axis that is
    1 in one of them is shared.
    """

    data: Any
    indices: Any
    indices_sorted: bool
    unique_indices: bool
    _counts: "Counts"

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        super().__init__(args, shape=shape)
        self.data, self.indices = (jnp.asarray(array) for array in args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        check_parts(self.data, self.indices, self.shape)
        self._counts = Counts(self.n_batch, self.nse)

    @property
    def nse(self) -> int:
        """How many elements each batch member specifies, padding included."""
        return self.indices.shape[-2]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def n_batch(self) -> int:
        """The number of leading axes whose members have indices of their own."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of axes that indices tell places on."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of trailing axes that each element has."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The sizes of the batch axes."""
        return self.shape[: self.n_batch]

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The sizes of the dense axes."""
        return self.shape[self.n_batch + self.n_sparse :]

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def like(self, data: Any, indices: Any, shape: Sequence[int], **flags: bool) -> Self:
        """An array of this one's class."""
        return type(self)((data, indices), shape=shape, **flags)

    def with_data(self, data: Any) -> Self:
        """Other elements at the same places."""
        return self.like(
            data,
            self.indices,
            self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """The dense array; elements at the same place are added."""
        data, indices = clean_parts(self)
        if data.dtype == np.bool_:
            counts = self.with_data(self.data.astype(np.int32)).todense()
            return counts > 0
        if self.n_batch + self.n_sparse == 0:
            return data.sum(0, dtype=data.dtype)
        zeros = jnp.zeros(self.shape, data.dtype)
        return zeros.at[places(indices)].add(data, mode="drop")

    def block_until_ready(self) -> Self:
        """This array, once what it stores has been computed."""
        for array in (self.data, self.indices):
            array.block_until_ready()
        return self

    def tree_flatten(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        """Data and indices are leaves, the rest is static."""
        return (self.data, self.indices), self._info._asdict() | self._counts._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Any) -> Self:
        """The array with these leaves; batch axes that both have gained or lost are so in it too.

        That is what vmap does. Leaves of any kind are taken, which only their use may refuse.
        """
        new = object.__new__(cls)
        new.data, new.indices = children
        new.indices_sorted = aux_data["indices_sorted"]
        new.unique_indices = aux_data["unique_indices"]
        counts = Counts(aux_data["n_batch"], aux_data["nse"])
        new.shape, new._counts = fitted(new.data, new.indices, aux_data["shape"], counts)
        return new

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            extra = "".join(
                f", {count}={getattr(self, count)}"
                for count in ("n_batch", "n_dense")
                if getattr(self, count)
            )
            return f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}{extra})"
        except (AttributeError, IndexError):
            return f"{name}({self.data!r}, {self.indices!r}, shape={self.shape})"


def check_parts(data: Any, indices: Any, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless data and indices describe an array of this shape."""
    given = f"data {data.dtype}{list(data.shape)}, indices {indices.dtype}{list(indices.shape)}"
    given = f"BCOO of shape {shape} with {given}:"
    if not jnp.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"{given} the indices must be integers.")
    if indices.ndim < 2:
        raise ValueError(f"{given} indices must be of shape [*batch, nse, n_sparse].")
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    n_dense = data.ndim - 1 - n_batch
    if n_dense < 0 or n_batch + n_sparse + n_dense != len(shape):
        raise ValueError(
            f"{given} with {n_batch} batch and {n_sparse} sparse axes, data must be of shape "
            f"[*batch, nse, *dense] with {len(shape) - n_batch - n_sparse} dense axes."
        )
    if data.shape[n_batch] != indices.shape[n_batch]:
        raise ValueError(f"{given} they disagree on how many elements there are.")
    if data.shape[n_batch + 1 :] != shape[n_batch + n_sparse :]:
        raise ValueError(f"{given} the dense axes of data must be those that end the shape.")
    for part in (data, indices):
        if any(size not in (1, full) for size, full in zip(part.shape, shape[:n_batch])):
            raise ValueError(f"{given} batch axes must have the size of the shape, or 1.")


def fitted(
    data: Any, indices: Any, shape: tuple[int, ...], counts: Counts
) -> tuple[tuple[int, ...], Counts]:
    """The shape with as many batch axes as the leaves have, if they agree with it otherwise."""
    sizes, places_shape = getattr(data, "shape", None), getattr(indices, "shape", None)
    if not isinstance(sizes, tuple) or not isinstance(places_shape, tuple):
        return shape, counts
    n_batch = len(places_shape) - 2
    if n_batch < 0 or n_batch == counts.n_batch:
        return shape, counts
    own = shape[counts.n_batch :]
    rest = (counts.nse, *own[places_shape[-1] :])
    if sizes[n_batch:] != rest or places_shape[n_batch] != counts.nse:
        return shape, counts
    batch = np.broadcast_shapes(sizes[:n_batch], places_shape[:n_batch])
    return (*batch, *own), Counts(n_batch, counts.nse)


def parts(mat: CoordinateArray) -> tuple[Array, Array]:
    """Data and indices with batch axes of full size."""
    check_parts(mat.data, mat.indices, mat.shape)
    batch = mat.batch_shape
    data = jnp.broadcast_to(mat.data, (*batch, *mat.data.shape[mat.n_batch :]))
    return data, jnp.broadcast_to(mat.indices, (*batch, *mat.indices.shape[mat.n_batch :]))


def inside(mat: CoordinateArray, indices: Array) -> Array:
    """Which elements are not padding: booleans [*batch, nse]."""
    sizes = np.asarray(mat.sparse_shape, indices.dtype)
    return ((indices >= 0) & (indices < sizes)).all(-1)


def clean_parts(mat: CoordinateArray) -> tuple[Array, Array]:
    """Data and indices of full size; padding is zero, at the index one past the end."""
    data, indices = parts(mat)
    kept = inside(mat, indices)
    indices = jnp.where(kept[..., None], indices, np.asarray(mat.sparse_shape, indices.dtype))
    return jnp.where(trailing(kept, mat.n_dense), data, jnp.zeros((), data.dtype)), indices


def trailing(array: Array, count: int) -> Array:
    """The array with so many new axes at its end."""
    return array.reshape(*array.shape, *[1] * count)


def batch_places(shape: tuple[int, ...], n_batch: int) -> tuple[Array, ...]:
    """For each batch axis, where on it an element of this shape lies."""
    return tuple(lax.broadcasted_iota(np.int32, shape, axis) for axis in range(n_batch))


def places(indices: Array) -> tuple[Array, ...]:
    """The index of each element in the dense array, without its dense axes."""
    columns = tuple(indices[..., k] for k in range(indices.shape[-1]))
    return (*batch_places(indices.shape[:-1], indices.ndim - 2), *columns)


def values_at(array: Array, indices: Array) -> Array:
    """The values of a dense array at these indices; zero outside."""
    found = places(indices)
    if not found:
        return jnp.broadcast_to(array, (indices.shape[0], *array.shape))
    return array.at[found].get(mode="fill", fill_value=0)


def concrete_count(count: Any, nse: int | None, asked: str) -> int:
    """nse, which must be enough for the count where that is known; else the count, known or not."""
    try:
        known = int(count)
    except ConcretizationTypeError:
        if nse is not None:
            return int(nse)
        message = f"{asked}: traced values decide how many elements there are; say nse."
        raise ConcretizationTypeError(message) from None
    if nse is not None and known > nse:
        raise ValueError(f"{asked}: there are {known} elements, more than nse={nse}.")
    return known if nse is None else int(nse)


def fromdense_parts(
    mat: Array, nse: int | None, n_batch: int, n_dense: int, index_dtype: Any
) -> tuple[Array, Array]:
    """Data and indices of what is not zero, in order, with padding at the end."""
    n_sparse = mat.ndim - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ValueError(
            f"an array of shape {mat.shape} cannot have n_batch={n_batch} batch axes and "
            f"n_dense={n_dense} dense ones."
        )
    batch, sparse = mat.shape[:n_batch], mat.shape[n_batch : n_batch + n_sparse]
    size = int(np.prod(sparse, dtype=np.int64))
    wanted = (mat != 0).any(tuple(range(n_batch + n_sparse, mat.ndim)))
    wanted = wanted.reshape(int(np.prod(batch, dtype=np.int64)), size)
    nse = concrete_count(wanted.sum(1).max(initial=0), nse, "a sparse array of a dense one")

    def found(row: Array) -> Array:
        return jnp.nonzero(row, size=nse, fill_value=size)[0]

    flat = vmap(found)(wanted) if wanted.shape[0] else jnp.zeros((0, nse), np.int32)
    columns = jnp.unravel_index(jnp.minimum(flat, max(size - 1, 0)), sparse) if n_sparse else ()
    columns = [jnp.where(flat < size, c, end) for c, end in zip(columns, sparse)]
    indices = jnp.stack(columns, -1) if columns else jnp.zeros((*flat.shape, 0), np.int32)
    indices = indices.astype(index_dtype).reshape(*batch, nse, n_sparse)
    if not n_sparse:
        first = jnp.arange(nse) == 0
        data = jnp.expand_dims(mat, n_batch)
        return jnp.where(trailing(first, n_dense), data, jnp.zeros((), mat.dtype)), indices
    return values_at(mat, indices), indices
