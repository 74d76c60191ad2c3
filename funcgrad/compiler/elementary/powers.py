"""Powers and roots: x^y = 2^(y log2 x), with the logarithm to more digits than x has."""

import math

from funcgrad.compiler.elementary.exponential import EXP2
from funcgrad.compiler.elementary.floats import (
    FORMATS,
    INFINITY,
    NAN,
    Coefficients,
    absolute,
    clamped,
    const,
    float_function,
    fma,
    nearest,
    polynomial,
    power_of_two,
    scaled,
    select,
    upper_half,
    with_sign,
)
from funcgrad.compiler.elementary.logarithm import decomposed
from funcgrad.compiler.loops import FLOATS, INTEGERS, Expr

# 2^x on |x| < 0.5005 for results in f32. Relative error 1.9e-9.
SHORT_EXP2 = (
    "0x1.000000026646cp+0",
    "0x1.62e430c92fe5fp-1",
    "0x1.ebfbdad490e41p-3",
    "0x1.c6aed2faf82fep-5",
    "0x1.3b2dbf0870692p-7",
    "0x1.5f464cdaa7e3ap-10",
    "0x1.41d2761b31839p-13",
)
# 2 / log 2 (artanh(s) / s - 1) / s^2 in s^2, |s| < 0.2, for results in f32. Relative error of
# log2: 2.3e-11.
SHORT_ARTANH = (
    "0x1.ec709c0757f00p-1",
    "0x1.27786702f8dc4p-1",
    "0x1.a523b5e46b91dp-2",
    "0x1.640a843d91bb2p-2",
)
# 3 (artanh(s) / s - 1 - s^2 / 3) / s^4 in s^2, |s| < 0.2. Relative error of artanh: 1.9e-19.
ARTANH = (
    "0x1.3333333333deep-1",
    "0x1.b6db6db497414p-2",
    "0x1.555556ca075e8p-2",
    "0x1.1745581a9bd4cp-2",
    "0x1.d8c9930146b3bp-3",
    "0x1.9519ec240a291p-3",
    "0x1.a6c96f069a1d8p-3",
)
# The cube root on [1/3, 8/3]. Relative error 1.9e-3 and 7.0e-4.
CBRT: Coefficients = {
    "f32": (
        "0x1.bd5ff8p-2",
        "0x1.de66fep-1",
        "-0x1.0bac5ep-1",
        "0x1.6f771ep-3",
        "-0x1.8da116p-6",
    ),
    "f64": (
        "0x1.a0d7d4p-2",
        "0x1.183120p+0",
        "-0x1.addf72p-1",
        "0x1.cfaa70p-2",
        "-0x1.098aa2p-3",
        "0x1.e6a156p-7",
    ),
}
# 2 / (3 log 2) in two parts, the first of half length.
SCALE = ("0x1.ec709d8p-1", "0x1.0e80ff5d27f05p-27")


def pow(x: Expr, y: Expr) -> Expr:
    """x^y with C's special values; an integer y is converted to the dtype of x."""
    if y.dtype in INTEGERS and x.dtype in FLOATS:
        y = y.to(x.dtype)
    return float_pow(x, y)


@float_function
def float_pow(x: Expr, y: Expr) -> Expr:
    size = absolute(x)
    if x.dtype == "f32":
        power = short_power(size.to("f64"), y.to("f64")).to("f32")
    else:
        power = long_power(size, y)
    whole = y.apply("floor").eq(y)
    half = y * 0.5
    odd = whole & half.apply("floor").ne(half)
    form = FORMATS[x.dtype]
    sign = select(odd, x.bits(form.unsigned) & form.sign, 0)
    power = (power.bits(form.unsigned) ^ sign).bits(x.dtype)
    power = select((x < 0.0) & (x > -INFINITY) & ~whole, NAN, power)
    return select(x.eq(1.0) | y.eq(0.0), 1.0, power)


def short_power(x: Expr, y: Expr) -> Expr:
    """x^y in f64 for x and y out of f32, x not negative, to a little more than f32."""
    k, f = decomposed(x)
    s = f / (f + 2.0)
    square = s * s
    logarithm = fma(square * s, polynomial(square, SHORT_ARTANH), fma(s, 2 / math.log(2), k))
    exponent = clamped(exponent_of(x, y, logarithm * clamped(y, -1e30, 1e30)), -160.0, 140.0)
    n, word = nearest(exponent, 1.0)
    return polynomial(exponent - n, SHORT_EXP2) * power_of_two(word, "f64")


def exponent_of(x: Expr, y: Expr, regular: Expr) -> Expr:
    """y log2 x, given it for x positive and finite."""
    special = y * select(x.eq(0.0), -INFINITY, x)
    return select((x > 0.0) & (x < INFINITY), regular, special)


def long_power(x: Expr, y: Expr) -> Expr:
    """x^y in f64, x not negative."""
    y = clamped(y, -(2.0**70), 2.0**70)
    high, low = long_log2(x)
    upper = upper_half(y)
    first = upper * high
    second = fma(y - upper, high, y * low)
    exponent = clamped(exponent_of(x, y, first + second), -1080.0, 1030.0)
    n, word = nearest(exponent, 1.0)
    r = clamped((first - n) + second, -0.6, 0.6)
    return scaled(polynomial(r, EXP2["f64"]), word)


def long_log2(x: Expr) -> tuple[Expr, Expr]:
    """log2 x as a number of half length and a rest, x positive and finite.

    With s = f / (2 + f), log2(1 + f) = 2 / (3 log 2) s (3 + s^2 + r); every product that carries
    the leading digits is of two numbers of half length, so exact.
    """
    k, f = decomposed(x)
    divisor = f + 2.0
    inverse = 1.0 / divisor
    s = f * inverse
    s_upper, divisor_upper = upper_half(s), upper_half(divisor)
    divisor_lower = f - (divisor_upper - 2.0)
    s_lower = inverse * fma(-s_upper, divisor_lower, f - s_upper * divisor_upper)

    square, square_upper = s * s, s_upper * s_upper
    r = fma(square * square, polynomial(square, ARTANH), s_lower * (s_upper + s))
    total = upper_half((square_upper + 3.0) + r)
    total_lower = r - ((total - 3.0) - square_upper)

    product = s_upper * total
    product_lower = fma(s_lower, total, total_lower * s)
    upper = upper_half(product + product_lower)
    lower = product_lower - (upper - product)
    scale_upper, scale_lower = (float.fromhex(part) for part in SCALE)
    high = upper * scale_upper
    low = fma(upper, scale_lower, lower * (scale_upper + scale_lower))

    result = upper_half((k + high) + low)
    return result, low - ((result - k) - high)


def integer_pow(x: Expr, n: int) -> Expr:
    """x^n by repeated squaring; for negative n the inverse of x^-n."""
    if x.dtype in FLOATS:
        return float_integer_pow(x, n=n)
    if n < 0:
        raise ValueError(f"integers have no power {n}")
    return repeated_square(x, n)


@float_function
def float_integer_pow(x: Expr, n: int) -> Expr:
    power = repeated_square(x, abs(n))
    return 1.0 / power if n < 0 else power


def repeated_square(x: Expr, n: int) -> Expr:
    result = None
    while n:
        if n & 1:
            result = x if result is None else result * x
        n >>= 1
        if n:
            x = x * x
    return const(x, 1) if result is None else result


@float_function
def rsqrt(x: Expr) -> Expr:
    return 1.0 / x.apply("sqrt")


@float_function
def cbrt(x: Expr) -> Expr:
    """2^q cbrt(m) with x = 2^3q m, by Halley's iteration from a polynomial."""
    size = absolute(x)
    k, f = decomposed(size)
    q, word = nearest(k, 1 / 3)
    rest = fma(q, -3.0, k)
    m = (f + 1.0) * select(rest > 0.5, 2.0, select(rest < -0.5, 0.5, const(x, 1.0)))
    root = polynomial(m, CBRT[x.dtype])
    for _ in range(1 if x.dtype == "f32" else 2):
        cube = root * root * root
        root = fma(root, (m - cube) / (cube + cube + m), root)
    root = with_sign(root * power_of_two(word, x.dtype), x)
    return select((size > 0.0) & (size < INFINITY), root, x)
