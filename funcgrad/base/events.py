"""Notices of what the library does (traces, compiles, runs), for whoever listens."""

from collections.abc import Callable
from typing import Any

Listener = Callable[[str, dict[str, Any]], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Call `listener(event, details)` at every event from now on; returns what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def notify(event: str, **details: Any) -> None:
    """Tell every listener; costs one test when there is none."""
    if _listeners:
        for listener in tuple(_listeners):
            listener(event, details)
