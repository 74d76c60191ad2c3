"""Elementwise arithmetic and elementary functions, each with its derivative in its usual form."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    add_p,
    convert,
    eq,
    full_like,
    mul,
    mul_p,
    neg,
    neg_p,
    scalar_like,
    select_n,
)
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.primitives.compare import lt
from funcgrad.primitives.nary import (
    COMPLEX,
    FLOAT,
    INEXACT,
    NUMBER,
    check_dtype,
    elementwise,
    nary_shape,
    real_dtype,
)
from funcgrad.transforms import backward, batching, forward

sub_p = Primitive("sub")
div_p = Primitive("div")
rem_p = Primitive("rem")
max_p = Primitive("max")
min_p = Primitive("min")
pow_p = Primitive("pow")
integer_pow_p = Primitive("integer_pow")
atan2_p = Primitive("atan2")
nextafter_p = Primitive("nextafter")
abs_p = Primitive("abs")
sign_p = Primitive("sign")
floor_p = Primitive("floor")
ceil_p = Primitive("ceil")
round_p = Primitive("round")
square_p = Primitive("square")
sqrt_p = Primitive("sqrt")
rsqrt_p = Primitive("rsqrt")
cbrt_p = Primitive("cbrt")
exp_p = Primitive("exp")
exp2_p = Primitive("exp2")
expm1_p = Primitive("expm1")
log_p = Primitive("log")
log1p_p = Primitive("log1p")
logistic_p = Primitive("logistic")
sin_p = Primitive("sin")
cos_p = Primitive("cos")
tan_p = Primitive("tan")
asin_p = Primitive("asin")
acos_p = Primitive("acos")
atan_p = Primitive("atan")
sinh_p = Primitive("sinh")
cosh_p = Primitive("cosh")
tanh_p = Primitive("tanh")
asinh_p = Primitive("asinh")
acosh_p = Primitive("acosh")
atanh_p = Primitive("atanh")
real_p = Primitive("real")
imag_p = Primitive("imag")
complex_p = Primitive("complex")
conj_p = Primitive("conj")


def sub(x: Any, y: Any) -> Any:
    """Elementwise x - y."""
    return sub_p.bind1(x, y)


def div(x: Any, y: Any) -> Any:
    """Elementwise x / y; integers are rounded towards zero, and x / 0 is -1."""
    return div_p.bind1(x, y)


def rem(x: Any, y: Any) -> Any:
    """The remainder of `div`, with the sign of x; for integers x rem 0 is x."""
    return rem_p.bind1(x, y)


def max(x: Any, y: Any) -> Any:
    """The elementwise maximum; nan if either is nan. Ties share the gradient equally."""
    return max_p.bind1(x, y)


def min(x: Any, y: Any) -> Any:
    """The elementwise minimum; nan if either is nan. Ties share the gradient equally."""
    return min_p.bind1(x, y)


def pow(x: Any, y: Any) -> Any:
    """Elementwise x ** y; y has the dtype of x or is an integer.

    The derivative with respect to y at x = 0 is taken as 0, where the formula has log(0).
    """
    if isinstance(y, int) and not isinstance(y, bool):
        return integer_pow(x, y)
    return pow_p.bind1(x, y)


def integer_pow(x: Any, y: int) -> Any:
    """x to a fixed integer power, by repeated multiplication."""
    return integer_pow_p.bind1(x, y=int(y))


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point (y, x) in radians, in [-pi, pi]."""
    return atan2_p.bind1(x, y)


def nextafter(x1: Any, x2: Any) -> Any:
    """The next representable number after x1 in the direction of x2."""
    return nextafter_p.bind1(x1, x2)


def abs(x: Any) -> Any:
    """|x|, real for complex x. The gradient at 0 is that of the right side, 1 (complex: 0)."""
    return abs_p.bind1(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1 by the sign of x, nan for nan; x / |x| for complex x."""
    return sign_p.bind1(x)


def floor(x: Any) -> Any:
    """The largest integer not above x."""
    return floor_p.bind1(x)


def ceil(x: Any) -> Any:
    """The smallest integer not below x."""
    return ceil_p.bind1(x)


class RoundingMethod(int):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: Any, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer; halves go away from zero, or to the even one."""
    return round_p.bind1(x, rounding_method=int(rounding_method))


def square(x: Any) -> Any:
    """x * x."""
    return square_p.bind1(x)


def sqrt(x: Any) -> Any:
    """The square root; nan below zero, and for complex x the one with real part >= 0."""
    return sqrt_p.bind1(x)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return rsqrt_p.bind1(x)


def cbrt(x: Any) -> Any:
    """The real cube root, negative for negative x."""
    return cbrt_p.bind1(x)


def exp(x: Any) -> Any:
    """e to the x."""
    return exp_p.bind1(x)


def exp2(x: Any) -> Any:
    """2 to the x."""
    return exp2_p.bind1(x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, accurate near 0."""
    return expm1_p.bind1(x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return log_p.bind1(x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    return log1p_p.bind1(x)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return logistic_p.bind1(x)


def sin(x: Any) -> Any:
    """The sine of x in radians."""
    return sin_p.bind1(x)


def cos(x: Any) -> Any:
    """The cosine of x in radians."""
    return cos_p.bind1(x)


def tan(x: Any) -> Any:
    """The tangent of x in radians."""
    return tan_p.bind1(x)


def asin(x: Any) -> Any:
    """The arc sine in radians."""
    return asin_p.bind1(x)


def acos(x: Any) -> Any:
    """The arc cosine in radians."""
    return acos_p.bind1(x)


def atan(x: Any) -> Any:
    """The arc tangent in radians."""
    return atan_p.bind1(x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return sinh_p.bind1(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return cosh_p.bind1(x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tanh_p.bind1(x)


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine."""
    return asinh_p.bind1(x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return acosh_p.bind1(x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return atanh_p.bind1(x)


def real(x: Any) -> Any:
    """The real part of a complex array."""
    return real_p.bind1(x)


def imag(x: Any) -> Any:
    """The imaginary part of a complex array."""
    return imag_p.bind1(x)


def complex(x: Any, y: Any) -> Any:
    """x + iy from real arrays."""
    return complex_p.bind1(x, y)


def conj(x: Any) -> Any:
    """The complex conjugate of an array; of a real one, the complex array with imaginary part 0."""
    return conj_p.bind1(x, input_dtype=aval_of(x).dtype)


def reciprocal(x: Any) -> Any:
    """1 / x."""
    return integer_pow(x, -1)


def is_complex(x: Any) -> bool:
    return dtypes.issubdtype(aval_of(x).dtype, np.complexfloating)


# add, sub, neg, mul, div, rem

elementwise(add_p, NUMBER, lambda xp, x, y: xp.add(x, y))
forward.elementwise(add_p, lambda t, out, x, y: t, lambda t, out, x, y: t)
backward.elementwise(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct)

elementwise(sub_p, NUMBER, lambda xp, x, y: xp.subtract(x, y))
forward.elementwise(sub_p, lambda t, out, x, y: t, lambda t, out, x, y: neg(t))
backward.elementwise(sub_p, lambda ct, x, y: ct, lambda ct, x, y: neg(ct))

elementwise(neg_p, NUMBER, lambda xp, x: xp.negative(x))
forward.elementwise(neg_p, lambda t, out, x: neg(t))
backward.elementwise(neg_p, lambda ct, x: neg(ct))

elementwise(mul_p, NUMBER, lambda xp, x, y: xp.multiply(x, y))
forward.elementwise(mul_p, lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))
backward.elementwise(mul_p, lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct))


def div_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return xp.divide(x, y)
    zero = y == 0
    safe = xp.where(zero, y.dtype.type(1), y)
    if x.dtype.kind == "u":
        return xp.where(zero, xp.bitwise_not(xp.zeros_like(x)), x // safe)
    quotient = x // safe
    inexact = (quotient * safe != x) & ((x < 0) != (safe < 0))
    return xp.where(zero, x.dtype.type(-1), quotient + inexact.astype(x.dtype))


elementwise(div_p, NUMBER, div_evaluate)
forward.elementwise(
    div_p,
    lambda t, out, x, y: div(t, y),
    lambda t, out, x, y: neg(mul(div(t, y), out)),
)
backward.elementwise(div_p, lambda ct, x, y: div(ct, y), None)


def rem_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return xp.fmod(x, y)
    zero = y == 0
    return xp.where(zero, x, xp.fmod(x, xp.where(zero, y.dtype.type(1), y)))


def trunc(x: Any) -> Any:
    return select_n(lt(x, full_like(x, 0)), floor(x), ceil(x))


elementwise(rem_p, (np.integer, np.floating), rem_evaluate)
forward.elementwise(
    rem_p,
    lambda t, out, x, y: t,
    lambda t, out, x, y: mul(t, neg(trunc(div(x, y)))),
)


# max, min: where operands tie, each gets half of the derivative


def winner_share(out: Any, mine: Any, other: Any) -> Any:
    share = select_n(eq(other, out), full_like(out, 1), full_like(out, 0.5))
    return mul(convert(eq(mine, out), aval_of(out).dtype), share)


for _primitive, _ufunc in ((max_p, "maximum"), (min_p, "minimum")):
    elementwise(
        _primitive,
        (np.bool_, np.number),
        lambda xp, x, y, _ufunc=_ufunc: getattr(xp, _ufunc)(x, y),
    )
    forward.elementwise(
        _primitive,
        lambda t, out, x, y: mul(t, winner_share(out, x, y)),
        lambda t, out, x, y: mul(t, winner_share(out, y, x)),
    )


# pow


def pow_abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", 0, x, NUMBER)
    check_dtype("pow", 1, y, NUMBER)
    integral = dtypes.issubdtype(y.dtype, np.integer)
    if x.dtype != y.dtype and not (integral and dtypes.issubdtype(x.dtype, np.inexact)):
        raise TypeError(
            f"pow: the exponent must have the dtype of the base or, for a float or complex base, "
            f"an integer one; got {x.str_short()} ** {y.str_short()}"
        )
    weak = x.weak_type and y.weak_type
    return x.update(shape=nary_shape("pow", (x, y)), weak_type=weak)


def pow_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu" and y.dtype.kind == "i":
        # A negative power of an integer rounds to 0 unless the base is 1 or -1.
        positive = xp.power(x, xp.where(y < 0, y.dtype.type(0), y))
        odd = y % 2 != 0
        by_base = xp.where(x == 1, 1, xp.where(x == -1, xp.where(odd, -1, 1), 0))
        return xp.where(y < 0, by_base.astype(x.dtype), positive)
    return xp.power(x, y.astype(x.dtype)).astype(x.dtype)


def pow_partial_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """y x^(y - 1), and 0 where y is 0 whatever x is."""
    zero = eq(y, full_like(y, 0))
    exponent = select_n(zero, sub(y, full_like(y, 1)), full_like(y, 1))
    slope = mul(convert(y, aval_of(x).dtype), pow_p.bind1(x, exponent))
    return mul(t, slope)


def pow_partial_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    """x^y log x, with 0 in place of log 0."""
    if dtypes.issubdtype(aval_of(y).dtype, np.integer):
        return None
    zero = eq(x, full_like(x, 0))
    safe = select_n(zero, x, full_like(x, 1))
    return mul(t, mul(log(safe), out))


evaluate_rules[pow_p] = single(pow_evaluate)
abstract_rules[pow_p] = pure(pow_abstract)
batching.elementwise(pow_p)
forward.elementwise(pow_p, pow_partial_base, pow_partial_exponent)


def integer_pow_abstract(x: ShapedArray, y: int) -> ShapedArray:
    check_dtype("integer_pow", 0, x, NUMBER)
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"Integers cannot be raised to negative powers: {x.str_short()} ** {y}. Convert the "
            "base to a float dtype first."
        )
    return x


def integer_pow_evaluate(xp: Any, x: Any, y: int) -> Any:
    if y == 0:
        return xp.ones_like(x)
    power, result, left = x, None, y if y > 0 else -y
    while left:
        if left & 1:
            result = power if result is None else result * power
        left >>= 1
        if left:
            power = power * power
    return x.dtype.type(1) / result if y < 0 else result


evaluate_rules[integer_pow_p] = single(integer_pow_evaluate)
abstract_rules[integer_pow_p] = pure(integer_pow_abstract)
batching.elementwise(integer_pow_p)
forward.elementwise(
    integer_pow_p,
    lambda t, out, x, y: None if y == 0 else mul(t, mul(scalar_like(y, x), integer_pow(x, y - 1))),
)


# two-argument real functions

elementwise(atan2_p, INEXACT, lambda xp, x, y: _atan2(xp, x, y))
forward.elementwise(
    atan2_p,
    lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
    lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
)

elementwise(nextafter_p, FLOAT, lambda xp, x, y: xp.nextafter(x, y))
forward.zero_derivative(nextafter_p)


def _atan2(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.arctan2(x, y)
    return -1j * xp.log((y + 1j * x) / xp.sqrt(x * x + y * y))


# abs, sign, rounding


def abs_forward(t: Any, out: Any, x: Any) -> Any:
    if not is_complex(x):
        return mul(t, sign_at_zero_one(x))
    # d|z| = Re(conj(z) dz) / |z|, taken as 0 at z = 0.
    zero = eq(out, full_like(out, 0))
    safe = select_n(zero, out, full_like(out, 1))
    unit_conj = div(conj(x), complex(safe, full_like(safe, 0)))
    return real(mul(t, unit_conj))


def sign_at_zero_one(x: Any) -> Any:
    return select_n(lt(x, full_like(x, 0)), full_like(x, 1), full_like(x, -1))


elementwise(abs_p, NUMBER, lambda xp, x: xp.abs(x), real_dtype)
forward.elementwise(abs_p, abs_forward)

def sign_evaluate(xp: Any, x: Any) -> Any:
    sign = xp.sign(x)
    # NumPy loses the sign of -0.
    return xp.copysign(sign, x) if dtypes.issubdtype(x.dtype, np.floating) else sign


elementwise(sign_p, NUMBER, sign_evaluate)
forward.elementwise(sign_p, lambda t, out, x: sign_forward(t, x))


def sign_forward(t: Any, x: Any) -> Any:
    """Zero for real x; the turning of the unit vector z/|z| for complex z."""
    if not is_complex(x):
        return None
    size = abs(x)
    along = real(mul(t, div(conj(x), complex(size, full_like(size, 0)))))
    radial = complex(along, full_like(along, 0))
    return div(sub(t, mul(radial, sign(x))), complex(size, full_like(size, 0)))


for _primitive, _ufunc in ((floor_p, "floor"), (ceil_p, "ceil")):
    elementwise(_primitive, FLOAT, lambda xp, x, _ufunc=_ufunc: getattr(xp, _ufunc)(x))
    forward.zero_derivative(_primitive)


def round_evaluate(xp: Any, x: Any, rounding_method: int) -> Any:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return xp.rint(x)
    whole = xp.trunc(x)
    up = xp.abs(x - whole) >= x.dtype.type(0.5)
    return xp.copysign(xp.where(up, whole + xp.copysign(x.dtype.type(1), x), whole), x)


elementwise(round_p, FLOAT, round_evaluate)
forward.zero_derivative(round_p)


# powers and roots

elementwise(square_p, NUMBER, lambda xp, x: xp.multiply(x, x))
forward.elementwise(square_p, lambda t, out, x: mul(t, mul(scalar_like(2, x), x)))

elementwise(sqrt_p, INEXACT, lambda xp, x: xp.sqrt(x))
forward.elementwise(sqrt_p, lambda t, out, x: mul(t, div(full_like(out, 0.5), out)))

elementwise(rsqrt_p, INEXACT, lambda xp, x: x.dtype.type(1) / xp.sqrt(x))
forward.elementwise(rsqrt_p, lambda t, out, x: mul(t, mul(scalar_like(-0.5, x), div(out, x))))

elementwise(cbrt_p, FLOAT, lambda xp, x: xp.cbrt(x))
forward.elementwise(cbrt_p, lambda t, out, x: mul(t, div(out, mul(scalar_like(3, x), x))))


# exponentials and logarithms

elementwise(exp_p, INEXACT, lambda xp, x: xp.exp(x))
forward.elementwise(exp_p, lambda t, out, x: mul(t, out))

elementwise(exp2_p, INEXACT, lambda xp, x: xp.exp2(x))
forward.elementwise(exp2_p, lambda t, out, x: mul(mul(scalar_like(np.log(2), x), t), out))

elementwise(expm1_p, INEXACT, lambda xp, x: xp.expm1(x))
forward.elementwise(expm1_p, lambda t, out, x: mul(t, add(out, scalar_like(1, out))))

elementwise(log_p, INEXACT, lambda xp, x: xp.log(x))
forward.elementwise(log_p, lambda t, out, x: div(t, x))

elementwise(log1p_p, INEXACT, lambda xp, x: xp.log1p(x))
forward.elementwise(log1p_p, lambda t, out, x: div(t, add(x, scalar_like(1, x))))


def logistic_evaluate(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize < 4:
        wide = x.astype(np.float32)
        return (1 / (1 + xp.exp(-wide))).astype(x.dtype)
    one = x.dtype.type(1)
    return one / (one + xp.exp(-x))


elementwise(logistic_p, INEXACT, logistic_evaluate)
forward.elementwise(logistic_p, lambda t, out, x: mul(t, mul(out, sub(scalar_like(1, out), out))))


# trigonometric and hyperbolic functions


def one_minus_square(x: Any) -> Any:
    return sub(scalar_like(1, x), square(x))


elementwise(sin_p, INEXACT, lambda xp, x: xp.sin(x))
forward.elementwise(sin_p, lambda t, out, x: mul(t, cos(x)))

elementwise(cos_p, INEXACT, lambda xp, x: xp.cos(x))
forward.elementwise(cos_p, lambda t, out, x: neg(mul(t, sin(x))))

elementwise(tan_p, INEXACT, lambda xp, x: xp.tan(x))
forward.elementwise(tan_p, lambda t, out, x: mul(t, add(scalar_like(1, out), square(out))))

elementwise(asin_p, INEXACT, lambda xp, x: xp.arcsin(x))
forward.elementwise(asin_p, lambda t, out, x: mul(t, rsqrt(one_minus_square(x))))

elementwise(acos_p, INEXACT, lambda xp, x: xp.arccos(x))
forward.elementwise(acos_p, lambda t, out, x: mul(t, neg(rsqrt(one_minus_square(x)))))

elementwise(atan_p, INEXACT, lambda xp, x: xp.arctan(x))
forward.elementwise(atan_p, lambda t, out, x: div(t, add(scalar_like(1, x), square(x))))

elementwise(sinh_p, INEXACT, lambda xp, x: xp.sinh(x))
forward.elementwise(sinh_p, lambda t, out, x: mul(t, cosh(x)))

elementwise(cosh_p, INEXACT, lambda xp, x: xp.cosh(x))
forward.elementwise(cosh_p, lambda t, out, x: mul(t, sinh(x)))

elementwise(tanh_p, INEXACT, lambda xp, x: xp.tanh(x))
forward.elementwise(tanh_p, lambda t, out, x: mul(t, one_minus_square(out)))

elementwise(asinh_p, INEXACT, lambda xp, x: xp.arcsinh(x))
forward.elementwise(asinh_p, lambda t, out, x: mul(t, rsqrt(add(square(x), scalar_like(1, x)))))

elementwise(acosh_p, INEXACT, lambda xp, x: xp.arccosh(x))
forward.elementwise(
    acosh_p,
    lambda t, out, x: mul(
        t, mul(rsqrt(sub(x, scalar_like(1, x))), rsqrt(add(x, scalar_like(1, x))))
    ),
)

elementwise(atanh_p, INEXACT, lambda xp, x: xp.arctanh(x))
forward.elementwise(atanh_p, lambda t, out, x: div(t, one_minus_square(x)))


# complex parts: linear over the reals


def complex_dtype(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def zero_imaginary(x: Any) -> Any:
    return complex(x, full_like(x, 0))


elementwise(real_p, COMPLEX, lambda xp, x: xp.ascontiguousarray(x.real), real_dtype)
forward.elementwise(real_p, lambda t, out, x: real(t))
backward.unary(real_p, lambda ct, x: zero_imaginary(ct))

elementwise(imag_p, COMPLEX, lambda xp, x: xp.ascontiguousarray(x.imag), real_dtype)
forward.elementwise(imag_p, lambda t, out, x: imag(t))
# JAX's convention: the cotangent of z pairs with dz without conjugation, so imag gives -i ct.
backward.unary(imag_p, lambda ct, x: complex(full_like(ct, 0), neg(ct)))

def complex_evaluate(xp: Any, x: Any, y: Any) -> Any:
    out = xp.empty(np.broadcast_shapes(x.shape, y.shape), complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


elementwise(complex_p, FLOAT, complex_evaluate, complex_dtype)
forward.elementwise(
    complex_p,
    lambda t, out, x, y: zero_imaginary(t),
    lambda t, out, x, y: complex(full_like(t, 0), t),
)
backward.elementwise(complex_p, lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct)))



def conj_evaluate(xp: Any, x: Any, input_dtype: Any) -> Any:
    return xp.conjugate(x).astype(complex_dtype(x.dtype), copy=False)


def conj_backward(ct: Any, x: Any, input_dtype: Any) -> Any:
    return conj(ct) if is_complex(x) else real(ct)


elementwise(conj_p, (np.float32, np.float64, np.complexfloating), conj_evaluate, complex_dtype)
forward.elementwise(conj_p, lambda t, out, x, input_dtype: conj(t))
backward.unary(conj_p, conj_backward)
