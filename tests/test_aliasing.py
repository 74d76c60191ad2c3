"""An Array is a value: edits of a NumPy source, views and donation never change what it holds."""

import copy
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import DonatedBufferError

# Classes written in Python have the buffer protocol from 3.12 on.
BUFFERS = pytest.mark.skipif(sys.version_info < (3, 12), reason="needs Python 3.12")

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def source():
    return VALUES.copy()


# edits of a source


WAYS_IN = {
    "array": fnp.array,
    "array copy=False": lambda a: fnp.array(a, copy=False),
    "asarray": fnp.asarray,
    "device_put": fg.device_put,
    "device_put in a tree": lambda a: fg.device_put({"a": [a]})["a"][0],
    "frombuffer": lambda a: fnp.frombuffer(a, fnp.float32).reshape(2, 3),
    "from_dlpack": fnp.from_dlpack,
    "identity under jit": fg.jit(lambda x: x),
    "constant under jit": lambda a: fg.jit(lambda: a)(),
    "identity under vmap": fg.vmap(lambda x: x),
    "identity under checkpoint": fg.checkpoint(lambda x: x),
    "scan": lambda a: lax.scan(lambda c, x: (c, x), 0.0, a)[1],
    "carry of while_loop": lambda a: lax.while_loop(lambda x: False, lambda x: x, a),
    "cond": lambda a: lax.cond(True, lambda x: x, lambda x: -x, a),
    "reshape": lambda a: fnp.reshape(a, (6,)).reshape(2, 3),
    "transpose": lambda a: fnp.transpose(a).T,
    "index": lambda a: fnp.asarray(a)[:],
    "primal of vjp": lambda a: fg.vjp(lambda x: x, a)[0],
    "tangent of jvp": lambda a: fg.jvp(lambda x: x, (VALUES,), (a,))[1],
    "cotangent of vjp": lambda a: fg.vjp(lambda x: x, VALUES)[1](a)[0],
    "pure_callback": lambda a: fg.pure_callback(lambda: a, fg.ShapeDtypeStruct((2, 3), "float32")),
    "stack of rows": lambda a: fnp.stack(list(fnp.asarray(a))),
    "at set": lambda a: fnp.zeros((2, 3)).at[:].set(a),
    "lax identity convert": lambda a: lax.convert_element_type(a, fnp.float32),
    "broadcast": lambda a: fnp.broadcast_to(a, (2, 3)),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_later_edit_of_the_source(way):
    for layout in (source(), source().T.copy().T, np.repeat(source(), 2, axis=1)[:, ::2]):
        if way == "frombuffer" and not layout.flags.c_contiguous:
            continue
        x = WAYS_IN[way](layout)
        layout[...] = -1
        assert_array_equal(x, VALUES)


def test_later_edit_of_a_scalar_and_a_bool_source():
    scalar, flags = np.array(3), np.array([True, False])
    x, y = fnp.asarray(scalar), fnp.asarray(flags)
    scalar[...], flags[...] = 4, True
    assert x == 3
    assert_array_equal(y, [True, False])


def test_later_edit_of_a_closed_over_source():
    scale = np.array([1.0, 2.0])
    f = fg.jit(lambda x: x * scale)
    _, pull = fg.vjp(lambda x: x * scale, fnp.ones(2))
    jaxpr = fg.make_jaxpr(lambda x: x * scale)(fnp.ones(2))
    first = f(fnp.ones(2))
    scale[:] = 0
    assert_array_equal(first, [1, 2])
    assert_array_equal(f(fnp.ones(2)), [1, 2])
    assert_array_equal(pull(fnp.ones(2))[0], [1, 2])
    assert_array_equal(jaxpr.consts[0], [1, 2])


def test_later_edit_of_an_argument_of_a_linear_program():
    point = source()
    _, pull = fg.vjp(lambda x: x * x, point)
    _, push = fg.linearize(lambda x: x * x, point)
    point[...] = 0
    assert_array_equal(pull(VALUES * 0 + 1)[0], 2 * VALUES)
    assert_array_equal(push(VALUES * 0 + 1), 2 * VALUES)


def test_what_a_callback_keeps_and_edits():
    kept = []

    def host(x):
        kept.append(x)
        out = np.array(x)
        kept.append(out)
        return out

    x = fnp.asarray(VALUES)
    y = fg.pure_callback(host, x, x)
    kept[1][...] = 9
    assert_array_equal(y, VALUES)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(kept[0])[0, 0] = 9
    assert_array_equal(x, VALUES)


# views


@pytest.mark.parametrize(
    "view",
    [
        np.asarray,
        lambda x: np.asarray(x).reshape(-1),
        lambda x: np.asarray(x.T),
        lambda x: np.asarray(x[1:]),
        lambda x: np.asarray(x, np.float32),
        lambda x: np.array(x, copy=None),
        fg.device_get,
        pytest.param(lambda x: np.asarray(memoryview(x)), marks=BUFFERS),
        pytest.param(lambda x: np.frombuffer(x, np.float32), marks=BUFFERS),
        lambda x: np.asarray(fg.jit(lambda x: x)(x)),
        lambda x: np.asarray(x.addressable_shards[0].data),
    ],
)
def test_views_are_read_only(view):
    x = fnp.asarray(VALUES)
    seen = view(x)
    assert not seen.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        seen[...] = -1
    assert_array_equal(x, VALUES)


def test_views_share_and_keep_the_buffer():
    x = fnp.asarray(VALUES)
    view = np.asarray(x)
    assert np.shares_memory(view, np.asarray(x))
    del x
    assert_array_equal(view, VALUES)


@pytest.mark.parametrize(
    "take",
    [
        np.array,
        lambda x: np.asarray(x, np.float64),
        lambda x: x.__array__(copy=True),
        lambda x: np.asarray(x).copy(),
        lambda x: np.array(np.from_dlpack(x)),
    ],
)
def test_copies_are_writable_and_apart(take):
    x = fnp.asarray(VALUES)
    taken = take(x)
    taken[...] = -1
    assert_array_equal(x, VALUES)


def test_dlpack_hands_out_no_way_in():
    x = fnp.asarray(VALUES)
    taken = np.from_dlpack(x)
    if taken.flags.writeable:
        taken[...] = -1
    assert_array_equal(x, VALUES)


def test_copies_and_pickles_are_values():
    x = fnp.asarray(VALUES)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert_array_equal(y, VALUES)
        assert (y.dtype, y.weak_type) == (x.dtype, x.weak_type)


def test_in_place_operations():
    x = y = fnp.asarray(VALUES)
    y += 1
    assert_array_equal(x, VALUES)
    with pytest.raises(TypeError, match=r"at\["):
        x[0, 0] = 1
    for attempt in (lambda: np.add(VALUES, 1, out=x), lambda: np.copyto(x, 1)):
        with pytest.raises((TypeError, ValueError)):
            attempt()
    assert_array_equal(x, VALUES)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.sort(-x),
        lambda x: fnp.sort(x, axis=0),
        lambda x: x.at[0].set(7),
        lambda x: x.at[:, 1].add(7),
        lambda x: x.at[0, 0].multiply(7),
        lambda x: fnp.cumsum(x, axis=1),
        lambda x: fnp.clip(x, 1, 2),
        lambda x: fnp.flip(x, 0) + x,
        lambda x: fnp.linalg.inv(x[:, :2] + fnp.eye(2)),
        lambda x: fnp.fft.fft(x),
        lambda x: lax.dynamic_update_slice(x, fnp.ones((1, 1)), (0, 0)),
        lambda x: lax.fori_loop(0, 3, lambda i, x: x.at[0, i].set(-1), x),
        lambda x: lax.scan(lambda c, r: (c.at[0].set(r), r), x, x)[0],
    ],
)
def test_operations_leave_their_arguments_alone(f):
    for x in (fnp.asarray(VALUES), source()):
        eager = f(fnp.asarray(x))
        jitted = fg.jit(f)(x)
        f(fnp.asarray(x))
        assert_array_equal(x, VALUES)
        assert_array_equal(eager, jitted)


# donation

USES = {
    "arithmetic": lambda x: x + 1,
    "asarray": np.asarray,
    "index": lambda x: x[0],
    "jit": lambda x: fg.jit(lambda y: y * 2)(x),
    "grad": lambda x: fg.grad(lambda y: (y * y).sum())(x),
    "vmap": lambda x: fg.vmap(lambda y: y * 2)(x),
    "tolist": lambda x: x.tolist(),
    "at": lambda x: x.at[0].set(1),
    "device_get": fg.device_get,
    "block_until_ready": lambda x: x.block_until_ready(),
    "pickle": pickle.dumps,
    "bool": lambda x: bool((x > 0).all()),
    "scan": lambda x: lax.scan(lambda c, y: (c, y), 0.0, x),
    "str": str,
}


@pytest.mark.parametrize("use", USES)
def test_a_donated_array_raises_on_use(use):
    x = fnp.asarray(VALUES)
    out = fg.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    with pytest.raises(DonatedBufferError, match=r"deleted: float32\[2,3\] was donated"):
        USES[use](x)
    assert_array_equal(out, VALUES + 1)


def test_what_a_donated_array_still_tells():
    x = fnp.asarray(VALUES)
    fg.jit(lambda x: x, donate_argnums=0)(x)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 3), np.float32, 2, 6)
    assert "deleted" in repr(x) and "float32[2,3]" in repr(x)
    assert isinstance(DonatedBufferError("x"), RuntimeError)


def test_donation_of_trees_and_names():
    tree = {"a": fnp.ones(2), "b": (fnp.ones(3),)}
    kept = fnp.ones(1)
    out = fg.jit(lambda k, t: (k, t), donate_argnums=1)(kept, tree)
    assert tree["a"].is_deleted() and tree["b"][0].is_deleted() and not kept.is_deleted()
    assert_array_equal(out[1]["b"][0], 1)
    named = fnp.ones(2)
    fg.jit(lambda *, state: state * 2, donate_argnames="state")(state=named)
    assert named.is_deleted()


def test_donation_of_an_array_returned_as_it_is():
    x = fnp.asarray(VALUES)
    y = fg.jit(lambda x: x, donate_argnums=0)(x)
    assert x.is_deleted() and not y.is_deleted()
    assert_array_equal(y, VALUES)


def test_donation_spares_views_and_numpy_sources():
    x = fnp.asarray(VALUES)
    view, rows = np.asarray(x), x[1:]
    step = fg.jit(lambda x: x.at[...].set(-1), donate_argnums=0)
    step(x)
    assert_array_equal(view, VALUES)
    assert_array_equal(rows, VALUES[1:])
    mine = source()
    step(mine)
    assert_array_equal(mine, VALUES)


def test_donation_in_a_training_loop():
    step = fg.jit(lambda p, g: p - g, donate_argnums=0)
    p = first = fnp.asarray(VALUES)
    for _ in range(3):
        p = step(p, fnp.ones((2, 3)))
    assert first.is_deleted()
    assert_array_equal(p, VALUES - 3)


def test_donation_to_pmap():
    x = fnp.asarray(VALUES)
    y = fg.pmap(lambda r: r * 2, donate_argnums=0)(x)
    assert x.is_deleted()
    assert_array_equal(y, VALUES * 2)


def test_delete():
    x = fnp.asarray(VALUES)
    x.delete()
    with pytest.raises(DonatedBufferError):
        x.sum()


def test_donation_under_a_transform_deletes_nothing_traced():
    f = fg.jit(lambda x: (x * x).sum(), donate_argnums=0)
    x = fnp.asarray(VALUES)
    assert_array_equal(fg.grad(f)(x), 2 * VALUES)
    assert_array_equal(fg.vmap(f)(x), (VALUES**2).sum(1))
    assert not x.is_deleted()


def test_a_view_cannot_be_made_writeable_again():
    x = fnp.arange(3.0)
    view = np.asarray(x)
    with pytest.raises(ValueError):
        view.flags.writeable = True
    np.testing.assert_array_equal(fnp.asarray(x) + 1, [1.0, 2.0, 3.0])
