"""Order: sort, argsort, partition, lexsort, and searching in what is sorted."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.api.looping import fori_loop
from funcgrad.base import dtypes
from funcgrad.base.basis import (
    broadcast_in_dim,
    broadcast_scalar,
    concatenate,
    convert,
    iota,
    reshape,
)
from funcgrad.base.shapes import canonical_axis
from funcgrad.numpy._choosing import where
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._logic import less
from funcgrad.numpy._promotion import promote_dtypes, to_array, to_arrays
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import ravel
from funcgrad.primitives import sorting
from funcgrad.primitives.compare import bitwise_and, bitwise_not, bitwise_or, ne
from funcgrad.primitives.structural import rev

# Below this many comparisons all of them are made at once instead of a binary search.
FEW_COMPARISONS = 1 << 14


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """The elements in ascending order along an axis, of the flattened array if that is None.

    nan comes last (first if `descending`).
    """
    _check_kind("sort", kind, order)
    a = to_array("sort", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    result = sorting.sort(a, axis, stable)
    return rev(result, (axis,)) if descending else result


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The places that the elements would be taken from to put them in ascending order."""
    _check_kind("argsort", kind, order)
    a = to_array("argsort", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    index = dtypes.default_int() if dtype is None else dtypes.check_user_dtype(dtype, "argsort")
    places = iota(index, a.aval.shape, axis)
    if descending and stable:
        # Reversed before and after, equal elements keep their order.
        a, places = rev(a, (axis,)), rev(places, (axis,))
    _, found = sorting.sort_key_val(a, places, axis, stable)
    return rev(found, (axis,)) if descending else found


def _check_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"{name}: the 'kind' argument is not supported; say stable=True or stable=False."
        )
    if order is not None:
        raise TypeError(f"{name}: the 'order' argument is not supported: arrays have no fields.")


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """The elements rearranged so that the kth is where sorting puts it, smaller ones before it."""
    a = to_array("partition", a)
    axis = canonical_axis(axis, a.ndim)
    canonical_axis(kth, a.aval.shape[axis], "kth")
    return sort(a, axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The places that `partition` takes elements from."""
    a = to_array("argpartition", a)
    axis = canonical_axis(axis, a.ndim)
    canonical_axis(kth, a.aval.shape[axis], "kth")
    return argsort(a, axis)


def lexsort(keys: Sequence[Any] | Any, axis: int = -1) -> Any:
    """The places that sort by the last key, where it ties by the one before, and so on."""
    arrays = to_arrays("lexsort", *keys)
    if not arrays:
        raise TypeError("lexsort: there is no key to sort by")
    shapes = {x.aval.shape for x in arrays}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: the keys differ in shape: {sorted(shapes)}")
    index = dtypes.default_int()
    if not arrays[0].aval.shape:
        return asarray(0, index)
    axis = canonical_axis(axis, arrays[0].ndim)
    places = iota(index, arrays[0].aval.shape, axis)
    return sorting.sort((*arrays[::-1], places), axis, num_keys=len(arrays))[-1]


def sort_complex(a: Any) -> Any:
    """The elements as complex numbers, by their real and then imaginary parts."""
    a = to_array("sort_complex", a)
    return convert(sort(a), dtypes.canonicalize_dtype(dtypes.to_complex(a.aval.dtype)))


# searching


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where elements would be put into a sorted array of one axis, so that it stays sorted.

    Args:
        a: ascending numbers, nan last.
        v: what to look for.
        side: "left" for the first place that will do, "right" for the last.
        sorter: places that sort `a`, if it is not sorted.
        method: how: "scan" (binary search), "scan_unrolled", "compare_all" or "sort". The result is
            the same; the last two do more work, but in fewer operations.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', got {side!r}")
    if method not in ("scan", "scan_unrolled", "compare_all", "sort"):
        raise ValueError(
            "searchsorted: method is 'scan', 'scan_unrolled', 'compare_all' or 'sort', got "
            f"{method!r}"
        )
    a, v = promote_dtypes("searchsorted", a, v)
    if a.ndim != 1:
        raise ValueError(f"searchsorted: a should be 1-dimensional, got shape {a.aval.shape}")
    if sorter is not None:
        a = a[sorter]
    few = a.aval.size * v.aval.size <= FEW_COMPARISONS
    if method == "compare_all" or (method == "scan" and few):
        found = _compare_all(a, v, side)
    elif method == "sort":
        found = _by_sorting(a, v, side)
    else:
        found = _binary_search(a, v, side, unroll=method == "scan_unrolled")
    # Places are told apart in 32 bits, whatever the default integer.
    fits = a.aval.size <= np.iinfo(np.int32).max
    return convert(found, np.int32 if fits else dtypes.default_int())


def _before(x: Any, y: Any) -> Any:
    """Whether x is sorted before y; nan stands last."""
    smaller = less(x, y)
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        return smaller
    return bitwise_or(smaller, bitwise_and(bitwise_not(ne(x, x)), ne(y, y)))


def _precedes(x: Any, v: Any, side: str) -> Any:
    """Whether the place of v is behind the element x."""
    return _before(x, v) if side == "left" else bitwise_not(_before(v, x))


def _compare_all(a: Any, v: Any, side: str) -> Any:
    shape = (*v.aval.shape, a.aval.size)
    rows = broadcast_in_dim(v, shape, range(v.ndim))
    elements = broadcast_in_dim(a, shape, (v.ndim,))
    return total(_precedes(elements, rows, side), -1, dtypes.default_int())


def _binary_search(a: Any, v: Any, side: str, unroll: bool) -> Any:
    size = a.aval.size
    zero = broadcast_scalar(0, v.aval.update(dtype=dtypes.default_int(), weak_type=False))
    bounds = zero, zero + size
    steps = math.ceil(math.log2(size + 1))

    def narrow(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        middle = (low + high) // 2
        behind = _precedes(a[middle], v, side)
        # Once both bounds have met there is nothing to halve.
        open_ = low < high
        return where(behind & open_, middle + 1, low), where(~behind & open_, middle, high)

    if unroll:
        for i in range(steps):
            bounds = narrow(i, bounds)
        return bounds[0]
    return fori_loop(0, steps, narrow, bounds)[0] if size else zero


def _by_sorting(a: Any, v: Any, side: str) -> Any:
    """The rank of each v among all elements, less its rank among the v alone."""
    flat = ravel(v)
    parts = [a, flat] if side == "right" else [flat, a]
    first = 0 if side == "left" else a.aval.size
    ranks = _ranks(concatenate(parts, 0))[first : first + flat.aval.size] - _ranks(flat)
    return reshape(ranks, v.aval.shape)


def _ranks(x: Any) -> Any:
    """For each element the place that a stable sort moves it to."""
    order = argsort(x)
    return argsort(order)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that each element lies in: i where bins[i-1] <= x < bins[i].

    With `right` the right end belongs to a bin instead. The bins may descend.
    """
    x, bins = to_arrays("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins of shape {bins.aval.shape} do not have one axis")
    if bins.aval.size == 0:
        return broadcast_scalar(0, x.aval.update(dtype=dtypes.default_int(), weak_type=False))
    side, method = ("left" if right else "right"), method or "scan"
    ascending = searchsorted(bins, x, side, method=method)
    descending = bins.aval.size - searchsorted(rev(bins, (0,)), x, side, method=method)
    return where(bins[-1] >= bins[0], ascending, descending)
