"""sort and top_k: values put in order, by way of unsigned integers that are ordered the same.

A number's bits can be rearranged so that comparing them as an integer compares the numbers. With an
element's position in the low half of a wider integer, any fast sort of those is a stable one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import iota
from funcgrad.base.shapes import canonical_axis, concrete_int
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure
from funcgrad.primitives.gathering import take_along
from funcgrad.primitives.indexing_spec import walk
from funcgrad.primitives.nary import ANY, BITS, FLOAT, check_dtype
from funcgrad.transforms import batching, forward

sort_p = Primitive("sort", multiple_results=True)
top_k_p = Primitive("top_k", multiple_results=True)


def sort(
    operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Any | tuple[Any, ...]:
    """The operand in ascending order along an axis; of several, all in the order of the first ones.

    nan comes last, -0 equals 0, and complex numbers go by their real and then imaginary parts.

    Args:
        operand: one array, or several in a sequence, all of one shape.
        dimension: the axis to sort along.
        is_stable: whether equal elements keep their order.
        num_keys: how many of the operands decide, the first before the second and so on.

    Returns:
        The sorted array, or a tuple of them.
    """
    if not isinstance(operand, Sequence):
        if num_keys != 1:
            raise ValueError(f"sort: num_keys must be 1 for a single operand, got {num_keys}")
        return _sort((operand,), dimension, is_stable, 1)[0]
    if not operand:
        raise TypeError("sort was given an empty sequence, which should hold at least one operand")
    if not 1 <= num_keys <= len(operand):
        raise ValueError(
            f"sort: num_keys says how many of the {len(operand)} operands decide, from 1 to all; "
            f"got {num_keys}"
        )
    return _sort(operand, dimension, is_stable, num_keys)


def _sort(operands: Sequence, dimension: int, is_stable: bool, num_keys: int) -> tuple[Any, ...]:
    dimension = canonical_axis(dimension, len(aval_of(operands[0]).shape), "dimension")
    return sort_p.bind(
        *operands, dimension=dimension, is_stable=bool(is_stable), num_keys=int(num_keys)
    )


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """The keys in ascending order along an axis, and the values moved along with them."""
    sorted_keys, moved = _sort((keys, values), dimension, is_stable, 1)
    return sorted_keys, moved


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The k largest elements along an axis in descending order, and their int32 positions.

    Of equal elements the one with the lower position comes first. nan counts as the largest, and 0
    as larger than -0.

    Raises:
        ValueError: k is negative or exceeds the length of the axis, or the operand is complex.

    Example:
        >>> import numpy as np
        >>> from funcgrad import lax
        >>> values, positions = lax.top_k(np.array([9.0, 3.0, 6.0, 10.0]), 2)
        >>> values.tolist(), positions.tolist()
        ([10.0, 9.0], [3, 0])
    """
    k, ndim = concrete_int(k, "k"), len(aval_of(operand).shape)
    values, indices = top_k_p.bind(operand, k=k, axis=canonical_axis(axis, ndim))
    return values, indices


# the order as bits


def ordered_bits(xp: Any, x: Any, total: bool = False) -> Any:
    """Unsigned integers in the order of the real numbers x.

    With `total`, -0 comes before 0, and a nan whose sign bit is set before everything.
    """
    if x.dtype == np.bool_:
        return x.astype(np.uint8)
    if dtypes.issubdtype(x.dtype, np.integer):
        if x.dtype.kind not in "iu":
            x = x.astype(np.int8 if dtypes.issubdtype(x.dtype, np.signedinteger) else np.uint8)
        return x if x.dtype.kind == "u" else flip_sign(xp, x)
    if x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    if not total:
        x = xp.where(xp.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0))
    bits = xp.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
    # Negative numbers ascend as their magnitudes descend.
    return flip_sign(xp, bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max))


def flip_sign(xp: Any, x: Any) -> Any:
    """Signed integers moved up by half of their range, as unsigned ones."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    top = unsigned.type(1 << (8 * x.dtype.itemsize - 1))
    return xp.ascontiguousarray(x).view(unsigned) ^ top


def with_position(xp: Any, bits: Any, axis: int) -> Any:
    """Integers of up to 32 bits above their position along an axis, in 64 bits."""
    place = walk(xp, bits.shape, axis).astype(np.uint64)
    return (bits.astype(np.uint64) << np.uint64(32)) | place


def position(combined: Any) -> Any:
    return (combined & np.uint64(0xFFFFFFFF)).astype(np.int64)


# sort


def sort_evaluate(
    xp: Any, *operands: Any, dimension: int, is_stable: bool, num_keys: int
) -> tuple[Any, ...]:
    first = operands[0]
    if not first.size:
        return operands
    if len(operands) == 1 and first.dtype.kind != "c":
        return (sorted_values(xp, first, dimension, is_stable),)
    keys: list[Any] = []
    for key in operands[:num_keys]:
        parts = (key.real, key.imag) if key.dtype.kind == "c" else (key,)
        keys.extend(ordered_bits(xp, part) for part in parts)
    order = sorting_order(xp, keys, dimension, is_stable)
    return tuple(xp.take_along_axis(x, order, dimension) for x in operands)


def sorted_values(xp: Any, x: Any, axis: int, is_stable: bool) -> Any:
    narrow = x.dtype.itemsize < 4 and dtypes.issubdtype(x.dtype, np.floating)
    wide = x.astype(np.float32) if narrow else x
    if wide.dtype.kind not in "biuf":
        wide = wide.astype(np.int8)
    # Equal numbers cannot be told apart, but for 0 and -0.
    kind = None
    if is_stable and wide.dtype.kind == "f" and (xp.signbit(wide) & (wide == 0)).any():
        kind = "stable"
    return xp.sort(wide, axis=axis, kind=kind).astype(x.dtype, copy=False)


def sorting_order(xp: Any, keys: Sequence[Any], axis: int, is_stable: bool) -> Any:
    """The positions along an axis in the order of the keys, the first one deciding first."""
    if len(keys) > 1:
        return xp.lexsort(tuple(reversed(keys)), axis=axis)
    if keys[0].dtype.itemsize > 4:
        return xp.argsort(keys[0], axis=axis, kind="stable" if is_stable else None)
    return position(xp.sort(with_position(xp, keys[0], axis), axis=axis))


def sort_abstract(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> tuple[ShapedArray, ...]:
    first = operands[0]
    if any(x.shape != first.shape for x in operands):
        raise TypeError(
            "sort moves its operands together, which takes equal shapes, got "
            f"{', '.join(str(x.shape) for x in operands)}"
        )
    canonical_axis(dimension, first.ndim, "dimension")
    for i, key in enumerate(operands[:num_keys]):
        check_dtype("sort", i, key, ANY)
    return operands


def sort_forward(primals: Sequence, tangents: Sequence, dimension: int, **params: Any) -> tuple:
    shape = aval_of(primals[0]).shape
    places = iota(_index_dtype(shape[dimension]), shape, dimension)
    *outs, order = sort_p.bind(*primals, places, dimension=dimension, **params)
    return outs, [
        t if t is None else take_along(t, order, dimension, unique=True) for t in tangents
    ]


def _index_dtype(length: int) -> type:
    return np.int32 if length <= np.iinfo(np.int32).max else np.int64


def sort_batch(axis: Any, values: Sequence, axes: Sequence, dimension: int, **params: Any) -> Any:
    moved = [batching.to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
    outs = sort_p.bind(*moved, dimension=dimension + 1, **params)
    return outs, [0] * len(outs)


evaluate_rules[sort_p] = sort_evaluate
abstract_rules[sort_p] = pure(sort_abstract)
forward.rules[sort_p] = sort_forward
batching.rules[sort_p] = sort_batch


# top_k


def top_k_evaluate(xp: Any, x: Any, k: int, axis: int) -> tuple[Any, Any]:
    bits = ~ordered_bits(xp, x, total=True)
    best = (*(slice(None),) * axis, slice(0, k))
    if bits.dtype.itemsize > 4:
        order = xp.argsort(bits, axis=axis, kind="stable")[best]
    else:
        combined = with_position(xp, bits, axis)
        if 0 < k < x.shape[axis] // 2:
            combined = xp.partition(combined, k - 1, axis=axis)[best]
        order = position(xp.sort(combined, axis=axis)[best])
    return xp.take_along_axis(x, order, axis), order.astype(np.int32)


def top_k_abstract(x: ShapedArray, k: int, axis: int) -> tuple[ShapedArray, ShapedArray]:
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(
            f"top_k needs numbers that have an order, which complex ones lack; got {x.str_short()}"
        )
    check_dtype("top_k", 0, x, (*BITS, *FLOAT))
    canonical_axis(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(
            f"top_k: k must be nonnegative and no larger than the length of axis {axis}, got k={k} "
            f"for shape {x.shape}"
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return x.update(shape=shape), x.update(shape=shape, dtype=np.dtype(np.int32))


def top_k_forward(primals: Sequence, tangents: Sequence, k: int, axis: int) -> tuple:
    values, indices = top_k_p.bind(*primals, k=k, axis=axis)
    (t,) = tangents
    return (values, indices), (take_along(t, indices, axis, unique=True), None)


evaluate_rules[top_k_p] = top_k_evaluate
abstract_rules[top_k_p] = pure(top_k_abstract)
forward.rules[top_k_p] = top_k_forward
batching.shifted(top_k_p, axis=lambda axis, ndim: axis + 1)
