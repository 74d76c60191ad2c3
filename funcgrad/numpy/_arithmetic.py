"""Arithmetic as NumPy defines it: signs of remainders, true division, powers, extrema."""

import operator
from typing import Any

import numpy as np

from funcgrad.base import basis, dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.basis import eq, mul, neg
from funcgrad.base.methods import Array
from funcgrad.numpy._promotion import (
    check_arraylike,
    check_dtypes,
    choose,
    inexact,
    inexact1,
    is_bool,
    is_complex,
    is_integer,
    is_unsigned,
    lift,
    like,
    numeric,
    numeric1,
    promote,
    to_array,
    to_arrays,
)
from funcgrad.primitives import arithmetic, exponential, trigonometric
from funcgrad.primitives.compare import bitwise_and, bitwise_or, gt, lt, ne


def add(x: Any, y: Any, /) -> Any:
    """x + y; booleans are or-ed."""
    x, y = promote("add", x, y)
    return bitwise_or(x, y) if is_bool(x) else basis.add(x, y)


def subtract(x: Any, y: Any, /) -> Any:
    """x - y; not for booleans."""
    return arithmetic.sub(*promote("subtract", x, y))


def multiply(x: Any, y: Any, /) -> Any:
    """x * y; booleans are and-ed."""
    x, y = promote("multiply", x, y)
    return bitwise_and(x, y) if is_bool(x) else mul(x, y)


def negative(x: Any, /) -> Any:
    """-x; not for booleans."""
    return neg(to_array("negative", x))


def positive(x: Any, /) -> Any:
    """x itself."""
    return to_array("positive", x)


def absolute(x: Any, /) -> Any:
    """|x|; real for complex x."""
    x = to_array("absolute", x)
    return x if is_bool(x) or is_unsigned(x) else arithmetic.abs(x)


def fabs(x: Any, /) -> Any:
    """|x| as a float; not for complex x."""
    x = inexact1("fabs", x)
    if is_complex(x):
        raise TypeError(f"fabs is for real numbers only; {x.aval.str_short()} is complex")
    return arithmetic.abs(x)


def square(x: Any, /) -> Any:
    """x * x."""
    return exponential.square(numeric1("square", x))


def sign(x: Any, /) -> Any:
    """-1, 0 or 1 by the sign of x; x / |x| for complex x. Not for booleans."""
    return arithmetic.sign(to_array("sign", x))


# division


def true_divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2 as floats."""
    return arithmetic.div(*inexact("true_divide", x1, x2))


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The largest integer not above x1 / x2; an integer divided by 0 gives a number near -1."""
    x, y = numeric("floor_divide", x1, x2)
    if is_complex(x):
        raise TypeError(
            "floor_divide is for real numbers only; complex here: "
            f"{x.aval.str_short()} by {y.aval.str_short()}"
        )
    if not is_integer(x):
        return _float_divmod(x, y)[0]
    quotient = arithmetic.div(x, y)
    if is_unsigned(x):
        return quotient
    signs_differ = ne(arithmetic.sign(x), arithmetic.sign(y))
    rest = arithmetic.rem(x, y)
    inexact_quotient = bitwise_and(signs_differ, ne(rest, like(0, rest)))
    below = arithmetic.sub(quotient, like(1, quotient))
    return choose(inexact_quotient, below, quotient)


def remainder(x1: Any, x2: Any, /) -> Any:
    """x1 - floor(x1 / x2) * x2, with the sign of x2; an integer modulo 0 is 0."""
    x, y = numeric("remainder", x1, x2)
    if is_complex(x):
        raise TypeError(
            "remainder is for real numbers only; complex here: "
            f"{x.aval.str_short()} by {y.aval.str_short()}"
        )
    if is_integer(y):
        y = nonzero_divisor(y)
    rest = arithmetic.rem(x, y)
    zero = like(0, rest)
    wrong_sign = bitwise_and(ne(lt(rest, zero), lt(y, like(0, y))), ne(rest, zero))
    return choose(wrong_sign, basis.add(rest, y), rest)


def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of x1 / x2 with the sign of x1; an integer modulo 0 is 0."""
    x, y = numeric("fmod", x1, x2)
    return arithmetic.rem(x, nonzero_divisor(y) if is_integer(y) else y)


def nonzero_divisor(y: Any) -> Any:
    """Integers with 1 in place of 0, by which everything leaves no remainder."""
    return choose(eq(y, like(0, y)), like(1, y), y)


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """(floor_divide(x1, x2), remainder(x1, x2))."""
    x, y = numeric("divmod", x1, x2)
    if is_integer(x) or is_complex(x):
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    rest = arithmetic.rem(x, y)
    by_zero = eq(y, like(0, y))
    quotient = arithmetic.div(choose(by_zero, x, arithmetic.sub(x, rest)), y)
    signs_differ = ne(arithmetic.sign(y), arithmetic.sign(rest))
    adjust = bitwise_and(ne(rest, like(0, rest)), signs_differ)
    rest = choose(adjust, basis.add(rest, y), rest)
    quotient = choose(adjust, arithmetic.sub(quotient, like(1, quotient)), quotient)
    return arithmetic.round(quotient), rest


# powers


def power(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2.

    An exponent that is a known integer is multiplied out, so the derivative is right at 0 too. An
    integer to a traced negative power is rounded towards 0.

    Raises:
        TypeError: an integer to a power that is known to be negative.
    """
    check_arraylike("power", x1, x2)
    exponent = known_integer(x2)
    if exponent is not None:
        return exponential.integer_pow(numeric1("power", x1), exponent)
    x1, x2 = to_arrays("power", x1, x2)
    check_dtypes("power", [x1, x2])
    base, exponent = numeric("power", x1, x2)
    if is_integer(base):
        _check_not_negative(exponent)
    elif dtypes.issubdtype(x1.aval.dtype, np.inexact) and is_integer(x2):
        base, exponent = lift("power", [x1, x2])
    return exponential.pow_p.bind(base, exponent)


def known_integer(x: Any) -> int | None:
    """The value of an integer number or 0-d integer array; None for other and for traced values."""
    if type(x) is int:
        return x
    if isinstance(x, ConcreteArray):
        return int(x) if not x.aval.shape and is_integer(x) else None
    if isinstance(x, (Array, float, complex)):
        return None
    try:
        return operator.index(x)
    except TypeError:
        return None


def _check_not_negative(exponent: Any) -> None:
    """Raise where integers are raised to powers of which one is known to be negative."""
    if isinstance(exponent, ConcreteArray) and (np.asarray(exponent) < 0).any():
        raise TypeError(
            "power: an integer base has no integer result for negative powers, and the exponents "
            f"{exponent.aval.str_short()} hold a negative number. Make the base a float first."
        )


def float_power(x: Any, y: Any, /) -> Any:
    """x to the power y, computed in floats."""
    return exponential.pow_p.bind(*inexact("float_power", x, y))


# extrema and functions of two numbers


def maximum(x: Any, y: Any, /) -> Any:
    """The larger of x and y; nan if either is."""
    return arithmetic.max(*promote("maximum", x, y))


def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of x and y; nan if either is."""
    return arithmetic.min(*promote("minimum", x, y))


def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2; where one is nan, the other."""
    x, y = promote("fmax", x1, x2)
    return choose(bitwise_or(gt(x, y), ne(y, y)), x, y)


def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2; where one is nan, the other."""
    x, y = promote("fmin", x1, x2)
    return choose(bitwise_or(lt(x, y), ne(y, y)), x, y)


def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle in radians of the point (x2, x1), in [-pi, pi]."""
    return trigonometric.atan2(*inexact("arctan2", x1, x2))


def hypot(x1: Any, x2: Any, /) -> Any:
    """sqrt(x1^2 + x2^2) without overflow; inf where either is infinite."""
    x, y = inexact("hypot", x1, x2)
    if is_complex(x):
        raise ValueError(
            f"hypot is for real sides only; {x.aval.str_short()} and {y.aval.str_short()} are "
            "complex. Take abs(x) of them first."
        )
    x, y = arithmetic.abs(x), arithmetic.abs(y)
    infinite = bitwise_or(eq(x, like(np.inf, x)), eq(y, like(np.inf, y)))
    large, small = arithmetic.max(x, y), arithmetic.min(x, y)
    zero = eq(large, like(0, large))
    ratio = arithmetic.div(small, choose(zero, like(1, large), large))
    scale = exponential.sqrt(basis.add(like(1, ratio), exponential.square(ratio)))
    result = choose(zero, large, mul(large, scale))
    return choose(infinite, like(np.inf, result), result)


# other names of these

abs = absolute
divide = true_divide
mod = remainder
pow = power
atan2 = arctan2
