"""dot_product_attention: a query takes the mean of values, weighted by how their keys match it."""

from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, lax
from funcgrad.nn._arguments import ArrayLike
from funcgrad.nn._softmax import softmax
from funcgrad.scipy.special import logsumexp


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
    scores = jnp.einsum(
        "btkgh,bskh->bkgts",
        q.reshape(batch, target, groups, heads // groups, size),
        k,
        preferred_element_type=jnp.promote_types(q.dtype, np.float32),
    ).reshape(shape)
    scores = scores * jnp.asarray(1 / np.sqrt(size) if scale is None else scale, scores.dtype)
    if bias is not None:
        bias = with_batch(bias)
        check_broadcasts("bias", bias, shape)
        scores = (scores + bias).astype(scores.dtype)

    lengths = [as_lengths("query_seq_lengths", query_seq_lengths, batch)]
    lengths += [as_lengths("key_value_seq_lengths", key_value_seq_lengths, batch)]
    if mask is not None:
        mask = with_batch(mask)
        check_broadcasts("mask", mask, shape)
        check("mask", mask, mask.shape, np.dtype(bool))
    seen = visible(target, source, is_causal, local_window_size, lengths, mask)
    if seen is not None:
        scores = jnp.where(seen, scores, far_below(scores.dtype))
    scores = scores.astype(np.float32)
    weights = softmax(scores).astype(k.dtype)
    out = jnp.einsum(
        "bkgts,bskh->btkgh", weights.reshape(batch, groups, heads // groups, target, source), v
    ).reshape(q.shape)
    if lengths[0] is not None:
        out = jnp.where(within(target, lengths[0])[:, :, None, None], out, 0)
    out = out.reshape(out_shape)
    if not return_residual:
        return out
    residual = logsumexp(scores, axis=-1).astype(k.dtype).transpose(0, 2, 1)
    return out, lax.stop_gradient(residual.reshape(out_shape[:-1]))


def visible(
    target: int,
    source: int,
    is_causal: bool,
    window: int | tuple[int, int] | None,
    lengths: list[Array | None],
    mask: Array | None,
) -> Array | None:
    """Which keys each query sees, [B, N, T, S] or broadcasting to it; None where it sees all."""
    t, s = jnp.arange(target)[:, None], jnp.arange(source)
    conditions = [] if mask is None else [mask]
    if is_causal:
        conditions.append(s <= t)
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        conditions += [s >= t - left, s <= t + right]
    if lengths[0] is not None:
        conditions.append(within(target, lengths[0])[:, None, :, None])
    if lengths[1] is not None:
        conditions.append(within(source, lengths[1])[:, None, None, :])
    if not conditions:
        return None
    seen = conditions[0]
    for condition in conditions[1:]:
        seen = seen & condition
    return seen


def within(count: int, lengths: Array) -> Array:
    """Which of `count` positions lie inside each example's length, [B, count]."""
    return jnp.arange(count) < lengths[:, None]


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
        raise ValueError(
            f"dot_product_attention: {name} dtype should be {dtype}, but got {x.dtype}"
        )
    if x.ndim != len(shape) or any(w not in (None, n) for n, w in zip(x.shape, shape)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(
            f"dot_product_attention: {name} shape should be ({wanted}), but got {x.shape}"
        )


def check_broadcasts(name: str, x: Array, shape: tuple[int, ...]) -> None:
    if x.ndim != 4 or any(n not in (1, w) for n, w in zip(x.shape, shape)):
        raise ValueError(
            f"dot_product_attention: {name} shape should broadcast to the scores' {shape}, [batch, "
            f"heads, queries, keys], but got {x.shape}"
        )
