"""Callbacks under transformations: in the branch that was taken, and beside a derivative."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.experimental import io_callback

X = np.array([0.0, 2.0, 3.0], np.float32)


def test_debug_callback_of_a_branch_not_taken_is_silent():
    seen = []

    def big(x):
        fg.debug.callback(lambda v: seen.append(float(v)), x)
        return x * 10

    out = fg.vmap(lambda x: lax.cond(x > 1.0, big, lambda x: x, x))(X)
    np.testing.assert_array_equal(out, [0.0, 20.0, 30.0])
    assert seen == [2.0, 3.0]


def test_io_callback_of_a_branch_not_taken_is_not_called():
    seen = []

    def host(x):
        seen.append(float(x))
        return np.float32(10 * x)

    def big(x):
        return io_callback(host, fg.ShapeDtypeStruct((), np.float32), x)

    out = fg.vmap(lambda x: lax.cond(x > 1.0, big, lambda x: x, x))(X)
    np.testing.assert_array_equal(out, [0.0, 20.0, 30.0])
    assert seen == [2.0, 3.0]


def test_loop_of_a_branch_not_taken_does_not_turn():
    def down(x):
        return lax.while_loop(lambda s: s != 0.0, lambda s: s - 1.0, x)

    out = fg.vmap(lambda x: lax.cond(x > 1.0, down, lambda x: x + 0.5, x))(X)
    np.testing.assert_array_equal(out, [0.5, 0.0, 0.0])


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_callback_takes_the_integer_that_a_custom_rule_returned(kind):
    doubled = getattr(fg, kind)(lambda x: (x * 2, fnp.int32(3)))
    if kind == "custom_jvp":
        zero = np.zeros((), fg.float0)
        doubled.defjvp(lambda primals, tangents: (doubled(*primals), (2 * tangents[0], zero)))
    else:
        doubled.defvjp(lambda x: (doubled(x), None), lambda _, ct: (2 * ct[0],))

    def f(x):
        y, n = doubled(x)
        return y * io_callback(lambda n: n + 1, fg.ShapeDtypeStruct((), np.int32), n)

    assert fg.grad(f)(1.0) == fg.jit(fg.grad(f))(1.0) == 8.0


def test_a_callback_on_constants_runs_only_where_it_is_called() -> None:
    calls = []

    def refuse(code):
        calls.append(int(code))
        raise RuntimeError("called")

    def checked(x):
        struct = fg.ShapeDtypeStruct((), np.float32)
        return lax.cond(x > 5, lambda: fg.pure_callback(refuse, struct, 7), lambda: x)

    f = fg.jit(checked)
    assert f(np.float32(2)) == 2 and calls == []
    with pytest.raises(RuntimeError, match="called"):
        f(np.float32(6))
    assert calls == [7]


def test_debug_callback_of_a_member_that_is_done_is_silent():
    seen = []

    def turn(s, n):
        fg.debug.callback(lambda s, n: seen.append((int(s), int(n))), s, n)
        return s + 1

    def count(n):
        return lax.while_loop(lambda s: s < n, lambda s: turn(s, n), n * 0)

    assert fg.vmap(count)(np.array([1, 3], np.int32)).tolist() == [1, 3]
    assert seen == [(0, 1), (0, 3), (1, 3), (2, 3)]
