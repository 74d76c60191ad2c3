"""Taylor mode against nested forward mode and against JAX's jet, and what it refuses."""

import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import jet as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.base.config import enable_x64
from funcgrad.experimental import jet as ours

X = np.array([0.3, 0.6, 0.45])
V = np.array([1.0, -0.5, 0.25])
M = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])


def nested(f, x, v, order):
    """The derivatives of f along x + t v, one forward mode inside the other."""
    derivatives, g = [], lambda t: f(x + t * v)
    for _ in range(order):
        g = lambda t, g=g: fg.jvp(g, (t,), (1.0,))[1]
        derivatives.append(g(0.0))
    return derivatives


NAMES = """sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp exp2 expm1 log log1p
    sqrt cbrt square abs sort cumsum cumprod prod max min mean var sinc""".split()
FUNCTIONS = {
    **{name: getattr(fnp, name) for name in NAMES},
    **{name: getattr(lax, name) for name in "rsqrt logistic erf erfc erf_inv lgamma".split()},
    "arccosh": lambda x: fnp.arccosh(x + 2),
    "power": lambda x: x**2.5,
    "integer power": lambda x: x**3,
    "power of itself": lambda x: x**x,
    "arctan2": lambda x: fnp.arctan2(x, x**2),
    "quotient": lambda x: fnp.sin(x) / (1 + x * x),
    "softmax": fg.nn.softmax,
    "gelu": fg.nn.gelu,
    "relu": fg.nn.relu,
    "product": lambda x: (M * x) @ (x * x),
    "convolution": lambda x: fnp.convolve(x, x),
    "indexed": lambda x: x[fnp.array([0, 0, 2])] * x,
    "updated": lambda x: fnp.asarray(x).at[0].add(x[1] ** 2),
    "where": lambda x: fnp.where(x > 0.4, fnp.sin(x), x**2),
    "fft": lambda x: abs(fnp.fft.fft(x)),
    "complex": lambda x: (fnp.exp(1j * x) * x).real,
    "inverse": lambda x: fnp.linalg.inv(M + fnp.diag(x)),
    "cholesky": lambda x: fnp.linalg.cholesky(M + fnp.diag(x)),
    "scan": lambda x: lax.scan(lambda c, a: (c * a + x, c), x, x)[0],
    "scan of several": lambda x: lax.scan(
        lambda c, a: ((c[0] + 1, c[1] * a, c[2]), (c[0], c[1] + x)), (0, x.sum(), x), x
    ),
    "scan of numbers": lambda x: lax.scan(lambda c, a: (c + a, c * x[0]), 0.0, np.ones(3)),
    "switch": lambda x: lax.switch(1, [fnp.sin, lambda y: y * x, fnp.exp], x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * x, x),
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * fnp.exp(c[1]) * 0.3), (0, x)
    )[1],
    "cond": lambda x: lax.cond(x.sum() > 0, fnp.sin, fnp.cos, x),
    "jit": fg.jit(lambda x: fnp.sin(x) * x),
    "checkpoint": fg.checkpoint(lambda x: fnp.sin(fnp.exp(x))),
    "vmap": lambda x: fg.vmap(lambda a: fnp.sin(a) * x)(x),
    "gradient": lambda x: fg.grad(lambda y: (fnp.sin(y) * y * y).sum())(x),
    "python": lambda x: fnp.sin(x) if x[0] > 0 else fnp.cos(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_nested_forward_mode(name):
    f = FUNCTIONS[name]
    with enable_x64(True):
        out, series = ours.jet(f, (X,), ([V, 0 * V, 0 * V],))
        outs, columns = fg.tree.leaves(out), zip(*[fg.tree.leaves(d) for d in nested(f, X, V, 3)])
        rows = fg.tree.leaves(series, is_leaf=lambda x: isinstance(x, list))
        for value, want in zip(outs, fg.tree.leaves(f(X)), strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-12)
        for got, want in zip(rows, columns, strict=True):
            for term, derivative in zip(got, want, strict=True):
                if derivative.dtype != fg.float0:
                    np.testing.assert_allclose(term, derivative, rtol=1e-8, atol=1e-8)


COMMON = {
    "two arguments": (lambda xp: lambda x, y: xp.sin(x * y) / y, 2),
    "tanh": (lambda xp: xp.tanh, 1),
    "matrix": (lambda xp: lambda x: xp.outer(x, x) @ xp.exp(x), 1),
    "maximum": (lambda xp: lambda x, y: xp.maximum(x, y), 2),
    "tuple": (lambda xp: lambda x: (x**2, {"a": xp.cos(x)}), 1),
    "constant": (lambda xp: lambda x: (x * 0 + 2.0, xp.ones(2)), 1),
}


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("name", COMMON)
def test_against_jax(name, scaled):
    make, count = COMMON[name]
    rng = np.random.default_rng(2)
    primals = [rng.uniform(0.5, 1.5, 3).astype("f4") for _ in range(count)]
    series = [[rng.normal(size=3).astype("f4") for _ in range(4)] for _ in range(count)]
    got = ours.jet(make(fnp), primals, series, factorial_scaled=scaled)
    want = theirs.jet(make(jnp), primals, series, factorial_scaled=scaled)
    assert str(fg.tree.structure(got)) == str(jax.tree.structure(want))
    for a, b in zip(fg.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("wrap", [fg.jit, fg.vmap], ids=["jit", "vmap"])
def test_under_other_transformations(wrap):
    expand = lambda x: ours.jet(lambda x: fnp.exp(x) * x, (x,), ([1.0, 0.0, 0.0],))
    out, series = wrap(expand)(X.astype("f4"))
    np.testing.assert_allclose(out, np.exp(X) * X, rtol=1e-5)
    for k, term in enumerate(series, 1):
        np.testing.assert_allclose(term, np.exp(X) * (X + k), rtol=1e-5)


def test_gradient_of_a_term():
    second = lambda x: ours.jet(fnp.sin, (x,), ([1.0, 0.0],))[1][1]
    np.testing.assert_allclose(fg.grad(second)(0.7), -np.cos(0.7), rtol=1e-6)
    inner = lambda x: ours.jet(lambda y: fnp.sin(x * y), (x,), ([1.0, 0.0],))[1][0]
    np.testing.assert_allclose(fg.grad(inner)(0.7), np.cos(0.49) - 0.98 * np.sin(0.49), rtol=1e-6)


def test_high_orders_stay_small():
    with enable_x64(True):
        series = [1.0, *[0.0] * 11]
        for f, derivative in (
            (lambda x: x**1.5, lambda k: math.prod(1.5 - i for i in range(k)) * 0.5 ** (1.5 - k)),
            (lambda x: 1 / x, lambda k: (-1) ** k * math.factorial(k) * 0.5 ** (-1 - k)),
            (lambda x: x**12, lambda k: math.perm(12, k) * 0.5 ** (12 - k)),
            (fnp.log, lambda k: (-1) ** (k - 1) * math.factorial(k - 1) * 0.5**-k),
        ):
            program = fg.make_jaxpr(lambda x, f=f: ours.jet(f, (x,), (series,))[1])(0.5)
            assert len(program.eqns) < 2000
            _, terms = ours.jet(f, (0.5,), (series,))
            want = [derivative(k) for k in range(1, 13)]
            np.testing.assert_allclose(terms, want, rtol=1e-9)


def test_rules_of_the_users_own_count():
    f = fg.custom_jvp(fnp.sin)
    f.defjvp(lambda p, t: (f(*p), 3 * fnp.cos(p[0]) * t[0]))
    _, (first, second) = ours.jet(f, (0.5,), ([1.0, 0.0],))
    np.testing.assert_allclose([first, second], [3 * np.cos(0.5), -3 * np.sin(0.5)], rtol=1e-6)
    g = fg.custom_vjp(fnp.sin)
    g.defvjp(lambda x: (g(x), x), lambda x, ct: (5 * fnp.cos(x) * ct,))
    _, (first, second) = ours.jet(g, (0.5,), ([1.0, 0.0],))
    np.testing.assert_allclose([first, second], [5 * np.cos(0.5), -5 * np.sin(0.5)], rtol=1e-6)


def test_pytrees_scalars_and_no_terms():
    f = lambda d, y: d["a"] * d["b"] * y
    term = {"a": 1.0, "b": 0.0}
    out, series = ours.jet(f, ({"a": 2.0, "b": 3.0}, 4.0), ([term, term], [1.0, 0.0]))
    assert float(out) == 24 and [float(s) for s in series] == [18, 18]
    spread = ours.jet(fnp.sin, (X.astype("f4"),), ([1.0],))[1][0]
    np.testing.assert_allclose(spread, np.cos(X), rtol=1e-6)
    assert ours.jet(lambda x: (x, 1.0), (2.0,), ([],))[1] == ([], [])


def test_errors():
    f = lambda x, y: x * y
    with pytest.raises(ValueError, match=r"a list of terms for each of the 2 arguments.*length 1"):
        ours.jet(f, (1.0, 2.0), ([1.0],))
    with pytest.raises(ValueError, match=r"must be equally long, and have \[2, 1\] terms"):
        ours.jet(f, (1.0, 2.0), ([1.0, 0.0], [1.0]))
    with pytest.raises(TypeError, match=r"series\[0\] must be a list of terms"):
        ours.jet(fnp.sin, (1.0,), (1.0,))
    with pytest.raises(ValueError, match=r"series\[0\]\[0\] must be a pytree like the argument"):
        ours.jet(lambda d: d["a"], ({"a": 1.0},), ([1.0],))
    with pytest.raises(ValueError, match=r"\[0\]\[1\] is float32\[2\] and must have the shape"):
        ours.jet(fnp.sin, (fnp.ones(3),), ([fnp.ones(3), fnp.ones(2)],))
    with pytest.raises(TypeError, match=r"\[0\]\[0\] belongs to an argument of type int32\[\]"):
        ours.jet(lambda n: n * 2, (3,), ([1.0],))
    with pytest.raises(NotImplementedError, match=r"hessenberg has no derivative.*jet"):
        ours.jet(lambda m: lax.linalg.hessenberg(m)[0], (fnp.eye(3),), ([fnp.ones((3, 3))] * 2,))


def test_signature():
    assert (
        list(inspect.signature(ours.jet).parameters)[:4]
        == list(inspect.signature(theirs.jet).parameters)[:4]
    )
