"""minimize against JAX's and SciPy's; its line search and its matrices; what it refuses."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from jax.scipy import optimize as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy import optimize as ours
from funcgrad.scipy._bfgs import updated_inverse
from funcgrad.scipy._lbfgs import Corrections, product
from funcgrad.scipy._line_search import CURVATURE, DECREASE, line_search

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"
METHODS = ["BFGS", LBFGS]
SCALES = np.array([1, 10, 3, 7], "f4")


def quadratic(x, center=0.5):
    return (SCALES[: x.shape[0]] * (x - center) ** 2).sum()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x**2).sum() - 0.48 * x[0] * x[1]


def log_sum(x):
    return fnp.logaddexp(x[0] - 1, -x[0]) + fnp.logaddexp(2 * x[1], 3 - x[1])


@pytest.mark.parametrize("method", METHODS)
def test_like_jax(method):
    """The paths differ, but not where they end, nor the types of what is answered."""
    x0 = np.ones(4, "f4")
    got = ours.minimize(quadratic, x0, (0.25,), method=method)
    want = theirs.minimize(quadratic, jnp.asarray(x0), (0.25,), method=method)
    assert got._fields == want._fields
    for name, a, b in zip(got._fields, got, want, strict=True):
        if b is None:
            assert a is None
            continue
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type), name
    for name in ("x", "fun", "jac", "success", "status"):
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(want, name))
        np.testing.assert_allclose(a, b, atol=2e-5, err_msg=name)
    if method == "BFGS":
        inverse = np.diag(0.5 / SCALES)
        np.testing.assert_allclose(np.asarray(got.hess_inv), inverse, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("function", "x0"),
    [
        (rosenbrock, np.zeros(2)),
        (rosenbrock, np.array([-1.2, 1, -1.2, 1])),
        (himmelblau, np.zeros(2)),
        (matyas, np.ones(2)),
        (log_sum, np.array([20.0, -20.0])),
        (lambda x: 1e4 + ((x - 3) ** 4).sum() + ((x - 3) ** 2).sum(), np.zeros(3)),
    ],
)
def test_minima_of_scipy(function, x0, method, x64):
    tolerance = 1e-4 if x64 else 2e-2
    with enable_x64(x64):
        options = {"ftol": 0.0} if method == LBFGS else None
        found = ours.minimize(function, fnp.asarray(x0), method=method, options=options)
        slope = fg.grad(function)
        known = scipy.optimize.minimize(
            lambda x: np.asarray(function(fnp.asarray(x)), "f8"),
            x0,
            jac=lambda x: np.asarray(slope(fnp.asarray(x)), "f8"),
            method="BFGS",
        )
    assert found.x.dtype == ("f8" if x64 else "f4")
    assert float(found.fun) <= known.fun + 1e-3 * max(abs(known.fun), 1e-3)
    if function is not himmelblau:  # it has four minima
        np.testing.assert_allclose(np.asarray(found.x), known.x, atol=tolerance)
    if x64:
        assert bool(found.success)
        assert int(found.status) == 0
        assert int(found.nfev) <= 3 * known.nfev + 10
        assert np.abs(np.asarray(found.jac)).max() < 1e-5


def test_rosenbrock_where_jax_fails():
    """JAX gives up after one iteration."""
    x0 = np.zeros(2, "f4")
    assert not bool(theirs.minimize(rosenbrock, jnp.asarray(x0), method="BFGS").success)
    assert bool(ours.minimize(rosenbrock, x0, method="BFGS").success)


@pytest.mark.parametrize("method", METHODS)
def test_mapped_and_compiled(method):
    starts = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    solve = lambda x0, center: ours.minimize(quadratic, x0, (center,), method=method)
    looped = [solve(x0, 0.5) for x0 in starts]
    mapped = fg.vmap(solve, (0, None))(starts, 0.5)
    for i, one in enumerate(looped):
        for a, b in zip(fg.tree.leaves(mapped), fg.tree.leaves(one), strict=True):
            np.testing.assert_allclose(np.asarray(a[i]), np.asarray(b), rtol=1e-2, atol=1e-3)
    compiled = fg.jit(solve)(starts[0], 0.5)
    np.testing.assert_allclose(np.asarray(compiled.x), np.asarray(looped[0].x), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_forward_derivatives(method):
    solve = lambda center: ours.minimize(quadratic, np.ones(4, "f4"), (center,), method=method).x
    _, moved = fg.jvp(solve, (0.25,), (1.0,))
    np.testing.assert_allclose(np.asarray(moved), np.ones(4), atol=1e-2)
    with pytest.raises(ValueError, match="reverse"):
        fg.grad(lambda center: solve(center).sum())(0.25)


def test_options_of_both():
    x0 = np.ones(4, "f4")
    for method in METHODS:
        run = lambda method=method, **o: ours.minimize(quadratic, x0, method=method, options=o)
        stopped = run(maxiter=2)
        assert (int(stopped.nit), int(stopped.status), bool(stopped.success)) == (2, 1, False)
        none = run(maxiter=0)
        assert (int(none.nit), int(none.nfev), int(none.status)) == (0, 1, 1)
        assert np.array_equal(none.x, x0)
        loose, tight = run(gtol=1.0, ftol=0.0) if method == LBFGS else run(gtol=1.0), run()
        assert int(loose.nit) < int(tight.nit)
        assert 1e-5 < np.abs(np.asarray(loose.jac)).max() < 1
        by_tol = ours.minimize(quadratic, x0, method=method, tol=1.0)
        assert int(by_tol.nit) <= int(loose.nit)
        kept = ours.minimize(quadratic, x0, method=method, tol=1.0, options={"gtol": 1e-5})
        assert int(kept.nit) >= int(by_tol.nit)
        summed = run(norm=1)
        assert np.abs(np.asarray(summed.jac)).sum() < 1e-5
        lower = ours.minimize(quadratic, x0, method=method.upper())
        assert np.array_equal(lower.x, tight.x)


def test_options_of_lbfgs():
    run = lambda **options: ours.minimize(
        rosenbrock, np.zeros(2, "f4"), method=LBFGS, options=options
    )
    assert [int(run(**{o: 5}).status) for o in ("maxfun", "maxgrad")] == [2, 3]
    assert int(run(maxfun=5).nfev) >= 5
    early = run(ftol=0.1)
    assert (int(early.status), bool(early.success)) == (4, False)
    forgetful, mindful = run(maxcor=1, ftol=0.0), run(maxcor=10, ftol=0.0)
    assert int(forgetful.nfev) > int(mindful.nfev)
    assert int(run(maxls=1).status) == 5


@pytest.mark.parametrize("method", METHODS)
def test_failures_are_told(method):
    x0 = np.ones(2, "f4")
    failed = 3 if method == "BFGS" else 5
    unknown = ours.minimize(lambda x: fnp.nan * x.sum(), x0, method=method)
    assert (bool(unknown.success), int(unknown.status)) == (False, failed)
    assert np.array_equal(unknown.x, x0)
    pointed = ours.minimize(lambda x: fnp.abs(x).sum(), x0, method=method)
    assert not bool(pointed.success)
    assert np.abs(np.asarray(pointed.x)).max() < 1e-4
    endless = ours.minimize(lambda x: x.sum(), x0, method=method, options={"maxiter": 5})
    assert (bool(endless.success), int(endless.status)) == (False, 1)
    bounded = ours.minimize(lambda x: (fnp.log(x) - x + 1 / x).sum() ** 2, x0 * 3, method=method)
    np.testing.assert_allclose(np.asarray(bounded.x), 1, atol=0.01)


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 30.0])
def test_strong_wolfe_conditions(first):
    with enable_x64(True):
        function = lambda x: (fnp.sin(3 * x) + 0.3 * x**2).sum() + (x**4).sum()
        objective = fg.value_and_grad(function)
        for seed in range(5):
            x = fnp.asarray(np.random.default_rng(seed).normal(size=3))
            value, gradient = objective(x)
            search = line_search(objective, x, -gradient, value, gradient, first, 40)
            assert bool(search.done)
            step, new, slope, _ = search.low
            before = -float(gradient @ gradient)
            assert float(new) <= float(value) + DECREASE * float(step) * before
            assert abs(float(slope)) <= -CURVATURE * before


def test_inverse_hessians():
    """Both methods take y to s; L-BFGS with all corrections is BFGS."""
    rng = np.random.default_rng(0)
    with enable_x64(True):
        hessian = rng.normal(size=(4, 4))
        hessian = hessian @ hessian.T + np.eye(4)
        steps = rng.normal(size=(3, 4))
        changes = steps @ hessian
        scale = (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
        inverse = fnp.asarray(scale * np.eye(4))
        for s, y in zip(steps, changes, strict=True):
            inverse = updated_inverse(inverse, fnp.asarray(s), fnp.asarray(y))
            np.testing.assert_allclose(np.asarray(inverse @ y), s, atol=1e-10)
        weights = 1 / (steps * changes).sum(1)
        kept = Corrections(*map(fnp.asarray, (steps, changes, weights, scale)))
        v = rng.normal(size=4)
        got = np.asarray(product(kept, fnp.asarray(v)))
        np.testing.assert_allclose(got, np.asarray(inverse @ v), atol=1e-10)
        concave = updated_inverse(inverse, fnp.asarray(steps[0]), fnp.asarray(-changes[0]))
        assert np.array_equal(concave, inverse)


X0 = np.ones(2, "f4")
REFUSED = [
    (ValueError, "method is one of", quadratic, X0, {"method": "CG"}),
    (ValueError, "method is one of", quadratic, X0, {"method": None}),
    (TypeError, "args must be a tuple", quadratic, X0, {"args": 2.0}),
    (TypeError, "has the options", quadratic, X0, {"options": {"unheard": 1}}),
    (ValueError, "maxcor", quadratic, X0, {"method": LBFGS, "options": {"maxcor": 0}}),
    (TypeError, "x0 must be an array", quadratic, [1.0, 2.0], {}),
    (TypeError, "ravel_pytree", lambda x: x["a"].sum(), {"a": X0}, {}),
    (TypeError, "real floats", quadratic, np.ones(2, "i4"), {}),
    (TypeError, "real floats", lambda x: abs(x).sum(), np.ones(2, "c8"), {}),
    (ValueError, "must be a vector", quadratic, np.ones((2, 2), "f4"), {}),
    (ValueError, "must be a vector", quadratic, np.float32(1), {}),
    (TypeError, "scalar", lambda x: x**2, X0, {}),
    (TypeError, "int32", lambda x: x.sum().astype("int32"), X0, {}),
]


@pytest.mark.parametrize(("kind", "text", "function", "x0", "given"), REFUSED)
def test_refused(kind, text, function, x0, given):
    with pytest.raises(kind, match=text):
        ours.minimize(function, x0, **{"method": "BFGS", **given})


def test_signature_and_results():
    got, want = (inspect.signature(o.minimize).parameters for o in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in got.values()] == [
        (p.name, p.default, p.kind) for p in want.values()
    ]
    assert ours.OptimizeResults._fields == theirs.OptimizeResults._fields
    empty = ours.minimize(lambda x: (x**2).sum(), np.zeros(0, "f4"), method="BFGS")
    assert bool(empty.success)
    half = ours.minimize(quadratic, np.ones(2, "f2"), method="BFGS", tol=1e-2)
    assert (half.x.dtype, half.fun.dtype) == (np.float16, np.float32)
    assert jax.tree.structure(tuple(half)) == jax.tree.structure(tuple(range(9)))
