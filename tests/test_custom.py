"""Rules of the user's own against JAX: symbolic zeros, settings, None, closures, both orders."""

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.custom_derivatives import SymbolicZero

jax = pytest.importorskip("jax")
jnp = jax.numpy
LIBRARIES = [(fg, fnp), (jax, jnp)]


def agree(case):
    ours, theirs = (case(lib, xp) for lib, xp in LIBRARIES)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_jvp_rule_with_symbolic_zeros():
    def case(lib, xp):
        seen = []
        f = lib.custom_jvp(lambda x, y: x * y)

        def rule(primals, tangents):
            (x, y), (tx, ty) = primals, tangents
            zeros = [type(t).__name__ == "SymbolicZero" for t in tangents]
            seen.append(zeros)
            total = sum((t * p for t, p, z in zip((tx, ty), (y, x), zeros, strict=True) if not z))
            return f(x, y), total

        f.defjvp(rule, symbolic_zeros=True)
        values = lib.grad(f)(2.0, 3.0), lib.grad(f, 1)(2.0, 3.0), lib.jit(lib.grad(f))(2.0, 3.0)
        return [*values, seen[0]]

    agree(case)


def test_symbolic_zero_says_its_type():
    seen = []
    f = fg.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        seen.append(tangents[1])
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(rule, symbolic_zeros=True)
    fg.grad(f)(fnp.float32(2.0), fnp.float32(3.0))
    assert isinstance(seen[0], SymbolicZero)
    assert (seen[0].shape, seen[0].dtype) == ((), np.float32)


def test_vjp_rule_with_symbolic_zeros():
    def case(lib, xp):
        seen = []
        f = lib.custom_vjp(lambda x, y: (x * y, x + y))

        def fwd(x, y):
            seen.append([x.perturbed, y.perturbed])
            return (x.value * y.value, x.value + y.value), (x.value, y.value)

        def bwd(res, cts):
            x, y = res
            zeros = [type(c).__name__ == "SymbolicZero" for c in cts]
            seen.append(zeros)
            first = 0.0 if zeros[0] else cts[0]
            second = 0.0 if zeros[1] else cts[1]
            return first * y + second, first * x + second

        f.defvjp(fwd, bwd, symbolic_zeros=True)
        gradient = lib.grad(lambda x: f(x, 3.0)[0])(2.0)
        both = lib.grad(lambda x: sum(f(x, x)))(2.0)
        return [gradient, both, *seen[:2]]

    agree(case)


def test_settings_and_integers_and_none():
    def case(lib, xp):
        @functools.partial(lib.custom_vjp, nondiff_argnums=(0, 2))
        def f(power, x, name, index):
            return x[index] ** power

        f.defvjp(
            lambda power, x, name, index: (f(power, x, name, index), (x, index)),
            lambda power, name, res, ct: (
                xp.zeros_like(res[0]).at[res[1]].set(10 * ct * power * res[0][res[1]]),
                None,
            ),
        )
        x = xp.arange(1.0, 4.0)
        gradient = lib.grad(lambda x: f(2, x, "name", 1))
        return [gradient(x), lib.jit(gradient)(x), lib.vmap(gradient)(xp.stack([x, 2 * x]))]

    agree(case)


def test_shared_argument_under_vmap_gets_the_sum():
    def case(lib, xp):
        f = lib.custom_vjp(lambda w, x: w * x)
        f.defvjp(lambda w, x: (w * x, (w, x)), lambda res, ct: (3 * ct * res[1], ct * res[0]))
        loss = lambda w: lib.vmap(f, (None, 0))(w, xp.arange(4.0)).sum()
        return [lib.grad(loss)(2.0), lib.jit(lib.grad(loss))(2.0)]

    agree(case)


def test_rule_inside_loops_and_second_order():
    def case(lib, xp):
        f = lib.custom_jvp(xp.sin)
        f.defjvp(lambda p, t: (f(p[0]), 2 * xp.cos(p[0]) * t[0]))
        looped = lambda x: lib.lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0]
        return [
            lib.grad(looped)(0.5),
            lib.jit(lib.grad(looped))(0.5),
            lib.grad(lib.grad(f))(0.5),
            lib.vmap(lib.grad(looped))(xp.arange(3.0)),
        ]

    agree(case)


def test_forward_mode_of_a_vjp_rule_is_its_transpose():
    f = fg.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (5 * ct * res[1], ct * res[0]))
    out, tangent = fg.jvp(f, (2.0, 3.0), (1.0, 0.5))
    assert (float(out), float(tangent)) == (6.0, 5 * 3.0 + 2.0 * 0.5)
    np.testing.assert_allclose(fg.hessian(f, (0, 1))(2.0, 3.0), [[0.0, 5.0], [1.0, 0.0]])


def test_a_function_without_a_rule_says_so():
    with pytest.raises(AttributeError, match="defjvp"):
        fg.custom_jvp(lambda x: x)(1.0)
    with pytest.raises(AttributeError, match="defvjp"):
        fg.custom_vjp(lambda x: x)(1.0)


def test_symbolic_zeros_of_a_rule_under_vmap() -> None:
    @fg.custom_jvp
    def f(x, n):
        return x * 2.0, n

    def rule(primals, tangents):
        out = f(*primals)
        zero = SymbolicZero(fg.typeof(out[1]).to_tangent_aval())
        return out, (tangents[0] * 2.0, zero)

    f.defjvp(rule, symbolic_zeros=True)
    x, n = np.arange(3.0, dtype=np.float32), np.arange(3)
    g = lambda x, n: f(x, n)[0] + f(x, n)[1]
    want = np.full(3, 2, np.float32)
    np.testing.assert_array_equal(fg.vmap(fg.grad(g))(x, n), want)
    np.testing.assert_array_equal(fg.grad(lambda x: fg.vmap(g)(x, n).sum())(x), want)
    moved = fg.jit(lambda x: fg.jvp(lambda y: fg.vmap(g)(y, n), (x,), (x,)))(x)[1]
    np.testing.assert_array_equal(moved, 2 * x)


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_bwd_rule_branches_on_python_residuals(symbolic) -> None:
    @fg.custom_vjp
    def f(x, y):
        return x * y

    def fwd(x, y):
        flags = (x.perturbed, y.perturbed) if symbolic else (True, False)
        x, y = (x.value, y.value) if symbolic else (x, y)
        return f(x, y), (x, y, flags, 3)

    def bwd(res, ct):
        x, y, (first, second), scale = res
        return scale * ct * y if first else None, scale * ct * x if second else None

    f.defvjp(fwd, bwd, symbolic_zeros=symbolic)
    x = np.arange(3.0, dtype=np.float32)
    for wrap in (lambda f: f, fg.jit):
        g = wrap(lambda x, y: f(x, y).sum())
        np.testing.assert_array_equal(fg.grad(g)(x, x + 1), 3 * (x + 1))
        np.testing.assert_array_equal(fg.vmap(fg.grad(g))(x, x + 1), 3 * (x + 1))
        total = lambda x, y, g=g: fg.vmap(g)(x, y).sum()
        np.testing.assert_array_equal(fg.grad(total)(x, x + 1), 3 * (x + 1))
        np.testing.assert_array_equal(fg.grad(total, 1)(x, x + 1), 3 * x if symbolic else 0 * x)
