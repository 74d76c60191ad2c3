"""Elements taken from, or put into, places given by index arrays: take, put, choose, ..."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import broadcast_scalar, convert, iota, reshape
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import broadcast_shapes, canonical_axis, concrete_int
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._arithmetic import remainder
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._creation import array as make_array
from funcgrad.numpy._joining import stack, tile
from funcgrad.numpy._nonzero import known_mask, nonzero, unravel
from funcgrad.numpy._promotion import (
    as_tuple,
    broadcast,
    broadcast_together,
    is_bool,
    is_integer,
    is_unsigned,
    like,
    refuse_out,
    to_array,
    to_arrays,
)
from funcgrad.numpy._shaping import broadcast_to, moveaxis, ravel, squeeze
from funcgrad.numpy._sorting import argsort
from funcgrad.primitives.gathering import take_along
from funcgrad.primitives.indexing import gather
from funcgrad.primitives.indexing_spec import GatherDimensionNumbers, GatherScatterMode


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The elements of a at the indices along an axis, of the flattened array if that is None.

    Args:
        a: the array.
        indices: integers; negative ones count from the end.
        axis: the axis.
        out: None.
        mode: for indices out of bounds: "fill" (the default) gives `fill_value`, "clip" moves them
            inside (where negative ones do not count from the end), "wrap" takes them modulo the
            length.
        unique_indices, indices_are_sorted: promises that may make it faster.
        fill_value: nan by default, or the smallest (for unsigned: largest) integer.
    """
    refuse_out("take", out)
    a, indices = to_arrays("take", a, indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(concrete_int(axis, "axis"), a.ndim)
    size = a.aval.shape[axis]
    indices, gather_mode = _by_mode("take", indices, size, mode)
    shape = a.aval.shape
    result = (*shape[:axis], *indices.aval.shape, *shape[axis + 1 :])
    if size == 0 and indices.aval.size:
        raise IndexError(f"take: cannot take from the empty axis {axis} of shape {shape}")
    if 0 in result:
        return broadcast_scalar(0, a.aval.update(shape=result))
    first, rank = axis, indices.ndim
    numbers = GatherDimensionNumbers(
        offset_dims=(*range(first), *range(first + rank, len(result))),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if i == axis else n for i, n in enumerate(shape))
    return gather(
        a,
        reshape(indices, (*indices.aval.shape, 1)),
        numbers,
        sizes,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=gather_mode,
        fill_value=fill_value,
    )


def _by_mode(name: str, indices: Any, size: int, mode: str | None) -> tuple[Any, GatherScatterMode]:
    _check_integer(name, indices)
    if mode is None or mode == "fill":
        return from_front(indices, size), GatherScatterMode.FILL_OR_DROP
    if mode == "wrap":
        return remainder(indices, max(size, 1)), GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "clip":
        return indices, GatherScatterMode.CLIP
    if mode == "raise":
        raise NotImplementedError(
            f"{name}: mode 'raise' is not offered: a program cannot stop at an element. Use "
            "'fill', 'clip' or 'wrap'."
        )
    raise ValueError(f"{name}: invalid mode {mode!r}; there are 'fill', 'clip' and 'wrap'")


def _check_integer(name: str, indices: Any) -> None:
    if not is_integer(indices):
        raise TypeError(f"{name}: indices are integers, but {indices.aval.str_short()} came")


def from_front(indices: Any, size: int) -> Any:
    """Indices with negative ones counted from the end."""
    if is_unsigned(indices):
        return indices
    if dtypes.iinfo(indices.aval.dtype).max < size:
        indices = convert(indices, dtypes.default_int())
    return where(indices < like(0, indices), indices + like(size, indices), indices)


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """arr[i, ..., indices[i, ..., j], ...]: elements taken along one axis, the others together.

    The other axes broadcast.

    Args:
        arr: the array.
        indices: integers, of the rank of arr.
        axis: the axis; None takes from the flattened array, with indices of one axis.
        mode: for indices out of bounds: "fill" (the default), "clip", "promise_in_bounds", or
            "one_hot", which gives 0.
        fill_value: what "fill" gives; nan by default, or the extreme integer.
        wrap_negative_indices: whether negative ones count from the end.
    """
    arr, indices = to_arrays("take_along_axis", arr, indices)
    _check_integer("take_along_axis", indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"take_along_axis: axis=None takes one axis of indices, not {indices.aval.shape}"
            )
        arr, axis = ravel(arr), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            "take_along_axis: indices and arr differ in rank: their shapes are "
            f"{indices.aval.shape} and {arr.aval.shape}"
        )
    axis = canonical_axis(axis, arr.ndim)
    size = arr.aval.shape[axis]
    others = tuple(1 if i == axis else n for i, n in enumerate(arr.aval.shape))
    shape = broadcast_shapes(indices.aval.shape, others, names="take_along_axis got shapes")
    if 0 in shape or size == 0:
        return broadcast_scalar(0, arr.aval.update(shape=shape))
    if mode in ("one_hot", GatherScatterMode.ONE_HOT):
        mode, fill_value = "fill", 0
    if wrap_negative_indices is None:
        wrap_negative_indices = mode != "promise_in_bounds"
    if wrap_negative_indices:
        indices = from_front(indices, size)
    along = tuple(size if i == axis else n for i, n in enumerate(shape))
    arr, indices = broadcast(arr, along), broadcast(indices, shape)
    axes = tuple(i for i in range(arr.ndim) if i != axis)
    return gather(
        arr,
        reshape(indices, (*shape, 1)),
        GatherDimensionNumbers((), (axis,), (axis,), axes, axes),
        (1,) * arr.ndim,
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
    )


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """arr, but with values where `take_along_axis` would take them. Pass inplace=False."""
    _refuse_inplace("put_along_axis", inplace)
    arr, indices, values = to_arrays("put_along_axis", arr, indices, values)
    operand = ravel(arr) if axis is None else arr
    along = 0 if axis is None else canonical_axis(axis, arr.ndim)
    if operand.ndim != indices.ndim:
        raise ValueError(
            "put_along_axis: arr and indices differ in rank: their shapes are "
            f"{operand.aval.shape} and {indices.aval.shape}"
        )
    values = broadcast_to(values, indices.aval.shape)
    lines = [
        iota(indices.aval.dtype, tuple(n if j == i else 1 for j in range(operand.ndim)), i)
        for i, n in enumerate(operand.aval.shape)
    ]
    lines[along] = indices
    return reshape(operand.at[tuple(lines)].set(values, mode=mode), arr.aval.shape)


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"{name} gives a new array, for an array never changes; say so with inplace=False."
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """A copy of a with values v (repeated as needed) at places of the flattened array.

    Places out of bounds are dropped; mode "clip" moves them inside, "wrap" takes them modulo the
    size. Pass inplace=False.
    """
    _refuse_inplace("put", inplace)
    a, ind, v = to_arrays("put", a, ind, v)
    places, values = ravel(ind), ravel(v)
    if not a.aval.size or not places.aval.size or not values.aval.size:
        return a
    if mode == "clip":
        places = clip(places, 0, a.aval.size - 1)
    elif mode == "wrap":
        places = remainder(places, a.aval.size)
    elif mode == "raise":
        raise NotImplementedError("put: mode 'raise' is not offered; use 'clip' or 'wrap'.")
    elif mode is not None:
        raise ValueError(f"put: mode {mode!r} is neither 'wrap' nor 'clip'")
    values = repeated_to(values, places.aval.size)
    return reshape(ravel(a).at[places].set(values, mode="drop"), a.aval.shape)


def repeated_to(x: Any, size: int) -> Any:
    """The elements of a flat array over and over, cut at that size."""
    have = x.aval.size
    return x[:size] if have >= size else tile(x, -(-size // have))[:size]


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """A copy of arr with vals (repeated as needed), one after the other, where the mask is true."""
    _refuse_inplace("place", inplace)
    arr, mask, vals = to_arrays("place", arr, mask, vals)
    if arr.aval.size != mask.aval.size:
        raise ValueError(f"place: arr {arr.aval.shape} and mask {mask.aval.shape} differ in size")
    if not vals.aval.size:
        raise ValueError("place: vals is empty, so there is nothing to place")
    if not arr.aval.size:
        return arr
    size = arr.aval.size
    (places,) = nonzero(ravel(mask), size=size, fill_value=size)
    values = repeated_to(ravel(vals), size)
    return reshape(ravel(arr).at[places].set(values, mode="drop"), arr.aval.shape)


# choosing by number and by condition


def choose(a: Any, choices: Sequence[Any] | Any, out: None = None, mode: str = "raise") -> Any:
    """choices[a[i]][i]: at each place the element of the choice that a names.

    mode: "clip" or "wrap" numbers out of bounds, or "raise", where a must be known.
    """
    refuse_out("choose", out)
    a, *choices = to_arrays("choose", a, *choices)
    if not is_integer(a):
        raise ValueError(f"choose: a must be integer typed, got {a.aval.str_short()}")
    count = len(choices)
    if mode == "wrap":
        a = remainder(a, count)
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    elif mode != "raise":
        raise ValueError(f"choose: mode {mode!r} not understood; 'raise', 'wrap' or 'clip'")
    else:
        known = known_numbers("choose", a, "With mode='wrap' or 'clip' it need not.")
        if ((known < 0) | (known >= count)).any():
            raise ValueError(f"choose: invalid entry in choice array: not in 0..{count - 1}")
    a, *choices = broadcast_together("choose", [a, *choices])
    stacked = stack(choices)
    return squeeze(take_along(stacked, reshape(a, (1, *a.aval.shape)), 0), 0)


def known_numbers(name: str, x: Any, way_out: str) -> np.ndarray:
    """What an array holds on which the work of a function depends; an error under tracing."""
    if isinstance(x, Tracer):
        raise x.concretization_error(
            ConcretizationTypeError, f"{name} needs to know the elements of a traced array", way_out
        )
    return np.asarray(x)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The parts of a, along an axis or flattened, where a flat condition holds.

    With a `size`, needed while tracing, that many, filled up with `fill_value`.
    """
    refuse_out("compress", out)
    condition, a, fill = to_arrays("compress", condition, a, fill_value)
    if condition.ndim != 1:
        raise ValueError(
            f"compress: condition of shape {condition.aval.shape} does not have one axis"
        )
    mask = condition if is_bool(condition) else condition != 0
    a, axis = (ravel(a), 0) if axis is None else (a, canonical_axis(axis, a.ndim))
    rows = moveaxis(a, axis, 0)
    length = min(mask.aval.size, rows.aval.shape[0])
    if size is None:
        if known_mask("compress", mask)[length:].any():
            raise ValueError(
                "compress: condition is true beyond the end of the axis: out of bounds"
            )
        return moveaxis(rows[:length][mask[:length]], 0, axis)
    if not 0 <= size <= rows.aval.shape[0]:
        raise ValueError(
            f"compress: size={size} is not between 0 and {rows.aval.shape[0]}, the length of the "
            "axis"
        )
    mask, rows = mask[:length], rows[:length]
    column = reshape(mask, (length,) + (1,) * (rows.ndim - 1))
    rows = where(column, rows, convert(fill, rows.aval.dtype))
    return moveaxis(rows[argsort(mask, descending=True)][:size], 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of arr where the condition holds, in row-major order; see `compress`."""
    condition, arr = to_arrays("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Row-major places as indices along each axis; places out of bounds are moved inside."""
    indices = to_array("unravel_index", indices)
    lengths = as_tuple(shape)
    if any(np.ndim(n) for n in lengths):
        raise ValueError(f"unravel_index: shape is a length or a sequence of lengths, not {shape}")
    lengths = tuple(concrete_int(n, "shape") for n in lengths)
    total = math.prod(lengths)
    if not is_unsigned(indices):
        indices = where(indices < 0, indices + total, indices)
        indices = where(indices < 0, 0, indices)
    indices = where(indices >= total, total - 1, indices)
    return tuple(unravel(indices, lengths))


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Indices along each axis as places in row-major ("C") or column-major ("F") order.

    mode: for indices out of bounds: "raise", where they must be known, "clip", "wrap", or "ignore".
    """
    lengths = tuple(concrete_int(d, "dims") for d in dims)
    arrays = to_arrays("ravel_multi_index", *multi_index)
    if len(arrays) != len(lengths):
        raise ValueError(
            f"ravel_multi_index: {len(arrays)} index arrays for {len(lengths)} dimensions"
        )
    for index in arrays:
        _check_integer("ravel_multi_index", index)
    if dtype is None:
        dtype = promotion.result_type(int, *arrays)
    else:
        dtype = dtypes.check_user_dtype(dtype, "ravel_multi_index")
    if math.prod(lengths) - 1 > dtypes.iinfo(dtype).max:
        raise ValueError(
            f"ravel_multi_index: dtype {dtype} is not large enough to hold places in {lengths}"
        )
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order is 'C' or 'F', got {order!r}")
    steps = [
        math.prod(lengths[i + 1 :] if order == "C" else lengths[:i]) for i in range(len(lengths))
    ]
    result = make_array(0, dtype)
    for index, n, step in zip(arrays, lengths, steps, strict=True):
        inside = _inside(index, n, mode)
        result = result + convert(inside, dtype) * step
    return result


def _inside(index: Any, n: int, mode: str) -> Any:
    if mode == "clip":
        return clip(index, 0, n - 1)
    if mode == "wrap":
        return remainder(index, n)
    if mode == "ignore":
        return index
    if mode != "raise":
        raise ValueError(
            f"ravel_multi_index: mode is 'raise', 'wrap', 'clip' or 'ignore', got {mode!r}"
        )
    known = known_numbers("ravel_multi_index", index, "With mode='wrap' or 'clip' it need not.")
    if ((known < 0) | (known >= n)).any():
        raise ValueError("ravel_multi_index: invalid entry in coordinates array")
    return index
