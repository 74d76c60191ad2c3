"""asin, acos, atan, atan2: a polynomial where it converges fast, and identities that lead there.

asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) for large x, and atan(x) = pi/2 - atan(1 / x).
"""

import math

from funcgrad.compiler.elementary.floats import (
    FORMATS,
    Coefficients,
    absolute,
    const,
    float_function,
    fma,
    polynomial,
    select,
    sign_flipped,
    with_sign,
)
from funcgrad.compiler.loops import Expr

# What pi/2 as rounded leaves out.
HALF_PI_REST = {"f32": "-0x1.777a5cp-25", "f64": "0x1.1a62633145c07p-54"}
# (asin(x) / x - 1) / x^2 in x^2, |x| < 1/2. Relative error of asin: 4.9e-9 and 1.5e-17.
ASIN: Coefficients = {
    "f32": ("0x1.5555c8p-3", "0x1.330204p-4", "0x1.747bb8p-5", "0x1.8c3e54p-6", "0x1.595c58p-5"),
    "f64": (
        "0x1.5555555555390p-3",
        "0x1.333333336e82dp-4",
        "0x1.6db6db427850fp-5",
        "0x1.f1c72c39cceafp-6",
        "0x1.6e89f4293dd14p-6",
        "0x1.1c6be3268d006p-6",
        "0x1.c6fda172f99cfp-7",
        "0x1.8ec3df27f220dp-7",
        "0x1.abc74035e5f6ep-8",
        "0x1.3ffa807b25954p-6",
        "-0x1.09dcbeef1e885p-6",
        "0x1.0570d90fccc77p-5",
    ),
}
# (atan(x) / x - 1) / x^2 in x^2, |x| < 1. Relative error of atan: 1.7e-8 and 1.4e-17.
ATAN: Coefficients = {
    "f32": (
        "-0x1.5554dcp-2",
        "0x1.9978ecp-3",
        "-0x1.230a94p-3",
        "0x1.b4deb2p-4",
        "-0x1.3550e6p-4",
        "0x1.61eee4p-5",
        "-0x1.0c1834p-6",
        "0x1.7ea792p-9",
    ),
    "f64": (
        "-0x1.5555555555526p-2",
        "0x1.99999999955aep-3",
        "-0x1.249249237f3f4p-3",
        "0x1.c71c717fca098p-4",
        "-0x1.745d11ae1e2cap-4",
        "0x1.3b136696b2bd8p-4",
        "-0x1.110e510e81430p-4",
        "0x1.e1bba572d4b5dp-5",
        "-0x1.ae5e6f140031ap-5",
        "0x1.82dacd23bb1bfp-5",
        "-0x1.59a3e86741f84p-5",
        "0x1.2c2e36f7a522dp-5",
        "-0x1.e9f9adcec027ap-6",
        "0x1.683c6e4e3353ap-6",
        "-0x1.c78f4e4e9b630p-7",
        "0x1.d7b8acda55b21p-8",
        "-0x1.7a39512982029p-9",
        "0x1.b3faa722a3691p-11",
        "-0x1.3f36625f033c9p-13",
        "0x1.bbee0e0e5aedfp-17",
    ),
}


@float_function
def asin(x: Expr) -> Expr:
    size = absolute(x)
    large, series = asin_reduced(size)
    # Subtracting is exact where the result is small.
    complement = const(x, math.pi / 2) - (series + series) + HALF_PI_REST[x.dtype]
    return with_sign(select(large, complement, series), x)


@float_function
def acos(x: Expr) -> Expr:
    size = absolute(x)
    large, series = asin_reduced(size)
    twice = series + series
    beyond = select(x < 0.0, from_half_pi(twice, halves=2), twice)
    return select(large, beyond, from_half_pi(sign_flipped(series, x)))


def asin_reduced(size: Expr) -> tuple[Expr, Expr]:
    """(whether size > 1/2, asin of size or of sqrt((1 - size) / 2) there)."""
    large = size > 0.5
    square = select(large, fma(size, -0.5, 0.5), size * size)
    root = select(large, square.apply("sqrt"), size)
    return large, odd_series(root, square, ASIN[size.dtype])


def odd_series(x: Expr, square: Expr, coefficients: tuple[str, ...]) -> Expr:
    return fma(square * x, polynomial(square, coefficients), x)


def from_half_pi(x: Expr, halves: int = 1) -> Expr:
    """halves pi/2 - x."""
    dtype = x.dtype
    high = x.graph.const(halves * math.pi / 2, dtype)
    return high - (x - halves * float.fromhex(HALF_PI_REST[dtype]))


@float_function
def atan(x: Expr) -> Expr:
    size = absolute(x)
    large = size > 1.0
    inner = select(large, 1.0, size) / select(large, size, 1.0)
    series = odd_series(inner, inner * inner, ATAN[x.dtype])
    return with_sign(select(large, from_half_pi(series), series), x)


@float_function
def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y): that of its mirror image with 0 < y < x, turned back."""
    width, height = absolute(x), absolute(y)
    steep = height > width
    short, long = select(steep, width, height), select(steep, height, width)
    at_origin = select(long.eq(0.0), const(x, 0.0), 1.0)
    ratio = select(short.eq(long), at_origin, short / long)
    angle = odd_series(ratio, ratio * ratio, ATAN[x.dtype])
    angle = select(steep, from_half_pi(angle), angle)
    behind = x.bits(FORMATS[x.dtype].signed) < 0
    return with_sign(select(behind, from_half_pi(angle, halves=2), angle), y)
