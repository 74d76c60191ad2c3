"""Running sums and products."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_scalar, concatenate, convert
from funcgrad.base.shapes import canonical_axis
from funcgrad.numpy._logic import truth
from funcgrad.numpy._promotion import (
    choose,
    is_bool,
    like,
    refuse_out,
    to_array,
)
from funcgrad.numpy._reductions import integer_result
from funcgrad.numpy._shaping import ravel
from funcgrad.primitives import cumulative
from funcgrad.primitives.compare import ne


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of all elements up to each along an axis, by default of the flattened array.

    Booleans are summed as integers; integers keep their dtype.
    """
    refuse_out("cumsum", out)
    return _running("cumsum", cumulative.cumsum, to_array("cumsum", a), axis, dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of all elements up to each along an axis, by default of the flattened array."""
    refuse_out("cumprod", out)
    return _running("cumprod", cumulative.cumprod, to_array("cumprod", a), axis, dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with nan counted as 0."""
    refuse_out("nancumsum", out)
    return _running("nancumsum", cumulative.cumsum, _without_nan("nancumsum", a, 0), axis, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumprod` with nan counted as 1."""
    refuse_out("nancumprod", out)
    return _running("nancumprod", cumulative.cumprod, _without_nan("nancumprod", a, 1), axis, dtype)


def _without_nan(name: str, a: Any, value: int) -> Any:
    a = to_array(name, a)
    return choose(ne(a, a), like(value, a), a) if not is_bool(a) else a


def _running(
    name: str,
    function: Callable[..., Any],
    a: Any,
    axis: int | None,
    dtype: Any,
    promote_integers: bool = False,
) -> Any:
    if axis is None or not a.aval.shape:
        a = ravel(a)
    axis = 0 if axis is None else canonical_axis(axis, a.ndim)
    if dtype is not None:
        dtype = dtypes.check_user_dtype(dtype, name)
    elif is_bool(a) or promote_integers:
        dtype = integer_result(a.aval.dtype)
    else:
        dtype = a.aval.dtype
    if dtype == np.bool_:
        counted = convert(truth(a), dtypes.default_int())
        return truth(function(counted, axis))
    return function(convert(a, dtype), axis)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of all elements up to each along an axis, which may be left out for one axis.

    `include_initial` puts a 0 in front. Narrow integers are summed in 32 bits.
    """
    return _array_api("cumulative_sum", cumulative.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of all elements up to each along an axis, which may be left out for one axis.

    `include_initial` puts a 1 in front.
    """
    return _array_api("cumulative_prod", cumulative.cumprod, x, axis, dtype, include_initial, 1)


def _array_api(
    name: str, function: Callable, x: Any, axis: int | None, dtype: Any, initial: bool, first: int
) -> Any:
    x = to_array(name, x)
    if x.ndim == 0:
        raise ValueError(f"{name}: a scalar has no axis along which to accumulate")
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"{name}: shape {x.aval.shape} has several axes, so say which with axis="
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    out = _running(name, function, x, axis, dtype, promote_integers=name == "cumulative_sum")
    if not initial:
        return out
    shape = tuple(1 if i == axis else n for i, n in enumerate(out.aval.shape))
    return concatenate([broadcast_scalar(first, out.aval.update(shape=shape)), out], axis)
