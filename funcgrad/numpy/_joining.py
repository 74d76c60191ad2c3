"""Arrays put together and taken apart: concatenate, stack, block, split, tile, repeat, append."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import broadcast_in_dim, convert, reshape
from funcgrad.base.methods import Array
from funcgrad.base.shapes import Shape, canonical_axis, concrete_int, insert_dim
from funcgrad.numpy._promotion import (
    as_tuple,
    has_members,
    promote_dtypes,
    refuse_out,
    to_array,
    to_arrays,
)
from funcgrad.numpy._shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    moveaxis,
    part,
    ravel,
    transpose,
)

Arrays = Sequence[Any] | Any


def _listed(name: str, arrays: Arrays) -> list[Any]:
    """The arrays of a sequence, or the members along the first axis of one array."""
    if isinstance(arrays, (Array, np.ndarray)):
        arrays = unstack(arrays)
    if not isinstance(arrays, Sequence):
        arrays = tuple(arrays)
    if not arrays:
        raise ValueError(f"{name}: need at least one array")
    return to_arrays(name, *arrays)


def _in_one_dtype(name: str, arrays: Sequence[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return promote_dtypes(name, *arrays)
    dtype = dtypes.check_user_dtype(dtype, name)
    return [convert(x, dtype) for x in arrays]


# joining


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an axis; with axis None, flattened first.

    Raises ValueError for no arrays or scalars, TypeError where other axes differ in length.
    """
    if isinstance(arrays, (Array, np.ndarray)) and axis is not None and len(arrays.shape) > 1:
        return _concatenate_members(to_array("concatenate", arrays), axis, dtype)
    found = _listed("concatenate", arrays)
    if axis is None:
        return basis.concatenate(_in_one_dtype("concatenate", [ravel(x) for x in found], dtype), 0)
    rank = len(found[0].aval.shape)
    if rank == 0:
        raise ValueError(
            "concatenate: a zero-dimensional array has no axis to join along; use stack"
        )
    return basis.concatenate(_in_one_dtype("concatenate", found, dtype), canonical_axis(axis, rank))


def _concatenate_members(x: Any, axis: int, dtype: Any) -> Any:
    """The members of x along its first axis, joined: a transpose and a reshape."""
    if x.aval.shape[0] == 0:
        raise ValueError("concatenate: need at least one array")
    axis = canonical_axis(axis, x.ndim - 1)
    moved = moveaxis(x, 0, axis)
    shape = moved.aval.shape
    joined = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    return _in_one_dtype("concatenate", [reshape(moved, joined)], dtype)[0]


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis; with axis None, flattened first."""
    return concatenate(arrays, axis)


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis."""
    refuse_out("stack", out)
    if isinstance(arrays, (Array, np.ndarray)) and len(arrays.shape) and arrays.shape[0]:
        x = to_array("stack", arrays)
        return _in_one_dtype("stack", [moveaxis(x, 0, canonical_axis(axis, x.ndim))], dtype)[0]
    found = _in_one_dtype("stack", _listed("stack", arrays), dtype)
    shapes = {x.aval.shape for x in found}
    if len(shapes) > 1:
        raise ValueError(f"stack: arrays of one shape are needed, got the shapes {sorted(shapes)}")
    axis = canonical_axis(axis, len(found[0].aval.shape) + 1)
    shape = found[0].aval.shape
    return basis.concatenate([reshape(x, insert_dim(shape, axis, 1)) for x in found], axis)


def vstack(tup: Arrays, dtype: Any = None) -> Any:
    """Arrays joined along axis 0; those of rank 1 count as rows."""
    return concatenate([atleast_2d(x) for x in _listed("vstack", tup)], 0, dtype)


def hstack(tup: Arrays, dtype: Any = None) -> Any:
    """Arrays joined along axis 1; those of rank 1 along axis 0."""
    found = [atleast_1d(x) for x in _listed("hstack", tup)]
    return concatenate(found, 0 if found[0].ndim == 1 else 1, dtype)


def dstack(tup: Arrays, dtype: Any = None) -> Any:
    """Arrays joined along axis 2; those of a lower rank get it."""
    return concatenate([atleast_3d(x) for x in _listed("dstack", tup)], 2, dtype)


def column_stack(tup: Arrays) -> Any:
    """Arrays joined along axis 1; those of rank 1 count as columns."""
    found = _listed("column_stack", tup)
    return concatenate([transpose(atleast_2d(x)) if x.ndim < 2 else x for x in found], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` joined to the end of `arr` along an axis; with axis None, both flattened."""
    return concatenate(to_arrays("append", arr, values), axis)


def block(arrays: Any) -> Any:
    """Nested lists of blocks joined: the innermost along the last axis, and so on outwards."""
    depth = _depth(arrays)
    leaves = _flat(arrays)
    rank = max([depth, *(len(x.aval.shape) for x in to_arrays("block", *leaves))])
    return _block(arrays, depth, rank)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("block: nest lists, not tuples")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: one of the lists is empty, and has no shape")
    depths = {_depth(x) for x in arrays}
    if len(depths) > 1:
        raise ValueError(f"block: lists must be nested to one depth, found {sorted(depths)}")
    return 1 + depths.pop()


def _flat(arrays: Any) -> list[Any]:
    return [leaf for x in arrays for leaf in _flat(x)] if isinstance(arrays, list) else [arrays]


def _block(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        x = to_array("block", arrays)
        return reshape(x, (1,) * (rank - x.ndim) + x.aval.shape)
    return concatenate([_block(x, depth - 1, rank) for x in arrays], rank - depth)


# splitting


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of an array along an axis: that many of equal length, or cut at the given places."""
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`split` whose first parts are longer by one where the length does not divide."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 0."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 1, or the only axis."""
    ary = to_array("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 2."""
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary: Any, parts: Any, axis: int) -> list[Any]:
    ary = to_array(name, ary)
    shape = ary.aval.shape
    axis = canonical_axis(axis, len(shape))
    cuts = _cuts(name, shape[axis], parts)
    return [part(ary, a, b, axis) for a, b in itertools.pairwise(cuts)]


def _cuts(name: str, length: int, parts: Any) -> list[int]:
    """Where the parts begin, and the end."""
    if has_members(parts):
        places = [concrete_int(i, "indices_or_sections") for i in parts]
        inside = [min(max(i + length if i < 0 else i, 0), length) for i in places]
        return [0, *inside, length]
    count = concrete_int(parts, "indices_or_sections")
    if count <= 0:
        raise ValueError(f"{name}: the number of sections must be positive, got {count}")
    each, rest = divmod(length, count)
    if rest and name != "array_split":
        raise ValueError(
            f"{name}: no equal division of an axis of length {length} into {count} parts: {rest} "
            "would be left over; array_split allows that"
        )
    sizes = [each + 1] * rest + [each] * (count - rest)
    return [0, *np.cumsum(sizes).tolist()]


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The members along an axis, a tuple of arrays without it."""
    x = to_array("unstack", x)
    if not x.aval.shape:
        raise ValueError("unstack requires an array with ndim > 0, got a scalar array.")
    axis = canonical_axis(axis, x.ndim)
    return tuple(basis.squeeze(part(x, i, i + 1, axis), (axis,)) for i in range(x.aval.shape[axis]))


# repeating


def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """The array laid side by side `reps` times along each axis, the last axes first."""
    A = to_array("tile", A)
    counts = tuple(concrete_int(r, "reps") for r in as_tuple(reps))
    rank = max(len(counts), A.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    shape: Shape = (1,) * (rank - A.ndim) + A.aval.shape
    if any(c < 0 for c in counts):
        raise ValueError(f"tile: reps may not be negative, got {reps}")
    spread = [n for pair in zip(counts, shape, strict=True) for n in pair]
    kept = range(2 * (rank - A.ndim) + 1, 2 * rank, 2)
    tiled = broadcast_in_dim(A, tuple(spread), kept)
    return reshape(tiled, tuple(map(math.prod, zip(counts, shape, strict=True))))
