"""Polar decomposition: a matrix as one with orthonormal columns times a semidefinite one."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import as_array
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import add, concatenate, convert, mul, reduce_sum, scalar_like
from funcgrad.primitives.arithmetic import abs, div, sub
from funcgrad.primitives.compare import lt
from funcgrad.primitives.exponential import sqrt, square
from funcgrad.primitives.linalg_cholesky import cholesky_p
from funcgrad.primitives.linalg_matrix import (
    adjoint,
    identity_like,
    matmul,
    padded,
    part,
    symmetrize,
)
from funcgrad.primitives.linalg_qr import qr
from funcgrad.primitives.linalg_solve import triangular_solve
from funcgrad.primitives.reduction import reduce_max

# From which weight on a step by Cholesky loses too much to rounding, and takes QR instead.
LARGEST_WEIGHT = 100


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """x = u h with u^H u = 1 and Hermitian h, by Halley's iteration with dynamic weights.

    Args:
        x: [m, n] of full rank, m >= n.
        is_hermitian: no effect.
        max_iterations: stop after so many steps, 10 by default; six do in float32.
        eps: the precision to reach, that of the dtype by default.
        dynamic_shape: (rows, columns) of x that count, the rest of x being padding.

    Returns:
        u [m, n], h [n, n], the number of steps (int32), and whether the last was small (bool).

    Source:
        Nakatsukasa, Bai, Gygi, Optimizing Halley's iteration for computing the matrix polar
        decomposition, SIAM J. Matrix Anal. Appl. 31 (2010).
    """
    shape, dtype = aval_of(x).shape, aval_of(x).dtype
    if len(shape) != 2 or shape[0] < shape[1]:
        raise ValueError(f"qdwh takes a matrix [m, n] with m >= n, got shape {shape}")
    if dynamic_shape is not None:
        (m, n), (rows, columns) = shape, dynamic_shape
        x = padded(part(x, slice(rows), slice(columns)), m - rows, n - columns)
    eps = float(dtypes.finfo(dtype).eps) if eps is None else eps
    u = previous = div(x, convert(norm_bound(x), dtype))
    steps = 0
    for a, b, c in weights(eps, 10 if max_iterations is None else max_iterations):
        previous, u, steps = u, step(u, a, b, c), steps + 1
    h = symmetrize(matmul(adjoint(u), x))
    moved, size = norm(sub(u, previous)), norm(u)
    close = lt(moved, mul(size, scalar_like((4 * eps) ** (1 / 3), size)))
    return u, h, as_array(np.int32(steps)), close


def weights(eps: float, limit: int) -> Iterator[tuple[float, float, float]]:
    """The weights of each step, by a lower bound of the singular values that begins at eps."""
    low = eps
    for _ in range(limit):
        square_low = min(low * low, 1.0)
        d = (4 * (1 - square_low) / square_low**2) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square_low) / (square_low * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        yield a, b, c
        if 1 - low < 5 * eps:
            return
        low = min(low * (a + b * square_low) / (1 + c * square_low), 1.0)


def step(u: Any, a: float, b: float, c: float) -> Any:
    """u (a + b u^H u) (1 + c u^H u)^-1"""
    ratio = b / c
    if c > LARGEST_WEIGHT:
        root = math.sqrt(c)
        one = identity_like(part(u, slice(aval_of(u).shape[1]), slice(None)))
        q, _ = qr(concatenate([mul(u, scalar_like(root, u)), one], 0), full_matrices=False)
        rows = aval_of(u).shape[0]
        upper, lower = part(q, slice(rows), slice(None)), part(q, slice(rows, None), slice(None))
        moved = mul(matmul(upper, adjoint(lower)), scalar_like((a - ratio) / root, u))
    else:
        gram = matmul(adjoint(u), u)
        factor = cholesky_p.bind(add(identity_like(gram), mul(gram, scalar_like(c, gram))))
        half = triangular_solve(factor, u, lower=True, transpose_a=True, conjugate_a=True)
        moved = mul(triangular_solve(factor, half, lower=True), scalar_like(a - ratio, u))
    return add(mul(u, scalar_like(ratio, u)), moved)


def norm(x: Any) -> Any:
    return sqrt(reduce_sum(square(abs(x)), (0, 1)))


def norm_bound(x: Any) -> Any:
    """An upper bound of the largest singular value."""
    size = abs(x)
    sums = [reduce_max(reduce_sum(size, (axis,)), (0,)) for axis in (0, 1)]
    return sqrt(mul(*sums))
