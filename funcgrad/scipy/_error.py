"""The error function and its relatives, and the normal distribution's."""

import math
from typing import Any

from funcgrad import lax
from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.numpy._promotion import inexact1, is_complex, promote_dtypes
from funcgrad.primitives import normal
from funcgrad.scipy._arguments import real, reals


def erf(x: Any) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return lax.erf(inexact1("erf", x))


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate also where erf(x) is close to 1."""
    return lax.erfc(inexact1("erfc", x))


def erfinv(x: Any) -> Any:
    """The inverse of erf: infinite at -1 and 1, nan beyond."""
    return lax.erf_inv(inexact1("erfinv", x))


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x) of real or complex x."""
    x = inexact1("erfcx", x)
    return wofz(x * 1j) if is_complex(x) else normal.erfcx(convert(x, x.dtype))


def dawsn(x: Any) -> Any:
    """Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x."""
    return normal.dawsn(real("dawsn", x, weak=False))


def wofz(z: Any) -> Any:
    """The Faddeeva function, exp(-z^2) erfc(-i z)."""
    z = promote_dtypes("wofz", z, kind=dtypes.to_complex)[0]
    return normal.wofz(convert(z, z.dtype))


def ndtr(x: Any) -> Any:
    """The cumulative distribution function of the standard normal distribution."""
    return 0.5 * lax.erfc(real("ndtr", x, weak=False) * -math.sqrt(0.5))


def ndtri(p: Any) -> Any:
    """The inverse of ndtr: infinite at 0 and 1, nan beyond."""
    return normal.ndtri(real("ndtri", p, weak=False))


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate in both tails.

    `series_order` is checked, but makes no difference: no series in powers of 1/x is cut off here.
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr takes series_order as a Python integer, got {series_order!r}")
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be in 0 .. 30, got {series_order}")
    return normal.log_ndtr(real("log_ndtr", x, weak=False))


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T function: the probability that standard normal X > h and 0 < Y < a X."""
    return normal.owens_t(*reals("owens_t", h, a, weak=False))
