"""Random keys: making them from seeds, deriving new ones, and drawing bits, by threefry-2x32.

A key is two uint32 words; an array of keys has one structured element for each, so the operations
that only move elements work on keys as they are.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, shaped
from funcgrad.base.config import config
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import BITS, Expr, Graph, Index
from funcgrad.compiler.lowering import Element, Position
from funcgrad.primitives.bits import PARITY, ROTATIONS, hash_lower, threefry2x32_p
from funcgrad.primitives.key_reuse import consume
from funcgrad.primitives.nary import nary_shape
from funcgrad.transforms import batching, forward

random_seed_p = Primitive("random_seed")
random_split_p = Primitive("random_split")
random_fold_in_p = Primitive("random_fold_in")
random_bits_p = Primitive("random_bits")
random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")
random_clone_p = Primitive("random_clone")


class PRNGImpl(NamedTuple):
    """A generator: its name, the short tag in the dtype of its keys, and the words of a key."""

    name: str
    tag: str
    key_shape: tuple[int, ...]

    @property
    def dtype(self) -> dtypes.KeyType:
        return dtypes.key_type(self.name, self.tag, math.prod(self.key_shape))

    def __str__(self) -> str:
        return self.tag


threefry_prng_impl = PRNGImpl("threefry2x32", "fry", (2,))


def random_seed(seeds: Any, impl: PRNGImpl = threefry_prng_impl) -> Any:
    """A key for each integer of `seeds`."""
    return random_seed_p.bind(seeds, impl=impl)


def random_split(keys: Any, shape: Sequence[int]) -> Any:
    """For each key, an array of that shape of new ones."""
    return random_split_p.bind(keys, shape=tuple(shape))


def random_fold_in(keys: Any, msgs: Any) -> Any:
    """Elementwise a new key made of a key and a uint32 number."""
    return random_fold_in_p.bind(keys, msgs)


def random_bits(keys: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """For each key, an array of that shape of unsigned integers, every bit of them random."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=tuple(shape))


def random_wrap(base_arr: Any, impl: PRNGImpl = threefry_prng_impl) -> Any:
    """Keys from their words, uint32[..., 2]."""
    return random_wrap_p.bind(base_arr, impl=impl)


def random_unwrap(keys: Any) -> Any:
    """The words of keys, uint32[..., 2]."""
    return random_unwrap_p.bind(keys)


def random_clone(keys: Any) -> Any:
    """The same keys, which the check of `debug_key_reuse` takes for new ones."""
    return random_clone_p.bind(keys)


# words and keys


def to_words(xp: Any, keys: Any) -> Any:
    """The words of keys, along one more axis."""
    return xp.ascontiguousarray(keys).reshape(*keys.shape, 1).view(np.uint32)


def from_words(xp: Any, words: Any, dtype: dtypes.KeyType = dtypes.threefry_key_type) -> Any:
    """The keys with these words, a view of them where they lie close together."""
    return xp.ascontiguousarray(words).view(dtype.buffer_dtype)[..., 0]


def seed_words(xp: Any, seeds: Any) -> Any:
    """The high and the low 32 bits of seeds of 64; a narrower seed has none but the low ones."""
    low = seeds.astype(np.int64).astype(np.uint32)
    high = (seeds.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
    return xp.stack([high if seeds.dtype.itemsize == 8 else xp.zeros_like(low), low], axis=-1)


# hashing

FEW = 8  # hashes that Python's integers are done with before NumPy's hundred calls are


def threefry(xp: Any, key0: Any, key1: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Elementwise the two words that a counter of two words is hashed to under a key."""
    operands = key0, key1, first, second
    together = np.broadcast(*operands) if xp is np else None
    if together is None or together.size > FEW:
        return evaluate_rules[threefry2x32_p](xp, *operands)
    pairs = [hash_pair(*map(int, four)) for four in together]
    hashed = np.array(pairs, np.uint32).reshape(*together.shape, 2)
    return hashed[..., 0], hashed[..., 1]


def hash_pair(key0: int, key1: int, x: int, y: int) -> tuple[int, int]:
    mask, schedule = 0xFFFFFFFF, (key0, key1, key0 ^ key1 ^ int(PARITY))
    x, y = (x + key0) & mask, (y + key1) & mask
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = (x + y) & mask
            y = ((y << rotation) & mask | y >> (32 - rotation)) ^ x
        x = (x + schedule[(group + 1) % 3]) & mask
        y = (y + schedule[(group + 2) % 3] + group + 1) & mask
    return x, y


# the two streams, for a flat array of keys given by their words: [keys, 2] -> [keys, count]


def threefry_at_index(xp: Any, words: Any, count: int) -> tuple[Any, Any]:
    """The hashes of 0, 1, 2, ... as 64-bit counters: each depends on its own index alone."""
    index = xp.arange(count, dtype=np.uint64)
    high = (index >> np.uint64(32)).astype(np.uint32)
    return threefry(xp, words[:, :1], words[:, 1:], high[None], index.astype(np.uint32)[None])


def threefry_in_halves(xp: Any, words: Any, count: int) -> Any:
    """The hashes of 0, 1, 2, ..., where the first half is paired with the second."""
    index = xp.arange(count + count % 2, dtype=np.uint32)
    if count % 2:
        index[-1] = 0
    halves = index.reshape(2, 1, -1)
    hashed = threefry(xp, words[:, :1], words[:, 1:], halves[0], halves[1])
    return xp.concatenate(hashed, axis=1)[:, :count]


def split_words(xp: Any, words: Any, count: int) -> Any:
    """`count` new keys from each: [keys, 2] -> [keys, count, 2]."""
    if config.threefry_partitionable:
        return xp.stack(threefry_at_index(xp, words, count), axis=-1)
    return threefry_in_halves(xp, words, 2 * count).reshape(len(words), count, 2)


def draw_bits(xp: Any, words: Any, bit_width: int, count: int) -> Any:
    """`count` random integers under each key: [keys, 2] -> uint[keys, count]."""
    dtype = np.dtype(f"uint{bit_width}")
    if config.threefry_partitionable:
        first, second = threefry_at_index(xp, words, count)
        if bit_width == 64:
            return (first.astype(dtype) << dtype.type(32)) | second
        return (first ^ second).astype(dtype)
    stream = blocks_of_stream(xp, words, -(-bit_width * count // 32))
    if bit_width == 64:
        return (stream[:, :count].astype(dtype) << dtype.type(32)) | stream[:, count:]
    return xp.ascontiguousarray(stream).view(dtype)[:, :count]


LONGEST_BLOCK = 2**32 - 1  # as far as a counter of 32 bits goes


def blocks_of_stream(xp: Any, words: Any, count: int) -> Any:
    """`count` words in a row; where one key's counter does not reach so far, of several keys."""
    blocks, rest = divmod(count, LONGEST_BLOCK)
    if not blocks:
        return threefry_in_halves(xp, words, count)
    keys = split_words(xp, words, blocks + 1)
    sizes = [LONGEST_BLOCK] * blocks + [rest]
    parts = [threefry_in_halves(xp, keys[:, i], size) for i, size in enumerate(sizes)]
    return xp.concatenate(parts, axis=1)


# seed, split, fold_in, bits


def check_keys(name: str, keys: ShapedArray) -> None:
    if keys.dtype != dtypes.threefry_key_type:
        raise TypeError(
            f"{name} takes threefry keys, got {keys.str_short()}. random.key(0) makes a key, and "
            "random.wrap_key_data one of its words."
        )


def seed_abstract(seeds: ShapedArray, impl: PRNGImpl) -> ShapedArray:
    if not dtypes.issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"a seed for random keys must be an integer, got {seeds.str_short()}")
    return shaped(seeds.shape, impl.dtype)


def split_abstract(keys: ShapedArray, shape: tuple[int, ...]) -> ShapedArray:
    check_keys("random_split", keys)
    return keys.update(shape=keys.shape + shape)


def split_evaluate(xp: Any, keys: Any, shape: tuple[int, ...]) -> Any:
    consume("split", keys)
    new = split_words(xp, to_words(xp, keys).reshape(-1, 2), math.prod(shape))
    return from_words(xp, new).reshape(keys.shape + shape)


def fold_in_abstract(keys: ShapedArray, msgs: ShapedArray) -> ShapedArray:
    check_keys("random_fold_in", keys)
    if msgs.dtype != np.uint32:
        raise TypeError(f"random_fold_in takes uint32 numbers, got {msgs.str_short()}")
    return keys.update(shape=nary_shape("random_fold_in", (keys, msgs)))


def fold_in_evaluate(xp: Any, keys: Any, msgs: Any) -> Any:
    words = to_words(xp, keys)
    hashed = threefry(xp, words[..., 0], words[..., 1], xp.zeros_like(msgs), msgs)
    return from_words(xp, xp.stack(hashed, axis=-1))


def bits_abstract(keys: ShapedArray, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
    check_keys("random_bits", keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits draws integers of 8, 16, 32 or 64 bits, not of {bit_width}")
    return shaped(keys.shape + shape, np.dtype(f"uint{bit_width}"))


def bits_evaluate(xp: Any, keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    consume("a draw", keys)
    words = to_words(xp, keys).reshape(-1, 2)
    return draw_bits(xp, words, bit_width, math.prod(shape)).reshape(keys.shape + shape)


evaluate_rules[random_seed_p] = single(
    lambda xp, seeds, impl: from_words(xp, seed_words(xp, seeds), impl.dtype)
)
abstract_rules[random_seed_p] = pure(seed_abstract)
forward.zero_derivative(random_seed_p)
batching.elementwise(random_seed_p)

evaluate_rules[random_split_p] = single(split_evaluate)
abstract_rules[random_split_p] = pure(split_abstract)
forward.zero_derivative(random_split_p)
batching.elementwise(random_split_p)

evaluate_rules[random_fold_in_p] = single(fold_in_evaluate)
abstract_rules[random_fold_in_p] = pure(fold_in_abstract)
forward.zero_derivative(random_fold_in_p)
batching.elementwise(random_fold_in_p)

evaluate_rules[random_bits_p] = single(bits_evaluate)
abstract_rules[random_bits_p] = pure(bits_abstract)
forward.zero_derivative(random_bits_p)
batching.elementwise(random_bits_p)


def joined(low: Expr, high: Expr) -> Expr:
    """Two words as one number of 64 bits, which is how kernels hold keys."""
    return low.to("u64") | high.to("u64") << 32


def parted(key: Expr) -> tuple[Expr, Expr]:
    return key.to("u32"), (key >> 32).to("u32")


def seed_lower(seeds: Expr, impl: PRNGImpl) -> Expr:
    low = seeds.to("u32")
    high = seeds.bits("u64") >> 32 if BITS[seeds.dtype] == 64 else seeds.graph.const(0, "u64")
    return joined(high.to("u32"), low)


def fold_in_lower(keys: Expr, msgs: Expr) -> Expr:
    return joined(*hash_lower(*parted(keys), keys.graph.const(0, "u32"), msgs))


def hashed_index(
    graph: Graph, index: Position, keys: Element, shape: tuple[int, ...]
) -> tuple[Expr, Expr]:
    """The hash of an element's row-major offset in the array drawn under its key."""
    ndim = len(keys.shape)
    offset = lowering.linear(shape, index[ndim:])
    if math.prod(shape) <= 2**32:
        high, low = graph.const(0, "u32"), graph.value(offset, "u32")
    else:
        low, high = parted(graph.value(offset, "u64"))
    return hash_lower(*parted(keys(index[:ndim])), high, low)


def split_lower(graph: Graph, index: Position, keys: Element, shape: tuple[int, ...]) -> Expr:
    return joined(*hashed_index(graph, index, keys, shape))


def bits_lower(
    graph: Graph, index: Position, keys: Element, bit_width: int, shape: tuple[int, ...]
) -> Expr:
    first, second = hashed_index(graph, index, keys, shape)
    return joined(second, first) if bit_width == 64 else (first ^ second).to(f"u{bit_width}")


def watched(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    """Whether keys are followed through memory to find those that are used twice."""
    return config.debug_key_reuse


def by_stream(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    """Whether words come from a stream, and not from each element's own index."""
    return not config.threefry_partitionable or watched(avals, params)


lowering.elementwise(random_seed_p, seed_lower)
lowering.elementwise(random_fold_in_p, fold_in_lower)
lowering.rules[random_split_p] = split_lower
lowering.rules[random_bits_p] = bits_lower
lowering.refusals[random_split_p] = lowering.refusals[random_bits_p] = by_stream


# wrap, unwrap, clone


def wrap_abstract(base_arr: ShapedArray, impl: PRNGImpl) -> ShapedArray:
    if base_arr.dtype != np.uint32 or base_arr.shape[-1:] != impl.key_shape:
        raise TypeError(
            f"the words of {impl.name} keys are uint32[..., 2], got {base_arr.str_short()}. "
            "random.key(0) makes a key, random.PRNGKey(0) the words of one."
        )
    return shaped(base_arr.shape[:-1], impl.dtype)


def wrap_evaluate(xp: Any, base_arr: Any, impl: PRNGImpl) -> Any:
    # Words may be wrapped often; only what is wrapped counts as a key that gets consumed.
    words = base_arr.copy() if config.debug_key_reuse else base_arr
    return from_words(xp, words, impl.dtype)


def wrap_batch(axis: Any, values: Sequence, axes: Sequence, impl: PRNGImpl) -> tuple:
    return (random_wrap(batching.to_front(axis, values[0], axes[0]), impl),), (0,)


def unwrap_abstract(keys: ShapedArray) -> ShapedArray:
    check_keys("random_unwrap", keys)
    return shaped((*keys.shape, keys.dtype.words), np.dtype(np.uint32))


def clone_abstract(keys: ShapedArray) -> ShapedArray:
    check_keys("random_clone", keys)
    return keys


evaluate_rules[random_wrap_p] = single(wrap_evaluate)
abstract_rules[random_wrap_p] = pure(wrap_abstract)
forward.zero_derivative(random_wrap_p)
batching.rules[random_wrap_p] = wrap_batch

evaluate_rules[random_unwrap_p] = single(to_words)
abstract_rules[random_unwrap_p] = pure(unwrap_abstract)
forward.zero_derivative(random_unwrap_p)
batching.elementwise(random_unwrap_p)

evaluate_rules[random_clone_p] = single(lambda xp, keys: keys.copy())
abstract_rules[random_clone_p] = pure(clone_abstract)
forward.zero_derivative(random_clone_p)
batching.elementwise(random_clone_p)


def wrap_lower(graph: Graph, index: Position, words: Element, impl: PRNGImpl) -> Expr:
    return joined(words((*index, Index(0))), words((*index, Index(1))))


def unwrap_lower(graph: Graph, index: Position, keys: Element) -> Expr:
    *outer, word = index
    return (keys(tuple(outer)) >> graph.value(word.times(32), "u64")).to("u32")


lowering.view(random_wrap_p, wrap_lower)
lowering.view(random_unwrap_p, unwrap_lower)
lowering.view(random_clone_p, lambda graph, index, keys: keys(index))
for _primitive in (random_wrap_p, random_unwrap_p, random_clone_p):
    lowering.refusals[_primitive] = watched
