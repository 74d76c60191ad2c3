"""Reductions over segments: rows that carry the same number are summed, multiplied or compared."""

from collections.abc import Callable
from functools import partial
from typing import Any

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.derivatives import jvp
from funcgrad.api.prefix import associative_scan
from funcgrad.base import dtypes
from funcgrad.base.basis import convert, reshape
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._filling import full, ones
from funcgrad.numpy._indexing import getitem
from funcgrad.numpy._joining import concatenate
from funcgrad.numpy._promotion import is_integer, to_array
from funcgrad.numpy._ranges import arange
from funcgrad.numpy._reductions import max, min, prod, sum
from funcgrad.numpy._shaping import broadcast_to
from funcgrad.primitives import indexing
from funcgrad.primitives.indexing_spec import GatherScatterMode, ScatterDimensionNumbers
from funcgrad.primitives.reduction import extreme_of
from funcgrad.primitives.sorting import sort_key_val

Mode = str | GatherScatterMode | None


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
    out_sharding: None = None,
) -> Any:
    """The sum of the rows of each segment.

    Args:
        data: [n, ...].
        segment_ids: integers [n], the segment of each row. Rows whose segment is not among
            0 .. num_segments - 1, negative ones included, are left out.
        num_segments: how many segments there are; by default one more than the largest id, which
            must then be known (give the number under `jit`).
        indices_are_sorted: a promise that the ids do not decrease.
        unique_indices: a promise that no id occurs twice.
        bucket_size: reduce so many rows at a time, and then what they gave: more accurate for long
            segments.
        mode: "drop" (the default), or "clip" to count rows out of range into the nearest segment,
            or "promise_in_bounds".
        out_sharding: None.

    Returns:
        An array [num_segments, ...] of the dtype of `data`; 0 for a segment without rows.

    Example:
        >>> segment_sum(jnp.array([1.0, 2.0, 5.0]), jnp.array([0, 0, 2]), num_segments=3)
        Array([3., 0., 5.], dtype=float32)
    """
    return _by_segment(
        "segment_sum",
        indexing.scatter_add,
        lambda dtype: 0,
        sum,
        *(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode),
    )


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
    out_sharding: None = None,
) -> Any:
    """The product of the rows of each segment, 1 if it has none; see `segment_sum`.

    It has derivatives of every order, also where rows are zero.
    """
    return _by_segment(
        "segment_prod",
        _product,
        lambda dtype: 1,
        prod,
        *(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode),
    )


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
    out_sharding: None = None,
) -> Any:
    """The maximum of the rows of each segment; see `segment_sum`.

    A segment without rows gets the lowest value of the dtype, -inf for floats.
    """
    return _by_segment(
        "segment_max",
        indexing.scatter_max,
        partial(extreme_of, highest=False),
        max,
        *(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode),
    )


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
    out_sharding: None = None,
) -> Any:
    """The minimum of the rows of each segment; see `segment_sum`.

    A segment without rows gets the highest value of the dtype, inf for floats.
    """
    return _by_segment(
        "segment_min",
        indexing.scatter_min,
        partial(extreme_of, highest=True),
        min,
        *(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode),
    )


def _by_segment(
    name: str,
    scatter: Callable[..., Any],
    identity: Callable[[Any], Any],
    reduce: Callable[..., Any],
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    is_sorted: bool,
    unique: bool,
    bucket_size: int | None,
    mode: Mode,
) -> Any:
    data, ids = _rows_and_ids(name, data, segment_ids)
    count = _count(name, ids, num_segments)
    known_mode = GatherScatterMode.from_any(mode)
    if known_mode is GatherScatterMode.CLIP and count:
        ids = clip(ids, 0, count - 1)

    def scattered(ids: Any, count: int, is_sorted: bool) -> Any:
        start = full((count, *data.aval.shape[1:]), identity(data.aval.dtype), data.aval.dtype)
        return scatter(
            start,
            reshape(ids, (*ids.aval.shape, 1)),
            data,
            ScatterDimensionNumbers(tuple(range(1, len(data.aval.shape))), (0,), (0,)),
            indices_are_sorted=is_sorted,
            unique_indices=unique,
            mode=known_mode,
        )

    if bucket_size is None or not count:
        return scattered(ids, count, is_sorted)
    size = concrete_int(bucket_size, "bucket_size")
    if size < 1:
        raise ValueError(
            f"{name}: a bucket holds one row or more, so bucket_size={size} is too small"
        )
    rows = ids.aval.shape[0]
    buckets = -(-rows // size)
    place = arange(rows) // size * count + ids
    inside = (ids >= 0) & (ids < count)
    parts = scattered(where(inside, place, buckets * count), buckets * count, False)
    parts = reshape(parts, (buckets, count, *parts.aval.shape[1:]))
    initial = identity(data.aval.dtype)
    return convert(reduce(parts, axis=0, initial=initial), data.aval.dtype)


def _rows_and_ids(name: str, data: Any, segment_ids: Any) -> tuple[Any, Any]:
    data, ids = to_array(name, data), to_array(name, segment_ids)
    if not is_integer(ids) or len(ids.aval.shape) != 1:
        raise TypeError(
            f"{name}: segment_ids hold an integer for each row of the data, its segment, on one "
            f"axis; got {ids.aval.str_short()} for data {data.aval.str_short()}"
        )
    shape, (rows,) = data.aval.shape, ids.aval.shape
    if shape and shape[0] not in (1, rows):
        raise ValueError(
            f"{name}: segment_ids must have one number for each row of the data, got "
            f"{ids.aval.str_short()} for data {data.aval.str_short()}"
        )
    return broadcast_to(data, (rows, *shape[1:])), convert(ids, dtypes.default_int())


def _count(name: str, ids: Any, num_segments: int | None) -> int:
    if num_segments is None:
        num_segments = max(ids, initial=-1) + 1
    count = concrete_int(num_segments, "num_segments")
    if count < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {count}")
    return count


@partial(custom_jvp, nondiff_argnums=(3,))
def _scatter_product(start: Any, ids: Any, data: Any, settings: tuple) -> Any:
    return indexing.scatter_mul(start, ids, data, settings[0], **dict(settings[1:]))


def _product(start: Any, ids: Any, data: Any, numbers: Any, **settings: Any) -> Any:
    """scatter_mul into ones, which may be differentiated wherever its indices meet."""
    return _scatter_product(start, ids, data, (numbers, *settings.items()))


@_scatter_product.defjvp
def _scatter_product_jvp(settings: tuple, primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    start, ids, data = primals
    count, numbers = start.shape[0], reshape(ids, ids.shape[:1])
    moved = jvp(lambda rows: _products(rows, numbers, count), (data,), (tangents[2],))[1]
    return _scatter_product(*primals, settings), moved


def _products(data: Any, ids: Any, count: int) -> Any:
    """The product of each segment, made by multiplications alone, which forgive rows of zeros.

    Sorted by segment, the rows are multiplied up from the start of the segment to its end.
    """
    rows = data.shape[0]
    if not rows:
        return ones((count, *data.shape[1:]), data.dtype)
    ids, order = sort_key_val(ids, arange(rows))
    starts = concatenate(
        [full((1,), True), getitem(ids, slice(1, None)) != getitem(ids, slice(-1))]
    )

    def combine(left: tuple, right: tuple) -> tuple:
        (left_starts, a), (right_starts, b) = left, right
        return left_starts | right_starts, where(right_starts, 1, a) * b

    starts = reshape(starts, (rows,) + (1,) * (data.ndim - 1))
    _, running = associative_scan(combine, (starts, getitem(data, order)))
    last = segment_max(arange(rows), ids, count, indices_are_sorted=True)
    found = reshape(last >= 0, (count,) + (1,) * (data.ndim - 1))
    return where(found, getitem(running, clip(last, 0, None)), 1)
