"""Solvers with short recurrences, which keep a few vectors: conjugate gradients and BiCGSTAB."""

from functools import partial
from typing import Any, NamedTuple

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.scipy._linear_systems import (
    Operator,
    inner,
    iterations,
    nan_unless_known,
    square,
    system,
)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """x with A x = b for a symmetric (Hermitian) positive definite A, by conjugate gradients.

    Derivatives are those of the exact solution; each costs one more solve.

    Args:
        A: a matrix [n, n], or a linear function from pytrees like b to pytrees like b.
        b: floats or complex numbers: [n] or [n, k] where A is a matrix, else a pytree.
        x0: where to start, a pytree like b; zeros by default.
        tol, atol: stop once |b - A x| <= max(tol |b|, atol).
        maxiter: the most iterations; 10 n by default, n being the size of b.
        M: about the inverse of A and positive definite too, given in the same way as A.

    Returns:
        x, a pytree like b, and None. x is what maxiter iterations reach, so check the residual
        where that matters; it is nan where the residual is.

    Raises:
        TypeError: if A, b or M are of the wrong type, or A returns another tree or dtype than b's.
        ValueError: if a matrix is not square, or shapes differ.

    Example:
        >>> from funcgrad.scipy.sparse.linalg import cg
        >>> x, _ = cg(np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
        >>> x.round(4)
        Array([0.0909, 0.6364], dtype=float32)

    Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems (1952);
    `scipy.sparse.linalg.cg`. A right-hand side with nan gives nan here, and numbers in JAX.
    """
    given = system("cg", A, b, x0, M)
    solver = partial(
        _conjugate_gradients,
        start=given.guess,
        precondition=given.preconditioner,
        tol=tol,
        atol=atol,
        maxiter=iterations(given, maxiter),
    )
    return given.solve(solver, symmetric=True), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """x with A x = b for any square A, by stabilised biconjugate gradients.

    Derivatives are those of the exact solution; each costs one more solve, in reverse mode with
    the transpose of A (and M as it is).

    Args:
        A: a matrix [n, n], or a linear function from pytrees like b to pytrees like b.
        b: floats or complex numbers: [n] or [n, k] where A is a matrix, else a pytree.
        x0: where to start, a pytree like b; zeros by default.
        tol, atol: stop once |b - A x| <= max(tol |b|, atol).
        maxiter: the most iterations, of two products each; 10 n by default.
        M: about the inverse of A, given in the same way as A.

    Returns:
        x, a pytree like b, and None. x is what maxiter iterations reach, so check the residual
        where that matters; it is nan where the residual is.

    Raises:
        TypeError: if A, b or M are of the wrong type, or A returns another tree or dtype than b's.
        ValueError: if a matrix is not square, or shapes differ.

    Example:
        >>> from funcgrad.scipy.sparse.linalg import bicgstab
        >>> x, _ = bicgstab(lambda v: {"u": 2 * v["u"]}, {"u": np.ones(2)})
        >>> x["u"]
        Array([0.5, 0.5], dtype=float32)

    Source: van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG (1992);
    `scipy.sparse.linalg.bicgstab`. Where the recurrence breaks down, it starts again from x; JAX
    stops there.
    """
    given = system("bicgstab", A, b, x0, M)
    solver = partial(
        _stabilised,
        start=given.guess,
        precondition=given.preconditioner,
        tol=tol,
        atol=atol,
        maxiter=iterations(given, maxiter),
    )
    return given.solve(solver), None


def _allowed(b: Any, tol: Any, atol: Any) -> Any:
    """The squared length of residual at which to stop."""
    size = square(b)
    return jnp.maximum(tol**2 * size, atol**2).astype(size.dtype)


def _conjugate_gradients(
    apply: Operator,
    b: Any,
    *,
    start: Any,
    precondition: Operator,
    tol: Any,
    atol: Any,
    maxiter: Any,
) -> Any:
    allowed = _allowed(b, tol, atol)

    def unfinished(state: tuple) -> Any:
        _, r, _, _, k = state
        return (square(r) > allowed) & (k < maxiter)

    def advance(state: tuple) -> tuple:
        x, r, p, gamma, k = state
        moved = apply(p)
        alpha = gamma / inner(p, moved).real
        x, r = x + alpha * p, r - alpha * moved
        z = precondition(r)
        new = inner(r, z).real
        return x, r, z + (new / gamma) * p, new, k + 1

    r = b - apply(start)
    z = precondition(r)
    state = start, r, z, inner(r, z).real, jnp.zeros((), "int32")
    x, r, *_ = lax.while_loop(unfinished, advance, state)
    return nan_unless_known(x, square(r))


class Stabilised(NamedTuple):
    """A step of BiCGSTAB, in the letters of its paper; `shadow` is the fixed vector r-hat."""

    x: Any
    r: Any
    shadow: Any
    p: Any
    v: Any
    rho: Any
    alpha: Any
    omega: Any
    k: Any


def _stabilised(
    apply: Operator,
    b: Any,
    *,
    start: Any,
    precondition: Operator,
    tol: Any,
    atol: Any,
    maxiter: Any,
) -> Any:
    allowed = _allowed(b, tol, atol)

    def unfinished(state: Stabilised) -> Any:
        return (square(state.r) > allowed) & (state.k < maxiter)

    def advance(state: Stabilised) -> Stabilised:
        x, r, shadow, p, v, rho, alpha, omega, k = state
        new = inner(shadow, r)
        # Nothing is left to go on with: the residual itself is the next shadow and direction.
        lost = (new == 0) | (omega == 0)
        beta = jnp.where(lost, 0, (new / rho) * (alpha / jnp.where(lost, 1, omega)))
        shadow = jnp.where(lost, r, shadow)
        new = jnp.where(lost, square(r).astype(new.dtype), new)
        p = r + beta * (p - omega * v)
        ahead = precondition(p)
        v = apply(ahead)
        alpha = new / inner(shadow, v)
        s = r - alpha * v
        sideways = precondition(s)
        t = apply(sideways)
        half_is_enough = square(s) <= allowed
        omega = jnp.where(half_is_enough, 0, inner(t, s) / inner(t, t))
        x = x + alpha * ahead + omega * sideways
        return Stabilised(x, s - omega * t, shadow, p, v, new, alpha, omega, k + 1)

    r = b - apply(start)
    one, zero = jnp.ones((), b.dtype), jnp.zeros_like(b)
    state = Stabilised(start, r, r, zero, zero, one, one, one, jnp.zeros((), "int32"))
    end = lax.while_loop(unfinished, advance, state)
    return nan_unless_known(end.x, square(end.r))
