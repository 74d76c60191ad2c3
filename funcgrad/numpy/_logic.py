"""Comparisons and truth values: equal, less, logical_and, isnan, isclose, array_equal, ..."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base.basis import add as add_arrays
from funcgrad.base.basis import broadcast_scalar, eq, mul
from funcgrad.base.shapes import broadcast_shapes
from funcgrad.numpy._promotion import (
    choose,
    inexact,
    is_bool,
    is_complex,
    is_floating,
    like,
    promote,
    promote_dtypes,
    refuse_out,
    to_array,
    to_arrays,
)
from funcgrad.primitives import arithmetic, complex_parts
from funcgrad.primitives.compare import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ge,
    gt,
    is_finite,
    le,
    lt,
    ne,
)
from funcgrad.primitives.reduction import reduce_and


def equal(x: Any, y: Any, /) -> Any:
    """Whether x == y, element by element."""
    return eq(*promote("equal", x, y))


def not_equal(x: Any, y: Any, /) -> Any:
    """Whether x != y, element by element."""
    return ne(*promote("not_equal", x, y))


def greater(x: Any, y: Any, /) -> Any:
    """Whether x > y; complex numbers compare by real, then by imaginary part."""
    return _ordered(gt, *promote("greater", x, y))


def greater_equal(x: Any, y: Any, /) -> Any:
    """Whether x >= y; complex numbers compare by real, then by imaginary part."""
    return _ordered(ge, *promote("greater_equal", x, y))


def less(x: Any, y: Any, /) -> Any:
    """Whether x < y; complex numbers compare by real, then by imaginary part."""
    return _ordered(lt, *promote("less", x, y))


def less_equal(x: Any, y: Any, /) -> Any:
    """Whether x <= y; complex numbers compare by real, then by imaginary part."""
    return _ordered(le, *promote("less_equal", x, y))


def _ordered(compare: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    if not is_complex(x):
        return compare(x, y)
    x_real, y_real = complex_parts.real(x), complex_parts.real(y)
    by_imaginary = compare(complex_parts.imag(x), complex_parts.imag(y))
    return choose(eq(x_real, y_real), by_imaginary, compare(x_real, y_real))


# logical functions


def truth(x: Any) -> Any:
    """Whether each element differs from zero."""
    return x if is_bool(x) else ne(x, like(0, x))


def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both x and y are nonzero."""
    return bitwise_and(*map(truth, promote("logical_and", x, y)))


def logical_or(x: Any, y: Any, /) -> Any:
    """Whether x or y is nonzero."""
    return bitwise_or(*map(truth, promote("logical_or", x, y)))


def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether exactly one of x and y is nonzero."""
    return bitwise_xor(*map(truth, promote("logical_xor", x, y)))


def logical_not(x: Any, /) -> Any:
    """Whether x is zero."""
    return bitwise_not(truth(to_array("logical_not", x)))


# kinds of numbers


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor nan."""
    x = to_array("isfinite", x)
    if is_complex(x):
        return bitwise_and(is_finite(complex_parts.real(x)), is_finite(complex_parts.imag(x)))
    return is_finite(x) if is_floating(x) else _everywhere(True, x)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite."""
    x = to_array("isinf", x)
    if is_complex(x):
        return bitwise_or(isinf(complex_parts.real(x)), isinf(complex_parts.imag(x)))
    return eq(arithmetic.abs(x), like(np.inf, x)) if is_floating(x) else _everywhere(False, x)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is inf; not for complex x."""
    return _is_infinity("isposinf", np.inf, x, out)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is -inf; not for complex x."""
    return _is_infinity("isneginf", -np.inf, x, out)


def _is_infinity(name: str, infinity: float, x: Any, out: Any) -> Any:
    refuse_out(name, out)
    x = to_array(name, x)
    if is_complex(x):
        raise ValueError(f"{name}: complex infinities have no sign; x is {x.aval.str_short()}")
    return eq(x, like(infinity, x)) if is_floating(x) else _everywhere(False, x)


def isnan(x: Any, /) -> Any:
    """Whether x is nan."""
    x = to_array("isnan", x)
    return ne(x, x)


def iscomplex(x: Any) -> Any:
    """Whether x has an imaginary part other than 0."""
    x = to_array("iscomplex", x)
    if not is_complex(x):
        return _everywhere(False, x)
    part = complex_parts.imag(x)
    return ne(part, like(0, part))


def isreal(x: Any) -> Any:
    """Whether x has the imaginary part 0."""
    return bitwise_not(iscomplex(x))


def _everywhere(value: bool, x: Any) -> Any:
    return broadcast_scalar(np.bool_(value), x.aval.update(dtype=np.dtype(bool), weak_type=False))


# comparing arrays


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b|; infinities are close to themselves only."""
    a, b = inexact("isclose", a, b)
    size = arithmetic.abs(b)
    rtol, atol = (promote_dtypes("isclose", size, t)[1] for t in (rtol, atol))
    margin = add_arrays(atol, mul(rtol, size))
    near = le(arithmetic.abs(arithmetic.sub(a, b)), margin)
    both_finite = bitwise_and(isfinite(a), isfinite(b))
    result = bitwise_or(bitwise_and(near, both_finite), eq(a, b))
    if equal_nan:
        result = bitwise_or(result, bitwise_and(isnan(a), isnan(b)))
    return result


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements of a and b are close, as `isclose` says."""
    return _all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and elements."""
    a1, a2 = to_arrays("array_equal", a1, a2)
    if a1.aval.shape != a2.aval.shape:
        return to_array("array_equal", np.bool_(False))
    a1, a2 = promote("array_equal", a1, a2)
    same = eq(a1, a2)
    if equal_nan:
        same = bitwise_or(same, bitwise_and(isnan(a1), isnan(a2)))
    return _all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays have the same elements once broadcast to a common shape."""
    a1, a2 = to_arrays("array_equiv", a1, a2)
    try:
        broadcast_shapes(a1.aval.shape, a2.aval.shape)
    except ValueError:
        return to_array("array_equiv", np.bool_(False))
    return _all(eq(*promote("array_equiv", a1, a2)))


def _all(x: Any) -> Any:
    return reduce_and(x, range(len(x.aval.shape)))
