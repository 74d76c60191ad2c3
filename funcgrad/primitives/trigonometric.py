"""Trigonometric and hyperbolic functions and their inverses; angles are in radians."""

from typing import Any

from funcgrad.base.basis import add, mul, neg, scalar_like
from funcgrad.base.trace import Primitive
from funcgrad.compiler import lowering
from funcgrad.compiler.elementary import hyperbolic, inverse_trigonometric, trigonometric
from funcgrad.primitives.arithmetic import div, sub
from funcgrad.primitives.exponential import rsqrt, square
from funcgrad.primitives.nary import INEXACT, elementwise
from funcgrad.transforms import forward

sin_p = Primitive("sin")
cos_p = Primitive("cos")
tan_p = Primitive("tan")
asin_p = Primitive("asin")
acos_p = Primitive("acos")
atan_p = Primitive("atan")
atan2_p = Primitive("atan2")
sinh_p = Primitive("sinh")
cosh_p = Primitive("cosh")
tanh_p = Primitive("tanh")
asinh_p = Primitive("asinh")
acosh_p = Primitive("acosh")
atanh_p = Primitive("atanh")


def sin(x: Any) -> Any:
    """The sine of x in radians."""
    return sin_p.bind(x)


def cos(x: Any) -> Any:
    """The cosine of x in radians."""
    return cos_p.bind(x)


def tan(x: Any) -> Any:
    """The tangent of x in radians."""
    return tan_p.bind(x)


def asin(x: Any) -> Any:
    """The arc sine in radians."""
    return asin_p.bind(x)


def acos(x: Any) -> Any:
    """The arc cosine in radians."""
    return acos_p.bind(x)


def atan(x: Any) -> Any:
    """The arc tangent in radians."""
    return atan_p.bind(x)


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point (y, x) in radians, in [-pi, pi]."""
    return atan2_p.bind(x, y)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return cosh_p.bind(x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tanh_p.bind(x)


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine."""
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return atanh_p.bind(x)


def one_minus_square(x: Any) -> Any:
    return sub(scalar_like(1, x), square(x))


elementwise(sin_p, INEXACT, lambda xp, x: xp.sin(x))
forward.elementwise(sin_p, lambda t, out, x: mul(t, cos(x)))
lowering.elementwise(sin_p, trigonometric.sin)

elementwise(cos_p, INEXACT, lambda xp, x: xp.cos(x))
forward.elementwise(cos_p, lambda t, out, x: neg(mul(t, sin(x))))
lowering.elementwise(cos_p, trigonometric.cos)

elementwise(tan_p, INEXACT, lambda xp, x: xp.tan(x))
forward.elementwise(tan_p, lambda t, out, x: mul(t, add(scalar_like(1, out), square(out))))
lowering.elementwise(tan_p, trigonometric.tan)

elementwise(asin_p, INEXACT, lambda xp, x: xp.arcsin(x))
forward.elementwise(asin_p, lambda t, out, x: mul(t, rsqrt(one_minus_square(x))))
lowering.elementwise(asin_p, inverse_trigonometric.asin)

elementwise(acos_p, INEXACT, lambda xp, x: xp.arccos(x))
forward.elementwise(acos_p, lambda t, out, x: mul(t, neg(rsqrt(one_minus_square(x)))))
lowering.elementwise(acos_p, inverse_trigonometric.acos)

elementwise(atan_p, INEXACT, lambda xp, x: xp.arctan(x))
forward.elementwise(atan_p, lambda t, out, x: div(t, add(scalar_like(1, x), square(x))))
lowering.elementwise(atan_p, inverse_trigonometric.atan)

elementwise(sinh_p, INEXACT, lambda xp, x: xp.sinh(x))
forward.elementwise(sinh_p, lambda t, out, x: mul(t, cosh(x)))
lowering.elementwise(sinh_p, hyperbolic.sinh)

elementwise(cosh_p, INEXACT, lambda xp, x: xp.cosh(x))
forward.elementwise(cosh_p, lambda t, out, x: mul(t, sinh(x)))
lowering.elementwise(cosh_p, hyperbolic.cosh)

elementwise(tanh_p, INEXACT, lambda xp, x: xp.tanh(x))
forward.elementwise(tanh_p, lambda t, out, x: mul(t, one_minus_square(out)))
lowering.elementwise(tanh_p, hyperbolic.tanh)

elementwise(asinh_p, INEXACT, lambda xp, x: xp.arcsinh(x))
forward.elementwise(asinh_p, lambda t, out, x: mul(t, rsqrt(add(square(x), scalar_like(1, x)))))
lowering.elementwise(asinh_p, hyperbolic.asinh)

elementwise(acosh_p, INEXACT, lambda xp, x: xp.arccosh(x))
forward.elementwise(
    acosh_p,
    lambda t, out, x: mul(
        t, mul(rsqrt(sub(x, scalar_like(1, x))), rsqrt(add(x, scalar_like(1, x))))
    ),
)
lowering.elementwise(acosh_p, hyperbolic.acosh)

elementwise(atanh_p, INEXACT, lambda xp, x: xp.arctanh(x))
forward.elementwise(atanh_p, lambda t, out, x: div(t, one_minus_square(x)))
lowering.elementwise(atanh_p, hyperbolic.atanh)


def atan2_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.arctan2(x, y)
    return -1j * xp.log((y + 1j * x) / xp.sqrt(x * x + y * y))


elementwise(atan2_p, INEXACT, atan2_evaluate)
forward.elementwise(
    atan2_p,
    lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
    lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
)
lowering.elementwise(atan2_p, inverse_trigonometric.atan2)
