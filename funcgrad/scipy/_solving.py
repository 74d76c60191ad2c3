"""Linear equations: triangular, factored, general, positive definite, and Sylvester's.

The arguments overwrite_a, check_finite and the like are taken for compatibility and have no effect.
"""

from functools import partial
from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base import dtypes
from funcgrad.numpy._promotion import promote_dtypes
from funcgrad.primitives import linalg_lu
from funcgrad.primitives.linalg_sylvester import sylvester
from funcgrad.scipy._factorizations import cholesky
from funcgrad.scipy._matrices import system

_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _operation(name: str, trans: int | str) -> int:
    """0 for a itself, 1 for its transpose, 2 for its conjugated transpose."""
    if trans not in _TRANSPOSED:
        raise ValueError(
            f"{name}: Invalid 'trans' value {trans!r}; it is 0 or 'N', 1 or 'T', 2 or 'C'"
        )
    return _TRANSPOSED[trans]


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """x with op(a) x = b, for triangular a.

    Args:
        a: [..., n, n]; the other triangle is not read.
        b: [n] or [..., n, k].
        trans: what op is: 0 or "N" nothing, 1 or "T" the transpose, 2 or "C" the conjugated one.
        lower: whether a is lower triangular.
        unit_diagonal: take the diagonal to be ones, whatever it holds.

    Returns:
        x, shaped like b; inf or nan where a is singular.
    """
    operation = _operation("solve_triangular", trans)
    given = system("solve_triangular", a, b)
    x = lax.linalg.triangular_solve(
        given.a,
        given.b,
        left_side=True,
        lower=lower,
        transpose_a=operation > 0,
        conjugate_a=operation == 2,
        unit_diagonal=unit_diagonal,
    )
    return given.answer(x)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, for `cho_factor(a)`.

    Args:
        c_and_lower: the factor [..., n, n] and whether it is the lower one.
        b: [n] or [..., n, k].
    """
    factor, lower = c_and_lower
    given = system("cho_solve", factor, b)
    return given.answer(_by_factor(given.a, given.b, lower))


def _by_factor(factor: Any, b: Any, lower: bool) -> Any:
    turned = {"transpose_a": True, "conjugate_a": True}
    first, second = ({}, turned) if lower else (turned, {})
    y = lax.linalg.triangular_solve(factor, b, left_side=True, lower=lower, **first)
    return lax.linalg.triangular_solve(factor, y, left_side=True, lower=lower, **second)


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int | str = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with op(a) x = b, for `lu_factor(a)`.

    Args:
        lu_and_piv: the factors [..., n, n] and the pivots [..., n].
        b: [n] or [..., n, k].
        trans: what op is, as for `solve_triangular`.
    """
    operation = _operation("lu_solve", trans)
    factors, pivots = lu_and_piv
    given = system("lu_solve", factors, b)
    order = lax.linalg.lu_pivots_to_permutation(jnp.asarray(pivots), given.a.shape[-1])
    order = jnp.broadcast_to(order, given.a.shape[:-1])
    return given.answer(linalg_lu.lu_solve(given.a, order, given.b, operation))


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """x with a x = b.

    Args:
        a: [..., n, n].
        b: [n] or [..., n, k].
        lower: which triangle of a is read if it is assumed "pos".
        assume_a: "gen", "sym" (symmetric), "her" (Hermitian) or "pos" (positive definite, which
            takes half the work; nan if it is not).

    Returns:
        x, shaped like b; inf or nan where a is singular.
    """
    kinds = ("gen", "sym", "her", "pos")
    if assume_a not in kinds:
        raise ValueError(f"solve knows no assume_a={assume_a!r}; it can be any of {list(kinds)}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    given = system("solve", a, b)
    return given.answer(_solve_positive(given.a, given.b, lower))


@partial(custom_jvp, nondiff_argnums=(2,))
def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    return _by_factor(cholesky(a, lower), b, lower)


@_solve_positive.defjvp
def _solve_positive_jvp(lower: bool, primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """a x' = b' - a' x, by the same factor."""
    (a, b), (da, db) = primals, tangents
    factor = cholesky(a, lower)
    x = _by_factor(factor, b, lower)
    return x, _by_factor(factor, db - da @ x, lower)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of matrices [..., n, n]."""
    return jnp.linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of matrices [..., n, n]; inf or nan where they are singular."""
    return jnp.linalg.inv(a)


# Sylvester's equation


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X with A X + X B = C.

    Args:
        A: [..., m, m].
        B: [..., n, n].
        C: [..., m, n].
        method: "schur" or "eigen", which give the same result here.
        tol: where an eigenvalue of A and one of B add up to less than that, X is nan.
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    A, B, C = promote_dtypes("solve_sylvester", A, B, C, kind=dtypes.to_inexact)
    m, n = C.shape[-2:] if C.ndim > 1 else (None, None)
    if A.shape[-2:] != (m, m) or B.shape[-2:] != (n, n):
        raise ValueError(
            "solve_sylvester takes A [..., m, m], B [..., n, n] and C [..., m, n], got shapes "
            f"{A.shape}, {B.shape} and {C.shape}"
        )
    batch = jnp.broadcast_shapes(A.shape[:-2], B.shape[:-2], C.shape[:-2])
    a, b, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (A, B, C))
    return sylvester(a, b, c, tol=tol)
