"""ConcreteArray: an immutable array that holds its numbers in a NumPy or CuPy buffer."""

import sys
from collections import Counter
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.aval import ShapedArray, dtype_name, shaped
from funcgrad.base.backend import Buffer, read_only_view, synchronize, to_numpy
from funcgrad.base.errors import DonatedBufferError
from funcgrad.base.methods import Array
from funcgrad.base.placement import (
    Device,
    Index,
    Shard,
    Sharding,
    SingleDeviceSharding,
    default_sharding,
)


class ConcreteArray(Array):
    """The Array that evaluation makes; its buffer is never written once it is in here."""

    __slots__ = ("__weakref__", "_buffer", "_sharding", "aval")

    def __init__(self, buffer: Buffer, aval: ShapedArray, sharding: Sharding | None = None):
        self._buffer = np.asarray(buffer) if isinstance(buffer, np.generic) else buffer
        self.aval = aval
        self._sharding = sharding

    @property
    def buffer(self) -> Buffer:
        """The NumPy or CuPy array inside; raises DonatedBufferError once it has been given away."""
        buffer = self._buffer
        if buffer is None:
            raise DonatedBufferError(
                f"Array has been deleted: {self.aval.str_short()} was donated to a call "
                "(donate_argnums) or deleted. Use the call's result, or do not donate it."
            )
        return buffer

    def contiguous(self) -> Buffer:
        """The array inside with its elements in order, which a view is made once and for all."""
        buffer = self.buffer
        if isinstance(buffer, np.ndarray) and not buffer.flags.c_contiguous:
            buffer = self._buffer = np.array(buffer, order="C")
        return buffer

    # conversions to Python and NumPy
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if isinstance(self.aval.dtype, dtypes.KeyType):
            raise TypeError(
                f"a key array of dtype {self.aval.dtype} has no NumPy value; use random.key_data(k)"
            )
        host = to_numpy(self.buffer)
        wanted = host.dtype if dtype is None else np.dtype(dtype)
        if copy or wanted != host.dtype:
            return np.array(host, wanted)
        return read_only_view(host)

    def _scalar(self, kind: type) -> Any:
        if self.aval.shape:
            way_out = "Index it, as in x[0], or use x.item()." if self.aval.size == 1 else ""
            raise TypeError(
                f"{kind.__name__}(x) needs a scalar array (0-d), and this one has shape "
                f"{self.aval.shape}. {way_out}".rstrip()
            )
        return self.__array__()[()]

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ValueError(
                f"an array of shape {self.aval.shape} has no single truth value: say x.any() or "
                "x.all()."
            )
        return bool(self.__array__())

    def __int__(self) -> int:
        return int(self._scalar(int))

    def __float__(self) -> float:
        return float(self._scalar(float))

    def __complex__(self) -> complex:
        return complex(self._scalar(complex))

    def __index__(self) -> int:
        if self.aval.shape or not dtypes.issubdtype(self.aval.dtype, np.integer):
            raise TypeError(
                f"an index is an integer scalar, and this array is {self.aval.str_short()}"
            )
        return int(self.__array__())

    def item(self, *index: int) -> Any:
        """The element at `index` (or the only one) as a Python number."""
        return self.__array__().item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.__array__().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self.__array__().tobytes(order)  # type: ignore[arg-type]

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.__array__())  # type: ignore[arg-type]

    def __repr__(self) -> str:
        if self._buffer is None:
            return f"<deleted Array {self.aval.str_short()}>"
        if isinstance(self.aval.dtype, dtypes.KeyType):
            data = key_words(to_numpy(self._buffer))
            return f"Array({self.aval.shape}, dtype={self.aval.dtype.name}) overlaying:\n{data}"
        weak = ", weak_type=True" if self.aval.weak_type else ""
        tail = f", dtype={dtype_name(self.aval.dtype)}{weak})"
        host = to_numpy(self._buffer)
        if host.size == 0:
            return f"Array([], shape={host.shape}{tail}"
        return "Array(" + np.array2string(host, separator=", ", prefix="Array(") + tail

    def __str__(self) -> str:
        return repr(self) if isinstance(self.aval.dtype, dtypes.KeyType) else str(self.__array__())

    def __format__(self, spec: str) -> str:
        key = isinstance(self.aval.dtype, dtypes.KeyType)
        value = str(self) if self.aval.shape or key else self.__array__()[()]
        return format(value, spec)

    # copies, pickles, other libraries
    def __copy__(self) -> "ConcreteArray":
        return self

    def __deepcopy__(self, memo: dict) -> "ConcreteArray":
        return ConcreteArray(self.buffer.copy(), self.aval, self._sharding)

    def __reduce__(self) -> tuple:
        return (ConcreteArray, (to_numpy(self.buffer), self.aval))

    def __dlpack__(self, **kwargs: Any) -> Any:
        # DLPack has no read-only flag in every consumer, so a copy leaves, never our own buffer.
        return np.array(self.__array__()).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.buffer.__dlpack_device__()

    # devices and lifetime
    @property
    def sharding(self) -> Sharding:
        return self._sharding or default_sharding()

    @property
    def committed(self) -> bool:
        """Whether the array was put on a device on purpose, so that computations follow it."""
        return self._sharding is not None

    @property
    def device(self) -> Device | Sharding:
        held_by = self.devices()
        return next(iter(held_by)) if len(held_by) == 1 else self.sharding

    def devices(self) -> set[Device]:
        return set(self.sharding.device_set)

    def to_device(self, device: Device | Sharding, *, stream: Any = None) -> "ConcreteArray":
        sharding = device if isinstance(device, Sharding) else SingleDeviceSharding(device)
        return ConcreteArray(self.buffer, self.aval, sharding)

    @property
    def addressable_shards(self) -> list[Shard]:
        """Which device holds which slice, with the slice itself as `data`."""
        places = self.sharding.devices_indices_map(self.aval.shape)
        seen: Counter[str] = Counter()
        shards = []
        for device, index in places.items():
            shards.append(Shard(device, index, self._part(index), seen[str(index)]))
            seen[str(index)] += 1
        return shards

    def addressable_data(self, index: int) -> "ConcreteArray":
        """The part that the device of that number in the sharding holds."""
        return self.addressable_shards[index].data

    @property
    def global_shards(self) -> list[Shard]:
        """The same as `addressable_shards`, all devices being this process's."""
        return self.addressable_shards

    def _part(self, index: Index) -> "ConcreteArray":
        part = self.buffer[index]
        return ConcreteArray(part, shaped(part.shape, self.aval.dtype))

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return self.sharding.is_fully_replicated

    def block_until_ready(self) -> "ConcreteArray":
        """Wait until the value is there; returns the array itself."""
        synchronize(self.buffer)
        return self

    def copy_to_host_async(self) -> None:
        """Begin the copy that a later np.asarray waits for; on the CPU there is nothing to do."""
        self.buffer  # noqa: B018  it raises when the buffer is gone

    def delete(self) -> None:
        """Give the buffer up; any later use raises DonatedBufferError."""
        self._buffer = None

    def is_alone(self) -> bool:
        """Whether no view, no other Array and nobody outside holds the buffer too."""
        buffer = self._buffer
        writable = isinstance(buffer, np.ndarray) and buffer.flags.writeable
        # The attribute, the local name, and the argument of getrefcount.
        return writable and sys.getrefcount(buffer) == 3

    def is_deleted(self) -> bool:
        return self._buffer is None

    def unsafe_buffer_pointer(self) -> int:
        return self.__array__().__array_interface__["data"][0]

    @property
    def on_device_size_in_bytes(self) -> int:
        return self.nbytes


def key_words(buffer: np.ndarray) -> np.ndarray:
    """The two uint32 words of each key, as one more trailing axis."""
    return np.ascontiguousarray(buffer).view(np.uint32).reshape(*buffer.shape, 2)


def as_array(x: Any) -> ConcreteArray:
    """An Array, NumPy value or Python number as a ConcreteArray; NumPy sources are copied."""
    if type(x) is ConcreteArray:
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        dtype = dtypes.canonicalize_dtype(x.dtype)
        return ConcreteArray(np.array(x, dtype, order="C"), shaped(x.shape, dtype))
    if isinstance(x, (bool, int, float, complex)):
        dtype = promotion.scalar_dtype(x)
        return ConcreteArray(np.array(x, dtype), shaped((), dtype, not isinstance(x, bool)))
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__())
    raise TypeError(
        f"a value of type {type(x).__name__} is not a valid array type: {x!r:.80}. Arrays, NumPy "
        "arrays and Python numbers are; wrap other data in a pytree of those."
    )


def as_value(x: Any) -> Any:
    """As an Array: tracers and Arrays unchanged, NumPy values and numbers converted."""
    return x if isinstance(x, Array) else as_array(x)
