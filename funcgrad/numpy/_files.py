"""Arrays as text and in files, the way NumPy writes them."""

import os
from typing import IO, Any, NoReturn

import numpy as np

from funcgrad.base import dtypes
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._promotion import to_array

File = IO[bytes] | str | os.PathLike[Any]


def load(file: File, *args: Any, **kwargs: Any) -> Any:
    """The array in a .npy file, or the NumPy arrays in a .npz file; see numpy.load.

    bfloat16, which NumPy's format does not know, is read back as what it was.
    """
    data = np.load(file, *args, **kwargs)
    if not isinstance(data, np.ndarray):
        return data
    if data.dtype == np.dtype("V2"):
        data = data.view(dtypes.BY_NAME["bfloat16"])
    try:
        return asarray(data)
    except TypeError:
        return data


def save(file: File, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a .npy file; see numpy.save."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: File, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to a .npz file; see numpy.savez."""
    arrays = {name: np.asarray(x) for name, x in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **arrays)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """The numbers written in a text, separated by `sep`."""
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: reading a file while tracing would happen once, not each time the program runs."""
    raise NotImplementedError(
        "fromfile() is not offered, because reading a file is not pure. Use "
        "asarray(np.fromfile(...)) outside of traced functions."
    )


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: exhausting an iterator while tracing would happen once, not in each run."""
    raise NotImplementedError(
        "fromiter() is not offered, because consuming an iterator is not pure. Use "
        "asarray(np.fromiter(...)) outside of traced functions."
    )


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array as repr gives it, with NumPy's settings for width and digits."""
    x = to_array("array_repr", arr)
    if max_line_width is precision is suppress_small is None:
        return repr(x)
    text = np.array2string(
        np.asarray(x), max_line_width, precision, suppress_small, separator=", ", prefix="Array("
    )
    weak = ", weak_type=True" if x.aval.weak_type else ""
    return f"Array({text}, dtype={x.aval.dtype.name}{weak})"


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array as str gives it, with NumPy's settings for width and digits."""
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
