"""Positive definite matrices: the product A A^T, the Cholesky factor, and its rank-one update."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.base.backend import to_numpy
from funcgrad.base.basis import add, mul, scalar_like
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.linalg_matrix import (
    REAL_DTYPES,
    by_definition,
    check_square,
    column,
    diagonal_part,
    lower_part,
    matmul,
    matrix_primitive,
    symmetrize,
    transposed,
)
from funcgrad.primitives.linalg_solve import triangular_solve
from funcgrad.transforms import forward
from funcgrad.transforms.forward import instantiate_zeros


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with x = L L^H.

    Args:
        x: [..., n, n], Hermitian and positive definite.
        symmetrize_input: factor the Hermitian part of x; else only the lower triangle is read, and
            tangents of x are taken to be Hermitian.

    Returns:
        [..., n, n]; nan in the whole triangle where x is not positive definite.
    """
    return cholesky_p.bind(symmetrize(x) if symmetrize_input else x)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular R' with R'^T R' = R^T R + w w^T, in O(n^2) steps.

    Args:
        r_matrix: [..., n, n], upper triangular, real.
        w_vector: [..., n].
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """alpha A A^T + beta C, of which `symmetrize_output` copies the lower triangle to the upper.

    Args:
        a_matrix: real [..., m, n].
        c_matrix: [..., m, m].
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    return add(lower_part(out), transposed(lower_part(out, -1))) if symmetrize_output else out


# cholesky


def halved(x: Any) -> Any:
    """The lower triangle with half the diagonal: L' = L halved(L^-1 A' L^-H)."""
    return add(lower_part(x, -1), mul(diagonal_part(x), scalar_like(0.5, x)))


def cholesky_tangent(factor: Any, moved: Any) -> Any:
    """The tangent of the lower factor of a matrix whose tangent is `moved`."""
    right = triangular_solve(factor, moved, lower=True, transpose_a=True, conjugate_a=True)
    both = triangular_solve(factor, right, left_side=True, lower=True)
    return matmul(factor, halved(both))


def cholesky_forward(primals: Sequence, tangents: Sequence) -> tuple:
    out = cholesky_p.bind(*primals)
    return (out,), (cholesky_tangent(out, *tangents),)


def cholesky_evaluate(xp: Any, outs: Sequence[ShapedArray], x: Any) -> Sequence:
    if linalg_lapack.suits(x):
        return linalg_lapack.over_stack(outs, linalg_lapack.cholesky, x)
    try:
        return [xp.linalg.cholesky(x)]
    except np.linalg.LinAlgError:
        factors = linalg_lapack.over_stack(outs, linalg_lapack.cholesky, to_numpy(x))
        return list(map(xp.asarray, factors))


cholesky_p = matrix_primitive(
    "cholesky",
    (2,),
    lambda dtype, x: [((check_square("cholesky", x),) * 2, dtype)],
    cholesky_evaluate,
)
forward.rules[cholesky_p] = cholesky_forward


# cholesky_update


def update_result(dtype: Any, r: tuple, w: tuple) -> list:
    if check_square("cholesky_update", r) != w[0]:
        raise ValueError(f"cholesky_update: r_matrix {r} and w_vector {w} are of different sizes")
    return [(r, dtype)]


def update_evaluate(xp: Any, outs: Sequence[ShapedArray], r: Any, w: Any) -> Sequence:
    """A rotation for each row of R takes the element of w below its diagonal to 0."""
    out, w = xp.array(r), w[..., None, :]
    for k in range(r.shape[-1]):
        row = out[..., k : k + 1, :]
        x, y = row[..., k : k + 1], w[..., k : k + 1]
        norm = xp.hypot(x, y)
        none = y == 0
        c, s = xp.where(none, 1, x / norm), xp.where(none, 0, y / norm)
        out[..., k : k + 1, :], w = c * row + s * w, c * w - s * row
    return [out]


def update_forward(primals: Sequence, tangents: Sequence) -> tuple:
    r, w = primals
    dr, dw = map(instantiate_zeros, primals, tangents)
    out = cholesky_update_p.bind(r, w)
    moved = add(matmul(transposed(dr), r), matmul(column(dw), transposed(column(w))))
    tangent = cholesky_tangent(transposed(out), add(moved, transposed(moved)))
    return (out,), (transposed(tangent),)


cholesky_update_p = matrix_primitive(
    "cholesky_update", (2, 1), update_result, update_evaluate, REAL_DTYPES
)
forward.rules[cholesky_update_p] = update_forward


# symmetric_product


def symmetric_result(dtype: Any, a: tuple, c: tuple, alpha: float, beta: float) -> list:
    if check_square("symmetric_product", c) != a[0]:
        raise ValueError(f"symmetric_product: a_matrix {a} and c_matrix {c} do not fit")
    return [(c, dtype)]


def symmetric_evaluate(
    xp: Any, outs: Sequence[ShapedArray], a: Any, c: Any, alpha: float, beta: float
) -> Sequence:
    alpha, beta = (c.dtype.type(v) for v in (alpha, beta))
    return [alpha * (a @ a.swapaxes(-1, -2)) + beta * c]


symmetric_product_p = matrix_primitive(
    "symmetric_product", (2, 2), symmetric_result, symmetric_evaluate, REAL_DTYPES
)
by_definition(
    symmetric_product_p,
    lambda a, c, alpha, beta: add(
        mul(matmul(a, transposed(a)), scalar_like(alpha, a)), mul(c, scalar_like(beta, c))
    ),
)
