"""Logarithms: x = 2^k (1 + f) with f within 1/3 of 0, so log x = k log 2 + log(1 + f)."""

from funcgrad.compiler.elementary.floats import (
    FORMATS,
    INFINITY,
    LOG_2,
    NAN,
    float_function,
    fma,
    polynomial,
    power_of_two,
    select,
    with_sign,
)
from funcgrad.compiler.loops import Expr

# The bits of 2/3, where the mantissa is cut.
TWO_THIRDS = {"f32": 0x3F2AAAAB, "f64": 0x3FE5555555555555}
# (log(1 + f) - f) / f^2. Relative error of log(1 + f): 1.4e-8.
SERIES = (
    "-0x1p-1",
    "0x1.5554fap-2",
    "-0x1.ffff94p-3",
    "0x1.99d58ep-3",
    "-0x1.557e1ep-3",
    "0x1.1e8202p-3",
    "-0x1.f6b864p-4",
    "0x1.201adep-3",
    "-0x1.fff51ep-4",
)
# (2 artanh(s) / s - 2) / s^2 in s^2, with s = f / (2 + f). Relative error of log(1 + f): 1.5e-17.
ARTANH = (
    "0x1.5555555555773p-1",
    "0x1.99999998f1730p-2",
    "0x1.249249b1b0fe8p-2",
    "0x1.c71c01a73c616p-3",
    "0x1.7474d8c1ea77ap-3",
    "0x1.38539248e989dp-3",
    "0x1.3ab8c9172a12dp-3",
)


@float_function
def log(x: Expr) -> Expr:
    k, f = decomposed(x)
    return select(x < INFINITY, of_positive(assembled(k, f), x), x)


def of_positive(result: Expr, x: Expr) -> Expr:
    """The result where x > 0, -inf at 0 and nan elsewhere."""
    return select(x > 0.0, result, select(x.eq(0.0), -INFINITY, result.graph.const(NAN, x.dtype)))


def decomposed(x: Expr) -> tuple[Expr, Expr]:
    """(k, f) with x = 2^k (1 + f), for x positive and finite."""
    form = FORMATS[x.dtype]
    tiny = x < form.least_normal
    normal = select(tiny, x * 2.0**form.digits, x).bits(form.signed)
    k = (normal - TWO_THIRDS[x.dtype]) >> form.digits
    f = (normal - (k << form.digits)).bits(x.dtype) - 1.0
    k = k.to(x.dtype)
    return select(tiny, k - float(form.digits), k), f


def assembled(k: Expr, f: Expr) -> Expr:
    """k log 2 + log(1 + f)."""
    high, low = LOG_2[k.dtype]
    if k.dtype == "f32":
        return fma(k, high, fma(k, low, log_series(f)))
    return fma(k, high, f - fma(-k, low, log_rest(f)))


def log_series(f: Expr) -> Expr:
    """log(1 + f) for f within 1/3 of 0."""
    if f.dtype == "f32":
        return fma(f * f, polynomial(f, SERIES), f)
    return f - log_rest(f)


def log_rest(f: Expr) -> Expr:
    """f - log(1 + f) = s (f - s^2 A) with s = f / (2 + f), in f64."""
    s = f / (f + 2.0)
    square = s * s
    return s * fma(-square, polynomial(square, ARTANH), f)


@float_function
def log1p(x: Expr) -> Expr:
    """k from 1 + x as rounded, f = 2^-k x + (2^-k - 1) without the error of that."""
    form = FORMATS[x.dtype]
    k = ((x + 1.0).bits(form.signed) - TWO_THIRDS[x.dtype]) >> form.digits
    # Where 2^-k is no normal number, x is made smaller first.
    large = x > 2.0 ** (form.bias // 2)
    shift = form.bias // 4
    power = power_of_two(select(large, shift - k, 0 - k), x.dtype)
    f = fma(select(large, x * 2.0**-shift, x), power, power - 1.0)
    result = assembled(k.to(x.dtype), f)
    special = select(x.eq(-1.0), -INFINITY, x.graph.const(NAN, x.dtype))
    return with_sign(select(x < INFINITY, select(x > -1.0, result, special), x), x)
