"""Keys: the explicit state of the generator. A key is made of a seed, and new keys of a key."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import add, convert, scalar_like
from funcgrad.base.config import config
from funcgrad.base.methods import Array
from funcgrad.base.shapes import canonical_shape
from funcgrad.base.tracer import Tracer
from funcgrad.primitives.key_reuse import consume_variable
from funcgrad.primitives.keys import (
    PRNGImpl,
    random_clone,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
    threefry_prng_impl,
)
from funcgrad.transforms.batching import BatchTracer
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.staging import RecordedTracer

PRNGS = {threefry_prng_impl.name: threefry_prng_impl}


class Checked(NamedTuple):
    """A typed key, and whether it came as raw words, so that results go back as such."""

    typed: Any
    raw: bool

    def like(self, keys: Any) -> Any:
        return as_asked(keys) if self.raw else keys


def as_asked(keys: Any) -> Any:
    """What stands for typed keys where raw ones were asked for: their words, by default."""
    return keys if config.enable_custom_prng else random_unwrap(keys)


def is_key(x: Any) -> bool:
    return isinstance(x, Array) and isinstance(x.aval.dtype, dtypes.KeyType)


def checked_key(name: str, key: Any, batched: bool = False, consumed: bool = True) -> Checked:
    """The key that the user gave the function `name`.

    Raises:
        TypeError: it is no key.
        ValueError: it is an array of keys, and `batched` does not allow that; or it is a raw key,
            and `legacy_prng_key` does not.
    """
    if hasattr(key, "__jax_array__"):
        key = key.__jax_array__()
    raw = not is_key(key)
    typed = wrapped(name, key) if raw else key
    if typed.ndim and not batched:
        raise ValueError(
            f"{name} draws with one key, and these are keys of shape {typed.shape}. Index them for "
            f"one, or use vmap(lambda key: random.{name}(key, ...))(keys)."
        )
    if consumed and config.debug_key_reuse:
        consume_traced(name, typed)
    return Checked(typed, raw)


def wrapped(name: str, key: Any) -> Any:
    """A raw key as a typed one; TypeError for what is neither."""
    wanted = f"{name} needs a random key"
    if not isinstance(key, Array | np.ndarray):
        seed = key if isinstance(key, int | np.integer) and not isinstance(key, bool) else 0
        raise TypeError(
            f"{wanted}, got {key!r:.60} of type {type(key).__name__}. Make a key of a seed with "
            f"random.key({seed}), and new ones of it with random.split(key)."
        )
    aval = aval_of(key)
    if aval.dtype != np.uint32 or aval.shape[-1:] != (2,):
        raise TypeError(
            f"{wanted}, made by random.key(0), or the two words of one, uint32[2]; got an array "
            f"{aval.str_short()}."
        )
    if config.legacy_prng_key == "error":
        raise ValueError(
            f"{name} was given a raw uint32 key, and legacy_prng_key is 'error'. Make typed keys "
            "with random.key(seed), or call random.wrap_key_data(key)."
        )
    if config.legacy_prng_key == "warn" or config.enable_custom_prng:
        warnings.warn(
            f"{name} was given a raw uint32 key; random.key(seed) makes typed ones, and "
            "random.wrap_key_data(key) turns raw ones into them.",
            UserWarning if config.legacy_prng_key == "warn" else FutureWarning,
            stacklevel=4,
        )
    return random_wrap(key)


def consume_traced(name: str, key: Any) -> None:
    """Where a program is being written, note that it uses up this key; evaluation notes its own."""
    while isinstance(key, Tracer):
        match key:
            case RecordedTracer():
                return consume_variable(name, key._trace, key.variable)
            case ForwardTracer():
                key = key.primal
            case BatchTracer():
                key = key.value
            case _:
                return None


def resolve_impl(spec: Any) -> PRNGImpl:
    """The generator meant by a name, a key dtype or None; only threefry2x32 is built in."""
    if spec is None:
        return PRNGS[config.default_prng_impl]
    if isinstance(spec, PRNGImpl):
        return spec
    name = spec.impl if isinstance(spec, dtypes.KeyType) else spec
    if not isinstance(name, str):
        raise TypeError(
            f"a generator is named by a string or a key dtype, got {spec!r} of type "
            f"{type(spec).__name__}. The one there is is 'threefry2x32'."
        )
    if name not in PRNGS:
        raise ValueError(
            f"unrecognized PRNG implementation {name!r}. Use 'threefry2x32', the default, whose "
            "numbers are the same on every device and under every transformation; 'rbg', "
            "'unsafe_rbg', 'philox' and 'threefry4x32' are not offered."
        )
    return PRNGS[name]


def one_impl(impl: Any, dtype: Any) -> PRNGImpl:
    if impl is not None and dtype is not None:
        raise ValueError(f"give `impl` or `dtype`, not both; got {impl!r} and {dtype!r}.")
    return resolve_impl(impl if dtype is None else dtype)


def seeded(name: str, seed: Any, impl: PRNGImpl) -> Any:
    """The key of a seed, of which without 64-bit dtypes only the low 32 bits count."""
    if is_key(seed):
        raise TypeError(
            f"{name} makes a key of an integer seed, and was given a key. random.split(key) and "
            "random.fold_in(key, data) make new keys of a key."
        )
    if isinstance(seed, int):
        if not -(1 << 63) <= seed < 1 << 63:
            raise OverflowError(f"{name}: the seed {seed} does not fit into 64 bits with a sign.")
        seed = np.int64(seed)
    aval = aval_of(seed)
    if aval.shape:
        raise TypeError(
            f"{name} makes one key of one scalar seed, and this seed has shape {aval.shape}. For "
            f"one key each, use vmap(random.{name})(seeds)."
        )
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"{name} needs an integer seed, got {aval.str_short()}, {seed!r:.60}")
    if config.random_seed_offset:
        offset = np.int64(config.random_seed_offset).astype(aval.dtype)
        seed = add(seed, scalar_like(offset, seed))
    return random_seed(seed, impl)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A random key, to be handed to the functions that draw numbers and to `split`.

    Args:
        seed: an integer scalar. Equal seeds give equal keys. Of a Python integer all 64 bits count
            under `enable_x64`, otherwise the low 32.
        impl, dtype: the generator, "threefry2x32" or the dtype of its keys; one of the two.

    Returns:
        An array of shape () whose dtype is `key<fry>`.

    Raises:
        TypeError: the seed is no integer scalar.
        ValueError: there is no such generator.

    Example:
        >>> from funcgrad import random
        >>> first, second = random.split(random.key(0))
        >>> x = random.normal(first, (3,))
    """
    return seeded("key", seed, one_impl(impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Like `key`, but a raw one: its two words, uint32[2]."""
    return as_asked(seeded("PRNGKey", seed, resolve_impl(impl)))


def key_dtype(impl_spec: Any = None) -> dtypes.KeyType:
    """The dtype of the keys of a generator."""
    return resolve_impl(impl_spec).dtype


def key_impl(keys: Any) -> str:
    """The name of the generator that keys belong to, "threefry2x32"."""
    return checked_key("key_impl", keys, batched=True, consumed=False).typed.dtype.impl


def key_data(keys: Any) -> Any:
    """The words of an array of keys, uint32[..., 2]."""
    return random_unwrap(checked_key("key_data", keys, batched=True, consumed=False).typed)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """The array of keys with these words, uint32[..., 2]; what `key_data` gives, taken back."""
    return random_wrap(key_bits_array, one_impl(impl, dtype))


def fold_in(key: Any, data: Any) -> Any:
    """A new key made of a key and an integer, such as a step or a device number.

    Args:
        key: a key.
        data: an integer scalar of which 32 bits count.

    Raises:
        TypeError: `data` is not a scalar.
        OverflowError: it is a Python integer outside of 0 .. 2^32 - 1.
    """
    given = checked_key("fold_in", key, consumed=False)
    if isinstance(data, int):
        if not 0 <= data < 1 << 32:
            raise OverflowError(f"fold_in: {data} is out of bounds for uint32, 0 .. 2^32 - 1.")
        data = np.uint32(data)
    aval = aval_of(data)
    if aval.shape:
        raise TypeError(
            f"fold_in needs data that is a scalar, and this has shape {aval.shape}. For one key "
            "each, use vmap(random.fold_in, in_axes=(None, 0))(key, data)."
        )
    return given.like(random_fold_in(given.typed, convert(data, np.uint32)))


def split_typed(key: Any, num: int | Sequence[int] = 2) -> Any:
    return random_split(key, canonical_shape(num, "num"))


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys made of one, which should not be used again.

    Args:
        key: a key.
        num: how many, or the shape of the array of them.

    Returns:
        An array of keys of shape `(num,)` or `num`; of words, uint32[..., 2], for a raw key.

    Example:
        >>> key, sub = random.split(random.key(0))
    """
    given = checked_key("split", key)
    return given.like(split_typed(given.typed, num))


def clone(key: Any) -> Any:
    """The same key, which may be used once more while `debug_key_reuse` is on."""
    return random_clone(key) if is_key(key) else key
