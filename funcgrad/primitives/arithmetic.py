"""Elementwise arithmetic: sums, products, quotients, extrema, absolute values and rounding."""

from functools import partial
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import (
    add_p,
    broadcast_to_shape,
    convert,
    eq,
    full_like,
    mul,
    mul_p,
    neg,
    neg_p,
    select_n,
)
from funcgrad.base.config import config
from funcgrad.base.trace import Primitive
from funcgrad.compiler import lowering
from funcgrad.compiler.elementary import neighbor
from funcgrad.compiler.loops import FLOATS, SIGNED, UNSIGNED, Expr
from funcgrad.primitives.compare import lt
from funcgrad.primitives.complex_parts import conj, is_complex, real, zero_imaginary
from funcgrad.primitives.nary import (
    ANY,
    FLOAT,
    NUMBER,
    REAL,
    SMALL,
    by_float32,
    by_int32,
    elementwise,
    real_dtype,
    ufunc,
)
from funcgrad.transforms import backward, forward

sub_p = Primitive("sub")
div_p = Primitive("div")
rem_p = Primitive("rem")
max_p = Primitive("max")
min_p = Primitive("min")
abs_p = Primitive("abs")
sign_p = Primitive("sign")
floor_p = Primitive("floor")
ceil_p = Primitive("ceil")
round_p = Primitive("round")
nextafter_p = Primitive("nextafter")


def sub(x: Any, y: Any) -> Any:
    """Elementwise x - y."""
    return sub_p.bind(x, y)


def div(x: Any, y: Any) -> Any:
    """Elementwise x / y; integers are rounded towards zero, and x / 0 is -1."""
    return div_p.bind(x, y)


def rem(x: Any, y: Any) -> Any:
    """The remainder of `div`, with the sign of x; for integers x rem 0 is x."""
    return rem_p.bind(x, y)


def max(x: Any, y: Any) -> Any:
    """The elementwise maximum; nan if either is nan. Ties share the gradient equally."""
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:
    """The elementwise minimum; nan if either is nan. Ties share the gradient equally."""
    return min_p.bind(x, y)


def abs(x: Any) -> Any:
    """|x|, real for complex x. The gradient at 0 is that of the right side, 1 (complex: 0)."""
    return abs_p.bind(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1 by the sign of x, nan for nan; x / |x| for complex x."""
    return sign_p.bind(x)


def floor(x: Any) -> Any:
    """The largest integer not above x."""
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    """The smallest integer not below x."""
    return ceil_p.bind(x)


class RoundingMethod(int):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: Any, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer; halves go away from zero, or to the even one."""
    return round_p.bind(x, rounding_method=int(rounding_method))


def nextafter(x1: Any, x2: Any) -> Any:
    """The neighbour of x1, among the numbers of its dtype, on the side of x2."""
    return nextafter_p.bind(x1, x2)


# add, sub, neg, mul, div, rem

elementwise(add_p, NUMBER, lambda xp, x, y: xp.add(x, y))
forward.elementwise(add_p, lambda t, out, x, y: t, lambda t, out, x, y: t)
backward.elementwise(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
lowering.elementwise(add_p, lowering.fused_add)

elementwise(sub_p, NUMBER, lambda xp, x, y: xp.subtract(x, y))
forward.elementwise(sub_p, lambda t, out, x, y: t, lambda t, out, x, y: neg(t))
backward.elementwise(sub_p, lambda ct, x, y: ct, lambda ct, x, y: neg(ct))
lowering.elementwise(sub_p, lowering.fused_subtract)

elementwise(
    neg_p,
    NUMBER,
    lambda xp, x: xp.negative(x) if x.dtype not in SMALL else by_int32(xp.negative, x),
)
forward.elementwise(neg_p, lambda t, out, x: neg(t))
backward.elementwise(neg_p, lambda ct, x: neg(ct))
lowering.elementwise(neg_p, lambda x: -x)


def ct_times(ct: Any, factor: Any) -> Any:
    """The cotangent of one factor of a product; with `zero_safe_gradients`, 0 * inf is 0."""
    product = mul(ct, factor)
    if not config.zero_safe_gradients:
        return product
    zero = full_like(product, 0)
    one_way = select_n(eq(ct, zero), product, zero)
    return select_n(eq(broadcast_to_shape(factor, aval_of(ct).shape), zero), one_way, zero)


def ct_over(ct: Any, divisor: Any) -> Any:
    """The cotangent of a dividend; with `zero_safe_gradients`, 0 / 0 is 0."""
    quotient = div(ct, divisor)
    if not config.zero_safe_gradients:
        return quotient
    zero = full_like(quotient, 0)
    return select_n(eq(ct, zero), quotient, zero)


elementwise(mul_p, NUMBER, lambda xp, x, y: xp.multiply(x, y))
forward.elementwise(mul_p, lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))
backward.elementwise(mul_p, lambda ct, x, y: ct_times(ct, y), lambda ct, x, y: ct_times(ct, x))
lowering.elementwise(mul_p, lambda x, y: x * y)


def div_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        if x.dtype in SMALL:
            return by_int32(partial(div_evaluate, xp), x, y)
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
backward.elementwise(div_p, lambda ct, x, y: ct_over(ct, y), None)
lowering.elementwise(div_p, lambda x, y: x / y)


def rem_evaluate(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        if x.dtype in SMALL:
            return by_int32(partial(rem_evaluate, xp), x, y)
        return xp.fmod(x, y)
    zero = y == 0
    return xp.where(zero, x, xp.fmod(x, xp.where(zero, y.dtype.type(1), y)))


def trunc(x: Any) -> Any:
    return select_n(lt(x, full_like(x, 0)), floor(x), ceil(x))


elementwise(rem_p, REAL, rem_evaluate)
forward.elementwise(
    rem_p,
    lambda t, out, x, y: t,
    lambda t, out, x, y: mul(t, neg(trunc(div(x, y)))),
)
lowering.elementwise(rem_p, lambda x, y: x.apply("rem", y))


# max, min: where operands tie, each gets half of the derivative


def winner_share(out: Any, mine: Any, other: Any) -> Any:
    share = select_n(eq(other, out), full_like(out, 1), full_like(out, 0.5))
    return mul(convert(eq(mine, out), aval_of(out).dtype), share)


for _primitive, _name in ((max_p, "maximum"), (min_p, "minimum")):
    elementwise(_primitive, ANY, ufunc(_name))
    forward.elementwise(
        _primitive,
        lambda t, out, x, y: mul(t, winner_share(out, x, y)),
        lambda t, out, x, y: mul(t, winner_share(out, y, x)),
    )

lowering.elementwise(max_p, lambda x, y: lowering.extremum("max", x, y))
lowering.elementwise(min_p, lambda x, y: lowering.extremum("min", x, y))


# abs, sign


def abs_forward(t: Any, out: Any, x: Any) -> Any:
    if not is_complex(x):
        return mul(t, select_n(lt(x, full_like(x, 0)), full_like(x, 1), full_like(x, -1)))
    # d|z| = Re(conj(z) dz) / |z|, taken as 0 at z = 0.
    safe = select_n(eq(out, full_like(out, 0)), out, full_like(out, 1))
    return real(mul(t, div(conj(x), zero_imaginary(safe))))


elementwise(abs_p, NUMBER, lambda xp, x: by_int32(xp.abs, x), real_dtype)
forward.elementwise(abs_p, abs_forward)
lowering.elementwise(abs_p, lambda x: x if x.dtype in UNSIGNED else x.apply("abs"))


def sign_evaluate(xp: Any, x: Any) -> Any:
    sign = by_int32(xp.sign, x)
    # NumPy loses the sign of -0.
    return xp.copysign(sign, x) if dtypes.issubdtype(x.dtype, np.floating) else sign


def sign_forward(t: Any, out: Any, x: Any) -> Any:
    """Zero for real x; the turning of the unit vector z/|z| for complex z."""
    if not is_complex(x):
        return None
    size = zero_imaginary(abs(x))
    along = real(mul(t, div(conj(x), size)))
    return div(sub(t, mul(zero_imaginary(along), out)), size)


elementwise(sign_p, NUMBER, sign_evaluate)
forward.elementwise(sign_p, sign_forward)


def sign_lower(x: Expr) -> Expr:
    """Of a float, 1 with its sign but for zeros and nan, which stay."""
    below = x.graph.select(x < 0, lowering.constant(x.graph, -1, x.dtype), x)
    kept = below if x.dtype in FLOATS + SIGNED else x
    return x.graph.select(x > 0, lowering.constant(x.graph, 1, x.dtype), kept)


lowering.elementwise(sign_p, sign_lower)


# rounding


def round_evaluate(xp: Any, x: Any, rounding_method: int) -> Any:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return by_float32(xp.rint, x)

    def away_from_zero(x: Any) -> Any:
        whole = xp.trunc(x)
        up = xp.abs(x - whole) >= x.dtype.type(0.5)
        return xp.copysign(xp.where(up, whole + xp.copysign(x.dtype.type(1), x), whole), x)

    return by_float32(away_from_zero, x)


for _primitive, _evaluate in (
    (floor_p, ufunc("floor")),
    (ceil_p, ufunc("ceil")),
    (round_p, round_evaluate),
    (nextafter_p, ufunc("nextafter")),
):
    elementwise(_primitive, FLOAT, _evaluate)
    forward.zero_derivative(_primitive)


def round_lower(x: Expr, rounding_method: int) -> Expr:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return x.apply("round")
    whole, graph = x.apply("trunc"), x.graph
    away = whole + graph.select(x < 0, -1.0, graph.const(1, x.dtype))
    return graph.select((x - whole).apply("abs") >= 0.5, away, whole)


lowering.elementwise(floor_p, lambda x: x.apply("floor"))
lowering.elementwise(ceil_p, lambda x: x.apply("ceil"))
lowering.elementwise(round_p, round_lower)
lowering.elementwise(nextafter_p, neighbor.nextafter)
lowering.refuse_narrow(nextafter_p)
