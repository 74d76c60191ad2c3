"""The gamma function and what it counts: beta, rising factorials, binomial coefficients.

lgamma and its derivatives, of which the derivatives here are made, are in special.py.
"""

from typing import Any

import numpy as np

from funcgrad.base.backend import scipy
from funcgrad.base.basis import add, mul, scalar_like
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import sub
from funcgrad.primitives.nary import COMPLEX, FLOAT, elementwise
from funcgrad.primitives.special import digamma, in_float64, is_pole, no_derivative
from funcgrad.transforms import forward

gamma_p = Primitive("gamma")
betaln_p = Primitive("betaln")
poch_p = Primitive("poch")
binom_p = Primitive("binom")
complex_lgamma_p = Primitive("complex_lgamma")
complex_digamma_p = Primitive("complex_digamma")


def gamma(x: Any) -> Any:
    """The gamma function, (x - 1)! at whole numbers; nan at its poles -1, -2, ..., inf at 0."""
    return gamma_p.bind(x)


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|, accurate also for large arguments."""
    return betaln_p.bind(a, b)


def poch(z: Any, m: Any) -> Any:
    """The rising factorial gamma(z + m) / gamma(z)."""
    return poch_p.bind(z, m)


def binom(n: Any, k: Any) -> Any:
    """The binomial coefficient n over k, for real n and k too."""
    return binom_p.bind(n, k)


def complex_lgamma(z: Any) -> Any:
    """The branch of log(gamma(z)) that is real for real z > 0 and analytic but for z <= 0."""
    return complex_lgamma_p.bind(z)


def complex_digamma(z: Any) -> Any:
    """The derivative of complex_lgamma."""
    return complex_digamma_p.bind(z)


def gamma_evaluate(special: Any, xp: Any, x: Any) -> Any:
    return xp.where(is_pole(xp, x) & (x < 0), np.nan, special.gamma(x))


elementwise(gamma_p, FLOAT, in_float64(gamma_evaluate))
forward.elementwise(gamma_p, lambda t, out, x: mul(t, mul(out, digamma(x))))

elementwise(betaln_p, FLOAT, in_float64(lambda special, xp, a, b: special.betaln(a, b)))
forward.elementwise(
    betaln_p,
    lambda t, out, a, b: mul(t, sub(digamma(a), digamma(add(a, b)))),
    lambda t, out, a, b: mul(t, sub(digamma(b), digamma(add(a, b)))),
)

elementwise(poch_p, FLOAT, in_float64(lambda special, xp, z, m: special.poch(z, m)))
forward.elementwise(
    poch_p,
    lambda t, out, z, m: mul(t, mul(out, sub(digamma(add(z, m)), digamma(z)))),
    lambda t, out, z, m: mul(t, mul(out, digamma(add(z, m)))),
)


def after(x: Any) -> Any:
    """digamma(x + 1), the derivative of log x!"""
    return digamma(add(x, scalar_like(1, x)))


elementwise(binom_p, FLOAT, in_float64(lambda special, xp, n, k: special.binom(n, k)))
forward.elementwise(
    binom_p,
    lambda t, out, n, k: mul(t, mul(out, sub(after(n), after(sub(n, k))))),
    lambda t, out, n, k: mul(t, mul(out, sub(after(sub(n, k)), after(k)))),
)


# complex numbers


def complex_evaluate(name: str) -> Any:
    def evaluate(xp: Any, z: Any) -> Any:
        return getattr(scipy("special", xp), name)(z.astype(np.complex128)).astype(z.dtype)

    return evaluate


elementwise(complex_lgamma_p, COMPLEX, complex_evaluate("loggamma"))
forward.elementwise(complex_lgamma_p, lambda t, out, z: mul(t, complex_digamma(z)))

elementwise(complex_digamma_p, COMPLEX, complex_evaluate("digamma"))
forward.elementwise(
    complex_digamma_p, no_derivative("The complex gamma function is differentiable only once", "z")
)
