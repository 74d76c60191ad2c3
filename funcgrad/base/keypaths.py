"""Key paths: the way from the root of a tree down to one leaf, one entry per step.

Each entry prints as the Python that takes that step, so a path reads like an expression:
`['params'][0].weight`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

KeyEntry = TypeVar("KeyEntry", bound=Any)
KeyPath = tuple[KeyEntry, ...]


def _check_entry(entry: object, value: object, wanted: type) -> None:
    """Refuse a key of the wrong type, such as a string where an index belongs."""
    if not isinstance(value, wanted):
        raise TypeError(
            f"{type(entry).__name__} takes a key of type {wanted.__name__}, "
            f"got {value!r} of type {type(value).__name__}."
        )


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step into a tuple or list: `[idx]`."""

    idx: int

    def __post_init__(self) -> None:
        _check_entry(self, self.idx, int)

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """The step into a dict: `[key]`."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step into an attribute, as of a namedtuple or dataclass: `.name`."""

    name: str

    def __post_init__(self) -> None:
        _check_entry(self, self.name, str)

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The step to child number `key` of a node whose type gives its children no names."""

    key: int

    def __post_init__(self) -> None:
        _check_entry(self, self.key, int)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as text.

    Args:
        keys: the entries of the path; anything with a `str` is accepted.
        simple: write only the bare key of each entry (`a`, not `['a']`). Shorter, but an index 0
            and a key "0" then look the same.
        separator: what to put between entries.

    Returns:
        The entries' text, joined.

    Example:
        >>> keystr((DictKey("w"), SequenceKey(0)))
        "['w'][0]"
        >>> keystr((DictKey("w"), SequenceKey(0)), simple=True, separator="/")
        'w/0'
    """
    return separator.join(map(_bare_key if simple else str, keys))


def _bare_key(entry: Any) -> str:
    match entry:
        case DictKey(bare) | SequenceKey(bare) | GetAttrKey(bare) | FlattenedIndexKey(bare):
            return str(bare)
        case _:
            return str(entry)


def place(path: KeyPath, name: str = "") -> str:
    """Name a place in a tree for a message: its path after `name`, or "the root"."""
    return name + keystr(path) or "the root"
