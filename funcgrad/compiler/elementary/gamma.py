"""log |gamma(x)| and its derivative: Stirling's series for large x, and for others the recurrence
that leads to large x or near 2; reflection for negative x. All in f64.
"""

import math
from functools import reduce

from funcgrad.compiler.elementary.floats import (
    INFINITY,
    NAN,
    Coefficients,
    absolute,
    clamped,
    const,
    float_function,
    fma,
    polynomial,
    select,
)
from funcgrad.compiler.elementary.logarithm import assembled, decomposed, log
from funcgrad.compiler.loops import Expr

# lgamma(2 + u) / u, |u| < 0.5. Relative error 3.2e-11 and 2.4e-17.
NEAR_TWO: Coefficients = {
    "f32": (
        "0x1.b0ee60722c7eap-2",
        "0x1.4a34cc4e800bap-2",
        "-0x1.13e0021b04e37p-4",
        "0x1.513215e9edcecp-6",
        "-0x1.e403f96cdbc1ap-8",
        "0x1.7aec163d96629p-9",
        "-0x1.38e0681f95f86p-10",
        "0x1.09226af9b5a53p-11",
        "-0x1.caa753e371d15p-13",
        "0x1.e207dcbb928d3p-14",
        "-0x1.d7d8b841e11bcp-15",
    ),
    "f64": (
        "0x1.b0ee6072093cep-2",
        "0x1.4a34cc4a60fa6p-2",
        "-0x1.13e001a55760ap-4",
        "0x1.51322ac7d84f2p-6",
        "-0x1.e404fc218dc6bp-8",
        "0x1.7add6eada6d43p-9",
        "-0x1.38ac5c2d4109fp-10",
        "0x1.0b36af8ea6e5ep-11",
        "-0x1.d3fd4b6bda271p-13",
        "0x1.a127ac0c349c4p-14",
        "-0x1.78de9a01956d3p-15",
        "0x1.580ea8f726465p-16",
        "-0x1.3cb3cffda06cbp-17",
        "0x1.258003b56c40ap-18",
        "-0x1.1275e9dec1967p-19",
        "0x1.01fdcd8001eccp-20",
        "-0x1.ce26fc10309d5p-22",
        "0x1.a633369941688p-23",
        "-0x1.1ff09c6a573eap-23",
        "0x1.2943c762fb45fp-24",
    ),
}
# x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1/x^2, x > 7.5. Error 1.7e-12 and 7.7e-20.
STIRLING: Coefficients = {
    "f32": (
        "0x1.5555554e7e3dep-4",
        "-0x1.6c1358a96f301p-9",
        "0x1.98058551df8b1p-11",
    ),
    "f64": (
        "0x1.5555555555555p-4",
        "-0x1.6c16c16c12732p-9",
        "0x1.a01a0162a847bp-11",
        "-0x1.38132ec773bb3p-11",
        "0x1.b91cdfd381febp-11",
        "-0x1.edcbb877747efp-10",
        "0x1.42684b0716c6cp-8",
    ),
}
# x^2 (log x - 1/(2x) - digamma(x)) in 1/x^2, x > 6. Error 8.2e-13 and 5.1e-19.
DIGAMMA: Coefficients = {
    "f32": (
        "0x1.555555534f23p-4",
        "-0x1.1110c6e361bb7p-7",
        "0x1.03a5affea249bp-8",
        "-0x1.f05fff271c138p-9",
    ),
    "f64": (
        "0x1.5555555555554p-4",
        "-0x1.1111111106376p-7",
        "0x1.041040c5f3ad7p-8",
        "-0x1.1110cbd9cfe91p-8",
        "0x1.f05594343418bp-8",
        "-0x1.569b17122af9ep-6",
        "0x1.3368b9f46203fp-4",
        "-0x1.d3cefd83ea96cp-3",
    ),
}
# sin(pi x) / x in x^2, |x| < 0.5. Relative error 2.1e-11 and 3.9e-17.
SIN_PI: Coefficients = {
    "f32": (
        "0x1.921fb5441e36dp+1",
        "-0x1.4abbce4f0fc2ep+2",
        "0x1.466bbfbf62787p+1",
        "-0x1.32d111716fe3fp-1",
        "0x1.500fe179c9ca9p-4",
        "-0x1.cc31eb84603e6p-8",
    ),
    "f64": (
        "0x1.921fb54442d18p+1",
        "-0x1.4abbce625be52p+2",
        "0x1.466bc6775aa6ep+1",
        "-0x1.32d2cce627519p-1",
        "0x1.5078348517aadp-4",
        "-0x1.e3074ddc53d9p-8",
        "0x1.e8f35e5e158cap-12",
        "-0x1.6f796cbfd645fp-16",
        "0x1.9d1a2af0e4403p-21",
    ),
}
# x (x + 1) ... (x + 5), and its derivative.
RISING = (0.0, 120.0, 274.0, 225.0, 85.0, 15.0, 1.0)
RISING_SLOPE = (120.0, 548.0, 675.0, 340.0, 75.0, 6.0)


@float_function
def lgamma(x: Expr) -> Expr:
    """log |gamma(x)|; for x < -1/2, log(pi / (|x| |sin(pi x)|)) - lgamma(|x|)."""
    wide, precision = x.to("f64"), x.dtype
    size = absolute(wide)
    reflected = wide < -0.5
    forward = lgamma_forward(select(reflected, size, wide), precision)
    sine = sin_pi(size - size.apply("round"), precision)
    mirrored = -log_of_positive(size * absolute(sine) * (1 / math.pi)) - forward
    mirrored = select(sine.eq(0.0), INFINITY, mirrored)
    result = select(reflected, mirrored, forward, rare=True)
    return select(size < INFINITY, result, size).to(x.dtype)


def lgamma_forward(x: Expr, precision: str) -> Expr:
    """lgamma(x) for x > -1/2, with lgamma(x) = log(x - 1) + lgamma(x - 1) up to 7.5."""
    steps = clamped((x - 2.5).apply("ceil"), -2.0, 5.0)
    factors = [select(steps >= float(k), x - float(k), const(x, 1.0)) for k in range(1, 6)]
    upward = select(steps < -1.0, absolute(x) * (x + 1.0), x)
    product = select(steps < 0.0, upward, reduce(lambda a, b: a * b, factors))
    large = x > 7.5
    logarithm = log_of_positive(select(large, x, product))

    u = x - (steps + 2.0)
    near = fma(u, polynomial(u, NEAR_TWO[precision]), select(steps < 0.0, -logarithm, logarithm))
    near = select(product.eq(0.0), INFINITY, near)

    inverse = 1.0 / x
    series = inverse * polynomial(inverse * inverse, STIRLING[precision])
    rest = fma(logarithm, -0.5, series + math.log(2 * math.pi) / 2)
    return select(large, fma(x, logarithm - 1.0, rest), near)


def log_of_positive(x: Expr) -> Expr:
    return assembled(*decomposed(x))


def sin_pi(x: Expr, precision: str) -> Expr:
    """sin(pi x) for |x| < 1/2."""
    return x * polynomial(x * x, SIN_PI[precision])


@float_function
def digamma(x: Expr) -> Expr:
    """The derivative of lgamma; for x < 0, digamma(1 - x) - pi / tan(pi x)."""
    wide, precision = x.to("f64"), x.dtype
    reflected = wide < 0.0
    forward = digamma_forward(select(reflected, 1.0 - wide, wide), precision)
    rest = wide - wide.apply("round")
    cosine = sin_pi(0.5 - absolute(rest), precision)
    cotangent = cosine / sin_pi(rest, precision)
    result = select(reflected, fma(cotangent, -math.pi, forward), forward, rare=True)
    pole = (wide <= 0.0) & wide.apply("floor").eq(wide)
    return select(pole, NAN, result).to(x.dtype)


def digamma_forward(x: Expr, precision: str) -> Expr:
    """digamma(x) for x > 0, as digamma(x + 6) less 1/x + ... + 1/(x + 5) up to 6."""
    small = x < 6.0
    sum_of_inverses = polynomial(x, RISING_SLOPE) / polynomial(x, RISING)
    large = select(small, x + 6.0, x)
    inverse = 1.0 / large
    square = inverse * inverse
    rest = fma(inverse, 0.5, square * polynomial(square, DIGAMMA[precision]))
    series = log(large) - rest
    return select(small, series - sum_of_inverses, series)
