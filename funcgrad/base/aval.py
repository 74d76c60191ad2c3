"""What is known of a value before it exists: shape, dtype, and whether the dtype is only a hint."""

import math
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.mesh import NO_MESH
from funcgrad.base.placement import NamedSharding, PartitionSpec


class ShapedArray:
    """An abstract array. A weakly typed one (from a Python scalar) yields to any other dtype.

    Equal ones are one object, so that comparing and hashing them is comparing identities.
    """

    __slots__ = ("__weakref__", "dtype", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> "ShapedArray":
        return shaped(
            tuple(shape),
            dtype if isinstance(dtype, dtypes.KeyType) else np.dtype(dtype),
            bool(weak_type),
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def update(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: Any = None,
        weak_type: bool | None = None,
    ) -> "ShapedArray":
        """The same with some of shape, dtype, weak_type replaced."""
        return shaped(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    @property
    def sharding(self) -> NamedSharding:
        """How such arrays are spread: not at all, as far as types tell."""
        return NamedSharding(NO_MESH.abstract_mesh, PartitionSpec(*(None,) * len(self.shape)))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    is_high = False  # whether only a library understands the type

    def to_tangent_aval(self) -> "ShapedArray":
        """The type of tangents; float0 where there is no derivative."""
        return tangent_aval(self)

    def to_ct_aval(self) -> "ShapedArray":
        """The type of cotangents, which is that of tangents."""
        return tangent_aval(self)

    def update_weak_type(self, weak_type: bool) -> "ShapedArray":
        return self.update(weak_type=weak_type)

    def strip_weak_type(self) -> "ShapedArray":
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self, short_dtypes: bool = False) -> str:
        """`float32[3,2]`, or `f32[3,2]` with `short_dtypes`; a weak type is marked by `~`."""
        name = dtypes.short_name(self.dtype) if short_dtypes else dtype_name(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an abstract array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __reduce__(self) -> tuple:
        return (shaped, (self.shape, self.dtype, self.weak_type))


KEPT_AVALS = 4096

_interned: dict[tuple, "_Interned"] = {}
_kept: deque[ShapedArray] = deque(maxlen=KEPT_AVALS)  # so that a short-lived one is not remade
_interning = threading.RLock()


class _Interned(weakref.ref):
    """The table's hold on an aval: the entry goes when the aval does."""

    __slots__ = ("key",)
    key: tuple


def _forget(entry: _Interned) -> None:
    with _interning:
        if _interned.get(entry.key) is entry:
            del _interned[entry.key]


def shaped(shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
    """The ShapedArray of these fields; `dtype` is a dtype, not just something that names one."""
    entry = _interned.get((shape, dtype, weak_type))
    aval = None if entry is None else entry()
    return _intern(shape, dtype, weak_type) if aval is None else aval


def _intern(shape: tuple[int, ...], dtype: Any, weak_type: bool) -> ShapedArray:
    if not isinstance(dtype, np.dtype | dtypes.KeyType):
        return ShapedArray(shape, dtype, weak_type)
    key = (shape, dtype, weak_type)
    with _interning:
        entry = _interned.get(key)
        aval = None if entry is None else entry()
        if aval is None:
            aval = object.__new__(ShapedArray)
            aval.shape, aval.dtype, aval.weak_type = shape, dtype, weak_type
            entry = _interned[key] = _Interned(aval, _forget)
            entry.key = key
            _kept.append(aval)
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
