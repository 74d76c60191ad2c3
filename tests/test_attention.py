"""Attention to long sequences goes by blocks of queries: the results are those of all at once."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import funcgrad as fg
import funcgrad.numpy as jnp
from funcgrad import nn
from funcgrad.nn import _attention

RNG = np.random.default_rng(0)
B, T, S, N, K, H = 2, 11, 9, 4, 2, 8


def draw(*shape):
    return RNG.normal(size=shape).astype(np.float32)


QKV = draw(B, T, N, H), draw(B, S, K, H), draw(B, S, K, H)
SEEN = RNG.random((B, 1, T, S)) > 0.3
SEEN[0, :, 2] = False
LENGTHS = np.array([3, 5], np.int32)
OPTIONS = [
    {},
    {"scale": 0.3, "is_causal": True},
    {"mask": SEEN, "return_residual": True},
    {"mask": SEEN[:, :, :1]},
    {"query_seq_lengths": LENGTHS, "key_value_seq_lengths": LENGTHS},
    {"local_window_size": (2, 1)},
    {"local_window_size": 1, "is_causal": True},
]


@pytest.fixture
def few_at_once(monkeypatch):
    """Makes attention go by blocks of three queries, the last of which is not full."""

    def start():
        monkeypatch.setattr(_attention, "LARGEST_SCORES", 0)
        monkeypatch.setattr(_attention, "SMALLEST_BLOCK", 3)
        monkeypatch.setattr(_attention, "BLOCK_SCORES", 1)
        assert _attention.queries_at_once(B * N, T, S) == 3

    return start


def same_by_blocks(few_at_once, f, rtol=1e-5, atol=1e-6):
    """Check the results of f(), which is run before and after the limit is lowered."""
    wanted = f()
    few_at_once()
    found = f()
    assert fg.tree.structure(found) == fg.tree.structure(wanted)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert_allclose(np.float32(a), np.float32(b), rtol=rtol, atol=atol)


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
def test_blocks_give_what_all_at_once_does(few_at_once, options):
    def f():
        attend = partial(nn.dot_product_attention, **options)
        slopes = fg.grad(lambda *qkv: (first(attend(*qkv)) ** 2).sum(), (0, 1, 2))
        return attend(*QKV), fg.jit(lambda *qkv: slopes(*qkv))(*QKV)

    same_by_blocks(few_at_once, f, 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [(1, N, T, S), (B, 1, 1, S), (1, 1, T, 1)])
def test_bias_has_a_gradient(few_at_once, shape):
    bias = draw(*shape)

    def f():
        loss = lambda b, *qkv: (nn.dot_product_attention(*qkv, b) ** 2).sum()
        return fg.jit(fg.grad(loss, (0, 1)))(bias, *QKV)

    same_by_blocks(few_at_once, f, 1e-4, 1e-5)


def test_second_derivatives_forward_mode_and_batches(few_at_once):
    q, k, v = QKV
    step = draw(*q.shape)

    def f():
        loss = lambda q: (nn.dot_product_attention(q, k, v, is_causal=True) ** 3).sum()
        along = lambda q: fg.jvp(fg.grad(loss), (q,), (step,))[1]
        twice = fg.grad(lambda q: (fg.grad(loss)(q) * step).sum())
        many = fg.vmap(fg.grad(loss))(jnp.stack([q, q + 1]))
        return fg.jit(along)(q), fg.jit(twice)(q), many

    same_by_blocks(few_at_once, f, 1e-3, 1e-4)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_half_precision_and_one_example(few_at_once, dtype):
    q, k, v = (jnp.asarray(x[0], dtype) for x in QKV)

    def f():
        loss = lambda q: nn.dot_product_attention(q, k, v, is_causal=True).astype("f4").sum()
        return nn.dot_product_attention(q, k, v), fg.grad(loss)(q)

    same_by_blocks(few_at_once, f, 2e-2, 2e-2)
