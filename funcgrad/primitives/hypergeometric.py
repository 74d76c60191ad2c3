"""The hypergeometric functions 1F1 and 2F1: values from SciPy, parameter derivatives by series.

A derivative in a parameter is differentiable in x again, but not in the parameters.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.basis import add, mul, neg, scalar_like
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.incomplete import broadcast_all
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.primitives.special import in_float64, no_derivative
from funcgrad.transforms import forward

hyp1f1_p = Primitive("hyp1f1")
hyp2f1_p = Primitive("hyp2f1")
hyp1f1_grad_p = Primitive("hyp1f1_grad")
hyp2f1_grad_p = Primitive("hyp2f1_grad")


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function 1F1(a; b; x), the sum of (a)_k x^k / ((b)_k k!)."""
    return hyp1f1_p.bind(a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's function 2F1(a, b; c; x), the sum of (a)_k (b)_k x^k / ((c)_k k!); inf for x > 1."""
    return hyp2f1_p.bind(a, b, c, x)


# The series are summed to the last digit; where that takes more terms, the sum is nan.
_MOST_TERMS = 20000
_TERMS_AT_ONCE = 16


def series(xp: Any, above: Sequence[Any], below: Sequence[Any], x: Any) -> list[Any]:
    """The sum of x^k / k! times rising factorials, and its derivatives in `above` and `below`.

    The derivatives of each term follow from those of the term before, without division by a
    parameter of `above`, which may be 0 or a negative integer.
    """
    count = len(above) + len(below)
    terms = [xp.ones_like(x)] + [xp.zeros_like(x)] * count
    totals = list(terms)
    for k in range(_MOST_TERMS):
        numerators = [a + k for a in above]
        ratio = x / (k + 1)
        for b in below:
            ratio = ratio / (b + k)
        whole = ratio
        for a in numerators:
            whole = whole * a
        following = [terms[0] * whole]
        for i in range(len(above)):
            others = ratio
            for j, a in enumerate(numerators):
                others = others * (1.0 if j == i else a)
            following.append(terms[1 + i] * whole + terms[0] * others)
        for i, b in enumerate(below):
            following.append((terms[1 + len(above) + i] - terms[0] / (b + k)) * whole)
        terms = following
        totals = [total + term for total, term in zip(totals, terms, strict=True)]
        if k % _TERMS_AT_ONCE == 0 and not any(map(grows, terms, totals)):
            return totals
    unfinished = [abs(t) > 1e-16 * abs(s) for t, s in zip(terms, totals, strict=True)]
    return [xp.where(u, np.nan, s) for u, s in zip(unfinished, totals, strict=True)]


def grows(term: Any, total: Any) -> bool:
    return bool((abs(term) > 1e-17 * abs(total)).any())


def hyp1f1_evaluate(special: Any, xp: Any, a: Any, b: Any, x: Any) -> Any:
    out = special.hyp1f1(a, b, x)
    out = xp.where(a == b, xp.exp(x), out)
    out = xp.where(b == 0, np.inf, out)
    return xp.where(a == 0, 1.0, out)


def hyp1f1_grad_evaluate(special: Any, xp: Any, a: Any, b: Any, x: Any, wrt: int) -> Any:
    """For x < 0 by Kummer's formula, e^x 1F1(b - a; b; -x), whose terms have one sign."""
    a, b, x = xp.broadcast_arrays(a, b, x)
    turned = x < 0
    first = xp.where(turned, b - a, a)
    _, of_first, of_b = series(xp, [first], [b], abs(x))
    factor = xp.where(turned, xp.exp(xp.minimum(x, 0.0)), 1.0)
    if wrt == 0:
        return factor * xp.where(turned, -of_first, of_first)
    return factor * xp.where(turned, of_first + of_b, of_b)


def hyp2f1_grad_evaluate(special: Any, xp: Any, a: Any, b: Any, c: Any, x: Any, wrt: int) -> Any:
    """For x < 0 by Pfaff's formula, (1 - x)^-a 2F1(a, c - b; c; x / (x - 1))."""
    a, b, c, x = xp.broadcast_arrays(a, b, c, x)
    inside, turned = x < 1, x < 0
    x = xp.where(inside, x, 0.0)
    second = xp.where(turned, c - b, b)
    at = xp.where(turned, x / (x - 1), x)
    total, of_a, of_second, of_c = series(xp, [a, second], [c], at)
    logarithm = xp.where(turned, xp.log1p(-x), 0.0)
    factor = xp.exp(-a * logarithm)
    partials = (
        of_a - logarithm * total,
        xp.where(turned, -of_second, of_second),
        xp.where(turned, of_second + of_c, of_c),
    )
    return xp.where(inside, factor * partials[wrt], np.nan)


def shifted(function: Callable, params: Sequence[Any], x: Any, **settings: Any) -> Any:
    """The function with all parameters one larger."""
    return function(*(add(p, scalar_like(1, p)) for p in params), x, **settings)


def hyp1f1_partial_x(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    return mul(t, mul(div(a, b), shifted(hyp1f1, (a, b), x)))


def hyp2f1_partial_x(t: Any, out: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    return mul(t, mul(div(mul(a, b), c), shifted(hyp2f1, (a, b, c), x)))


def hyp1f1_grad_partial_x(t: Any, out: Any, a: Any, b: Any, x: Any, wrt: int) -> Any:
    """The derivative in a parameter of a/b 1F1(a + 1; b + 1; x)."""
    a, b, x = broadcast_all(a, b, x)
    one = scalar_like(1, x)
    of_ratio = (div(one, b), neg(div(a, mul(b, b))))[wrt]
    rest = mul(div(a, b), shifted(hyp1f1_grad_p.bind, (a, b), x, wrt=wrt))
    return mul(t, add(mul(of_ratio, shifted(hyp1f1, (a, b), x)), rest))


def hyp2f1_grad_partial_x(t: Any, out: Any, a: Any, b: Any, c: Any, x: Any, wrt: int) -> Any:
    """The derivative in a parameter of ab/c 2F1(a + 1, b + 1; c + 1; x)."""
    a, b, c, x = broadcast_all(a, b, c, x)
    product = mul(a, b)
    of_ratio = (div(b, c), div(a, c), neg(div(product, mul(c, c))))[wrt]
    rest = mul(div(product, c), shifted(hyp2f1_grad_p.bind, (a, b, c), x, wrt=wrt))
    return mul(t, add(mul(of_ratio, shifted(hyp2f1, (a, b, c), x)), rest))


def in_parameter(primitive: Primitive, i: int) -> Callable:
    return lambda t, out, *args: mul(t, primitive.bind(*args, wrt=i))


once = no_derivative("A hypergeometric function is differentiable only once", "its parameters")

elementwise(hyp1f1_p, FLOAT, in_float64(hyp1f1_evaluate))
forward.elementwise(
    hyp1f1_p, in_parameter(hyp1f1_grad_p, 0), in_parameter(hyp1f1_grad_p, 1), hyp1f1_partial_x
)

elementwise(hyp1f1_grad_p, FLOAT, in_float64(hyp1f1_grad_evaluate))
forward.elementwise(hyp1f1_grad_p, once, once, hyp1f1_grad_partial_x)

elementwise(hyp2f1_p, FLOAT, in_float64(lambda special, xp, *args: special.hyp2f1(*args)))
forward.elementwise(hyp2f1_p, *(in_parameter(hyp2f1_grad_p, i) for i in range(3)), hyp2f1_partial_x)

elementwise(hyp2f1_grad_p, FLOAT, in_float64(hyp2f1_grad_evaluate))
forward.elementwise(hyp2f1_grad_p, once, once, once, hyp2f1_grad_partial_x)
