"""Basic indexing of sparse arrays: integers, slices, ellipses and new axes."""

import operator
from typing import Any

import numpy as np

from funcgrad.sparse._coordinates import CoordinateArray
from funcgrad.sparse._layouts import Sparse
from funcgrad.sparse._shapes import bcoo_broadcast_in_dim
from funcgrad.sparse._slicing import (
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)


def indexed(mat: Sparse, idx: Any) -> Sparse:
    """mat[idx]."""
    items = complete(mat, idx if isinstance(idx, tuple) else (idx,))
    axes = [item for item in items if item is not None]
    cuts = [cut(item, size, mat.shape) for item, size in zip(axes, mat.shape)]
    if any(part != range(size) for part, size in zip(cuts, mat.shape)):
        rising = [part if part.step > 0 else part[::-1] for part in cuts]
        mat = bcoo_slice(
            mat,
            start_indices=[part.start if part else 0 for part in rising],
            limit_indices=[part[-1] + 1 if part else 0 for part in rising],
            strides=[part.step for part in rising],
        )
    turned = [axis for axis, part in enumerate(cuts) if part.step < 0]
    mat = bcoo_rev(mat, turned) if turned else mat
    single = [axis for axis, item in enumerate(axes) if not isinstance(item, slice)]
    mat = bcoo_squeeze(mat, dimensions=single) if single else mat
    kept = [item for item in items if item is None or isinstance(item, slice)]
    if None not in kept:
        return mat
    sizes = iter(mat.shape)
    shape = [1 if item is None else next(sizes) for item in kept]
    own = [axis for axis, item in enumerate(kept) if item is not None]
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=own)


def complete(mat: CoordinateArray, items: tuple[Any, ...]) -> list[Any]:
    """The index with something for each axis: its ellipsis, or its end, filled with `:`."""
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    given = sum(item is not None and item is not Ellipsis for item in items)
    if len(dots) > 1:
        raise IndexError(f"index {items} has more than one ellipsis.")
    if given > mat.ndim:
        raise IndexError(f"index {items} is for {given} axes, and the array has shape {mat.shape}.")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * (mat.ndim - given), *items[at + 1 :]]


def cut(item: Any, size: int, shape: tuple[int, ...]) -> range:
    """The places along an axis that an integer or a slice means."""
    if isinstance(item, slice):
        return range(*item.indices(size))
    if isinstance(item, bool | np.bool_):
        raise NotImplementedError(f"a sparse array of shape {shape} is not indexed by booleans.")
    try:
        place = operator.index(item)
    except TypeError:
        raise NotImplementedError(
            f"a sparse array of shape {shape} is indexed by integers, slices, ... and None, not by "
            f"{type(item).__name__}; bcoo_dynamic_slice takes places that are traced."
        ) from None
    if not -size <= place < size:
        raise IndexError(f"index {place} is outside an axis of size {size} of shape {shape}.")
    return range(place % size, place % size + 1)
