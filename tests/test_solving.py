"""custom_root and custom_linear_solve against JAX: values, derivatives of both orders, batching."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

jax = pytest.importorskip("jax")
jnp = jax.numpy

A = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32) + 3 * np.eye(3, dtype="float32")
B = np.arange(1.0, 4.0, dtype=np.float32)


def solution(lib, xp, a, b):
    return lib.lax.custom_linear_solve(
        lambda v: a @ v,
        b,
        lambda _, rhs: xp.linalg.solve(a, rhs),
        lambda _, rhs: xp.linalg.solve(a.T, rhs),
    )


def root(lib, xp, c):
    def newton(f, x):
        return lib.lax.while_loop(lambda x: xp.abs(f(x)) > 1e-6, lambda x: x - f(x) / (2 * x), x)

    return lib.lax.custom_root(lambda x: x**2 - c, 1.5, newton, lambda g, y: y / g(1.0))


def linear_cases(lib, xp):
    a, b = xp.asarray(A), xp.asarray(B)
    solve = lambda a, b: solution(lib, xp, a, b)
    loss = lambda a, b: (solve(a, b) ** 3).sum()
    gradient = lib.grad(loss, argnums=1)
    return {
        "value": solve(a, b),
        "grad by matrix": lib.grad(loss)(a, b),
        "grad by right side": gradient(a, b),
        "jit": lib.jit(lib.grad(loss))(a, b),
        "vmap right side": lib.vmap(solve, (None, 0))(a, xp.stack([b, 2 * b])),
        "vmap matrix": lib.vmap(solve, (0, None))(xp.stack([a, 2 * a]), b),
        "forward over reverse": lib.jacfwd(gradient)(a, b),
        "reverse over reverse": lib.grad(lambda a: (gradient(a, b) ** 2).sum())(a),
    }


def root_cases(lib, xp):
    f = lambda c: root(lib, xp, c)
    return {
        "value": f(2.0),
        "grad": lib.grad(f)(2.0),
        "second": lib.jit(lib.grad(lib.grad(f)))(2.0),
        "vmap": lib.vmap(lib.grad(f))(xp.asarray(B)),
    }


@pytest.mark.parametrize("cases", [linear_cases, root_cases])
def test_against_jax(cases):
    ours, theirs = cases(fg, fnp), cases(jax, jnp)
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_reverse_mode_without_transpose_solve_is_refused():
    def f(b):
        x = fg.lax.custom_linear_solve(lambda v: 2 * v, b, lambda _, rhs: rhs / 2)
        return x.sum()

    np.testing.assert_allclose(f(fnp.asarray(B)), B.sum() / 2)
    with pytest.raises(TypeError, match="transpose_solve"):
        fg.grad(f)(fnp.asarray(B))


def test_solver_of_another_shape_is_refused():
    with pytest.raises(TypeError, match=r"float32\[3\].*float32\[2\]"):
        fg.lax.custom_linear_solve(lambda v: v, fnp.asarray(B), lambda _, rhs: rhs[:2])
