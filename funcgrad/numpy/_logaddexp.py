"""logaddexp: sums of numbers of which only the logarithms are at hand."""

from typing import Any

import numpy as np

from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base.basis import add, convert, eq, mul, neg, squeeze
from funcgrad.lax import stop_gradient
from funcgrad.numpy._promotion import choose, inexact, inexact1, is_complex, like
from funcgrad.numpy._reductions import max, reduced_axes, sum
from funcgrad.primitives import arithmetic, complex_parts, exponential
from funcgrad.primitives.compare import gt, is_finite, ne


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(e^x1 + e^x2) without overflow."""
    return _log_of_sum(*inexact("logaddexp", x1, x2))


def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """log2(2^x1 + 2^x2) without overflow."""
    x, y = inexact("logaddexp2", x1, x2)
    ln2 = like(np.log(2), x)
    return arithmetic.div(_log_of_sum(mul(x, ln2), mul(y, ln2)), ln2)


@custom_jvp
def _log_of_sum(x: Any, y: Any) -> Any:
    if is_complex(x):
        return _complex_log_of_sum(x, y)
    difference = arithmetic.sub(x, y)
    gap = neg(arithmetic.abs(difference))
    result = add(arithmetic.max(x, y), exponential.log1p(exponential.exp(gap)))
    # Infinities of one sign have no difference; their sum is the answer, and so it is for nan.
    return choose(ne(difference, difference), add(x, y), result)


def _complex_log_of_sum(x: Any, y: Any) -> Any:
    """The same of complex numbers, with its imaginary part in [-pi, pi]."""
    larger = choose(gt(complex_parts.real(x), complex_parts.real(y)), x, y)
    gap = arithmetic.sub(arithmetic.sub(add(x, y), larger), larger)
    result = add(larger, exponential.log1p(exponential.exp(gap)))
    angle = complex_parts.imag(result)
    turn = like(2 * np.pi, angle)
    turns = arithmetic.round(arithmetic.div(angle, turn))
    return complex_parts.complex(
        complex_parts.real(result), arithmetic.sub(angle, mul(turns, turn))
    )


@_log_of_sum.defjvp
def _log_of_sum_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """Each tangent by the share e^x / (e^x + e^y) that its term has in the sum."""
    out = _log_of_sum(*primals)
    terms = [mul(t, _share(x, out)) for x, t in zip(primals, tangents, strict=True)]
    return out, add(*terms)


def _share(x: Any, total: Any) -> Any:
    """e^(x - total): 1 for an infinite x, and 0 if no term of the sum is above 0."""
    real = complex_parts.real(x) if is_complex(x) else x
    whole = complex_parts.real(total) if is_complex(x) else total
    difference = arithmetic.sub(x, total)
    difference = choose(eq(real, like(np.inf, real)), like(0, difference), difference)
    nothing = eq(whole, like(-np.inf, whole))
    return exponential.exp(choose(nothing, like(-np.inf, difference), difference))


def reduce_logaddexp(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """log of the sum of e^a over an axis, for `logaddexp.reduce`."""
    a = inexact1("logaddexp.reduce", a)
    real = complex_parts.real(a) if is_complex(a) else a
    top = stop_gradient(max(real, axis, None, True, -np.inf, where))
    top = choose(is_finite(top), top, like(0, top))
    shift = convert(top, a.aval.dtype) if is_complex(a) else top
    total = sum(exponential.exp(a - shift), axis, None, None, True, None, where)
    result = exponential.log(total) + shift
    if not keepdims:
        axes = reduced_axes("logaddexp.reduce", a, axis)
        result = squeeze(result, axes)
    return result if initial is None else logaddexp(initial, result)


def reduce_logaddexp2(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """log2 of the sum of 2^a over an axis, for `logaddexp2.reduce`."""
    ln2 = float(np.log(2))
    initial = None if initial is None else initial * ln2
    a = inexact1("logaddexp2.reduce", a) * ln2
    return reduce_logaddexp(a, axis, dtype, keepdims, initial, where) / ln2
