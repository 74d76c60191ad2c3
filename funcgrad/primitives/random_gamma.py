"""Gamma-distributed numbers, by Marsaglia and Tsang's rejection: every number has a key of its own.

The derivative with respect to the shape parameter is implicit: that of the quantile function.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import eq, full_like, mul, scalar_like, select_n
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.exponential import exp
from funcgrad.primitives.incomplete import random_gamma_grad
from funcgrad.primitives.key_reuse import consume
from funcgrad.primitives.keys import check_keys, draw_bits, split_words, to_words
from funcgrad.primitives.nary import FLOAT, check_dtype
from funcgrad.primitives.special import erf_inv_p
from funcgrad.transforms import batching, forward

random_gamma_p = Primitive("random_gamma")


def random_gamma(keys: Any, a: Any, log_space: bool = False) -> Any:
    """A gamma-distributed number, or its logarithm, for each shape parameter in `a`.

    The leading axes of `a` are those of `keys`; a key serves all that `a` has along the others.
    """
    return random_gamma_p.bind(keys, a, log_space=log_space)


# numbers for a flat list of keys, given by their words: [keys, 2] -> float[keys]


def unit_uniform(xp: Any, words: Any, dtype: np.dtype) -> Any:
    """Numbers in [0, 1): random mantissas below the exponent of 1, less 1."""
    info = dtypes.finfo(dtype)
    width = 8 if info.nmant < 8 else info.bits
    pattern = np.dtype(f"uint{info.bits}")
    bits = draw_bits(xp, words, width, 1)[:, 0].astype(pattern)
    one = np.ones((), dtype)
    mantissa = bits >> pattern.type(width - info.nmant)
    return (mantissa | one.view(pattern)).view(dtype) - one


def standard_normal(xp: Any, words: Any, dtype: np.dtype) -> Any:
    one = np.ones((), dtype)
    low = np.nextafter(-one, np.zeros((), dtype))
    spread = unit_uniform(xp, words, dtype) * (one - low) + low
    (quantile,) = evaluate_rules[erf_inv_p](xp, xp.maximum(low, spread))
    return np.array(np.sqrt(2), dtype) * quantile


def cube_of_normal(xp: Any, words: Any, c: Any) -> tuple[Any, Any]:
    """x^2 and (1 + c x)^3 of the first normal x of each key's sequence for which 1 + c x > 0."""
    x, v = xp.zeros_like(c), xp.full_like(c, -1)
    words, todo = words.copy(), xp.arange(len(c))
    while len(todo):
        following = split_words(xp, words[todo], 2)
        words[todo] = following[:, 0]
        x[todo] = standard_normal(xp, following[:, 1], c.dtype)
        v[todo] = x[todo] * c[todo] + np.ones((), c.dtype)
        todo = todo[v[todo] <= 0]
    return x * x, v * v * v


def accepted_cube(xp: Any, words: Any, d: Any) -> Any:
    """The first v = (1 + c x)^3 of each key's sequence that the rejection accepts."""

    def number(value: float) -> Any:
        return np.array(value, d.dtype)

    c = number(1 / 3) / xp.sqrt(d)
    result = xp.ones_like(d)
    words, todo = words.copy(), xp.arange(len(d))
    while len(todo):
        following = split_words(xp, words[todo], 3)
        words[todo] = following[:, 0]
        squared, v = cube_of_normal(xp, following[:, 1], c[todo])
        u = unit_uniform(xp, following[:, 2], d.dtype)
        bound = squared * number(0.5) + d[todo] * ((number(1) - v) + xp.log(v))
        surely = u < number(1) - number(0.0331) * (squared * squared)
        result[todo] = v
        todo = todo[~surely & (xp.log(u) >= bound)]
    return result


def gamma_numbers(xp: Any, words: Any, a: Any, log_space: bool) -> Any:
    """For a < 1 a number for a + 1 is multiplied by U^(1/a), U uniform, which brings it to a."""
    one, zero = np.ones((), a.dtype), np.zeros((), a.dtype)
    small = ~(a >= one)
    d = xp.where(small, a + one, a) - np.array(1 / 3, a.dtype)
    following = split_words(xp, words, 2)
    cube = accepted_cube(xp, following[:, 0], d)
    u = unit_uniform(xp, following[:, 1], a.dtype)
    if not log_space:
        return d * cube * xp.where(small, xp.power(one - u, one / a), one)
    log_u = xp.log1p(-u)
    boost = xp.where(small & (log_u != 0), log_u * (one / a), zero)
    return xp.log(d) + xp.log(cube) + boost


def gamma_evaluate(xp: Any, keys: Any, a: Any, log_space: bool) -> Any:
    consume("a gamma draw", keys)
    count = math.prod(a.shape[keys.ndim :])
    words = split_words(xp, to_words(xp, keys).reshape(-1, 2), count).reshape(-1, 2)
    return gamma_numbers(xp, words, a.reshape(-1), log_space).astype(a.dtype).reshape(a.shape)


def gamma_abstract(keys: ShapedArray, a: ShapedArray, log_space: bool) -> ShapedArray:
    check_keys("random_gamma", keys)
    check_dtype("random_gamma", 1, a, FLOAT)
    if a.shape[: keys.ndim] != keys.shape:
        raise TypeError(
            f"random_gamma: the shape of `a` must begin with that of the keys, got {a.str_short()} "
            f"for {keys.str_short()}"
        )
    return a.strip_weak_type()


def gamma_partial(t: Any, out: Any, keys: Any, a: Any, log_space: bool) -> Any:
    if not log_space:
        return mul(t, random_gamma_grad(a, out))
    sample = exp(out)
    tiny = full_like(sample, dtypes.finfo(aval_of(sample).dtype).tiny)
    sample = select_n(eq(sample, scalar_like(0, sample)), sample, tiny)
    return mul(t, div(random_gamma_grad(a, sample), sample))


def gamma_batch(axis: Any, values: Sequence, axes: Sequence, log_space: bool) -> tuple:
    keys, a = map(batching.to_front, [axis] * 2, values, axes)
    return (random_gamma(keys, a, log_space),), (0,)


evaluate_rules[random_gamma_p] = single(gamma_evaluate)
abstract_rules[random_gamma_p] = pure(gamma_abstract)
forward.elementwise(random_gamma_p, None, gamma_partial)
batching.rules[random_gamma_p] = gamma_batch
