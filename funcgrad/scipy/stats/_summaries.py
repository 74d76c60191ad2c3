"""Summaries of samples: the most frequent value, ranks, the error of a mean."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.base.shapes import canonical_axis
from funcgrad.numpy._promotion import to_array
from funcgrad.scipy._arguments import real


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


def _check_policy(name: str, nan_policy: str) -> None:
    if nan_policy != "propagate":
        raise NotImplementedError(
            f"{name}: nan_policy must be 'propagate', got {nan_policy!r}; take nan out first"
        )


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis (the smallest of them), and how often it occurs.

    Args:
        a: the array.
        axis: the axis, or None for all elements.
        nan_policy: "propagate", which counts nan like other values.
        keepdims: keep the axis, with length 1.
    """
    _check_policy("mode", nan_policy)
    a = jnp.atleast_1d(to_array("mode", a))
    shape = a.shape
    if axis is None:
        lines, kept = jnp.ravel(a), (1,) * len(shape)
    else:
        place = canonical_axis(axis, len(shape))
        lines = jnp.moveaxis(a, place, -1)
        kept = (*shape[:place], 1, *shape[place + 1 :])
    if lines.shape[-1] == 0:
        value, count = jnp.full(lines.shape[:-1], np.nan), jnp.zeros(lines.shape[:-1])
    else:
        value, count = _most_frequent(jnp.sort(lines, axis=-1))
    if keepdims:
        value, count = jnp.reshape(value, kept), jnp.reshape(count, kept)
    return ModeResult(value, count)


def _most_frequent(ordered: Any) -> tuple[Any, Any]:
    """Of sorted values along the last axis. A run's last member knows how long the run is."""
    place = lax.broadcasted_iota(np.int32, ordered.shape, ordered.ndim - 1)
    begins = _begins(ordered)
    length = place + 1 - lax.cummax(jnp.where(begins, place, 0), axis=ordered.ndim - 1)
    last = jnp.argmax(length, axis=-1, keepdims=True)
    value = jnp.take_along_axis(ordered, last, axis=-1)[..., 0]
    return value, jnp.max(length, axis=-1)


def _begins(ordered: Any) -> Any:
    """Where a value differs from the one before it along the last axis; nan equals nan."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    differ = (before != after) & ~(jnp.isnan(before) & jnp.isnan(after))
    return jnp.concatenate([jnp.ones_like(ordered[..., :1], bool), differ], axis=-1)


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The place of each element among the others, from 1 on, as a float.

    Args:
        a: the array.
        method: what equal elements get: the "average", "min" or "max" of their places; "dense":
            places that count equal elements once; "ordinal": places in their order in a.
        axis: elements are ranked along this axis; None for all elements, as a vector.
        nan_policy: "propagate": all ranks are nan where one element is.
    """
    _check_policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(
            f"unknown method {method!r}; there are 'average', 'min', 'max', 'dense', 'ordinal'"
        )
    a = to_array("rankdata", a)
    if axis is None:
        return _ranks(method, jnp.ravel(a))
    return jnp.apply_along_axis(partial(_ranks, method), axis, a)


def _ranks(method: str, a: Any) -> Any:
    n, dtype = a.shape[0], dtypes.default_float()
    ordered, order = lax.sort_key_val(a, jnp.arange(n))
    place = jnp.zeros_like(order).at[order].set(jnp.arange(n))
    begins = _begins(ordered)
    number = jnp.cumsum(begins)
    first = lax.cummax(jnp.where(begins, jnp.arange(n), 0))
    ends = jnp.concatenate([begins[1:], jnp.ones_like(begins[:1])])
    last = lax.cummin(jnp.where(ends, jnp.arange(n), n), reverse=True)
    ranks = {
        "ordinal": jnp.arange(n) + 1,
        "dense": number,
        "min": first + 1,
        "max": last + 1,
        "average": convert(first + last + 2, dtype) / 2,
    }[method]
    return jnp.where(jnp.any(jnp.isnan(a)), np.nan, convert(ranks[place], dtype))


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The mean's standard error: the standard deviation over the root of the sample's size.

    Args:
        a: the array.
        axis: the axis, or None for all elements.
        ddof: what is taken from the size in the standard deviation.
        nan_policy: "propagate" nan, or "omit" it.
        keepdims: keep the axis, with length 1.
    """
    a = real("sem", a)
    if nan_policy == "propagate":
        size = a.size if axis is None else a.shape[axis]
        return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / np.sqrt(size).astype(a.dtype)
    if nan_policy != "omit":
        raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', got {nan_policy!r}")
    count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
    return jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / lax.sqrt(convert(count, a.dtype))
