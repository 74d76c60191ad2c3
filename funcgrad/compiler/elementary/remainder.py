"""The remainder of a division toward zero, exact. A machine finds it digit by digit; where the
quotient is not huge, it is what one division and exact products leave.
"""

from funcgrad.compiler.elementary.floats import (
    INFINITY,
    absolute,
    const,
    float_function,
    select,
    with_sign,
)
from funcgrad.compiler.loops import FLOATS, Expr


def remainder(x: Expr, y: Expr) -> Expr:
    """x - y trunc(x / y), with the sign of x; for integers too."""
    return _of_floats(x, y) if x.dtype in FLOATS else x.apply("rem", y)


@float_function
def _of_floats(x: Expr, y: Expr) -> Expr:
    dividend, divisor = absolute(x), absolute(y)
    rest, quotient = (_short if x.dtype == "f32" else _long)(dividend, divisor)
    limit = 2.0**28 if x.dtype == "f32" else 2.0**26
    near = (quotient < limit) & (divisor < INFINITY)
    return select(~near, x.apply("rem", y), with_sign(rest, x), rare=True)


def _short(dividend: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """By f64: a quotient below 2^28 that is no integer differs from one by more than rounding."""
    a, b = dividend.to("f64"), divisor.to("f64")
    quotient = (a / b).apply("trunc")
    return (a - quotient * b).to("f32"), quotient


def _long(dividend: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """A quotient of 26 bits times either half of the divisor is exact; it may be 1 too large."""
    quotient = (dividend / divisor).apply("trunc")
    high = (divisor.bits("u64") & (2**64 - 2**27)).bits("f64")
    rest = dividend - quotient * high - quotient * (divisor - high)
    return select(rest < const(rest, 0.0), rest + divisor, rest), quotient
