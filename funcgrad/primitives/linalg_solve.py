"""Linear systems whose matrix needs no factorization: triangular and tridiagonal ones."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.backend import to_numpy
from funcgrad.base.basis import (
    add,
    moveaxis,
    mul,
    neg,
    pad,
    reshape,
    scalar_like,
)
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.complex_parts import conj, is_complex
from funcgrad.primitives.linalg_matrix import (
    LAPACK_DTYPES,
    check_square,
    in_columns,
    lapack,
    lower_part,
    matmul,
    matrix_primitive,
    one_by_one,
    transposed,
    upper_part,
)
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.forward import add_tangents, instantiate_zeros


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """X with op(a) X = b if `left_side`, else X op(a) = b, for triangular a.

    Args:
        a: [..., m, m]; only the triangle that `lower` names is read, and not its diagonal if
            `unit_diagonal`, which takes it to be ones.
        b: [..., m, n] if `left_side`, else [..., n, m]; or [..., m], one vector for each matrix.
        transpose_a, conjugate_a: what op does to a.

    Returns:
        An array shaped like b; infinite or nan where a is singular.
    """
    vector = aval_of(b).ndim == aval_of(a).ndim - 1
    shape = aval_of(b).shape
    if vector:
        b = reshape(b, (*shape, 1) if left_side else (*shape[:-1], 1, *shape[-1:]))
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and is_complex(a),
        unit_diagonal=unit_diagonal,
    )
    return reshape(out, shape) if vector else out


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """X with A X = b, for A with the diagonals dl (below), d and du (above).

    Args:
        dl, d, du: [..., m], with A[i, i - 1] = dl[i] and A[i, i + 1] = du[i]; dl[0] and du[m - 1]
            are not read.
        b: [..., m, n].
        perturb_singular: replace pivots that are zero to working precision by ones of that size,
            so that X is finite (as inverse iteration for eigenvectors wants it).

    Returns:
        An array shaped like b; nan where A is singular, unless `perturb_singular`.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)


# triangular_solve


def triangular_result(dtype: Any, a: tuple, b: tuple, left_side: bool, **_: Any) -> list:
    n = check_square("triangular_solve", a)
    if b[0 if left_side else 1] != n:
        side = "a X = b" if left_side else "X a = b"
        raise ValueError(f"triangular_solve: {side} does not fit matrices a {a} and b {b}")
    return [(b, dtype)]


def triangular_evaluate(
    xp: Any,
    outs: Sequence[ShapedArray],
    a: Any,
    b: Any,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Sequence:
    (out,) = outs
    if not out.size:
        return [xp.zeros(out.shape, out.dtype)]
    if out.dtype not in LAPACK_DTYPES:
        a, b = a.astype(np.float32), b.astype(np.float32)
    if conjugate_a and not transpose_a:
        a = a.conj()
    if math.prod(b.shape[:-2]) > b.shape[-1 if left_side else -2]:
        if transpose_a:
            a, lower = (a.conj() if conjugate_a else a).swapaxes(-1, -2), not lower
        if left_side:
            x = substitute(xp, a, b, lower, unit_diagonal)
        else:
            turned = a.swapaxes(-1, -2), b.swapaxes(-1, -2)
            x = substitute(xp, *turned, not lower, unit_diagonal).swapaxes(-1, -2)
        return [x.astype(out.dtype, copy=False)]
    op = b"N" if not transpose_a else b"C" if conjugate_a else b"T"

    def solve(a: Any, b: Any) -> list:
        return linalg_lapack.triangular_solve(a, b, left_side, lower, op, unit_diagonal)

    (x,) = linalg_lapack.over_stack(outs, solve, to_numpy(a), to_numpy(b))
    return [xp.asarray(x, out.dtype)]


def substitute(xp: Any, a: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    """Row after row of the solution, of all systems at once: for many small ones."""
    n = b.shape[-2]
    x = xp.empty_like(b)
    for step in range(n):
        i = step if lower else n - 1 - step
        known = slice(0, i) if lower else slice(i + 1, n)
        row = b[..., i, :] - (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit_diagonal else row / a[..., i, i, None]
    return x


triangular_solve_p = matrix_primitive(
    "triangular_solve",
    (2, 2),
    triangular_result,
    triangular_evaluate,
    (*LAPACK_DTYPES, *map(np.dtype, ("float16", "bfloat16"))),
)


def triangular_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    """op(a) dX = db - op(da) X, or the same from the other side."""
    (a, b), (da, rhs) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    if da is not None:
        k = 1 if params["unit_diagonal"] else 0
        da = lower_part(da, -k) if params["lower"] else upper_part(da, k)
        da = transposed(da) if params["transpose_a"] else da
        da = conj(da) if params["conjugate_a"] else da
        moved = matmul(da, x) if params["left_side"] else matmul(x, da)
        rhs = add_tangents(rhs, neg(moved))
    return (x,), (triangular_solve_p.bind(a, rhs, **params),)


def triangular_backward(
    cts: Sequence, a: Any, b: Any, transpose_a: bool, **params: Any
) -> list[Any]:
    if is_linear(a):
        raise TypeError("triangular_solve is not linear in its matrix a")
    return [None, triangular_solve_p.bind(a, cts[0], transpose_a=not transpose_a, **params)]


def triangular_batch(
    axis: Any, values: Sequence, axes: Sequence, left_side: bool, **params: Any
) -> Any:
    """With one matrix for the whole batch, the batch is more columns (or rows) of b."""
    a, b = values
    if axes[0] is not None:
        moved = [batching.to_front(axis, v, at) for v, at in zip(values, axes, strict=True)]
        return (triangular_solve_p.bind(*moved, left_side=left_side, **params),), (0,)
    where = aval_of(b).ndim - (1 if left_side else 2)
    b = moveaxis(b, axes[1], where)
    shape = aval_of(b).shape
    merged = (*shape[: where - 1], shape[where - 1] * shape[where], *shape[where + 1 :])
    out = triangular_solve_p.bind(a, reshape(b, merged), left_side=left_side, **params)
    return (reshape(out, shape),), (where,)


forward.rules[triangular_solve_p] = triangular_forward
backward.rules[triangular_solve_p] = triangular_backward
batching.rules[triangular_solve_p] = triangular_batch


# tridiagonal_solve


def tridiagonal_result(
    dtype: Any, dl: tuple, d: tuple, du: tuple, b: tuple, perturb_singular: bool
) -> list:
    if not dl == d == du == b[:1]:
        raise TypeError(
            "tridiagonal_solve takes diagonals [..., m], padded to one length, and b [..., m, n]; "
            f"got {dl}, {d}, {du} and {b} (without the axes of the stack)"
        )
    return [(b, dtype)]


def tridiagonal_evaluate(
    xp: Any,
    outs: Sequence[ShapedArray],
    dl: Any,
    d: Any,
    du: Any,
    b: Any,
    perturb_singular: bool,
) -> Sequence:
    if not b.size:
        return [xp.zeros(b.shape, b.dtype)]
    if perturb_singular:
        return [solve_perturbed(xp, dl, d, du, b)]
    if d.shape[-1] == 1:
        return [xp.where(d[..., None] == 0, np.nan, b / d[..., None]).astype(b.dtype)]
    gtsv = lapack("gtsv", b.dtype)

    def solve(dl: Any, d: Any, du: Any, b: Any) -> list | None:
        *_, x, info = gtsv(dl[1:], d, du[:-1], b)
        return None if info else [x]

    return one_by_one(xp, outs, b.shape[:-2], solve, dl, d, du, b)


def solve_perturbed(xp: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
    """Gaussian elimination with row swaps, pivots kept away from 0 by eps times the largest.

    A row holds its coefficients of three columns, from the diagonal on, and its right sides.
    """
    n = d.shape[-1]
    above = xp.where(xp.arange(n) < n - 1, du, 0)
    given = xp.concatenate([dl[..., None], d[..., None], above[..., None], b], -1)

    def without_first(row: Any) -> Any:
        return xp.concatenate([row[..., 1:3], xp.zeros_like(row[..., :1]), row[..., 3:]], -1)

    rows, current = [], without_first(given[..., 0, :])
    for i in range(1, n):
        following = given[..., i, :]
        swap = abs(following[..., :1]) > abs(current[..., :1])
        top, below = xp.where(swap, following, current), xp.where(swap, current, following)
        pivot = top[..., :1]
        rows.append(top)
        current = without_first(below - below[..., :1] / xp.where(pivot == 0, 1, pivot) * top)
    rows.append(current)
    largest = xp.max(abs(xp.stack(rows)[..., :3]), (0, -1))[..., None]
    least = np.finfo(b.dtype).eps * xp.where(largest == 0, 1, largest)
    x = xp.zeros((*b.shape[:-2], n + 2, b.shape[-1]), b.dtype)
    for i in reversed(range(n)):
        pivot, first, second = (rows[i][..., k : k + 1] for k in range(3))
        right = rows[i][..., 3:] - first * x[..., i + 1, :] - second * x[..., i + 2, :]
        small = xp.where(pivot.real < 0, -least, least)
        x[..., i, :] = right / xp.where(abs(pivot) < least, small, pivot)
    return x[..., :n, :]


tridiagonal_solve_p = matrix_primitive(
    "tridiagonal_solve", (1, 1, 1, 2), tridiagonal_result, tridiagonal_evaluate
)


def shifted(v: Any, by: int, axis: int) -> Any:
    """v moved by one place along an axis, a zero coming in."""
    config = [(0, 0, 0)] * aval_of(v).ndim
    config[axis] = (by, -by, 0)
    return pad(v, scalar_like(0, v), config)


def tridiagonal_product(dl: Any, d: Any, du: Any, x: Any) -> Any:
    rows, columns = aval_of(x).ndim - 2, aval_of(x).shape[-1]
    terms = ((dl, shifted(x, 1, rows)), (d, x), (du, shifted(x, -1, rows)))
    low, middle, high = (mul(in_columns(v, columns), moved) for v, moved in terms)
    return add(add(low, middle), high)


def tridiagonal_forward(primals: Sequence, tangents: Sequence, perturb_singular: bool) -> tuple:
    *diagonals, _ = primals
    *moves, rhs = tangents
    x = tridiagonal_solve_p.bind(*primals, perturb_singular=perturb_singular)
    if any(t is not None for t in moves):
        dl, d, du = map(instantiate_zeros, diagonals, moves)
        rhs = add_tangents(rhs, neg(tridiagonal_product(dl, d, du, x)))
    out = tridiagonal_solve_p.bind(*diagonals, rhs, perturb_singular=perturb_singular)
    return (x,), (out,)


def tridiagonal_backward(
    cts: Sequence, dl: Any, d: Any, du: Any, b: Any, perturb_singular: bool
) -> list[Any]:
    if any(map(is_linear, (dl, d, du))):
        raise TypeError("tridiagonal_solve is not linear in its diagonals")
    last = aval_of(d).ndim - 1
    flipped = shifted(du, 1, last), d, shifted(dl, -1, last)
    out = tridiagonal_solve_p.bind(*flipped, cts[0], perturb_singular=perturb_singular)
    return [None, None, None, out]


def tridiagonal_batch(axis: Any, values: Sequence, axes: Sequence, perturb_singular: bool) -> Any:
    """With one matrix for the whole batch, the batch is more columns of b."""
    if any(at is not None for at in axes[:3]):
        moved = [batching.to_front(axis, v, at) for v, at in zip(values, axes, strict=True)]
        return (tridiagonal_solve_p.bind(*moved, perturb_singular=perturb_singular),), (0,)
    where = aval_of(values[3]).ndim - 1
    b = moveaxis(values[3], axes[3], where)
    shape = aval_of(b).shape
    merged = reshape(b, (*shape[:-2], shape[-2] * shape[-1]))
    out = tridiagonal_solve_p.bind(*values[:3], merged, perturb_singular=perturb_singular)
    return (reshape(out, shape),), (where,)


forward.rules[tridiagonal_solve_p] = tridiagonal_forward
backward.rules[tridiagonal_solve_p] = tridiagonal_backward
batching.rules[tridiagonal_solve_p] = tridiagonal_batch
