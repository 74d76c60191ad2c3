"""The chi-squared distribution of df degrees of freedom, which is a gamma distribution."""

from typing import Any

from funcgrad.scipy._arguments import reals
from funcgrad.scipy.stats import gamma


def _as_gamma(name: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    x, df, loc, scale = reals(f"chi2.{name}", x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density; -inf below loc."""
    return gamma.logpdf(*_as_gamma("logpdf", x, df, loc, scale))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return gamma.pdf(*_as_gamma("pdf", x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie below x."""
    return gamma.cdf(*_as_gamma("cdf", x, df, loc, scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(cdf)."""
    return gamma.logcdf(*_as_gamma("logcdf", x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability to lie above x."""
    return gamma.sf(*_as_gamma("sf", x, df, loc, scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(sf)."""
    return gamma.logsf(*_as_gamma("logsf", x, df, loc, scale))
