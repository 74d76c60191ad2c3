"""Dtypes below 8 bits and the 8-bit floats: bytes in memory, which kernels move as they are and
compute with as f32 or i32. What ml_dtypes converts, these expressions do bit for bit.
"""

import functools
import math
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from funcgrad.compiler.loops import FLOATS, Expr

# What a kernel holds of an element in memory.
STORED = "u8"
EXPONENT_ONLY = "float8_e8m0fnu"


class Float(NamedTuple):
    """A format of floats. Codes are those of magnitudes, without the sign."""

    digits: int
    bias: int
    sign: int  # the place of the sign bit
    largest: int
    infinity: int | None
    overflow: int  # what infinity becomes, and what rounding makes greater than the largest
    nan: tuple[int, int]  # what a nan becomes, by its sign; signs included
    minus_zero: bool  # else that code is the nan

    @property
    def least_normal(self) -> float:
        return math.ldexp(1.0, 1 - self.bias)


class Integer(NamedTuple):
    """Integers of so many bits."""

    bits: int
    signed: bool


@functools.cache
def format_of(dtype: Any) -> Float | Integer | None:
    """The format of a narrow dtype, None for any other: measured on ml_dtypes' own conversions."""
    if not isinstance(dtype, np.dtype) or dtype.itemsize != 1 or dtype.kind not in "Vf":
        return None
    try:
        info: Any = ml_dtypes.iinfo(dtype)
    except ValueError:
        return _float(dtype)
    return Integer(info.bits, info.min < 0)


def _float(dtype: np.dtype) -> Float | None:
    try:
        info: Any = ml_dtypes.finfo(dtype)
    except (KeyError, ValueError):
        return None
    sign = info.bits - 1
    below = (1 << sign) - 1

    def code(value: float) -> int:
        with np.errstate(all="ignore"):
            return int(np.asarray(value, np.float32).astype(dtype).view(np.uint8))

    with np.errstate(all="ignore"):
        has_infinity = bool(np.isinf(np.asarray(math.inf, np.float32).astype(dtype)))
    nans = tuple(code(math.copysign(math.nan, s)) for s in (1, -1))
    return Float(
        digits=info.nmant,
        bias=1 - round(math.log2(float(info.smallest_normal))),
        sign=sign,
        largest=code(float(info.max)) & below,
        infinity=code(math.inf) & below if has_infinity else None,
        overflow=code(math.inf) & below,
        nan=(nans[0], nans[1]),
        minus_zero=code(-0.0) != 0,
    )


def computed(dtype: Any) -> np.dtype | None:
    """The dtype in which elements of a narrow one are computed with."""
    found = format_of(dtype)
    if found is None:
        return None
    return np.dtype(np.int32 if isinstance(found, Integer) else np.float32)


def code_of(value: Any) -> int:
    """The byte of a number of a narrow dtype, as kernels write it."""
    byte = int(np.asarray(value).view(np.uint8))
    found = format_of(np.asarray(value).dtype)
    return byte & ((1 << found.bits) - 1) if isinstance(found, Integer) else byte


def widened(byte: Expr, dtype: np.dtype) -> Expr:
    """The f32 or i32 that a byte stands for."""
    found = format_of(dtype)
    if isinstance(found, Integer):
        return _widened_integer(byte, found)
    assert found is not None
    if dtype.name == EXPONENT_ONLY:
        return _widened_exponent(byte)
    graph, code = byte.graph, byte.to("u32")
    magnitude = code & ((1 << found.sign) - 1)
    scaled = (magnitude << (23 - found.digits)).bits("f32") * math.ldexp(1.0, 127 - found.bias)
    beyond = graph.const(math.nan, "f32")
    if found.infinity is not None:
        is_infinite = magnitude.eq(found.infinity)
        beyond = graph.select(is_infinite, graph.const(math.inf, "f32"), beyond)
    value = graph.select(magnitude > found.largest, beyond, scaled)
    sign = (code >> found.sign) & 1
    signed = (value.bits("u32") | (sign << 31)).bits("f32")
    if found.minus_zero:
        return signed
    return graph.select(code.eq(1 << found.sign), graph.const(math.nan, "f32"), signed)


def narrowed(value: Expr, dtype: np.dtype) -> Expr:
    """The byte of a number: rounded to nearest even; or its low bits, but floats saturate."""
    found = format_of(dtype)
    if isinstance(found, Integer):
        return _narrowed_integer(value, found)
    assert found is not None
    value = value.to("f32")
    if dtype.name == EXPONENT_ONLY:
        return _narrowed_exponent(value)
    graph, bits = value.graph, value.bits("u32")
    size, sign = bits & 0x7FFFFFFF, bits >> 31
    dropped = 23 - found.digits
    half = ((size >> dropped) & 1) + ((1 << (dropped - 1)) - 1)
    normal = ((size + half) >> dropped) - ((127 - found.bias) << found.digits)
    # Adding this leaves no room for digits below the least subnormal.
    magic = math.ldexp(found.least_normal, 23 - found.digits)
    magnitude = size.bits("f32")
    subnormal = (magnitude + magic).bits("u32") - graph.const(magic, "f32").bits("u32")
    code = graph.select(magnitude < found.least_normal, subnormal, normal)
    beyond = code > found.largest
    signed = graph.select(beyond, graph.const(found.overflow, "u32"), code) | (sign << found.sign)
    if not found.minus_zero:
        signed = graph.select(code.eq(0), code, signed)
        signed = graph.select(beyond, graph.const(found.nan[0], "u32"), signed)
    positive, negative = (graph.const(code, "u32") for code in found.nan)
    nan = graph.select(sign.eq(0), positive, negative)
    return graph.select(size > 0x7F800000, nan, signed).to(STORED)


def _widened_integer(byte: Expr, found: Integer) -> Expr:
    low = byte.to("i32") & ((1 << found.bits) - 1)
    return (low << (32 - found.bits)) >> (32 - found.bits) if found.signed else low


def _narrowed_integer(value: Expr, found: Integer) -> Expr:
    number = value.to("i32")
    if value.dtype in FLOATS:
        least = -1 << (found.bits - 1) if found.signed else 0
        number = number.apply("max", least).apply("min", least + (1 << found.bits) - 1)
    return (number & ((1 << found.bits) - 1)).to(STORED)


# The format of scales: powers of two from 2^-127 on, no zero and no sign; 255 is its nan.


def _widened_exponent(byte: Expr) -> Expr:
    graph, code = byte.graph, byte.to("u32")
    bits = graph.select(code.eq(0), graph.const(1 << 22, "u32"), code << 23)
    return graph.select(code.eq(255), graph.const(math.nan, "f32"), bits.bits("f32"))


def _narrowed_exponent(value: Expr) -> Expr:
    """Halves go up; zero and what is negative have no code."""
    graph, bits = value.graph, value.bits("u32")
    one, zero, nan = (graph.const(code, "u32") for code in (1, 0, 255))
    tiny = graph.select(bits > (1 << 22), one, zero)
    code = graph.select(bits < (1 << 23), tiny, (bits + (1 << 22)) >> 23)
    outside = bits.eq(0) | (bits > 0x7F3FFFFF)
    return graph.select(outside, nan, code).to(STORED)
