"""Floats taken apart: sign bit, mantissa and exponent, the next number, the distance to it."""

from typing import Any

import numpy as np

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base import dtypes
from funcgrad.base.basis import broadcast_scalar, convert, eq, mul, neg
from funcgrad.numpy._logic import isfinite
from funcgrad.numpy._promotion import (
    broadcast_together,
    choose,
    inexact,
    inexact1,
    is_bool,
    is_complex,
    is_floating,
    is_integer,
    like,
    to_array,
    to_arrays,
)
from funcgrad.primitives import arithmetic
from funcgrad.primitives.bits import shift_left, shift_right_logical
from funcgrad.primitives.cast import bitcast_convert_type
from funcgrad.primitives.compare import bitwise_and, bitwise_or, lt

_INTEGERS = {bits: np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)}


def _as_bits(x: Any) -> Any:
    """The bits of floats as signed integers."""
    return bitcast_convert_type(x, _INTEGERS[dtypes.finfo(x.aval.dtype).bits])


def signbit(x: Any, /) -> Any:
    """Whether x is negative; true for -0.0 and for a nan with its sign bit set."""
    x = to_array("signbit", x)
    if is_bool(x):
        return broadcast_scalar(np.bool_(False), x.aval.update(weak_type=False))
    if is_integer(x):
        return lt(x, like(0, x))
    if not is_floating(x) or dtypes.finfo(x.aval.dtype).bits not in _INTEGERS:
        raise ValueError(f"signbit knows no place of a sign in the bits of {x.aval.dtype}")
    integer = _as_bits(x)
    return lt(integer, like(0, integer))


def copysign(x1: Any, x2: Any, /) -> Any:
    """|x1| with the sign of x2, that of -0.0 included."""
    x, y = inexact("copysign", x1, x2)
    if is_complex(x):
        raise TypeError(
            "copysign is for real numbers only; complex here: "
            f"{x.aval.str_short()} with the sign of {y.aval.str_short()}"
        )
    size = arithmetic.abs(x)
    return choose(signbit(y), neg(size), size)


def nextafter(x: Any, y: Any, /) -> Any:
    """The float next to x on the way to y."""
    return arithmetic.nextafter(*inexact("nextafter", x, y))


def spacing(x: Any, /) -> Any:
    """The distance from x to the next float away from 0, with the sign of x."""
    x = inexact1("spacing", x)
    if is_complex(x):
        raise ValueError(f"spacing is for real numbers only; {x.aval.str_short()} is complex")
    outward = copysign(like(np.inf, x), x)
    gap = arithmetic.sub(arithmetic.nextafter(x, outward), x)
    smallest = like(float(dtypes.finfo(x.aval.dtype).smallest_subnormal), x)
    return choose(eq(gap, like(0, gap)), copysign(smallest, x), gap)


# mantissa and exponent


def frexp(x: Any, /) -> tuple[Any, Any]:
    """m and an int32 e with x = m 2^e and 0.5 <= |m| < 1; 0, inf and nan are their own m."""
    x = inexact1("frexp", x)
    if is_complex(x):
        raise TypeError(f"frexp is for real numbers only; {x.aval.str_short()} is complex")
    return _mantissa_exponent(x)


@custom_jvp
def _mantissa_exponent(x: Any) -> tuple[Any, Any]:
    info = dtypes.finfo(x.aval.dtype)
    # Subnormal numbers are scaled up first, so that their leading bit is where it always is.
    small = lt(arithmetic.abs(x), like(float(info.tiny), x))
    scaled = choose(small, mul(x, like(2.0**info.nmant, x)), x)
    bits = _as_bits(scaled)
    field = (1 << info.nexp) - 1
    bias = 1 - info.minexp
    exponent = bitwise_and(shift_right_logical(bits, like(info.nmant, bits)), like(field, bits))
    others = bitwise_and(bits, like(~(field << info.nmant), bits))
    half = like((bias - 1) << info.nmant, bits)
    mantissa = bitcast_convert_type(bitwise_or(others, half), x.aval.dtype)
    power = convert(exponent, np.int32) - np.int32(bias - 1)
    power = choose(small, power - np.int32(info.nmant), power)
    regular = bitwise_and(isfinite(x), x != 0)
    return choose(regular, mantissa, x), choose(regular, power, like(0, power))


@_mantissa_exponent.defjvp
def _mantissa_exponent_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    mantissa, exponent = _mantissa_exponent(*primals)
    (t,) = tangents
    no_tangent = np.zeros(exponent.shape, dtypes.float0)
    return (mantissa, exponent), (ldexp(t, -exponent), no_tangent)


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 times 2 to the integer power x2, without overflow on the way."""
    x1, x2 = to_arrays("ldexp", x1, x2)
    if is_complex(x1) or not (is_integer(x2) or is_bool(x2)):
        raise ValueError(
            f"ldexp takes a real number and an integer power, got {x1.aval.str_short()} and "
            f"{x2.aval.str_short()}"
        )
    x, power = broadcast_together("ldexp", [inexact1("ldexp", x1), convert(x2, np.int32)])
    # 2^limit is a number of the dtype; three such steps go from one end of its range to the other.
    limit = np.int32(dtypes.finfo(x.aval.dtype).maxexp - 2)
    for _ in range(3):
        step = arithmetic.min(arithmetic.max(power, -limit), limit)
        x, power = mul(x, _power_of_two(step, x.aval.dtype)), power - step
    return x


def _power_of_two(exponent: Any, dtype: Any) -> Any:
    """2^exponent for exponents of normal numbers, exactly."""
    info = dtypes.finfo(dtype)
    integer = convert(exponent, _INTEGERS[info.bits])
    biased = integer + like(1 - info.minexp, integer)
    return bitcast_convert_type(shift_left(biased, like(info.nmant, biased)), dtype)
