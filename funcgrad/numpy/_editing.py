"""Elements moved along, repeated, left out or put in between: roll, repeat, delete, insert."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_in_dim, broadcast_scalar, concatenate, convert, reshape
from funcgrad.base.shapes import canonical_axes, canonical_axis, concrete_int
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._arithmetic import remainder
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._cumulative import cumsum
from funcgrad.numpy._promotion import as_tuple, is_integer, prepend_axes, to_array, to_arrays
from funcgrad.numpy._ranges import arange
from funcgrad.numpy._shaping import broadcast_to, moveaxis, part, ravel
from funcgrad.numpy._sorting import argsort, searchsorted, sort
from funcgrad.numpy._taking import from_front, known_numbers, take
from funcgrad.primitives.axis_slicing import dynamic_slice_in_dim


def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Elements moved along axes, those that leave coming in at the other end.

    With axis None the flattened array is rolled. The shifts may be traced.
    """
    a = to_array("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.aval.shape)
    axes = [canonical_axis(i, a.ndim) for i in as_tuple(axis)]
    if isinstance(shift, Tracer):
        shifts = list(ravel(shift))
    else:
        shifts = list(np.ravel(shift)) if not isinstance(shift, (tuple, list)) else list(shift)
    if len(shifts) != len(axes):
        shifts = shifts * len(axes) if len(shifts) == 1 else shifts
        axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ValueError(
            f"roll: shift and axis must be scalars or of one length, got {shift} and {axis}"
        )
    for by, along in zip(shifts, axes, strict=True):
        a = _rolled(a, by, along)
    return a


def _rolled(a: Any, by: Any, axis: int) -> Any:
    n = a.aval.shape[axis]
    if n == 0:
        return a
    if isinstance(by, Tracer):
        start = n - remainder(convert(by, dtypes.default_int()), n)
        return dynamic_slice_in_dim(concatenate([a, a], axis), start, n, axis)
    cut = -operator.index(by) % n
    return a if cut == 0 else concatenate([part(a, cut, n, axis), part(a, 0, cut, axis)], axis)


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: None = None,
) -> Any:
    """Each element (or part along an axis) repeated.

    Args:
        a: the array; flattened if the axis is None.
        repeats: how often: one number, or one for each part.
        axis: the axis.
        total_repeat_length: the length of the result, which must be given where `repeats` is
            traced; it is cut, or filled up with the last part.
    """
    a = to_array("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(concrete_int(axis, "axis"), a.ndim)
    counts = to_array("repeat", repeats)
    if total_repeat_length is None:
        known = known_numbers(
            "repeat",
            counts,
            "The shape of the result depends on them: make `repeats` static, or say how long the "
            "result is with a static `total_repeat_length`.",
        )
        if known.ndim == 0:
            return _repeated(a, int(known), axis)
        known = np.broadcast_to(known.ravel(), (a.aval.shape[axis],))
        return take(a, np.repeat(np.arange(len(known)), known), axis)
    total = concrete_int(total_repeat_length, "total_repeat_length")
    n = a.aval.shape[axis]
    if n == 0 or total == 0:
        return part(a, 0, 0, axis)
    ends = cumsum(broadcast_to(ravel(counts), (n,)))
    # The part that a place belongs to is the number of parts that end at or before it.
    owner = searchsorted(ends, arange(total), side="right")
    return take(a, clip(owner, 0, n - 1), axis, mode="clip")


def _repeated(a: Any, count: int, axis: int) -> Any:
    shape = a.aval.shape
    spread = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = [i for i in range(len(spread)) if i != axis + 1]
    merged = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return reshape(broadcast_in_dim(a, spread, kept), merged)


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """arr without the parts at some indices along an axis, or flattened.

    Args:
        arr: the array.
        obj: an index, a slice, an array of indices, or a mask.
        axis: the axis.
        assume_unique_indices: a promise that no index occurs twice, which lets them be traced.
    """
    arr = to_array("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim)
    n = arr.aval.shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(n)[obj]
    elif isinstance(obj, int):
        obj = canonical_axis(obj, n, "index")
    index = to_array("delete", obj)
    if is_integer(index) and assume_unique_indices and isinstance(index, Tracer):
        return take(arr, _others(ravel(index), n), axis)
    gone = known_numbers(
        "delete", index, "Indices to delete must be static, or pass assume_unique_indices=True."
    )
    if gone.dtype == np.bool_:
        if gone.shape != (n,):
            raise ValueError(
                f"delete: a mask must have one element for each of the {n} parts, got {gone.shape}"
            )
        return take(arr, np.nonzero(~gone)[0], axis)
    if not np.issubdtype(gone.dtype, np.integer):
        raise ValueError(f"delete: obj must be integers or booleans, got dtype {gone.dtype}")
    kept = np.ones(n, bool)
    kept[gone] = False
    return take(arr, np.nonzero(kept)[0], axis)


def _others(index: Any, n: int) -> Any:
    """The places among n that are not in the index, whose elements differ."""
    gone = sort(from_front(index, n))
    # Of the first places that stay, each is moved on by the deleted ones at or before it.
    shifted = gone - arange(gone.aval.size, dtype=gone.aval.dtype)
    rank = arange(n - gone.aval.size, dtype=gone.aval.dtype)
    return rank + convert(searchsorted(shifted, rank, side="right"), gone.aval.dtype)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """arr with values put before the given indices along an axis, or flattened.

    Several indices are those of arr as it is, not as it becomes.
    """
    if isinstance(obj, slice):
        length = to_array("insert", arr).aval.size if axis is None else np.shape(arr)[axis]
        obj = np.arange(length)[obj]
    obj = np.zeros(0, np.int32) if isinstance(obj, list) and not obj else obj
    arr, values = to_arrays("insert", arr, values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim)
    index = to_array("insert", np.asarray(obj) if isinstance(obj, list) else obj)
    if index.ndim > 1 or not is_integer(index):
        raise ValueError(
            "insert: obj says where by an integer, by integers in an array of rank 1, or by a "
            f"slice, not by {index.aval.str_short()}"
        )
    n = arr.aval.shape[axis]
    values = prepend_axes(convert(values, arr.aval.dtype), arr.ndim)
    if index.aval.size == 1:
        values = moveaxis(values, 0, axis) if index.ndim == 0 else values
        index = broadcast_to(ravel(index)[0], (values.aval.shape[axis],))
    count = index.aval.size
    where_to = clip(where(index < 0, index + n, index), 0, n)
    order = argsort(where_to)
    # The k-th smallest index has k new elements before its own.
    places = where_to.at[order].add(arange(count, dtype=where_to.aval.dtype))
    shape = tuple(n + count if i == axis else m for i, m in enumerate(arr.aval.shape))
    out = broadcast_scalar(0, arr.aval.update(shape=shape))
    before = (slice(None),) * axis
    out = out.at[(*before, places)].set(values)
    return out.at[(*before, _others(places, n + count))].set(arr)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """filt without the zeros at its front ("f") and back ("b"), along the given axes or all.

    Its elements must be known, since the shape depends on them.
    """
    filt = to_array("trim_zeros", filt)
    host = known_numbers("trim_zeros", filt, "Its length depends on data; cut it outside of jit.")
    ends = trim.lower()
    index = [slice(None)] * filt.ndim
    for i in canonical_axes(axis, filt.ndim):
        others = tuple(j for j in range(filt.ndim) if j != i)
        (found,) = np.nonzero((host != 0).any(axis=others))
        if not len(found):
            index[i] = slice(0, 0) if "f" in ends or "b" in ends else slice(None)
            continue
        first = int(found[0]) if "f" in ends else 0
        last = int(found[-1]) + 1 if "b" in ends else host.shape[i]
        index[i] = slice(first, last)
    return filt[tuple(index)]
