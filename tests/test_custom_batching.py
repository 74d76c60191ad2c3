"""Batching rules of the user's own against JAX, and derivatives through them where JAX has none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import custom_batching as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import custom_batching as ours

X = np.linspace(0.1, 2.0, 3).astype("f4")
LIBRARIES = [(fg, fnp, ours), (jax, jnp, theirs)]


def marked(xp, batching, seen=None):
    """sin(x) y, whose rule gives ten times as much, so that results say what computed them."""
    function = batching.custom_vmap(lambda x, y: xp.sin(x) * y)

    @function.def_vmap
    def rule(axis_size, in_batched, x, y):
        if seen is not None:
            seen.append((axis_size, list(in_batched)))
        return 10 * xp.sin(x) * y, any(in_batched)

    return function


def agree(case):
    got, want = (case(*library) for library in LIBRARIES)
    leaves = list(zip(fg.tree.leaves(got), jax.tree.leaves(want), strict=True))
    assert leaves
    for a, b in leaves:
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-6)


USES = {
    "call": lambda lib, f, x: f(x, x),
    "keyword": lambda lib, f, x: f(x, y=x),
    "jit": lambda lib, f, x: lib.jit(f)(x, x),
    "vmap": lambda lib, f, x: lib.vmap(f)(x, x),
    "shared argument": lambda lib, f, x: lib.vmap(f, (0, None))(x, x[1]),
    "axis 1": lambda lib, f, x: lib.vmap(f, (1, 1))(x[None], x[None]),
    "jit of vmap": lambda lib, f, x: lib.jit(lib.vmap(f))(x, x),
    "vmap of jit": lambda lib, f, x: lib.vmap(lib.jit(f))(x, x),
    "vmap of vmap": lambda lib, f, x: lib.vmap(lib.vmap(f))(x[None], x[None]),
    "nothing batched": lambda lib, f, x: lib.vmap(lambda a: f(x[0], x[1]) + a)(x),
    "jvp": lambda lib, f, x: lib.jvp(f, (x, x), (x, 2 * x)),
    "jvp of vmap": lambda lib, f, x: lib.jvp(lib.vmap(f), (x, x), (x, 2 * x)),
    "grad of vmap": lambda lib, f, x: lib.grad(lambda x: lib.vmap(f)(x, x).sum())(x),
    "in a scan": lambda lib, f, x: lib.lax.scan(lambda c, a: (c, lib.vmap(f)(c, a)), x, x[None])[1],
    "scan inside": lambda lib, f, x: lib.vmap(
        lambda a: lib.lax.scan(lambda c, b: (f(c, b), None), a, x)[0]
    )(x),
}


@pytest.mark.parametrize("use", USES)
def test_agrees_with_jax(use):
    agree(lambda lib, xp, batching: USES[use](lib, marked(xp, batching), xp.asarray(X)))


def test_rule_is_told_the_size_and_what_is_batched():
    seen = []
    f = marked(fnp, ours, seen)
    fg.vmap(f, (None, 0))(fnp.float32(1), fnp.asarray(X))
    fg.vmap(f, (0, 0), axis_size=3)(fnp.asarray(X), fnp.asarray(X))
    assert seen == [(3, [False, True]), (3, [True, True])]


def test_trees_in_and_out():
    def case(lib, xp, batching):
        seen = []

        @batching.custom_vmap
        def f(x, d):
            return {"sum": x + d["q"], "kept": d["q"] * 2}

        @f.def_vmap
        def rule(size, in_batched, x, d):
            seen.append(in_batched)
            mask = {"sum": True, "kept": in_batched[1]["q"]}
            return {"sum": x + d["q"], "kept": d["q"] * 2}, mask

        x = xp.asarray(X)
        one = lib.vmap(f, (0, None))(x, {"q": x[0]})
        other = lib.vmap(f, (0, 0), {"sum": 0, "kept": 0})(x, {"q": x})
        assert seen == [[True, {"q": False}], [True, {"q": True}]]
        return one, other

    agree(case)


def test_an_output_that_is_the_same_for_all():
    def case(lib, xp, batching):
        f = batching.custom_vmap(lambda x: x * 0 + 1)
        f.def_vmap(lambda size, in_batched, x: (x[0] * 0 + 1, False))
        return lib.vmap(f)(xp.asarray(X)), lib.vmap(f, out_axes=None)(xp.asarray(X))

    agree(case)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_reverse_mode_outside_of_vmap(wrap):
    f = marked(fnp, ours)
    x, y = fnp.float32(0.7), fnp.float32(2.0)
    np.testing.assert_allclose(wrap(fg.grad(f))(x, y), 2 * np.cos(0.7), rtol=1e-6)
    np.testing.assert_allclose(wrap(fg.grad(fg.grad(f)))(x, y), -2 * np.sin(0.7), rtol=1e-6)
    _, pull = fg.vjp(wrap(f), x, y)
    np.testing.assert_allclose(pull(y), (4 * np.cos(0.7), 2 * np.sin(0.7)), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_vmap_of_derivatives_goes_through_the_rule(wrap):
    f, x = marked(fnp, ours), fnp.asarray(X)
    np.testing.assert_allclose(wrap(fg.vmap(fg.grad(f)))(x, x), 10 * np.cos(X) * X, rtol=2e-6)
    shared = wrap(fg.vmap(fg.grad(f, (0, 1)), (0, None)))(x, x[1])
    np.testing.assert_allclose(shared[0], 10 * np.cos(X) * X[1], rtol=2e-6)
    np.testing.assert_allclose(shared[1], 10 * np.sin(X), rtol=2e-6)
    push = lambda a, t: fg.jvp(f, (a, x[1]), (t, x[0]))
    out, tangent = wrap(fg.vmap(push, (None, 0)))(x[2], x)
    np.testing.assert_allclose(out, np.full(3, np.sin(X[2]) * X[1]), rtol=2e-6)
    want = 10 * (np.cos(X[2]) * X[1] * X + np.sin(X[2]) * X[0])
    np.testing.assert_allclose(tangent, want, rtol=2e-6)
    second = wrap(fg.vmap(fg.grad(fg.grad(f))))(x, x)
    np.testing.assert_allclose(second, -10 * np.sin(X) * X, rtol=2e-6)


def test_cotangents_of_a_batch():
    f, x = marked(fnp, ours), fnp.asarray(X)
    _, pull = fg.vjp(f, x[0], x[1])
    rows = fg.vmap(pull)(x)
    np.testing.assert_allclose(rows[0], 10 * np.cos(X[0]) * X[1] * X, rtol=2e-6)


def test_effects_happen_once_under_derivatives():
    seen = []

    @ours.custom_vmap
    def f(x):
        fg.debug.callback(seen.append, x)
        return fnp.sin(x)

    f.def_vmap(lambda size, in_batched, x: (fnp.sin(x), True))
    fg.grad(f)(1.0)
    assert len(seen) == 1


def test_a_branch_not_taken_is_silent():
    seen = []

    @ours.custom_vmap
    def f(x):
        fg.debug.callback(seen.append, x)
        return x

    f.def_vmap(lambda size, in_batched, x: (x, True))
    choose = lambda p, x: fg.lax.cond(p, f, lambda x: x, x)
    fg.vmap(choose)(fnp.array([True, False, True]), fnp.arange(3.0))
    assert [float(x) for x in seen] in ([0.0, 2.0], [])


def test_closed_over_values():
    def closing(w):
        f = ours.custom_vmap(lambda x: x * w)
        f.def_vmap(lambda size, in_batched, x: (x * w * 10, True))
        return f

    x = fnp.asarray(X)
    assert float(fg.grad(lambda w: closing(w)(3.0))(2.0)) == 3.0
    assert float(fg.jit(lambda w: closing(w)(3.0))(2.0)) == 6.0
    total = lambda w: fg.vmap(closing(w))(x).sum()
    np.testing.assert_allclose(fg.grad(total)(2.0), 10 * X.sum(), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="closes over a value that is batched"):
        fg.vmap(lambda w: closing(w)(3.0))(x)


@pytest.mark.parametrize(
    "returned, match",
    [
        (lambda x: x, "has to return two things"),
        (lambda x: ((x, x), (True, True)), r"structure PyTreeDef\(\(\*, \*\)\); the function"),
        (lambda x: (x, (True, True)), "must be the same"),
        (lambda x: (x[:2], True), r"returned float32\[2\] for output 0, which it says is batched"),
        (lambda x: (x, False), r"the same for all members; .* must be float32\[\]"),
        (lambda x: (x.astype(int), True), r"returned int32\[3\]"),
    ],
)
def test_rules_that_return_something_else(returned, match):
    f = ours.custom_vmap(lambda x: x + 1)
    f.def_vmap(lambda size, in_batched, x: returned(x))
    with pytest.raises(ValueError, match=match):
        fg.vmap(f)(fnp.asarray(X))


def test_errors_of_calls():
    with pytest.raises(AttributeError, match="without a rule; give it one by def_vmap"):
        ours.custom_vmap(lambda x: x)(1.0)
    f = ours.custom_vmap(lambda x, *, key: x)
    f.def_vmap(lambda size, in_batched, x: (x, True))
    with pytest.raises(TypeError, match=r"\['key'\] can only be given by keyword"):
        f(1.0, key=2.0)
    g = ours.custom_vmap(lambda x: x)
    g.def_vmap(lambda size, in_batched, x: (x, True))
    with pytest.raises(TypeError, match="argument 'x' of value 'a'"):
        g("a")


@pytest.mark.parametrize("count", [3, 0])
def test_sequential(count):
    def case(lib, xp, batching):
        f = batching.sequential_vmap(lambda x, d: {"out": xp.sin(x) + d["y"]})
        x = xp.asarray(X)[:count]
        outer = lib.vmap(lib.vmap(f, (0, None)), (None, 0))(x, {"y": xp.asarray(X)})
        return (
            lib.vmap(f, (0, None))(x, {"y": xp.float32(1)}),
            lib.jit(lib.vmap(f))(x, {"y": x}),
            outer,
        )

    agree(case)


def test_sequential_computes_one_member_at_a_time():
    shapes = []

    def f(x):
        fg.debug.callback(lambda v: shapes.append((v.shape, float(v[0]))), x)
        return x + 1

    fg.vmap(ours.sequential_vmap(f))(fnp.arange(6.0).reshape(3, 2))
    assert shapes == [((2,), 0.0), ((2,), 2.0), ((2,), 4.0)]
    np.testing.assert_allclose(
        fg.vmap(fg.grad(ours.sequential_vmap(fnp.sin)))(fnp.asarray(X)), np.cos(X), rtol=1e-6
    )
