"""What compiled programs take in memory: checkpoint, its policies, loops in segments, attention."""

import jax
import jax.nn
import numpy as np
import pytest
from numpy.testing import assert_allclose

import funcgrad as fg
import funcgrad.numpy as jnp
from funcgrad import lax, nn
from funcgrad.ad_checkpoint import checkpoint_name
from funcgrad.compiler.llvm import engine

needs_compiler = pytest.mark.skipif(not engine.available(), reason="NumPy plans no memory")

LAYERS, BATCH, LENGTH, WIDTH, HEADS = 12, 2, 64, 32, 4
policies = fg.checkpoint_policies


def temporaries(f, *args) -> int:
    """Bytes of temporaries of the compiled function."""
    return fg.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes


# checkpoint


def draws(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) / shape[0] ** 0.5


def parameters():
    sizes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH)}
    sizes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    return [
        {name: draws(*shape, seed=10 * i + j) for j, (name, shape) in enumerate(sizes.items())}
        for i in range(LAYERS)
    ]


def normalised(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def layer(x, weights):
    qkv = checkpoint_name(normalised(x) @ weights["qkv"], "qkv")
    q, k, v = jnp.moveaxis(qkv.reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS), 2, 0)
    x = x + nn.dot_product_attention(q, k, v).reshape(x.shape) @ weights["out"]
    return x + nn.gelu(normalised(x) @ weights["up"]) @ weights["down"]


def slopes(wrap):
    def loss(weights, x):
        for one in weights:
            x = wrap(layer)(x, one)
        return (normalised(x) * draws(BATCH, LENGTH, WIDTH, seed=7)).sum()

    return fg.grad(loss)


INPUT = draws(BATCH, LENGTH, WIDTH, seed=5)


@needs_compiler
def test_checkpoint_halves_the_memory_of_a_transformer():
    weights = parameters()
    stored, again = slopes(lambda f: f), slopes(fg.checkpoint)
    assert 2 * temporaries(again, weights, INPUT) <= temporaries(stored, weights, INPUT)
    found, wanted = (fg.tree.leaves(fg.jit(f)(weights, INPUT)) for f in (again, stored))
    for a, b in zip(found, wanted):
        assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@needs_compiler
def test_policies_store_what_they_say():
    """From what stores least to what stores most; the values stored are told apart by size."""
    weights = parameters()

    def bytes_with(policy):
        return temporaries(slopes(lambda f: fg.checkpoint(f, policy=policy)), weights, INPUT)

    nothing = bytes_with(policies.nothing_saveable)
    named = bytes_with(policies.save_only_these_names("qkv"))
    dense = bytes_with(policies.dots_with_no_batch_dims_saveable)
    dots = bytes_with(policies.dots_saveable)
    everything = bytes_with(policies.everything_saveable)
    value = BATCH * LENGTH * WIDTH * 4  # one activation of the model's width
    scores = BATCH * HEADS * LENGTH**2 * 4
    kept = LAYERS - 1  # the last layer's values are there anyway
    assert 3 * kept * value <= named - nothing + 4 * value <= 4 * LAYERS * value
    # Of qkv, out, up and down, 9 widths; the last only where something reads it.
    assert 7 * kept * value <= dense - nothing + 4 * value <= 10 * LAYERS * value
    assert kept * scores <= dots - dense + scores
    assert dots < everything


# loops


def steps(start, length, **kwargs):
    return lax.scan(lambda c, _: (jnp.sin(c) * 1.1, None), start, None, length, **kwargs)[0].sum()


@needs_compiler
def test_scan_in_segments_keeps_the_carry_of_each():
    def bytes_with(k):
        return temporaries(
            fg.grad(lambda x: steps(x, 256, checkpoint=k)), np.ones(1000, np.float32)
        )

    carry = 4000
    assert bytes_with(None) >= 256 * carry
    assert bytes_with(16) <= 40 * carry  # 16 carries, and 16 turns' values again
    assert bytes_with(64) <= 80 * carry


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("turns", [1, 4, 5, 11, 20])
def test_scan_in_segments_is_the_scan(reverse, turns):
    xs = {"a": draws(11, 3), "b": draws(11, seed=1)}

    def body(c, x):
        return jnp.sin(c * x["a"] + x["b"]), {"y": jnp.cos(c), "none": None}

    def all_of(c, checkpoint):
        results = lambda c, xs: lax.scan(body, c, xs, reverse=reverse, checkpoint=checkpoint)

        def loss(c, xs):
            carry, ys = results(c, xs)
            return (carry**2).sum() + (ys["y"] * draws(11, 3, seed=3)).sum()

        return [f(c, xs) for f in (results, fg.grad(loss, (0, 1)), fg.jit(fg.hessian(loss)))]

    wanted, found = (all_of(draws(3, seed=2), k) for k in (None, turns))
    assert fg.tree.structure(wanted) == fg.tree.structure(found)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted)):
        assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("turns", [0, -3, 2.5])
def test_scan_refuses_segments_of_no_turns(turns):
    with pytest.raises(ValueError, match=f"checkpoint counts turns.*got {turns}"):
        steps(np.ones(3, np.float32), 4, checkpoint=turns)


def power(x, most=30):
    """The first of 1, x, x^2 ... above 50."""
    start = (jnp.ones_like(x), 0)
    turn = lambda v: (v[0] * x, v[1] + 1)
    return lax.while_loop(lambda v: v[0] < 50, turn, start, max_steps=most)[0]


def test_reverse_mode_through_a_bounded_loop():
    for f in (fg.grad(power), fg.jit(fg.grad(power)), fg.jacfwd(power)):
        assert_allclose(f(2.0), 6 * 2.0**5)
    assert_allclose(fg.jit(fg.hessian(power))(2.0), 30 * 2.0**4)
    found = fg.vmap(fg.grad(power))(np.float32([1.5, 3.0]))
    assert_allclose(found, [10 * 1.5**9, 4 * 27], rtol=1e-5)
    assert_allclose(fg.grad(lambda x: power(x, 6))(2.0), 192)


def test_turns_that_are_not_needed_leave_derivatives_finite():
    halved = lambda x: lax.while_loop(lambda v: v > 0.3, lambda v: v - 0.25, x, max_steps=9)
    assert_allclose(fg.grad(lambda x: jnp.sqrt(halved(x)))(1.0), 0.5 / np.sqrt(0.25))
    # One more turn would divide by zero.
    once = lambda x: lax.while_loop(lambda v: v != 0, lambda v: jnp.log(v / v), x, max_steps=5)
    assert fg.grad(once)(3.0) == 0


def test_a_bounded_loop_that_goes_on_raises():
    short = lambda x: power(x, 5)
    for f in (short, fg.jit(short), fg.grad(short), fg.jit(fg.grad(short))):
        with pytest.raises(ValueError, match="still holds after max_steps=5 turns"):
            fg.block_until_ready(f(2.0))
    with pytest.raises(ValueError, match="still holds after max_steps=5"):
        fg.block_until_ready(fg.jit(fg.vmap(short))(np.float32([100.0, 2.0])))
    with pytest.raises(ValueError, match="max_steps counts turns"):
        power(2.0, -1)
    assert lax.while_loop(lambda v: v > 1, lambda v: v, 0.5, max_steps=0) == 0.5


@needs_compiler
def test_a_bounded_loop_keeps_few_turns():
    def f(x):
        turn = lambda v: v * jnp.sin(x)
        return lax.while_loop(lambda v: v[0] < 1e3, turn, x, max_steps=256).sum()

    assert temporaries(fg.grad(f), np.ones(1000, np.float32)) <= 80 * 4000


# attention


def qkv_of(length, heads=1, size=32):
    return [draws(1, length, heads, size, seed=i) for i in range(3)]


@needs_compiler
def test_attention_takes_memory_in_proportion_to_length():
    def backward(length):
        f = fg.grad(lambda *qkv: nn.dot_product_attention(*qkv).sum(), (0, 1, 2))
        return temporaries(f, *qkv_of(length))

    shorter, longer = backward(8192), backward(16384)
    assert longer <= 2.1 * shorter
    assert longer * 20 <= 4 * 16384**2  # the scores alone


def test_attention_of_8192_positions_is_jax_s():
    qkv = qkv_of(8192)

    def first_and_slopes(lib):
        f = lambda *qkv: lib.nn.dot_product_attention(*qkv, is_causal=True)
        return lambda *qkv: (f(*qkv), lib.grad(lambda *a: (f(*a) ** 2).sum(), (0, 1, 2))(*qkv))

    wanted = jax.jit(first_and_slopes(jax))(*qkv)
    found = fg.jit(first_and_slopes(fg))(*qkv)
    for a, b in zip(fg.tree.leaves(found), jax.tree.leaves(wanted)):
        assert_allclose(a, b, rtol=1e-3, atol=1e-5)
