"""L-BFGS: BFGS whose inverse Hessian is never written down, only its last few corrections."""

from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.scipy._bfgs import curved, first_step
from funcgrad.scipy._line_search import Objective, line_search
from funcgrad.scipy._optimize_results import OptimizeResults


class Corrections(NamedTuple):
    """Steps and changes of the gradient, [maxcor, n], the newest last.

    `weights` are 1 / (s . y), and 0 in rows that are still empty; `scale` is the curvature's
    inverse along the newest step.
    """

    steps: Any
    changes: Any
    weights: Any
    scale: Any


class Progress(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    corrections: Corrections
    iterations: Any
    evaluations: Any
    status: Any


def lbfgs(
    objective: Objective,
    x0: Any,
    maxiter: float | None = None,
    norm: float = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> OptimizeResults:
    """Nocedal and Wright's algorithm 7.5."""
    if maxcor < 1:
        raise ValueError(f"minimize: L-BFGS's maxcor must be at least 1, got {maxcor}")
    if maxiter is None:
        maxiter = 200 * x0.size if maxfun is None and maxgrad is None else np.inf
    maxfun = np.inf if maxfun is None else maxfun
    maxgrad = np.inf if maxgrad is None else maxgrad
    small = lambda gradient: jnp.linalg.norm(gradient, ord=norm) < gtol

    def unfinished(p: Progress) -> Any:
        return p.status < 0

    def advance(p: Progress) -> Progress:
        direction = -product(p.corrections, p.gradient)
        first = jnp.where(p.iterations == 0, first_step(p.gradient), 1)
        search = line_search(objective, p.x, direction, p.value, p.gradient, first, maxls)
        _, value, _, gradient = search.low
        s = jnp.where(search.failed, 0, search.low.step * direction)
        y = gradient - p.gradient
        iterations, evaluations = p.iterations + 1, p.evaluations + search.count
        status = jnp.where(p.value - value < ftol, 4, -1)
        status = jnp.where(evaluations >= maxgrad, 3, status)
        status = jnp.where(evaluations >= maxfun, 2, status)
        status = jnp.where(iterations >= maxiter, 1, status)
        status = jnp.where(search.failed, 5, jnp.where(small(gradient), 0, status))
        corrections = _extended(p.corrections, s, y)
        return Progress(p.x + s, value, gradient, corrections, iterations, evaluations, status)

    value, gradient = objective(x0)
    none, rows = jnp.asarray(0), jnp.zeros((maxcor, x0.size), x0.dtype)
    start = Progress(
        x0,
        value,
        gradient,
        Corrections(rows, rows, jnp.zeros(maxcor, x0.dtype), jnp.ones((), x0.dtype)),
        none,
        none + 1,
        jnp.where(small(gradient), 0, jnp.where(none >= maxiter, 1, -1)),
    )
    end = lax.while_loop(unfinished, advance, start)
    return OptimizeResults(
        x=end.x,
        success=(end.status == 0).astype("bool"),
        status=end.status,
        fun=end.value,
        jac=end.gradient,
        hess_inv=None,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.iterations,
    )


def product(corrections: Corrections, vector: Any) -> Any:
    """The inverse Hessian times a vector, by two passes over the corrections: algorithm 7.4."""
    rows = corrections.steps, corrections.changes, corrections.weights

    def newest_first(rest: Any, row: tuple) -> tuple[Any, Any]:
        s, y, weight = row
        part = weight * jnp.vdot(s, rest)
        return rest - part * y, part

    def oldest_first(total: Any, row: tuple) -> tuple[Any, None]:
        (s, y, weight), part = row
        return total + (part - weight * jnp.vdot(y, total)) * s, None

    rest, parts = lax.scan(newest_first, vector, rows, reverse=True)
    total, _ = lax.scan(oldest_first, corrections.scale * rest, (rows, parts))
    return total


def _extended(corrections: Corrections, s: Any, y: Any) -> Corrections:
    """With the newest correction for the oldest, if the function is convex along it."""
    convex = curved(s, y)
    along = jnp.where(convex, jnp.vdot(s, y), 1)

    def pushed(rows: Any, row: Any) -> Any:
        return jnp.where(convex, jnp.concatenate([rows[1:], row[None]]), rows)

    scale = along / jnp.where(convex, jnp.vdot(y, y), 1)
    return Corrections(
        pushed(corrections.steps, s),
        pushed(corrections.changes, y),
        pushed(corrections.weights, 1 / along),
        jnp.where(convex, scale, corrections.scale),
    )
