"""associative_scan: all prefix results of an associative operation, in logarithmic depth."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.api.flat import flat_values
from funcgrad.base.array import as_value
from funcgrad.base.basis import add, concatenate, pad, scalar_like, slice_axis
from funcgrad.base.shapes import canonical_axis
from funcgrad.base.tree import tree_leaves, tree_unflatten
from funcgrad.primitives.compare import bitwise_or
from funcgrad.primitives.structural import rev


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefix results of an associative operation, in a logarithmic number of steps.

    Args:
        fn: `fn(a, b)` on pytrees like `elems`, associative, vectorised along `axis`.
        elems: a pytree of arrays of one length along `axis`.
        reverse: whether to accumulate from the end.
        axis: the axis to scan along.

    Source: Blelloch, Prefix Sums and Their Applications (1990).
    """
    if not callable(fn):
        raise TypeError("associative_scan: fn is not callable; give a function of two elements.")
    leaves, tree = flat_values(elems)
    if not leaves:
        raise ValueError("associative_scan: needs at least one array")
    axes = [canonical_axis(axis, len(x.aval.shape)) for x in leaves]
    sizes = {x.aval.shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(sizes) > 1:
        raise ValueError(
            "associative_scan: array inputs must have the same size along the axis, got shapes "
            f"{[x.aval.shape for x in leaves]}"
        )
    if reverse:
        leaves = [rev(x, (a,)) for x, a in zip(leaves, axes, strict=True)]

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        out = fn(tree_unflatten(tree, a), tree_unflatten(tree, b))
        return [as_value(x) for x in tree_leaves(out)]

    outs = _prefix(combine, leaves, axes)
    if reverse:
        outs = [rev(x, (a,)) for x, a in zip(outs, axes, strict=True)]
    return tree_unflatten(tree, outs)


def _prefix(combine: Callable, elems: list[Any], axes: list[int]) -> list[Any]:
    """Combine neighbours, solve half the problem, and fill in the other half."""
    size = elems[0].aval.shape[axes[0]]
    if size < 2:
        return elems

    def cut(arrays: list[Any], start: int, stop: int, step: int = 1) -> list[Any]:
        stop = max(start, stop)
        return [slice_axis(x, start, stop, a, step) for x, a in zip(arrays, axes, strict=True)]

    pairs = combine(cut(elems, 0, size - 1, 2), cut(elems, 1, size, 2))
    odd = _prefix(combine, pairs, axes)
    stop = odd[0].aval.shape[axes[0]] - (size % 2 == 0)
    even = combine(cut(odd, 0, stop), cut(elems, 2, size, 2)) if size > 2 else None
    first = cut(elems, 0, 1)
    evens = (
        first
        if even is None
        else [concatenate([f, e], a) for f, e, a in zip(first, even, axes, strict=True)]
    )
    return [_interleave(e, o, a) for e, o, a in zip(evens, odd, axes, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ... along an axis; `even` has as many elements or one more."""
    n_even, n_odd = even.aval.shape[axis], odd.aval.shape[axis]
    ndim = len(even.aval.shape)

    def spread(x: Any, low: int, high: int) -> Any:
        config = [(low, high, 1) if i == axis else (0, 0, 0) for i in range(ndim)]
        return pad(x, scalar_like(0, x), config)

    total = n_even + n_odd
    placed_even = spread(even, 0, total - (2 * n_even - 1))
    placed_odd = spread(odd, 1, total - 2 * n_odd)
    join = bitwise_or if even.aval.dtype == np.bool_ else add
    return join(placed_even, placed_odd)
