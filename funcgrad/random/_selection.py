"""Choosing among what is given: shuffles, samples, and categories by their logits."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.jit import jit
from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import convert, moveaxis, reshape
from funcgrad.base.shapes import (
    Shape,
    canonical_axis,
    canonical_shape,
    concrete_int,
    remove_axes,
)
from funcgrad.primitives.keys import random_bits
from funcgrad.random._arguments import common_shape, placed
from funcgrad.random._continuous import gumbel_numbers
from funcgrad.random._keys import checked_key, split_typed
from funcgrad.random._uniform import _randint, _uniform, whole


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """x in random order along an axis, or the numbers 0 .. x - 1 if x is an integer.

    Args:
        key: a random key.
        x: an array or an integer.
        axis: the axis that is shuffled.
        independent: whether each vector along the axis is shuffled for itself.
        out_sharding: where the result goes.

    Raises:
        TypeError: x is a scalar, but no integer.
        ValueError: the axis is out of bounds.
    """
    typed = checked_key("permutation", key).typed
    return placed(permuted(typed, x, axis, independent), out_sharding)


def permuted(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    aval = aval_of(x)
    axis = canonical_axis(axis, aval.ndim or 1)
    if not aval.ndim:
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(
                "permutation takes an array of at least one axis, or an integer n to permute "
                f"range(n); got {aval.str_short()}"
            )
        return _shuffle(key, jnp.arange(concrete_int(x, "x")), axis=0)
    x = jnp.asarray(x)
    if independent or aval.ndim == 1:
        return _shuffle(key, x, axis=axis)
    return jnp.take(x, _shuffle(key, jnp.arange(aval.shape[axis]), axis=0), axis=axis)


@partial(jit, static_argnames="axis")
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sort by random numbers, so often that hardly any two elements get equal ones every time."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = split_typed(key)
        key = keys[0]
        _, x = lax.sort_key_val(random_bits(keys[1], 32, x.shape), x, axis)
    return x


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """A sample from the elements of an array, or from 0 .. a - 1 if a is an integer.

    Args:
        key: a random key.
        a: an array or an integer.
        shape: of the sample, a sequence of integers.
        replace: whether an element may be drawn more than once.
        p: probabilities, one for each element; None are equal ones. They need not have sum 1.
        axis: the axis of `a` that is drawn from.
        mode: with p and without replacement, how the Gumbel numbers are drawn; see `gumbel`.

    Returns:
        An array of the shape of `a`, the axis replaced by `shape`. What has probability 0 is never
        in it.

    Raises:
        TypeError: the shape is no sequence.
        ValueError: there is too little to draw from, or p does not fit.
    """
    typed = checked_key("choice", key).typed
    if not isinstance(shape, Sequence):
        raise TypeError(f"choice takes its shape as a sequence of sizes, got {shape!r}")
    shape = canonical_shape(shape)
    draws = math.prod(shape)
    array = aval_of(a).ndim > 0
    if array:
        a = jnp.asarray(a)
        axis = canonical_axis(axis, a.ndim)
        count, full = a.shape[axis], a.shape[:axis] + shape + a.shape[axis + 1 :]
    else:
        count, full = concrete_int(a, "a"), shape
    if draws == 0:
        return jnp.zeros(full, aval_of(a).dtype)
    if count <= 0:
        raise ValueError(f"choice: there must be something to draw from, got {count} elements")
    if not replace and draws > count:
        raise ValueError(
            f"choice: without replacement, {count} elements give no larger sample, and one of size "
            f"{draws} was asked for; draw fewer, or leave replace True"
        )
    if p is None and not replace:
        drawn = permuted(typed, a if array else count, axis if array else 0)
        return reshape(lax.slice_in_dim(drawn, 0, draws, axis=axis if array else 0), full)
    if p is None:
        index = _randint(typed, whole(0), whole(count), shape, dtypes.default_int())
    else:
        index = weighted_choice(typed, probabilities(p, count), shape, replace, mode)
    return reshape(jnp.take(a, index, axis=axis), full) if array else index


def probabilities(p: Any, count: int) -> Any:
    p = jnp.asarray(p)
    if p.shape != (count,):
        raise ValueError(
            f"choice: p must have one entry for each of the {count} elements along the axis, got "
            f"the shape {p.shape}"
        )
    if dtypes.issubdtype(p.dtype, np.complexfloating):
        raise TypeError(f"choice: probabilities p must be real, got dtype {p.dtype}")
    return p if dtypes.issubdtype(p.dtype, np.floating) else convert(p, dtypes.default_float())


def weighted_choice(key: Any, p: Any, shape: Shape, replace: bool, mode: str | None) -> Any:
    """Indices with the probabilities p."""
    if replace:
        return _choice_by_sum(key, p, shape=shape)
    draws = math.prod(shape)
    if isinstance(p, ConcreteArray) and np.count_nonzero(p.buffer) < draws:
        raise ValueError(
            f"choice: cannot take a sample of size {draws} with replace=False from "
            f"{np.count_nonzero(p.buffer)} elements whose p is not 0"
        )
    scores = gumbel_numbers(key, p.shape, p.dtype, mode) + lax.log(p)
    return reshape(convert(lax.top_k(scores, draws)[1], dtypes.default_int()), shape)


MANY = 1 << 16  # from where on binary search by whole arrays takes longer than sorting


@partial(jit, static_argnames="shape")
def _choice_by_sum(key: Any, p: Any, shape: Shape) -> Any:
    """Where uniform numbers fall among the cumulative sums; an empty bin is never hit.

    The sums must not fall, or one beyond such a bin could lie below it. In float64 they are also
    exact enough for many small p.
    """
    sums = convert(lax.cummax(lax.cumsum(convert(p, np.float64))), p.dtype)
    total = lax.index_in_dim(sums, -1, keepdims=False)
    level = total * (1 - _uniform(key, 0.0, 1.0, shape, p.dtype))
    method = "sort" if min(p.size, level.size) > MANY else "scan"
    return convert(jnp.searchsorted(sums, level, method=method), dtypes.default_int())


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Categories 0, 1, ... with probabilities softmax(logits): the argmax of logits plus noise.

    Args:
        key: a random key.
        logits: floats, up to a constant the logarithms of the probabilities.
        axis: along which they belong to one distribution.
        shape: of the result, to which that of logits without the axis broadcasts; None is that.
        replace: False gives, for each distribution, distinct categories along the leading axes that
            `shape` has beyond those of logits.
        mode: how the Gumbel noise is drawn; see `gumbel`.
        out_sharding: where the result goes.

    Returns:
        An integer array.

    Raises:
        ValueError: the axis or the shape does not fit, or there are too few categories.
    """
    typed = checked_key("categorical", key).typed
    logits = jnp.asarray(logits)
    if not dtypes.issubdtype(logits.dtype, np.floating):
        raise ValueError(f"categorical: logits must be of a float dtype, got {logits.dtype}")
    axis = canonical_axis(axis, logits.ndim)
    batch = remove_axes(logits.shape, (axis,))
    if shape is None:
        shape = batch
    else:
        shape = canonical_shape(shape)
        common_shape("categorical", shape, logits=np.broadcast_to(np.float32(0), batch))
    count = len(shape) - len(batch)
    drawn = with_replacement if replace else without_replacement
    return placed(drawn(typed, logits, axis, shape[:count], shape[count:], mode), out_sharding)


def with_replacement(
    key: Any, logits: Any, axis: int, prefix: Shape, batch: Shape, mode: str | None
) -> Any:
    full = (*prefix, *batch[:axis], logits.shape[axis], *batch[axis:])
    noise = gumbel_numbers(key, full, logits.dtype, mode)
    logits = reshape(logits, (1,) * len(prefix) + logits.shape)
    return jnp.argmax(noise + logits, axis=axis + len(prefix))


def without_replacement(
    key: Any, logits: Any, axis: int, prefix: Shape, batch: Shape, mode: str | None
) -> Any:
    count, draws = logits.shape[axis], math.prod(prefix)
    if draws > count:
        raise ValueError(
            f"categorical: without replacement, {count} categories give {count} draws at most, and "
            f"{draws} were asked for"
        )
    scores = logits + gumbel_numbers(key, logits.shape, logits.dtype, mode)
    _, index = lax.top_k(moveaxis(scores, axis, logits.ndim - 1), draws)
    return reshape(moveaxis(index, logits.ndim - 1, 0), prefix + batch)
