"""GMRES: the smallest residual over a Krylov space, whose orthonormal basis Arnoldi's steps build.

A basis vector is a row of `basis`; where a step finds nothing new, the vector is zero.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.dtypes import finfo
from funcgrad.scipy._linear_systems import (
    Operator,
    iterations,
    length,
    nan_unless_known,
    system,
)

# cycle(operator, r, size, allowed, restart) is the correction to x for the residual r.
Cycle = Callable[[Operator, Any, Any, Any, int], Any]


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """x with A x = b for any square A, by the generalised minimal residual method.

    Derivatives are those of the exact solution; each costs one more solve, in reverse mode with
    the transpose of A (and M as it is).

    Args:
        A: a matrix [n, n], or a linear function from pytrees like b to pytrees like b.
        b: floats or complex numbers: [n] or [n, k] where A is a matrix, else a pytree.
        x0: where to start, a pytree like b; zeros by default.
        tol, atol: stop once |M (b - A x)| <= |M b| max(tol, min(1, atol / |b|)).
        restart: the most steps before a new space is begun; memory is for restart + 1 vectors.
        maxiter: the most spaces; 10 n by default.
        M: about the inverse of A, given in the same way as A; it is applied from the left.
        solve_method: "incremental" stops inside a space once the residual is small; "batched"
            always takes restart steps and solves one least-squares problem, with less work a step.

    Returns:
        x, a pytree like b, and an int32 that is -1 where x is not finite and 0 elsewhere. It
        says nothing of convergence: x is what maxiter spaces reach.

    Raises:
        TypeError: if A, b, M or restart are of the wrong type, or A returns another tree or dtype
            than b's.
        ValueError: if a matrix is not square, shapes differ, restart is below 1, or there is no
            such solve_method.

    Example:
        >>> from funcgrad.scipy.sparse.linalg import gmres
        >>> x, info = gmres(np.array([[0.0, 2.0], [-1.0, 3.0]]), np.array([2.0, 2.0]))
        >>> x.round(4), int(info)
        (Array([1., 1.], dtype=float32), 0)

    Source: Saad and Schultz, GMRES: a generalized minimal residual algorithm (1986);
    `scipy.sparse.linalg.gmres`.
    """
    cycles: dict[str, Cycle] = {"batched": _batched_cycle, "incremental": _incremental_cycle}
    if solve_method not in cycles:
        raise ValueError(f"gmres: solve_method is one of {list(cycles)}, got {solve_method!r}")
    if not isinstance(restart, int | np.integer):
        raise TypeError(
            f"gmres: restart says how much memory there is and so must be a Python int, got "
            f"{restart!r}; mark it static under jit"
        )
    if restart < 1:
        raise ValueError(f"gmres: restart must be at least 1, got {restart}")
    given = system("gmres", A, b, x0, M)
    if not given.rhs.size:
        return given.unravel(given.rhs), jnp.where(True, 0, -1)
    solver = partial(
        _spaces,
        start=given.guess,
        precondition=given.preconditioner,
        cycle=cycles[solve_method],
        tol=tol,
        atol=atol,
        restart=min(int(restart), given.rhs.size),
        maxiter=iterations(given, maxiter),
    )
    x = given.solve(solver)
    finite = jnp.isfinite(length(given.flat(x)))
    return x, jnp.where(finite, 0, -1)


def _spaces(
    apply: Operator,
    b: Any,
    *,
    start: Any,
    precondition: Operator,
    cycle: Cycle,
    tol: Any,
    atol: Any,
    restart: int,
    maxiter: Any,
) -> Any:
    """One space after the other, each from where the last one ended."""
    size = length(b)
    part = jnp.maximum(tol, jnp.minimum(1.0, atol / jnp.where(size > 0, size, 1)))
    allowed = (length(precondition(b)) * part).astype(size.dtype)

    def residual(x: Any) -> tuple[Any, Any]:
        r = precondition(b - apply(x))
        return r, length(r)

    def unfinished(state: tuple) -> Any:
        _, _, size, k = state
        return (size > allowed) & (k < maxiter)

    def advance(state: tuple) -> tuple:
        x, r, size, k = state
        x = x + cycle(lambda v: precondition(apply(v)), r, size, allowed, restart)
        return x, *residual(x), k + 1

    state = start, *residual(start), jnp.zeros((), "int32")
    x, _, size, _ = lax.while_loop(unfinished, advance, state)
    return nan_unless_known(x, size)


def _arnoldi(operator: Operator, basis: Any, k: Any) -> tuple[Any, Any, Any]:
    """The image of vector k: its parts along the basis, the size of the rest, and its direction.

    Gram and Schmidt's projection is done twice, which is enough: Giraud et al. (2005).
    """
    image = operator(basis[k])
    rest, parts = image, jnp.zeros(basis.shape[0], basis.dtype)
    for _ in range(2):
        found = jnp.matmul(basis.conj(), rest, precision="highest")
        rest = rest - jnp.matmul(found, basis, precision="highest")
        parts = parts + found
    size, rounding = length(rest), finfo(basis.dtype).eps * length(image)
    new = size > rounding
    direction = jnp.where(new, rest / jnp.where(new, size, 1), 0)
    return parts, jnp.where(new, size, 0), direction


def _first_basis(r: Any, size: Any, restart: int) -> Any:
    return jnp.zeros((restart + 1, r.size), r.dtype).at[0].set(r / size)


def _batched_cycle(operator: Operator, r: Any, size: Any, allowed: Any, restart: int) -> Any:
    """Build the whole space, then solve min |size e0 - H y| by a QR factorisation of H."""

    def unfinished(state: tuple) -> Any:
        _, _, last, k = state
        return (k < restart) & (last > 0)

    def advance(state: tuple) -> tuple:
        basis, hessenberg, _, k = state
        parts, last, direction = _arnoldi(operator, basis, k)
        column = parts.at[k + 1].set(last.astype(parts.dtype))
        return basis.at[k + 1].set(direction), hessenberg.at[:, k].set(column), last, k + 1

    hessenberg = jnp.zeros((restart + 1, restart), r.dtype)
    state = _first_basis(r, size, restart), hessenberg, size, jnp.zeros((), "int32")
    basis, hessenberg, _, steps = lax.while_loop(unfinished, advance, state)
    q, upper = jnp.linalg.qr(hessenberg)
    return _combined(basis, upper, size * q[0].conj(), steps)


def _incremental_cycle(operator: Operator, r: Any, size: Any, allowed: Any, restart: int) -> Any:
    """Keep H triangular by rotations: the last row of their product knows the residual."""

    def unfinished(state: tuple) -> Any:
        _, _, _, error, k = state
        return (k < restart) & (error > allowed)

    def advance(state: tuple) -> tuple:
        basis, upper, rotation, _, k = state
        parts, last, direction = _arnoldi(operator, basis, k)
        column = jnp.matmul(rotation, parts, precision="highest")
        top, last = column[k], last.astype(parts.dtype)
        radius = jnp.sqrt(jnp.abs(top) ** 2 + jnp.abs(last) ** 2)
        safe = jnp.where(radius > 0, radius, 1)
        cosine = jnp.where(radius > 0, top / safe, 1).astype(parts.dtype)
        sine = last / safe
        above, below = rotation[k], rotation[k + 1]
        rotation = rotation.at[k].set(cosine.conj() * above + sine * below)
        rotation = rotation.at[k + 1].set(cosine * below - sine * above)
        column = column.at[k].set(radius.astype(parts.dtype))[:-1]
        # A step that finds nothing new ends the space, however large the residual still is.
        error = jnp.where(last.real > 0, size * jnp.abs(rotation[k + 1, 0]), 0)
        return basis.at[k + 1].set(direction), upper.at[:, k].set(column), rotation, error, k + 1

    upper = jnp.zeros((restart, restart), r.dtype)
    rotation = jnp.eye(restart + 1, dtype=r.dtype)
    zero = jnp.zeros((), "int32")
    state = _first_basis(r, size, restart), upper, rotation, size, zero
    basis, upper, rotation, _, steps = lax.while_loop(unfinished, advance, state)
    return _combined(basis, upper, size * rotation[:-1, 0], steps)


def _combined(basis: Any, upper: Any, rhs: Any, steps: Any) -> Any:
    """The combination of the first vectors whose weights solve the triangular system."""
    taken = jnp.arange(upper.shape[0]) < steps
    upper = jnp.where(taken[:, None] & taken, upper, jnp.eye(len(taken), dtype=upper.dtype))
    weights = lax.linalg.triangular_solve(
        upper, jnp.where(taken, rhs, 0)[:, None], left_side=True, lower=False
    )
    return jnp.matmul(weights[:, 0], basis[:-1], precision="highest")
