"""Where elements are nonzero: results whose length depends on data, unless a size is given."""

import math
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.basis import (
    broadcast_scalar,
    concatenate,
    convert,
    iota,
    reshape,
    slice_array,
)
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import Shape, concrete_int
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._logic import truth
from funcgrad.numpy._promotion import choose, like, to_array
from funcgrad.primitives import arithmetic
from funcgrad.primitives.compare import lt
from funcgrad.primitives.sorting import sort


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of the nonzero elements, one array for each axis.

    Args:
        a: an array of rank 1 or more.
        size: the length of the result: the indices of that many elements. Needed while tracing.
        fill_value: a number, or one for each axis, for indices beyond the last one; 0 by default.
    """
    a = to_array("nonzero", a)
    shape = a.aval.shape
    if not shape:
        raise ValueError("nonzero of a 0d array is not defined; use atleast_1d(x) first.")
    mask = truth(a)
    if size is None:
        return _nonzero_now(mask)
    size = concrete_int(size, "size")
    flat = positions(reshape(mask, (math.prod(shape),)), size)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * len(shape)
    if len(fills) != len(shape) or any(np.shape(f) for f in fills if f is not None):
        raise ValueError(
            f"nonzero: fill_value is {fill_value}, neither one scalar nor a tuple of "
            f"{len(shape)} scalars, one for each axis"
        )
    found = lt(flat, like(math.prod(shape), flat))
    return tuple(
        choose(found, index, convert(to_array("nonzero", 0 if fill is None else fill), index.dtype))
        for index, fill in zip(unravel(flat, shape), fills, strict=True)
    )


def _nonzero_now(mask: Any) -> tuple[Any, ...]:
    mask = known_mask("nonzero", mask)
    index = dtypes.default_int()
    return tuple(as_array(i.astype(index)) for i in np.nonzero(mask))


def known_mask(name: str, mask: Any) -> np.ndarray:
    """The elements of a mask that decides a shape; an error under tracing names the way out."""
    if isinstance(mask, Tracer) and not isinstance(mask, ConcreteArray):
        raise mask.concretization_error(
            ConcretizationTypeError,
            f"{name} of a traced array needs to know how many elements it will return",
            f"Give {name} a static size: {name}(x, size=n, fill_value=...). Or use the "
            "three-argument where.",
        )
    return np.asarray(mask)


def positions(mask: Any, size: int) -> Any:
    """The places of the first `size` true elements of a flat mask, and its length where there are
    no more."""
    length = mask.aval.shape[0]
    index = dtypes.default_int()
    places = iota(index, (length,))
    beyond = like(length, places)
    ordered = sort(choose(mask, places, beyond), 0) if length else places
    if size <= length:
        return slice_array(ordered, (0,), (size,))
    missing = broadcast_scalar(length, places.aval.update(shape=(size - length,)))
    return concatenate([ordered, missing], 0)


def unravel(flat: Any, shape: Shape) -> list[Any]:
    """Row-major positions as indices along each axis; a position beyond the end wraps to some."""
    result = []
    for i, n in enumerate(shape):
        stride = like(max(math.prod(shape[i + 1 :]), 1), flat)
        quotient = arithmetic.div(flat, stride)
        result.append(arithmetic.rem(quotient, like(max(n, 1), flat)))
    return result


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions of the nonzero elements of `a` in row-major order."""
    a = to_array("flatnonzero", a)
    return nonzero(reshape(a, (a.aval.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of the nonzero elements, one row for each of them."""
    a = to_array("argwhere", a)
    if not a.aval.shape:
        rows = nonzero(reshape(a, (1,)), size=size, fill_value=fill_value)[0].shape[0]
        return as_array(np.zeros((rows, 0), dtypes.default_int()))
    columns = nonzero(a, size=size, fill_value=fill_value)
    return concatenate([reshape(c, (*c.aval.shape, 1)) for c in columns], 1)
