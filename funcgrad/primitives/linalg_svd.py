"""Singular values and vectors; where values coincide, derivatives are as `linalg_eig` says."""

import enum
from collections.abc import Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import add, concatenate, convert, mul, neg, scalar_like
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.arithmetic import sub
from funcgrad.primitives.complex_parts import is_complex, real
from funcgrad.primitives.linalg_matrix import (
    adjoint,
    check_choice,
    check_subset,
    diagonal,
    diagonal_part,
    elements,
    in_columns,
    in_rows,
    inverse_or_zero,
    lapack,
    matmul,
    matrix_primitive,
    one_by_one,
    part,
    stacked,
)
from funcgrad.primitives.nary import real_dtype
from funcgrad.transforms import forward


class SvdAlgorithm(enum.Enum):
    """Algorithms for `svd`; DEFAULT is DIVIDE_AND_CONQUER, QR the other one there is on a CPU."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """x = u diag(s) vh, with unitary u and vh and singular values s that descend.

    The derivatives of u and vh have no part that rotates vectors of exactly equal singular values
    among themselves, the columns that `full_matrices` adds included: there they serve functions of
    the span of such vectors.

    Args:
        x: [..., m, n].
        full_matrices: u is [..., m, m] and vh [..., n, n]; else [..., m, k] and [..., k, n] with
            k = min(m, n).
        compute_uv: return (u, s, vh); else s alone.
        subset_by_index: (start, end), to return the singular values with these indices only, with
            their vectors; then full_matrices must be False.
        algorithm: None, or an SvdAlgorithm there is on a CPU.
    """
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError(
            "svd: subset_by_index is only for full_matrices=False, got full_matrices=True"
        )
    s, *uv = svd_p.bind(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=None,
        algorithm=algorithm,
    )
    if subset_by_index is not None:
        chosen, every = slice(*check_subset(subset_by_index, aval_of(s).shape[-1])), slice(None)
        s = elements(s, chosen)
        uv = [part(uv[0], every, chosen), part(uv[1], chosen, every)] if uv else []
    return (uv[0], s, uv[1]) if uv else s


def svd_result(
    dtype: Any,
    x: tuple,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: None,
    algorithm: SvdAlgorithm | None,
) -> list:
    available = [SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER]
    check_choice("svd", algorithm, available)
    m, n = x
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    return [((k,), real_dtype(dtype))] + [(u, dtype), (vh, dtype)] * compute_uv


def svd_evaluate(
    xp: Any,
    outs: Sequence[ShapedArray],
    x: Any,
    full_matrices: bool,
    compute_uv: bool,
    algorithm: SvdAlgorithm | None,
    **_: Any,
) -> Sequence:
    if not x.size:
        unit = [xp.eye(*o.shape[-2:], dtype=o.dtype) for o in outs[1:]]
        vectors = [xp.broadcast_to(e, o.shape) for e, o in zip(unit, outs[1:], strict=True)]
        return [xp.zeros(outs[0].shape, outs[0].dtype), *vectors]
    if algorithm == SvdAlgorithm.QR:
        gesvd = lapack("gesvd", x.dtype)

        def by_qr(x: Any) -> list | None:
            u, s, vh, info = gesvd(x, compute_uv, full_matrices)
            return None if info else [s, u, vh]

        return one_by_one(xp, outs, x.shape[:-2], by_qr, x)

    if linalg_lapack.suits(x):
        return linalg_lapack.over_stack(
            outs, lambda x: linalg_lapack.svd(x, full_matrices, compute_uv), x
        )

    def decompose(x: Any) -> list:
        found = xp.linalg.svd(x, full_matrices, compute_uv)
        return [found[1], found[0], found[2]] if compute_uv else [found]

    return stacked(xp, outs, decompose, x)


def svd_forward(
    primals: Sequence, tangents: Sequence, full_matrices: bool, compute_uv: bool, **params: Any
) -> tuple:
    """u^H x' v has the tangents of s on its diagonal, and off it what turns u and v."""
    whole = full_matrices and compute_uv
    s, u, vh = svd_p.bind(*primals, full_matrices=whole, compute_uv=True, **params)
    (dx,), k, every = tangents, aval_of(s).shape[-1], slice(None)
    m, n = aval_of(dx).shape[-2:]
    thin, v = part(u, every, slice(k)), adjoint(part(vh, slice(k), every))
    inner = matmul(matmul(adjoint(thin), dx), v)
    ds = diagonal(real(inner) if is_complex(inner) else inner)
    if not compute_uv:
        return (s,), (ds,)
    dtype = aval_of(dx).dtype
    right, left = in_rows(s, k), in_columns(s, k)
    gaps = convert(inverse_or_zero(mul(add(right, left), sub(right, left))), dtype)
    right, left = convert(right, dtype), convert(left, dtype)
    turn_u, turn_v = mul(right, inner), mul(left, inner)
    turn_u = mul(gaps, add(turn_u, adjoint(turn_u)))
    turn_v = mul(gaps, add(turn_v, adjoint(turn_v)))
    inverse = convert(inverse_or_zero(s), dtype)
    if is_complex(inner):
        # A common phase of a pair of vectors is free: u takes the change of it alone.
        phase = diagonal_part(mul(sub(inner, adjoint(inner)), scalar_like(0.5, inner)))
        turn_u = add(turn_u, mul(phase, in_columns(inverse, k)))
    du, dv = matmul(thin, turn_u), matmul(v, turn_v)
    if m > n:
        du = outward(du, u, mul(matmul(dx, v), in_rows(inverse, m)), k)
    if n > m:
        dv = outward(dv, adjoint(vh), mul(matmul(adjoint(dx), thin), in_rows(inverse, n)), k)
    return (s, u, vh), (ds, du, adjoint(dv))


def outward(dq: Any, q: Any, moved: Any, k: int) -> Any:
    """The tangent of k columns with the part of `moved` added that is orthogonal to them all.

    Columns of q beyond these turn the other way, so as to stay orthogonal.
    """
    every = slice(None)
    thin, beyond = part(q, every, slice(k)), part(q, every, slice(k, None))
    dq = add(dq, sub(moved, matmul(thin, matmul(adjoint(thin), moved))))
    if not aval_of(beyond).shape[-1]:
        return dq
    others = neg(matmul(thin, matmul(adjoint(moved), beyond)))
    return concatenate([dq, others], aval_of(q).ndim - 1)


svd_p = matrix_primitive("svd", (2,), svd_result, svd_evaluate, multiple_results=True)
forward.rules[svd_p] = svd_forward
