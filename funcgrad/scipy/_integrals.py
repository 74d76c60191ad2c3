"""Integrals with no closed form: exponential, sine, cosine, Fresnel, and the dilogarithm."""

from typing import Any

from funcgrad.primitives import integrals
from funcgrad.scipy._arguments import real, reals


def expi(x: Any) -> Any:
    """The exponential integral Ei(x), of e^t / t from -infinity to x; -inf at 0."""
    return integrals.expi(real("expi", x, weak=False))


def exp1(x: Any) -> Any:
    """The exponential integral E1(x), of e^-t / t from x to infinity; nan for x < 0."""
    return expn(1, real("exp1", x, weak=False))


def expn(n: Any, x: Any) -> Any:
    """The exponential integral of e^(-x t) / t^n from t = 1 to infinity; nan for n < 0 or x < 0.

    n is a real number, and nothing can be differentiated with respect to it.
    """
    return integrals.expn(*reals("expn", n, x, weak=False))


def sici(x: Any) -> tuple[Any, Any]:
    """The sine integral, of sin(t) / t from 0 to x, and the cosine integral.

    The latter is minus the integral of cos(t) / t from x to infinity, its real part for x < 0.
    """
    x = real("sici", x, weak=False)
    return integrals.sine_integral(x), integrals.cosine_integral(x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """The integrals from 0 to x of sin(pi t^2 / 2) and of cos(pi t^2 / 2)."""
    x = real("fresnel", x, weak=False)
    return integrals.fresnel_sine(x), integrals.fresnel_cosine(x)


def spence(x: Any) -> Any:
    """Spence's function, the integral of log(t) / (1 - t) from 1 to x; nan for x < 0."""
    return integrals.spence(real("spence", x, weak=False))
