"""How many elements fall where: bincount and histograms."""

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.base import dtypes
from funcgrad.base.basis import convert, reshape
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._differences import diff
from funcgrad.numpy._filling import zeros
from funcgrad.numpy._joining import stack
from funcgrad.numpy._promotion import (
    inexact1,
    is_bool,
    is_integer,
    promote_dtypes,
    to_array,
)
from funcgrad.numpy._ranges import linspace
from funcgrad.numpy._reductions import max, min
from funcgrad.numpy._reductions import sum as total
from funcgrad.numpy._shaping import ravel
from funcgrad.numpy._sorting import searchsorted
from funcgrad.numpy._taking import known_numbers, ravel_multi_index

Range = Sequence[Any] | None


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: None = None,
) -> Any:
    """How often each of 0, 1, 2, ... occurs, or the sum of the weights where it does.

    Args:
        x: integers; negative ones count as 0.
        weights: one number for each.
        minlength: the least length of the result.
        length: the length, which must be given while tracing; larger numbers are left out.
    """
    x = to_array("bincount", x)
    if is_bool(x):
        x = convert(x, dtypes.default_int())
    if not is_integer(x):
        raise TypeError(f"bincount counts integers; the dtype of x is {x.aval.dtype}")
    if x.ndim != 1:
        raise ValueError(f"bincount: only 1-dimensional input supported, got {x.aval.shape}")
    if length is None:
        known = known_numbers("bincount", x, "A static `length` makes that unnecessary.")
        largest = int(known.max()) + 1 if known.size else 0
        length = sorted((concrete_int(minlength, "minlength"), largest))[1]
    length = concrete_int(length, "length")
    if weights is None:
        counts, values = zeros(length, dtypes.default_int()), asarray(1, dtypes.default_int())
    else:
        values = to_array("bincount", weights)
        if values.aval.shape != x.aval.shape:
            raise ValueError(
                f"bincount: shape of weights must match shape of x, got {values.aval.shape} and "
                f"{x.aval.shape}"
            )
        counts = zeros(length, values.aval.dtype)
    return counts.at[clip(x, 0)].add(values, mode="drop")


# histograms


def histogram_bin_edges(a: Any, bins: Any = 10, range: Range = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram.

    `bins` is their number, spread evenly over `range` (by default that of a), or the edges.
    """
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram_bin_edges: bins given by a method, {bins!r}, are not offered; give a "
            "number or edges."
        )
    a = inexact1("histogram_bin_edges", a)
    dtype = dtypes.finfo(a.aval.dtype).dtype
    edges = bins if isinstance(bins, int) else asarray(bins)
    if not isinstance(edges, int) and edges.ndim == 1:
        return convert(edges, dtype)
    number = concrete_int(bins, "bins")
    if range is None:
        low, high = (min(a), max(a)) if a.aval.size else (asarray(0.0), asarray(1.0))
    else:
        ends = asarray(range, dtype)
        if ends.aval.shape != (2,):
            raise ValueError(
                f"histogram_bin_edges: range must be None or a pair of scalars, got {range}"
            )
        low, high = ends[0], ends[1]
    flat = low == high
    return linspace(
        where(flat, low - 0.5, low), where(flat, high + 0.5, high), number + 1, dtype=dtype
    )


def histogram(
    a: Any, bins: Any = 10, range: Range = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """How many elements (or how much weight) lie in each bin, and the edges of the bins.

    A bin holds its left edge, the last one both. With `density` the counts are divided so that
    their integral is 1.
    """
    a = inexact1("histogram", a)
    if weights is None:
        weight = asarray(1, a.aval.dtype)
    else:
        a, weight = promote_dtypes("histogram", a, weights, kind=dtypes.to_inexact)
        if a.aval.shape != weight.aval.shape:
            raise ValueError(
                f"histogram: one weight belongs to each element, but weights has shape "
                f"{weight.aval.shape} and a has {a.aval.shape}"
            )
    edges = histogram_bin_edges(a, bins, range)
    number = edges.aval.size
    place = searchsorted(edges, a, side="right")
    place = where(a == edges[-1], number - 1, place)
    counts = zeros(number, weight.aval.dtype).at[place].add(weight)[1:]
    if density:
        counts = counts / diff(edges) / total(counts)
    return counts, edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Sequence[Range] | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """The histogram of points (x, y), and the edges of its bins along either axis.

    `bins` are those of `histogram` for both axes, or a pair of them.
    """
    x, y = (ravel(to_array("histogram2d", v)) for v in (x, y))
    if not isinstance(bins, int) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(stack([x, y], axis=1), bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Range] | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """The histogram of points in D dimensions, rows of sample [n, D], and the edges for each.

    `bins` and `range` are those of `histogram`, one for each dimension; one number of bins does for
    all.
    """
    sample = inexact1("histogramdd", sample)
    if sample.ndim != 2:
        raise ValueError(
            f"histogramdd: sample must be [points, dimensions], got {sample.aval.shape}"
        )
    points, dimensions = sample.aval.shape
    if weights is not None:
        sample, weights = promote_dtypes("histogramdd", sample, weights, kind=dtypes.to_inexact)
        if weights.aval.shape != (points,):
            raise ValueError(
                f"histogramdd: there should be one weight for each of {points} points, got shape "
                f"{weights.aval.shape}"
            )
    if range is not None and len(range) != dimensions:
        raise ValueError(
            f"histogramdd: range needs a pair or None per dimension ({dimensions}), got {range}"
        )
    per_axis = [bins] * dimensions if isinstance(bins, int) else list(bins)
    if len(per_axis) != dimensions:
        raise ValueError(
            f"histogramdd: there should be bins for each of {dimensions} dimensions, got "
            f"{len(per_axis)}"
        )
    places, all_edges = [], []
    for i, chosen in enumerate(per_axis):
        column = sample[:, i]
        edges = histogram_bin_edges(column, chosen, None if range is None else range[i])
        place = searchsorted(edges, column, side="right")
        places.append(where(column == edges[-1], place - 1, place))
        all_edges.append(edges)
    # One bin more at either end is for points that lie outside.
    shape = tuple(edges.aval.size + 1 for edges in all_edges)
    flat = ravel_multi_index(places, shape, mode="clip")
    counts = reshape(bincount(flat, weights, length=math.prod(shape)), shape)
    counts = counts[(slice(1, -1),) * dimensions]
    if density:
        counts = convert(counts, sample.aval.dtype)
        counts = counts / total(counts)
        for i, edges in enumerate(all_edges):
            line = [1] * dimensions
            line[i] = edges.aval.size - 1
            counts = counts / reshape(diff(edges), line)
    return counts, all_edges
