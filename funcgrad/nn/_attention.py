"""dot_product_attention: a query takes the mean of values, weighted by how their keys match it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, checkpoint, lax
from funcgrad.nn._arguments import ArrayLike
from funcgrad.nn._softmax import softmax
from funcgrad.scipy.special import logsumexp

# Scores up to which all are computed at once, and about how many a block of queries has.
LARGEST_SCORES = 1 << 20
BLOCK_SCORES = 1 << 17
SMALLEST_BLOCK = 16


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    r"""Scaled dot-product attention, $\mathrm{softmax}(s Q K^T + B) V$, for each head by itself.

    Sizes: B batch, T queries, S keys and values, N heads of queries, K heads of keys (of which N is
    a multiple; where K is smaller, groups of heads share one), H numbers per head.

    Args:
        query: [B, T, N, H] or [T, N, H].
        key, value: [B, S, K, H] or [S, K, H], of the query's dtype.
        bias: added to the scores; of four axes that broadcast to [B, N, T, S].
        mask: booleans of four axes that broadcast to [B, N, T, S]; True takes part.
        scale: $s$; by default $1 / \sqrt{H}$.
        is_causal: whether query t sees keys 0 to t only.
        query_seq_lengths, key_value_seq_lengths: int32 [B]: how many queries, and keys and values,
            of each example are real; the others are padding. Padded queries get 0.
        local_window_size: how many keys each query sees to its left and right: a pair, or one
            number for both.
        implementation: None or "xla"; there is but one.
        return_residual: whether to return the logarithms of the softmax's sums too.

    Returns:
        The shape of the query; with `return_residual` the pair with [B, T, N] (or [T, N]), through
        which nothing is differentiated. Scores and softmax are computed in float32 at least.

    Raises:
        ValueError: if a shape or dtype does not fit, naming it.

    Source: Vaswani et al., Attention Is All You Need, NeurIPS 2017; Ainslie et al., GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints, EMNLP 2023.
    """
    if implementation not in (None, "xla"):
        raise ValueError(
            f"dot_product_attention: unsupported implementation option {implementation!r}; there "
            "is but one, so leave it out"
        )
    out_shape = jnp.shape(query)
    q, k, v = (with_batch(x) for x in (query, key, value))
    batch, source, groups, size = k.shape
    check("key", k, (batch, source, groups, size), q.dtype)
    check("value", v, (batch, source, groups, size), k.dtype)
    check("query", q, (batch, None, None, size), k.dtype)
    target, heads = q.shape[1:3]
    if groups == 0 or heads % groups:
        raise ValueError(
            "dot_product_attention: each head of key and value serves the same number of query "
            f"heads, but {groups} do not divide {heads}; got query of shape {jnp.shape(query)} and "
            f"key of shape {jnp.shape(key)}"
        )

    shape = (batch, heads, target, source)
    if bias is not None:
        bias = with_batch(bias)
        check_broadcasts("bias", bias, shape)
    if mask is not None:
        mask = with_batch(mask)
        check_broadcasts("mask", mask, shape)
        check("mask", mask, mask.shape, np.dtype(bool))
    lengths = (
        as_lengths("query_seq_lengths", query_seq_lengths, batch),
        as_lengths("key_value_seq_lengths", key_value_seq_lengths, batch),
    )
    factor = 1 / np.sqrt(size) if scale is None else scale
    seen = partial(visible, is_causal=is_causal, window=local_window_size, lengths=lengths)

    def attend(q: Array, at: Array, bias: Array | None, mask: Array | None) -> tuple:
        """What the queries at positions `at` get, and the logarithms of their softmax's sums."""
        scores = scores_of(q, k, bias, factor)
        keep = seen(at, jnp.arange(source), mask=mask)
        if keep is not None:
            scores = jnp.where(keep, scores, far_below(scores.dtype))
        scores = scores.astype(np.float32)
        sums = logsumexp(scores, axis=-1).astype(k.dtype) if return_residual else None
        return mean_of(v, softmax(scores).astype(k.dtype)), sums

    block = queries_at_once(batch * heads, target, source)
    if block < target:
        out, sums = by_blocks(attend, block, q, bias, mask)
    else:
        out, sums = attend(q, jnp.arange(target), bias, mask)
    if lengths[0] is not None:
        out = jnp.where(within(jnp.arange(target), lengths[0])[:, :, None, None], out, 0)
    out = out.reshape(out_shape)
    if sums is None:
        return out
    return out, lax.stop_gradient(sums.transpose(0, 2, 1).reshape(out_shape[:-1]))


def scores_of(q: Array, k: Array, bias: Array | None, factor: Any) -> Array:
    """How well keys match queries, [B, N, T, S]."""
    batch, target, heads, size = q.shape
    source, groups = k.shape[1:3]
    scores = jnp.einsum(
        "btkgh,bskh->bkgts",
        q.reshape(batch, target, groups, heads // groups, size),
        k,
        preferred_element_type=jnp.promote_types(q.dtype, np.float32),
    ).reshape(batch, heads, target, source)
    scores = scores * jnp.asarray(factor, scores.dtype)
    return scores if bias is None else (scores + bias).astype(scores.dtype)


def mean_of(v: Array, weights: Array) -> Array:
    """Values [B, S, K, H] weighted by [B, N, T, S]: [B, T, N, H]."""
    batch, heads, target, source = weights.shape
    groups, size = v.shape[2:]
    grouped = weights.reshape(batch, groups, heads // groups, target, source)
    out = jnp.einsum("bkgts,bskh->btkgh", grouped, v)
    return out.reshape(batch, target, heads, size)


# Long sequences: blocks of queries one after the other. Each block sees all keys, so its softmax
# needs no correction later, and the derivative computes a block's weights again.


def queries_at_once(rows: int, target: int, source: int) -> int:
    """How many queries' scores are computed at a time: all, if these are few enough to keep."""
    if rows * target * source <= LARGEST_SCORES:
        return target
    most = max(BLOCK_SCORES // max(rows * source, 1), SMALLEST_BLOCK)
    return -(-target // -(-target // most))


def by_blocks(
    attend: Callable[..., tuple], block: int, q: Array, bias: Array | None, mask: Array | None
) -> tuple:
    """`attend` to blocks of queries in turn; beside the results, memory grows with the keys."""
    target = q.shape[1]
    count = -(-target // block)

    def divided(x: Array | None, axis: int) -> Array | None:
        """The blocks along an axis, a new first one; None if x is the same for all queries."""
        if x is None or x.shape[axis] != target:
            return None
        more = [(0, count * block - target if d == axis else 0) for d in range(4)]
        shape = (*x.shape[:axis], count, block, *x.shape[axis + 1 :])
        return jnp.moveaxis(jnp.reshape(jnp.pad(x, more), shape), axis, 0)

    at = jnp.arange(count * block).reshape(count, block)
    blocks = (divided(q, 1), at, divided(bias, 2), divided(mask, 2))
    whole = (None, None, bias, mask)

    def turn(xs: tuple) -> tuple:
        return attend(*(w if x is None else x for x, w in zip(xs, whole)))

    def joined(x: Array, axis: int) -> Array:
        x = jnp.moveaxis(x, 0, axis)
        x = x.reshape(*x.shape[:axis], count * block, *x.shape[axis + 2 :])
        return lax.slice_in_dim(x, 0, target, axis=axis)

    out, sums = lax.map(checkpoint(turn), blocks)
    return joined(out, 1), None if sums is None else joined(sums, 2)


def visible(
    t: Array,
    s: Array,
    *,
    is_causal: bool,
    window: int | tuple[int, int] | None,
    lengths: tuple[Array | None, Array | None],
    mask: Array | None,
) -> Array | None:
    """Which keys, at s, queries at t see: [B, N, T, S] or broadcasting to it; None for all."""
    conditions = [] if mask is None else [mask]
    if is_causal:
        conditions.append(s <= t[:, None])
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        conditions += [s >= t[:, None] - left, s <= t[:, None] + right]
    if lengths[0] is not None:
        conditions.append(within(t, lengths[0])[:, None, :, None])
    if lengths[1] is not None:
        conditions.append(within(s, lengths[1])[:, None, None, :])
    if not conditions:
        return None
    seen = conditions[0]
    for condition in conditions[1:]:
        seen = seen & condition
    return seen


def within(at: Array, lengths: Array) -> Array:
    """Which positions lie inside each example's length, [B, positions]."""
    return at < lengths[:, None]


def far_below(dtype: Any) -> Array:
    """A score too low to matter, yet finite: who sees nothing gets the mean of all values."""
    largest = min(float(jnp.finfo(dtype).max), float(np.finfo(np.float32).max))
    return jnp.asarray(-0.7 * largest, dtype)


# arguments


def with_batch(x: Any) -> Array:
    x = jnp.asarray(x)
    return x.reshape((1,) * (4 - x.ndim) + x.shape) if x.ndim < 4 else x


def as_lengths(name: str, lengths: Any, batch: int) -> Array | None:
    if lengths is None:
        return None
    lengths = jnp.asarray(lengths)
    check(name, lengths, (batch,), np.dtype(np.int32))
    return lengths


def check(name: str, x: Array, shape: tuple[int | None, ...], dtype: Any) -> None:
    """Raise unless x has this dtype and this shape, in which None stands for any size."""
    if x.dtype != dtype:
        raise ValueError(f"dot_product_attention takes {name} of dtype {dtype}, and got {x.dtype}")
    if x.ndim != len(shape) or any(w not in (None, n) for n, w in zip(x.shape, shape)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(
            f"dot_product_attention takes {name} of shape ({wanted}), and got {x.shape}"
        )


def check_broadcasts(name: str, x: Array, shape: tuple[int, ...]) -> None:
    if x.ndim != 4 or any(n not in (1, w) for n, w in zip(x.shape, shape)):
        raise ValueError(
            f"dot_product_attention: {name} shape should broadcast to the scores' {shape}, [batch, "
            f"heads, queries, keys], but got {x.shape}"
        )
