"""Functions on sequences of samples: convolve, correlate, interp, and window functions."""

from typing import Any

import numpy as np

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base import dtypes
from funcgrad.base.basis import concatenate, mul
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._arithmetic import absolute, remainder
from funcgrad.numpy._choosing import clip, where
from funcgrad.numpy._complex import conj
from funcgrad.numpy._filling import ones
from funcgrad.numpy._promotion import (
    inexact1,
    is_complex,
    is_floating,
    promote_dtypes,
    to_arrays,
)
from funcgrad.numpy._ranges import arange
from funcgrad.numpy._shaping import flip
from funcgrad.numpy._sorting import searchsorted
from funcgrad.numpy._ufuncs import cos, sqrt
from funcgrad.primitives import arithmetic, exponential
from funcgrad.primitives.convolution import conv_general_dilated
from funcgrad.primitives.precision import PrecisionLike
from funcgrad.primitives.sorting import sort_key_val
from funcgrad.primitives.special import bessel_i0e, bessel_i1e


def convolve(
    a: Any,
    v: Any,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of two sequences, the sums of a[i] v[k - i].

    mode: "full" for all k where they overlap, "valid" for those where the shorter one is covered,
    "same" for as many as the longer one has. Integers are computed as floats.
    """
    a, v = _sequences("convolve", a, v, preferred_element_type)
    if a.aval.size < v.aval.size:
        a, v = v, a
    return _slide("convolve", a, flip(v), mode, precision, preferred_element_type)


def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The correlation of two sequences, the sums of a[k + i] conj(v[i]); modes as in `convolve`."""
    a, v = _sequences("correlate", a, v, preferred_element_type)
    v = conj(v)
    if a.aval.size < v.aval.size:
        return flip(_slide("correlate", v, a, mode, precision, preferred_element_type))
    return _slide("correlate", a, v, mode, precision, preferred_element_type)


def _sequences(name: str, a: Any, v: Any, preferred: Any) -> list[Any]:
    a, v = promote_dtypes(name, a, v, kind=dtypes.to_inexact if preferred is None else None)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(
            f"{name}() only supports 1-dimensional inputs, got shapes {a.aval.shape} and "
            f"{v.aval.shape}"
        )
    if not a.aval.size or not v.aval.size:
        raise ValueError(f"{name}: of shapes {a.aval.shape} and {v.aval.shape}, one is empty.")
    return [a, v]


def _slide(name: str, x: Any, y: Any, mode: str, precision: PrecisionLike, preferred: Any) -> Any:
    """The products of y with each stretch of x."""
    n = y.aval.size
    padding = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    if mode not in padding:
        raise ValueError(f"{name}: mode {mode!r} is not among 'full', 'same' and 'valid'")
    result = conv_general_dilated(
        x[None, None],
        y[None, None],
        (1,),
        [padding[mode]],
        precision=precision,
        preferred_element_type=preferred,
    )
    return result[0, 0]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The piecewise linear function through the points (xp, fp), at x.

    Args:
        x: where.
        xp: ascending numbers.
        fp: as many values.
        left, right: the value before the first and after the last point, by default that of the
            point; or "extrapolate", to continue the outermost lines.
        period: makes the function periodic; xp need not be sorted then.
    """
    x, xp, fp = to_arrays("interp", x, xp, fp)
    if xp.aval.shape != fp.aval.shape or xp.ndim != 1:
        raise ValueError(
            "interp: each point in xp needs its value in fp, both on one axis, but the shapes are "
            f"{xp.aval.shape} and {fp.aval.shape}"
        )
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"interp: {name} may be a number or the word 'extrapolate', not {value!r}"
            )
    x, xp = promote_dtypes("interp", x, xp, kind=dtypes.to_inexact)
    fp = inexact1("interp", fp)
    if is_complex(x):
        raise ValueError("interp: complex x values are not supported.")
    if period is not None:
        if np.ndim(period):
            raise ValueError(f"interp: there is one period for all points, but {period} was given")
        period = absolute(period)
        x, xp = remainder(x, period), remainder(xp, period)
        xp, fp = sort_key_val(xp, fp)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period], 0)
        fp = concatenate([fp[-1:], fp, fp[:1]], 0)
    i = clip(searchsorted(xp, x, side="right"), 1, xp.aval.size - 1)
    before, width = xp[i - 1], xp[i] - xp[i - 1]
    tiny = float(np.spacing(float(dtypes.finfo(xp.aval.dtype).eps)))
    no_width = absolute(width) <= tiny
    part = (x - before) / where(no_width, 1, width)
    result = where(no_width, fp[i - 1], fp[i - 1] + part * (fp[i] - fp[i - 1]))
    if period is not None:
        return result
    if not isinstance(left, str):
        result = where(x < xp[0], fp[0] if left is None else left, result)
    if not isinstance(right, str):
        result = where(x > xp[-1], fp[-1] if right is None else right, result)
    return result


# windows


def _window(name: str, M: Any) -> tuple[int, Any]:
    """The length of a window and its sample numbers, None where it is all ones."""
    M = concrete_int(M, "M")
    return M, (arange(M, dtype=dtypes.default_float()) if M > 1 else None)


def bartlett(M: int) -> Any:
    """A triangle that ends in zeros."""
    M, n = _window("bartlett", M)
    return ones(M) if n is None else 1 - absolute(2 * n + 1 - M) / (M - 1)


def blackman(M: int) -> Any:
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))."""
    M, n = _window("blackman", M)
    if n is None:
        return ones(M)
    angle = 2 * np.pi * n / (M - 1)
    return 0.42 - 0.5 * cos(angle) + 0.08 * cos(2 * angle)


def hamming(M: int) -> Any:
    """0.54 - 0.46 cos(2 pi n / (M - 1))."""
    M, n = _window("hamming", M)
    return ones(M) if n is None else 0.54 - 0.46 * cos(2 * np.pi * n / (M - 1))


def hanning(M: int) -> Any:
    """0.5 - 0.5 cos(2 pi n / (M - 1))."""
    M, n = _window("hanning", M)
    return ones(M) if n is None else 0.5 * (1 - cos(2 * np.pi * n / (M - 1)))


def kaiser(M: int, beta: Any) -> Any:
    """i0(beta sqrt(1 - (2 n / (M - 1) - 1)^2)) / i0(beta)."""
    M, n = _window("kaiser", M)
    if n is None:
        return ones(M)
    half = 0.5 * (M - 1)
    return i0(beta * sqrt(1 - ((n - half) / half) ** 2)) / i0(beta)


def i0(x: Any) -> Any:
    """Of real x, the modified Bessel function I0."""
    x = inexact1("i0", x)
    if not is_floating(x):
        raise ValueError(f"i0 takes real numbers, got {x.aval.str_short()}")
    return _i0(x)


@custom_jvp
def _i0(x: Any) -> Any:
    return mul(exponential.exp(arithmetic.abs(x)), bessel_i0e(x))


@_i0.defjvp
def _i0_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """The derivative is i1, which is odd and therefore 0 at 0."""
    (x,), (t,) = primals, tangents
    return _i0(x), mul(t, mul(exponential.exp(arithmetic.abs(x)), bessel_i1e(x)))
