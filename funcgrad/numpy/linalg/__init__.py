"""Linear algebra on stacks of matrices, with NumPy's names: JAX's `jax.numpy.linalg`."""

from funcgrad.numpy.linalg._decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from funcgrad.numpy.linalg._determinants import cond, det, matrix_power, slogdet
from funcgrad.numpy.linalg._norms import matrix_norm, matrix_rank, norm, vector_norm
from funcgrad.numpy.linalg._products import (
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from funcgrad.numpy.linalg._solving import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
