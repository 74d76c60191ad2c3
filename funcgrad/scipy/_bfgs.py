"""BFGS: Newton's method with an inverse Hessian that is learned from the gradients."""

from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.dtypes import finfo
from funcgrad.scipy._line_search import Objective, line_search
from funcgrad.scipy._optimize_results import OptimizeResults


class Progress(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    iterations: Any
    evaluations: Any
    converged: Any
    failed: Any


def bfgs(
    objective: Objective,
    x0: Any,
    maxiter: int | None = None,
    norm: float = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Nocedal and Wright's algorithm 6.1."""
    most = 200 * x0.size if maxiter is None else maxiter
    small = lambda gradient: jnp.linalg.norm(gradient, ord=norm) < gtol

    def unfinished(p: Progress) -> Any:
        return ~p.converged & ~p.failed & (p.iterations < most)

    def advance(p: Progress) -> Progress:
        direction = -jnp.matmul(p.inverse, p.gradient, precision="highest")
        first = jnp.where(p.iterations == 0, first_step(p.gradient), 1)
        search = line_search(
            objective, p.x, direction, p.value, p.gradient, first, line_search_maxiter
        )
        _, value, _, gradient = search.low
        s = jnp.where(search.failed, 0, search.low.step * direction)
        y = gradient - p.gradient
        return Progress(
            p.x + s,
            value,
            gradient,
            updated_inverse(p.inverse, s, y),
            p.iterations + 1,
            p.evaluations + search.count,
            small(gradient) & ~search.failed,
            search.failed,
        )

    value, gradient = objective(x0)
    start = Progress(
        x0,
        value,
        gradient,
        jnp.eye(x0.size, dtype=x0.dtype),
        jnp.asarray(0),
        jnp.asarray(1),
        small(gradient),
        jnp.asarray(False),
    )
    end = lax.while_loop(unfinished, advance, start)
    stopped = jnp.where(end.failed, 3, jnp.where(end.iterations >= most, 1, -1))
    return OptimizeResults(
        x=end.x,
        success=end.converged,
        status=jnp.where(end.converged, 0, stopped),
        fun=end.value,
        jac=end.gradient,
        hess_inv=end.inverse,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.iterations,
    )


def first_step(gradient: Any) -> Any:
    """Where nothing is known of the curvature: a step of length 1 at most."""
    size = jnp.linalg.norm(gradient)
    return 1 / jnp.maximum(size, 1)


def curved(s: Any, y: Any) -> Any:
    """Whether the gradient's change y along s says that the function is convex there."""
    bound = finfo(s.dtype).eps * jnp.linalg.norm(s) * jnp.linalg.norm(y)
    return jnp.vdot(s, y) > bound


def updated_inverse(inverse: Any, s: Any, y: Any) -> Any:
    """The inverse Hessian that takes y to s and is otherwise closest to the last one."""
    convex = curved(s, y)
    weight = 1 / jnp.where(convex, jnp.vdot(s, y), 1)
    image = jnp.matmul(inverse, y, precision="highest")
    cross = jnp.outer(s, image)
    along = weight * (1 + weight * jnp.vdot(y, image)) * jnp.outer(s, s)
    return jnp.where(convex, inverse - weight * (cross + cross.T) + along, inverse)
