"""Lists taken apart and put together again: by sizes, or by masks.

A mask is a tuple that says True or False of each item.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

Mask = tuple[bool, ...]


def cut(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Consecutive parts of these sizes, and what is left."""
    parts, start = [], 0
    for size in sizes:
        parts.append(list(items[start : start + size]))
        start += size
    return [*parts, list(items[start:])]


def pick(mask: Sequence[bool], items: Sequence[T]) -> list[T]:
    """The items marked True."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def drop(mask: Sequence[bool], items: Sequence[T]) -> list[T]:
    """The items marked False."""
    return [x for x, m in zip(items, mask, strict=True) if not m]


def merge(mask: Sequence[bool], where_false: Iterable[Any], where_true: Iterable[Any]) -> tuple:
    """What `drop` and `pick` took apart, in its places again."""
    false, true = iter(where_false), iter(where_true)
    return tuple(next(true) if m else next(false) for m in mask)


def spread(mask: Sequence[bool], values: Iterable[T]) -> list[T | None]:
    """The values at the places marked True, None at the others."""
    rest = iter(values)
    return [next(rest) if m else None for m in mask]


def present(items: Sequence[Any]) -> Mask:
    """Which items are not None."""
    return tuple([x is not None for x in items])


def given(items: Iterable[T | None]) -> list[T]:
    """The items that are not None."""
    return [x for x in items if x is not None]


def either(masks: Sequence[Sequence[bool]]) -> Mask:
    """Place by place, whether any of the masks says True."""
    return tuple(any(column) for column in zip(*masks, strict=True))


def inverse(mask: Sequence[bool]) -> Mask:
    """True and False exchanged."""
    return tuple(not m for m in mask)
