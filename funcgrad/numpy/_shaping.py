"""The same elements in another arrangement: reshape, transpose, broadcast_to, squeeze, flip, ..."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes, promotion
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import broadcast_in_dim, concatenate, convert, slice_array
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import (
    Shape,
    canonical_axes,
    canonical_axis,
    canonical_shape,
    concrete_int,
)
from funcgrad.base.shapes import broadcast_shapes as common_shape
from funcgrad.numpy._complex import imag, real
from funcgrad.numpy._filling import zeros_like
from funcgrad.numpy._promotion import (
    as_tuple,
    broadcast,
    broadcast_together,
    check_arraylike,
    has_members,
    is_bool,
    is_complex,
    to_array,
    to_arrays,
)
from funcgrad.primitives import complex_parts
from funcgrad.primitives.axis_slicing import slice_in_dim
from funcgrad.primitives.cast import bitcast_convert_type
from funcgrad.primitives.compare import ne
from funcgrad.primitives.structural import rev

# what is known without looking at elements


def shape(a: Any) -> Shape:
    """The length of each axis, as a tuple of Python integers."""
    if hasattr(a, "shape"):
        return a.shape
    check_arraylike("shape", a)
    return aval_of(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return a.ndim if hasattr(a, "ndim") else len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or the length of the given axes multiplied."""
    lengths = shape(a)
    return math.prod(lengths[i] for i in canonical_axes(axis, len(lengths)))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of x is complex, whatever its elements are."""
    if x is None:
        return False
    dtype = promotion.dtype_of(x) if not isinstance(x, (list, tuple)) else np.asarray(x).dtype
    return dtypes.issubdtype(dtype, np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Whether the dtype of x is not complex."""
    return not iscomplexobj(x)


# reshape


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: None = None
) -> Any:
    """The elements of a in another shape, in which one length may be -1: what is left for it.

    With order "F" elements are read and written with the first axis varying fastest.

    Raises:
        TypeError: the sizes differ.
    """
    a = to_array("reshape", a)
    target = new_shape(a.aval.shape, shape)
    if order == "C":
        return basis.reshape(a, target)
    if order == "F":
        return transpose(basis.reshape(transpose(a), target[::-1]))
    if order == "A":
        raise NotImplementedError("reshape with order='A' is not offered: arrays have no layout.")
    raise ValueError(f"reshape: order is 'C' or 'F', got {order!r}")


def new_shape(have: Shape, wanted: Any) -> Shape:
    """The shape meant by the argument of reshape, where -1 stands for what is left."""
    dims = as_tuple(wanted)
    if not all(type(d) is int for d in dims):
        dims = tuple(_length(d, wanted) for d in dims)
    total = math.prod(have)
    unknown = [i for i, d in enumerate(dims) if d == -1]
    if not unknown:
        if math.prod(dims) != total or min(dims, default=0) < 0:
            raise TypeError(
                f"reshape keeps the size: from shape {have} of size {total} there is no way to "
                f"shape {wanted} of size {math.prod(dims)}"
            )
        return dims
    if len(unknown) > 1:
        raise TypeError(f"reshape: -1 may stand for one axis, not for several, as in {wanted}")
    known = math.prod(d for d in dims if d != -1)
    if known == 0 or total % known:
        if known == 0 and total == 0:
            return tuple(0 if d == -1 else d for d in dims)
        raise TypeError(
            f"reshape: nothing fits for -1 between shape {have} and shape {wanted}: the size "
            f"{total} is no multiple of {known}, the product of the other axes"
        )
    return tuple(total // known if d == -1 else d for d in dims)


def _length(value: Any, wanted: Any) -> int:
    try:
        return concrete_int(value, "shape")
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(
            f"A shape is a sequence of known integers, which {wanted} is not."
        ) from None


def reshape_method(x: Any, *args: Any, order: str = "C", out_sharding: None = None) -> Any:
    """x.reshape(2, 3) or x.reshape((2, 3))."""
    return reshape(x, args[0] if len(args) == 1 else args, order)


def ravel(a: Any, order: str = "C", *, out_sharding: None = None) -> Any:
    """The elements of a in one axis."""
    if order == "K":
        raise NotImplementedError("ravel with order='K' is not offered: arrays have no layout.")
    a = to_array("ravel", a)
    return reshape(a, (a.aval.size,), order)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements of a in another shape, repeated from the beginning as often as needed."""
    flat = ravel(a)
    target = canonical_shape(new_shape, "new_shape")
    wanted = math.prod(target)
    if flat.aval.size == 0 or wanted == 0:
        return zeros_like(flat, shape=target)
    repeats = -(-wanted // flat.aval.size)
    flat = concatenate([flat] * repeats, 0) if repeats > 1 else flat
    return basis.reshape(slice_array(flat, (0,), (wanted,)), target)


# axes of length 1


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """a without the given axes of length 1, by default without all of that length."""
    a = to_array("squeeze", a)
    lengths = a.aval.shape
    if axis is None:
        return basis.squeeze(a, [i for i, n in enumerate(lengths) if n == 1])
    return basis.squeeze(a, canonical_axes(axis, len(lengths)))


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """a with new axes of length 1, at the given places of the result."""
    a = to_array("expand_dims", a)
    given = as_tuple(axis)
    rank = len(a.aval.shape) + len(given)
    new = canonical_axes(given, rank)
    kept = [i for i in range(rank) if i not in new]
    lengths = iter(a.aval.shape)
    target = tuple(1 if i in new else next(lengths) for i in range(rank))
    return broadcast_in_dim(a, target, kept) if new else a


def atleast_1d(*arys: Any) -> Any:
    """Arrays of rank 1 or more: scalars get an axis. A list of them for several arguments."""
    return _each("atleast_1d", arys, lambda x: (1,) if not x else x)


def atleast_2d(*arys: Any) -> Any:
    """Arrays of rank 2 or more: new axes stand in front."""
    return _each("atleast_2d", arys, lambda x: (1,) * (2 - len(x)) + x)


def atleast_3d(*arys: Any) -> Any:
    """Arrays of rank 3 or more: (n,) becomes (1, n, 1) and (m, n) becomes (m, n, 1)."""

    def lifted(x: Shape) -> Shape:
        return (1, 1, 1) if not x else (1, *x, 1) if len(x) == 1 else (*x, 1) if len(x) == 2 else x

    return _each("atleast_3d", arys, lifted)


def _each(name: str, arrays: Sequence[Any], target: Any) -> Any:
    found = [basis.reshape(x, target(x.aval.shape)) for x in to_arrays(name, *arrays)]
    return found[0] if len(found) == 1 else found


# order of axes


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """a with its axes reversed, or in the order given."""
    a = to_array("transpose", a)
    rank = len(a.aval.shape)
    if axes is None:
        return basis.transpose(a, range(rank - 1, -1, -1))
    return basis.transpose(a, [canonical_axis(i, rank) for i in axes])


def transpose_method(x: Any, *axes: Any) -> Any:
    """x.transpose(), x.transpose(1, 0) or x.transpose((1, 0))."""
    if len(axes) == 1 and (axes[0] is None or has_members(axes[0])):
        return transpose(x, axes[0])
    return transpose(x, axes or None)


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """a with its axes in the order given."""
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """x with its last two axes swapped."""
    x = to_array("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(
            f"matrix_transpose swaps the last two axes, and shape {x.aval.shape} has fewer"
        )
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """a with two axes swapped."""
    a = to_array("swapaxes", a)
    order = list(range(len(a.aval.shape)))
    i, j = (canonical_axis(axis, len(order)) for axis in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return basis.transpose(a, order)


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """a with the source axes at the destinations, the others in their order."""
    a = to_array("moveaxis", a)
    rank = len(a.aval.shape)
    sources = canonical_axes(as_tuple(source), rank, "source")
    targets = canonical_axes(as_tuple(destination), rank, "destination")
    if len(sources) != len(targets):
        raise ValueError(
            f"Inconsistent number of elements: moveaxis from {source} to {destination}"
        )
    order = [i for i in range(rank) if i not in sources]
    for target, where in sorted(zip(targets, sources, strict=True)):
        order.insert(target, where)
    return basis.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """a with an axis moved so that it stands before the one now at `start`."""
    a = to_array("rollaxis", a)
    rank = len(a.aval.shape)
    axis, start = canonical_axis(axis, rank), canonical_axis(start, rank + 1, "start")
    return moveaxis(a, axis, start - 1 if axis < start else start)


# order along axes


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """m with its elements in reverse order along the given axes, by default all."""
    m = to_array("flip", m)
    return rev(m, canonical_axes(axis, len(m.aval.shape)))


def fliplr(m: Any) -> Any:
    """m reversed along axis 1."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """m reversed along axis 0."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """m turned k times by a right angle, from the first axis towards the second."""
    m = to_array("rot90", m)
    if m.ndim < 2:
        raise ValueError(f"rot90 requires an array of rank 2 or more, got shape {m.aval.shape}")
    first, second = canonical_axes(tuple(axes), m.ndim, "axes")
    turns = concrete_int(k, "k") % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


# broadcasting


def broadcast_shapes(*shapes: int | Sequence[int]) -> Shape:
    """The shape that arrays of these shapes broadcast to."""
    return common_shape(*(canonical_shape(s) for s in shapes))


def broadcast_to(array: Any, shape: Any, *, out_sharding: None = None) -> Any:
    """The array repeated along new axes in front and along axes of length 1."""
    array, target = to_array("broadcast_to", array), canonical_shape(shape)
    have = array.aval.shape
    fits = len(have) <= len(target) and all(
        a in (1, b) for a, b in zip(reversed(have), reversed(target), strict=False)
    )
    if not fits:
        raise ValueError(
            f"Incompatible shapes for broadcasting: an array of shape {have} cannot be broadcast "
            f"to the requested shape {target}"
        )
    return broadcast(array, target)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays, all in their common shape."""
    return broadcast_together("broadcast_arrays", to_arrays("broadcast_arrays", *args))


def part(x: Any, begin: int, end: int, axis: int) -> Any:
    """x[begin:end] along one axis; nothing where end is below begin."""
    return slice_in_dim(x, min(begin, end), end, axis=axis)


# reinterpretation


def view(x: Any, dtype: Any = None, type: None = None) -> Any:
    """The bytes of x read as another dtype; the last axis grows or shrinks with the item size."""
    if type is not None:
        raise NotImplementedError("view: the `type` argument is not offered, only `dtype`.")
    if dtype is None:
        return x
    dtype = dtypes.check_user_dtype(dtype, "view")
    if x.aval.dtype == dtype:
        return x
    bits_in, bits_out = (dtypes.itemsize_bits(d) for d in (x.aval.dtype, dtype))
    if not x.aval.shape:
        if bits_in != bits_out:
            raise ValueError(
                f"view() of a 0d array needs the same item size, got {x.aval.dtype} as {dtype}"
            )
        return basis.squeeze(view(basis.reshape(x, (1,)), dtype), (0,))
    if x.aval.shape[-1] * bits_in % bits_out:
        raise ValueError(
            f"view: the last axis of shape {x.aval.shape} has {x.aval.shape[-1] * bits_in} bits, "
            f"which are not a whole number of {dtype}"
        )
    if is_bool(x):
        return view(convert(x, np.dtype(np.uint8)), dtype)
    if dtype == np.bool_:
        return ne(view(x, np.uint8), np.uint8(0))
    if is_complex(x):
        parts = [basis.reshape(part, (*part.aval.shape, 1)) for part in (real(x), imag(x))]
        pairs = concatenate(parts, x.ndim)
        return view(_merged(pairs), dtype)
    if dtypes.issubdtype(dtype, np.complexfloating):
        pairs = _divided(view(x, dtypes.finfo(dtype).dtype), 2)
        last = pairs.ndim - 1
        first, second = (basis.squeeze(part(pairs, i, i + 1, last), (last,)) for i in (0, 1))
        return complex_parts.complex(first, second)
    if bits_in < bits_out:
        return bitcast_convert_type(_divided(x, bits_out // bits_in), dtype)
    result = bitcast_convert_type(x, dtype)
    return _merged(result) if bits_in > bits_out else result


def _merged(x: Any) -> Any:
    *rest, rows, columns = x.aval.shape
    return basis.reshape(x, (*rest, rows * columns))


def _divided(x: Any, parts: int) -> Any:
    *rest, length = x.aval.shape
    return basis.reshape(x, (*rest, length // parts, parts))
