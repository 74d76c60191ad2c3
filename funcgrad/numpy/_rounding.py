"""Rounding to integers and to decimals."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import convert, mul
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import (
    choose,
    inexact1,
    is_bool,
    is_complex,
    is_integer,
    like,
    refuse_out,
    to_array,
)
from funcgrad.primitives import arithmetic, complex_parts
from funcgrad.primitives.compare import lt


def floor(x: Any, /) -> Any:
    """The largest integer not above x; integers and booleans stay as they are."""
    x = to_array("floor", x)
    return arithmetic.floor(x) if dtypes.issubdtype(x.aval.dtype, np.inexact) else x


def ceil(x: Any, /) -> Any:
    """The smallest integer not below x; integers and booleans stay as they are."""
    x = to_array("ceil", x)
    return arithmetic.ceil(x) if dtypes.issubdtype(x.aval.dtype, np.inexact) else x


def trunc(x: Any) -> Any:
    """x without its fraction; integers and booleans stay as they are."""
    x = to_array("trunc", x)
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        return x
    return choose(lt(x, like(0, x)), arithmetic.ceil(x), arithmetic.floor(x))


def rint(x: Any, /) -> Any:
    """The nearest integer as a float, halves to the even one; complex x part by part."""
    x = to_array("rint", x)
    if is_complex(x):
        return complex_parts.complex(rint(complex_parts.real(x)), rint(complex_parts.imag(x)))
    if is_integer(x) or x.aval.dtype == np.bool_:
        return convert(x, dtypes.default_float())
    return arithmetic.round(x, arithmetic.RoundingMethod.TO_NEAREST_EVEN)


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """The fraction and the whole part of x, both with its sign."""
    refuse_out("modf", out)
    x = inexact1("modf", x)
    whole = choose(lt(x, like(0, x)), arithmetic.ceil(x), arithmetic.floor(x))
    return arithmetic.sub(x, whole), whole


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """a rounded to that many decimals, halves to the even digit; complex a part by part.

    Raises:
        NotImplementedError: integers to a negative number of decimals, as in JAX.
    """
    refuse_out("round", out)
    a = to_array("round", a)
    decimals = concrete_int(decimals, "decimals")
    if is_integer(a):
        if decimals < 0:
            raise NotImplementedError(
                f"round of integers to {decimals} decimals is not offered, got "
                f"{a.aval.str_short()}; divide and multiply, or round floats."
            )
        return a
    if is_bool(a):
        raise TypeError("round does not accept booleans; cast them with astype first.")
    if decimals > np.log10(float(dtypes.finfo(a.aval.dtype).max)):
        return a
    if is_complex(a):
        parts = (complex_parts.real(a), complex_parts.imag(a))
        return complex_parts.complex(*(_to_decimals(part, decimals) for part in parts))
    return _to_decimals(a, decimals)


def _to_decimals(x: Any, decimals: int) -> Any:
    to_even = arithmetic.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return arithmetic.round(x, to_even)
    narrow = x.aval.dtype == np.float16
    wide = convert(x, np.float32, x.aval.weak_type) if narrow else x
    factor = like(10.0**decimals, wide)
    result = arithmetic.div(arithmetic.round(mul(wide, factor), to_even), factor)
    return convert(result, np.float16, x.aval.weak_type) if narrow else result


around = round
