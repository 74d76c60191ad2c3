"""Eigenvalues and eigenvectors, of Hermitian matrices and of general ones.

Derivatives of vectors divide by differences of values. Where two values coincide the vectors are
determined only up to a rotation among themselves, and the part of the derivative that would rotate
them is taken to be 0: right for what depends on their span alone, such as a projector. Of a
function that weighs them by their values, such as v f(w) v^H, that part is lost at such a point.
"""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import convert, eq, iota, mul, reduce_sum
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.arithmetic import abs, div, sub
from funcgrad.primitives.complex_parts import complex, conj, imag, is_complex, real
from funcgrad.primitives.linalg_lu import solve
from funcgrad.primitives.linalg_matrix import (
    adjoint,
    check_choice,
    check_square,
    check_subset,
    diagonal,
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
    symmetrize,
)
from funcgrad.primitives.nary import real_dtype
from funcgrad.primitives.reduction import argmax
from funcgrad.transforms import forward


class EighImplementation(enum.Enum):
    """Algorithms for `eigh`; QR is the one there is on a CPU."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """Libraries for `eig`; LAPACK is the one there is on a CPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Vectors v and real values w of Hermitian matrices: x v = v diag(w), v unitary.

    The derivative of v has no part that rotates vectors of exactly equal values among themselves:
    there it serves functions of their span, and not sums weighted by w.

    Args:
        x: [..., n, n].
        lower: which triangle is read if not `symmetrize_input`.
        symmetrize_input: decompose the Hermitian part of x.
        sort_eigenvalues: no effect: they always ascend.
        subset_by_index: (start, end), to return the values with these indices only.
        implementation: None or EighImplementation.QR.

    Returns:
        v [..., n, d] and w [..., d], with d = n or end - start; nan where LAPACK finds none.
    """
    v, w = eigh_p.bind(
        symmetrize(x) if symmetrize_input else x,
        lower=lower,
        sort_eigenvalues=sort_eigenvalues,
        subset_by_index=None,
        algorithm=implementation,
    )
    if subset_by_index is not None:
        chosen = slice(*check_subset(subset_by_index, aval_of(w).shape[-1]))
        v, w = part(v, slice(None), chosen), elements(w, chosen)
    return v, w


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Complex values w of general matrices, and vectors: x vr = vr diag(w), vl^H x = diag(w) vl^H.

    Args:
        x: [..., n, n].
        enable_eigvec_derivs: let vectors be differentiated, in the scaling that LAPACK gives them:
            length 1, and a real largest element. It holds for distinct values only, and where no
            vector has two elements of the largest size.
        implementation: None or EigImplementation.LAPACK.
        use_magma: no effect here.

    Returns:
        [w, vl, vr] of those asked for: [..., n] and [..., n, n]; nan where LAPACK finds none.
    """
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=compute_left_eigenvectors,
            compute_right_eigenvectors=compute_right_eigenvectors,
            enable_eigvec_derivs=enable_eigvec_derivs,
            implementation=implementation,
        )
    )


# eigh


def eigh_result(dtype: Any, x: tuple, algorithm: EighImplementation | None, **_: Any) -> list:
    check_choice("eigh", algorithm, [EighImplementation.QR])
    n = check_square("eigh", x)
    return [(x, dtype), ((n,), real_dtype(dtype))]


def eigh_evaluate(xp: Any, outs: Sequence[ShapedArray], x: Any, lower: bool, **_: Any) -> Sequence:
    if linalg_lapack.suits(x):
        return linalg_lapack.over_stack(outs, lambda x: linalg_lapack.eigh(x, lower), x)
    return stacked(xp, outs, lambda x: xp.linalg.eigh(x, "L" if lower else "U")[::-1], x)


def eigh_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    """In the basis of the vectors v^H x' v has the values' tangents on its diagonal."""
    v, w = eigh_p.bind(*primals, **params)
    n, dtype = aval_of(w).shape[-1], aval_of(v).dtype
    inner = matmul(matmul(adjoint(v), tangents[0]), v)
    gaps = inverse_or_zero(sub(in_rows(w, n), in_columns(w, n)))
    dw = diagonal(real(inner) if is_complex(inner) else inner)
    return (v, w), (matmul(v, mul(convert(gaps, dtype), inner)), dw)


eigh_p = matrix_primitive("eigh", (2,), eigh_result, eigh_evaluate, multiple_results=True)
forward.rules[eigh_p] = eigh_forward


# eig


def eig_result(
    dtype: Any,
    x: tuple,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> list:
    check_choice("eig", implementation, [EigImplementation.LAPACK])
    n = check_square("eig", x)
    wide = dtypes.to_complex(dtype)
    vectors = compute_left_eigenvectors + compute_right_eigenvectors
    return [((n,), wide)] + [((n, n), wide)] * vectors


def eig_evaluate(
    xp: Any,
    outs: Sequence[ShapedArray],
    x: Any,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **_: Any,
) -> Sequence:
    if not x.size:
        return [xp.zeros(o.shape, o.dtype) for o in outs]
    geev = lapack("geev", x.dtype)
    wanted = [compute_left_eigenvectors, compute_right_eigenvectors]

    def decompose(x: Any) -> list | None:
        if not np.isfinite(x).all():
            return None
        *values, left, right, info = geev(x, *wanted)
        w = values[0] + 1j * values[1] if len(values) == 2 else values[0]
        vectors = [v for v, asked in zip((left, right), wanted, strict=True) if asked]
        if len(values) == 2:
            vectors = [complex_vectors(v, values[1]) for v in vectors]
        return None if info else [w, *vectors]

    return one_by_one(xp, outs, x.shape[:-2], decompose, x)


def complex_vectors(packed: Any, imaginary: Any) -> Any:
    """The vectors of a real matrix: LAPACK stores a conjugate pair as real and imaginary part."""
    vectors = packed.astype(dtypes.to_complex(packed.dtype))
    (first,) = np.nonzero(imaginary > 0)
    vectors[:, first] += 1j * packed[:, first + 1]
    vectors[:, first + 1] = vectors[:, first].conj()
    return vectors


def eig_forward(
    primals: Sequence,
    tangents: Sequence,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> tuple:
    vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if vectors and not enable_eigvec_derivs:
        raise NotImplementedError(
            "the derivative of eigenvectors of general matrices holds only for distinct "
            "eigenvalues and LAPACK's scaling of the vectors, which cannot be checked here. Pass "
            "enable_eigvec_derivs=True to eig to have it, or compute eigenvalues only."
        )
    w, *left, vr = eig_p.bind(
        *primals,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=True,  # the tangents of values do not depend on the vectors' scaling
        implementation=implementation,
    )
    moved = convert(tangents[0], aval_of(vr).dtype)
    inner = matmul(solve(vr, moved), vr)
    outs, out_tangents = [w], [diagonal(inner)]
    if left:
        mirrored = matmul(solve(left[0], adjoint(moved)), left[0])
        outs.append(left[0])
        out_tangents.append(eigenvector_tangent(conj(w), left[0], mirrored))
    if compute_right_eigenvectors:
        outs.append(vr)
        out_tangents.append(eigenvector_tangent(w, vr, inner))
    return outs, out_tangents


def eigenvector_tangent(w: Any, v: Any, inner: Any) -> Any:
    """The tangent of v from v^-1 x' v, keeping each vector's length and largest element real.

    A vector moves by a sum of the others, u, and by a multiple of itself: the real part of that
    undoes the change of length, the imaginary part the one of the largest element's phase.
    """
    n = aval_of(w).shape[-1]
    gaps = inverse_or_zero(sub(in_rows(w, n), in_columns(w, n)))
    moved = matmul(v, mul(gaps, inner))
    rows = aval_of(v).ndim - 2
    longer = reduce_sum(real(mul(conj(v), moved)), (rows,))
    largest = argmax(abs(v), rows, np.int32)
    at = convert(eq(in_rows(largest, n), iota(np.int32, aval_of(v).shape, rows)), aval_of(v).dtype)
    turned = imag(reduce_sum(mul(at, moved), (rows,)))
    phase = div(turned, real(reduce_sum(mul(at, v), (rows,))))
    return sub(moved, mul(v, in_rows(complex(longer, phase), n)))


eig_p = matrix_primitive("eig", (2,), eig_result, eig_evaluate, multiple_results=True)
forward.rules[eig_p] = eig_forward
