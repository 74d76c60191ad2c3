"""DLPack: arrays of other libraries, handed over without a file format in between."""

from typing import Any

import numpy as np

from funcgrad.api.devices import device_put
from funcgrad.base.array import as_array
from funcgrad.base.backend import Device
from funcgrad.base.dtypes import as_dtype
from funcgrad.base.placement import Sharding

KINDS = "biufc"


def from_dlpack(
    external_array: Any, device: Device | Sharding | None = None, copy: bool | None = None
) -> Any:
    """An array of another library as one of ours.

    Args:
        external_array: an array with `__dlpack__` and `__dlpack_device__`, in CPU memory.
        device: where to put it; the default device for None.
        copy: True or None. The data is copied: our arrays never change, and theirs may.

    Returns:
        An array of the same shape; 64-bit dtypes become 32-bit ones unless enable_x64 is on.

    Raises:
        TypeError: if it does not speak DLPack.
        ValueError: for copy=False.

    Example:
        >>> import numpy
        >>> from funcgrad import dlpack
        >>> dlpack.from_dlpack(numpy.arange(3, dtype="int32"))
        Array([0, 1, 2], dtype=int32)

    Source: `jax.dlpack.from_dlpack`, which shares memory where it can.
    """
    missing = [m for m in ("__dlpack__", "__dlpack_device__") if not hasattr(external_array, m)]
    if missing:
        raise TypeError(
            f"from_dlpack takes an array that speaks DLPack; {type(external_array).__name__} lacks "
            f"{' and '.join(missing)}"
        )
    if copy is False:
        raise ValueError(
            "from_dlpack copies, as the memory handed over may be changed by its owner; copy=False "
            "cannot be granted. Leave it out."
        )
    array = as_array(np.array(np.from_dlpack(external_array)))
    return array if device is None else device_put(array, device)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of that dtype can be exchanged by DLPack.

    Booleans, integers of at least 8 bits, and the floats and complex numbers that NumPy has; not
    bfloat16, which JAX exchanges.
    """
    found = as_dtype(dtype)
    return isinstance(found, np.dtype) and found.isbuiltin == 1 and found.kind in KINDS
