"""Functions of waves: Bessel's J of whole order, and the Legendre part of spherical harmonics."""

from typing import Any

import numpy as np

from funcgrad.base.aval import aval_of
from funcgrad.base.basis import add, convert, mul, scalar_like
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import max, sub
from funcgrad.primitives.exponential import sqrt
from funcgrad.primitives.nary import FLOAT, INTEGER, elementwise
from funcgrad.primitives.special import in_float64
from funcgrad.transforms import forward

bessel_jn_p = Primitive("bessel_jn")
sph_legendre_p = Primitive("sph_legendre")


def bessel_jn(x: Any, order: int) -> Any:
    """J_order(x), Bessel's function of the first kind, for a whole order."""
    return bessel_jn_p.bind(x, order=order)


def sph_legendre(theta: Any, n: Any, m: Any) -> Any:
    """Y_n^m, the spherical harmonic, for integers n and m, at polar angle theta and azimuth 0.

    It is 0 where |m| > n.
    """
    return sph_legendre_p.bind(theta, n, m)


elementwise(bessel_jn_p, FLOAT, in_float64(lambda special, xp, x, order: special.jv(order, x)))
forward.elementwise(
    bessel_jn_p,
    lambda t, out, x, order: mul(
        mul(scalar_like(0.5, x), t), sub(bessel_jn(x, order - 1), bessel_jn(x, order + 1))
    ),
)


def sph_legendre_evaluate(special: Any, xp: Any, theta: Any, n: Any, m: Any) -> Any:
    out = special.sph_legendre_p(n.astype(np.int64), m.astype(np.int64), theta)
    return out.reshape(np.broadcast_shapes(theta.shape, n.shape, m.shape))


def sph_legendre_slope(t: Any, out: Any, theta: Any, n: Any, m: Any) -> Any:
    """Half of sqrt((n - m)(n + m + 1)) P(m + 1) - sqrt((n + m)(n - m + 1)) P(m - 1)."""
    one, dtype = scalar_like(1, n), aval_of(theta).dtype
    up = mul(sub(n, m), add(add(n, m), one))
    down = mul(add(n, m), add(sub(n, m), one))
    up, down = (sqrt(convert(max(v, scalar_like(0, n)), dtype)) for v in (up, down))
    above, below = sph_legendre(theta, n, add(m, one)), sph_legendre(theta, n, sub(m, one))
    return mul(mul(scalar_like(0.5, theta), t), sub(mul(up, above), mul(down, below)))


elementwise(sph_legendre_p, (FLOAT, INTEGER, INTEGER), in_float64(sph_legendre_evaluate))
forward.elementwise(sph_legendre_p, sph_legendre_slope, None, None)
