"""Powers and roots, exponentials and logarithms, each with its derivative in its usual form."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import add, convert, eq, full_like, mul, scalar_like, select_n
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.elementary import exponential, logarithm, powers
from funcgrad.compiler.loops import BITS, FLOATS, SIGNED, Expr
from funcgrad.primitives.arithmetic import div, sub
from funcgrad.primitives.nary import (
    FLOAT,
    INEXACT,
    NUMBER,
    by_float32,
    check_dtype,
    elementwise,
    nary_shape,
)
from funcgrad.transforms import batching, forward

square_p = Primitive("square")
integer_pow_p = Primitive("integer_pow")
pow_p = Primitive("pow")
sqrt_p = Primitive("sqrt")
rsqrt_p = Primitive("rsqrt")
cbrt_p = Primitive("cbrt")
exp_p = Primitive("exp")
exp2_p = Primitive("exp2")
expm1_p = Primitive("expm1")
log_p = Primitive("log")
log1p_p = Primitive("log1p")
logistic_p = Primitive("logistic")


def square(x: Any) -> Any:
    """x * x."""
    return square_p.bind(x)


def integer_pow(x: Any, y: int) -> Any:
    """x to a fixed integer power, by repeated multiplication."""
    return integer_pow_p.bind(x, y=int(y))


def pow(x: Any, y: Any) -> Any:
    """Elementwise x ** y; y has the dtype of x or is an integer.

    The derivative with respect to y at x = 0 is taken as 0, where the formula has log(0).
    """
    if isinstance(y, int) and not isinstance(y, bool):
        return integer_pow(x, y)
    return pow_p.bind(x, y)


def reciprocal(x: Any) -> Any:
    """1 / x."""
    return integer_pow(x, -1)


def sqrt(x: Any) -> Any:
    """The square root; nan below zero, and for complex x the one with real part >= 0."""
    return sqrt_p.bind(x)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return rsqrt_p.bind(x)


def cbrt(x: Any) -> Any:
    """The real cube root, negative for negative x."""
    return cbrt_p.bind(x)


def exp(x: Any) -> Any:
    """e to the x."""
    return exp_p.bind(x)


def exp2(x: Any) -> Any:
    """2 to the x."""
    return exp2_p.bind(x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, accurate near 0."""
    return expm1_p.bind(x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return log_p.bind(x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    return log1p_p.bind(x)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return logistic_p.bind(x)


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
    slope = mul(convert(y, aval_of(x).dtype), pow_p.bind(x, exponent))
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


def integer_power_lower(x: Expr, y: Expr) -> Expr:
    """The product of those of x, x^2, x^4, ... that the bits of y name."""
    if y.op == "const" and y.data >= 0:
        return powers.integer_pow(x, y.data)
    graph = x.graph
    one, power = graph.const(1, x.dtype), x
    result = one
    for bit in range(BITS[y.dtype] - (y.dtype in SIGNED)):
        result = result * graph.select((y & (1 << bit)).ne(0), power, one)
        power = power * power
    if y.dtype not in SIGNED:
        return result
    minus = lowering.constant(graph, -1, x.dtype)
    turned = graph.select((y & 1).ne(0), minus, one)
    negative = graph.select(x.eq(1), one, graph.select(x.eq(-1), turned, 0))
    return graph.select(y < 0, negative, result)


lowering.elementwise(
    pow_p, lambda x, y: (powers.pow if x.dtype in FLOATS else integer_power_lower)(x, y)
)


def integer_pow_abstract(x: ShapedArray, y: int) -> ShapedArray:
    check_dtype("integer_pow", 0, x, NUMBER)
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"A negative power of an integer is no integer: {x.str_short()} ** {y}. Convert the "
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
lowering.elementwise(integer_pow_p, lambda x, y: powers.integer_pow(x, y))
lowering.refuse_narrow(integer_pow_p)  # each product is rounded


# roots

elementwise(square_p, NUMBER, lambda xp, x: xp.multiply(x, x))
forward.elementwise(square_p, lambda t, out, x: mul(t, mul(scalar_like(2, x), x)))
lowering.elementwise(square_p, lambda x: x * x)

elementwise(sqrt_p, INEXACT, lambda xp, x: xp.sqrt(x))
forward.elementwise(sqrt_p, lambda t, out, x: mul(t, div(full_like(out, 0.5), out)))
lowering.elementwise(sqrt_p, lambda x: x.apply("sqrt"))


def rsqrt_evaluate(xp: Any, x: Any) -> Any:
    return by_float32(lambda x: x.dtype.type(1) / xp.sqrt(x), x)


elementwise(rsqrt_p, INEXACT, rsqrt_evaluate)
forward.elementwise(rsqrt_p, lambda t, out, x: mul(t, mul(scalar_like(-0.5, x), div(out, x))))
lowering.elementwise(rsqrt_p, powers.rsqrt)

elementwise(cbrt_p, FLOAT, lambda xp, x: xp.cbrt(x))
forward.elementwise(cbrt_p, lambda t, out, x: mul(t, div(out, mul(scalar_like(3, x), x))))
lowering.elementwise(cbrt_p, powers.cbrt)


# exponentials and logarithms

elementwise(exp_p, INEXACT, lambda xp, x: xp.exp(x))
forward.elementwise(exp_p, lambda t, out, x: mul(t, out))
lowering.elementwise(exp_p, exponential.exp)

elementwise(exp2_p, INEXACT, lambda xp, x: xp.exp2(x))
forward.elementwise(exp2_p, lambda t, out, x: mul(mul(scalar_like(np.log(2), x), t), out))
lowering.elementwise(exp2_p, exponential.exp2)

elementwise(expm1_p, INEXACT, lambda xp, x: xp.expm1(x))
forward.elementwise(expm1_p, lambda t, out, x: mul(t, add(out, scalar_like(1, out))))
lowering.elementwise(expm1_p, exponential.expm1)

elementwise(log_p, INEXACT, lambda xp, x: xp.log(x))
forward.elementwise(log_p, lambda t, out, x: div(t, x))
lowering.elementwise(log_p, logarithm.log)

elementwise(log1p_p, INEXACT, lambda xp, x: xp.log1p(x))
forward.elementwise(log1p_p, lambda t, out, x: div(t, add(x, scalar_like(1, x))))
lowering.elementwise(log1p_p, logarithm.log1p)


def logistic_evaluate(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize < 4:
        wide = x.astype(np.float32)
        return (1 / (1 + xp.exp(-wide))).astype(x.dtype)
    one = x.dtype.type(1)
    return one / (one + xp.exp(-x))


elementwise(logistic_p, INEXACT, logistic_evaluate)
forward.elementwise(logistic_p, lambda t, out, x: mul(t, mul(out, sub(scalar_like(1, out), out))))
lowering.elementwise(logistic_p, exponential.logistic)
