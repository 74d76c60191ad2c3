"""Arrays that run along a line or a grid: arange, linspace, eye, tri, meshgrid, indices."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.api.vmap import vmap
from funcgrad.base import dtypes, promotion
from funcgrad.base.basis import (
    add,
    broadcast_in_dim,
    concatenate,
    convert,
    eq,
    iota,
    mul,
    reshape,
    transpose,
)
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import (
    broadcast_shapes,
    canonical_axis,
    canonical_shape,
    concrete_int,
    insert_dim,
)
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._arithmetic import power
from funcgrad.numpy._creation import asarray, placed
from funcgrad.numpy._promotion import (
    broadcast,
    broadcast_together,
    constant,
    is_complex,
    is_integer,
    like,
    to_array,
    to_arrays,
)
from funcgrad.numpy._ufuncs import log10
from funcgrad.primitives import arithmetic
from funcgrad.primitives.compare import ge

_INT32 = np.dtype(np.int32)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """start, start + step, ... up to but without stop; from 0 if only one number is given.

    The numbers must be known while tracing, since the length depends on them.
    """
    if type(start) is int and stop is None is step is None is dtype:
        promotion.scalar_dtype(start)
        return placed(iota(dtypes.default_int(), (max(start, 0),)), device, out_sharding)
    first = "start" if stop is not None or step is not None else "stop"
    for name, value in ((first, start), ("stop", stop), ("step", step)):
        _check_bound(name, value)
    given = [x for x in (start, stop, step) if x is not None]
    dtype = (
        promotion.result_type(*given) if dtype is None else dtypes.check_user_dtype(dtype, "arange")
    )
    numbers: list[Any] = [None if x is None else np.asarray(x)[()] for x in (start, stop, step)]
    begin, end, stride = (0, numbers[0], numbers[2]) if stop is None else numbers
    if stride is not None and stride == 0:
        raise ValueError("arange: step must not be 0")
    size = max(0, math.ceil((end - begin) / (1 if stride is None else stride)))
    return placed(_progression(begin, stride, size, dtype), device, out_sharding)


def _check_bound(name: str, value: Any) -> None:
    if value is None:
        return
    x = to_array("arange", value)
    if isinstance(x, Tracer):
        raise x.concretization_error(
            ConcretizationTypeError,
            f"The arange argument {name!r} was given a traced array",
            "The length of the result depends on it, so it must be known while tracing: mark the "
            "argument it comes from as static (static_argnums), or use lax.iota and arithmetic.",
        )
    if x.aval.shape or is_complex(x):
        raise ValueError(f"arange: arguments must be real scalars; got {name}={value}")


def _progression(begin: Any, stride: Any, size: int, dtype: Any) -> Any:
    if stride is None and begin == 0:
        return iota(dtype, (size,))
    narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.finfo(dtype).bits < 32
    work = np.dtype(np.float32) if narrow else dtype
    line = iota(work, (size,))
    if stride is not None:
        line = mul(_as(stride, work), line)
    return convert(add(_as(begin, work), line), dtype)


def _as(number: Any, dtype: Any) -> Any:
    return convert(asarray(number), dtype)


# evenly spaced numbers


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from start to stop, which may be arrays and may be traced.

    Returns:
        The numbers along a new axis; with `retstep` also the distance between them. Integer dtypes
        round down.
    """
    num, axis = concrete_int(num, "num"), concrete_int(axis, "axis")
    if num < 0:
        raise ValueError(f"linspace: num={num} is negative, and so many samples cannot be.")
    start, stop = to_arrays("linspace", start, stop)
    if dtype is None:
        dtype = dtypes.to_inexact(promotion.result_type(start, stop))
    else:
        dtype = dtypes.check_user_dtype(dtype, "linspace")
    work = dtypes.canonicalize_dtype(dtypes.to_inexact(dtype))
    start, stop = (convert(x, work) for x in (start, stop))
    shape = broadcast_shapes(start.aval.shape, stop.aval.shape, names="linspace got shapes")
    start, stop = broadcast(start, shape), broadcast(stop, shape)
    axis = canonical_axis(axis, len(shape) + 1)
    intervals = num - 1 if endpoint else num
    if num == 0:
        out = broadcast_in_dim(constant(0, work), insert_dim(shape, axis, 0), ())
    elif num == 1:
        out = reshape(start, insert_dim(shape, axis, 1))
    else:
        out = _between(start, stop, intervals, axis)
        if endpoint:
            out = concatenate([out, reshape(stop, insert_dim(shape, axis, 1))], axis)
    if dtypes.issubdtype(dtype, np.integer):
        out = arithmetic.floor(out)
    result = placed(convert(out, dtype), device)
    if not retstep:
        return result
    gap = arithmetic.sub(stop, start)
    unknown = intervals == 0
    step = arithmetic.div(gap, like(intervals, gap)) if not unknown else constant(np.nan, work)
    return result, step


def _between(start: Any, stop: Any, intervals: int, axis: int) -> Any:
    """start (1 - i/n) + stop (i/n) for i < n, which hits start exactly and never overflows."""
    shape = insert_dim(start.aval.shape, axis, 1)
    line = (1,) * axis + (intervals,) + (1,) * (len(shape) - axis - 1)
    real = dtypes.finfo(start.aval.dtype).dtype
    part = iota(real, line, axis)
    part = convert(arithmetic.div(part, like(intervals, part)), start.aval.dtype)
    rest = arithmetic.sub(like(1, part), part)
    return add(mul(reshape(start, shape), rest), mul(reshape(stop, shape), part))


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`base` to the powers that `linspace` gives."""
    start, stop = to_arrays("logspace", start, stop)
    dtype = _spacing_dtype("logspace", start, stop, dtype)
    exponents = linspace(start, stop, num, endpoint, dtype=_computed_in(dtype), axis=axis)
    return convert(power(base, exponents), dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from start to stop, of equal ratios; both have the same sign."""
    start, stop = to_arrays("geomspace", start, stop)
    dtype = _spacing_dtype("geomspace", start, stop, dtype)
    work = _computed_in(dtype)
    start, stop = broadcast_together("geomspace", [convert(start, work), convert(stop, work)])
    sign = arithmetic.sign(start)
    low, high = (log10(arithmetic.div(x, sign)) for x in (start, stop))
    size = logspace(low, high, num, endpoint, 10.0, work, 0)
    result = mul(broadcast(sign, size.aval.shape), size)
    axis = canonical_axis(axis, result.ndim)
    order = [*range(1, axis + 1), 0, *range(axis + 1, result.ndim)]
    return convert(transpose(result, order), dtype)


def _spacing_dtype(name: str, start: Any, stop: Any, dtype: Any) -> Any:
    if dtype is None:
        return dtypes.canonicalize_dtype(dtypes.to_inexact(promotion.result_type(start, stop)))
    return dtypes.check_user_dtype(dtype, name)


def _computed_in(dtype: Any) -> Any:
    return dtypes.canonicalize_dtype(dtypes.to_inexact(dtype))


# matrices


def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An N x M matrix (M = N by default) with ones on its k-th diagonal; k may be traced."""
    dtype = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype, "eye")
    diagonal = _compared_grid("eye", N, M, k, eq)
    return placed(convert(diagonal, dtype), device)


def identity(n: int, dtype: Any = None) -> Any:
    """The n x n identity matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """An N x M matrix with ones on and below its k-th diagonal."""
    dtype = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype, "tri")
    return convert(_compared_grid("tri", N, M, k, ge), dtype)


def _compared_grid(name: str, n: Any, m: Any, k: Any, compare: Callable) -> Any:
    """Whether row + k stands in the relation to the column, at each place of an n x m matrix."""
    rows = concrete_int(n, "N")
    columns = rows if m is None else concrete_int(m, "M")
    if rows < 0 or columns < 0:
        raise ValueError(f"{name}: no matrix has the negative size {rows} x {columns}")
    offset = to_array(name, k)
    if offset.aval.shape or not is_integer(offset):
        raise ValueError(f"{name}: k={k!r} is not one integer")
    if isinstance(k, int):
        offset = constant(min(max(k, -(2**31)), 2**31 - 1), _INT32)
    index = offset.aval.dtype
    shifted = add(iota(index, (rows, columns), 0), offset)
    return compare(shifted, iota(index, (rows, columns), 1))


# grids


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays of the grid over 1-d arrays.

    With indexing "xy" the first two axes are swapped, as in pictures; with "ij" they are not.
    """
    if not copy:
        raise ValueError("meshgrid only supports copy=True: arrays are immutable anyway.")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is either 'xy' or 'ij', not {indexing!r}")
    arrays = to_arrays("meshgrid", *xi)
    if any(x.ndim > 1 for x in arrays):
        raise ValueError(
            f"Arguments to meshgrid must be 1-d arrays, got shapes {[x.shape for x in arrays]}"
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) >= 2:
        order[:2] = [1, 0]
    sizes = [x.size for x in arrays]
    full = tuple(sizes[i] for i in order)
    result = []
    for i, x in enumerate(arrays):
        place = order.index(i)
        shape = tuple(n if j == place or not sparse else 1 for j, n in enumerate(full))
        result.append(broadcast_in_dim(reshape(x, (x.size,)), shape, (place,)))
    return result


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The index arrays of an array of these dimensions, stacked; with `sparse` a tuple of lines."""
    dtype = dtypes.default_int() if dtype is None else dtypes.check_user_dtype(dtype, "indices")
    shape = canonical_shape(dimensions, "dimensions")
    if sparse:
        ones = [(1,) * i + (n,) + (1,) * (len(shape) - i - 1) for i, n in enumerate(shape)]
        return tuple(iota(dtype, line, i) for i, line in enumerate(ones))
    grids = [iota(dtype, (1, *shape), i + 1) for i in range(len(shape))]
    return concatenate(grids, 0) if grids else asarray(np.zeros((0,), dtype))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """The array of `function(i, j, ...)` at each index; the function is called once, under vmap."""
    shape = canonical_shape(shape)
    mapped = function
    for i in reversed(range(len(shape))):
        axes = [0 if j == i else None for j in range(len(shape))]
        mapped = _mapped(mapped, tuple(axes), kwargs)
    return mapped(*(arange(n, dtype=dtype) for n in shape))


def _mapped(function: Callable, axes: tuple, kwargs: dict[str, Any]) -> Callable:
    return vmap(lambda *args: function(*args, **kwargs), in_axes=axes)
