"""How elements stand in LLVM: a bool is i1 in registers and i8 in memory, and the two half types
are held as their bits in an i16, so that no target has to know them.
"""

import ctypes
import functools
import math
import struct
from typing import Any

from funcgrad.compiler.loops import BITS, DTYPES, FLOATS

HALVES = ("f16", "bf16")
REGISTER = {d: f"i{BITS[d]}" for d in DTYPES} | {"bool": "i1", "f32": "float", "f64": "double"}
MEMORY = REGISTER | {"bool": "i8"}
BYTES = {d: bits // 8 for d, bits in BITS.items()}


@functools.cache
def vector(scalar: str, lanes: int) -> str:
    """The type of so many lanes of an LLVM type."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


@functools.cache
def register(dtype: str, lanes: int = 1) -> str:
    """The type in registers of so many lanes of an element type."""
    return vector(REGISTER[dtype], lanes)


@functools.cache
def suffix(scalar: str, lanes: int) -> str:
    """How an intrinsic's name spells a type: v16f32."""
    name = {"float": "f32", "double": "f64"}.get(scalar, scalar)
    return name if lanes == 1 else f"v{lanes}{name}"


def splat(scalar: str, text: str, lanes: int) -> str:
    """A constant in every lane."""
    return text if lanes == 1 else f"splat ({scalar} {text})"


@functools.cache
def lane_list(scalar: str, values: tuple[int, ...]) -> str:
    """A constant vector of integers."""
    return f"<{', '.join(f'{scalar} {value}' for value in values)}>"


def literal(value: Any, dtype: str) -> str:
    """One constant; that of a half type is its bits."""
    if dtype in FLOATS:
        number = float.fromhex(value) if isinstance(value, str) else float(value)
        if dtype == "f16":
            return str(_signed(_f16_bits(number), 16))
        if dtype == "bf16":
            return str(_signed(_bf16_bits(number), 16))
        return _hexadecimal(ctypes.c_float(number).value if dtype == "f32" else number)
    if dtype == "bool":
        return "true" if value else "false"
    return str(_signed(int(value), BITS[dtype]))


def rounded(value: Any, dtype: str) -> float:
    """The number that a half type holds for a constant."""
    number = float.fromhex(value) if isinstance(value, str) else float(value)
    if dtype == "f16":
        return struct.unpack("<e", struct.pack("<H", _f16_bits(number)))[0]
    return struct.unpack("<f", struct.pack("<I", _bf16_bits(number) << 16))[0]


def constant(value: Any, dtype: str, lanes: int = 1) -> str:
    """A constant in every lane."""
    return splat(REGISTER[dtype], literal(value, dtype), lanes)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _hexadecimal(number: float) -> str:
    if math.isnan(number):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _f16_bits(number: float) -> int:
    if math.isnan(number):
        return 0x7E00
    try:
        return struct.unpack("<H", struct.pack("<e", number))[0]
    except OverflowError:
        return 0xFC00 if number < 0 else 0x7C00


def _bf16_bits(number: float) -> int:
    if math.isnan(number):
        return 0x7FC0
    bits = struct.unpack("<I", struct.pack("<f", ctypes.c_float(number).value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
