"""Elementary functions of one variable: roots, exponentials, logarithms, angles, hyperbolics.

Integers and booleans are taken as floats; angles are in radians.
"""

from typing import Any

import numpy as np

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base.basis import eq, mul, neg
from funcgrad.numpy._promotion import (
    broadcast_together,
    choose,
    inexact1,
    is_complex,
    like,
)
from funcgrad.primitives import arithmetic, complex_parts, exponential, trigonometric
from funcgrad.primitives.compare import lt

# powers and roots


def sqrt(x: Any, /) -> Any:
    """The square root; nan below zero, and for complex x the root with real part >= 0."""
    return exponential.sqrt(inexact1("sqrt", x))


def cbrt(x: Any, /) -> Any:
    """The real cube root."""
    return exponential.cbrt(inexact1("cbrt", x))


def reciprocal(x: Any, /) -> Any:
    """1 / x."""
    return exponential.integer_pow(inexact1("reciprocal", x), -1)


# exponentials and logarithms


def exp(x: Any, /) -> Any:
    """e to the x."""
    return exponential.exp(inexact1("exp", x))


def exp2(x: Any, /) -> Any:
    """2 to the x."""
    return exponential.exp2(inexact1("exp2", x))


def expm1(x: Any, /) -> Any:
    """exp(x) - 1, accurate near 0."""
    return exponential.expm1(inexact1("expm1", x))


def log(x: Any, /) -> Any:
    """The natural logarithm; -inf at 0, nan below it, the principal value for complex x."""
    return exponential.log(inexact1("log", x))


def log1p(x: Any, /) -> Any:
    """log(1 + x), accurate near 0."""
    return exponential.log1p(inexact1("log1p", x))


def log2(x: Any, /) -> Any:
    """The logarithm to base 2."""
    return _scaled_log(inexact1("log2", x), 1 / np.log(2.0))


def log10(x: Any, /) -> Any:
    """The logarithm to base 10."""
    return _scaled_log(inexact1("log10", x), 1 / np.log(10.0))


def _scaled_log(x: Any, scale: float) -> Any:
    result = exponential.log(x)
    if not is_complex(x):
        return mul(result, like(scale, result))
    parts = (complex_parts.real(result), complex_parts.imag(result))
    return complex_parts.complex(*(mul(part, like(scale, part)) for part in parts))


# angles


def sin(x: Any, /) -> Any:
    """The sine."""
    return trigonometric.sin(inexact1("sin", x))


def cos(x: Any, /) -> Any:
    """The cosine."""
    return trigonometric.cos(inexact1("cos", x))


def tan(x: Any, /) -> Any:
    """The tangent."""
    return trigonometric.tan(inexact1("tan", x))


def arcsin(x: Any, /) -> Any:
    """The inverse sine, in [-pi/2, pi/2]."""
    return trigonometric.asin(inexact1("arcsin", x))


def arccos(x: Any, /) -> Any:
    """The inverse cosine, in [0, pi]."""
    return trigonometric.acos(inexact1("arccos", x))


def arctan(x: Any, /) -> Any:
    """The inverse tangent, in [-pi/2, pi/2]."""
    return trigonometric.atan(inexact1("arctan", x))


def deg2rad(x: Any, /) -> Any:
    """An angle in degrees as radians."""
    x = inexact1("deg2rad", x)
    return mul(x, like(np.pi / 180, x))


def rad2deg(x: Any, /) -> Any:
    """An angle in radians as degrees."""
    x = inexact1("rad2deg", x)
    return mul(x, like(180 / np.pi, x))


def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0, where derivatives of every order are right too."""
    x = inexact1("sinc", x)
    zero = eq(x, like(0, x))
    angle = mul(x, like(np.pi, x))
    safe = choose(zero, like(1, x), angle)
    return choose(zero, _sinc_at_zero(0, angle), arithmetic.div(trigonometric.sin(safe), safe))


def _sinc_at_zero(order: int, x: Any) -> Any:
    """The derivative of that order of sin(x)/x, at x = 0; differentiating it gives the next."""

    @custom_jvp
    def value(x: Any) -> Any:
        number = 0.0 if order % 2 else (-1) ** (order // 2) / (order + 1)
        return broadcast_together("sinc", [like(number, x), x])[0]

    @value.defjvp
    def value_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
        return value(*primals), mul(_sinc_at_zero(order + 1, *primals), tangents[0])

    return value(x)


# hyperbolic functions


def sinh(x: Any, /) -> Any:
    """The hyperbolic sine."""
    return trigonometric.sinh(inexact1("sinh", x))


def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine."""
    return trigonometric.cosh(inexact1("cosh", x))


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent."""
    return trigonometric.tanh(inexact1("tanh", x))


def arcsinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine."""
    return trigonometric.asinh(inexact1("arcsinh", x))


def arccosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine: the one >= 0, or with real part >= 0."""
    result = trigonometric.acosh(inexact1("arccosh", x))
    if not is_complex(result):
        return result
    real = complex_parts.real(result)
    return choose(lt(real, like(0, real)), neg(result), result)


def arctanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent."""
    return trigonometric.atanh(inexact1("arctanh", x))


# aliases

acos, acosh, asin, asinh, atan, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctanh
degrees, radians = rad2deg, deg2rad
