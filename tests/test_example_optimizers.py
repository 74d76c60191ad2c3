"""The optimizers of example_libraries against JAX's: the same steps, from the same states."""

import jax
import numpy as np
import pytest
from jax.example_libraries import optimizers as theirs

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import tree
from funcgrad.base.config import enable_x64
from funcgrad.example_libraries import optimizers as ours

RNG = np.random.default_rng(3)
PARAMS = {"w": RNG.normal(size=(3, 2)).astype("f4"), "b": [RNG.normal(size=4).astype("f4")]}
GRADS = [
    {"w": RNG.normal(size=(3, 2)).astype("f4"), "b": [np.float32(k) * np.ones(4, "f4")]}
    for k in range(4)
]


def decay(i):
    return 0.1 / (1 + i)


OPTIMIZERS = [
    ("sgd", (0.1,)),
    ("sgd", (decay,)),
    ("momentum", (0.1, 0.9)),
    ("nesterov", (decay, 0.8)),
    ("adagrad", (0.1,)),
    ("adagrad", (0.1, 0.5)),
    ("rmsprop", (0.1,)),
    ("rmsprop", (decay, 0.8, 1e-4)),
    ("rmsprop_momentum", (0.1,)),
    ("adam", (0.1,)),
    ("adam", (decay, 0.8, 0.95, 1e-3)),
    ("adamax", (0.1,)),
    ("sm3", (0.1,)),
]


def trajectory(library, name, args, params=PARAMS, grads=GRADS, wrap=lambda f: f):
    init, update, get_params = getattr(library, name)(*args)
    state, found = init(params), []
    for i, g in enumerate(grads):
        state = wrap(update)(i, g, state)
        found.append(get_params(state))
    return found


def assert_same(got, want, rtol=2e-6):
    got, want = tree.leaves(got), jax.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("name, args", OPTIMIZERS)
def test_steps(name, args):
    assert_same(trajectory(ours, name, args), trajectory(theirs, name, args))


@pytest.mark.parametrize("name, args", OPTIMIZERS)
def test_steps_under_jit(name, args):
    want = trajectory(ours, name, args)
    assert_same(trajectory(ours, name, args, wrap=funcgrad.jit), want, 1e-5)


def test_half_precision_stays():
    params, grads = np.ones(3, np.float16), [np.float16(0.5) * np.ones(3, np.float16)]
    for name, args in OPTIMIZERS:
        (out,) = trajectory(ours, name, args, params, grads)
        assert out.dtype == np.float16, name


def test_training():
    """A straight line through points, in a loop that is compiled as a whole."""
    x = np.linspace(-1, 1, 20)
    init, update, get_params = ours.adam(0.1)

    def loss(params):
        return ((params["slope"] * x + params["shift"] - (3 * x - 1)) ** 2).mean()

    def step(i, state):
        return update(i, funcgrad.grad(loss)(get_params(state)), state)

    state = init({"slope": 0.0, "shift": 0.0})
    state = funcgrad.lax.fori_loop(0, 300, step, state)
    params = get_params(state)
    np.testing.assert_allclose([params["slope"], params["shift"]], [3, -1], atol=1e-3)


def test_custom_optimizer():
    @ours.optimizer
    def signs(step_size):
        """Steps of one length."""
        return lambda x: x, lambda i, g, x: x - step_size * jnp.sign(g), lambda x: x

    assert signs.__doc__ == "Steps of one length."
    init, update, get_params = signs(0.5)
    assert type(signs(0.5)) is ours.Optimizer
    state = update(0, (2.0, -3.0), init((1.0, 1.0)))
    assert get_params(state) == (0.5, 1.5)


SCHEDULES = [
    ("constant", (0.3,)),
    ("exponential_decay", (0.3, 4, 0.5)),
    ("inverse_time_decay", (0.3, 4, 0.5)),
    ("inverse_time_decay", (0.3, 4, 0.5, True)),
    ("polynomial_decay", (0.3, 4, 0.1)),
    ("polynomial_decay", (0.3, 4, 0.1, 2.0)),
    ("piecewise_constant", ([2, 4], [0.3, 0.2, 0.1])),
    ("make_schedule", (0.3,)),
    ("make_schedule", (decay,)),
]


@pytest.mark.parametrize("name, args", SCHEDULES)
def test_schedules(name, args):
    schedule, reference = (getattr(library, name)(*args) for library in (ours, theirs))
    got = [float(schedule(i)) for i in range(7)]
    np.testing.assert_allclose(got, [float(reference(i)) for i in range(7)], rtol=1e-6)
    np.testing.assert_allclose([float(funcgrad.jit(schedule)(i)) for i in range(7)], got, rtol=1e-6)


def test_l2_norm_and_clipping():
    grads = {"w": np.array([3.0, 4.0], "f4"), "b": [np.float32(12.0)]}
    assert_same([ours.l2_norm(grads)], [theirs.l2_norm(grads)])
    for limit in (1.0, 13.0, 20.0):
        assert_same(ours.clip_grads(grads, limit), theirs.clip_grads(grads, limit))


def test_zero_gradients():
    zero = np.zeros(3, np.float32)
    np.testing.assert_array_equal(np.asarray(funcgrad.grad(ours.l2_norm)(zero)), zero)
    for limit in (0.0, 1.0):
        np.testing.assert_array_equal(np.asarray(ours.clip_grads(zero, limit)), zero)
    assert np.isnan(float(ours.l2_norm(np.array([np.nan, 0.0]))))
    with enable_x64(True):
        assert ours.clip_grads(np.ones(3), 1.0).dtype == np.float64


@pytest.mark.parametrize("name, args", [("adam", (0.1,)), ("sm3", (0.1,)), ("sgd", (0.1,))])
def test_unpacked_states(name, args):
    init, update, get_params = getattr(ours, name)(*args)
    state = update(0, GRADS[1], init(PARAMS))
    unpacked = ours.unpack_optimizer_state(state)
    assert set(unpacked) == set(PARAMS)
    (point,) = unpacked["b"]
    assert isinstance(point, ours.JoinPoint)
    assert tree.structure(list(point)) == tree.structure([point.subtree])
    packed = ours.pack_optimizer_state(unpacked)
    assert tree.structure(packed) == tree.structure(state)
    assert_same(get_params(packed), get_params(state))


def test_state_is_a_pytree():
    init, _, get_params = ours.momentum(0.1, 0.9)
    state = init(PARAMS)
    doubled = tree.map(lambda x: 2 * x, state)
    assert isinstance(doubled, ours.OptimizerState)
    assert_same(get_params(doubled), tree.map(lambda x: 2 * x, PARAMS))


@pytest.mark.parametrize(
    "call, error, said",
    [
        (
            lambda: ours.sgd(0.1).update_fn(0, (1.0,), ours.sgd(0.1).init_fn(1.0)),
            TypeError,
            "got gradients of tree structure",
        ),
        (
            lambda: ours.optimizer(
                lambda: (lambda x: x, lambda i, g, x: (x, g), lambda x: x)
            )().update_fn(0, 1.0, ours.sgd(0.1).init_fn(1.0)),
            TypeError,
            "keep the tree structure of a state",
        ),
        (lambda: ours.make_schedule(np.ones(2)), TypeError, "a number or a function"),
        (lambda: ours.piecewise_constant([1, 2], [1, 2]), ValueError, "2 boundaries and 2 values"),
        (lambda: ours.piecewise_constant(1, [1, 2]), ValueError, "one axis each"),
        (lambda: ours.pack_optimizer_state({"w": 1.0}), TypeError, "JoinPoint"),
    ],
)
def test_errors(call, error, said):
    with pytest.raises(error, match=said):
        call()
