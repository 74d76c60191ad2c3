"""The pair of Runge-Kutta formulas that odeint steps by: a step, its error, its interpolation.

Dormand and Prince, A family of embedded Runge-Kutta formulae (1980), the pair RK5(4)7M.
"""

from collections.abc import Callable, Sequence
from typing import Any

import funcgrad.numpy as jnp
from funcgrad.numpy._promotion import Array

# Nodes, stages, fifth-order weights, and their differences from the fourth-order ones.
NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
WEIGHTS = (*STAGES[-1], 0.0)
# The weights of fourth order, and those that reach the middle of a step, are those of Shampine,
# Some practical Runge-Kutta formulas (1986).
FOURTH = (1951 / 21600, 0.0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
ERRORS = tuple(a - b for a, b in zip(WEIGHTS, FOURTH))
MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)

Dynamics = Callable[..., Any]


def abs2(x: Array) -> Array:
    """|x|^2, real."""
    x = jnp.asarray(x)
    return x.real**2 + x.imag**2 if jnp.iscomplexobj(x) else x**2


def runge_kutta_step(
    func: Dynamics, y0: Array, f0: Array, t0: Array, dt: Array
) -> tuple[Array, Array, Array, Array]:
    """One step from (t0, y0) to t0 + dt.

    Args:
        func: the derivative, `func(y, t)`.
        y0: the state, of shape [state].
        f0: func(y0, t0).
        t0, dt: where the step begins, and its length.

    Returns:
        `(y1, f1, error, k)`: the state there, to fifth order; its derivative; the difference from a
        fourth-order solution; and all derivatives of the step, [7, state].
    """
    h = jnp.asarray(dt).astype(y0.dtype)
    slopes, y1 = [f0], y0
    for node, weights in zip(NODES, STAGES, strict=True):
        y1 = y0 + h * _combined(weights, slopes)  # the last is the solution itself
        slopes.append(func(y1, t0 + node * dt))
    return y1, slopes[-1], h * _combined(ERRORS, slopes), jnp.stack(slopes)


def _combined(weights: Sequence[float], slopes: Sequence[Array]) -> Array:
    terms = [w * s for w, s in zip(weights, slopes, strict=True) if w]
    return sum(terms[1:], terms[0])


def mean_error_ratio(
    error_estimate: Array, rtol: float, atol: float, y0: Array, y1: Array
) -> Array:
    """The error of a step from y0 to y1 over the allowed one; their root mean square."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / allowed)))


def optimal_step_size(
    last_step: Array,
    mean_error_ratio: Array,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """The length at which the error would be just allowed.

    Args:
        last_step: the length of the last step.
        mean_error_ratio: its error over the allowed one; nan counts as large.
        safety: how much shorter than that to be.
        ifactor, dfactor: the most that a length grows and shrinks by.
        order: the order of the method.
    """
    ratio = jnp.asarray(mean_error_ratio)
    shrinkage = jnp.where(ratio < 1, 1.0, dfactor)
    wanted = safety * jnp.where(ratio > 0, ratio, 1) ** (-1 / order)
    factor = jnp.where(ratio > 0, jnp.clip(wanted, shrinkage, ifactor), ifactor)
    factor = jnp.where(jnp.isnan(ratio), dfactor, factor)
    return last_step * factor.astype(jnp.asarray(last_step).dtype)


def fit_4th_order_polynomial(
    y0: Array, y1: Array, y_mid: Array, dy0: Array, dy1: Array, dt: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Coefficients, highest first, of the quartic on [0, 1] with these values and end slopes."""
    d0, d1 = dt * dy0, dt * dy1
    a = 2 * (d1 - d0) - 8 * (y0 + y1) + 16 * y_mid
    b = 5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * y_mid
    c = d1 - 4 * d0 - 11 * y0 - 5 * y1 + 16 * y_mid
    return a, b, c, d0, y0


def interp_fit_dopri(y0: Array, y1: Array, k: Array, dt: Array) -> Array:
    """The quartic through a step of `runge_kutta_step` and its middle; coefficients [5, state].

    Args:
        y0, y1: the states at its ends.
        k: its derivatives, [7, state].
        dt: its length.
    """
    h = jnp.asarray(dt).astype(y0.dtype)
    y_mid = y0 + h * _combined(MIDDLE, list(k))
    return jnp.stack(fit_4th_order_polynomial(y0, y1, y_mid, k[0], k[-1], h))


def initial_step_size(
    fun: Dynamics, t0: Array, y0: Array, order: float, rtol: float, atol: float, f0: Array
) -> Array:
    """A length for the first step: Hairer, Norsett and Wanner, Solving ODEs I, section II.4.

    Args:
        fun: the derivative, `fun(y, t)`.
        t0, y0: where the step begins.
        order: that of the error estimate, 4 for this pair.
        rtol, atol: the tolerances of the solution.
        f0: fun(y0, t0).
    """
    scale = atol + jnp.abs(y0) * rtol
    size = lambda x: jnp.linalg.norm(x / scale)
    d0, d1 = size(y0), size(f0)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1))
    later = fun(y0 + h0.astype(y0.dtype) * f0, t0 + h0)
    d2 = size(later - f0) / h0
    flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    largest = jnp.where(flat, 1, jnp.maximum(d1, d2))
    h1 = jnp.where(flat, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1 / (order + 1)))
    return jnp.minimum(100 * h0, h1)
