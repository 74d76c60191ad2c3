"""Donated arguments: their memory becomes the result's, unless somebody else can see it."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.array import ConcreteArray
from funcgrad.compiler.llvm import engine

pytestmark = pytest.mark.skipif(not engine.available(), reason="NumPy has memory of its own")


def place(x: ConcreteArray) -> int:
    """Where an array lies, asked for without an export that would make it visible outside."""
    return x.buffer.ctypes.data


def fresh(size: int = 1000) -> ConcreteArray:
    return fnp.arange(float(size)) * 3.0


def test_result_lies_where_the_donated_array_did():
    f = fg.jit(lambda x, y: (x * 2.0 + y, y + 1.0), donate_argnums=0)
    x, y = fresh(), fresh()
    before = place(x)
    out, other = f(x, y)
    assert place(out) == before
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(out, np.arange(1000.0) * 9)
    np.testing.assert_array_equal(other, np.arange(1000.0) * 3 + 1)


def test_loop_carry_lies_where_the_donated_array_did():
    def step(x):
        return fg.lax.fori_loop(0, 5, lambda i, c: c.at[i].set(7.0), x)

    x = fresh()
    before = place(x)
    out = fg.jit(step, donate_argnums=0)(x)
    assert place(out) == before
    np.testing.assert_array_equal(out[:6], [7, 7, 7, 7, 7, 15])


@pytest.mark.parametrize("kept", [lambda x: np.asarray(x), lambda x: x[10:20]])
def test_what_is_visible_elsewhere_is_left_alone(kept):
    x = fresh()
    view, before = kept(x), place(x)
    wanted = np.array(view)
    out = fg.jit(lambda x: x - 1.0, donate_argnums=0)(x)
    assert place(out) != before
    np.testing.assert_array_equal(view, wanted)
    np.testing.assert_array_equal(out, np.arange(1000.0) * 3 - 1)


def test_one_array_donated_twice():
    x = fresh()
    out = fg.jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(out[0], np.arange(1000.0) * 6)
    np.testing.assert_array_equal(out[1], np.zeros(1000))


def test_donated_array_that_is_returned_too():
    x = fresh()
    same, changed = fg.jit(lambda x: (x, x * 2.0), donate_argnums=0)(x)
    np.testing.assert_array_equal(same, np.arange(1000.0) * 3)
    np.testing.assert_array_equal(changed, np.arange(1000.0) * 6)


def test_an_input_that_is_returned_shares_no_memory_with_the_result():
    x = fresh()
    out = fg.jit(lambda x: fnp.reshape(x, (10, 100)))(x)
    same = fg.jit(lambda x: fg.lax.optimization_barrier(x))(x)
    assert place(x) not in (place(out), place(same))
    np.testing.assert_array_equal(same, x)


# ahead of time


def pairs(tree, y, *, scale):
    return tree["a"] * scale + y, y + 1.0


def test_stages_know_what_is_donated():
    f = fg.jit(pairs, donate_argnums=0, static_argnames="scale")
    traced = f.trace({"a": fresh(), "b": fresh(3)}, fresh(), scale=2.0)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        assert stage.donate_argnums == (0, 1)
        (tree, other), named = stage.args_info
        assert (tree["a"].donated, tree["b"].donated, other.donated) == (True, True, False)
        assert tree["b"].shape == (3,) and tree["b"].dtype == np.float32 and named == {}
    named = fg.jit(lambda *, x, y: x + y, donate_argnames="y").lower(x=fresh(), y=fresh())
    assert named.donate_argnums == (1,)
    assert fg.jit(lambda k, x: x, static_argnums=0, donate_argnums=1).lower(
        (1, 2), fresh()
    ).donate_argnums == (0,)


def test_compiled_ahead_of_time_reuses_memory():
    f = fg.jit(pairs, donate_argnums=0, static_argnames="scale")
    tree, y = {"a": fresh(), "b": fresh(3)}, fresh()
    compiled = f.lower(tree, y, scale=2.0).compile()
    before = place(tree["a"])
    out, other = compiled(tree, y)
    assert place(out) == before
    assert tree["a"].is_deleted() and tree["b"].is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(out, np.arange(1000.0) * 9)
    np.testing.assert_array_equal(other, np.arange(1000.0) * 3 + 1)
    memory = compiled.memory_analysis()
    assert memory.alias_size_in_bytes == 4000
    assert memory.peak_memory_in_bytes == 4000 + 12 + 4000 + 8000 - 4000


def test_compiled_ahead_of_time_spares_what_is_seen_elsewhere():
    compiled = fg.jit(lambda x, y: (x + y, x - y), donate_argnums=0).lower(fresh(), fresh())
    compiled = compiled.compile()
    source, exported, twice = np.ones(1000, np.float32), fresh(), fresh()
    view = np.asarray(exported)
    for x, y in ((source, fresh()), (exported, fresh()), (twice, twice)):
        a, b = np.array(x), np.array(y)
        total, difference = compiled(x, y)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)
    np.testing.assert_array_equal(source, 1.0)
    np.testing.assert_array_equal(view, np.arange(1000.0) * 3)
    assert exported.is_deleted() and twice.is_deleted()


def test_serialized_functions_take_copies():
    from funcgrad.experimental.serialize_executable import deserialize_and_load, serialize

    x = fresh()
    data, *trees = serialize(fg.jit(lambda x: x * 2.0, donate_argnums=0).lower(x).compile())
    out = deserialize_and_load(data, *trees)(x)
    np.testing.assert_array_equal(out, np.arange(1000.0) * 6)
    np.testing.assert_array_equal(x, np.arange(1000.0) * 3)
