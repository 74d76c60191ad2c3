"""Bessel functions and spherical harmonics."""

from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import broadcast_together, inexact1, is_integer, promote_dtypes
from funcgrad.primitives import harmonics
from funcgrad.scipy._arguments import real, reals


def i0(x: Any) -> Any:
    """The modified Bessel function I_0(x), of the first kind."""
    x = inexact1("i0", x)
    return lax.exp(abs(x)) * lax.bessel_i0e(x)


def i0e(x: Any) -> Any:
    """exp(-|x|) i0(x), which does not overflow."""
    return lax.bessel_i0e(inexact1("i0e", x))


def i1(x: Any) -> Any:
    """The modified Bessel function I_1(x), of the first kind."""
    x = inexact1("i1", x)
    return lax.exp(abs(x)) * lax.bessel_i1e(x)


def i1e(x: Any) -> Any:
    """exp(-|x|) i1(x), which does not overflow."""
    return lax.bessel_i1e(inexact1("i1e", x))


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind of orders 0 to v.

    Args:
        z: real.
        v: the highest order.
        n_iter: taken for compatibility, and not used.

    Returns:
        An array [v + 1, ...], with the shape of z after the axis of orders.
    """
    z, v = real("bessel_jn", z), concrete_int(v, "v")
    if v < 0:
        raise ValueError(f"bessel_jn: the highest order v must be non-negative, got {v}")
    return jnp.stack([harmonics.bessel_jn(z, order) for order in range(v + 1)])


def sph_harm_y(
    n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None
) -> Any:
    """The spherical harmonic Y_n^m, degree n, order m: orthonormal, with the phase (-1)^m.

    Args:
        n, m: integers; 0 where |m| > n.
        theta: the polar angle, in radians from 0 to pi.
        phi: the azimuth, in radians.
        diff_n: None. Differentiate with `grad` or `jvp` instead.
        n_max: a bound of n, which is not needed.

    Returns:
        A complex array of the shape that the four arguments broadcast to.
    """
    if diff_n is not None:
        raise NotImplementedError(
            "sph_harm_y does not return derivatives with its value: leave diff_n out, and "
            "differentiate with grad, jvp or jacfwd."
        )
    orders = promote_dtypes("sph_harm_y", n, m)
    if not is_integer(orders[0]):
        given = ", ".join(x.aval.str_short() for x in orders)
        raise TypeError(f"sph_harm_y: degree n and order m must be integers, got {given}")
    theta, phi = reals("sph_harm_y", theta, phi)
    n, m, theta, phi = broadcast_together("sph_harm_y", [*orders, theta, phi])
    size, angle = harmonics.sph_legendre(theta, n, m), m * phi
    return lax.complex(size * lax.cos(angle), size * lax.sin(angle))
