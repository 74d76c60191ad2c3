"""Relatives of the error function: the normal distribution, its tails, and its plane integrals."""

from typing import Any

import numpy as np

from funcgrad.base.backend import scipy
from funcgrad.base.basis import add, mul, scalar_like
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import div, sub
from funcgrad.primitives.exponential import exp, square
from funcgrad.primitives.nary import COMPLEX, FLOAT, elementwise
from funcgrad.primitives.special import erf, in_float64
from funcgrad.transforms import forward

ndtri_p = Primitive("ndtri")
log_ndtr_p = Primitive("log_ndtr")
erfcx_p = Primitive("erfcx")
dawsn_p = Primitive("dawsn")
wofz_p = Primitive("wofz")
owens_t_p = Primitive("owens_t")


def ndtri(p: Any) -> Any:
    """The quantile of the standard normal distribution: infinite at 0 and 1, nan beyond."""
    return ndtri_p.bind(p)


def log_ndtr(x: Any) -> Any:
    """The logarithm of the probability that a standard normal number is below x."""
    return log_ndtr_p.bind(x)


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), which for large x is about 1 / (x sqrt(pi))."""
    return erfcx_p.bind(x)


def dawsn(x: Any) -> Any:
    """exp(-x^2) times the integral of exp(t^2) from 0 to x."""
    return dawsn_p.bind(x)


def wofz(z: Any) -> Any:
    """exp(-z^2) erfc(-i z) of complex z."""
    return wofz_p.bind(z)


def owens_t(h: Any, a: Any) -> Any:
    """The probability that standard normal X > h and 0 < Y < a X."""
    return owens_t_p.bind(h, a)


def times(number: float, x: Any) -> Any:
    return mul(scalar_like(number, x), x)


elementwise(ndtri_p, FLOAT, in_float64(lambda special, xp, p: special.ndtri(p)))
forward.elementwise(
    ndtri_p, lambda t, out, p: mul(t, times(np.sqrt(2 * np.pi), exp(times(0.5, square(out)))))
)

elementwise(log_ndtr_p, FLOAT, in_float64(lambda special, xp, x: special.log_ndtr(x)))
forward.elementwise(
    log_ndtr_p,
    lambda t, out, x: div(times(np.sqrt(2 / np.pi), t), erfcx(times(-np.sqrt(0.5), x))),
)

elementwise(erfcx_p, FLOAT, in_float64(lambda special, xp, x: special.erfcx(x)))
forward.elementwise(
    erfcx_p,
    lambda t, out, x: mul(t, sub(times(2, mul(x, out)), scalar_like(2 / np.sqrt(np.pi), x))),
)

elementwise(dawsn_p, FLOAT, in_float64(lambda special, xp, x: special.dawsn(x)))
forward.elementwise(
    dawsn_p, lambda t, out, x: mul(t, sub(scalar_like(1, x), times(2, mul(x, out))))
)


def wofz_evaluate(xp: Any, z: Any) -> Any:
    return scipy("special", xp).wofz(z.astype(np.complex128)).astype(z.dtype)


elementwise(wofz_p, COMPLEX, wofz_evaluate)
forward.elementwise(
    wofz_p,
    lambda t, out, z: mul(t, sub(scalar_like(2j / np.sqrt(np.pi), z), times(2, mul(z, out)))),
)


def owens_t_partial_h(t: Any, out: Any, h: Any, a: Any) -> Any:
    ray = erf(times(np.sqrt(0.5), mul(a, h)))
    return mul(t, times(-1 / np.sqrt(8 * np.pi), mul(exp(times(-0.5, square(h))), ray)))


def owens_t_partial_a(t: Any, out: Any, h: Any, a: Any) -> Any:
    steep = add(scalar_like(1, a), square(a))
    return mul(t, div(times(1 / (2 * np.pi), exp(times(-0.5, mul(steep, square(h))))), steep))


elementwise(owens_t_p, FLOAT, in_float64(lambda special, xp, h, a: special.owens_t(h, a)))
forward.elementwise(owens_t_p, owens_t_partial_h, owens_t_partial_a)
