"""Iterative solvers against JAX's after few and many iterations; derivatives; what is refused."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.sparse import linalg as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy.sparse import linalg as ours
from funcgrad.test_util import check_grads

N = 6
GMRES = [{"solve_method": m, "restart": r} for m in ("batched", "incremental") for r in (2, 20)]
SOLVERS = [("cg", {}), ("bicgstab", {}), *(("gmres", setting) for setting in GMRES)]
# One of each method, and again in complex numbers.
TYPED = [(*s, "f4") for s in [*SOLVERS[:3], SOLVERS[4]]] + [
    (*s, "c8") for s in (SOLVERS[0], SOLVERS[4])
]
LIBRARIES = [(fg, fnp, ours), (jax, jnp, theirs)]
pytestmark = pytest.mark.filterwarnings("ignore:Explicitly requested dtype")


def draw(*shape, dtype="f4", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def problem(name, dtype):
    """A matrix that the solver copes with, a right-hand side, and about the matrix's inverse."""
    a, b = draw(N, N, dtype=dtype), draw(N, dtype=dtype, seed=1)
    eye = np.eye(N, dtype=dtype)
    a = a @ a.conj().T + 3 * eye if name == "cg" else a + 6 * eye
    return a, b, np.linalg.inv(a + eye / 10)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize(("name", "setting"), SOLVERS, ids=str)
def test_solves(name, setting, dtype):
    a, b, _ = problem(name, dtype)
    x, info = getattr(ours, name)(a, b, tol=1e-6, **setting)
    assert (x.dtype, x.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)
    if name == "gmres":
        assert (info.shape, info.dtype, info.weak_type, int(info)) == ((), np.int32, True, 0)
    else:
        assert info is None


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize(("name", "setting", "dtype"), TYPED, ids=str)
def test_the_way_there(name, setting, dtype, preconditioned):
    """Unfinished solutions are those of JAX, from zero and from elsewhere."""
    a, b, inverse = problem(name, dtype)
    start, steps = draw(N, dtype=dtype, seed=2), 1 if preconditioned else 2
    got, want = (
        np.asarray(
            lib.jit(
                lambda a, b, x0, M, o=o: getattr(o, name)(
                    a, b, x0, M=M, maxiter=steps, tol=1e-9, **setting
                )[0]
            )(a, b, start, inverse if preconditioned else None)
        )
        for lib, _, o in LIBRARIES
    )
    scale = np.abs(want).max()
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * scale)
    if name != "gmres":
        assert np.abs(a @ got - b).max() > 1e-6


@pytest.mark.parametrize(("name", "setting"), SOLVERS, ids=str)
def test_stops_where_told(name, setting):
    a, b, _ = problem(name, "f4")
    for allowed in ({"tol": 0.3}, {"tol": 0.0, "atol": 0.3 * np.linalg.norm(b)}):
        left = np.linalg.norm(
            a @ np.asarray(getattr(ours, name)(a, b, **allowed, **setting)[0]) - b
        )
        assert left <= 0.3 * np.linalg.norm(b) * 1.001
    start = np.linalg.solve(a, b).astype("f4")
    assert np.array_equal(getattr(ours, name)(a, b, start, tol=1e-3, **setting)[0], start)
    assert not np.asarray(getattr(ours, name)(a, b, maxiter=0, **setting)[0]).any()
    assert not np.asarray(getattr(ours, name)(a, 0 * b, **setting)[0]).any()


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_trees_functions_and_columns(name):
    a, b, inverse = problem(name, "f4")
    rhs = {"u": b, "v": np.float32(3)}
    apply = lambda x: {"u": a @ x["u"], "v": 2 * x["v"]}
    precondition = lambda x: {"u": inverse @ x["u"], "v": x["v"]}
    for M in (None, precondition):
        x, _ = getattr(ours, name)(apply, rhs, tol=1e-6, M=M)
        np.testing.assert_allclose(np.asarray(x["u"]), np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)
        assert float(x["v"]) == pytest.approx(1.5, rel=1e-5)
    columns = draw(N, 3)
    x, _ = getattr(ours, name)(a, columns, tol=1e-6)
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(a, columns), rtol=1e-3, atol=1e-5)
    assert getattr(ours, name)(np.zeros((0, 0), "f4"), np.zeros(0, "f4"))[0].shape == (0,)


@pytest.mark.parametrize(("name", "setting", "dtype"), TYPED, ids=str)
def test_gradients(name, setting, dtype):
    a, b, _ = problem(name, dtype)
    found = []
    for lib, xp, o in LIBRARIES:

        def loss(a, b, xp=xp, o=o):
            x, _ = getattr(o, name)(a, b, tol=1e-7, **setting)
            return (x * xp.arange(N)).real.sum()

        found.append(lib.jit(lib.grad(loss, (0, 1)))(xp.asarray(a), xp.asarray(b)))
    for got, want in zip(*found, strict=True):
        scale = np.abs(want).max()
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-3, atol=1e-4 * scale)


def test_gradients_against_differences():
    with enable_x64(True):
        a, b = (x.astype("f8") for x in problem("bicgstab", "f4")[:2])
        solve = lambda a, b: ours.gmres(lambda v: a @ (a @ v), b, tol=1e-12)[0]
        check_grads(solve, (a, b), 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "setting"), SOLVERS, ids=str)
def test_mapped_and_compiled(name, setting):
    a, b, _ = problem(name, "f4")
    many = draw(3, N)
    solve = lambda a, b, k=None: getattr(ours, name)(a, b, tol=1e-6, maxiter=k, **setting)[0]
    looped = np.stack([np.linalg.solve(a, row) for row in many])
    mapped = fg.vmap(solve, (None, 0))(a, many)
    np.testing.assert_allclose(np.asarray(mapped), looped, rtol=1e-3, atol=2e-5)
    stack = np.stack([a, 2 * a])
    mapped = fg.vmap(solve, (0, None))(stack, b)
    np.testing.assert_allclose(2 * np.asarray(mapped[1]), np.asarray(mapped[0]), rtol=1e-4)
    got = fg.jit(solve)(a, b, 3)
    np.testing.assert_allclose(np.asarray(got), np.asarray(solve(a, b, 3)), rtol=1e-4, atol=1e-5)


def test_a_breakdown_of_bicgstab_is_overcome():
    """The residual becomes orthogonal to the shadow vector after a step; JAX ends there."""
    a = np.array([[-1, -2, 1], [-1, 2, -2], [1, 1, -1]], "f4")
    b = np.array([-2, -1, -1], "f4")
    assert np.abs(a @ np.asarray(theirs.bicgstab(a, b)[0]) - b).max() > 0.1
    x, _ = ours.bicgstab(a, b)
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(a, b), rtol=1e-3, atol=1e-3)


def test_what_has_no_solution_is_nan():
    b = np.ones(2, "f4")
    for name, setting in SOLVERS:
        x, info = getattr(ours, name)(np.zeros((2, 2), "f4"), b, **setting)
        assert np.isnan(np.asarray(x)).all()
        unknown, _ = getattr(ours, name)(np.eye(2, dtype="f4"), b * np.nan, **setting)
        assert np.isnan(np.asarray(unknown)).all()
        assert info is None or int(info) == -1


A, B = np.eye(2, dtype="f4"), np.ones(2, "f4")
REFUSED = [
    (TypeError, "A must be a function or a square matrix", (A.tolist(), B), {}),
    (TypeError, "M must be a function or a square matrix", (A, B), {"M": "x"}),
    (ValueError, "must be square, got float32", (A[:1], B), {}),
    (ValueError, "must be square, got float32", (A[0], B), {}),
    (TypeError, "one array of 3 rows", (np.eye(3, dtype="f4"), B), {}),
    (TypeError, "one array of 2 rows", (A, [1.0, 2.0]), {}),
    (TypeError, "b must be an array or a number", (lambda x: x, "abc"), {}),
    (TypeError, "astype", (A, np.ones(2, "i4")), {}),
    (TypeError, "all real or all complex", (lambda x: x, [B, B.astype("c8")]), {}),
    (TypeError, "fit the dtypes of b", (A.astype("c8"), B), {}),
    (ValueError, "shapes of b", (A, B), {"x0": np.ones(3, "f4")}),
    (ValueError, "pytree like b", (A, B), {"x0": [B]}),
    (TypeError, "what A returns must be a pytree like b", (lambda x: [x], B), {}),
    (ValueError, "what A returns must have the shapes", (lambda x: x[:1], B), {}),
]


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize(("kind", "text", "args", "given"), REFUSED)
def test_refused(name, kind, text, args, given):
    with pytest.raises(kind, match=text):
        getattr(ours, name)(*args, **given)


def test_refused_by_gmres():
    with pytest.raises(ValueError, match="solve_method is one of"):
        ours.gmres(A, B, solve_method="other")
    with pytest.raises(ValueError, match="at least 1"):
        ours.gmres(A, B, restart=0)
    with pytest.raises(TypeError, match="static"):
        fg.jit(lambda restart: ours.gmres(A, B, restart=restart))(2)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_signatures(name):
    got, want = (inspect.signature(getattr(o, name)).parameters for o in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in got.values()] == [
        (p.name, p.default, p.kind) for p in want.values()
    ]


def test_parts_of_a_complex_number_have_no_axes():
    z = fnp.asarray(np.complex64(1 + 2j))
    assert z.real.shape == z.imag.shape == ()
    assert (float(z.real), float(z.imag)) == (1, 2)
