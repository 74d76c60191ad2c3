"""The incomplete gamma and beta functions, and their derivatives with respect to the parameters.

A derivative with respect to a parameter has no closed form. It is an integral along the half line,
scaled so that its integrand falls from about 1 within a few units, and summed at fixed points.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
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
from funcgrad.primitives.arithmetic import div, sub
from funcgrad.primitives.compare import bitwise_and
from funcgrad.primitives.exponential import exp, log, log1p
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.primitives.special import digamma, in_float64, lgamma, polygamma
from funcgrad.transforms import forward

igamma_p = Primitive("igamma")
igammac_p = Primitive("igammac")
igamma_grad_a_p = Primitive("igamma_grad_a")
igamma_grad_ratio_p = Primitive("igamma_grad_ratio")
regularized_incomplete_beta_p = Primitive("regularized_incomplete_beta")
regularized_incomplete_beta_grad_p = Primitive("regularized_incomplete_beta_grad")


def igamma(a: Any, x: Any) -> Any:
    """P(a, x), the cdf of Gamma(a, 1) at x: the lower incomplete gamma, regularized."""
    return igamma_p.bind(a, x)


def igammac(a: Any, x: Any) -> Any:
    """1 - igamma(a, x), accurate also where igamma is close to 1."""
    return igammac_p.bind(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to a."""
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """How a sample x of Gamma(a, 1) moves with a, its place among all samples held fixed."""
    return neg(igamma_grad_ratio_p.bind(a, x, order=1))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function: the cdf of Beta(a, b) at x."""
    return regularized_incomplete_beta_p.bind(a, b, x)


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


def unless_power_zero(c: Any, x: Any, edge: float) -> Any:
    """x, but 1/2 where x is at the edge and c is 0, so that c times an infinite logarithm is 0."""
    at_edge = bitwise_and(eq(c, full_like(c, 0)), eq(x, full_like(x, edge)))
    return select_n(at_edge, x, full_like(x, 0.5))


def broadcast_all(*values: Any) -> list[Any]:
    """Operands of an elementwise primitive in their common shape."""
    shapes = [aval_of(v).shape for v in values]
    shape = np.broadcast_shapes(*shapes)
    return [broadcast_to_shape(v, shape) for v in values]


def relative_derivatives(
    log_derivative: Callable[[int, int], Any],
    orders: tuple[int, int],
    times: Callable,
    plus: Callable,
) -> dict[tuple[int, int], Any]:
    """f^(i, j) / f up to the given orders, from the derivatives of log f: f' = f (log f)'."""
    found: dict[tuple[int, int], Any] = {(0, 0): 1}
    for i, j in product(range(orders[0] + 1), range(orders[1] + 1)):
        if i == j == 0:
            continue
        m, n = (i - 1, j) if i else (i, j - 1)
        terms = [
            times(
                comb(m, p) * comb(n, q),
                times(log_derivative(p + i - m, q + j - n), found[m - p, n - q]),
            )
            for p, q in product(range(m + 1), range(n + 1))
        ]
        found[i, j] = reduce(plus, terms)
    return found


def times_any(x: Any, y: Any) -> Any:
    """The product of an array and an array or a whole number."""
    if isinstance(x, int) or isinstance(y, int):
        number, array = (x, y) if isinstance(x, int) else (y, x)
        return array if number == 1 else mul(scalar_like(number, array), array)
    return mul(x, y)


def psi(n: int, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return polygamma(scalar_like(n, x), x) if n else digamma(x)


# incomplete gamma functions


def gamma_density(a: Any, x: Any) -> Any:
    a, x = broadcast_all(a, x)
    power = sub(a, scalar_like(1, a))
    return exp(sub(sub(mul(power, log(unless_power_zero(power, x, 0))), x), lgamma(a)))


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

    def log_derivative(n: int, _: int) -> Any:
        return (xp.log(x) if n == 1 else 0) - special.polygamma(n - 1, shifted)

    outer = relative_derivatives(log_derivative, (order, 0), operator.mul, operator.add)
    total = sum(comb(order, k) * outer[order - k, 0] * factor[k] for k in range(order + 1))
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


def gamma_log_slope(a: Any, x: Any, n: int) -> Any:
    """The n-th derivative of the logarithm of the density of Gamma(a, 1) in a."""
    return sub(log(x), psi(0, a)) if n == 1 else neg(psi(n - 1, a))


def ratio_partial_a(t: Any, out: Any, a: Any, x: Any, order: int) -> Any:
    following = igamma_grad_ratio_p.bind(a, x, order=order + 1)
    return mul(t, sub(following, mul(out, gamma_log_slope(a, x, 1))))


def ratio_partial_x(t: Any, out: Any, a: Any, x: Any, order: int) -> Any:
    def log_derivative(n: int, _: int) -> Any:
        return gamma_log_slope(a, x, n)

    of_density = relative_derivatives(log_derivative, (order, 0), times_any, add)[order, 0]
    one = scalar_like(1, a)
    return mul(t, sub(of_density, mul(out, sub(div(sub(a, one), x), one))))


elementwise(igamma_grad_ratio_p, FLOAT, in_float64(ratio_evaluate))
forward.elementwise(igamma_grad_ratio_p, ratio_partial_a, ratio_partial_x)

elementwise(igamma_grad_a_p, FLOAT, in_float64(igamma_grad_a_evaluate))
forward.elementwise(
    igamma_grad_a_p,
    lambda t, out, a, x: mul(t, mul(gamma_density(a, x), igamma_grad_ratio_p.bind(a, x, order=2))),
    lambda t, out, a, x: mul(t, mul(gamma_density(a, x), gamma_log_slope(a, x, 1))),
)


# the incomplete beta function


def beta_density(a: Any, b: Any, x: Any) -> Any:
    a, b, x = broadcast_all(a, b, x)
    one = scalar_like(1, a)
    power_a, power_b = sub(a, one), sub(b, one)
    of_x = mul(power_a, log(unless_power_zero(power_a, x, 0)))
    of_rest = mul(power_b, log1p(neg(unless_power_zero(power_b, x, 1))))
    normalizer = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return exp(sub(add(of_x, of_rest), normalizer))


def betainc_evaluate(special: Any, xp: Any, a: Any, b: Any, x: Any) -> Any:
    """SciPy's value, and what remains of the distribution where a or b is 0 or infinite."""
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)
    value = special.betainc(a, b, x)
    value = xp.where(at_zero, xp.where(x == 0, 0.0, 1.0), value)
    value = xp.where(at_one, xp.where(x == 1, 1.0, 0.0), value)
    outside = (a < 0) | (b < 0) | (x < 0) | (x > 1) | (at_zero & at_one)
    return xp.where(outside | xp.isnan(a + b + x), np.nan, value)


def betainc_grad_evaluate(
    special: Any, xp: Any, a: Any, b: Any, x: Any, orders: tuple[int, int]
) -> Any:
    """A derivative in a and b; on the upper side that of 1 - I(b, a, 1 - x)."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    outside = xp.isnan(a + b + x) | (a <= 0) | (b <= 0) | (x < 0) | (x > 1)
    outside |= (a == np.inf) | (b == np.inf)
    a, b, x = (xp.where(inside, v, d) for v, d in ((a, 1.0), (b, 1.0), (x, 0.5)))
    lower = x <= (a + 1) / (a + b + 2)
    out = xp.empty(lower.shape)
    swapped = orders[1], orders[0]
    for side, args, at, sign in (
        (lower, (a, b, x), orders, 1),
        (~lower, (b, a, 1 - x), swapped, -1),
    ):
        first, second, where = (xp.broadcast_to(v, lower.shape)[side] for v in args)
        out[side] = sign * betainc_derivative(special, xp, first, second, where, at)
    return xp.where(outside, np.nan, xp.where(inside, out, 0.0))


def betainc_derivative(
    special: Any, xp: Any, a: Any, b: Any, x: Any, orders: tuple[int, int]
) -> Any:
    """The derivative of I = I(a + 1, b) + T with T = x^a (1 - x)^b / (a B(a, b)).

    I(a, b) is x^a / B(a, b) times the integral of exp(-a u) (1 - x e^-u)^(b - 1). For a near 0 that
    is the large 1 / a times something small, so there it is taken at a + 1, and T is added.
    """
    (m, n), small = orders, a < 1
    shifted, edge, logarithm_x = xp.where(small, a + 1, a), xp.log1p(-x), xp.log(x)

    def powers(u: Any) -> list[Any]:
        logarithm = xp.log1p(-x * xp.exp(-u))
        inner = xp.exp((b - 1) * (logarithm - edge) - shifted * u)
        return [inner * (-u) ** i * logarithm**j for i, j in product(range(m + 1), range(n + 1))]

    odds = xp.maximum(b - 1, 0.0) * x / (1 - x)
    inner = integrals(powers, 1 / (xp.maximum(shifted - odds, 0.0) + xp.sqrt(odds / (1 - x))))

    def relative(of_a: Any, total: Any, of_b_at_one: Any) -> dict[tuple[int, int], Any]:
        """The derivatives of what stands before the integral, or of T."""

        def log_derivative(i: int, j: int) -> Any:
            value = special.polygamma(i + j - 1, total)
            if j == 0:
                value = value - special.polygamma(i - 1, of_a) + (logarithm_x if i == 1 else 0)
            if i == 0:
                value = value - special.polygamma(j - 1, b) + (of_b_at_one if j == 1 else 0)
            return value

        return relative_derivatives(log_derivative, orders, operator.mul, operator.add)

    front = xp.exp(shifted * logarithm_x + (b - 1) * edge - special.betaln(shifted, b))
    outer = relative(shifted, shifted + b, 0.0)
    value = front * sum(
        comb(m, i) * comb(n, j) * outer[m - i, n - j] * each
        for (i, j), each in zip(product(range(m + 1), range(n + 1)), inner, strict=True)
    )
    normalizer = special.gammaln(a + 1) + special.gammaln(b) - special.gammaln(a + b)
    extra = xp.exp(a * logarithm_x + b * edge - normalizer)
    return value + xp.where(small, extra * relative(a + 1, a + b, edge)[m, n], 0.0)


def betainc_grad(orders: tuple[int, int]) -> Callable:
    """The partial derivative of a derivative, or of betainc itself, that has these orders."""

    def partial(t: Any, out: Any, a: Any, b: Any, x: Any, **_: Any) -> Any:
        return mul(t, regularized_incomplete_beta_grad_p.bind(a, b, x, orders=orders))

    return partial


elementwise(regularized_incomplete_beta_p, FLOAT, in_float64(betainc_evaluate))
forward.elementwise(
    regularized_incomplete_beta_p,
    betainc_grad((1, 0)),
    betainc_grad((0, 1)),
    lambda t, out, a, b, x: mul(t, beta_density(a, b, x)),
)


def betainc_grad_partial_x(
    t: Any, out: Any, a: Any, b: Any, x: Any, orders: tuple[int, int]
) -> Any:
    """The derivative of the density in a and b."""
    a, b, x, t = broadcast_all(a, b, x, t)

    def log_derivative(i: int, j: int) -> Any:
        total = psi(i + j - 1, add(a, b))
        if j == 0:
            total = sub(total, psi(i - 1, a))
        if i == 0:
            total = sub(total, psi(j - 1, b))
        logarithm = {(1, 0): log(x), (0, 1): log1p(neg(x))}.get((i, j))
        return total if logarithm is None else add(total, logarithm)

    relative = relative_derivatives(log_derivative, orders, times_any, add)[orders]
    return mul(t, mul(beta_density(a, b, x), relative))


elementwise(regularized_incomplete_beta_grad_p, FLOAT, in_float64(betainc_grad_evaluate))
forward.elementwise(
    regularized_incomplete_beta_grad_p,
    lambda *args, orders: betainc_grad((orders[0] + 1, orders[1]))(*args),
    lambda *args, orders: betainc_grad((orders[0], orders[1] + 1))(*args),
    betainc_grad_partial_x,
)
