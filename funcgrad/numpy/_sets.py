"""Arrays as sets: unique, isin, union1d, intersect1d, setdiff1d, setxor1d.

How many elements a result has depends on data; a `size` makes it known, and the rest is filled up.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import concatenate, convert, iota, reshape
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import canonical_axis, concrete_int
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._choosing import where
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._cumulative import cumsum
from funcgrad.numpy._filling import full, full_like, ones, zeros
from funcgrad.numpy._logic import isnan, not_equal
from funcgrad.numpy._nonzero import nonzero
from funcgrad.numpy._promotion import promote_dtypes, to_array, to_arrays
from funcgrad.numpy._reductions import all, any
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import moveaxis, ravel
from funcgrad.numpy._sorting import FEW_COMPARISONS, argsort, lexsort, searchsorted, sort


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements in ascending order, or the different parts along an axis.

    Args:
        ar: the array; flattened if the axis is None.
        return_index: return also where each is found first,
        return_inverse: for each element the place of its value in the result,
        return_counts: and how often each occurs.
        axis: the axis.
        equal_nan: whether all nan are one.
        size: how many to return, which must be given while tracing; the smallest are kept.
        fill_value: what fills the rest; by default the smallest.
        sorted: of no effect.
    """
    ar = to_array("unique", ar)
    _check_known("unique", size, ar)
    shape = ar.aval.shape
    if axis is None:
        ar, along = ravel(ar), 0
    else:
        along = canonical_axis(axis, ar.ndim)
    rows = moveaxis(ar, along, 0)
    if size is not None:
        size = concrete_int(size, "size")
        if rows.aval.shape[0] == 0 and size and fill_value is None:
            raise ValueError(
                f"unique: give a fill_value, for size={size} elements are asked of an empty array"
            )
    order, first = _sorted_rows(rows, equal_nan)
    places = nonzero(first, size=size)[0]
    number = total(first)
    values = _filled(rows[order], places, number, size, fill_value)
    result = [moveaxis(values, 0, along)]
    if return_index:
        result.append(order[places] if rows.aval.shape[0] else order)
    if return_inverse:
        ranks = cumsum(first) - 1
        inverse = zeros(first.aval.shape, dtypes.default_int()).at[order].set(ranks)
        result.append(reshape(inverse, shape) if axis is None else inverse)
    if return_counts:
        result.append(_counts(first, places, number))
    return result[0] if len(result) == 1 else tuple(result)


def _check_known(name: str, size: int | None, *arrays: Any) -> None:
    for x in arrays:
        if size is None and isinstance(x, Tracer):
            raise x.concretization_error(
                ConcretizationTypeError,
                f"{name} of a traced array was tried without a size",
                f"How many elements {name} returns depends on data: give the size argument, a "
                "concrete value that determines the output size.",
            )


def _sorted_rows(rows: Any, equal_nan: bool) -> tuple[Any, Any]:
    """The order that sorts the rows, and which of the sorted ones differ from the one before."""
    count = rows.aval.shape[0]
    width = math.prod(rows.aval.shape[1:])
    flat = reshape(rows, (count, width))
    if count == 0:
        return iota(dtypes.default_int(), (0,)), zeros((0,), np.bool_)
    if width == 0:
        return iota(dtypes.default_int(), (count,)), iota(np.int32, (count,)) == 0
    order = lexsort([flat[:, i] for i in reversed(range(width))])
    found = flat[order]
    later, earlier = found[1:], found[:-1]
    differs = not_equal(later, earlier)
    if equal_nan and dtypes.issubdtype(found.aval.dtype, np.inexact):
        differs = differs & ~(isnan(later) & isnan(earlier))
    return order, concatenate([ones((1,), np.bool_), any(differs, 1)], 0)


def _filled(rows: Any, places: Any, number: Any, size: int | None, fill_value: Any) -> Any:
    """The rows at the places, of which only `number` mean something."""
    if rows.aval.shape[0] == 0:
        empty = (size or 0, *rows.aval.shape[1:])
        return full_like(rows, 0 if fill_value is None else fill_value, shape=empty)
    values = rows[places]
    if size is None or fill_value is None:
        return values
    valid = iota(dtypes.default_int(), (size,)) < number
    valid = reshape(valid, (size,) + (1,) * (rows.ndim - 1))
    return where(valid, values, convert(asarray(fill_value), values.aval.dtype))


def _counts(first: Any, places: Any, number: Any) -> Any:
    """How many sorted elements lie between each place of a first one and the next such place."""
    length = places.aval.size
    if length == 0:
        return zeros((0,), dtypes.default_int())
    nth = iota(dtypes.default_int(), (length,))
    (following,) = nonzero(first, size=length + 1)
    ends = where(nth == number - 1, first.aval.size, following[1:])
    return where(nth < number, ends - places, 0)


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The different elements, where each is first, the inverse, and counts; nan all differ."""
    found = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAll(*found)


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The different elements and how often each occurs; nan all differ."""
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueCounts(*unique(x, return_counts=True, **options))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The different elements, and for each element the place of its value; nan all differ."""
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueInverse(*unique(x, return_inverse=True, **options))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements; nan all differ."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# membership


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each element is among the test elements, or with `invert` whether it is not.

    method: "compare_all", "binary_search" or "sort", which give the same, or "auto".
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method is 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}"
        )
    x, tests = promote_dtypes("isin", element, test_elements)
    tests = ravel(tests)
    if x.aval.size == 0 or tests.aval.size == 0:
        return full(x.aval.shape, np.bool_(invert))
    few = x.aval.size * tests.aval.size <= FEW_COMPARISONS
    if method == "compare_all" or (method == "auto" and few):
        if invert:
            return all(not_equal(x[..., None], tests), -1)
        return any(x[..., None] == tests, -1)
    ordered = sort(tests)
    place = searchsorted(ordered, x, method="sort" if method == "sort" else "scan")
    nearest = ordered.at[place].get(mode="clip")
    return not_equal(nearest, x) if invert else nearest == x


class _Merged(NamedTuple):
    """Two flat arrays sorted together, equal elements in groups.

    Attributes:
        values: the sorted elements.
        order: where each was in the joined arrays; those of the first array come first.
        first: which are the first of their group.
        group: the number of the group of each.
        counts: for each group how many elements of either array it has.
    """

    values: Any
    order: Any
    first: Any
    group: Any
    counts: tuple[Any, Any]


def _merged(a: Any, b: Any) -> _Merged:
    joined = concatenate([a, b], 0)
    size, index = joined.aval.size, dtypes.default_int()
    order = argsort(joined)
    values = joined[order]
    first = concatenate([ones((1,), np.bool_), not_equal(values[1:], values[:-1])], 0)
    group = cumsum(first) - 1
    of_a = convert(order < a.aval.size, index)
    none = zeros((size,), index)
    return _Merged(
        values, order, first, group, (none.at[group].add(of_a), none.at[group].add(1 - of_a))
    )


def _flat_pair(name: str, a: Any, b: Any, size: int | None) -> tuple[Any, Any]:
    a, b = promote_dtypes(name, a, b)
    _check_known(name, size, a, b)
    return ravel(a), ravel(b)


def _chosen(merged: _Merged, keep: Any, size: int | None, fill_value: Any) -> tuple[Any, Any]:
    """The values of the groups to keep, and the places of their first elements."""
    mask = merged.first & keep[merged.group]
    (places,) = nonzero(mask, size=size)
    number = total(mask)
    if fill_value is None and size is not None:
        fill_value = (
            where(number > 0, merged.values.at[places[:1]].get(mode="clip"), 0)[0] if size else 0
        )
    return _filled(merged.values, places, number, size, fill_value), places


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of either array, ascending, without repetition."""
    a, b = _flat_pair("union1d", ar1, ar2, size)
    return unique(concatenate([a, b], 0), size=size, fill_value=fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of both arrays, ascending; with `return_indices` also where each is first."""
    a, b = _flat_pair("intersect1d", ar1, ar2, size)
    if a.aval.size + b.aval.size == 0:
        nothing = full_like(a, 0 if fill_value is None else fill_value, shape=(size or 0,))
        places = zeros((size or 0,), dtypes.default_int())
        return (nothing, places, places) if return_indices else nothing
    merged = _merged(a, b)
    values, places = _chosen(
        merged, (merged.counts[0] > 0) & (merged.counts[1] > 0), size, fill_value
    )
    if not return_indices:
        return values
    in_a = merged.order[places]
    in_b = merged.order.at[places + merged.counts[0][merged.group[places]]].get(mode="clip")
    in_b = in_b - a.aval.size
    if size is not None:
        both = (merged.counts[0] > 0) & (merged.counts[1] > 0)
        valid = iota(dtypes.default_int(), (size,)) < total(both)
        in_a, in_b = where(valid, in_a, a.aval.size), where(valid, in_b, b.aval.size)
    return values, in_a, in_b


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of ar1 that are not in ar2, ascending (in their order with `assume_unique`).

    The rest up to `size` is filled with 0.
    """
    a, b = to_arrays("setdiff1d", ar1, ar2)
    _check_known("setdiff1d", size, a, b)
    a, b = ravel(a), ravel(b)
    fill = 0 if fill_value is None else fill_value
    if a.aval.size == 0:
        return full_like(a, fill, shape=(size or 0,))
    if assume_unique:
        mask = isin(a, b, invert=True)
        (places,) = nonzero(mask, size=size)
        return _filled(a, places, total(mask), size, fill)
    dtype = a.aval.dtype
    a, b = promote_dtypes("setdiff1d", a, b)
    merged = _merged(a, b)
    keep = (merged.counts[0] > 0) & (merged.counts[1] == 0)
    return convert(_chosen(merged, keep, size, fill)[0], dtype)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements that are in exactly one of the arrays, ascending."""
    a, b = _flat_pair("setxor1d", ar1, ar2, size)
    if a.aval.size + b.aval.size == 0:
        return full_like(a, 0 if fill_value is None else fill_value, shape=(size or 0,))
    merged = _merged(a, b)
    keep = (merged.counts[0] > 0) != (merged.counts[1] > 0)
    return _chosen(merged, keep, size, fill_value)[0]
