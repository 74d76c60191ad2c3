"""Arrays of one value: zeros, ones, full, empty, and their `_like` forms."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import broadcast_in_dim, convert
from funcgrad.base.methods import Array
from funcgrad.base.shapes import Shape, broadcast_shapes, canonical_shape
from funcgrad.numpy._creation import asarray, placed
from funcgrad.numpy._promotion import broadcast, check_arraylike, constant


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of a shape, float32 unless a dtype is given."""
    return placed(_filled("zeros", shape, 0, dtype), device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Ones of a shape, float32 unless a dtype is given."""
    return placed(_filled("ones", shape, 1, dtype), device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """The same as `zeros`: an array whose elements mean nothing yet has some all the same."""
    return placed(_filled("empty", shape, 0, dtype), device, out_sharding)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of a shape filled with a number, or with an array that broadcasts to it.

    Without a dtype it has that of `fill_value`, weakly typed where that is.
    """
    check_arraylike("full", fill_value)
    if dtype is not None:
        dtype = dtypes.check_user_dtype(dtype, "full")
    value = _cast(asarray(fill_value), dtype)
    return placed(_stretched("full", value, canonical_shape(shape)), device, out_sharding)


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros, with shape and dtype as `a` has them unless others are given."""
    return placed(_like("zeros_like", a, 0, dtype, shape), device, out_sharding)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Ones, with shape and dtype as `a` has them unless others are given."""
    return placed(_like("ones_like", a, 1, dtype, shape), device, out_sharding)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """The same as `zeros_like`."""
    return placed(_like("empty_like", prototype, 0, dtype, shape), device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`fill_value` all over, with shape and dtype as `a` has them unless others are given."""
    check_arraylike("full_like", fill_value)
    return placed(_like("full_like", a, fill_value, dtype, shape), device, out_sharding)


def _filled(name: str, shape: Any, value: int, dtype: Any) -> Any:
    if type(dtype) is int and type(shape) is int:
        raise TypeError(
            f"{name}({shape}, {dtype}) asks for the dtype {dtype!r}, which there is not. The shape "
            f"is one argument: {name}(({shape}, {dtype}))."
        )
    dtype = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype, name)
    return broadcast_in_dim(constant(value, dtype), canonical_shape(shape), ())


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """`a` may be anything with a shape and a dtype, a ShapeDtypeStruct for example."""
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        have, own_dtype = tuple(a.shape), dtypes.canonicalize_dtype(a.dtype)
        weak = bool(getattr(a, "weak_type", False))
    else:
        check_arraylike(name, a)
        aval = aval_of(a)
        have, own_dtype, weak = aval.shape, aval.dtype, aval.weak_type
    if dtype is not None:
        own_dtype, weak = dtypes.check_user_dtype(dtype, name), False
    target = have if shape is None else canonical_shape(shape)
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        value = _number(value, own_dtype, weak)
    else:
        value = convert(asarray(value), own_dtype, weak)
    return _stretched(name, value, target)


def _number(value: Any, dtype: Any, weak_type: bool) -> Any:
    if isinstance(dtype, dtypes.KeyType):
        raise TypeError(f"arrays of dtype {dtype} are not filled with numbers.")
    return constant(value, dtype, weak_type)


def _cast(value: Any, dtype: Any) -> Any:
    return value if dtype is None else convert(value, dtype)


def _stretched(name: str, value: Array, shape: Shape) -> Any:
    have = value.aval.shape
    if have and broadcast_shapes(have, shape, names=f"{name} got shapes") != shape:
        raise ValueError(
            f"Incompatible shapes for broadcasting: {name} got a fill value of shape {have} for "
            f"the shape {shape}"
        )
    return broadcast(value, shape)
