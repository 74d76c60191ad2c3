"""The closed set of primitives that rules use in circles: declared here, name and bind only.

Their rules stand in the family files of `primitives`, which import this file like everyone else.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.methods import Array
from funcgrad.base.shapes import Shape, insert_dim
from funcgrad.base.trace import Primitive

add_p = Primitive("add")
mul_p = Primitive("mul")
neg_p = Primitive("neg")
convert_element_type_p = Primitive("convert_element_type")
eq_p = Primitive("eq")
select_n_p = Primitive("select_n")
broadcast_in_dim_p = Primitive("broadcast_in_dim")
reshape_p = Primitive("reshape")
squeeze_p = Primitive("squeeze")
transpose_p = Primitive("transpose")
slice_p = Primitive("slice")
pad_p = Primitive("pad")
concatenate_p = Primitive("concatenate")
reduce_sum_p = Primitive("reduce_sum")
iota_p = Primitive("iota")


def add(x: Any, y: Any) -> Any:
    """Elementwise x + y of arrays of one dtype; shapes equal, or one of them a scalar."""
    return add_p.bind(x, y)


def mul(x: Any, y: Any) -> Any:
    """Elementwise x * y of arrays of one dtype; shapes equal, or one of them a scalar."""
    return mul_p.bind(x, y)


def neg(x: Any) -> Any:
    """Elementwise -x."""
    return neg_p.bind(x)


def eq(x: Any, y: Any) -> Any:
    """Elementwise x == y, a bool array; shapes equal, or one of them a scalar."""
    return eq_p.bind(x, y)


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """x in another dtype; x itself if it has that dtype and weak type already."""
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type and isinstance(x, Array):
        return x
    return convert_element_type_p.bind(x, new_dtype=_dtype(dtype), weak_type=weak_type)


def select_n(which: Any, *cases: Any) -> Any:
    """Elementwise `cases[which]`; `which` is bool or int32, a scalar or shaped like the cases."""
    return select_n_p.bind(which, *cases)


def broadcast_in_dim(x: Any, shape: Shape, broadcast_dimensions: Sequence[int]) -> Any:
    """x with its axis i placed at axis `broadcast_dimensions[i]` of `shape`, the rest repeated."""
    dims = tuple(broadcast_dimensions)
    aval = aval_of(x)
    if aval.shape == tuple(shape) and dims == tuple(range(len(dims))):
        return x
    return broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=dims)


def reshape(x: Any, shape: Shape) -> Any:
    """The elements of x in row-major order, in another shape of the same size."""
    if aval_of(x).shape == tuple(shape):
        return x
    return reshape_p.bind(x, new_sizes=tuple(shape), dimensions=None)


def squeeze(x: Any, dimensions: Sequence[int]) -> Any:
    """x without the listed axes, each of length 1."""
    return squeeze_p.bind(x, dimensions=tuple(dimensions)) if dimensions else x


def transpose(x: Any, permutation: Sequence[int]) -> Any:
    """x with its axes reordered: axis i of the result is axis `permutation[i]` of x."""
    perm = tuple(permutation)
    return x if perm == tuple(range(len(perm))) else transpose_p.bind(x, permutation=perm)


def slice_array(
    x: Any, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """The rectangular part of x from `start` up to `limit`, every `strides`-th element."""
    return slice_p.bind(
        x,
        start_indices=tuple(start),
        limit_indices=tuple(limit),
        strides=None if strides is None else tuple(strides),
    )


def pad(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """x with (low, high, interior) elements of `value` put around and between, axis by axis."""
    return pad_p.bind(x, value, padding_config=tuple(map(tuple, config)))


def concatenate(arrays: Sequence[Any], dimension: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    return concatenate_p.bind(*arrays, dimension=dimension)


def reduce_sum(x: Any, axes: Sequence[int]) -> Any:
    """The sum of x over the listed axes, in the dtype of x."""
    return reduce_sum_p.bind(x, axes=tuple(axes)) if axes else x


def iota(dtype: Any, shape: Shape, dimension: int = 0) -> Any:
    """0, 1, 2, ... along one axis of an array of the given shape."""
    return iota_p.bind(dtype=_dtype(dtype), shape=tuple(shape), dimension=dimension)


# What rules write most often, in terms of the above.


def broadcast_scalar(value: Any, aval: ShapedArray) -> Any:
    """A number (or 0-d array) in every element of an array of this type."""
    if not hasattr(value, "aval"):
        scalar = aval.update(shape=()) if aval.shape else aval
        value = ConcreteArray(np.array(value, buffer_dtype(aval.dtype)), scalar)
    return broadcast_in_dim(value, aval.shape, ()) if aval.shape else value


def full_like(x: Any, value: Any) -> Any:
    """A number in every element of an array of the type of x."""
    return broadcast_scalar(value, aval_of(x))


def scalar_like(value: Any, x: Any) -> ConcreteArray:
    """A number as a 0-d array of the dtype of x."""
    aval = aval_of(x)
    return ConcreteArray(np.array(value, aval.dtype), aval.update(shape=(), weak_type=True))


def broadcast_to_shape(x: Any, shape: Shape) -> Any:
    """x stretched to `shape` where it is a scalar or has axes of length 1."""
    have = aval_of(x).shape
    if have == shape:
        return x
    if not have:
        return broadcast_in_dim(x, shape, ())
    return broadcast_in_dim(x, shape, range(len(shape)))


def unbroadcast(x: Any, aval: ShapedArray) -> Any:
    """The transpose of `broadcast_to_shape`: sum over the stretched axes, back to aval's shape."""
    have = aval_of(x).shape
    if have == aval.shape:
        return x
    if not aval.shape:
        return reduce_sum(x, range(len(have)))
    stretched = [i for i, (h, w) in enumerate(zip(have, aval.shape, strict=True)) if h != w]
    return reshape(reduce_sum(x, stretched), aval.shape)


def slice_axis(x: Any, start: int, stop: int, axis: int = 0, stride: int = 1) -> Any:
    """x from `start` up to `stop` along one axis, whole along the others."""
    shape = aval_of(x).shape
    starts, stops, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], strides[axis] = start, stop, stride
    return slice_array(x, starts, stops, strides if stride != 1 else None)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """x with one axis moved, the others in their order."""
    if source == destination:
        return x
    perm = [i for i in range(len(aval_of(x).shape)) if i != source]
    perm.insert(destination, source)
    return transpose(x, perm)


def expand(x: Any, axis: int, size: int = 1) -> Any:
    """x repeated `size` times along a new axis."""
    shape = insert_dim(aval_of(x).shape, axis, size)
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != axis])


def _dtype(dtype: Any) -> Any:
    return dtype if isinstance(dtype, dtypes.KeyType) else np.dtype(dtype)
