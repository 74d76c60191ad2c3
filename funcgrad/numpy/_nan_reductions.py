"""Reductions that leave nan out: nansum, nanmax, nanmean, nanvar, ..."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import convert, eq
from funcgrad.numpy._promotion import choose, like, refuse_out, to_array
from funcgrad.numpy._reductions import (
    Axis,
    all,
    check_where,
    max,
    mean,
    min,
    prod,
    sum,
)
from funcgrad.numpy._searching import argmax, argmin
from funcgrad.numpy._statistics import squared_size, variance_dtypes
from funcgrad.numpy._ufuncs import sqrt
from funcgrad.primitives import arithmetic
from funcgrad.primitives.compare import le, ne


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """`sum` with nan counted as 0."""
    return sum(_replaced("nansum", a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """`prod` with nan counted as 1."""
    return prod(_replaced("nanprod", a, 1), axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The maximum of what is not nan; nan where there is nothing else."""
    result = max(_replaced("nanmax", a, -np.inf), axis, out, keepdims, initial, where)
    return result if initial is not None else _nan_if_nothing_else(a, result, axis, keepdims)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The minimum of what is not nan; nan where there is nothing else."""
    result = min(_replaced("nanmin", a, np.inf), axis, out, keepdims, initial, where)
    return result if initial is not None else _nan_if_nothing_else(a, result, axis, keepdims)


def _replaced(name: str, a: Any, value: float) -> Any:
    """a with a number in the place of nan."""
    a = to_array(name, a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return a
    return choose(ne(a, a), like(value, a), a)


def _nan_if_nothing_else(a: Any, result: Any, axis: Axis, keepdims: bool) -> Any:
    a = to_array("nanmax", a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return result
    nothing = all(ne(a, a), axis, None, keepdims)
    return choose(nothing, like(np.nan, result), result)


# means and spread


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The mean of what is not nan."""
    refuse_out("nanmean", out)
    a = to_array("nanmean", a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return mean(a, axis, dtype, None, keepdims, where=where)
    dtype = a.aval.dtype if dtype is None else dtypes.check_user_dtype(dtype, "nanmean")
    number = sum(eq(a, a), axis, dtype, None, keepdims, None, where)
    return arithmetic.div(nansum(a, axis, dtype, None, keepdims, None, where), number)


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The variance of what is not nan; nan where no more than `ddof` elements are left."""
    refuse_out("nanvar", out)
    a = to_array("nanvar", a)
    where = check_where("nanvar", where)
    work, result_dtype = variance_dtypes("nanvar", a, dtype)
    a = convert(a, work)
    there = eq(a, a)
    if mean is None:
        center = nanmean(a, axis, work, None, True, where)
    else:
        center = convert(to_array("nanvar", mean), work)
    # Where nothing is, the difference is 0 before it is squared, so that gradients are too.
    distance = choose(there, a - center, like(0, a))
    total = sum(squared_size(distance), axis, None, None, keepdims, None, where)
    number = sum(there, axis, None, None, keepdims, None, where) - ddof
    too_few = le(number, like(0, number))
    safe = convert(choose(too_few, like(1, number), number), total.aval.dtype)
    result = arithmetic.div(choose(too_few, like(np.nan, total), total), safe)
    return convert(result, result_dtype)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The square root of `nanvar`."""
    return sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


# places


def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The place of the maximum of what is not nan; -1 where there is nothing else."""
    return _place("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The place of the minimum of what is not nan; -1 where there is nothing else."""
    return _place("nanargmin", argmin, np.inf, a, axis, out, keepdims)


def _place(
    name: str, find: Any, worst: float, a: Any, axis: int | None, out: Any, keepdims: Any
) -> Any:
    refuse_out(name, out)
    a = to_array(name, a)
    found = find(_replaced(name, a, worst), axis, None, keepdims)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return found
    return choose(all(ne(a, a), axis, None, bool(keepdims)), like(-1, found), found)
