"""Quantiles, percentiles and medians, with nan passed on or left out."""

import math
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import convert, reshape, transpose
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._cumulative import cumsum
from funcgrad.numpy._filling import ones_like
from funcgrad.numpy._logic import isnan
from funcgrad.numpy._promotion import (
    broadcast,
    inexact1,
    is_complex,
    like,
    promote_dtypes,
    to_array,
    to_arrays,
)
from funcgrad.numpy._reductions import any, sum
from funcgrad.numpy._taking import take_along_axis
from funcgrad.primitives import arithmetic
from funcgrad.primitives.sorting import sort, sort_key_val

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")

QuantileAxis = int | tuple[int, ...] | None


def quantile(
    a: Any,
    q: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The q-quantiles of the elements over the given axes (all by default); nan if one is nan.

    Args:
        a: real numbers.
        q: a number in [0, 1], or one axis of them, which comes first in the result.
        axis: an axis or a tuple of them.
        out: None.
        overwrite_input: False.
        method: what to do between two elements: "linear", "lower", "higher", "midpoint", "nearest";
            "inverted_cdf" is the least element that a share q of all does not exceed.
        keepdims: keep the axes, with length 1.
        weights: how much elements count; with "inverted_cdf" only. Shaped like `a` or its `axis`.

    Returns:
        Floats in the dtype of `a`, of shape [*q, *kept axes].
    """
    _refuse("quantile", out, overwrite_input)
    return _quantile("quantile", a, to_array("quantile", q), axis, method, keepdims, weights, False)


def nanquantile(
    a: Any,
    q: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` of what is not nan."""
    _refuse("nanquantile", out, overwrite_input)
    q = to_array("nanquantile", q)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, True)


def percentile(
    a: Any,
    q: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: None = None,
) -> Any:
    """`quantile` with q in percent."""
    _refuse("percentile", out, overwrite_input)
    share = inexact1("percentile", q) / 100
    return _quantile("percentile", a, share, axis, method, keepdims, weights, False)


def nanpercentile(
    a: Any,
    q: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`nanquantile` with q in percent."""
    _refuse("nanpercentile", out, overwrite_input)
    share = inexact1("nanpercentile", q) / 100
    return _quantile("nanpercentile", a, share, axis, method, keepdims, weights, True)


def median(
    a: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle element over the given axes, or the mean of the two in the middle."""
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def nanmedian(
    a: Any,
    axis: QuantileAxis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The median of what is not nan."""
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _refuse(name: str, out: Any, overwrite_input: bool) -> None:
    if overwrite_input or out is not None:
        raise ValueError(
            f"{name}: leave out=None and overwrite_input=False, for arrays are immutable."
        )


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: QuantileAxis,
    method: str,
    keepdims: bool,
    weights: Any,
    skip_nan: bool,
) -> Any:
    if method not in METHODS:
        raise ValueError(
            f"{name}: method is one of {', '.join(map(repr, METHODS))}; got {method!r}"
        )
    a = inexact1(name, a)
    if is_complex(a):
        raise ValueError(f"{name} does not support complex input: complex numbers have no order.")
    if q.ndim > 1:
        raise ValueError(f"{name}: q of shape {q.aval.shape} has more than one axis")
    axes = canonical_axes(axis, a.ndim)
    if not all(a.aval.shape[i] for i in axes):
        raise ValueError(f"{name}: there is no element over axes {axes} of shape {a.aval.shape}")
    weights = _checked_weights(name, a, weights, axes, axis, method)
    rows = _as_rows(a, axes)
    share = convert(q, _position_dtype(rows, q))
    if method == "inverted_cdf":
        result = _inverted_cdf(
            rows, None if weights is None else _as_rows(weights, axes), share, skip_nan
        )
    else:
        result = _between(sort(rows, rows.ndim - 1), share, method, skip_nan)
    if not skip_nan:
        result = where(any(isnan(rows), -1, None, True), np.nan, result)
    # The quantiles stand last; they come first in the result.
    result = transpose(result, (result.ndim - 1, *range(result.ndim - 1)))
    kept = tuple(
        1 if i in axes else n for i, n in enumerate(a.aval.shape) if keepdims or i not in axes
    )
    return convert(reshape(result, (*q.aval.shape, *kept)), a.aval.dtype)


def _position_dtype(rows: Any, q: Any) -> Any:
    """A float dtype in which places can be told apart."""
    wide = promotion.promote_types(dtypes.to_inexact(q.aval.dtype), np.float32)
    return dtypes.canonicalize_dtype(promotion.promote_types(wide, rows.aval.dtype))


def _as_rows(a: Any, axes: tuple[int, ...]) -> Any:
    """[*other axes, elements over the given ones]."""
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = transpose(a, (*kept, *axes))
    shape = a.aval.shape
    return reshape(moved, (*(shape[i] for i in kept), math.prod(shape[i] for i in axes)))


def _between(rows: Any, share: Any, method: str, skip_nan: bool) -> Any:
    """Quantiles of sorted rows, by the two elements around their places."""
    flat = reshape(share, (share.aval.size,))
    if skip_nan:
        number = sum(~isnan(rows), -1, share.aval.dtype, None, True)
    else:
        number = like(rows.aval.shape[-1], share)
    last = number - 1
    place = flat * last
    low = arithmetic.floor(place)
    part = place - low
    top = where(last < 0, 0, last)
    low, high = (clip(p, 0, top) for p in (low, arithmetic.ceil(place)))
    below, above = (_elements(rows, p, share) for p in (low, high))
    part = broadcast(part, below.aval.shape)
    if method == "lower":
        return below
    if method == "higher":
        return above
    if method == "nearest":
        return where(part <= 0.5, below, above)
    if method == "midpoint":
        return (below + above) * like(0.5, below)
    # Without the condition an infinite neighbour would count even where its share is 0.
    below, above = convert(below, share.aval.dtype), convert(above, share.aval.dtype)
    return where(part == 0, below, below * (1 - part) + above * part)


def _elements(rows: Any, place: Any, share: Any) -> Any:
    """rows[..., place], where the places are one row for all, or one for each."""
    index = convert(place, dtypes.default_int())
    shape = (*rows.aval.shape[:-1], share.aval.size)
    return take_along_axis(rows, broadcast(index, shape), -1, "clip")


# weights


def _checked_weights(
    name: str, a: Any, weights: Any, axes: tuple[int, ...], axis: QuantileAxis, method: str
) -> Any:
    if weights is None:
        return None
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}: method {method!r} does not support weights; 'inverted_cdf' does."
        )
    (weights,) = to_arrays(name, weights)
    if is_complex(weights):
        raise ValueError(f"{name}: weights cannot be complex, got {weights.aval.str_short()}")
    _, weights = promote_dtypes(name, a, weights, kind=dtypes.to_inexact)
    if weights.aval.shape == a.aval.shape:
        return weights
    along = tuple(a.aval.shape[i] for i in axes)
    if axis is None or weights.aval.shape != along:
        raise ValueError(
            f"{name}: weights must have the shape of a, {a.aval.shape}, or that of its axes "
            f"{axes}, {along}; got {weights.aval.shape}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    spread = tuple(n if i in axes else 1 for i, n in enumerate(a.aval.shape))
    return broadcast(reshape(transpose(weights, order), spread), a.aval.shape)


def _inverted_cdf(rows: Any, weights: Any, share: Any, skip_nan: bool) -> Any:
    if weights is None:
        weights = ones_like(rows)
    rows, weights = sort_key_val(rows, weights, rows.ndim - 1)
    missing = isnan(rows)
    bad = (weights < 0) | isnan(weights)
    running = cumsum(where(bad | missing, 0, weights), -1)
    wanted = running[..., -1:] * reshape(share, (share.aval.size,))
    passed = running[..., None, :] < wanted[..., None]
    number = sum(~missing, -1, None, None, True) if skip_nan else rows.aval.shape[-1]
    place = clip(sum(passed, -1), 0, number - 1)
    found = take_along_axis(rows, clip(place, 0), -1, "clip")
    nothing = any(bad, -1, None, True)
    if skip_nan:
        nothing = nothing | (number == 0)
    return where(nothing, np.nan, found)
