"""Programs that run in halves: what is known happens once, the rest later or again."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.experimental import io_callback

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.linspace(0.3, 1.2, 4, dtype=np.float32)


def doubled_while_small(see):
    def body(x):
        fg.debug.callback(see, x)
        return x * 2.0

    return lambda x: lax.while_loop(lambda x: x < 10.0, body, x)


def test_callback_in_a_loop_runs_with_the_values_and_not_with_the_tangents():
    seen = []
    _, push = fg.linearize(doubled_while_small(lambda x: seen.append(float(x))), 2.0)
    assert seen == [2.0, 4.0, 8.0]
    assert push(1.0) == 8.0
    assert seen == [2.0, 4.0, 8.0]


def test_callback_on_tangents_in_a_loop_runs_with_the_tangents():
    seen = []

    @fg.custom_jvp
    def watched(x):
        return x * 2.0

    @watched.defjvp
    def rule(primals, tangents):
        fg.debug.callback(lambda t: seen.append(float(t)), tangents[0])
        return watched(primals[0]), 2.0 * tangents[0]

    _, push = fg.linearize(lambda x: lax.while_loop(lambda x: x < 10.0, watched, x), 3.0)
    assert seen == []
    assert push(1.0) == 4.0
    assert seen == [1.0, 2.0]


def test_loop_whose_test_closes_over_an_unused_unknown():
    def f(lax, x, y):
        def test(s):
            y * 2.0
            return s[0] < 10.0

        return lax.while_loop(test, lambda s: (s[0] * 2.0, s[1] * y), (2.0, x))[1]

    ours = fg.linearize(lambda x, y: f(lax, x, y), 2.0, 3.0)[1](1.0, 1.0)
    assert ours == float(jax.linearize(lambda x, y: f(jax.lax, x, y), 2.0, 3.0)[1](1.0, 1.0))


@pytest.mark.parametrize("mapper", ["vmap", "pmap"])
def test_checkpoint_computes_a_collective_again(mapper):
    def slope(lib, sin):
        f = lib.checkpoint(lambda x: sin(lib.lax.psum(sin(x), "i")) * x)
        return getattr(lib, mapper)(lib.grad(f), axis_name="i")(X)

    np.testing.assert_allclose(slope(fg, fnp.sin), slope(jax, jnp.sin), rtol=1e-5)


def test_checkpoint_keeps_what_a_callback_returned():
    calls = []

    def twice(x):
        calls.append(float(x))
        return np.float32(2 * x)

    @fg.checkpoint
    def f(x):
        y = io_callback(twice, fg.ShapeDtypeStruct((), np.float32), lax.stop_gradient(x))
        return fnp.sin(x * y)

    np.testing.assert_allclose(fg.grad(f)(0.5), np.cos(0.5), rtol=1e-6)
    assert calls == [0.5]


def test_linear_transpose_of_a_loop_that_counts():
    def f(lax, x):
        return lax.fori_loop(0, 3, lambda i, x: x * (i + 1.0), x)

    (ours,) = fg.linear_transpose(lambda x: f(lax, x), 1.0)(1.0)
    (theirs,) = jax.linear_transpose(lambda x: f(jax.lax, x), 1.0)(1.0)
    assert ours == float(theirs) == 6.0


def test_linear_transpose_of_a_call_with_a_known_result():
    call = fg.jit(lambda x: (fnp.arange(3.0), x * 2.0))

    def f(x):
        n, y = call(x)
        return n * y

    (ours,) = fg.linear_transpose(f, fnp.ones(3))(fnp.ones(3))
    np.testing.assert_array_equal(ours, [0.0, 2.0, 4.0])
