"""The incomplete gamma and beta functions, and their derivatives with respect to the parameters.

A derivative with respect to a parameter has no closed form. It is an integral along the half line,
scaled so that its integrand falls from about 1 within a few units, and summed at fixed points.
"""

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np

from funcgrad.base.aval import aval_of
from funcgrad.base.basis import (
    add,
    broadcast_to_shape,
    eq,
    full_like,
    mul,
    neg,
    scalar_like,
    select_n,
)
from funcgrad.base.trace import Primitive
from funcgrad.primitives.elementwise import div, exp, log, log1p, sub
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.primitives.special import digamma, in_float64, lgamma, no_derivative, polygamma
from funcgrad.transforms import forward

igamma_p = Primitive("igamma")
igammac_p = Primitive("igammac")
igamma_grad_a_p = Primitive("igamma_grad_a")
igamma_grad_ratio_p = Primitive("igamma_grad_ratio")
regularized_incomplete_beta_p = Primitive("regularized_incomplete_beta")
regularized_incomplete_beta_grad_p = Primitive("regularized_incomplete_beta_grad")


def igamma(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function: the cdf of Gamma(a, 1) at x."""
    return igamma_p.bind1(a, x)


def igammac(a: Any, x: Any) -> Any:
    """1 - igamma(a, x), accurate also where igamma is close to 1."""
    return igammac_p.bind1(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to a."""
    return igamma_grad_a_p.bind1(a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """How a sample x of Gamma(a, 1) moves with a, its place among all samples held fixed."""
    return neg(igamma_grad_ratio_p.bind1(a, x, order=1))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function: the cdf of Beta(a, b) at x.

    Differentiable with respect to all three arguments; once only with respect to a and b.
    """
    return regularized_incomplete_beta_p.bind1(a, b, x)


# The double exponential rule for integrals from 0 to infinity: 91 points, good for 13 digits where
# the integrand falls like exp(-u) or exp(-u^2) and does not vary within much less than 1.
_STEP = 1 / 12
_LINE = np.arange(-45, 46) * _STEP
_POINTS = np.exp(_LINE - np.exp(-_LINE))
_WEIGHTS = _POINTS * (1 + np.exp(-_LINE)) * _STEP


def integrals(integrands: Callable[[Any], Sequence[Any]], scale: Any) -> list[Any]:
    """Integrals over u > 0 of functions that fall within a few times `scale`, elementwise."""
    rows = (
        [weight * f for f in integrands(point * scale)]
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True)
    )
    totals = next(rows)
    for row in rows:
        totals = [total + term for total, term in zip(totals, row, strict=True)]
    return [total * scale for total in totals]


def times_log(c: Any, x: Any) -> Any:
    """c log(x), and 0 where c is 0."""
    zero = eq(c, full_like(c, 0))
    return select_n(zero, mul(c, log(select_n(zero, x, full_like(x, 1)))), full_like(x, 0))


def broadcast_all(*values: Any) -> list[Any]:
    """Operands of an elementwise primitive in their common shape."""
    shapes = [aval_of(v).shape for v in values]
    shape = np.broadcast_shapes(*shapes)
    return [broadcast_to_shape(v, shape) for v in values]


# incomplete gamma functions


def gamma_density(a: Any, x: Any) -> Any:
    a, x = broadcast_all(a, x)
    return exp(sub(sub(times_log(sub(a, scalar_like(1, a)), x), x), lgamma(a)))


def moments(logs: Sequence[Any], multiply: Callable, plus: Callable) -> list[Any]:
    """f^(n) / f for n = 1, 2, ... from the derivatives of log f, by the recursion of Bell."""
    found: list[Any] = []
    for n in range(len(logs)):
        total = logs[n]
        for k in range(n):
            total = plus(total, multiply(comb(n, k), multiply(logs[k], found[n - 1 - k])))
        found.append(total)
    return found


def igamma_grad_ratio_evaluate(special: Any, xp: Any, a: Any, x: Any, order: int) -> Any:
    """The order-th derivative of P(a, x) = igamma with respect to a, over the density at x.

    P is x^a e^-x / Gamma(a + 1) times 1 + x times the integral of exp(x (1 - e^-u) - (a + 1) u),
    1 - P is x^a e^-x / Gamma(a) times the integral of exp(x (1 - e^u) + a u); the first is used
    where x is below a or 2. Each derivative with respect to a brings a power of u.
    """
    inside = (x > 0) & (a > 0) & (x < np.inf) & (a < np.inf)
    a, x = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    lower = (x <= 2) | (x <= a)
    sign = xp.where(lower, -1.0, 1.0)
    rate = xp.where(lower, a + 1, -a)

    def powers(u: Any) -> list[Any]:
        terms = [xp.exp(-(rate * u + x * xp.expm1(sign * u)))]
        for _ in range(order):
            terms.append(terms[-1] * sign * u)
        return terms

    factor = integrals(powers, 1 / (rate + sign * x + xp.sqrt(x)))
    factor = [xp.where(lower, (k == 0) + x * f, f) for k, f in enumerate(factor)]
    shifted = xp.where(lower, a + 1, a)
    logs = [xp.log(x) - special.digamma(shifted)]
    logs += [-special.polygamma(n, shifted) for n in range(1, order)]
    outer = [xp.ones_like(x), *moments(logs, xp.multiply, xp.add)]
    total = sum(comb(order, k) * outer[order - k] * factor[k] for k in range(order + 1))
    return xp.where(inside, total * xp.where(lower, x / a, -x), np.nan)


def ratio_evaluate(special: Any, xp: Any, a: Any, x: Any, order: int) -> Any:
    ratio = igamma_grad_ratio_evaluate(special, xp, a, x, order)
    ratio = xp.where((x == 0) & (a > 0), 0.0, ratio)
    return xp.where((x == np.inf) & (a > 0) & (a < np.inf), -np.inf, ratio)


def igamma_grad_a_evaluate(special: Any, xp: Any, a: Any, x: Any) -> Any:
    out = igamma_grad_ratio_evaluate(special, xp, a, x, 1) * density_of(special, xp, a, x)
    return xp.where(((x == 0) | (x == np.inf)) & (a > 0), 0.0, out)


def density_of(special: Any, xp: Any, a: Any, x: Any) -> Any:
    """The density of Gamma(a, 1); by Stirling's series where the logarithms would cancel."""
    small = xp.exp((a - 1) * xp.log(x) - x - special.gammaln(a))
    big = xp.maximum(a, 10.0)
    off = (x - big) / big
    z = big**-2
    rest = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / big
    large = xp.sqrt(big / (2 * np.pi)) * xp.exp(big * (xp.log1p(off) - off) - rest) / x
    return xp.where(a < 10, small, large)


elementwise(igamma_p, FLOAT, in_float64(lambda special, xp, a, x: special.gammainc(a, x)))
forward.elementwise(
    igamma_p,
    lambda t, out, a, x: mul(t, igamma_grad_a(a, x)),
    lambda t, out, a, x: mul(t, gamma_density(a, x)),
)

elementwise(igammac_p, FLOAT, in_float64(lambda special, xp, a, x: special.gammaincc(a, x)))
forward.elementwise(
    igammac_p,
    lambda t, out, a, x: neg(mul(t, igamma_grad_a(a, x))),
    lambda t, out, a, x: neg(mul(t, gamma_density(a, x))),
)


def log_density_slopes(a: Any, x: Any, order: int) -> list[Any]:
    """Derivatives 1, 2, ... of the logarithm of the density of Gamma(a, 1) in a."""
    slopes = [sub(log(x), digamma(a))]
    return slopes + [neg(polygamma(scalar_like(n, a), a)) for n in range(1, order)]


def scaled(c: Any, x: Any) -> Any:
    return mul(scalar_like(c, x) if isinstance(c, int) else c, x)


def ratio_partial_a(t: Any, out: Any, a: Any, x: Any, order: int) -> Any:
    (slope,) = log_density_slopes(a, x, 1)
    following = igamma_grad_ratio_p.bind1(a, x, order=order + 1)
    return mul(t, sub(following, mul(out, slope)))


def ratio_partial_x(t: Any, out: Any, a: Any, x: Any, order: int) -> Any:
    of_density = moments(log_density_slopes(a, x, order), scaled, add)[-1]
    one = scalar_like(1, a)
    return mul(t, sub(of_density, mul(out, sub(div(sub(a, one), x), one))))


elementwise(igamma_grad_ratio_p, FLOAT, in_float64(ratio_evaluate))
forward.elementwise(igamma_grad_ratio_p, ratio_partial_a, ratio_partial_x)

elementwise(igamma_grad_a_p, FLOAT, in_float64(igamma_grad_a_evaluate))
forward.elementwise(
    igamma_grad_a_p,
    lambda t, out, a, x: mul(t, mul(gamma_density(a, x), igamma_grad_ratio_p.bind1(a, x, order=2))),
    lambda t, out, a, x: mul(t, mul(gamma_density(a, x), log_density_slopes(a, x, 1)[0])),
)


# the incomplete beta function


def beta_density(a: Any, b: Any, x: Any) -> Any:
    a, b, x = broadcast_all(a, b, x)
    one = scalar_like(1, a)
    powers = add(times_log(sub(a, one), x), times_log(sub(b, one), sub(one, x)))
    return exp(sub(powers, sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))))


def betainc_evaluate(special: Any, xp: Any, a: Any, b: Any, x: Any) -> Any:
    """SciPy's value, and what remains of the distribution where a or b is 0 or infinite."""
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)
    value = special.betainc(a, b, x)
    value = xp.where(at_zero, xp.where(x == 0, 0.0, 1.0), value)
    value = xp.where(at_one, xp.where(x == 1, 1.0, 0.0), value)
    outside = (a < 0) | (b < 0) | (x < 0) | (x > 1) | (at_zero & at_one)
    return xp.where(outside | xp.isnan(a + b + x), np.nan, value)


def betainc_grad_evaluate(special: Any, xp: Any, a: Any, b: Any, x: Any, wrt: str) -> Any:
    """The derivative in a or b; on the upper side that of 1 - I(b, a, 1 - x)."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    outside = xp.isnan(a + b + x) | (a <= 0) | (b <= 0) | (x < 0) | (x > 1)
    outside |= (a == np.inf) | (b == np.inf)
    a, b, x = (xp.where(inside, v, d) for v, d in ((a, 1.0), (b, 1.0), (x, 0.5)))
    lower = x <= (a + 1) / (a + b + 2)
    first, second = xp.where(lower, a, b), xp.where(lower, b, a)
    of_first, of_second = betainc_grads(special, xp, first, second, xp.where(lower, x, 1 - x))
    mine, other = (of_first, of_second) if wrt == "a" else (of_second, of_first)
    out = xp.where(lower, mine, -other)
    return xp.where(outside, np.nan, xp.where(inside, out, 0.0))


def betainc_grads(special: Any, xp: Any, a: Any, b: Any, x: Any) -> list[Any]:
    """Both derivatives, from the integral of t^(a - 1) (1 - t)^(b - 1) with t = x e^-u.

    For a < 1 the integral is about 1 / a, which Gamma(a) takes back: there it is split into 1 / a
    and a part that stays finite.
    """
    near_zero, whole = a < 1, special.betainc(a, b, x)
    edge = xp.log1p(-x)
    front = xp.exp(a * xp.log(x) + (b - 1) * edge - special.betaln(a, b))

    def integrands(u: Any) -> list[Any]:
        logarithm = xp.log1p(-x * xp.exp(-u))
        inner = xp.exp((b - 1) * (logarithm - edge) - a * u)
        rest = (1 - a * u) / a * xp.exp((1 - b) * edge - a * u)
        split = rest * xp.expm1((b - 1) * logarithm)
        return [xp.where(near_zero, split, -u * inner), logarithm * inner]

    odds = xp.maximum(b - 1, 0.0) * x / (1 - x)
    scale = 1 / (xp.maximum(a - odds, 0.0) + xp.sqrt(odds / (1 - x)) + near_zero)
    of_a, of_b = integrals(integrands, scale)
    both = special.digamma(a + b)
    log_a = xp.log(x) + both - special.digamma(xp.where(near_zero, a + 1, a))
    return [whole * log_a + front * of_a, whole * (both - special.digamma(b)) + front * of_b]


def betainc_grad(t: Any, a: Any, b: Any, x: Any, wrt: str) -> Any:
    return mul(t, regularized_incomplete_beta_grad_p.bind1(a, b, x, wrt=wrt))


elementwise(regularized_incomplete_beta_p, FLOAT, in_float64(betainc_evaluate))
forward.elementwise(
    regularized_incomplete_beta_p,
    lambda t, out, a, b, x: betainc_grad(t, a, b, x, "a"),
    lambda t, out, a, b, x: betainc_grad(t, a, b, x, "b"),
    lambda t, out, a, b, x: mul(t, beta_density(a, b, x)),
)


def betainc_grad_partial_x(t: Any, out: Any, a: Any, b: Any, x: Any, wrt: str) -> Any:
    parameter, logarithm = (a, log(x)) if wrt == "a" else (b, log1p(neg(x)))
    slope = sub(add(logarithm, digamma(add(a, b))), digamma(parameter))
    return mul(t, mul(beta_density(a, b, x), slope))


elementwise(regularized_incomplete_beta_grad_p, FLOAT, in_float64(betainc_grad_evaluate))
forward.elementwise(
    regularized_incomplete_beta_grad_p,
    no_derivative("betainc is differentiable only once", "a or b"),
    no_derivative("betainc is differentiable only once", "a or b"),
    betainc_grad_partial_x,
)
