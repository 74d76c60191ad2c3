"""The one cache: bounded, cleared together, its keys completed with what every trace depends on."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from funcgrad.base.axes import bound_axes
from funcgrad.base.config import config

_caches: "weakref.WeakSet[Cache]" = weakref.WeakSet()
_registering = threading.RLock()  # a WeakSet may not grow while it is gone through


class Cache(dict):
    """A dict that drops its older half when it reaches `limit` entries."""

    __slots__ = ("__weakref__", "limit")

    def __init__(self, limit: int = 4096):
        super().__init__()
        self.limit = limit
        with _registering:
            _caches.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __setitem__(self, key: Hashable, value: Any) -> None:
        if len(self) >= self.limit:
            for old in list(self)[: self.limit // 2]:
                self.pop(old, None)
        super().__setitem__(key, value)


def context_key() -> tuple:
    """The part of a key that no caller need name: configuration and the bound axes."""
    return config.trace_key(), bound_axes()


class OncePerKey:
    """Computes the value of a key once, even when several threads ask for it at the same time."""

    def __init__(self, limit: int = 4096):
        self.entries = Cache(limit)
        self.locks: dict[Hashable, threading.RLock] = {}

    def get(self, key: Hashable, make: Callable[[], tuple[Any, bool]]) -> Any:
        """The value stored for `key`; else `make()` gives (value, whether to store it)."""
        try:
            return self.entries[key]
        except KeyError:
            pass
        lock = self.locks.setdefault(key, threading.RLock())
        with lock:
            if key in self.entries:
                return self.entries[key]
            try:
                value, keep = make()
                if keep:
                    self.entries[key] = value
            finally:
                self.locks.pop(key, None)
            return value


def clear_caches() -> None:
    """Forget every traced program, compiled program and abstract result."""
    with _registering:
        caches = list(_caches)
    for cache in caches:
        cache.clear()
