"""What is known of a value before it exists: shape, dtype, and whether the dtype is only a hint."""

import math
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion


class ShapedArray:
    """An abstract array. A weakly typed one (from a Python scalar) yields to any other dtype."""

    __slots__ = ("__weakref__", "_hash", "dtype", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool

    def __init__(self, shape: tuple[int, ...], dtype: Any, weak_type: bool = False):
        self.shape = tuple(shape)
        self.dtype = dtype if isinstance(dtype, dtypes.KeyType) else np.dtype(dtype)
        self.weak_type = weak_type
        self._hash = hash((self.shape, self.dtype, weak_type))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def update(self, **changes: Any) -> "ShapedArray":
        """The same with some of shape, dtype, weak_type replaced."""
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type, **changes}
        return shaped(**fields)

    def strip_weak_type(self) -> "ShapedArray":
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self, short_dtypes: bool = False) -> str:
        """`float32[3,2]`, or `f32[3,2]` with `short_dtypes`; a weak type is marked by `~`."""
        name = dtypes.short_name(self.dtype) if short_dtypes else dtype_name(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, ShapedArray)
            and self._hash == other._hash
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
        )

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an abstract array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __reduce__(self) -> tuple:
        return (shaped, (self.shape, self.dtype, self.weak_type))


_interned: dict[tuple, ShapedArray] = {}


def shaped(shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
    """The ShapedArray of these fields, the same object every time (so comparing is fast)."""
    key = (shape, dtype, weak_type)
    aval = _interned.get(key)
    if aval is None:
        if len(_interned) > 65536:
            _interned.clear()
        aval = _interned[key] = ShapedArray(shape, dtype, weak_type)
    return aval


def dtype_name(dtype: Any) -> str:
    return "float0" if dtype == dtypes.float0 else str(getattr(dtype, "name", dtype))


def aval_of(x: Any) -> ShapedArray:
    """The abstract value of an Array, tracer, NumPy value or Python scalar; else a TypeError."""
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    if isinstance(x, (np.ndarray, np.generic)):
        return shaped(x.shape, dtypes.canonicalize_dtype(x.dtype))
    if isinstance(x, (bool, int, float, complex)):
        return shaped((), promotion.scalar_dtype(x), not isinstance(x, bool))
    if hasattr(x, "__jax_array__"):
        return aval_of(x.__jax_array__())
    raise TypeError(
        f"a value of type {type(x).__name__} is not a valid array type: {x!r:.80}. Arrays, NumPy "
        "arrays and Python numbers are; wrap other data in a pytree of those."
    )


def tangent_aval(primal: ShapedArray) -> ShapedArray:
    """What a tangent or cotangent of `primal` looks like; float0 where there is no derivative."""
    if dtypes.issubdtype(primal.dtype, np.inexact):
        return primal
    return shaped(primal.shape, dtypes.float0)


def weak_like(aval: ShapedArray, other: ShapedArray) -> bool:
    """Whether two avals agree but for weak types."""
    return aval.shape == other.shape and aval.dtype == other.dtype
