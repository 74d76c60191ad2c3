"""What an index means: x[...] taken apart into one entry for each axis of x.

The kinds of entries are integers, slices, integer arrays and new axes; masks have become integer
arrays of their true places, and an ellipsis the slices it stands for.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.errors import ConcretizationTypeError, NonConcreteBooleanIndexError
from funcgrad.base.methods import Array
from funcgrad.base.shapes import Shape
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._creation import asarray

# The kinds of entries.
INTEGER, SLICE, ARRAY, NEW_AXIS, TRUTH, DOTS = "integer slice array new_axis truth dots".split()


class Entry(NamedTuple):
    """One part of an index: an int, a slice as (start, length, step), an integer array, ...

    Each is for one axis of the operand, but for NEW_AXIS, TRUTH (a scalar bool, which adds an axis
    of length 1 or 0) and DOTS (an ellipsis that stood for nothing, but kept its neighbours apart).
    """

    kind: str
    value: Any


def entries(index: Any, shape: Shape) -> list[Entry]:
    """The entries of an index into an array of that shape, one for each of its axes.

    Raises IndexError or TypeError for what is no index, or one of too many parts.
    """
    items = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list):
        raise TypeError(
            "Using a list as an index is not allowed, since it could mean two things: use "
            "x[array(seq)] for an index array, x[tuple(seq)] for one index for each axis."
        )
    kinds = [_kind(item) for item in items]
    consumed = sum(_axes_of(kind, item) for kind, item in zip(kinds, items, strict=True))
    if consumed > len(shape):
        raise IndexError(
            f"Too many indices: {consumed} axes are asked for, and shape {tuple(shape)} has "
            f"{len(shape)}"
        )
    dots = kinds.count(DOTS)
    if dots > 1:
        raise IndexError(f"'...' may stand once in an index; here it stands {dots} times")
    rest = len(shape) - consumed
    result: list[Entry] = []
    axis = 0
    for kind, item in zip(kinds, items, strict=True):
        if kind == DOTS:
            result += [Entry(SLICE, (0, n, 1)) for n in shape[axis : axis + rest]]
            result += [] if rest else [Entry(DOTS, None)]
            axis += rest
        elif kind == _MASK:
            result += _mask_entries(item, shape, axis)
            axis += np.ndim(item)
        elif kind == SLICE:
            result.append(Entry(SLICE, _bounds(item, shape[axis])))
            axis += 1
        elif kind in (INTEGER, ARRAY):
            value = operator.index(item) if kind == INTEGER else _as_index_array(item)
            result.append(Entry(kind, value))
            axis += 1
        else:
            result.append(Entry(kind, item))
    return result + [Entry(SLICE, (0, n, 1)) for n in shape[axis:]]


_MASK = "mask"


def _axes_of(kind: str, item: Any) -> int:
    if kind == _MASK:
        return np.ndim(item)
    return int(kind in (INTEGER, SLICE, ARRAY))


def _kind(item: Any) -> str:
    if item is None:
        return NEW_AXIS
    if item is Ellipsis:
        return DOTS
    if isinstance(item, slice):
        return SLICE
    if isinstance(item, bool | np.bool_):
        return TRUTH
    if isinstance(item, int | np.integer):
        return INTEGER
    if hasattr(item, "__jax_array__"):
        item = item.__jax_array__()
    if isinstance(item, Array | np.ndarray):
        if item.dtype == np.bool_:
            return TRUTH if not item.shape else _MASK
        if dtypes.issubdtype(item.dtype, np.integer):
            return ARRAY
        raise TypeError(
            f"an index array holds integers or booleans; the dtype of this one is {item.dtype}"
        )
    if isinstance(item, str):
        raise TypeError(f"arrays are not indexed by strings; got the index {item!r}")
    if isinstance(item, Sequence):
        return ARRAY if not item else _kind(asarray(item))
    if isinstance(item, float | complex | np.generic):
        raise TypeError(
            f"an index is an integer or a boolean, not {item!r} of type {type(item).__name__}"
        )
    raise IndexError(
        f"{item!r:.80} of type {type(item).__name__} is no index. Indices are slices, `...`, "
        "`None`, and integers or booleans, alone or in arrays"
    )


def _as_index_array(item: Any) -> Any:
    if isinstance(item, Array | np.ndarray):
        return item
    array = asarray(item)
    return asarray(item, dtypes.default_int()) if array.aval.size == 0 else array


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    """(start, length, step) of a slice of an axis."""
    try:
        start, stop, step = item.indices(size)
    except ConcretizationTypeError as error:
        raise IndexError(
            "Array slice indices must have static start, stop and step: integers known while "
            f"tracing, got {item}. Use lax.dynamic_slice (or dynamic_update_slice) for a slice of "
            "static length that begins at a traced index."
        ) from error
    except TypeError:
        raise IndexError(f"slice entries must be integers or None, got {item}") from None
    return start, len(range(start, stop, step)), step


def _mask_entries(mask: Any, shape: Shape, axis: int) -> list[Entry]:
    """The true places of a mask, as one integer array for each of its axes."""
    host = known_mask(mask)
    expected = shape[axis : axis + host.ndim]
    if any(m not in (n, 0) for m, n in zip(host.shape, expected, strict=True)):
        raise IndexError(
            f"a boolean index is as long as the axes it masks: its shape is {host.shape}, and the "
            f"axes have lengths {expected}"
        )
    index = dtypes.default_int()
    return [Entry(ARRAY, places.astype(index)) for places in np.nonzero(host)]


def known_mask(mask: Any) -> np.ndarray:
    """The elements of a mask used as an index; an error under tracing says what to use instead."""
    mask = asarray(mask)
    if isinstance(mask, Tracer):
        raise mask.concretization_error(
            NonConcreteBooleanIndexError,
            "A traced boolean mask was used as an index (NonConcreteBooleanIndexError), so the "
            "shape of the result depends on its elements",
            "Use the three-argument where(mask, x, y), or nonzero with a static size; for sums and "
            "the like pass `where=mask`.",
        )
    return np.asarray(mask)


def truth_entry(value: Any) -> bool:
    """The value of a scalar bool in an index."""
    return bool(known_mask(value))


def is_known(x: Any) -> bool:
    """Whether an index array is there to be looked at."""
    return isinstance(x, ConcreteArray | np.ndarray)
