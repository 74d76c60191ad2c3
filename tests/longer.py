"""Functions in longer arithmetic than f64, for tests: long doubles, and integers of any length."""

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special as sp

LONG = np.longdouble
LONGER = np.finfo(LONG).nmant >= 63
INF, NAN = math.inf, math.nan
PI = "3.14159265358979323846264338327950288"


DIGITS = 1300  # binary, of fixed-point numbers


@functools.cache
def root_of_pi() -> int:
    """sqrt(pi) in fixed point, with pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin)."""

    def arctan_inverse(n: int) -> int:
        power, total, k = (1 << 2 * DIGITS) // n, 0, 0
        while power:
            total += (-1) ** k * power // (2 * k + 1)
            power, k = power // (n * n), k + 1
        return total

    return math.isqrt(16 * arctan_inverse(5) - 4 * arctan_inverse(239))


def exact_erf(x: float) -> Fraction:
    """The error function by its power series, in fixed point."""
    scaled = int(Fraction(x) * 2**DIGITS)
    square, power, total, k = scaled * scaled >> DIGITS, scaled, 0, 0
    while power:
        total += (-1) ** k * power // (2 * k + 1)
        k += 1
        power = (abs(power) * square >> DIGITS) // k * (1 if power > 0 else -1)
    return Fraction(2 * total, root_of_pi())


def long(x: Fraction) -> Any:
    high = float(x)
    return LONG(high) + LONG(float(x - Fraction(high)))


@functools.partial(np.vectorize, otypes=[LONG])
def erf(x: Any) -> Any:
    if not 1e-300 < abs(x) < 6.5:
        return LONG(sp.erf(float(x))) if abs(x) > 1 or np.isnan(x) else x * 2 / np.sqrt(LONG(PI))
    return long(exact_erf(float(x)))


@functools.partial(np.vectorize, otypes=[LONG])
def erfc(x: Any) -> Any:
    if not -6.5 < x < 27:
        return LONG(sp.erfc(float(x)))
    return long(1 - exact_erf(float(x)))


@functools.partial(np.vectorize, otypes=[LONG])
def erf_inv(x: Any) -> Any:
    """One step of Newton's method, which doubles the digits that SciPy gives."""
    start = float(sp.erfinv(float(x)))
    if not 1e-300 < abs(x) < 1:
        return x * np.sqrt(LONG(PI)) / 2 if abs(x) < 1 else LONG(start)
    slope = 2 / math.sqrt(math.pi) * math.exp(-start * start)
    return LONG(start) + LONG(float(Fraction(float(x)) - exact_erf(start)) / slope)


# B_2k / (2k (2k - 1)), of the series of Stirling
STIRLING = [LONG(p) / q for p, q in [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188)]]


def lgamma(x: Any) -> Any:
    """log |gamma(x)| by recurrence up to 500, by reflection below 0."""
    y = np.where(x < 0, 1 - x, x)
    total = LONG(0) * x
    for _ in range(500):
        small = y < 500
        total = total - np.where(small, np.log(np.where(small, y, 1)), 0)
        y = np.where(small, y + 1, y)
    series = sum(c / y ** (2 * k + 1) for k, c in enumerate(STIRLING))
    total += y * (np.log(y) - 1) - np.log(y) / 2 + np.log(2 * LONG(PI)) / 2 + series
    sine = np.abs(np.sin(LONG(PI) * (x - np.round(x))))
    total = np.where(x < 0, np.log(LONG(PI) / sine) - total, total)
    return np.where(np.isinf(x), INF, np.where(np.abs(x) < 1e-300, -np.log(np.abs(x)), total))


def digamma(x: Any) -> Any:
    """The derivative of that, nan at the poles."""
    y = np.where(x < 0, 1 - x, x)
    total = LONG(0) * x
    for _ in range(500):
        small = y < 500
        total = total - np.where(small, 1 / np.where(small, y, 1), 0)
        y = np.where(small, y + 1, y)
    series = sum((2 * k + 1) * c / y ** (2 * k + 2) for k, c in enumerate(STIRLING))
    total += np.log(y) - 1 / (2 * y) - series
    total = np.where(x < 0, total - LONG(PI) / np.tan(LONG(PI) * (x - np.round(x))), total)
    return np.where((x <= 0) & (x == np.floor(x)), NAN, np.where(x == INF, INF, total))


def bessel_ie(order: int, x: Any) -> Any:
    """e^-|x| I(x): the power series, or beyond 40 the asymptotic one."""
    size = np.abs(x)
    near, far = np.minimum(size, 40), np.maximum(size, 40)
    term = total = (near / 2) ** order * np.exp(-near)
    for k in range(1, 120):
        term = term * (near / 2) ** 2 / (k * (k + order))
        total = total + term
    part = series = 1 / np.sqrt(2 * LONG(PI) * far)
    for k in range(1, 25):
        part = part * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * far)
        series = series + part
    result = np.where(np.isnan(x), x, np.where(size < 40, total, series))
    return np.copysign(result, x) if order else result
