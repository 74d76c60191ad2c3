"""Key reuse: while `debug_key_reuse` is on, a random key consumed a second time raises.

An evaluated key is known by the memory it lies in, so that a view of an array of keys is those same
keys; a traced one is known by its variable.
"""

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base.config import config
from funcgrad.base.errors import KeyReuseError
from funcgrad.base.source import current_source
from funcgrad.base.trace import Trace
from funcgrad.ir.jaxpr import Var


class Use(NamedTuple):
    """One consumption: by what, in which line, and of which keys of their array."""

    by: str
    place: str
    offsets: np.ndarray


class Consumed(NamedTuple):
    """The uses of the keys in one piece of memory; `owner()` is the array it belongs to."""

    owner: Callable[[], Any]
    uses: list[Use]


_by_memory: dict[int, Consumed] = {}
_by_program: "weakref.WeakKeyDictionary[Trace, dict[Var, Use]]" = weakref.WeakKeyDictionary()


def consume(by: str, keys: Any) -> None:
    """Note that a buffer of keys is used up; raise KeyReuseError if some of it was already."""
    if not config.debug_key_reuse or not isinstance(keys, np.ndarray):
        return
    owner = keys
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    number = id(owner)
    known = _by_memory.get(number)
    if known is None or known.owner() is not owner:
        forget = weakref.finalize(owner, _by_memory.pop, number, None)
        forget.atexit = False
        known = _by_memory[number] = Consumed(weakref.ref(owner), [])
    offsets = addresses(keys) - owner.__array_interface__["data"][0]
    for use in known.uses:
        if np.isin(offsets, use.offsets).any():
            raise reused(by, use)
    known.uses.append(Use(by, place_now(), offsets))


def consume_variable(by: str, program: Trace, variable: Var) -> None:
    """The same for a key in a program that is being written."""
    uses = _by_program.setdefault(program, {})
    if variable in uses:
        raise reused(by, uses[variable])
    uses[variable] = Use(by, place_now(), np.empty(0))


def addresses(keys: np.ndarray) -> np.ndarray:
    """Where in memory each key lies; repeats of one key count once."""
    place = np.array(keys.__array_interface__["data"][0])
    for size, stride in zip(keys.shape, keys.strides, strict=True):
        place = place[..., None] + stride * np.arange(size)
    return np.unique(place)


def place_now() -> str:
    place = current_source()
    return f" at {place}" if place else ""


def reused(by: str, use: Use) -> KeyReuseError:
    return KeyReuseError(
        f"a random key is reused: {by}{place_now()} was given a key that {use.by}{use.place} has "
        "consumed. Two draws from one key are not independent. Make a key for each use, as in "
        "`key, sub = random.split(key)`, or where a repetition is meant use random.clone(key)."
    )
