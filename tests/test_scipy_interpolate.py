"""RegularGridInterpolator and vq against JAX's; derivatives; what is nan, and what is refused."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
from jax.scipy.cluster import vq as their_vq
from jax.scipy.interpolate import RegularGridInterpolator as Theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy.cluster.vq import vq
from funcgrad.scipy.interpolate import RegularGridInterpolator as Ours
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
AXES = tuple(np.cumsum(RNG.uniform(0.2, 1, n)).astype("f4") for n in (4, 3, 5))
METHODS = ["linear", "nearest"]
LIBRARIES = [(fg, fnp, Ours), (jax, jnp, Theirs)]


def grid(dimensions, *rest, dtype="f4"):
    points = AXES[:dimensions]
    values = RNG.normal(size=(*map(len, points), *rest))
    return points, (values * (10 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


def places(points, *shape, spread=1.0):
    low, high = (np.array([f(p) for p in points]) for f in (np.min, np.max))
    middle, half = (low + high) / 2, (high - low) / 2 * spread
    return (middle + half * RNG.uniform(-1, 1, (*shape, len(points)))).astype("f4")


def assert_same(got, want, tolerance=1e-5):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("fill", [{}, {"fill_value": None}, {"fill_value": -2.5}])
@pytest.mark.parametrize(("dimensions", "rest"), [(1, ()), (2, (2,)), (3, ())])
@pytest.mark.parametrize("method", METHODS)
def test_values(method, dimensions, rest, fill):
    points, values = grid(dimensions, *rest)
    xi = places(points, 4, 5, spread=1.4)
    got, want = (new(points, values, method, **fill)(xi) for new in (Ours, Theirs))
    assert_same(got, want)
    known = scipy.interpolate.RegularGridInterpolator(
        points, values, method, bounds_error=False, **fill
    )
    np.testing.assert_allclose(np.asarray(got), known(xi), rtol=1e-4, atol=1e-5)
    compiled = fg.jit(lambda p, v, x: Ours(p, v, method, **fill)(x))(points, values, xi)
    assert_same(compiled, got)


@pytest.mark.parametrize("dtype", ["i4", "c8", "f2", "bool"])
@pytest.mark.parametrize("method", METHODS)
def test_dtypes(method, dtype):
    points, values = grid(2, dtype=dtype)
    xi = places(points, 6, spread=1.4)
    xi = xi.astype(dtype) if dtype == "f2" else xi
    assert_same(*(new(points, values, method)(xi) for new in (Ours, Theirs)), tolerance=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_forms_of_points(method):
    (points, values), (line, heights) = grid(2), grid(1)
    xi = places(points, 3)
    a, b = xi[:, 0], xi[:, 1]
    asked = [xi[0], (a, np.float32(b[0])), (a[0], b[0]), (a[:, None], b)]
    for x in asked:
        assert_same(*(new(points, values)(x, method=method) for new in (Ours, Theirs)))
    for x in [a, (a,), np.array([1, 2])]:
        assert_same(*(new(line, heights)(x, method=method) for new in (Ours, Theirs)))
    assert Ours(line, heights)(a[0]).shape == ()
    made = Ours(points, values, method)
    assert (made.method, made.bounds_error) == (method, False)
    assert [g.shape for g in made.grid] == [p.shape for p in points]


def test_the_lower_one_of_two_equally_near():
    points, values = (np.array([0.0, 1, 2], "f4"),), np.array([5.0, 6, 7], "f4")
    got = Ours(points, values, "nearest")(np.array([0.5, 1.5, 0.51, 2.0], "f4"))
    assert np.asarray(got).tolist() == [5, 6, 6, 7]
    alone = Ours((np.array([1.0], "f4"),), np.array([3.0], "f4"), "nearest")
    assert np.array_equal(alone(np.array([1.0, 2.0], "f4")), [3, np.nan], equal_nan=True)


def test_nan_in_nan_out():
    points, values = grid(2)
    xi = np.array([[np.nan, points[1][1]], [points[0][1], points[1][1]]], "f4")
    for method in METHODS:
        for fill in (None, 0.0):
            got = np.asarray(Ours(points, values, method, fill_value=fill)(xi))
            assert np.isnan(got).tolist() == [True, False]
            backwards = fg.jit(lambda p, m=method, f=fill: Ours(p, values, m, fill_value=f)(xi))(
                (points[0][::-1], points[1])
            )
            assert np.isnan(np.asarray(backwards)).all()


@pytest.mark.parametrize("fill", [None, np.nan])
@pytest.mark.parametrize("method", METHODS)
def test_gradients(method, fill):
    points, values = grid(2)
    xi = places(points, 6, spread=1.4 if fill is None else 1.0)
    found = []
    for lib, xp, new in LIBRARIES:

        def loss(p, v, x, new=new, xp=xp):
            return (new(p, v, method, fill_value=fill)(x) * xp.arange(6)).sum()

        arguments = [tuple(map(xp.asarray, points)), xp.asarray(values), xp.asarray(xi)]
        found.append(lib.tree.leaves(lib.jit(lib.grad(loss, (0, 1, 2)))(*arguments)))
    for got, want in zip(*found, strict=True):
        assert_same(got, want, tolerance=2e-4)


def test_gradients_against_differences():
    with enable_x64(True):
        points, values = (tuple(p.astype("f8") for p in AXES), grid(3)[1].astype("f8"))
        xi = places(points, 5).astype("f8")
        check_grads(lambda v, x: Ours(points, v)(x), (values, xi), 2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_mapped(method):
    points, values = grid(2, 3)
    xi = places(points, 4)
    whole = Ours(points, values, method)(xi)
    one_by_one = fg.vmap(lambda x: Ours(points, values, method)((x[0], x[1])))(xi)
    assert_same(one_by_one, whole)
    stack = np.stack([values, 2 * values])
    assert_same(fg.vmap(lambda v: Ours(points, v, method)(xi))(stack)[1], 2 * whole)


def test_a_pytree():
    points, values = grid(2)
    xi = places(points, 4)
    for fill in (None, 0.0):
        made = Ours(points, values, "linear", fill_value=fill)
        leaves = fg.tree.leaves(made)
        assert [x.shape for x in leaves] == [
            x.shape for x in jax.tree.leaves(Theirs(points, values, fill_value=fill))
        ]
        assert_same(fg.jit(lambda f, x: f(x))(made, xi), made(xi))
        doubled = fg.tree.map(lambda x: fnp.stack([x, 2 * x]), made)
        # What is twice as far away has twice the value.
        assert_same(
            fg.vmap(lambda f, s: f(s * xi))(doubled, np.array([1, 2], "f4"))[1], 2 * made(xi)
        )
        weights = fg.grad(lambda f: f(xi).sum())(made).values
        assert float(weights.sum()) == pytest.approx(4, rel=1e-5)


LINE, HEIGHTS = (np.array([1.0, 2, 3], "f4"),), np.array([0.0, 1, 2], "f4")
REFUSED = [
    (NotImplementedError, "fill_value", (LINE, HEIGHTS), {"bounds_error": True}),
    (ValueError, "method is one of", (LINE, HEIGHTS, "cubic"), {}),
    (ValueError, "got 2 for", (LINE * 2, HEIGHTS), {}),
    (ValueError, "got 0 for", ((), HEIGHTS), {}),
    (ValueError, r"must have the shape \[3\]", ((LINE[0][:2],), HEIGHTS), {}),
    (ValueError, r"must have the shape \[3\]", ((LINE[0][None],), HEIGHTS), {}),
    (ValueError, "two or more", ((LINE[0][:1],), HEIGHTS[:1]), {}),
    (ValueError, "must increase", ((LINE[0][::-1],), HEIGHTS), {}),
    (ValueError, "must increase", ((LINE[0][[0, 0, 1]],), HEIGHTS), {}),
    (TypeError, "must be real", ((LINE[0].astype("c8"),), HEIGHTS), {}),
    (TypeError, "array", (LINE, HEIGHTS.tolist()), {}),
    (TypeError, "array", ([LINE[0].tolist()], HEIGHTS), {}),
    (TypeError, "array", (LINE, HEIGHTS), {"fill_value": "zero"}),
    (ValueError, "one number", (LINE, HEIGHTS), {"fill_value": np.zeros(2)}),
    (ValueError, "complex", (LINE, HEIGHTS), {"fill_value": 1j}),
]


@pytest.mark.parametrize(("kind", "text", "args", "given"), REFUSED)
def test_refused(kind, text, args, given):
    with pytest.raises(kind, match=text):
        Ours(*args, **given)


def test_refused_points():
    points, values = grid(2)
    f = Ours(points, values)
    for x in (np.ones((3, 1), "f4"), np.ones(3, "f4"), np.float32(1), (np.ones(3), 1.0, 1.0)):
        with pytest.raises(ValueError, match="2 dimensions"):
            f(x)
    with pytest.raises(TypeError, match="real"):
        f(np.ones((3, 2), "c8"))
    with pytest.raises(TypeError, match="array"):
        f([[1.0, 2.0]])
    with pytest.raises(ValueError, match="method is one of"):
        f(places(points, 2), method="other")


def test_signatures():
    pairs = [(Ours, Theirs), (Ours.__call__, Theirs.__call__), (vq, their_vq.vq)]
    for got, want in pairs:
        mine, other = (list(inspect.signature(f).parameters.values()) for f in (got, want))
        assert [(p.name, repr(p.default)) for p in mine] == [
            (p.name, repr(p.default)) for p in other
        ]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8", "bool"])
@pytest.mark.parametrize("features", [(), (3,)])
def test_vq(features, dtype, x64):
    obs, book = (3 * RNG.normal(size=(n, *features)) for n in (20, 5))
    if dtype == "c8":
        obs, book = obs + 1j, book - 1j * book
    obs, book = obs.astype(dtype), book.astype(dtype)
    with enable_x64(x64), jax.enable_x64(x64):
        got, want = vq(obs, book), their_vq.vq(obs, book)
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)
        for a, b in zip(fg.jit(vq)(obs, book), got, strict=True):
            assert_same(a, b)
    if dtype == "f8" and x64:
        codes, distances = scipy.cluster.vq.vq(obs, book)
        assert np.array_equal(got[0], codes)
        np.testing.assert_allclose(np.asarray(got[1]), distances, rtol=1e-12)


def test_vq_gradients_and_vmap():
    obs, book = (RNG.normal(size=(n, 3)).astype("f4") for n in (7, 4))
    found = [
        lib.grad(lambda o, c, f=f: f(o, c)[1].sum(), (0, 1))(xp.asarray(obs), xp.asarray(book))
        for lib, xp, f in ((fg, fnp, vq), (jax, jnp, their_vq.vq))
    ]
    for got, want in zip(*found, strict=True):
        assert_same(got, want)
    at_zero = fg.grad(lambda o: vq(o, book)[1].sum())(book)
    assert not np.asarray(at_zero).any()
    mapped = fg.vmap(vq, (None, 0))(obs, np.stack([book, book[::-1]]))
    assert np.array_equal(mapped[0][1], 3 - mapped[0][0])
    codes, distances = vq(np.array([[np.nan, 0.0, 0.0]]), book)
    assert np.isnan(np.asarray(distances)).all()
    assert codes.shape == (1,)
    assert vq(obs[:0], book)[0].shape == (0,)


def test_vq_refused():
    obs = np.ones((3, 2), "f4")
    for a, b in ((obs, obs[0]), (obs[None], obs[None]), (np.float32(1), np.float32(1))):
        with pytest.raises(ValueError, match="must both be"):
            vq(a, b)
    with pytest.raises(ValueError, match="same number of features"):
        vq(obs, obs[:, :1])
    with pytest.raises(ValueError, match="a vector at least"):
        vq(obs, obs[:0])
    with pytest.raises(TypeError, match="array"):
        vq(obs.tolist(), obs)
