"""Rotation and Slerp against JAX's and SciPy's; derivatives, also at the identity; refusals."""

import inspect
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.transform as known
from jax.scipy.spatial import transform as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy.spatial import transform as ours
from funcgrad.scipy.spatial.transform import Rotation, Slerp
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
Q = RNG.normal(size=4).astype("f4")
QS = RNG.normal(size=(3, 4)).astype("f4")
V, VS = RNG.normal(size=3).astype("f4"), RNG.normal(size=(3, 3)).astype("f4")
MATRICES = known.Rotation.from_quat(QS).as_matrix().astype("f4")
ORDERS = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
ORDERS += [s.upper() for s in ORDERS]
FEW = ["xyz", "ZYX", "zxz", "YXY"]


def assert_same(got, want, tolerance=2e-6):
    for a, b in zip(fg.tree.leaves(got), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


WRITTEN = [
    ("from_quat", (Q,)),
    ("from_quat", (QS,)),
    ("from_quat", ([0, 0, 3, 4],)),
    ("from_quat", (QS[:, None],)),
    ("from_matrix", (MATRICES[0],)),
    ("from_matrix", (MATRICES,)),
    ("from_matrix", (np.eye(3, dtype="i4"),)),
    ("from_rotvec", (V,)),
    ("from_rotvec", (VS, True)),
    ("from_rotvec", (1e-5 * VS,)),
    ("from_rotvec", (0 * VS,)),
    ("from_mrp", (V,)),
    ("from_mrp", (VS,)),
    ("from_euler", ("x", 1)),
    ("from_euler", ("Z", np.float32(30), True)),
    ("from_euler", ("yx", VS[:, :2])),
    ("from_euler", ("z", VS[:, :1])),
    *(("from_euler", (seq, VS)) for seq in FEW),
    ("identity", ()),
]


@pytest.mark.parametrize(("name", "args"), WRITTEN)
def test_made(name, args):
    got = getattr(Rotation, name)(*args)
    want = jax.jit(lambda: getattr(theirs.Rotation, name)(*args))()
    assert isinstance(got, Rotation)
    assert got.single == want.single
    assert_same(got, want)


READ = [
    ("as_quat", ()),
    ("as_quat", (True,)),
    ("as_quat", (True, True)),
    ("as_matrix", ()),
    ("as_rotvec", ()),
    ("as_rotvec", (True,)),
    ("as_mrp", ()),
    *(("as_euler", (seq,)) for seq in FEW),
    ("as_euler", ("xyz", True)),
    ("magnitude", ()),
    ("inv", ()),
    ("apply", (V,)),
    ("apply", (V, True)),
]


@pytest.mark.parametrize("q", [Q, QS], ids=["one", "many"])
@pytest.mark.parametrize(("name", "args"), READ)
def test_read(name, args, q):
    read = lambda r: getattr(r, name)(*args)
    got = read(Rotation.from_quat(q))
    degrees = name in ("as_rotvec", "as_euler") and args[-1] is True if args else False
    tolerance = 1e-4 if degrees else 5e-6
    assert_same(got, jax.jit(read)(theirs.Rotation.from_quat(q)), tolerance)
    assert_same(fg.jit(read)(Rotation.from_quat(q)), got, tolerance)


DIFFERENTIATED = [r for r in READ if r[0] != "as_euler" or r[1] in [("ZYX",), ("zxz",)]]


@pytest.mark.parametrize(("name", "args"), [*DIFFERENTIATED, ("mean", ())])
def test_mapped_and_differentiated(name, args):
    """vmap over a Rotation is one by one; gradients are JAX's."""
    rotations = Rotation.from_quat(QS)
    if name != "mean":
        mapped = fg.vmap(lambda r: getattr(r, name)(*args))(rotations)
        assert_same(mapped, getattr(rotations, name)(*args), tolerance=1e-5)
    found = []
    for lib, xp, o in ((fg, fnp, ours), (jax, jnp, theirs)):

        def loss(q, lib=lib, xp=xp, o=o):
            (out,) = lib.tree.leaves(getattr(o.Rotation.from_quat(q), name)(*args))
            return (out * xp.arange(1.0, 1 + out.size).reshape(out.shape)).sum()

        found.append(lib.jit(lib.grad(loss))(xp.asarray(QS)))
    scale = np.abs(found[1]).max()
    np.testing.assert_allclose(*map(np.asarray, found), rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles(order):
    """There and back, and where the middle angle is at its limits, as SciPy answers."""
    limits = (0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    middles = [sum(limits) / 2 + 0.3, *limits]
    angles = np.array([[0.3, m, 0.4] for m in middles])
    with enable_x64(True):
        rotations = Rotation.from_euler(order, angles)
        expected = known.Rotation.from_euler(order, angles).as_quat()
        np.testing.assert_allclose(np.asarray(rotations.quat), expected, atol=1e-12)
        back = np.asarray(rotations.as_euler(order))
    np.testing.assert_allclose(back[0], angles[0], atol=1e-12)
    assert np.array_equal(back[1:, 2], [0, 0])
    again = known.Rotation.from_euler(order, back).as_matrix()
    np.testing.assert_allclose(again, known.Rotation.from_quat(expected).as_matrix(), atol=1e-7)


def test_from_matrix_in_all_cases():
    """Half turns about each axis and the identity, each the largest of its formula."""
    for axis in np.vstack([np.eye(4), -np.eye(4), RNG.normal(size=(20, 4))]):
        want = known.Rotation.from_quat(axis)
        got = Rotation.from_matrix(want.as_matrix()).as_matrix()
        np.testing.assert_allclose(np.asarray(got), want.as_matrix(), atol=1e-6)


def test_half_turns_are_canonical():
    q = np.array([[-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [-1, 1, 0, 0], [0, 0, 0, -1]], "f4")
    got, want = (o.Rotation.from_quat(q).as_quat(canonical=True) for o in (ours, theirs))
    assert_same(got, want)
    turns = Rotation.from_quat(np.array([[1, 0, 0, -0.1], [1, 0, 0, 0]], "f4"))
    assert np.asarray(turns.magnitude()).max() == pytest.approx(np.pi)
    assert np.linalg.norm(np.asarray(turns.as_rotvec()), axis=-1).max() <= np.pi + 1e-6


@pytest.mark.parametrize(("a", "b"), [(Q, Q), (Q, QS), (QS, Q), (QS, QS), (QS[:, None], QS)])
def test_products(a, b):
    got, want = (o.Rotation.from_quat(a) * o.Rotation.from_quat(b) for o in (ours, theirs))
    assert_same(got, want)
    r, s = Rotation.from_quat(a), Rotation.from_quat(b)
    np.testing.assert_allclose(
        np.asarray((r * s).apply(V)), np.asarray(r.apply(s.apply(V))), atol=1e-5
    )
    still = r * r.inv()
    np.testing.assert_allclose(np.asarray(still.magnitude()), 0, atol=1e-6)


def test_apply_broadcasts():
    for q, v in itertools.product((Q, QS), (V, VS, VS[:, None], [1, 2, 3])):
        assert_same(*(o.Rotation.from_quat(q).apply(v) for o in (ours, theirs)), tolerance=1e-5)


def test_means():
    for weights in (None, np.array([1, 2, 3], "f4"), [3, 0, 1]):
        got, want = (o.Rotation.from_quat(QS).mean(weights) for o in (ours, theirs))
        assert_same(got, want, tolerance=1e-5)
        scipys = known.Rotation.from_quat(QS).mean(weights).as_matrix()
        np.testing.assert_allclose(np.asarray(got.as_matrix()), scipys, atol=1e-5)


def test_items():
    got, want = (o.Rotation.from_quat(QS) for o in (ours, theirs))
    assert len(got) == len(want) == 3
    for index in (0, -1, slice(1, None), np.array([True, False, True]), np.array([2, 0])):
        assert_same(got[index], want[index])
    joined = Rotation.concatenate([got, got[:1]])
    assert_same(joined, theirs.Rotation.concatenate([want, want[:1]]))
    assert Rotation.concatenate([got[0], got, got[1]]).quat.shape == (5, 4)


def test_beyond_jax():
    three = Rotation.identity(3)
    assert np.array_equal(three.quat, [[0, 0, 0, 1]] * 3)
    assert Rotation.identity(dtype="float16").quat.dtype == np.float16
    assert Rotation.random(fg.random.key(0)).single
    many = Rotation.random(fg.random.key(1), 20_000)
    np.testing.assert_allclose(np.linalg.norm(np.asarray(many.quat), axis=1), 1, atol=1e-6)
    # Uniform rotations take a vector everywhere alike, by an angle of pi / 2 + 2 / pi on average.
    moved = np.asarray(many.apply(np.array([0, 0, 1], "f4")))
    np.testing.assert_allclose(moved.mean(0), 0, atol=0.02)
    np.testing.assert_allclose((moved**2).mean(0), 1 / 3, atol=0.02)
    assert np.asarray(many.magnitude()).mean() == pytest.approx(np.pi / 2 + 2 / np.pi, abs=0.02)


def test_gradients_at_the_identity():
    """Where JAX gives nan: derivatives of v -> R(v) and back, and of the angle."""
    still = np.zeros(3, "f4")
    assert np.isnan(jax.grad(lambda v: theirs.Rotation.from_rotvec(v).quat.sum())(still)).all()
    there = fg.jacobian(lambda v: Rotation.from_rotvec(v).quat)(still)
    np.testing.assert_allclose(np.asarray(there), np.eye(4, 3) / 2, atol=1e-7)
    back = fg.jacobian(lambda q: Rotation.from_quat(q).as_rotvec())(np.array([0, 0, 0, 1], "f4"))
    np.testing.assert_allclose(np.asarray(back), 2 * np.eye(3, 4), atol=1e-7)
    angle = fg.grad(lambda q: Rotation.from_quat(q).magnitude())(np.array([0, 0, 0, 1], "f4"))
    assert not np.asarray(angle).any()


@pytest.mark.parametrize("size", [1e-4, 9e-4, 1.1e-3, 1.0])
def test_small_angles(size):
    """The series and the formulas agree, with first and second derivatives."""
    with enable_x64(True):
        v = size * np.array([0.6, -0.8, 0.0])
        q = Rotation.from_rotvec(v)
        expected = known.Rotation.from_rotvec(v).as_quat()
        np.testing.assert_allclose(np.asarray(q.quat), expected, rtol=0, atol=1e-15)
        np.testing.assert_allclose(np.asarray(q.as_rotvec()), v, rtol=1e-13, atol=1e-18)
        there_and_back = fg.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(v)
        np.testing.assert_allclose(np.asarray(there_and_back), np.eye(3), atol=1e-9)
        check_grads(lambda v: Rotation.from_rotvec(v).as_matrix(), (v,), 2, rtol=1e-3, atol=1e-3)


TIMES = np.array([0, 1, 3], "f4")


@pytest.mark.parametrize("at", [0.5, TIMES, np.array([0.1, 0.9, 2.5], "f4"), [1, 2]])
def test_slerp(at):
    got, want = (o.Slerp.init(TIMES, o.Rotation.from_quat(QS)) for o in (ours, theirs))
    assert_same(got, want, tolerance=5e-6)
    a, b = got(fnp.asarray(at)), want(jnp.asarray(at))
    assert a.quat.dtype == b.quat.dtype
    assert a.single == b.single
    scipys = known.Slerp(TIMES, known.Rotation.from_quat(QS))(np.asarray(at))
    for other in (np.asarray(b.as_matrix()), scipys.as_matrix()):
        np.testing.assert_allclose(np.asarray(a.as_matrix()), other, atol=5e-6)
    assert_same(fg.jit(lambda s, t: s(t))(got, at), a, tolerance=1e-5)


def test_slerp_is_differentiable_and_mapped():
    times = np.array([0.2, 1.7], "f4")
    found = []
    for lib, xp, o in ((fg, fnp, ours), (jax, jnp, theirs)):

        def loss(q, t, xp=xp, o=o):
            between = o.Slerp.init(xp.asarray(TIMES), o.Rotation.from_quat(q))
            return (between(t).as_matrix() ** 2 * xp.arange(9).reshape(3, 3)).sum()

        found.append(lib.jit(lib.grad(loss, (0, 1)))(xp.asarray(QS), xp.asarray(times)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-4)
    between = Slerp.init(TIMES, Rotation.from_quat(QS))
    assert_same(fg.vmap(between)(times), between(times))
    # No turn at all has a derivative too.
    still = Slerp.init(TIMES, Rotation.identity(3))
    assert not np.asarray(fg.jacobian(lambda t: still(t).quat)(0.5)).any()


def test_slerp_outside_is_nan():
    between = Slerp.init(TIMES, Rotation.from_quat(QS))
    got = np.isnan(np.asarray(between(np.array([-0.1, 0, 3, 3.1], "f4")).quat))
    assert got.all(1).tolist() == [True, False, False, True]
    assert not got[1:3].any()


R, RS = Rotation.from_quat(Q), Rotation.from_quat(QS)
REFUSED = [
    (ValueError, r"\[..., 4\]", lambda: Rotation.from_quat(V)),
    (TypeError, "must be real", lambda: Rotation.from_quat(Q.astype("c8"))),
    (ValueError, r"\[..., 3, 3\]", lambda: Rotation.from_matrix(np.eye(2))),
    (ValueError, r"\[..., 3\]", lambda: Rotation.from_rotvec(Q)),
    (ValueError, r"\[..., 3\]", lambda: Rotation.from_mrp(Q)),
    (ValueError, "1 to 3 axes", lambda: Rotation.from_euler("", V)),
    (ValueError, "1 to 3 axes", lambda: Rotation.from_euler("xyzx", Q)),
    (ValueError, "not of both", lambda: Rotation.from_euler("xYz", V)),
    (ValueError, "not of both", lambda: Rotation.from_euler("abc", V)),
    (ValueError, "follow itself", lambda: Rotation.from_euler("xxy", V)),
    (ValueError, r"\[..., 2\]", lambda: Rotation.from_euler("xy", V)),
    (ValueError, r"\[..., 1\]", lambda: Rotation.from_euler("x", V)),
    (ValueError, "3 axes", lambda: R.as_euler("xy")),
    (ValueError, "follow itself", lambda: R.as_euler("xxy")),
    (TypeError, "single", lambda: len(R)),
    (TypeError, "single", lambda: R[0]),
    (TypeError, "by another one", lambda: R * 2),
    (TypeError, "by another one", lambda: 2 * R),
    (ValueError, "fit each other", lambda: RS * RS[:2]),
    (ValueError, "fit each other", lambda: RS.apply(VS[:2])),
    (ValueError, r"\[..., 3\]", lambda: R.apply(V[:2])),
    (TypeError, r"\[n, 4\]", lambda: R.mean()),
    (ValueError, r"\[..., 3\]", lambda: RS.mean(V[:2])),
    (ValueError, "one axis", lambda: RS.mean(VS)),
    (TypeError, "Rotations", lambda: Rotation.concatenate([1, 2])),
    (TypeError, "Rotations", lambda: Rotation.concatenate(R)),
    (ValueError, "at least", lambda: Rotation.concatenate([])),
    (TypeError, "must be a Rotation", lambda: Slerp.init(TIMES, QS)),
    (ValueError, "two rotations", lambda: Slerp.init(TIMES[:1], R)),
    (ValueError, "two rotations", lambda: Slerp.init(TIMES[:1], RS[:1])),
    (ValueError, r"\[..., 3\]", lambda: Slerp.init(TIMES[:2], RS)),
    (ValueError, "one axis", lambda: Slerp.init(VS, RS)),
    (ValueError, "must increase", lambda: Slerp.init(TIMES[::-1], RS)),
    (ValueError, r"a number or \[m\]", lambda: Slerp.init(TIMES, RS)(VS)),
]


@pytest.mark.parametrize(("kind", "text", "ask"), REFUSED)
def test_refused(kind, text, ask):
    with pytest.raises(kind, match=text):
        ask()


def test_names_and_signatures():
    for name in ("Rotation", "Slerp"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine._fields == other._fields
        for method in [n for n in dir(other) if not n.startswith("_")]:
            got, want = getattr(mine, method), getattr(other, method)
            if inspect.isroutine(want) and hasattr(tuple, method) is False:
                given, taken = (inspect.signature(f).parameters.values() for f in (want, got))
                assert [(p.name, p.default) for p in taken] == [(p.name, p.default) for p in given]


def test_a_namedtuple_may_count_something_else():
    """A class's own `__len__` says nothing of its fields: this one's length is that of an array."""
    assert fg.tree.structure(R) == fg.tree.structure(RS)
    assert_same(fg.tree.map(lambda x: 2 * x, RS).quat, 2 * RS.quat)
    assert [p[0].name for p, _ in fg.tree.leaves_with_path(RS)] == ["quat"]
