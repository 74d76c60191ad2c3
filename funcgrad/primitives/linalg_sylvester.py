"""Sylvester's equation A X + X B = C, and the matrix square root, whose tangent solves one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.base.basis import neg
from funcgrad.primitives.linalg_matrix import (
    blas,
    check_square,
    lapack,
    matmul,
    matrix_primitive,
    one_by_one,
    transposed,
)
from funcgrad.transforms import backward, forward
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.forward import add_tangents, instantiate_zeros

COMPLEX_DTYPES = tuple(map(np.dtype, (np.complex64, np.complex128)))


def sylvester(a: Any, b: Any, c: Any, *, tol: float = 0.0) -> Any:
    """X with a X + X b = c; nan where an eigenvalue of a and one of b add up to at most `tol`.

    Args:
        a: [..., m, m].
        b: [..., n, n].
        c: [..., m, n].
    """
    return sylvester_p.bind(a, b, c, tol=float(tol))


def sqrtm(x: Any) -> Any:
    """The principal square root of complex matrices [..., n, n]; nan where there is none."""
    return sqrtm_p.bind(x)


def schur_form(x: Any) -> tuple[Any, Any, Any]:
    """t, q and the eigenvalues, with x = q t q^H."""
    t, _, *values, q, _, info = lapack("gees", x.dtype)(lambda *_: False, x, sort_t=0)
    if info:
        raise np.linalg.LinAlgError("Schur's form did not converge")
    return t, q, values[0] if len(values) == 1 else values[0] + 1j * values[1]


# sylvester


def sylvester_result(dtype: Any, a: tuple, b: tuple, c: tuple, tol: float) -> list:
    if (check_square("sylvester", a), check_square("sylvester", b)) != c:
        raise ValueError(
            f"sylvester: a X + X b = c takes c with the rows of a and the columns of b; got a {a}, "
            f"b {b} and c {c}"
        )
    return [(c, dtype)]


def sylvester_evaluate(
    xp: Any, outs: Sequence[ShapedArray], a: Any, b: Any, c: Any, tol: float
) -> Sequence:
    """With both matrices in Schur's form the equation is one of triangular matrices."""
    if not c.size:
        return [c]
    trsyl = lapack("trsyl", c.dtype)

    def solve(a: Any, b: Any, c: Any) -> list | None:
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return None
        (r, u, of_a), (s, v, of_b) = schur_form(a), schur_form(b)
        if (abs(of_a[:, None] + of_b) <= tol).any():
            return None
        y, scale, info = trsyl(r, s, u.conj().T @ c @ v)
        return None if info else [u @ (y / scale) @ v.conj().T]

    return one_by_one(xp, outs, c.shape[:-2], solve, a, b, c)


sylvester_p = matrix_primitive("sylvester", (2, 2, 2), sylvester_result, sylvester_evaluate)


def sylvester_forward(primals: Sequence, tangents: Sequence, tol: float) -> tuple:
    """a X' + X' b = c' - a' X - X b'"""
    (a, b, c), (da, db, moved) = primals, tangents
    x = sylvester_p.bind(a, b, c, tol=tol)
    if da is not None:
        moved = add_tangents(moved, neg(matmul(da, x)))
    if db is not None:
        moved = add_tangents(moved, neg(matmul(x, db)))
    return (x,), (sylvester_p.bind(a, b, instantiate_zeros(c, moved), tol=tol),)


def sylvester_backward(cts: Sequence, a: Any, b: Any, c: Any, tol: float) -> list[Any]:
    if is_linear(a) or is_linear(b):
        raise TypeError("sylvester is linear in c alone, not in its matrices a and b")
    return [None, None, sylvester_p.bind(transposed(a), transposed(b), cts[0], tol=tol)]


forward.rules[sylvester_p] = sylvester_forward
backward.rules[sylvester_p] = sylvester_backward


# sqrtm


def sqrtm_evaluate(xp: Any, outs: Sequence[ShapedArray], x: Any) -> Sequence:
    if not x.size:
        return [x]

    def root(x: Any) -> list | None:
        if not np.isfinite(x).all():
            return None
        t, q, _ = schur_form(x)
        return [q @ triangular_root(t) @ q.conj().T]

    return one_by_one(xp, outs, x.shape[:-2], root, x)


def triangular_root(t: Any) -> Any:
    """u with u u = t: column j above the diagonal solves (u + u_jj) x = t_j, or is nan."""
    trsv = blas("trsv", t.dtype)
    u = np.diag(np.sqrt(np.diag(t)))
    for j in range(1, t.shape[0]):
        left = u[:j, :j] + u[j, j] * np.eye(j, dtype=t.dtype)
        sums = np.diag(left)
        x = trsv(left + np.diag(sums == 0), t[:j, j])
        u[:j, j] = np.where((sums == 0) & (x != 0), np.nan, x)
    return u


sqrtm_p = matrix_primitive(
    "sqrtm",
    (2,),
    lambda dtype, x: [((check_square("sqrtm", x),) * 2, dtype)],
    sqrtm_evaluate,
    COMPLEX_DTYPES,
)


def sqrtm_forward(primals: Sequence, tangents: Sequence) -> tuple:
    """s s' + s' s = x'"""
    root = sqrtm_p.bind(*primals)
    return (root,), (sylvester(root, root, tangents[0]),)


forward.rules[sqrtm_p] = sqrtm_forward
