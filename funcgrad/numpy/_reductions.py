"""Reductions over axes: sum, prod, max, min, all, any, mean and what follows from them.

Integers are summed in at least 32 bits, half precision in single; `where` leaves elements out, and
`initial` takes part as one more.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import broadcast_scalar, convert, reduce_sum_p, reshape
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._logic import truth
from funcgrad.numpy._promotion import (
    broadcast,
    choose,
    constant,
    is_bool,
    is_complex,
    like,
    numeric1,
    promote_dtypes,
    refuse_out,
    to_array,
)
from funcgrad.primitives import arithmetic
from funcgrad.primitives.compare import bitwise_and, bitwise_or, ne
from funcgrad.primitives.reduction import (
    extreme_of,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
)

Axis = int | Sequence[int] | None


def reduced_axes(name: str, a: Any, axis: Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(len(a.aval.shape)))
    if isinstance(axis, np.ndarray) and axis.ndim:
        axis = tuple(axis)
    return canonical_axes(axis, len(a.aval.shape))


def check_where(name: str, where: Any) -> Any:
    """The `where` argument as a boolean array, or None."""
    if where is None:
        return None
    where = to_array(name, where)
    if not is_bool(where):
        raise ValueError(
            f"{name}: where is a mask, hence boolean, but {where.aval.str_short()} came"
        )
    return where


def keep_axes(result: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """A reduced array with its lost axes back, of length 1."""
    return reshape(result, tuple(1 if i in axes else n for i, n in enumerate(shape)))


def reduced(
    name: str,
    primitive: Any,
    a: Any,
    axis: Axis,
    keepdims: bool,
    where: Any,
    initial: Any,
    identity: Any,
    combine: Callable[[Any, Any], Any],
) -> Any:
    """`primitive` over the axes of `a`, which has its final dtype."""
    axes = reduced_axes(name, a, axis)
    if where is not None:
        a = choose(check_where(name, where), a, asarray(np.array(identity, a.aval.dtype)))
    result = primitive.bind(a, axes=axes)
    if initial is not None:
        start = convert(to_array(name, initial), a.aval.dtype)
        if start.aval.shape:
            raise ValueError(
                f"{name}: `initial` is one scalar, not an array of shape {start.aval.shape}"
            )
        result = combine(start, result)
    return keep_axes(result, a.aval.shape, axes) if keepdims else result


def integer_result(dtype: Any) -> Any:
    """The dtype in which integers narrower than the default are summed."""
    if dtype == np.bool_:
        return dtypes.default_int()
    for kind, default in (
        (np.unsignedinteger, dtypes.default_uint()),
        (np.signedinteger, dtypes.default_int()),
    ):
        if dtypes.issubdtype(dtype, kind):
            return default if dtypes.iinfo(dtype).bits < dtypes.iinfo(default).bits else dtype
    return dtype


def wide(dtype: Any) -> Any:
    """The dtype in which means of half precision floats are computed."""
    return (
        np.dtype(np.float32)
        if dtypes.BY_NAME["bfloat16"] == dtype or dtype == np.float16
        else dtype
    )


# sums and products


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The sum over the given axes (all by default).

    Args:
        a: the array.
        axis: an axis or a sequence of them.
        dtype: of the sum; by default that of `a`, at least 32 bits for integers and booleans
            unless `promote_integers` is False.
        out: None.
        keepdims: keep the axes, with length 1.
        initial: a number to add.
        where: which elements to count; a boolean array that broadcasts to `a`.
    """
    a = _for_total("sum", a, dtype, out, promote_integers)
    if is_bool(a):
        return reduced("sum", reduce_or_p, a, axis, keepdims, where, initial, False, bitwise_or)
    return reduced("sum", reduce_sum_p, a, axis, keepdims, where, initial, 0, basis.add)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The product over the given axes; the arguments are those of `sum`."""
    a = _for_total("prod", a, dtype, out, promote_integers)
    if is_bool(a):
        return reduced("prod", reduce_and_p, a, axis, keepdims, where, initial, True, bitwise_and)
    return reduced("prod", reduce_prod_p, a, axis, keepdims, where, initial, 1, basis.mul)


def _for_total(name: str, a: Any, dtype: Any, out: Any, promote_integers: bool) -> Any:
    """The operand of a sum or product in the dtype of the result."""
    refuse_out(name, out)
    a = to_array(name, a)
    if dtype is not None:
        target = dtypes.check_user_dtype(dtype, name)
        return truth(a) if target == np.bool_ else convert(a, target)
    have = a.aval.dtype
    if dtypes.issubdtype(have, np.inexact):
        return convert(a, have)
    target = integer_result(have) if promote_integers else dtypes.to_numeric(have)
    return convert(numeric1(name, a), target)


# extrema


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The maximum over the given axes, nan if one is; equal maxima share the gradient."""
    return _extremum("max", reduce_max_p, a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The minimum over the given axes, nan if one is; equal minima share the gradient."""
    return _extremum("min", reduce_min_p, a, axis, out, keepdims, initial, where)


def _extremum(
    name: str,
    primitive: Any,
    a: Any,
    axis: Axis,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    refuse_out(name, out)
    a = to_array(name, a)
    a = convert(a, a.aval.dtype)
    if initial is None:
        if where is not None:
            raise ValueError(
                f"{name} of no element is undefined, which a where mask can lead to: give "
                "`initial` along with it"
            )
        if 0 in [a.aval.shape[i] for i in reduced_axes(name, a, axis)]:
            raise ValueError(
                f"{name} of no element is undefined: nothing to reduce in shape {a.aval.shape} "
                f"with axis={axis}. Give `initial`."
            )
    combine = arithmetic.max if name == "max" else arithmetic.min
    identity = (
        _complex_extreme(a, name) if is_complex(a) else extreme_of(a.aval.dtype, name == "min")
    )
    return reduced(name, primitive, a, axis, keepdims, where, initial, identity, combine)


def _complex_extreme(a: Any, name: str) -> complex:
    infinity = np.inf if name == "min" else -np.inf
    return complex(infinity, infinity)


amax, amin = max, min


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The distance from the minimum to the maximum over the given axes."""
    refuse_out("ptp", out)
    a = to_array("ptp", a)
    return arithmetic.sub(max(a, axis, None, keepdims), min(a, axis, None, keepdims))


# truth


def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether every element over the given axes is nonzero."""
    refuse_out("all", out)
    a = truth(to_array("all", a))
    return reduced("all", reduce_and_p, a, axis, keepdims, where, None, True, bitwise_and)


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether some element over the given axes is nonzero."""
    refuse_out("any", out)
    a = truth(to_array("any", a))
    return reduced("any", reduce_or_p, a, axis, keepdims, where, None, False, bitwise_or)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over the given axes are nonzero."""
    a = to_array("count_nonzero", a)
    return sum(ne(a, like(0, a)), axis, dtypes.default_int(), None, keepdims)


# means


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean over the given axes, as a float; nan over nothing.

    Half precision is summed in single precision, unless a dtype is given.
    """
    refuse_out("mean", out)
    a = to_array("mean", a)
    where = check_where("mean", where)
    if dtype is None:
        result = dtypes.canonicalize_dtype(dtypes.to_inexact(a.aval.dtype))
        work = wide(result)
    else:
        result = work = dtypes.check_user_dtype(dtype, "mean")
    total = sum(a, axis, work, None, keepdims, None, where)
    return convert(arithmetic.div(total, count(a, axis, keepdims, where, work)), result)


def count(a: Any, axis: Axis, keepdims: bool, where: Any, dtype: Any) -> Any:
    """How many elements each result of a reduction is made of."""
    axes = reduced_axes("count", a, axis)
    if where is None:
        return constant(math.prod(a.aval.shape[i] for i in axes), dtype, True)
    return sum(broadcast(where, a.aval.shape), axis, dtype, None, keepdims)


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean over the given axes, weighted if there are weights.

    Args:
        a: the array.
        axis: an axis or a sequence of them.
        weights: shaped like `a`, or like the axes averaged over.
        returned: return (average, sum of weights).
        keepdims: keep the axes, with length 1.
    """
    a = to_array("average", a)
    axes = reduced_axes("average", a, axis)
    if weights is None:
        result = mean(a, axis, None, None, keepdims)
        total = broadcast_scalar(math.prod(a.aval.shape[i] for i in axes), result.aval)
        return (result, total) if returned else result
    a, weights = promote_dtypes("average", a, weights, kind=dtypes.to_inexact)
    if a.aval.shape != weights.aval.shape:
        weights = _along_axes(a, axis, axes, weights)
    total = sum(weights, axis, None, None, keepdims)
    weighted = sum(basis.mul(a, weights), axis, None, None, keepdims)
    result = arithmetic.div(weighted, total)
    return (result, broadcast(total, result.aval.shape)) if returned else result


def _along_axes(a: Any, axis: Axis, axes: tuple[int, ...], weights: Any) -> Any:
    """Weights of the averaged axes, in the order they were listed, with the others of length 1."""
    shape = a.aval.shape
    if axis is None:
        raise ValueError(
            f"average: give the axis that weights of shape {weights.aval.shape} belong to: it is "
            f"not the shape of a, {shape}"
        )
    if weights.aval.shape != tuple(shape[i] for i in axes):
        raise ValueError(
            f"average: a has lengths {tuple(shape[i] for i in axes)} along the axes {axes}, "
            f"which weights of shape {weights.aval.shape} do not fit"
        )
    ordered = basis.transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))
    return broadcast(keep_axes_of(ordered, shape, axes), shape)


def keep_axes_of(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """An array over some axes of a shape, with all its axes, the others of length 1."""
    return reshape(x, tuple(n if i in axes else 1 for i, n in enumerate(shape)))
