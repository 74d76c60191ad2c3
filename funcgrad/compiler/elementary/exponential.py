"""e^x and its relatives: x = n log 2 + r, so e^x = 2^n e^r, and a polynomial gives e^r."""

from funcgrad.compiler.elementary.floats import (
    LOG_2,
    Coefficients,
    clamped,
    const,
    float_function,
    fma,
    nearest,
    polynomial,
    power_of_two,
    scaled,
    select,
    with_sign,
)
from funcgrad.compiler.loops import Expr

LOG2_E = "0x1.71547652b82fep+0"
# e^x on |x| < 0.347. Relative error 3.2e-9 and 9.6e-18.
EXP: Coefficients = {
    "f32": (
        "0x1p0",
        "0x1p0",
        "0x1.fffffcp-2",
        "0x1.55548cp-3",
        "0x1.55585ap-5",
        "0x1.123d5cp-7",
        "0x1.6ab6aap-10",
    ),
    "f64": (
        "0x1p0",
        "0x1p0",
        "0x1.000000000000ap-1",
        "0x1.55555555554f9p-3",
        "0x1.55555555507f0p-5",
        "0x1.1111111127e84p-7",
        "0x1.6c16c1844b169p-10",
        "0x1.a01a0129b3910p-13",
        "0x1.a01999ad92f8ep-16",
        "0x1.71df262eff9cep-19",
        "0x1.28adcea59dc85p-22",
        "0x1.ad7efd27c7744p-26",
    ),
}
# 2^x on |x| < 0.5005. Relative error 1.3e-8 and 3.5e-17.
EXP2: Coefficients = {
    "f32": (
        "0x1p0",
        "0x1.62e430p-1",
        "0x1.ebfb94p-3",
        "0x1.c6af9ep-5",
        "0x1.3b6808p-7",
        "0x1.5ef4cep-10",
        "0x1.17aec2p-13",
    ),
    "f64": (
        "0x1p0",
        "0x1.62e42fefa39efp-1",
        "0x1.ebfbdff82c5a5p-3",
        "0x1.c6b08d7049fe6p-5",
        "0x1.3b2ab6fba007ap-7",
        "0x1.5d87fe78cdb89p-10",
        "0x1.4309130efb849p-13",
        "0x1.ffcbfba8867e7p-17",
        "0x1.62bfc73ff3a6dp-20",
        "0x1.b5267e032f117p-24",
        "0x1.e61bfa5cedc79p-28",
        "0x1.e79b4f72c29f9p-32",
    ),
}
# (e^x - 1 - x) / x^2 on |x| < 0.347. Error relative to e^x - 1: 1.4e-8 and 1.1e-18.
EXPM1: Coefficients = {
    "f32": (
        "0x1.fffffep-2",
        "0x1.5554aap-3",
        "0x1.555798p-5",
        "0x1.122c12p-7",
        "0x1.6ac7a8p-10",
    ),
    "f64": (
        "0x1p-1",
        "0x1.5555555555559p-3",
        "0x1.555555555553ep-5",
        "0x1.111111110f6a9p-7",
        "0x1.6c16c16c1f158p-10",
        "0x1.a01a01afe9e4fp-13",
        "0x1.a01a017b98eeap-16",
        "0x1.71ddf84171723p-19",
        "0x1.27e53659a903fp-22",
        "0x1.af5ee938123c4p-26",
        "0x1.1ee891f47757cp-29",
    ),
}
# Below the first bound e^x rounds to 0, above the second it overflows.
EXP_BOUNDS = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
EXP2_BOUNDS = {"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}
# Below this e^x - 1 rounds to -1, and 1 + e^x to 1.
EXPM1_LEAST = {"f32": -18.0, "f64": -38.0}
# Above this n may be one more than the exponents of floats reach.
EXPM1_TOP = {"f32": 88.0, "f64": 709.0}
# Below this e^-x has as many digits before the point as a float.
LOGISTIC_DEEP = {"f32": -16.0, "f64": -36.0}


@float_function
def exp(x: Expr) -> Expr:
    word, r = reduced(clamped(x, *EXP_BOUNDS[x.dtype]))
    return scaled(polynomial(r, EXP[x.dtype]), word)


def reduced(x: Expr) -> tuple[Expr, Expr]:
    """(n in the low bits of a word, r) with x = n log 2 + r."""
    high, low = (float.fromhex(part) for part in LOG_2[x.dtype])
    n, word = nearest(x, LOG2_E)
    return word, fma(n, -low, fma(n, -high, x))


@float_function
def exp2(x: Expr) -> Expr:
    x = clamped(x, *EXP2_BOUNDS[x.dtype])
    n, word = nearest(x, 1.0)
    return scaled(polynomial(x - n, EXP2[x.dtype]), word)


@float_function
def expm1(x: Expr) -> Expr:
    """e^x - 1 = 2^n (e^r - 1) + (2^n - 1)."""
    word, r = reduced(clamped(x, EXPM1_LEAST[x.dtype], EXP_BOUNDS[x.dtype][1]))
    # Where 2^n overflows, half of the result is computed, and doubled.
    top = x > EXPM1_TOP[x.dtype]
    power = power_of_two(select(top, word - 1, word), x.dtype)
    result = fma(power, expm1_reduced(r), power - 1.0)
    return with_sign(select(top, result + result, result), x)


def expm1_reduced(r: Expr) -> Expr:
    """e^r - 1 for a remainder from `reduced`."""
    return fma(r * r, polynomial(r, EXPM1[r.dtype]), r)


@float_function
def logistic(x: Expr) -> Expr:
    """1 / (1 + e^-x) with 1 + e^-x = 2^n (e^r - 1) + (2^n + 1)."""
    low = EXP_BOUNDS[x.dtype][0]
    word, r = reduced(clamped(-x, EXPM1_LEAST[x.dtype], -low))
    # Where 2^n overflows, both sides of the fraction are made smaller.
    shift = -int(low) // 2
    top = x < -float(shift)
    unit = select(top, 2.0**-shift, const(x, 1.0))
    power = power_of_two(select(top, word - shift, word), x.dtype)
    # Where 2^n + 1 would round, 2^n is added last.
    deep = x < LOGISTIC_DEEP[x.dtype]
    denominator = fma(power, expm1_reduced(r), select(deep, unit, power + unit))
    return unit / (denominator + select(deep, power, 0.0))
