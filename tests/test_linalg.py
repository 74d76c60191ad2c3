"""lax.linalg: factorizations against NumPy and JAX, derivatives against JAX or differences."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_x64
from funcgrad.lax import linalg
from funcgrad.primitives import linalg_lapack
from funcgrad.primitives.linalg_lu import lu_solve, solve
from funcgrad.primitives.linalg_qr import geqrf
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.linearize import linearize_flat
from lax_oracle import assert_close, check_batches, check_derivatives, check_values, flat
from lax_oracle import random_array as numbers

JAX = jlax.linalg
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (1, 1)]
EMPTY = [(0, 0), (0, 2), (2, 0), (0, 3, 2)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def x64() -> Iterator[None]:
    with enable_x64(True), jax.enable_x64(True):
        yield


def H(x: Any) -> np.ndarray:
    return np.asarray(x).conj().swapaxes(-1, -2)


def arrays(outs: Any) -> list[np.ndarray]:
    return [np.asarray(o) for o in outs]


def positive(rng: np.random.Generator, shape: tuple, dtype: str) -> np.ndarray:
    a = numbers(rng, shape, dtype)
    return a @ H(a) + np.eye(shape[-1], dtype=dtype)


def close(got: Any, want: Any) -> None:
    assert_close(np.asarray(got), np.asarray(want))


def moves_like(function: Callable, *args: np.ndarray, step: float = 1e-6) -> None:
    """The tangents of a function against central differences along a random direction."""
    rng = np.random.default_rng(7)
    moves = [numbers(rng, a.shape, a.dtype) for a in args]
    outs, tangents = jvp(flat(function), args, moves)
    up, down = (
        arrays(flat(function)(*(a + s * m for a, m in zip(args, moves, strict=True))))
        for s in (step, -step)
    )
    for out, t, high, low in zip(outs, tangents, up, down, strict=True):
        slope = (high - low) / (2 * step)
        scale = max(1.0, abs(slope).max(initial=0), abs(np.asarray(out)).max(initial=0))
        moved = np.zeros_like(slope) if t is None else np.asarray(t)
        np.testing.assert_allclose(moved, slope, rtol=1e-6, atol=1e-7 * scale)


def second_order(function: Callable, *args: np.ndarray) -> None:
    """The derivative of the pulled back cotangents against central differences."""
    rng = np.random.default_rng(8)
    cts = [numbers(rng, o.shape, o.dtype) for o in arrays(flat(function)(*args))]

    def pulled(*some: Any) -> list:
        return linearize_flat(flat(function), some)[1].pull(cts)

    moves_like(pulled, *args)


def first_order(ours: Callable, theirs: Callable, x: np.ndarray) -> None:
    """Against JAX in complex numbers (each new dtype would cost it a compilation)."""
    if x.dtype.kind == "c":
        check_derivatives(ours, theirs, x, second=False)
    else:
        moves_like(ours, x)


# values


@pytest.mark.parametrize("dtype", ["f4", "c8", "f8"])
@pytest.mark.parametrize("shape", SHAPES + EMPTY)
def test_decompositions_multiply_to_the_matrix(
    x64: None, shape: tuple, dtype: str, rng: np.random.Generator
) -> None:
    x = numbers(rng, shape, dtype)
    m, n = shape[-2:]
    k = min(m, n)
    for full, pivoting in itertools.product([True, False], repeat=2):
        q, r, *p = arrays(linalg.qr(x, full_matrices=full, pivoting=pivoting))
        close(q @ r, np.take_along_axis(x, p[0][..., None, :], -1) if p else x)
        close(
            H(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), H(q).shape[:-1] + q.shape[-1:]),
        )
        close(r, np.triu(r))
        assert q.shape[-1] == (m if full else k)
        u, s, vh = arrays(linalg.svd(x, full_matrices=full))
        close(u[..., :k] @ (s[..., None] * vh[..., :k, :]).astype(dtype), x)
        assert s.dtype == np.zeros((), dtype).real.dtype
        assert (u.shape[-1], vh.shape[-2]) == ((m, n) if full else (k, k))
        close(linalg.svd(x, compute_uv=False, full_matrices=full), s)
    lu, pivots, permutation = arrays(linalg.lu(x))
    low = np.tril(lu[..., :k], -1) + np.eye(m, k, dtype=dtype)
    close(low @ np.triu(lu[..., :k, :]), np.take_along_axis(x, permutation[..., None], -2))
    assert pivots.dtype == permutation.dtype == np.int32
    if m == n and m:
        v, w = arrays(linalg.eigh(x))
        close(v @ (w[..., None] * H(v)).astype(dtype), (x + H(x)) / 2)
        w, vl, vr = arrays(linalg.eig(x))
        close(x @ vr, vr * w[..., None, :])
        close(H(vl) @ x, w[..., None] * H(vl))
        t, q = arrays(linalg.schur(x))
        close(q @ t @ H(q), x)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_values_are_those_of_jax(dtype: str, rng: np.random.Generator) -> None:
    x = numbers(rng, (2, 3, 3), dtype)
    check_values(linalg.lu, JAX.lu, x)
    check_values(linalg.cholesky, JAX.cholesky, positive(rng, (2, 3, 3), dtype))
    check_values(linalg.hessenberg, JAX.hessenberg, x)
    check_values(linalg.tridiagonal, JAX.tridiagonal, x)
    check_values(
        lambda x: linalg.tridiagonal(x, lower=False),
        lambda x: JAX.tridiagonal(x, lower=False),
        x,
    )
    packed, taus = arrays(geqrf(x))
    check_values(linalg.householder_product, JAX.householder_product, packed, taus)
    for left, turned in itertools.product([True, False], repeat=2):
        c = numbers(rng, (2, 3, 2) if left else (2, 2, 3), dtype)
        check_values(
            partial(linalg.ormqr, left=left, transpose=turned),
            partial(JAX.ormqr, left=left, transpose=turned),
            packed,
            taus,
            c,
        )
    for lower in (True, False):
        v, w = arrays(linalg.eigh(x, lower=lower, symmetrize_input=False))
        want = arrays(JAX.eigh(x, lower=lower, symmetrize_input=False))
        close(w, want[1])
        close(abs(H(v) @ want[0]), np.broadcast_to(np.eye(3, dtype="f4"), x.shape))


def test_real_functions(rng: np.random.Generator) -> None:
    r, w = np.triu(numbers(rng, (3, 3), "f4")) + 3 * np.eye(3, dtype="f4"), numbers(rng, (3,), "f4")
    check_values(linalg.cholesky_update, JAX.cholesky_update, r, w)
    check_batches(linalg.cholesky_update, r, w, every_axis=False)
    a, c = numbers(rng, (2, 3, 2), "f4"), positive(rng, (2, 3, 3), "f4")
    for filled in (True, False):
        settings = {"alpha": 2.0, "beta": 0.5, "symmetrize_output": filled}
        check_values(
            partial(linalg.symmetric_product, **settings),
            partial(JAX.symmetric_product, **settings),
            a,
            c,
        )
    pivots = np.array([[2, 2, 2], [0, 3, 3]], np.int32)
    check_values(
        lambda p: linalg.lu_pivots_to_permutation(p, 4),
        lambda p: JAX.lu_pivots_to_permutation(p, 4),
        pivots,
    )


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3)])
def test_polar_decomposition(shape: tuple, dtype: str, rng: np.random.Generator) -> None:
    x = numbers(rng, shape, dtype)
    u, h, steps, close_enough = arrays(linalg.qdwh(x))
    left, s, right = np.linalg.svd(x, full_matrices=False)
    close(u, left @ right)
    close(h, (H(right) * s) @ right)
    assert 0 < steps <= 6
    assert close_enough
    padded = np.pad(x, ((0, 1), (0, 1)), constant_values=5)
    close(np.asarray(linalg.qdwh(padded, dynamic_shape=shape)[0])[:-1, :-1], u)


def test_subsets(rng: np.random.Generator) -> None:
    x = numbers(rng, (3, 4), "f4")
    u, s, vh = arrays(linalg.svd(x, full_matrices=False))
    some = arrays(linalg.svd(x, full_matrices=False, subset_by_index=(1, 3)))
    for got, want in zip(some, (u[:, 1:3], s[1:3], vh[1:3]), strict=True):
        close(got, want)
    v, w = arrays(linalg.eigh(x[:, :3]))
    some = arrays(linalg.eigh(x[:, :3], subset_by_index=(2, 3)))
    close(some[0], v[:, 2:])
    close(some[1], w[2:])


# systems


TRIANGULAR = list(itertools.product([False, True], repeat=5))


@pytest.mark.parametrize("left, lower, turned, conjugate, unit", TRIANGULAR)
@pytest.mark.parametrize("stack", [(2,), (7,)])
def test_triangular_solve(
    left: bool,
    lower: bool,
    turned: bool,
    conjugate: bool,
    unit: bool,
    stack: tuple,
    rng: np.random.Generator,
) -> None:
    a = numbers(rng, (*stack, 3, 3), "c8") + 4 * np.eye(3, dtype="c8")
    b = numbers(rng, (*stack, 3, 2) if left else (*stack, 2, 3), "c8")
    settings: dict[str, Any] = {
        "left_side": left,
        "lower": lower,
        "transpose_a": turned,
        "conjugate_a": conjugate,
        "unit_diagonal": unit,
    }
    x = np.asarray(linalg.triangular_solve(a, b, **settings))
    op = np.tril(a) if lower else np.triu(a)
    if unit:
        op = op - op * np.eye(3) + np.eye(3)
    op = op.swapaxes(-1, -2) if turned else op
    op = (op.conj() if conjugate else op).astype("c8")
    close(op @ x if left else x @ op, b)
    if stack == (2,):
        check_batches(lambda a, b: linalg.triangular_solve(a, b, **settings), a[0], b[0])


@pytest.mark.parametrize("settings", TRIANGULAR[::3])
def test_triangular_solve_derivatives(x64: None, settings: tuple, rng: Any) -> None:
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    chosen = dict(zip(names, settings, strict=True))
    a, b = numbers(rng, (3, 3), "c16") + 4 * np.eye(3), numbers(rng, (3, 3), "c16")
    check_derivatives(
        lambda a, b: linalg.triangular_solve(a, b, **chosen),
        lambda a, b: JAX.triangular_solve(a, b, **chosen),
        a,
        b,
        second=False,
    )
    second_order(lambda a, b: linalg.triangular_solve(a, b, **chosen), a, b)


def test_triangular_solve_of_vectors_and_half_precision(rng: np.random.Generator) -> None:
    a, b = np.eye(2, dtype="f2") * 2, np.ones(2, "f2")
    for left in (True, False):
        out = np.asarray(linalg.triangular_solve(a, b, left_side=left))
        assert out.dtype == np.float16
        np.testing.assert_array_equal(out, b / 2)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("perturb", [False, True])
def test_tridiagonal_solve(x64: None, size: int, perturb: bool, rng: Any) -> None:
    dl, d, du = (numbers(rng, (2, size), "f8") for _ in range(3))
    b = numbers(rng, (2, size, 3), "f8")
    x = np.asarray(linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=perturb))
    dense = np.zeros((2, size, size))
    i = np.arange(size)
    dense[:, i, i], dense[:, i[1:], i[:-1]], dense[:, i[:-1], i[1:]] = d, dl[:, 1:], du[:, :-1]
    np.testing.assert_allclose(dense @ x, b, atol=1e-9)

    def function(*args):
        return linalg.tridiagonal_solve(*args, perturb_singular=perturb)

    moves_like(function, dl, d + 3, du, b)
    second_order(function, dl, d + 3, du, b)
    check_batches(function, dl[0], d[0], du[0], b[0], every_axis=False)


def test_singular_tridiagonal() -> None:
    zero, d, b = np.zeros(3, "f4"), np.array([1, 0, 2], "f4"), np.ones((3, 1), "f4")
    assert np.isnan(np.asarray(linalg.tridiagonal_solve(zero, d, zero, b))).all()
    out = np.asarray(linalg.tridiagonal_solve(zero, d, zero, b, perturb_singular=True))
    want = np.asarray(JAX.tridiagonal_solve(zero, d, zero, b, perturb_singular=True))
    close(out, want)


def test_lu_solve(x64: None, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (2, 3, 3), "c16"), numbers(rng, (2, 3, 2), "c16")
    factors, _, permutation = linalg.lu(a)
    for trans, op in enumerate((a, a.swapaxes(-1, -2), H(a))):
        close(op @ np.asarray(lu_solve(factors, permutation, b, trans)), b)
    check_derivatives(solve, jax.numpy.linalg.solve, a, b, second=False)
    second_order(lambda a: solve(a, b), a)


# derivatives


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_cholesky_derivatives(x64: None, symmetrize: bool, dtype: str, rng: Any) -> None:
    x = positive(rng, (2, 3, 3), dtype)
    ours = partial(linalg.cholesky, symmetrize_input=symmetrize)
    check_derivatives(ours, partial(JAX.cholesky, symmetrize_input=symmetrize), x, second=False)
    second_order(linalg.cholesky, x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_lu_and_qr_derivatives(x64: None, shape: tuple, dtype: str, rng: Any) -> None:
    x = numbers(rng, shape, dtype)
    first_order(lambda x: linalg.lu(x)[0], lambda x: JAX.lu(x)[0], x)
    second_order(lambda x: linalg.lu(x)[0], x)
    for full in (False, True):
        ours = partial(linalg.qr, full_matrices=full)
        first_order(ours, partial(JAX.qr, full_matrices=full), x)
        second_order(ours, x)
        moves_like(lambda x, ours=ours: ours(x, pivoting=True)[:2], x)


def by_vectors(ops: Any, u: Any, s: Any, vh: Any) -> Any:
    """u diag(sin(s)) vh, which does not depend on the phases of the vectors."""
    s = ops.convert_element_type(ops.sin(s), u.dtype)
    return ops.dot(ops.mul(u, ops.broadcast_in_dim(s, u.shape, (1,))), vh)


def conjugate_transpose(ops: Any, x: Any) -> Any:
    x = ops.transpose(x, (1, 0))
    return ops.conj(x) if x.dtype.kind == "c" else x


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_eigh_derivatives(x64: None, dtype: str, rng: np.random.Generator) -> None:
    def function(ops):
        def run(x):
            v, w = ops.linalg.eigh(x)
            return [w, by_vectors(ops, v, w, conjugate_transpose(ops, v))]

        return run

    x = numbers(rng, (3, 3), dtype)
    first_order(function(lax), function(jlax), x)
    second_order(function(lax), x)
    check_batches(linalg.eigh, x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_eig_derivatives(x64: None, dtype: str, rng: np.random.Generator) -> None:
    x = numbers(rng, (3, 3), dtype)
    only_values = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
    check_derivatives(
        lambda x: linalg.eig(x, **only_values), lambda x: JAX.eig(x, **only_values), x, second=False
    )
    second_order(lambda x: linalg.eig(x, **only_values), x)
    moves_like(lambda x: linalg.eig(x, enable_eigvec_derivs=True), x)
    second_order(lambda x: linalg.eig(x, enable_eigvec_derivs=True), x)
    check_batches(linalg.eig, x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_svd_derivatives(x64: None, shape: tuple, dtype: str, rng: np.random.Generator) -> None:
    def function(ops):
        def run(x):
            u, s, vh = ops.linalg.svd(x, full_matrices=False)
            return [s, by_vectors(ops, u, s, vh)]

        return run

    x = numbers(rng, shape, dtype)
    first_order(function(lax), function(jlax), x)
    second_order(function(lax), x)
    check_batches(linalg.svd, x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_svd_with_full_matrices(x64: None, shape: tuple, dtype: str, rng: Any) -> None:
    x, move = numbers(rng, shape, dtype), numbers(rng, shape, dtype)
    outs, tangents = jvp(flat(linalg.svd), [x], [move])
    (u, s, vh), (du, ds, dvh) = arrays(outs), arrays(tangents)
    for q, dq in ((u, du), (H(vh), H(dvh))):
        close(H(q) @ dq, -H(dq) @ q)
    wide, dwide = np.zeros(shape, dtype), np.zeros(shape, dtype)
    np.fill_diagonal(wide, s)
    np.fill_diagonal(dwide, ds)
    close(du @ wide @ vh + u @ dwide @ vh + u @ wide @ dvh, move)

    def null_projector(x):
        u, _, vh = linalg.svd(x)
        q = u if shape[0] > shape[1] else conjugate_transpose(lax, vh)
        q = lax.slice_in_dim(q, 2, 4, axis=1)
        return lax.dot(q, conjugate_transpose(lax, q))

    moves_like(null_projector, x)
    gradient = linearize_flat(lambda x: [linalg.svd(x)[1]], [x])[1].pull([np.ones(2)])[0]
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    close(gradient, (u @ vh).conj())


def test_reflectors_and_updates_have_derivatives(x64: None, rng: np.random.Generator) -> None:
    packed, taus = arrays(geqrf(numbers(rng, (4, 2), "c16")))
    moves_like(linalg.householder_product, packed, taus)
    c = numbers(rng, (3, 4), "c16")
    moves_like(lambda *v: linalg.ormqr(*v, left=False, transpose=True), packed, taus, c)
    r, w = np.triu(numbers(rng, (3, 3), "f8")) + 3 * np.eye(3), numbers(rng, (3,), "f8")
    moves_like(lambda r, w: linalg.cholesky_update(upper(r), w), r, w)
    a, c = numbers(rng, (3, 2), "f8"), numbers(rng, (3, 3), "f8")
    moves_like(lambda a, c: linalg.symmetric_product(a, c, alpha=2, beta=3), a, c)


def upper(r: Any) -> Any:
    return lax.mul(r, np.triu(np.ones((3, 3))))


# where values coincide


def gradient(function: Callable, x: np.ndarray, ct: Any) -> np.ndarray:
    return np.asarray(linearize_flat(lambda x: [function(x)], [x])[1].pull([ct])[0])


def test_projector_onto_a_degenerate_pair() -> None:
    def projector(m):
        v = lax.slice_in_dim(linalg.eigh(m)[0], 0, 2, axis=1)
        return lax.dot(v, lax.transpose(v, (1, 0)))

    ct = np.zeros((3, 3), "f4")
    ct[0, 2] = 1
    want = np.zeros((3, 3))
    want[0, 2] = want[2, 0] = -1 / 6
    np.testing.assert_allclose(gradient(projector, np.diag([1, 1, 4]).astype("f4"), ct), want)


def test_product_of_a_degenerate_svd() -> None:
    a = np.diag([2, 2, 5]).astype("f4")

    def product(a):
        u, s, vh = linalg.svd(a, full_matrices=False)
        return lax.dot(lax.mul(u, lax.broadcast_in_dim(s, (3, 3), (1,))), vh)

    np.testing.assert_allclose(gradient(product, a, a), a, rtol=1e-5, atol=1e-6)


def test_truncated_svd_of_low_rank() -> None:
    a = np.diag([3, 0, 0]).astype("f4")[:, :2]

    def best(a):
        u, s, vh = linalg.svd(a, full_matrices=False)
        scaled = lax.mul(u, lax.broadcast_in_dim(s, (3, 2), (1,)))
        first = lax.slice_in_dim(scaled, 0, 1, axis=1)
        return lax.dot(first, lax.slice_in_dim(vh, 0, 1, axis=0))

    got = gradient(best, a, np.ones((3, 2), "f4"))
    np.testing.assert_allclose(got, [[1, 1], [1, 0], [1, 0]], atol=1e-6)


# failures


@pytest.mark.parametrize("name", "eigh svd eig schur qr cholesky".split())
def test_a_matrix_of_nan_spoils_only_itself(name: str) -> None:
    x = np.stack([np.full((2, 2), np.nan), np.eye(2)]).astype("f4")
    for out in arrays(flat(getattr(linalg, name))(x)):
        assert np.isnan(out[0]).any()
        assert not np.isnan(out[1]).any()


def test_cholesky_of_an_indefinite_matrix() -> None:
    x = np.array([np.eye(2), [[1, 2], [2, 1]]], "f4")
    check_values(linalg.cholesky, JAX.cholesky, x)


# matrices large enough for LAPACK to be called without NumPy


DTYPES = ["f4", "f8", "c8", "c16"]
LARGE = [(40, 33), (33, 40), (34, 34), (2, 34, 34), (2, 2, 40, 33), (1, 70, 35)]


def equal_to_rounding(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype
    eps = np.finfo(want.dtype).eps
    np.testing.assert_allclose(got, want, rtol=0, atol=500 * eps * max(1, np.abs(want).max()))


def unitary_columns(q: np.ndarray) -> None:
    identity = np.broadcast_to(
        np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], *q.shape[-1:] * 2)
    )
    equal_to_rounding(H(q) @ q, identity)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("full", [False, True])
def test_large_svd_and_qr_rebuild(rng: Any, x64: Any, shape: tuple, dtype: str, full: bool) -> None:
    x, k = numbers(rng, shape, dtype), min(shape[-2:])
    u, s, vh = arrays(linalg.svd(x, full_matrices=full))
    equal_to_rounding((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    unitary_columns(u)
    unitary_columns(H(vh))
    assert (np.diff(s) <= 0).all()
    equal_to_rounding(linalg.svd(x, full_matrices=full, compute_uv=False), s)
    q, r = arrays(linalg.qr(x, full_matrices=full))
    equal_to_rounding(q @ r, x)
    unitary_columns(q)
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", LARGE)
def test_large_lu_is_that_of_jax(rng: Any, x64: Any, shape: tuple, dtype: str) -> None:
    x = numbers(rng, shape, dtype)
    for got, want in zip(linalg.lu(x), JAX.lu(x), strict=True):
        if got.dtype == np.int32:
            np.testing.assert_array_equal(got, want)
        else:
            equal_to_rounding(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_large_eigh_reads_one_triangle(rng: Any, x64: Any, lower: bool, dtype: str) -> None:
    a = numbers(rng, (3, 34, 34), dtype)
    whole = a + H(a)
    given = np.where(np.tri(34, dtype=bool) if lower else np.tri(34, dtype=bool).T, whole, np.nan)
    v, w = arrays(linalg.eigh(given, lower=lower, symmetrize_input=False))
    equal_to_rounding(whole @ v, v * w[..., None, :].astype(dtype))
    unitary_columns(v)
    equal_to_rounding(w, np.linalg.eigvalsh(whole))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_cholesky_is_nan_only_where_it_fails(rng: Any, x64: Any, dtype: str) -> None:
    x = positive(rng, (4, 34, 34), dtype)
    x[1], x[2, 9, 4] = -x[1], np.nan
    below = np.tri(34, dtype=bool)
    got = np.asarray(linalg.cholesky(np.where(below, x, np.nan), symmetrize_input=False))
    equal_to_rounding(got[::3], np.linalg.cholesky(x[::3]))
    assert np.isnan(got[1:3, below]).all() and not got[:, ~below].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("op", ["n", "t", "c", "conjugate"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_large_triangular_solve(
    rng: Any, x64: Any, left_side: bool, lower: bool, op: str, unit_diagonal: bool, dtype: str
) -> None:
    a = numbers(rng, (2, 34, 34), dtype) / 34 + 2 * np.eye(34, dtype=dtype)
    b = numbers(rng, (2, 34, 5) if left_side else (2, 5, 34), dtype)
    settings = {"transpose_a": op in "tc", "conjugate_a": op in ("c", "conjugate")}
    settings |= {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    x = np.asarray(linalg.triangular_solve(a, b, **settings))
    t = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        t[:, range(34), range(34)] = 1
    t = t.swapaxes(-1, -2) if op in "tc" else t
    t = t.conj() if settings["conjugate_a"] else t
    equal_to_rounding(t @ x if left_side else x @ t, b)


@pytest.mark.parametrize("shape", [(300, 257), (2, 256, 300), (3, 1), (1, 3)])
def test_transposed_copy(rng: Any, shape: tuple) -> None:
    x = numbers(rng, shape, "f4")
    got = linalg_lapack.transposed_copy(x)
    np.testing.assert_array_equal(got, x.swapaxes(-1, -2))
    assert got.flags.c_contiguous and not np.shares_memory(got, x)


def test_pivots_of_one_matrix_and_of_many() -> None:
    pivots = np.array([[2, 2, 3], [0, 1, 2], [3, 3, 3], [1, 2, 3]], "i4")
    many = np.asarray(linalg.lu_pivots_to_permutation(pivots, 4))
    np.testing.assert_array_equal(many, JAX.lu_pivots_to_permutation(pivots, 4))
    for swaps, order in zip(pivots, many, strict=True):
        np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(swaps, 4), order)


def test_sizes_beyond_32_bits_are_refused() -> None:
    with pytest.raises(OverflowError, match="counts in 32 bits, and a size is 2147483648"):
        linalg_lapack.run("potrf", np.dtype("f4"), 1, b"U", 2**31)


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: linalg.lu(np.eye(2, dtype="f2")), NotImplementedError, "lu .* float16 .*Cast"),
        (lambda: linalg.lu(np.eye(2, dtype="i4")), TypeError, "lu does not accept dtype int32"),
        (lambda: linalg.lu(np.ones(3, "f4")), TypeError, r"at least 2 axes, got float32\[3\]"),
        (lambda: linalg.eig(np.ones((2, 3), "f4")), ValueError, r"square .* shape \(2, 3\)"),
        (lambda: linalg.cholesky(np.ones((2, 3), "f4")), ValueError, r"square .*\(2, 3\)"),
        (
            lambda: linalg.triangular_solve(np.eye(2, dtype="f4"), np.ones((3, 1), "f4")),
            ValueError,
            r"X a = b does not fit",
        ),
        (
            lambda: linalg.triangular_solve(np.ones((4, 2, 2), "f4"), np.ones((3, 2, 2), "f4")),
            TypeError,
            "must be the same for all operands",
        ),
        (
            lambda: linalg.svd(np.eye(2, dtype="f4"), algorithm=linalg.SvdAlgorithm.JACOBI),
            NotImplementedError,
            "JACOBI is not there on a CPU",
        ),
        (
            lambda: linalg.eigh(np.eye(2, dtype="f4"), subset_by_index=(0, 3)),
            ValueError,
            "subset_by_index needs .* 2",
        ),
        (
            lambda: jvp(lambda x: linalg.eig(x), [np.eye(2, dtype="f4")], [np.eye(2, dtype="f4")]),
            NotImplementedError,
            "enable_eigvec_derivs=True",
        ),
        (
            lambda: linalg.householder_product(np.ones((2, 3), "f4"), np.ones(2, "f4")),
            ValueError,
            "not wider than high",
        ),
    ],
)
def test_errors(call: Callable, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        call()
