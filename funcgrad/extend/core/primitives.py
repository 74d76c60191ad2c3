"""The primitives, under the names that programs in JAX import them by."""

# ruff: noqa: F403

from funcgrad.lax import _primitives
from funcgrad.lax._primitives import *
from funcgrad.primitives.bits import threefry2x32_p
from funcgrad.primitives.call import jit_p
from funcgrad.primitives.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from funcgrad.primitives.keys import random_bits_p, random_fold_in_p, random_seed_p, random_split_p
from funcgrad.primitives.linalg_cholesky import cholesky_p
from funcgrad.primitives.linalg_eig import eig_p, eigh_p
from funcgrad.primitives.linalg_lu import lu_p
from funcgrad.primitives.linalg_qr import householder_product_p, qr_p
from funcgrad.primitives.linalg_reduce import hessenberg_p, schur_p, tridiagonal_p
from funcgrad.primitives.linalg_solve import triangular_solve_p, tridiagonal_solve_p
from funcgrad.primitives.linalg_svd import svd_p
from funcgrad.primitives.random_gamma import random_gamma_p
from funcgrad.primitives.remat import name_p, remat_p

__all__ = [
    "cholesky_p",
    "custom_jvp_call_p",
    "custom_lin_p",
    "custom_vjp_call_p",
    "eig_p",
    "eigh_p",
    "hessenberg_p",
    "householder_product_p",
    "jit_p",
    "lu_p",
    "name_p",
    "qr_p",
    "random_bits_p",
    "random_fold_in_p",
    "random_gamma_p",
    "random_seed_p",
    "random_split_p",
    "remat_p",
    "schur_p",
    "svd_p",
    "threefry2x32_p",
    "triangular_solve_p",
    "tridiagonal_p",
    "tridiagonal_solve_p",
]
__all__ += _primitives.__all__
