"""Operations that are a few others put together, strict about dtypes and shapes as lax is."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.shapes import canonical_axis, canonical_shape, concrete_int
from funcgrad.lax._structural import full
from funcgrad.primitives.compare import ge, lt
from funcgrad.primitives.contraction import dot_general
from funcgrad.primitives.cumulative import cumsum
from funcgrad.primitives.precision import PrecisionLike
from funcgrad.primitives.sorting import top_k

PLATFORMS = ("cpu", "cuda", "rocm", "tpu", "mps")


def dtype(x: Any) -> np.dtype:
    """The dtype of an array or number."""
    return aval_of(x).dtype


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array of int32."""
    return as_value(np.array(canonical_shape(shape), np.int32))


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of a shape and dtype whose elements are to be set; they are zeros here."""
    return full(shape, 0, dtype)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """x with new axes of size 1 in front, up to so many axes."""
    x = as_value(x)
    shape = aval_of(x).shape
    if rank < len(shape):
        raise ValueError(f"broadcast_to_rank: an array of shape {shape} has more than {rank} axes")
    return basis.reshape(x, ((1,) * (rank - len(shape)) + shape))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """arr repeated along new and size-1 axes to the shape of another array."""
    shape = aval_of(like_arr).shape
    return basis.broadcast_to_shape(broadcast_to_rank(arr, len(shape)), shape)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The operand in parts of the given sizes along an axis.

    Raises:
        ValueError: if the sizes do not add up to the size of the axis.
    """
    operand = as_value(operand)
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    sizes = canonical_shape(tuple(sizes), "sizes")
    if sum(sizes) != shape[axis]:
        raise ValueError(
            f"split: sizes {tuple(sizes)} must add up to {shape[axis]}, the size of axis {axis} of "
            f"an array of shape {shape}; they give {sum(sizes)}"
        )
    ends = np.cumsum(sizes)
    return [
        basis.slice_axis(operand, int(end - size), int(end), axis)
        for size, end in zip(sizes, ends, strict=True)
    ]


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape and dtype along a new axis.

    Raises:
        ValueError: without arrays, or for different shapes.
        TypeError: for different dtypes.
    """
    arrays = list(map(as_value, operands))
    if not arrays:
        raise ValueError("stack takes at least one array, got none")
    avals = list(map(aval_of, arrays))
    if len({a.shape for a in avals}) > 1:
        raise ValueError(f"stack: all shapes must be the same, got {[a.shape for a in avals]}")
    if len({a.dtype for a in avals}) > 1:
        listed = ", ".join(str(a.dtype) for a in avals)
        raise TypeError(f"stack: all dtypes must be the same, got {listed}. Cast first.")
    axis = canonical_axis(axis, avals[0].ndim + 1)
    return basis.concatenate([basis.expand(a, axis) for a in arrays], axis)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The members of an array along an axis, each without it."""
    x = as_value(x)
    shape = aval_of(x).shape
    axis = canonical_axis(axis, len(shape))
    members = (basis.slice_axis(x, i, i + 1, axis) for i in range(shape[axis]))
    return tuple(basis.squeeze(member, (axis,)) for member in members)


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """The operand repeated so many times along each of its axes.

    Raises:
        TypeError: if there is not one number for each axis.
    """
    operand = as_value(operand)
    shape = aval_of(operand).shape
    reps = canonical_shape(tuple(reps), "reps")
    if len(reps) != len(shape):
        raise TypeError(
            f"tile: reps has one number for each axis of an array of shape {shape}, got {reps}"
        )
    doubled = [size for pair in zip(reps, shape, strict=True) for size in pair]
    axes = range(1, 2 * len(shape), 2)
    repeated = basis.broadcast_in_dim(operand, tuple(doubled), tuple(axes))
    return basis.reshape(repeated, tuple(r * s for r, s in zip(reps, shape, strict=True)))


# the largest and smallest elements


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k largest elements along an axis, in order, and their indices.

    They are found exactly here, which is within every `recall_target`; the last two arguments,
    which tune the approximation on other processors, have no effect.
    """
    return _extreme_k("approx_max_k", operand, k, reduction_dimension, recall_target)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k smallest elements along an axis; see `approx_max_k`."""
    operand = as_value(operand)
    values, indices = _extreme_k(
        "approx_min_k", basis.neg(operand), k, reduction_dimension, recall_target
    )
    return basis.neg(values), indices


def _extreme_k(name: str, operand: Any, k: int, axis: int, recall_target: float) -> tuple[Any, Any]:
    operand = as_value(operand)
    aval = aval_of(operand)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise ValueError(f"{name} takes floats, got {aval.str_short()}")
    if not 0 < recall_target <= 1:
        raise ValueError(f"{name}: recall_target is above 0 and at most 1, got {recall_target}")
    return top_k(operand, concrete_int(k, "k"), axis=axis)


# products of ragged groups


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
    out_sharding: Any = None,
) -> Any:
    """Rows of lhs in groups of given sizes, each group times a matrix of its own.

    Args:
        lhs: [rows, k]; its first group_sizes[0] rows are group 0, the next ones group 1, ...
        rhs: [groups, k, columns].
        group_sizes: [groups], integers. Rows past the last group give zeros.
        precision, preferred_element_type: as in `dot_general`.
        group_offset: None.

    Returns:
        [rows, columns].

    Raises:
        TypeError: for other ranks, sizes that do not fit, or group sizes that are no integers.
    """
    lhs, rhs, group_sizes = map(as_value, (lhs, rhs, group_sizes))
    left, right, sizes = map(aval_of, (lhs, rhs, group_sizes))
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset is not offered; slice rhs instead")
    fits = left.ndim == 2 and right.ndim == 3 and left.shape[1] == right.shape[1]
    if not fits or sizes.shape != right.shape[:1]:
        raise TypeError(
            "ragged_dot takes lhs [rows, k], rhs [groups, k, columns] and group_sizes [groups]; "
            f"got {left.str_short()}, {right.str_short()} and {sizes.str_short()}"
        )
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(f"ragged_dot: group_sizes are integers, got {sizes.str_short()}")
    groups, rows = right.shape[0], left.shape[0]
    ends = cumsum(group_sizes, axis=0)
    shape = (rows, groups)
    row = basis.iota(sizes.dtype, shape, 0)
    end = basis.broadcast_in_dim(ends, shape, (1,))
    size = basis.broadcast_in_dim(group_sizes, shape, (1,))
    begun = ge(row, basis.add(end, basis.neg(size)))
    inside = basis.select_n(lt(row, end), full(shape, False, bool), begun)
    whole = (rows, groups, left.shape[1])
    kept = basis.select_n(
        basis.broadcast_in_dim(inside, whole, (0, 1)),
        full(whole, 0, left.dtype),
        basis.broadcast_in_dim(lhs, whole, (0, 2)),
    )
    numbers = (((1, 2), (0, 1)), ((), ()))
    return dot_general(kept, rhs, numbers, precision, preferred_element_type)


# functions of several forms


def platform_dependent(
    *args: Any, default: Callable | None = None, **per_platform: Callable
) -> Any:
    """The function for the platform that the program runs on, of the arguments.

    Args:
        args: pytrees of arrays.
        default: the function where none is given for the platform.
        per_platform: functions under the names cpu, cuda, rocm, tpu.

    Raises:
        NotImplementedError: if there is a function neither for "cpu" nor by default.
    """
    unknown = sorted(set(per_platform) - set(PLATFORMS))
    if unknown:
        raise ValueError(f"platform_dependent: {unknown} are not among {', '.join(PLATFORMS)}")
    function = per_platform.get("cpu", default)
    if function is None:
        raise NotImplementedError(
            "platform_dependent: programs run on the cpu here, and functions were given for "
            f"{', '.join(per_platform)}. Give one for cpu, or a default."
        )
    return function(*args)


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """A function with a name that a compiler may know; here it is computed as it is written.

    Args:
        decomposition: what it computes.
        name, version: by which other compilers find an implementation of their own.
    """
    if not name:
        raise ValueError("composite: the name is empty")

    @wraps(decomposition)
    def composed(*args: Any, **kwargs: Any) -> Any:
        return decomposition(*args, **kwargs)

    return composed
