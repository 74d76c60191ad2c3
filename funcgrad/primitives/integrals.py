"""Integrals with no closed form: exponential, sine, cosine, Fresnel, and the dilogarithm."""

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from funcgrad.base.basis import add, full_like, mul, neg, scalar_like, select_n
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import div, sub
from funcgrad.primitives.compare import lt
from funcgrad.primitives.exponential import exp, log, square
from funcgrad.primitives.incomplete import broadcast_all
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.primitives.special import in_float64, no_derivative
from funcgrad.primitives.trigonometric import cos, sin
from funcgrad.transforms import forward

expi_p = Primitive("expi")
expn_p = Primitive("expn")
sine_integral_p = Primitive("sine_integral")
cosine_integral_p = Primitive("cosine_integral")
fresnel_sine_p = Primitive("fresnel_sine")
fresnel_cosine_p = Primitive("fresnel_cosine")
spence_p = Primitive("spence")


def expi(x: Any) -> Any:
    """The integral of e^t / t from -infinity to x, its principal value for x > 0."""
    return expi_p.bind(x)


def expn(n: Any, x: Any) -> Any:
    """The integral of e^(-x t) / t^n from 1 to infinity; nan for n < 0 or x < 0."""
    return expn_p.bind(n, x)


def sine_integral(x: Any) -> Any:
    """The integral of sin(t) / t from 0 to x."""
    return sine_integral_p.bind(x)


def cosine_integral(x: Any) -> Any:
    """Minus the integral of cos(t) / t from x to infinity, its real part for x < 0."""
    return cosine_integral_p.bind(x)


def fresnel_sine(x: Any) -> Any:
    """The integral of sin(pi t^2 / 2) from 0 to x."""
    return fresnel_sine_p.bind(x)


def fresnel_cosine(x: Any) -> Any:
    """The integral of cos(pi t^2 / 2) from 0 to x."""
    return fresnel_cosine_p.bind(x)


def spence(x: Any) -> Any:
    """The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x; nan for x < 0."""
    return spence_p.bind(x)


def powers(z: Any, coefficients: Sequence[float]) -> Any:
    """A power series in z."""
    total = full_like(z, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = add(mul(total, z), scalar_like(coefficient, z))
    return total


# exponential integrals


def expn_evaluate(special: Any, xp: Any, n: Any, x: Any) -> Any:
    """SciPy takes whole n alone; for others, x^(n - 1) e^-x U(n, n, x)."""
    between = (n != xp.floor(n)) & (n > 0)
    out = special.expn(xp.floor(n), x)
    if between.any():
        order, at = xp.where(between, n, 1.0), xp.where(x > 0, x, 1.0)
        smooth = at ** (order - 1) * xp.exp(-at) * special.hyperu(order, order, at)
        at_zero = xp.where(order > 1, 1 / xp.where(order > 1, order - 1, 1.0), np.inf)
        out = xp.where(between, xp.where(x == 0, at_zero, smooth), out)
    return xp.where((n < 0) | (x < 0), np.nan, out)


def expn_partial_x(t: Any, out: Any, n: Any, x: Any) -> Any:
    """-E_(n-1)(x), which for n < 1 follows from E_n(x)."""
    n, x = broadcast_all(n, x)
    lower = sub(n, scalar_like(1, n))
    small = lt(lower, scalar_like(0, n))
    below = expn(select_n(small, lower, n), x)
    of_out = div(sub(exp(neg(x)), mul(lower, out)), x)
    return neg(mul(t, select_n(small, below, of_out)))


elementwise(expi_p, FLOAT, in_float64(lambda special, xp, x: special.expi(x)))
forward.elementwise(expi_p, lambda t, out, x: mul(t, div(exp(x), x)))

elementwise(expn_p, FLOAT, in_float64(expn_evaluate))
forward.elementwise(expn_p, no_derivative("expn has no derivative", "the order n"), expn_partial_x)


# sine, cosine and Fresnel integrals

_SINC = [(-1) ** k / factorial(2 * k + 1) for k in range(10)]


def sinc(x: Any) -> Any:
    """sin(x) / x, by its series close to 0, so that all derivatives are right there."""
    z = square(x)
    close = lt(z, scalar_like(1, z))
    safe = select_n(close, x, full_like(x, 1))
    return select_n(close, div(sin(safe), safe), powers(z, _SINC))


def quarter_turns(x: Any) -> Any:
    """pi x^2 / 2"""
    return mul(scalar_like(np.pi / 2, x), square(x))


elementwise(sine_integral_p, FLOAT, in_float64(lambda special, xp, x: special.sici(x)[0]))
forward.elementwise(sine_integral_p, lambda t, out, x: mul(t, sinc(x)))

elementwise(cosine_integral_p, FLOAT, in_float64(lambda special, xp, x: special.sici(x)[1]))
forward.elementwise(cosine_integral_p, lambda t, out, x: mul(t, div(cos(x), x)))

elementwise(fresnel_sine_p, FLOAT, in_float64(lambda special, xp, x: special.fresnel(x)[0]))
forward.elementwise(fresnel_sine_p, lambda t, out, x: mul(t, sin(quarter_turns(x))))

elementwise(fresnel_cosine_p, FLOAT, in_float64(lambda special, xp, x: special.fresnel(x)[1]))
forward.elementwise(fresnel_cosine_p, lambda t, out, x: mul(t, cos(quarter_turns(x))))


# the dilogarithm


_ARTANH = [1 / (2 * k + 1) for k in range(17)]


def log_ratio(x: Any) -> Any:
    """log(x) / (1 - x), close to 1 by the series of artanh, as log(x) = 2 artanh((x-1) / (x+1))."""
    one = scalar_like(1, x)
    total, rest = add(x, one), sub(one, x)
    z = square(div(rest, total))
    close = lt(z, scalar_like(1 / 9, z))
    safe = select_n(close, x, full_like(x, 3))
    series = div(mul(scalar_like(-2, x), powers(z, _ARTANH)), total)
    return select_n(close, div(log(safe), sub(one, safe)), series)


elementwise(spence_p, FLOAT, in_float64(lambda special, xp, x: special.spence(x)))
forward.elementwise(spence_p, lambda t, out, x: mul(t, log_ratio(x)))
