"""odeint against JAX's and against solutions in closed form; its adjoint; what it cannot reach."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import ode as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.base.config import enable_x64
from funcgrad.experimental import ode as ours
from funcgrad.test_util import check_grads

T = np.linspace(0.0, 2.0, 5, dtype="f4")
LIBRARIES = [(fg, fnp, ours), (jax, jnp, theirs)]
LOOSE = {"rtol": 1e-5, "atol": 1e-5}


def decay(y, t, rate):
    return -rate * y


def pendulum(xp):
    def swing(y, t, length, friction):
        angle, speed = y
        return speed, -xp.sin(angle) / length - friction * speed

    return swing


def lotka_volterra(xp):
    def change(y, t, rates):
        prey, hunters = y["prey"], y["hunters"]
        return {
            "prey": rates[0] * prey - rates[1] * prey * hunters,
            "hunters": rates[2] * prey * hunters - rates[3] * hunters,
        }

    return change


PROBLEMS = {
    "decay": (lambda xp: decay, np.float32(1), (2.0,)),
    "vector": (lambda xp: decay, np.arange(1, 4, dtype="f4"), (np.ones(3, "f4"),)),
    "matrix": (lambda xp: lambda y, t, m: m @ y, np.eye(2, dtype="f4"),
               (np.array([[0, 1], [-1, 0]], "f4"),)),
    "pendulum": (pendulum, (np.float32(1), np.float32(0)), (2.0, 0.1)),
    "time": (lambda xp: lambda y, t: xp.cos(3 * t) * y, np.float32(2), ()),
    "species": (lotka_volterra, {"prey": np.ones(2, "f4"), "hunters": np.ones(2, "f4")},
                (np.array([1.1, 0.4, 0.1, 0.4], "f4"),)),
    "complex": (lambda xp: lambda y, t, w: 1j * w * y, np.complex64(1 + 0.5j), (2.0,)),
}  # fmt: skip


def assert_same(got, want, rtol):
    for a, b in zip(fg.tree.leaves(got), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions(name):
    problem, y0, args = PROBLEMS[name]
    solved = [o.odeint(problem(xp), y0, xp.asarray(T), *args, **LOOSE) for _, xp, o in LIBRARIES]
    assert_same(*solved, rtol=5e-5)
    jitted = fg.jit(lambda y, t, a: ours.odeint(problem(fnp), y, t, *a, **LOOSE))(y0, T, args)
    assert_same(jitted, solved[0], rtol=1e-5)


@pytest.mark.parametrize("name", ["pendulum", "complex"])
def test_gradients(name):
    problem, y0, args = PROBLEMS[name]
    found = []
    for lib, xp, o in LIBRARIES:

        def loss(y0, t, args, xp=xp, o=o):
            ys = o.odeint(problem(xp), y0, t, *args, **LOOSE)
            leaves = (fg if xp is fnp else jax).tree.leaves(ys)
            return sum((abs(y) ** 2 * xp.arange(5.0).reshape(-1, *[1] * (y.ndim - 1))).sum()
                       for y in leaves)  # fmt: skip

        found.append(lib.grad(loss, (0, 1, 2))(y0, xp.asarray(T), args))
    assert_same(*found, rtol=2e-3)


def test_accuracy_follows_the_tolerances():
    with enable_x64(True):
        t = np.linspace(0.0, 5.0, 7)
        for tolerance in (1e-4, 1e-7, 1e-10):
            y = ours.odeint(lambda y, t: fnp.array([y[1], -y[0]]), np.array([0.0, 1.0]), t,
                            rtol=tolerance, atol=tolerance)  # fmt: skip
            error = abs(np.asarray(y) - np.stack([np.sin(t), np.cos(t)], 1)).max()
            assert tolerance / 1e3 < error < tolerance * 20


def test_derivatives_by_everything_against_differences():
    with enable_x64(True):
        w = 0.7

        def f(y0, t, rate, w):
            return ours.odeint(lambda y, t, r: -r * y * fnp.cos(t) * w, y0, t, rate,
                               rtol=1e-9, atol=1e-9)  # fmt: skip

        args = np.array([1.0, 2.0]), np.array([0.1, 0.4, 1.3]), 1.5, w
        check_grads(f, args, order=1, modes=["rev"])


def test_integers_among_the_arguments_stay_as_they_are():
    f = lambda y0, n: ours.odeint(lambda y, t, n: -n * y, y0, T, n, **LOOSE).sum()
    np.testing.assert_allclose(fg.grad(f)(1.0, 3), np.exp(-3 * T).sum(), rtol=1e-4)


def test_vmap_equals_a_loop():
    rates = fnp.array([0.5, 1.0, 3.0])
    solve = lambda rate: ours.odeint(decay, 1.0, T, rate, **LOOSE)
    np.testing.assert_allclose(
        fg.vmap(solve)(rates), np.stack([solve(r) for r in rates]), rtol=1e-4
    )
    slope = lambda rate: fg.grad(lambda r: solve(r).sum())(rate)
    np.testing.assert_allclose(
        fg.vmap(slope)(rates), [-(T * np.exp(-r * T)).sum() for r in (0.5, 1, 3)], rtol=1e-3
    )


def test_times_that_meet_and_one_time_alone():
    same = ours.odeint(decay, 1.0, np.array([0, 0, 1, 1], "f4"), 2.0)
    np.testing.assert_allclose(same, np.exp([0, 0, -2, -2]), rtol=1e-5)
    np.testing.assert_array_equal(ours.odeint(decay, 3.0, T[:1], 2.0), [3.0])


def test_what_cannot_be_reached_is_nan():
    few = ours.odeint(decay, 1.0, T, 2.0, mxstep=2)
    assert np.isnan(few[1:]).all() and few[0] == 1
    enough = ours.odeint(decay, 1.0, T, 2.0, mxstep=1000)
    np.testing.assert_allclose(enough, np.exp(-2 * T), rtol=1e-5)
    backwards = ours.odeint(decay, 1.0, T[::-1], 2.0)
    assert np.isnan(backwards[1:]).all()
    burst = ours.odeint(lambda y, t: y**2, 1.0, np.array([0, 0.5, 1.5], "f4"), **LOOSE)
    np.testing.assert_allclose(burst[:2], [1, 2], rtol=1e-3)
    assert np.isnan(burst[2])


def test_longest_step():
    times = []

    def seen(y, t):
        fg.debug.callback(lambda t: times.append(float(t)), t)
        return y * 0

    ours.odeint(seen, 1.0, np.array([0.0, 1.0], "f4"), hmax=0.125)
    assert max(b - a for a, b in zip(sorted(times), sorted(times)[1:])) <= 0.125


def test_errors():
    with pytest.raises(TypeError, match=r"y0\['a'\] changes continuously.*got int32\[\]"):
        ours.odeint(lambda y, t: y, {"a": 1}, T)
    with pytest.raises(TypeError, match=r"t must be of floats, got int32\[3\]"):
        ours.odeint(decay, 1.0, np.arange(3), 2.0)
    with pytest.raises(ValueError, match=r"t must have the shape \[times\], got float32\[1,5\]"):
        ours.odeint(decay, 1.0, T[None], 2.0)
    with pytest.raises(TypeError, match=r"args\[0\]\['k'\] must be an array or a number, got 'a'"):
        ours.odeint(decay, 1.0, T, {"k": "a"})
    with pytest.raises(TypeError, match="a pytree like y0 with the structure"):
        ours.odeint(lambda y, t: (y, y), 1.0, T)
    with pytest.raises(TypeError, match=r"derivative of shape \(1, 2\) for y0 of shape \(2,\)"):
        ours.odeint(lambda y, t: y[None], fnp.ones(2), T)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_parts_of_a_step(dtype):
    y0 = np.array([1.0, 2.0, -0.5]).astype(dtype) * (1j if dtype == "complex64" else 1)
    found = []
    for _, xp, o in LIBRARIES:
        f = lambda y, t, xp=xp: -y * t + xp.sin(t)
        y, t, dt = xp.asarray(y0), xp.float32(0.5), xp.float32(0.25)
        k0 = f(y, t)
        y1, f1, error, k = o.runge_kutta_step(f, y, k0, t, dt)
        found.append([
            y1, f1, k, error * 1e3,
            o.interp_fit_dopri(y, y1, k, dt),
            list(o.fit_4th_order_polynomial(y, y1, y + k0, k0, f1, dt)),
            o.initial_step_size(f, t, y, 4, 1e-3, 1e-4, k0),
            o.mean_error_ratio(k0, 1e-3, 1e-4, y, y1),
            o.abs2(y),
            [o.optimal_step_size(dt, xp.float32(r)) for r in (0.0, 1e-9, 0.3, 1.0, 3.0, 1e9)],
            o.optimal_step_size(dt, xp.float32(2.0), 0.8, 5.0, 0.1, 3.0),
        ])  # fmt: skip
    for a, b in zip(fg.tree.leaves(found[0]), jax.tree.leaves(found[1]), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4)


def test_signatures():
    for name in ours.__all__:
        names = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == names
