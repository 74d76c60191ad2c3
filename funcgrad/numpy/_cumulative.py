"""Running sums and products, and differences between neighbours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_scalar, concatenate, convert, reshape, slice_array
from funcgrad.base.shapes import canonical_axes, canonical_axis, concrete_int
from funcgrad.numpy._arithmetic import subtract, true_divide
from funcgrad.numpy._filling import zeros_like
from funcgrad.numpy._joining import concatenate as join
from funcgrad.numpy._logic import not_equal, truth
from funcgrad.numpy._promotion import (
    choose,
    inexact1,
    is_bool,
    like,
    promote_dtypes,
    refuse_out,
    to_array,
)
from funcgrad.numpy._reductions import integer_result
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import broadcast_to, moveaxis, ravel
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
        raise ValueError(f"{name}: the input must be non-scalar to take a cumulative result of it")
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"{name}: the axis is only optional for one-dimensional arrays, got shape "
                f"{x.aval.shape}"
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    out = _running(name, function, x, axis, dtype, promote_integers=name == "cumulative_sum")
    if not initial:
        return out
    shape = tuple(1 if i == axis else n for i, n in enumerate(out.aval.shape))
    return concatenate([broadcast_scalar(first, out.aval.update(shape=shape)), out], axis)


# differences


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """The n-th differences between neighbours along an axis.

    `prepend` and `append` are values, or arrays of them, put at the ends first. Booleans differ or
    do not.
    """
    a = to_array("diff", a)
    order = concrete_int(n, "n")
    if order < 0:
        raise ValueError(f"diff: order must be non-negative but got {order}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional; got a scalar")
    axis = canonical_axis(axis, a.ndim)
    if order == 0:
        return a
    parts = [_edge(a, prepend, axis), a, _edge(a, append, axis)]
    parts = [p for p in parts if p is not None]
    if len(parts) > 1:
        a = join(parts, axis)
    for _ in range(order):
        length = a.aval.shape[axis]
        later, earlier = _part(a, 1, length, axis), _part(a, 0, max(length - 1, 0), axis)
        a = not_equal(later, earlier) if is_bool(a) else subtract(later, earlier)
    return a


def _edge(a: Any, values: Any, axis: int) -> Any:
    if values is None:
        return None
    values = to_array("diff", values)
    if values.ndim:
        return values
    return broadcast_to(values, tuple(1 if i == axis else m for i, m in enumerate(a.aval.shape)))


def _part(x: Any, begin: int, end: int, axis: int) -> Any:
    start, limit = [0] * x.ndim, list(x.aval.shape)
    start[axis], limit[axis] = min(begin, end), end
    return slice_array(x, start, limit)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences between neighbours of the flattened array, with more put at the ends."""
    ary = ravel(to_array("ediff1d", ary))
    length = ary.aval.size
    result = subtract(_part(ary, 1, length, 0), _part(ary, 0, max(length - 1, 0), 0))
    ends = [to_begin, result, to_end]
    parts = [ravel(to_array("ediff1d", p)) for p in ends if p is not None]
    parts = [convert(p, result.aval.dtype) for p in parts]
    return join(parts) if len(parts) > 1 else result


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """The derivative along each axis (or the given ones) by central differences.

    Args:
        f: values on a grid, at least 2 along each axis.
        varargs: the distances between points, one for all axes or one for each; numbers, or the
            coordinates along the axis. 1 by default.
        axis: an axis or a sequence of them.
        edge_order: 1: at the ends, differences with the only neighbour.

    Returns:
        One array, or a list of them for several axes.
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient offers edge_order 1 only, got {edge_order}")
    f = inexact1("gradient", f)
    axes = canonical_axes(axis, f.ndim)
    if any(f.aval.shape[i] < 2 for i in axes):
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient: at least 2 elements are "
            f"required along each axis, got shape {f.aval.shape}"
        )
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient: invalid number of spacings, {len(varargs)} for {len(axes)} axes"
        )
    spacings = list(varargs or (1.0,)) * (len(axes) if len(varargs) < 2 else 1)
    results = [_slope(f, h, i) for h, i in zip(spacings, axes, strict=True)]
    return results[0] if len(results) == 1 else results


def _slope(f: Any, spacing: Any, axis: int) -> Any:
    n = f.aval.shape[axis]
    h = to_array("gradient", spacing)
    step = diff(f, axis=axis)
    if h.ndim == 0:
        inner = true_divide(
            subtract(_part(f, 2, n, axis), _part(f, 0, n - 2, axis)), h * like(2, h)
        )
        first, last = (true_divide(_part(step, i, i + 1, axis), h) for i in (0, n - 2))
    else:
        if h.aval.shape != (n,):
            raise ValueError(
                f"gradient: the coordinates along axis {axis} must have shape ({n},), got "
                f"{h.aval.shape}"
            )
        line = [1] * f.ndim
        line[axis] = n - 1
        gaps = reshape(diff(h), line)
        slopes = true_divide(step, gaps)
        left, right = _part(gaps, 0, n - 2, axis), _part(gaps, 1, n - 1, axis)
        # The slope of the parabola through three points weighs each side by the other gap.
        weighted = right * _part(slopes, 0, n - 2, axis) + left * _part(slopes, 1, n - 1, axis)
        inner = true_divide(weighted, left + right)
        first, last = (_part(slopes, i, i + 1, axis) for i in (0, n - 2))
    return join([first, inner, last], axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by trapezoids, between points x or with the distance dx."""
    if x is None:
        y = inexact1("trapezoid", y)
        width = to_array("trapezoid", dx)
        if width.ndim:
            width = reshape(width, (1,) * (y.ndim - width.ndim) + width.aval.shape)
            width = moveaxis(width, axis, -1)
    else:
        y, x = promote_dtypes("trapezoid", y, x, kind=dtypes.to_inexact)
        width = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    n, last = y.aval.shape[-1], y.ndim - 1
    pairs = _part(y, 1, n, last) + _part(y, 0, n - 1, last)
    return total(width * pairs, -1) * like(0.5, pairs)


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """p with multiples of the period added, so that neighbours differ by half of it at most.

    Jumps smaller than `discont` are left as they are.
    """
    p, period = promote_dtypes("unwrap", p, period)
    axis = canonical_axis(axis, p.ndim)
    integer = dtypes.issubdtype(p.aval.dtype, np.integer)
    half = period // 2 if integer else period / 2
    boundary_is_ambiguous = not integer or bool(np.asarray(period % 2 == 0))
    step = diff(p, axis=axis)
    wrapped = (step + half) % period - half
    if boundary_is_ambiguous:
        at_boundary = (wrapped == -half) & (step > like(0, step))
        wrapped = choose(*_same(at_boundary, half, wrapped))
    correction = wrapped - step
    limit = half if discont is None else to_array("unwrap", discont)
    correction = choose(*_same(abs(step) < limit, like(0, correction), correction))
    running = cumulative.cumsum(correction, axis)
    n = p.aval.shape[axis]
    return join([_part(p, 0, 1, axis), _part(p, 1, n, axis) + running], axis)


def _same(condition: Any, on_true: Any, on_false: Any) -> Sequence[Any]:
    return condition, convert(on_true, on_false.aval.dtype), on_false


