"""LU factorization with row swaps, and linear systems solved by it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.backend import to_numpy
from funcgrad.base.basis import add, concatenate
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.arithmetic import sub
from funcgrad.primitives.linalg_matrix import (
    INDEX_DTYPES,
    lower_part,
    matmul,
    matrix_primitive,
    padded,
    part,
    put_rows,
    take_rows,
    upper_part,
)
from funcgrad.primitives.linalg_solve import triangular_solve
from funcgrad.transforms import forward


def lu(x: Any) -> tuple[Any, Any, Any]:
    """P x = L U with row swaps that bring up the largest pivot.

    Args:
        x: [..., m, n].

    Returns:
        L below the diagonal (its own is ones) and U above, in one array [..., m, n]; the row that
        each row was swapped with, int32 [..., min(m, n)]; the permutation P, int32 [..., m].
    """
    return lu_p.bind(x)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of rows that swapping row i with row pivots[i], one by one, leads to.

    Args:
        pivots: int32 [..., k].
        permutation_size: how many rows there are, at least k.
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size)


def lu_solve(lu: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """X with op(A) X = b from the `lu` of A; op transposes for 1, and conjugates too for 2."""
    if trans == 0:
        y = triangular_solve(
            lu, take_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True
        )
        return triangular_solve(lu, y, left_side=True)
    turned: Any = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    y = triangular_solve(lu, b, **turned)
    z = triangular_solve(lu, y, lower=True, unit_diagonal=True, **turned)
    return put_rows(z, permutation)


def solve(a: Any, b: Any) -> Any:
    """X with a X = b, by LU."""
    factors, _, permutation = lu(a)
    return lu_solve(factors, permutation, b)


def lu_result(dtype: Any, x: tuple) -> list:
    return [(x, dtype), ((min(x),), np.int32), ((x[0],), np.int32)]


def lu_evaluate(xp: Any, outs: Sequence[ShapedArray], x: Any) -> Sequence:
    if not x.size:
        pivots = xp.zeros(outs[1].shape, np.int32)
        return [x, pivots, *pivots_evaluate(xp, outs[2:], pivots, x.shape[-2])]
    return list(map(xp.asarray, linalg_lapack.over_stack(outs, linalg_lapack.lu, to_numpy(x))))


def pivots_evaluate(
    xp: Any, outs: Sequence[ShapedArray], pivots: Any, permutation_size: int
) -> Sequence:
    swaps = pivots.shape[-1]
    if 0 < pivots.size <= swaps * swaps:
        found = [swapped_rows(p.tolist(), permutation_size) for p in pivots.reshape(-1, swaps)]
        return [xp.array(found, np.int32).reshape(outs[0].shape)]
    order = xp.broadcast_to(xp.arange(permutation_size, dtype=np.int32), outs[0].shape).copy()
    for i in range(swaps):
        other = pivots[..., i : i + 1]
        mine = order[..., i : i + 1].copy()
        order[..., i : i + 1] = xp.take_along_axis(order, other, -1)
        xp.put_along_axis(order, other, mine, -1)
    return [order]


def swapped_rows(pivots: list[int], rows: int) -> list[int]:
    """The order of rows that the swaps of one matrix lead to."""
    order = list(range(rows))
    for i, other in enumerate(pivots):
        order[i], order[other] = order[other], order[i]
    return order


def pivots_result(dtype: Any, pivots: tuple, permutation_size: int) -> list:
    if permutation_size < pivots[0]:
        raise ValueError(
            f"lu_pivots_to_permutation: {pivots[0]} swaps need a permutation_size of at least "
            f"that, got {permutation_size}"
        )
    return [((permutation_size,), dtype)]


def lu_forward(primals: Sequence, tangents: Sequence) -> tuple:
    """L^-1 P A' = (L^-1 L') U + U', and of these two L^-1 L' is what U^-1 leaves below."""
    factors, pivots, permutation = lu_p.bind(*primals)
    m, n = aval_of(factors).shape[-2:]
    k, every = min(m, n), slice(None)
    top, bottom = slice(k), slice(k, None)
    square = part(factors, top, top)
    moved = take_rows(tangents[0], permutation)
    inner = triangular_solve(
        square, part(moved, top, every), left_side=True, lower=True, unit_diagonal=True
    )
    low = lower_part(triangular_solve(square, part(inner, every, top)), -1)
    du = upper_part(sub(inner, matmul(low, upper_part(part(factors, top, every)))))
    dl = add(low, matmul(lower_part(square, -1), low))
    tangent = add(du, padded(dl, 0, n - k))
    if m > k:
        rest = sub(part(moved, bottom, every), matmul(part(factors, bottom, every), du))
        rows = aval_of(factors).ndim - 2
        tangent = concatenate([tangent, triangular_solve(square, rest)], rows)
    return (factors, pivots, permutation), (tangent, None, None)


lu_p = matrix_primitive("lu", (2,), lu_result, lu_evaluate, multiple_results=True)
forward.rules[lu_p] = lu_forward
lu_pivots_to_permutation_p = matrix_primitive(
    "lu_pivots_to_permutation", (1,), pivots_result, pivots_evaluate, INDEX_DTYPES
)
forward.zero_derivative(lu_pivots_to_permutation_p)
