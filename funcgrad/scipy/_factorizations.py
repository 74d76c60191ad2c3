"""Factorizations of matrices: triangular, orthogonal, spectral, polar.

The arguments overwrite_a, check_finite and the like are taken for compatibility and have no effect.
"""

from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.numpy._promotion import promote_dtypes
from funcgrad.scipy._matrices import adjoint, matrices


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The upper triangular R with a = R^H R, or with `lower` the L with a = L L^H.

    Args:
        a: [..., n, n], positive definite; only the triangle that `lower` names is read.

    Returns:
        [..., n, n]; nan where a is not positive definite.
    """
    a = matrices("cholesky", a, square=True)
    if lower:
        return lax.linalg.cholesky(a, symmetrize_input=False)
    return adjoint(lax.linalg.cholesky(adjoint(a), symmetrize_input=False))


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """`cholesky(a, lower)` and `lower`: what `cho_solve` takes."""
    return cholesky(a, lower), lower


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L and U of a = P L U in one array [..., m, n], and pivots: what `lu_solve` takes.

    L has ones on its diagonal, which are not stored; row i was swapped with row pivots[i].
    """
    factors, pivots, _ = lax.linalg.lu(matrices("lu_factor", a))
    return factors, pivots


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """(P, L, U) with a = P L U, or (P L, U) if `permute_l`.

    Args:
        a: [..., m, n].

    Returns:
        P [..., m, m], a permutation; L [..., m, k], lower triangular with ones on its diagonal;
        U [..., k, n], upper triangular, with k = min(m, n).
    """
    a = matrices("lu", a)
    m, n = a.shape[-2:]
    k = min(m, n)
    factors, _, order = lax.linalg.lu(a)
    rows = lax.broadcasted_iota(order.dtype, (*order.shape[:-1], m, m), a.ndim - 2)
    p = convert(order[..., None, :] == rows, jnp.real(a).dtype)
    lower = jnp.tril(factors, -1)[..., :k] + jnp.eye(m, k, dtype=a.dtype)
    upper = jnp.triu(factors)[..., :k, :]
    return (p @ lower, upper) if permute_l else (p, lower, upper)


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """(Q, R) with a = Q R, orthonormal columns in Q, and upper triangular R.

    Args:
        a: [..., m, n].
        mode: "full" for Q [..., m, m] and R [..., m, n]; "economic" for [..., m, k] and
            [..., k, n] with k = min(m, n); "r" for (R,) alone, [..., m, n].
        pivoting: return also P, int32 [..., n], with a[:, P] = Q R and a diagonal of R that does
            not grow.
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(
            f"Unsupported QR decomposition mode {mode!r}; there are 'full', 'economic' and 'r'"
        )
    a = matrices("qr", a)
    factors = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(factors[1:] if mode == "r" else factors)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """(c Q, R) for the economic factorization a = Q R, or (Q c, R).

    Args:
        a: [..., m, n]; Q is [..., m, k] with k = min(m, n).
        c: [..., p, m], or [m], if `mode` is "right"; [..., k, p], or [k], if it is "left".
        mode: on which side of c Q stands.
        pivoting: return also the order of columns, as `qr` does.
        conjugate: multiply by the conjugate of Q.
    """
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply has modes 'right' and 'left', not {mode!r}")
    a, c = promote_dtypes("qr_multiply", a, c, kind=dtypes.to_inexact)
    q, *rest = qr(a, mode="economic", pivoting=pivoting)
    have, want = c.shape[-1 if mode == "right" or c.ndim == 1 else -2], q.shape[-2]
    if mode == "left":
        want = q.shape[-1]
    if have != want:
        raise ValueError(
            f"qr_multiply: {'c Q' if mode == 'right' else 'Q c'} does not fit Q of shape {q.shape} "
            f"and c of shape {c.shape}"
        )
    q = lax.conj(q) if conjugate and jnp.iscomplexobj(q) else q
    return (c @ q if mode == "right" else q @ c, *rest)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(U, s, Vh) with a = U diag(s) Vh, or s alone without `compute_uv`; s descends.

    Args:
        a: [..., m, n].
        full_matrices: U is [..., m, m] and Vh [..., n, n]; else [..., m, k] and [..., k, n] with
            k = min(m, n).
    """
    a = matrices("svd", a)
    result = lax.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(result) if compute_uv else result


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: tuple[int, int] | None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """The real eigenvalues w, ascending, and eigenvectors v, in columns, of Hermitian problems.

    Args:
        a: [..., n, n], Hermitian.
        b: positive definite [..., n, n], or None for 1.
        lower: no effect, as both triangles of `a` are read, but for which triangle of `b` is.
        eigvals_only: return w alone.
        eigvals: (first, last) of the eigenvalues to return, both included.
        type: 1 for a v = b v diag(w), with v^H b v = 1; 2 for a b v = v diag(w), with
            v^H b v = 1; 3 for b a v = v diag(w), with v^H b^-1 v = 1.
    """
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    a = matrices("eigh", a, square=True)
    factor = None
    if b is not None:
        a, b = promote_dtypes("eigh", a, b, kind=dtypes.to_inexact)
        factor = cholesky(b, lower=True) if lower else adjoint(cholesky(b))
        a = _reduced(a, factor, type)
    v, w = lax.linalg.eigh(a, lower=lower)
    if factor is not None and type == 3:
        v = factor @ v
    elif factor is not None:
        v = lax.linalg.triangular_solve(
            factor, v, left_side=True, lower=True, transpose_a=True, conjugate_a=True
        )
    if eigvals is not None:
        first, last = eigvals
        w, v = w[..., first : last + 1], v[..., first : last + 1]
    return w if eigvals_only else (w, v)


def _reduced(a: Any, factor: Any, kind: int) -> Any:
    """The ordinary problem with the eigenvalues of a generalized one, b being factor factor^H."""
    if kind != 1:
        return adjoint(factor) @ a @ factor
    half = lax.linalg.triangular_solve(factor, a, left_side=True, lower=True)
    return lax.linalg.triangular_solve(factor, half, lower=True, transpose_a=True, conjugate_a=True)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """The eigenvalues w, ascending, and eigenvectors v of a Hermitian tridiagonal matrix.

    Args:
        d: the diagonal [n], real.
        e: the diagonal above it [n - 1]; the one below is its conjugate.
        eigvals_only: return w alone.
        select: "a" for all, "i" for those with numbers `select_range[0]` to `select_range[1]`, both
            included, counted from 0.
        tol, key: taken for compatibility; they have no effect.
    """
    if select not in ("a", "i"):
        raise ValueError(
            f"eigh_tridiagonal: select must be 'a' or 'i', got {select!r}. How many eigenvalues "
            "lie in an interval ('v') depends on their values: compute all, and mask them."
        )
    if (select == "i") != (select_range is not None):
        raise ValueError("eigh_tridiagonal: select='i' and select_range must be given together")
    d, e = promote_dtypes("eigh_tridiagonal", d, e, kind=dtypes.to_inexact)
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ValueError(
            f"eigh_tridiagonal: d must have shape [n] and e [n - 1], got {d.shape} and {e.shape}"
        )
    a = jnp.diag(convert(jnp.real(d), d.dtype)) + jnp.diag(e, 1) + jnp.diag(jnp.conj(e), -1)
    return eigh(a, eigvals_only=eigvals_only, eigvals=select_range)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """(T, Z) with a = Z T Z^H, unitary Z and upper triangular T.

    Args:
        a: [..., n, n].
        output: "real" keeps real a real, where T has 2 x 2 blocks for pairs of complex
            eigenvalues; "complex" does not.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur has a 'real' and a 'complex' output, not {output!r}.")
    a = matrices("schur", a, square=True)
    if output == "complex":
        a = convert(a, dtypes.to_complex(a.dtype))
    t, z = lax.linalg.schur(a)
    return t, z


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """A real Schur form (T, Z) as a complex one, in which T is triangular."""
    T, Z = promote_dtypes("rsf2csf", T, Z, kind=dtypes.to_complex)
    T, Z = (matrices("rsf2csf", x, square=True) for x in (T, Z))
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"rsf2csf: T and Z must fit, got shapes {T.shape} and {Z.shape}")
    triangular, rotation = lax.linalg.schur(T)
    return triangular, Z @ rotation


def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """H, zero below its first subdiagonal, with a = Q H Q^H; with `calc_q`, (H, Q).

    Args:
        a: [..., n, n].
    """
    a = matrices("hessenberg", a, square=True)
    n = a.shape[-1]
    packed, taus = lax.linalg.hessenberg(a) if n else (a, a[..., 0])
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    if n < 2:
        return h, jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    rest = lax.linalg.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.pad(rest, [(0, 0)] * (a.ndim - 2) + [(1, 0), (1, 0)])
    return h, q.at[..., 0, 0].set(1)


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """(U, P) with a = U P, or a = P U, for orthonormal columns or rows in U and semidefinite P.

    Args:
        a: [..., m, n].
        side: on which side P stands: "right", [..., n, n], or "left", [..., m, m].
        method: "qdwh", an iteration, for a of full rank; or "svd".
        eps: the precision to iterate to, that of the dtype by default.
        max_iterations: how many steps to take at most.
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar has sides 'right' and 'left', not {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', got {method!r}")
    a = matrices("polar", a)
    if method == "svd":
        left, _, right = lax.linalg.svd(a, full_matrices=False)
        unitary = left @ right
    else:

        def iterate(x: Any) -> Any:
            return lax.linalg.qdwh(x, eps=eps, max_iterations=max_iterations)[0]

        tall = a.shape[-2] >= a.shape[-1]
        found = jnp.vectorize(iterate, signature="(m,n)->(m,n)")(a if tall else adjoint(a))
        unitary = found if tall else adjoint(found)
    p = adjoint(unitary) @ a if side == "right" else a @ adjoint(unitary)
    return unitary, (p + adjoint(p)) / 2
