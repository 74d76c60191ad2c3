"""funcgrad.scipy.linalg: values against SciPy, derivatives against differences, stacks."""

import inspect

import jax
import numpy as np
import pytest
import scipy.linalg as sl
from jax.scipy import linalg as jsl

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import tree
from funcgrad.base.config import enable_x64
from funcgrad.scipy import linalg

RNG = np.random.default_rng(0)
draw = lambda *shape: RNG.normal(size=shape)
A, B, V = draw(4, 4), draw(4, 2), draw(4)
P = A @ A.T + 4 * np.eye(4)
C = A + 1j * draw(4, 4)
H = C + C.conj().T
TALL, WIDE = draw(5, 3), draw(3, 5)
STACK, STACKED_B = draw(2, 4, 4), draw(2, 4, 3)
STACKED_P = STACK @ STACK.transpose(0, 2, 1) + np.eye(4)


@pytest.fixture(autouse=True)
def x64():
    with enable_x64(True):
        yield


def assert_same(got, want, tolerance=1e-10):
    got, want = tree.leaves(got), [np.asarray(w) for w in jax.tree.leaves(want)]
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a), b, rtol=tolerance, atol=tolerance)


# Results that are determined by the question alone.
VALUES = [
    ("cholesky", (P,), {}),
    ("cholesky", (P, True), {}),
    ("cholesky", (STACKED_P, True), {}),
    ("cho_solve", (sl.cho_factor(P), V), {}),
    ("cho_solve", (sl.cho_factor(P, True), B), {}),
    ("lu_factor", (A,), {}),
    ("lu", (A,), {}),
    ("lu", (A, True), {}),
    ("lu", (TALL,), {}),
    ("lu", (WIDE,), {}),
    ("lu", (C,), {}),
    *(("lu_solve", (sl.lu_factor(C), B), {"trans": trans}) for trans in (0, 1, 2)),
    ("lu_solve", (sl.lu_factor(A), V), {}),
    ("qr", (TALL,), {}),
    ("qr", (TALL,), {"mode": "economic"}),
    ("qr", (TALL,), {"mode": "r"}),
    ("qr", (WIDE,), {"mode": "economic"}),
    ("qr", (A,), {"pivoting": True}),
    ("svd", (TALL,), {"compute_uv": False}),
    ("eigh", (H,), {"eigvals_only": True}),
    ("solve", (A, B), {}),
    ("solve", (A, V), {}),
    ("solve", (P, B), {"assume_a": "pos"}),
    ("solve", (P, V), {"assume_a": "pos", "lower": True}),
    ("solve_triangular", (A, V), {}),
    ("solve_triangular", (A, B), {"trans": 1}),
    ("solve_triangular", (A, B), {"trans": "T", "lower": True}),
    ("solve_triangular", (C, B), {"trans": 2}),
    ("solve_triangular", (A, B), {"unit_diagonal": True}),
    ("solve_triangular", (STACK, STACKED_B), {}),
    ("det", (A,), {}),
    ("inv", (A,), {}),
    ("inv", (STACK,), {}),
    ("expm", (A,), {}),
    ("expm", (9 * A,), {}),
    ("expm", (A / 100,), {}),
    ("expm", (0 * A,), {}),
    ("expm", (C,), {}),
    ("expm", (STACK,), {}),
    ("expm_frechet", (A, P), {}),
    ("sqrtm", (A + 3 * np.eye(4),), {}),
    ("sqrtm", (C,), {}),
    ("solve_sylvester", (A, P[:3, :3], draw(4, 3)), {}),
    ("solve_sylvester", (C, H, C), {}),
    ("polar", (A,), {}),
    ("polar", (TALL,), {}),
    ("polar", (WIDE, "left"), {}),
    ("hessenberg", (A,), {"calc_q": True}),
    ("block_diag", (A, B, V, 3.0), {}),
    ("toeplitz", (V,), {}),
    ("toeplitz", (V, np.array([1, 2, 3])), {}),
    ("toeplitz", (C[0],), {}),
    ("hankel", (V,), {}),
    ("hankel", (V, B[:3, 0]), {}),
    ("circulant", (V,), {}),
    ("companion", (V,), {}),
    ("leslie", (V, V[1:]), {}),
    ("fiedler", (V,), {}),
    *(("fiedler_companion", (draw(n),), {}) for n in (2, 3, 4, 7, 8)),
    *(
        ("convolution_matrix", (V, n), {"mode": mode})
        for n in (1, 3, 6)
        for mode in ("full", "same", "valid")
    ),
    ("hilbert", (4,), {}),
    ("invhilbert", (4,), {}),
    ("invpascal", (4,), {}),
    ("invpascal", (4, "lower"), {}),
    ("pascal", (4,), {}),
    ("pascal", (4, "upper"), {}),
    ("hadamard", (4,), {}),
    ("helmert", (4,), {}),
    ("helmert", (4, True), {}),
    ("dft", (4,), {}),
    ("dft", (5, "n"), {}),
    ("dft", (5, "sqrtn"), {}),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name, args, settings", VALUES, ids=lambda v: v if type(v) is str else "")
def test_values(name, args, settings):
    assert_same(getattr(linalg, name)(*args, **settings), getattr(sl, name)(*args, **settings))


@pytest.mark.parametrize("dtype", ["f4", "c8", "f2", jnp.bfloat16])
def test_dtypes(dtype):
    a = (P + 1j * np.triu(A, 1) - 1j * np.triu(A, 1).T if dtype == "c8" else P).astype(dtype)
    wide = {"f4": "c8", "c8": "c8"}.get(dtype)
    tolerance = 1e-5 if wide else 5e-2
    got = linalg.expm(a / 8)
    assert got.dtype == np.dtype(dtype)
    want = sl.expm(a.astype("c16" if dtype == "c8" else "f8") / 8)
    np.testing.assert_allclose(np.asarray(got).astype("c16"), want, rtol=tolerance, atol=tolerance)
    if wide:
        assert linalg.sqrtm(a).dtype == wide
        assert linalg.cholesky(a).dtype == dtype
        assert linalg.solve(a, V.astype("f4"), assume_a="pos").dtype == dtype
    assert linalg.inv(np.array([[2, 0], [0, 4]])).dtype == np.float64


def test_orthogonal_factors():
    """Where only properties say what is right: bases of spaces, signs."""
    u, s, vh = linalg.svd(TALL, full_matrices=False)
    assert_same((u * s) @ vh, TALL)
    assert_same(u.T @ u, np.eye(3))
    w, v = linalg.eigh(H)
    assert_same(H @ v, (v * w))
    for a, output in ((A, "real"), (A, "complex"), (STACK, "real")):
        t, z = linalg.schur(a, output=output)
        assert_same(z @ t @ jnp.conj(jnp.matrix_transpose(z)), a + 0 * t)
    t, z = linalg.rsf2csf(*linalg.schur(A))
    assert_same(jnp.tril(t, -1), 0 * C)
    assert_same(z @ t @ jnp.conj(z.T), A + 0j)
    h, q = linalg.hessenberg(STACK, calc_q=True)
    assert_same(q @ h @ jnp.matrix_transpose(q), STACK)
    u, p = linalg.polar(WIDE)
    assert_same((u @ p, p), (WIDE, p.T))
    u, p = linalg.polar(STACK, "left", method="svd")
    assert_same(p @ u, STACK)


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_generalized_eigh(kind, lower):
    a, b = (A + A.T), (np.tril(P) if lower else np.triu(P))
    w, v = linalg.eigh(a, b, lower=lower, type=kind)
    want, vectors = sl.eigh(a, P, type=kind)
    assert_same(w, want)
    assert_same(abs(v), abs(vectors), 1e-8)
    assert_same(linalg.eigh(a, b, lower=lower, type=kind, eigvals=(1, 2))[0], want[1:3])


def test_eigh_tridiagonal():
    d, e = V, B[:3, 0]
    assert_same(linalg.eigh_tridiagonal(d, e, eigvals_only=True), sl.eigvalsh_tridiagonal(d, e))
    chosen = {"select": "i", "select_range": (1, 2)}
    w, v = linalg.eigh_tridiagonal(d, e + 0.3j, **chosen)
    full = np.diag(d) + np.diag(e + 0.3j, 1) + np.diag(e - 0.3j, -1)
    assert_same(full @ v, v * w)
    assert v.shape == (4, 2)


def test_qr_multiply():
    q, r = sl.qr(TALL, mode="economic")
    c = draw(2, 5)
    assert_same(linalg.qr_multiply(TALL, c), (c @ q, r))
    assert_same(linalg.qr_multiply(TALL, V[:3], "left"), (q @ V[:3], r))
    qc, _ = sl.qr(C)
    assert_same(linalg.qr_multiply(C, B, "left", conjugate=True)[0], qc.conj() @ B)
    assert len(linalg.qr_multiply(A, A, pivoting=True)) == 3


def test_functions_of_matrices():
    assert_same(linalg.funm(A, jnp.exp), sl.expm(A) + 0j, 1e-8)
    root, error = linalg.funm(P, jnp.sqrt, disp=False)
    assert_same(root @ root, P + 0j)
    assert 0 < float(error) < 1e-12
    with_cut = linalg.expm(1e6 * A, max_squarings=3)
    assert np.isnan(np.asarray(with_cut)).all()
    upper = np.triu(A)
    assert_same(linalg.expm(upper, upper_triangular=True), sl.expm(upper))


def test_roots_of_singular_matrices():
    assert_same(linalg.sqrtm(np.zeros((3, 3))), np.zeros((3, 3), complex))
    nilpotent = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert np.isnan(np.asarray(linalg.sqrtm(nilpotent))).all()
    assert_same(linalg.sqrtm(np.diag([4.0, 0.0, 9.0])), np.diag([2, 0, 3]) + 0j)


def test_singular_equations():
    for out in (
        linalg.solve_sylvester(A, -A, A),
        linalg.cholesky(-P, lower=True),
        linalg.solve(-P, V, assume_a="pos"),
    ):
        assert np.isnan(np.asarray(out)).any()


# Derivatives


def real_sum(out, weights):
    return sum(jnp.real(o * w).sum() for o, w in zip(tree.leaves(out), weights, strict=True))


DERIVATIVES = [
    ("cholesky of A A^T", lambda a: linalg.cholesky(a @ a.T + 4 * np.eye(4)), (A,)),
    ("cho_solve", lambda f, b: linalg.cho_solve((jnp.tril(f), True), b), (P, B)),
    ("lu", lambda a: linalg.lu(a)[1:], (A,)),
    ("lu_solve", lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), (A, B)),
    ("qr", lambda a: linalg.qr(a, mode="economic"), (TALL,)),
    ("svd", lambda a: linalg.svd(a, compute_uv=False), (TALL,)),
    ("eigh", lambda a: linalg.eigh(a + a.T, eigvals_only=True), (A,)),
    ("eigh of two", lambda a, b: linalg.eigh(a + a.T, P + 0.1 * (b + b.T))[0], (A, A.T)),
    ("eigh_tridiagonal", lambda d, e: linalg.eigh_tridiagonal(d, e)[0], (V, B[:3, 0])),
    ("polar", lambda a: linalg.polar(a), (A,)),
    ("polar wide", lambda a: linalg.polar(a), (WIDE,)),
    ("polar by svd", lambda a: linalg.polar(a, "left", method="svd"), (A,)),
    ("solve", linalg.solve, (A, B)),
    ("solve pos", lambda a, b: linalg.solve(a @ a.T + P, b, assume_a="pos"), (A, V)),
    ("solve_triangular", lambda a, b: linalg.solve_triangular(a, b, lower=True), (A, V)),
    ("det", linalg.det, (A,)),
    ("inv", linalg.inv, (A,)),
    ("expm", linalg.expm, (A,)),
    ("expm of much", linalg.expm, (4 * A,)),
    ("expm of 0", linalg.expm, (0 * A,)),
    ("sqrtm", linalg.sqrtm, (P,)),
    ("sqrtm complex roots", linalg.sqrtm, (A,)),
    ("solve_sylvester", linalg.solve_sylvester, (A, P, C.real)),
    ("toeplitz", linalg.toeplitz, (V, B[:, 0])),
    ("companion", linalg.companion, (V,)),
    ("fiedler_companion", linalg.fiedler_companion, (V,)),
    ("block_diag", linalg.block_diag, (A, V)),
]


@pytest.mark.parametrize("name, function, args", DERIVATIVES, ids=[row[0] for row in DERIVATIVES])
def test_derivatives(name, function, args):
    """First derivatives by differences of values, second by differences of the first."""
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=o.shape) for o in tree.leaves(function(*args))]
    moves = [rng.normal(size=a.shape) for a in args]

    def total(*given):
        return real_sum(function(*given), weights)

    def moved(step):
        return [a + step * m for a, m in zip(args, moves, strict=True)]

    def difference(f):
        near, wide = (
            [
                np.asarray(u) - np.asarray(d)
                for u, d in zip(f(*moved(h)), f(*moved(-h)), strict=True)
            ]
            for h in (1e-4, 2e-4)
        )
        return [(8 * n - w) / 12e-4 for n, w in zip(near, wide, strict=True)]

    pull = funcgrad.grad(total, argnums=tuple(range(len(args))))
    got = sum(float((g * m).sum()) for g, m in zip(pull(*args), moves, strict=True))
    (want,) = difference(lambda *given: (total(*given),))
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)
    _, bends = funcgrad.jvp(pull, tuple(args), tuple(moves))
    for bend, want in zip(bends, difference(pull), strict=True):
        scale = max(1, np.abs(want).max())
        np.testing.assert_allclose(np.asarray(bend), want, rtol=1e-6, atol=1e-7 * scale)


def test_under_jit_and_vmap():
    for function, args in [
        (linalg.expm, (STACK,)),
        (linalg.sqrtm, (STACKED_P,)),
        (linalg.solve_sylvester, (STACK, STACKED_P, STACK)),
        (lambda a, b: linalg.solve(a, b, assume_a="pos"), (STACKED_P, STACKED_B)),
        (linalg.polar, (STACK,)),
        (linalg.toeplitz, (STACK[:, 0],)),
        (lambda a: linalg.lu(a), (STACK,)),
    ]:
        each = [function(*(a[i] for a in args)) for i in range(2)]
        want = tree.map(lambda *xs: np.stack(xs), *each)
        for out in (function, funcgrad.vmap(function), funcgrad.jit(funcgrad.vmap(function))):
            assert_same(out(*args), want)


def test_vectors_in_stacks():
    assert_same(
        linalg.solve_triangular(STACK, B.T), linalg.solve_triangular(STACK, B.T[..., None])[..., 0]
    )
    assert linalg.cho_solve((linalg.cholesky(STACKED_P), False), V).shape == (2, 4)


@pytest.mark.parametrize(
    "call, error, said",
    [
        (
            lambda: linalg.solve_triangular(A, V[:3]),
            ValueError,
            r"takes right sides b of shape \[4\]",
        ),
        (lambda: linalg.solve_triangular(A, V, trans=3), ValueError, "Invalid 'trans' value 3"),
        (lambda: linalg.cholesky(TALL), ValueError, r"takes matrices \[..., n, n\]"),
        (lambda: linalg.expm(V), ValueError, r"\(4,\)"),
        (lambda: linalg.solve(A, B, assume_a="upper"), ValueError, "no assume_a='upper'"),
        (lambda: linalg.qr(A, mode="raw"), ValueError, "Unsupported QR decomposition mode 'raw'"),
        (lambda: linalg.qr_multiply(TALL, V), ValueError, "does not fit"),
        (lambda: linalg.schur(A, "imag"), ValueError, "output, not 'imag'"),
        (lambda: linalg.polar(A, "up"), ValueError, "'right' and 'left'"),
        (lambda: linalg.eigh(A, type=4), ValueError, "type must be 1, 2 or 3"),
        (lambda: linalg.eigh_tridiagonal(V, V), ValueError, r"e \[n - 1\]"),
        (lambda: linalg.eigh_tridiagonal(V, V[1:], select="v"), ValueError, "mask them"),
        (lambda: linalg.solve_sylvester(A, A, TALL), ValueError, r"C \[..., m, n\]"),
        (lambda: linalg.expm_frechet(A, TALL), ValueError, "A and E of one shape"),
        (lambda: linalg.block_diag(STACK), ValueError, "vectors and matrices"),
        (lambda: linalg.hankel(3.0), ValueError, "an axis of elements"),
        (lambda: linalg.hadamard(6), ValueError, "power of 2"),
        (lambda: linalg.leslie(V, V), ValueError, r"s \[..., n - 1\]"),
        (lambda: linalg.companion(V[:1]), ValueError, "at least 2"),
        (lambda: linalg.convolution_matrix(V, 0), ValueError, "positive integer"),
        (lambda: linalg.pascal(3, "round"), ValueError, "no kind 'round'"),
        (lambda: linalg.dft(3, dtype=np.float32), ValueError, "complex matrices"),
        (lambda: linalg.funm(STACK, jnp.exp), ValueError, "use vmap"),
    ],
)
def test_errors(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_names_are_those_of_jax():
    public = {n for n, f in vars(jsl).items() if callable(f) and not n.startswith("_")}
    assert public == set(linalg.__all__)


@pytest.mark.parametrize("name", linalg.__all__)
def test_parameters_are_those_of_jax(name):
    ours, theirs = (inspect.signature(getattr(lib, name)).parameters for lib in (linalg, jsl))
    assert {n: (p.kind, p.default) for n, p in ours.items()} == {
        n: (p.kind, p.default) for n, p in theirs.items()
    }
