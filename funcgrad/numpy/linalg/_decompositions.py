"""Matrices as products of simpler ones: cholesky, qr, svd, eigh, eig and the values alone."""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.base.basis import iota
from funcgrad.numpy._complex import conj
from funcgrad.numpy._promotion import inexact1
from funcgrad.numpy._shaping import matrix_transpose
from funcgrad.numpy._taking import take_along_axis
from funcgrad.primitives import (
    arithmetic,
    linalg_cholesky,
    linalg_eig,
    linalg_qr,
    linalg_svd,
    sorting,
)
from funcgrad.primitives.structural import rev


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


def adjoint(x: Any) -> Any:
    """The conjugated transpose of matrices."""
    return conj(matrix_transpose(x))


def matrices(name: str, a: Any, square: bool = False) -> Any:
    """The argument as floats of shape [..., m, n], or [..., n, n]."""
    a = inexact1(f"linalg.{name}", a)
    shape = a.aval.shape
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        wanted = "[..., n, n]" if square else "[..., m, n]"
        raise ValueError(f"Argument to {name}() must have shape {wanted}, got {shape}")
    return a


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with a = L L^H, or the upper U with a = U^H U.

    Args:
        a: [..., n, n], Hermitian and positive definite; nan is returned where it is not.
        upper: return U.
        symmetrize_input: factor the Hermitian part of a, so that gradients are symmetric.
    """
    a = matrices("cholesky", a, square=True)
    factor = linalg_cholesky.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


def qr(a: Any, mode: str = "reduced") -> Any:
    """a = Q R with orthonormal columns in Q and upper triangular R.

    mode: "reduced" for Q [..., m, k] and R [..., k, n] with k = min(m, n); "complete" for Q
    [..., m, m] and R [..., m, n]; "r" for R alone; "raw" for LAPACK's Householder vectors (as rows)
    and factors.
    """
    a = matrices("qr", a)
    if mode == "raw":
        packed, taus = linalg_qr.geqrf(a)
        return QRResult(matrix_transpose(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(
            f"Unsupported QR decomposition mode {mode!r}; there are 'reduced', 'complete', "
            "'r' and 'raw'"
        )
    q, r = linalg_qr.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """a = U diag(S) Vh with unitary U and Vh, and singular values S that descend.

    Args:
        a: [..., m, n].
        full_matrices: U is [..., m, m] and Vh [..., n, n]; else both are cut to k = min(m, n).
        compute_uv: return (U, S, Vh); else S alone.
        hermitian: a is, and the eigenvalues give the result faster.
        subset_by_index: (start, end) of the singular values to return.
    """
    a = matrices("svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv, subset_by_index)
    result = linalg_svd.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*result) if compute_uv else result


def _hermitian_svd(a: Any, compute_uv: bool, subset: tuple[int, int] | None) -> Any:
    """Singular values are the sizes of eigenvalues; their signs go into Vh."""
    v, w = linalg_eig.eigh(a, subset_by_index=subset)
    last = w.ndim - 1
    size = arithmetic.abs(w)
    if not compute_uv:
        return rev(sorting.sort(size, last), (last,))
    places = iota(np.int32, w.aval.shape, last)
    size, order, sign = sorting.sort((size, places, arithmetic.sign(w)), last)
    size, order, sign = (rev(x, (last,)) for x in (size, order, sign))
    u = take_along_axis(v, order[..., None, :], -1)
    return SVDResult(u, size, adjoint(u * sign[..., None, :].astype(u.dtype)))


def svdvals(x: Any, /) -> Any:
    """The singular values, descending."""
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The real eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices.

    Args:
        a: [..., n, n].
        UPLO: which triangle is read if not `symmetrize_input`, "L" (the default) or "U".
        symmetrize_input: decompose the Hermitian part of a, so that gradients are symmetric.

    Returns:
        eigenvalues [..., n] and eigenvectors [..., n, n], one in each column.
    """
    a = matrices("eigh", a, square=True)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"eigh: UPLO names a triangle, 'L' or 'U', or is None; not {UPLO!r}")
    vectors, values = linalg_eig.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of `eigh`."""
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """The complex eigenvalues, in no order, and eigenvectors of general matrices [..., n, n]."""
    a = matrices("eig", a, square=True)
    return EigResult(*linalg_eig.eig(a, compute_left_eigenvectors=False))


def eigvals(a: Any) -> Any:
    """The complex eigenvalues of general matrices [..., n, n], in no order."""
    a = matrices("eigvals", a, square=True)
    (values,) = linalg_eig.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return values
