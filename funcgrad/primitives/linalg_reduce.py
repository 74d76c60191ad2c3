"""Reduction to simpler form by unitary similarity: Schur, Hessenberg, tridiagonal."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.primitives.linalg_matrix import check_square, lapack, matrix_primitive, one_by_one
from funcgrad.primitives.nary import real_dtype


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: None = None,
) -> tuple:
    """x = q t q^H with unitary q, and t upper triangular but for 2x2 blocks where x is real.

    Args:
        x: [..., n, n].
        compute_schur_vectors: return (t, q); else (t,).
        sort_eig_vals: must be False, and select_callable None: eigenvalues come in LAPACK's order.

    Returns:
        arrays shaped like x; nan where LAPACK finds no decomposition.
    """
    return schur_p.bind(
        x,
        compute_schur_vectors=compute_schur_vectors,
        sort_eig_vals=sort_eig_vals,
        select_callable=select_callable,
    )


def hessenberg(a: Any) -> tuple[Any, Any]:
    """a = q h q^H, where h is zero below its first subdiagonal, with q as reflectors.

    Args:
        a: [..., n, n].

    Returns:
        h with, below its subdiagonal, the vectors of the reflectors; and their factors
        [..., n - 1], as `householder_product` takes them.
    """
    return hessenberg_p.bind(a)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """a = q t q^H for Hermitian a and real tridiagonal t, with q as reflectors.

    Args:
        a: [..., n, n] with n >= 1, of which one triangle is read.
        lower: read the lower triangle, and leave the vectors of the reflectors there; or the upper.

    Returns:
        t and the vectors in one array shaped like a; the diagonal of t, [..., n]; the one beside
        it, [..., n - 1]; the factors of the reflectors, [..., n - 1].
    """
    return tridiagonal_p.bind(a, lower=lower)


# schur


def schur_result(
    dtype: Any,
    x: tuple,
    compute_schur_vectors: bool,
    sort_eig_vals: bool,
    select_callable: None,
) -> list:
    check_square("schur", x)
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "schur does not sort eigenvalues: sort_eig_vals must be False and select_callable None"
        )
    return [(x, dtype)] * (1 + compute_schur_vectors)


def schur_evaluate(
    xp: Any, outs: Sequence[ShapedArray], x: Any, compute_schur_vectors: bool, **_: Any
) -> Sequence:
    if not x.size:
        return [x] * len(outs)
    gees = lapack("gees", x.dtype)

    def decompose(x: Any) -> list | None:
        if not np.isfinite(x).all():
            return None
        t, *_, q, _, info = gees(lambda *_: False, x, compute_schur_vectors, sort_t=0)
        return None if info else [t, q]

    return one_by_one(xp, outs, x.shape[:-2], decompose, x)


schur_p = matrix_primitive("schur", (2,), schur_result, schur_evaluate, multiple_results=True)


# hessenberg


def hessenberg_result(dtype: Any, a: tuple) -> list:
    n = check_square("hessenberg", a)
    return [(a, dtype), ((max(n - 1, 0),), dtype)]


def hessenberg_evaluate(xp: Any, outs: Sequence[ShapedArray], a: Any) -> Sequence:
    if a.shape[-1] < 2 or not a.size:
        return [a, xp.zeros(outs[1].shape, a.dtype)]
    gehrd = lapack("gehrd", a.dtype)
    return one_by_one(xp, outs, a.shape[:-2], lambda a: gehrd(a)[:2], a)


hessenberg_p = matrix_primitive(
    "hessenberg", (2,), hessenberg_result, hessenberg_evaluate, multiple_results=True
)


# tridiagonal


def tridiagonal_result(dtype: Any, a: tuple, lower: bool) -> list:
    n = check_square("tridiagonal", a)
    if n == 0:
        raise ValueError("tridiagonal takes matrices of at least one row, got shape (0, 0)")
    real = real_dtype(dtype)
    return [(a, dtype), ((n,), real), ((n - 1,), real), ((n - 1,), dtype)]


def tridiagonal_evaluate(xp: Any, outs: Sequence[ShapedArray], a: Any, lower: bool) -> Sequence:
    if a.shape[-1] < 2 or not a.size:
        diagonal = xp.ascontiguousarray(a.real)
        return [
            diagonal.astype(a.dtype),
            diagonal[..., 0],
            *(xp.zeros(o.shape, o.dtype) for o in outs[2:]),
        ]
    function = lapack("hetrd" if a.dtype.kind == "c" else "sytrd", a.dtype)
    return one_by_one(xp, outs, a.shape[:-2], lambda a: function(a, lower)[:4], a)


tridiagonal_p = matrix_primitive(
    "tridiagonal", (2,), tridiagonal_result, tridiagonal_evaluate, multiple_results=True
)
