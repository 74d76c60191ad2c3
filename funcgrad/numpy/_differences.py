"""Differences between neighbours, and what is made of them: gradient, trapezoid, unwrap."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import convert, reshape
from funcgrad.base.shapes import canonical_axes, canonical_axis, concrete_int
from funcgrad.numpy._arithmetic import absolute, subtract, true_divide
from funcgrad.numpy._choosing import where
from funcgrad.numpy._cumulative import cumsum
from funcgrad.numpy._joining import concatenate as join
from funcgrad.numpy._logic import not_equal
from funcgrad.numpy._promotion import (
    inexact1,
    is_bool,
    is_complex,
    is_integer,
    like,
    promote_dtypes,
    to_array,
)
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import broadcast_to, moveaxis, part, ravel


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences between neighbours along an axis.

    `prepend` and `append` are values, or arrays of them, put at the ends first. Booleans differ or
    do not.
    """
    a = to_array("diff", a)
    order = concrete_int(n, "n")
    if order < 0:
        raise ValueError(f"diff: n={order} is negative; it counts how often to take differences")
    if a.ndim == 0:
        raise ValueError("diff: a scalar has no axis to take differences along")
    axis = canonical_axis(axis, a.ndim)
    if order == 0:
        return a
    parts = [_edge(a, prepend, axis), a, _edge(a, append, axis)]
    parts = [p for p in parts if p is not None]
    if len(parts) > 1:
        a = join(parts, axis)
    for _ in range(order):
        length = a.aval.shape[axis]
        later, earlier = part(a, 1, length, axis), part(a, 0, max(length - 1, 0), axis)
        a = not_equal(later, earlier) if is_bool(a) else subtract(later, earlier)
    return a


def _edge(a: Any, values: Any, axis: int) -> Any:
    if values is None:
        return None
    values = to_array("diff", values)
    if values.ndim:
        return values
    return broadcast_to(values, tuple(1 if i == axis else m for i, m in enumerate(a.aval.shape)))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences between neighbours of the flattened array, with more put at the ends."""
    ary = ravel(to_array("ediff1d", ary))
    length = ary.aval.size
    result = subtract(part(ary, 1, length, 0), part(ary, 0, max(length - 1, 0), 0))
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
            f"gradient compares neighbours, so each axis needs at least 2 elements; the shape is "
            f"{f.aval.shape}"
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
        inner = true_divide(subtract(part(f, 2, n, axis), part(f, 0, n - 2, axis)), h * like(2, h))
        first, last = (true_divide(part(step, i, i + 1, axis), h) for i in (0, n - 2))
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
        left, right = part(gaps, 0, n - 2, axis), part(gaps, 1, n - 1, axis)
        # The slope of the parabola through three points weighs each side by the other gap.
        weighted = right * part(slopes, 0, n - 2, axis) + left * part(slopes, 1, n - 1, axis)
        inner = true_divide(weighted, left + right)
        first, last = (part(slopes, i, i + 1, axis) for i in (0, n - 2))
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
    pairs = part(y, 1, n, last) + part(y, 0, n - 1, last)
    return total(width * pairs, -1) * like(0.5, pairs)


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """p with multiples of the period added, so that neighbours differ by half of it at most.

    Jumps smaller than `discont` are left as they are.
    """
    p, period = promote_dtypes("unwrap", p, period)
    if is_complex(p):
        raise ValueError(f"unwrap is for real angles; {p.aval.str_short()} is complex")
    axis = canonical_axis(axis, p.ndim)
    step = diff(p, axis=axis)
    half = period // 2 if is_integer(p) else period / 2
    wrapped = (step + half) % period - half
    # Half a period up is as near as half a period down, where integers have a half at all.
    both_as_near = (wrapped == -half) & (step > 0) & (period == 2 * half)
    wrapped = where(both_as_near, half, wrapped)
    limit = half if discont is None else discont
    correction = where(absolute(step) < limit, 0, wrapped - step)
    shifted = part(p, 1, p.aval.shape[axis], axis) + cumsum(correction, axis)
    return join([part(p, 0, 1, axis), shifted], axis) if p.aval.shape[axis] else p
