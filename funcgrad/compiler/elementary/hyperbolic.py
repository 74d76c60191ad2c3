"""Hyperbolic functions, made of e^x - 1 and e^x, and their inverses, made of log(1 + x) in f64."""

import math

from funcgrad.compiler.elementary.exponential import (
    EXP,
    EXP_BOUNDS,
    expm1_reduced,
    reduced,
)
from funcgrad.compiler.elementary.floats import (
    NAN,
    Coefficients,
    absolute,
    clamped,
    float_function,
    fma,
    polynomial,
    power_of_two,
    scaled,
    select,
    with_sign,
)
from funcgrad.compiler.elementary.logarithm import log1p
from funcgrad.compiler.loops import Expr

# Above this tanh rounds to 1.
TANH_GREATEST = {"f32": 9.02, "f64": 19.07}
# (sinh(x) / x - 1) / x^2 in x^2, |x| < 1. Relative error of sinh: 3.0e-10 and 2.5e-19.
SINH: Coefficients = {
    "f32": ("0x1.555556p-3", "0x1.1110e0p-7", "0x1.a022bcp-13", "0x1.756c1ep-19"),
    "f64": (
        "0x1.5555555555556p-3",
        "0x1.111111111101ep-7",
        "0x1.a01a01a037269p-13",
        "0x1.71de3a3b06bcfp-19",
        "0x1.ae646ff50df3dp-26",
        "0x1.6116f49df0069p-33",
        "0x1.b5c89882fabd4p-41",
    ),
}


@float_function
def tanh(x: Expr) -> Expr:
    """(e^2x - 1) / (e^2x + 1), or from 0.55 on 1 - 2 / (e^2x + 1), where that rounds less."""
    size = clamped(absolute(x), high=TANH_GREATEST[x.dtype])
    word, r = reduced(size + size)
    power, tail = power_of_two(word, x.dtype), expm1_reduced(r)
    large = size > 0.55
    numerator = fma(power, tail, power - 1.0)
    half = select(large, 1.0, numerator * 0.5)
    # t = h - h t with h = (e^2x - 1) / 2 hides the errors of the quotient where t is small.
    quotient = select(large, 2.0, numerator) / fma(power, tail, power + 1.0)
    return with_sign(fma(-half, quotient, half), x)


@float_function
def sinh(x: Expr) -> Expr:
    size = absolute(x)
    square = x * x
    near = fma(square * size, polynomial(square, SINH[x.dtype]), size)
    half = half_exp(size)
    return with_sign(select(size > 1.0, half - 0.25 / half, near), x)


@float_function
def cosh(x: Expr) -> Expr:
    half = half_exp(absolute(x))
    return half + 0.25 / half


def half_exp(x: Expr) -> Expr:
    """e^x / 2 for x not negative: it overflows later than e^x."""
    word, r = reduced(clamped(x, high=EXP_BOUNDS[x.dtype][1] + 2))
    return scaled(polynomial(r, EXP[x.dtype]), word - 1)


# inverses


@float_function
def asinh(x: Expr) -> Expr:
    """log(1 + x + x^2 / (1 + sqrt(1 + x^2))), or log(2x) where x^2 would overflow."""
    size = absolute(x.to("f64"))
    square = size * size
    inner = size + square / ((square + 1.0).apply("sqrt") + 1.0)
    return with_sign(log_of(size, inner).to(x.dtype), x)


@float_function
def acosh(x: Expr) -> Expr:
    """log(1 + t + sqrt(2t + t^2)) with t = x - 1, or log(2x)."""
    wide = x.to("f64")
    above = wide - 1.0
    inner = above + fma(above, above, above + above).apply("sqrt")
    return select(wide < 1.0, NAN, log_of(wide, inner)).to(x.dtype)


def log_of(x: Expr, inner: Expr) -> Expr:
    """log(1 + inner), or log(2x) where x is large."""
    large = x > 2.0**30
    result = log1p(select(large, x - 1.0, inner))
    return select(large, result + math.log(2), result)


@float_function
def atanh(x: Expr) -> Expr:
    """log(1 + 2x / (1 - x)) / 2."""
    size = absolute(x.to("f64"))
    return with_sign((log1p((size + size) / (1.0 - size)) * 0.5).to(x.dtype), x)
