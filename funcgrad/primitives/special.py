"""Special functions of one argument, and those of an order and an argument: values from SciPy.

They are computed in float64 and rounded once, so narrow results are right to the last bit or two.
"""

from typing import Any

import numpy as np

from funcgrad.base.aval import aval_of
from funcgrad.base.backend import scipy
from funcgrad.base.basis import add, full_like, mul, neg, scalar_like, select_n
from funcgrad.base.dtypes import finfo
from funcgrad.base.trace import Primitive, Rule
from funcgrad.compiler import lowering
from funcgrad.compiler.elementary import bessel, error_function, gamma, inverse_error_function
from funcgrad.primitives.arithmetic import abs, div, sign, sub
from funcgrad.primitives.compare import gt
from funcgrad.primitives.exponential import exp, square
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.transforms import forward

lgamma_p = Primitive("lgamma")
digamma_p = Primitive("digamma")
polygamma_p = Primitive("polygamma")
zeta_p = Primitive("zeta")
erf_p = Primitive("erf")
erfc_p = Primitive("erfc")
erf_inv_p = Primitive("erf_inv")
bessel_i0e_p = Primitive("bessel_i0e")
bessel_i1e_p = Primitive("bessel_i1e")


def lgamma(x: Any) -> Any:
    """log |gamma(x)|; infinite at 0, -1, -2, ..., and exactly 0 at 1 and 2."""
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """The derivative of lgamma; nan at its poles 0, -1, -2, ..."""
    return digamma_p.bind(x)


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma at x; nan unless m is 0, 1, 2, ... in a float dtype."""
    return polygamma_p.bind(m, x)


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ...; nan for x < 1."""
    return zeta_p.bind(x, q)


def erf(x: Any) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate also where erf(x) is close to 1."""
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of erf: infinite at -1 and 1, nan beyond."""
    return erf_inv_p.bind(x)


def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) I_0(x), with I_0 Bessel's modified function of the first kind."""
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) I_1(x), with I_1 Bessel's modified function of the first kind."""
    return bessel_i1e_p.bind(x)


def in_float64(rule: Rule) -> Rule:
    """Evaluate `rule(special, xp, *float64 buffers, **params)` and round to the operands' dtype."""

    def evaluate(xp: Any, *buffers: Any, **params: Any) -> Any:
        wide = [b.astype(np.float64) for b in buffers]
        out = rule(scipy("special", xp), xp, *wide, **params)
        return out.astype(buffers[0].dtype)

    return evaluate


def no_derivative(said: str, argument: str) -> Any:
    """The partial derivative of an argument that none is known for."""

    def partial(*_: Any, **__: Any) -> Any:
        raise ValueError(
            f"{said} with respect to {argument}. Keep it out of the differentiated arguments, or "
            "apply lax.stop_gradient to it."
        )

    return partial


def is_pole(xp: Any, x: Any) -> Any:
    return (x <= 0) & (x == xp.floor(x))


# the gamma function's logarithm and its derivatives


def lgamma_evaluate(special: Any, xp: Any, x: Any) -> Any:
    return xp.where(x == -np.inf, np.inf, special.gammaln(x))


def digamma_evaluate(special: Any, xp: Any, x: Any) -> Any:
    return xp.where(is_pole(xp, x), np.nan, special.digamma(x))


def polygamma_evaluate(special: Any, xp: Any, m: Any, x: Any) -> Any:
    """(-1)^(m + 1) m! zeta(m + 1, x), where the sign at a pole is that of both sides or nan."""
    higher = (m > 0) & (m == xp.floor(m)) & xp.isfinite(m)
    order = xp.where(higher, m, 1.0)
    odd = order % 2 == 1
    size = special.gamma(order + 1) * special.zeta(order + 1, x)
    value = xp.where(odd, size, xp.where(is_pole(xp, x), np.nan, -size))
    at_zero = xp.where(m == 0, digamma_evaluate(special, xp, x), np.nan)
    return xp.where(higher, value, at_zero)


def zeta_evaluate(special: Any, xp: Any, x: Any, q: Any) -> Any:
    value = special.zeta(x, q)
    value = xp.where(is_pole(xp, q) & (x % 2 != 0), np.nan, value)
    return xp.where(xp.isnan(x) | xp.isnan(q), np.nan, value)


elementwise(lgamma_p, FLOAT, in_float64(lgamma_evaluate))
forward.elementwise(lgamma_p, lambda t, out, x: mul(t, digamma(x)))
lowering.elementwise(lgamma_p, gamma.lgamma)

elementwise(digamma_p, FLOAT, in_float64(digamma_evaluate))
forward.elementwise(digamma_p, lambda t, out, x: mul(t, polygamma(scalar_like(1, x), x)))
lowering.elementwise(digamma_p, gamma.digamma)

elementwise(polygamma_p, FLOAT, in_float64(polygamma_evaluate))
forward.elementwise(
    polygamma_p,
    no_derivative("polygamma has no derivative", "the order m"),
    lambda t, out, m, x: mul(t, polygamma(add(m, scalar_like(1, m)), x)),
)

elementwise(zeta_p, FLOAT, in_float64(zeta_evaluate))
forward.elementwise(
    zeta_p,
    no_derivative("zeta has no derivative", "the exponent x"),
    lambda t, out, x, q: neg(mul(t, mul(x, zeta(add(x, scalar_like(1, x)), q)))),
)


# the error function


def bell(x: Any) -> Any:
    """exp(-x^2)"""
    return exp(neg(square(x)))


elementwise(erf_p, FLOAT, in_float64(lambda special, xp, x: special.erf(x)))
forward.elementwise(
    erf_p, lambda t, out, x: mul(scalar_like(2 / np.sqrt(np.pi), x), mul(t, bell(x)))
)
lowering.elementwise(erf_p, error_function.erf)

elementwise(erfc_p, FLOAT, in_float64(lambda special, xp, x: special.erfc(x)))
forward.elementwise(
    erfc_p, lambda t, out, x: mul(scalar_like(-2 / np.sqrt(np.pi), x), mul(t, bell(x)))
)
lowering.elementwise(erfc_p, error_function.erfc)

elementwise(erf_inv_p, FLOAT, in_float64(lambda special, xp, x: special.erfinv(x)))
forward.elementwise(
    erf_inv_p,
    lambda t, out, x: mul(scalar_like(np.sqrt(np.pi) / 2, x), mul(t, exp(square(out)))),
)
lowering.elementwise(erf_inv_p, inverse_error_function.erf_inv)


# modified Bessel functions


def bessel_i1e_slope(out: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x), and 1/2 close to 0."""
    tiny = scalar_like(finfo(aval_of(x).dtype).eps, x)
    away = gt(abs(x), tiny)
    safe = select_n(away, full_like(x, 1), x)
    slope = sub(bessel_i0e(safe), add(mul(out, sign(safe)), div(out, safe)))
    return select_n(away, full_like(x, 0.5), slope)


elementwise(bessel_i0e_p, FLOAT, in_float64(lambda special, xp, x: special.i0e(x)))
forward.elementwise(bessel_i0e_p, lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))))
lowering.elementwise(bessel_i0e_p, bessel.bessel_i0e)

elementwise(bessel_i1e_p, FLOAT, in_float64(lambda special, xp, x: special.i1e(x)))
forward.elementwise(bessel_i1e_p, lambda t, out, x: mul(t, bessel_i1e_slope(out, x)))
lowering.elementwise(bessel_i1e_p, bessel.bessel_i1e)
