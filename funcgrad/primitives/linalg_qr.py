"""QR factorization, and the Householder reflectors that Q is a product of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import add, broadcast_to_shape, concatenate, convert, mul, reshape
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.arithmetic import sub
from funcgrad.primitives.complex_parts import conj, is_complex, real
from funcgrad.primitives.linalg_lu import lu, lu_solve
from funcgrad.primitives.linalg_matrix import (
    adjoint,
    by_definition,
    diagonal_part,
    identity_like,
    lapack,
    lower_part,
    matmul,
    matrix_primitive,
    one_by_one,
    padded,
    part,
    take_columns,
)
from funcgrad.primitives.linalg_solve import triangular_solve
from funcgrad.transforms import forward


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple:
    """x = Q R with unitary Q and upper triangular R.

    Args:
        x: [..., m, n].
        pivoting: order the columns so that the diagonal of R does not grow: x[:, P] = Q R.
        full_matrices: Q is [..., m, m] and R [..., m, n]; else [..., m, k] and [..., k, n] with
            k = min(m, n).
        use_magma: no effect here.

    Returns:
        (Q, R), and with `pivoting` P, int32 [..., n].
    """
    return qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)


def geqrf(a: Any) -> tuple[Any, Any]:
    """QR as LAPACK leaves it: R above, Householder vectors below the diagonal; their factors."""
    return geqrf_p.bind(a)


def householder_product(a: Any, taus: Any) -> Any:
    """The first n columns of H_1 ... H_k, with H_i = 1 - taus[i] v_i v_i^H.

    Args:
        a: [..., m, n] with m >= n; v_i stands in column i below the diagonal, which counts as 1.
        taus: [..., k] with k <= n.
    """
    return householder_product_p.bind(a, taus)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c (or c Q if not `left`) for the Q that `householder_product` would make; or with Q^H.

    Args:
        a: [..., m, n], Householder vectors below the diagonal, as `householder_product` takes them.
        taus: [..., k].
        c: [..., m, columns] if `left`, else [..., rows, m].
        transpose: use the conjugate transpose of Q.
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)


# qr


def qr_result(dtype: Any, x: tuple, pivoting: bool, full_matrices: bool, use_magma: Any) -> list:
    m, n = x
    k = m if full_matrices else min(m, n)
    return [((m, k), dtype), ((k, n), dtype)] + [((n,), np.int32)] * pivoting


def qr_evaluate(
    xp: Any,
    outs: Sequence[ShapedArray],
    x: Any,
    pivoting: bool,
    full_matrices: bool,
    use_magma: Any,
) -> Sequence:
    if not x.size:
        rows = xp.eye(*outs[0].shape[-2:], dtype=x.dtype)
        return [xp.broadcast_to(rows, outs[0].shape)] + [
            xp.zeros(o.shape, o.dtype) for o in outs[1:]
        ]
    if not pivoting and linalg_lapack.suits(x):
        columns = outs[0].shape[-1]
        return linalg_lapack.over_stack(outs, lambda x: linalg_lapack.qr(x, columns), x)
    if not pivoting:
        return xp.linalg.qr(x, "complete" if full_matrices else "reduced")
    geqp3, orgqr = lapack("geqp3", x.dtype), lapack(unitary("orgqr", x.dtype), x.dtype)
    m, n = x.shape[-2:]
    columns = outs[0].shape[-1]

    def factor(x: Any) -> list:
        packed, order, taus, _, _ = geqp3(x)
        reflectors = np.zeros((m, columns), x.dtype)
        reflectors[:, : min(m, n)] = packed[:, : min(m, n)]
        return [orgqr(reflectors, taus)[0], np.triu(packed[:columns]), order - 1]

    return one_by_one(xp, outs, x.shape[:-2], factor, x)


def unitary(name: str, dtype: Any) -> str:
    """LAPACK's name of a function for orthogonal matrices, in the dtype at hand."""
    return name.replace("or", "un", 1) if np.dtype(dtype).kind == "c" else name


def qr_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    (x,), (dx,) = primals, tangents
    q, r, *order = qr_p.bind(x, **params)
    m, n = aval_of(x).shape[-2:]
    if order:
        x, dx = take_columns(x, order[0]), take_columns(dx, order[0])
    every, k = slice(None), min(m, n)
    thin, square = part(q, every, slice(k)), part(r, slice(k), slice(k))
    dq, dr = thin_qr_tangents(thin, square, part(dx, every, slice(k)))
    if m < n:
        # The columns beyond the square are R_2 = Q^H X_2.
        beyond = slice(m, None)
        rest = matmul(adjoint(dq), part(x, every, beyond))
        rest = add(rest, matmul(adjoint(q), part(dx, every, beyond)))
        dr = concatenate([dr, rest], aval_of(r).ndim - 1)
    elif params["full_matrices"] and m > n:
        dq = concatenate([dq, completion_tangent(q, dq)], aval_of(q).ndim - 1)
        dr = padded(dr, m - n, 0)
    return (q, r, *order), (dq, dr, *(None for _ in order))


def thin_qr_tangents(q: Any, r: Any, dx: Any) -> tuple[Any, Any]:
    """Q^H Q' is anti-Hermitian and R' R^-1 upper triangular with a real diagonal."""
    moved = triangular_solve(r, dx)
    inner = matmul(adjoint(q), moved)
    low = lower_part(inner, -1)
    turn = sub(low, adjoint(low))
    if is_complex(inner):
        turn = add(turn, diagonal_part(sub(inner, convert(real(inner), aval_of(inner).dtype))))
    stretch = sub(inner, turn)
    return sub(moved, matmul(q, stretch)), matmul(stretch, r)


def completion_tangent(q: Any, dq: Any) -> Any:
    """The tangent of the columns of Q beyond the first n, in terms of the tangent of those.

    As a product of reflectors Q is 1 - V T V^H, so its last columns are E + (Q_n - E_n) Z^H, where
    E_n and E are the columns of the identity and Z = V_2 V_1^-1 = Q_low (Q_top - 1)^-1.
    """
    n = aval_of(dq).shape[-1]
    top, low, every = slice(n), slice(n, None), slice(None)
    first = part(q, every, top)
    off = sub(first, identity_like(first))
    factors, _, permutation = lu(adjoint(part(off, top, every)))
    z = adjoint(lu_solve(factors, permutation, adjoint(part(q, low, top))))
    moved = sub(part(dq, low, every), matmul(z, part(dq, top, every)))
    dz_adjoint = lu_solve(factors, permutation, adjoint(moved))
    return add(matmul(dq, adjoint(z)), matmul(off, dz_adjoint))


qr_p = matrix_primitive("qr", (2,), qr_result, qr_evaluate, multiple_results=True)
forward.rules[qr_p] = qr_forward


# Householder reflectors


def geqrf_evaluate(xp: Any, outs: Sequence[ShapedArray], a: Any) -> Sequence:
    if not a.size:
        return [a, xp.zeros(outs[1].shape, a.dtype)]
    packed, taus = xp.linalg.qr(a, "raw")
    return [packed.swapaxes(-1, -2), taus]


geqrf_p = matrix_primitive(
    "geqrf",
    (2,),
    lambda dtype, a: [(a, dtype), ((min(a),), dtype)],
    geqrf_evaluate,
    multiple_results=True,
)


def reflect(a: Any, taus: Any, c: Any, left: bool, transpose: bool) -> Any:
    """The product that `ormqr` is, reflector by reflector."""
    count = aval_of(taus).shape[-1]
    if transpose and is_complex(taus):
        taus = conj(taus)
    low = lower_part(a, -1)
    vectors = add(low, identity_like(low))
    order = range(count)
    for i in reversed(order) if left != transpose else order:
        v = part(vectors, slice(None), slice(i, i + 1))
        *batch, _ = aval_of(taus).shape
        tau = part(reshape(taus, (*batch, 1, count)), slice(None), slice(i, i + 1))
        shrunk = mul(broadcast_to_shape(tau, aval_of(v).shape), v)
        if left:
            c = sub(c, matmul(shrunk, matmul(adjoint(v), c)))
        else:
            c = sub(c, matmul(matmul(c, shrunk), adjoint(v)))
    return c


def product_result(dtype: Any, a: tuple, taus: tuple) -> list:
    if a[0] < a[1] or taus[0] > a[1]:
        raise ValueError(
            "householder_product needs matrices not wider than high and no more taus than columns; "
            f"got matrices {a} and {taus[0]} taus"
        )
    return [(a, dtype)]


def product_evaluate(xp: Any, outs: Sequence[ShapedArray], a: Any, taus: Any) -> Sequence:
    if not a.size or not taus.size:
        return [xp.broadcast_to(xp.eye(*a.shape[-2:], dtype=a.dtype), a.shape)]
    orgqr = lapack(unitary("orgqr", a.dtype), a.dtype)
    return one_by_one(xp, outs, a.shape[:-2], lambda a, taus: orgqr(a, taus)[:1], a, taus)


householder_product_p = matrix_primitive(
    "householder_product", (2, 1), product_result, product_evaluate
)
by_definition(
    householder_product_p,
    lambda a, taus: reflect(a, taus, identity_like(a), left=True, transpose=False),
)


def ormqr_result(dtype: Any, a: tuple, taus: tuple, c: tuple, left: bool, transpose: bool) -> list:
    if c[0 if left else 1] != a[0] or taus[0] > min(a):
        side = "rows" if left else "columns"
        raise ValueError(
            f"ormqr with left={left} takes c with as many {side} as a has rows, and at most as "
            f"many taus as a has columns; got a {a}, taus {taus} and c {c}"
        )
    return [(c, dtype)]


def ormqr_evaluate(
    xp: Any, outs: Sequence[ShapedArray], a: Any, taus: Any, c: Any, left: bool, transpose: bool
) -> Sequence:
    if not c.size or not taus.size:
        return [c]
    function = lapack(unitary("ormqr", c.dtype), c.dtype)
    count = taus.shape[-1]
    side, trans = "L" if left else "R", ("C" if c.dtype.kind == "c" else "T") if transpose else "N"

    def multiply(a: Any, taus: Any, c: Any) -> list:
        room = 64 * max(c.shape)
        return [function(side, trans, a[:, :count], taus, c, room)[0]]

    return one_by_one(xp, outs, c.shape[:-2], multiply, a, taus, c)


ormqr_p = matrix_primitive("ormqr", (2, 1, 2), ormqr_result, ormqr_evaluate)
by_definition(ormqr_p, reflect)
