"""Callbacks under vmap of a cond: only for the members of the batch that took their branch."""

import numpy as np

import funcgrad as fg
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
