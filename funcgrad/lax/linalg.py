"""Linear algebra on stacks of matrices: factorizations, decompositions, and special systems."""

# ruff: noqa: F401

from funcgrad.primitives.linalg_cholesky import (
    cholesky,
    cholesky_p,
    cholesky_update,
    cholesky_update_p,
    symmetric_product,
    symmetric_product_p,
)
from funcgrad.primitives.linalg_eig import (
    EighImplementation,
    EigImplementation,
    eig,
    eig_p,
    eigh,
    eigh_p,
)
from funcgrad.primitives.linalg_lu import (
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
)
from funcgrad.primitives.linalg_polar import qdwh
from funcgrad.primitives.linalg_qr import (
    householder_product,
    householder_product_p,
    ormqr,
    ormqr_p,
    qr,
    qr_p,
)
from funcgrad.primitives.linalg_reduce import (
    hessenberg,
    hessenberg_p,
    schur,
    schur_p,
    tridiagonal,
    tridiagonal_p,
)
from funcgrad.primitives.linalg_solve import (
    triangular_solve,
    triangular_solve_p,
    tridiagonal_solve,
    tridiagonal_solve_p,
)
from funcgrad.primitives.linalg_svd import SvdAlgorithm, svd, svd_p
