"""funcgrad.optim against optax: the same trajectories, whatever the tree, dtype or transform."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import optim

optax = pytest.importorskip("optax")

STEPS = 6
RNG = np.random.default_rng(1)
draw = lambda *shape: RNG.normal(size=shape).astype(np.float32)
PARAMS = {"w": draw(3, 2), "b": (draw(2), draw()), "none": None, "empty": draw(0, 3)}
TARGET = {"w": draw(3, 2), "b": (draw(2), draw()), "none": None, "empty": draw(0, 3)}
GRADS = [
    {"w": draw(3, 2), "b": (draw(2) * 10.0**-k, draw()), "none": None, "empty": draw(0, 3)}
    for k in range(STEPS)
]


def halving(count):
    return 0.1 / (1 + count)


CASES = {
    "sgd": ("sgd", (0.1,), {}),
    "sgd-schedule": ("sgd", (halving,), {}),
    "sgd-momentum": ("sgd", (0.1,), {"momentum": 0.9}),
    "sgd-nesterov": ("sgd", (halving,), {"momentum": 0.8, "nesterov": True}),
    "sgd-bfloat16": ("sgd", (0.1,), {"momentum": 0.8, "accumulator_dtype": jnp.bfloat16}),
    "adam": ("adam", (0.1,), {}),
    "adam-schedule": ("adam", (halving,), {"b1": 0.8, "b2": 0.99, "eps": 1e-3}),
    "adam-root": ("adam", (0.1,), {"eps_root": 1e-4}),
    "adam-nesterov": ("adam", (0.1,), {"nesterov": True}),
    "adam-bfloat16": ("adam", (0.1,), {"mu_dtype": jnp.bfloat16}),
    "adamw": ("adamw", (0.1,), {"weight_decay": 0.1}),
    "adamw-schedule": ("adamw", (halving,), {"nesterov": True, "b1": 0.5}),
    "adamw-mask": (
        "adamw",
        (0.1,),
        {"weight_decay": 0.3, "mask": {"w": True, "b": (False, True), "none": None, "empty": True}},
    ),
    "adamw-function": (
        "adamw",
        (0.1,),
        {"weight_decay": 0.3, "mask": lambda p: jax.tree.map(lambda x: x.ndim > 1, p)},
    ),
}


def run(library, optimizer, params, grads):
    state = optimizer.init(params)
    for g in grads:
        updates, state = optimizer.update(g, state, params)
        params = library.apply_updates(params, updates)
        yield params


def assert_same(ours, theirs, rtol=1e-5, atol=1e-6):
    assert str(fg.tree.structure(ours)) == str(jax.tree.structure(theirs))
    for a, b in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert_allclose(np.float32(a), np.float32(b), rtol=rtol, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_trajectory(case):
    name, args, kwargs = CASES[case]
    with jax.disable_jit():
        theirs = list(run(optax, getattr(optax, name)(*args, **kwargs), PARAMS, GRADS))
    ours = list(run(optim, getattr(optim, name)(*args, **kwargs), PARAMS, GRADS))
    for a, b in zip(ours, theirs, strict=True):
        assert_same(a, b)


def test_momentum_is_sgd_with_momentum():
    ours = list(run(optim, optim.momentum(0.1, 0.7, True), PARAMS, GRADS))
    for a, b in zip(ours, run(optim, optim.sgd(0.1, 0.7, True), PARAMS, GRADS), strict=True):
        assert_same(a, b, 0, 0)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adamw"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_dtypes_stay(name, dtype):
    optimizer = getattr(optim, name)(fnp.array(0.5))
    params = fg.tree.map(lambda x: fnp.asarray(x, dtype), PARAMS)
    grads = [fg.tree.map(lambda x: fnp.asarray(x, dtype), g) for g in GRADS]
    state = optimizer.init(params)
    updates, after = optimizer.update(grads[0], state, params)
    kinds = lambda tree: [(x.shape, x.dtype) for x in fg.tree.leaves(tree)]
    assert kinds(after) == kinds(state)
    assert kinds(updates) == kinds(params) == kinds(optim.apply_updates(params, updates))


def test_complex_parameters():
    z = draw(4) + 1j * draw(4)
    grads = [draw(4) + 1j * draw(4) for _ in range(3)]
    with jax.disable_jit():
        theirs = list(run(optax, optax.adam(0.1), jnp.array(z), [jnp.array(g) for g in grads]))
    for a, b in zip(run(optim, optim.adam(0.1), z, grads), theirs, strict=True):
        assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda h: optim.sgd(h),
        lambda h: optim.momentum(h, decay=h),
        lambda h: optim.adam(h, b1=h, b2=1 - h / 8, eps=h * 1e-6),
        lambda h: optim.adamw(h, weight_decay=h, eps_root=h),
    ],
)
def test_traced_hyperparameters(make):
    last = lambda h: list(run(optim, make(h), PARAMS, GRADS))[-1]
    jitted = fg.jit(last)(0.25)
    assert_same(jitted, last(0.25))
    mapped = fg.vmap(last)(fnp.array([0.25, 0.5]))
    assert_same(fg.tree.map(lambda x: x[1], mapped), last(0.5))
    total = lambda h: sum(fnp.sum(x**2) for x in fg.tree.leaves(last(h)))
    slope = fg.grad(total)(0.25)
    with fg.enable_x64(True):
        wide = [fg.tree.map(np.float64, t) for t in (PARAMS, *GRADS)]
        f = lambda h: sum(
            fnp.sum(x**2) for x in fg.tree.leaves(list(run(optim, make(h), wide[0], wide[1:]))[-1])
        )
        wanted = (f(0.25 + 1e-5) - f(0.25 - 1e-5)) / 2e-5
    assert_allclose(slope, wanted, rtol=1e-3)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adamw"])
def test_inside_jit_scan_and_vmap(name):
    optimizer = getattr(optim, name)(lambda count: 0.2 * 0.9**count)
    loss = lambda p: sum(
        fnp.sum((a - b) ** 2)
        for a, b in zip(fg.tree.leaves(p), fg.tree.leaves(TARGET), strict=True)
    )

    def step(carry, _):
        params, state = carry
        updates, state = optimizer.update(fg.grad(loss)(params), state, params)
        return (optim.apply_updates(params, updates), state), loss(params)

    def train(params):
        return fg.lax.scan(step, (params, optimizer.init(params)), None, length=60)

    (params, state), losses = fg.jit(train)(PARAMS)
    assert losses[-1] < losses[0] * 1e-2
    assert state.steps == 60 and state.steps.dtype == np.int32
    stacked = fg.tree.map(lambda x: np.stack([x, x + 1]), PARAMS)
    (both, _), _ = fg.vmap(train)(stacked)
    assert_same(fg.tree.map(lambda x: x[0], both), params, 1e-4, 1e-5)


def test_none_gradients_leave_parameters_alone():
    for name in ("sgd", "momentum", "adam", "adamw"):
        optimizer = getattr(optim, name)(0.1)
        state = optimizer.init(PARAMS)
        updates, state = optimizer.update(GRADS[0], state, PARAMS)
        params = optim.apply_updates(PARAMS, updates)
        updates, after = optimizer.update({**GRADS[1], "b": None}, state, params)
        moved = optim.apply_updates(params, updates)
        assert updates["b"] is None
        assert_same(moved["b"], params["b"], 0, 0)
        assert (moved["w"] != params["w"]).all()
        for part, old in zip(after[1:], state[1:], strict=True):
            assert_same(part["b"], old["b"], 0, 0)


def test_first_steps():
    for optimizer, wanted in (
        (optim.adam(0.1), [-0.1, -0.2, -0.3]),
        (optim.sgd(lambda count: 0.5 * count), [0, -2.5, -7.5]),
        (optim.momentum(0.2), [-1, -2.9, -5.61]),
        (optim.momentum(0.2, nesterov=True), [-1.9, -4.61, -8.049]),
    ):
        steps = run(optim, optimizer, fnp.zeros(()), [fnp.array(5.0)] * 3)
        assert_allclose([float(p) for p in steps], wanted, rtol=1e-4)


def test_count_stands_still_at_the_end():
    optimizer = optim.adam(0.1)
    state = optimizer.init(fnp.zeros(2))._replace(steps=fnp.array(2**31 - 1, fnp.int32))
    updates, state = optimizer.update(fnp.ones(2), state)
    assert state.steps == 2**31 - 1
    assert np.isfinite(updates).all()


def test_apply_updates():
    params = {"low": fnp.ones(2, fnp.bfloat16), "number": 1.0, "none": None}
    moved = optim.apply_updates(params, {"low": fnp.ones(2), "number": 0.5, "none": None})
    assert moved["low"].dtype == fnp.bfloat16 and moved["none"] is None
    assert_array_equal(moved["number"], 1.5)
    with pytest.raises(ValueError, match=r"update of shape \(2,\).* parameter of shape \(1,\)"):
        optim.apply_updates(fnp.ones(1), fnp.ones(2))
    with pytest.raises(ValueError):
        optim.apply_updates({"a": fnp.ones(1)}, {"b": fnp.ones(1)})


@pytest.mark.parametrize(
    "make, kind, said",
    [
        (lambda: optim.sgd("fast"), TypeError, "learning_rate must be one number, got 'fast'"),
        (lambda: optim.sgd(None), TypeError, "learning_rate must be one number, got None"),
        (lambda: optim.adam(fnp.ones(2)), TypeError, "learning_rate must be one number"),
        (lambda: optim.momentum(0.1, 1.0), ValueError, r"decay must lie in \[0, 1\), got 1.0"),
        (lambda: optim.sgd(0.1, momentum=-1), ValueError, "decay must lie"),
        (lambda: optim.adam(0.1, b1=1.5), ValueError, r"b1 must lie in \[0, 1\), got 1.5"),
        (lambda: optim.adam(0.1, b2=float("nan")), ValueError, "b2 must lie"),
        (lambda: optim.adam(0.1, eps=-1.0), ValueError, r"eps must lie in \[0, inf\)"),
        (lambda: optim.adamw(0.1, weight_decay=True), TypeError, "weight_decay must be one number"),
        (
            lambda: optim.adamw(0.1).update(fnp.ones(1), optim.adamw(0.1).init(fnp.ones(1))),
            ValueError,
            "params",
        ),
    ],
)
def test_refuses(make, kind, said):
    with pytest.raises(kind, match=said):
        make()
