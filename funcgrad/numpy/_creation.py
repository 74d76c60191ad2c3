"""Arrays from data: array and asarray, which take numbers, NumPy arrays, lists of any of those and
tracers, and copies and casts of arrays."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.aval import shaped
from funcgrad.base.basis import concatenate, convert, expand
from funcgrad.base.methods import Array
from funcgrad.base.tracer import Tracer
from funcgrad.numpy._promotion import is_complex, like, prepend_axes, to_array
from funcgrad.primitives.compare import ne
from funcgrad.primitives.structural import copy as copy_array

_NUMBERS = (bool, int, float, complex)


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An Array of numbers, arrays, or nested lists of them.

    Args:
        object: what to convert. Lists may hold traced arrays.
        dtype: of the result; by default what the elements promote to, in 32 bits unless 64-bit
            dtypes are on. A lone Python number gives a weakly typed array.
        copy: whether an Array is copied. NumPy arrays always are.
        order: "K"; arrays have no memory order to ask for.
        ndmin: the least rank; axes of length 1 are put in front.
        device, out_sharding: where to put the result.

    Raises:
        TypeError, ValueError: an element is no number, or rows differ in length.
        OverflowError: a Python integer does not fit.

    Example:
        >>> array([1, 2.5])
        Array([1. , 2.5], dtype=float32)
    """
    if order not in (None, "K"):
        raise NotImplementedError(f"array takes order='K' only, got {order!r}")
    if dtype is not None:
        dtype = dtypes.check_user_dtype(dtype, "array")
    result = _convert_data(object, dtype)
    if result is object and copy:
        result = copy_array(result)
    if ndmin > len(result.aval.shape):
        result = prepend_axes(result, ndmin)
    return placed(result, device, out_sharding)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`array` that copies an Array only if asked to."""
    if isinstance(a, Array) and dtype is None and not copy and device is None is out_sharding:
        return a
    return array(a, dtype, bool(copy), order, device=device, out_sharding=out_sharding)


def placed(x: Any, device: Any, out_sharding: Any = None) -> Any:
    """x on a device, if one is given; where a traced value lives is decided by its program."""
    if device is not None and out_sharding is not None:
        raise ValueError(
            f"only one of device and out_sharding can be given, got {device} and {out_sharding}"
        )
    target = out_sharding if device is None else device
    return x.to_device(target) if target is not None and isinstance(x, ConcreteArray) else x


def _convert_data(data: Any, dtype: Any) -> Any:
    if hasattr(data, "__jax_array__"):
        data = data.__jax_array__()
    if isinstance(data, Array):
        return data if dtype is None else convert(data, dtype)
    if isinstance(data, _NUMBERS) and not isinstance(data, np.generic):
        if dtype is None:
            return as_array(data)
        return _from_numpy(np.array(data, _first_dtype({type(data)}, dtype)), dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        return _from_numpy(np.asarray(data), dtype)
    if isinstance(data, (list, tuple)):
        return _from_list(data, dtype)
    return _from_foreign(data, dtype)


def _first_dtype(kinds: set[type], dtype: Any) -> Any:
    """The dtype in which NumPy reads Python numbers of these kinds on their way to `dtype`, so that
    integers that do not fit are refused."""
    if complex in kinds and not dtypes.issubdtype(dtype, np.complexfloating) and dtype != np.bool_:
        raise TypeError(
            f"array: a complex number was given for dtype {dtype}, which has no imaginary part. "
            "Take its .real, or ask for a complex dtype."
        )
    whole = kinds <= {int, bool}
    if dtypes.issubdtype(dtype, np.integer) and whole:
        return dtype
    if dtypes.issubdtype(dtype, np.inexact) and complex not in kinds:
        return np.float64
    return max(kinds, key=_NUMBERS.index, default=float)


def _from_numpy(data: Any, dtype: Any) -> ConcreteArray:
    if dtype is None or data.dtype == dtype:
        _check_kind(data)
        return as_array(data)
    if data.dtype.kind not in "OSUMmV":
        with np.errstate(all="ignore"):
            if data.dtype.kind == "c" and np.dtype(dtype).kind != "c":
                data = data.real if np.dtype(dtype) != np.bool_ else data != 0
            return ConcreteArray(data.astype(dtype, order="C"), shaped(data.shape, dtype))
    _check_kind(data)
    return ConcreteArray(data.astype(dtype, order="C"), shaped(data.shape, dtype))


def _check_kind(data: np.ndarray) -> None:
    if data.dtype.kind in "OSUMm":
        raise TypeError(
            f"{data.dtype} is not a valid array type, so {data!r:.80} makes no array. Only "
            "numbers and booleans do; keep other data in a pytree."
        )


def _leaves(data: Any) -> Iterator[Any]:
    """The elements of nested lists and tuples, in order."""
    for item in data:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


def _from_list(data: Any, dtype: Any) -> Any:
    leaves = list(_leaves(data))
    kinds = set(map(type, leaves))
    if kinds <= set(_NUMBERS):
        return _from_numbers(data, kinds, dtype)
    if type(None) in kinds:
        raise ValueError("array: there is no number for None; give numbers and arrays only.")
    if any(hasattr(leaf, "__jax_array__") for leaf in leaves):
        data = _unwrapped(data)
        leaves = list(_leaves(data))
    if dtype is None:
        try:
            dtype = promotion.lattice_result_type(*leaves)[0]
        except TypeError:
            dtype = promotion.lattice_result_type(*(_convert_data(x, None) for x in leaves))[0]
    if isinstance(dtype, dtypes.KeyType) or any(isinstance(leaf, Tracer) for leaf in leaves):
        return _stacked([_convert_data(item, dtype) for item in data])
    return _from_numpy(np.array(_as_numpy(data, dtype)), dtype)


def _unwrapped(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_unwrapped(item) for item in data]
    return data.__jax_array__() if hasattr(data, "__jax_array__") else data


def _as_numpy(data: Any, dtype: Any) -> Any:
    """The elements in one dtype already: NumPy would not join all of ours."""
    if isinstance(data, (list, tuple)):
        return [_as_numpy(item, dtype) for item in data]
    return np.asarray(_convert_data(data, dtype))


def _from_numbers(data: Any, kinds: set[type], dtype: Any) -> ConcreteArray:
    """Nested lists of nothing but Python numbers."""
    if dtype is None:
        if not kinds:
            dtype = dtypes.default_float()
        else:
            dtype = dtypes.canonicalize_dtype(max(kinds, key=_NUMBERS.index))
    try:
        return _from_numpy(np.array(data, _first_dtype(kinds, dtype)), dtype)
    except OverflowError as error:
        raise OverflowError(f"array: {error}. Give a dtype that holds it.") from None


def _stacked(arrays: list[Any]) -> Any:
    shapes = {x.aval.shape for x in arrays}
    if len(shapes) > 1:
        raise ValueError(f"array: the elements of a list must have one shape, got {sorted(shapes)}")
    return concatenate([expand(x, 0) for x in arrays], 0)


def _from_foreign(data: Any, dtype: Any) -> Any:
    """Ranges, buffers, and objects of other libraries that NumPy can read."""
    if data is None:
        raise ValueError("array: there is no number for None; give numbers and arrays only.")
    if hasattr(data, "__array__") or isinstance(data, range):
        return _from_numpy(np.asarray(data), dtype)
    if not isinstance(data, str | bytes):
        try:
            return _from_numpy(np.asarray(memoryview(data)), dtype)
        except TypeError:
            pass
    found = np.asarray(data)
    _check_kind(found)
    return _from_numpy(found, dtype)


# copies and casts


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array."""
    to_array("copy", a)
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """x in another dtype; None means the default float.

    Floats are rounded towards zero on their way to integers. The imaginary part is lost, with a
    warning, on the way from complex numbers to others.
    """
    x = to_array("astype", x)
    dtype = dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype, "astype")
    if is_complex(x) and not dtypes.issubdtype(dtype, np.complexfloating):
        if dtype == np.bool_:
            return placed(ne(x, like(0, x)), device)
        warnings.warn(
            f"astype from {x.aval.dtype} to {dtype} drops the imaginary part; take x.real or "
            "x.imag first.",
            stacklevel=2,
        )
    result = convert(x, dtype)
    return placed(copy_array(result) if copy else result, device)


def frombuffer(buffer: bytes | Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The bytes of a buffer read as an array of one axis."""
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library, handed over by DLPack; its data is copied."""
    if copy is False:
        raise ValueError("from_dlpack copies: arrays are immutable and x is not known to be.")
    return placed(asarray(np.from_dlpack(x)), device)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype can be cast to another by NumPy's rule of that name."""
    return np.can_cast(from_, to, casting=casting)  # type: ignore[arg-type]


def isscalar(element: Any) -> bool:
    """Whether the element has rank 0: numbers do, and some arrays."""
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    if isinstance(element, (np.ndarray, Array)):
        return len(element.shape) == 0
    return np.isscalar(element)
