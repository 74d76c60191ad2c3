"""Numbers as rows of bits: bitwise operations and shifts of integers, packed booleans."""

from typing import Any

import numpy as np

from funcgrad.base import basis
from funcgrad.base.basis import broadcast_in_dim, convert, iota, pad, reduce_sum
from funcgrad.numpy._arithmetic import absolute
from funcgrad.numpy._logic import truth
from funcgrad.numpy._promotion import (
    is_bool,
    is_integer,
    is_unsigned,
    numeric,
    numeric1,
    promote,
    to_array,
)
from funcgrad.numpy._shaping import ravel, swapaxes
from funcgrad.primitives import bits, compare

_UINT8 = np.dtype(np.uint8)


def invert(x: Any, /) -> Any:
    """~x, bit by bit; of booleans the negation."""
    return compare.bitwise_not(to_array("invert", x))


def bitwise_and(x: Any, y: Any, /) -> Any:
    """x & y, bit by bit."""
    return compare.bitwise_and(*promote("bitwise_and", x, y))


def bitwise_or(x: Any, y: Any, /) -> Any:
    """x | y, bit by bit."""
    return compare.bitwise_or(*promote("bitwise_or", x, y))


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """x ^ y, bit by bit."""
    return compare.bitwise_xor(*promote("bitwise_xor", x, y))


def left_shift(x: Any, y: Any, /) -> Any:
    """x << y; 0 once all bits are out."""
    return bits.shift_left(*numeric("left_shift", x, y))


def right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 >> x2; the sign moves in from the left for signed integers, else zeros."""
    x, y = numeric("right_shift", x1, x2)
    shift = bits.shift_right_logical if is_unsigned(x) else bits.shift_right_arithmetic
    return shift(x, y)


def bitwise_count(x: Any, /) -> Any:
    """The number of one bits of |x|, as uint8."""
    x = absolute(numeric1("bitwise_count", x))
    return convert(bits.population_count(x), _UINT8)


bitwise_not = bitwise_invert = invert
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


# packed booleans


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Eight booleans in each byte, along an axis or over the flat array; zeros fill the last byte.

    With bitorder "big" the first boolean is the highest bit.
    """
    a = to_array("packbits", a)
    if not is_bool(a) and not is_integer(a):
        raise TypeError(
            "packbits packs integers or booleans (any dtype of these two kinds), not "
            f"{a.aval.str_short()}"
        )
    rows = _last_axis(convert(truth(a), _UINT8), axis)
    missing = -rows.shape[-1] % 8
    if missing:
        rows = pad(rows, np.uint8(0), [(0, 0, 0)] * (rows.ndim - 1) + [(0, missing, 0)])
    groups = basis.reshape(rows, (*rows.shape[:-1], rows.shape[-1] // 8, 8))
    packed = reduce_sum(bits.shift_left(groups, _places(groups, bitorder)), (groups.ndim - 1,))
    return packed if axis is None else swapaxes(packed, axis, -1)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of bytes as zeros and ones, the reverse of `packbits`.

    `count` is the length of the result, cut or filled with zeros; a negative one is cut off.
    """
    a = to_array("unpackbits", a)
    if a.aval.dtype != np.uint8:
        raise TypeError(
            f"unpackbits takes bytes apart: the dtype has to be uint8, not {a.aval.str_short()}"
        )
    rows = _last_axis(a, axis)
    shape = (*rows.shape, 8)
    spread = broadcast_in_dim(rows, shape, range(rows.ndim))
    shifted = bits.shift_right_logical(spread, _places(spread, bitorder))
    unpacked = compare.bitwise_and(shifted, np.uint8(1))
    unpacked = basis.reshape(unpacked, (*rows.shape[:-1], rows.shape[-1] * 8))
    if count is not None:
        length = unpacked.shape[-1]
        count = max(count + length, 0) if count < 0 else count
        extra = [(0, 0, 0)] * (rows.ndim - 1) + [(0, count - length, 0)]
        unpacked = pad(unpacked, np.uint8(0), extra)
    return unpacked if axis is None else swapaxes(unpacked, axis, -1)


def _last_axis(x: Any, axis: int | None) -> Any:
    return ravel(x) if axis is None else swapaxes(x, axis, -1)


def _places(groups: Any, bitorder: str) -> Any:
    """By how much each of eight booleans is shifted in its byte."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder is 'big' or 'little', not {bitorder!r}")
    place = iota(_UINT8, groups.shape, groups.ndim - 1)
    return place if bitorder == "little" else np.uint8(7) - place
