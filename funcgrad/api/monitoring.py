"""Monitoring: named events, durations, scalars and time spans, handed to whoever registered.

What funcgrad records itself: `TRACE` and `COMPILE`, a duration and a time span for each function
that jit traces and each program that is compiled (with `fun_name`), and an event `CACHE_HIT` or
`CACHE_MISS` for each object file looked for on disk. They have the names that JAX gives them.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from funcgrad.base import events
from funcgrad.base.source import function_name

TRACE = "/jax/core/compile/jaxpr_trace_duration"
COMPILE = "/jax/core/compile/backend_compile_duration"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
CACHE_MISS = "/jax/compilation_cache/cache_misses"

# Traces and compilations under way that are remembered; those that failed are never finished.
MOST_OPEN = 64

Metadata = str | int


# (event, *what the kind records, **metadata)
Listener = Callable[..., Any]

_events: list[Listener] = []
_durations: list[Listener] = []
_scalars: list[Listener] = []
_time_spans: list[Listener] = []


def record_event(event: str, **kwargs: Metadata) -> None:
    """Tell all event listeners that something happened.

    Args:
        event: its name, such as "/my_library/restarted".
        kwargs: what else to tell of it.

    Example:
        >>> from funcgrad import monitoring
        >>> heard = lambda event, **kwargs: print(event, kwargs)
        >>> monitoring.register_event_listener(heard)
        >>> monitoring.record_event("/app/restarted", attempt=2)
        /app/restarted {'attempt': 2}
        >>> monitoring.unregister_event_listener(heard)
    """
    for listener in tuple(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: Metadata) -> None:
    """Tell all duration listeners how long something took, in seconds."""
    for listener in tuple(_durations):
        listener(event, duration, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: Metadata) -> None:
    """Tell all scalar listeners a number."""
    for listener in tuple(_scalars):
        listener(event, value, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: Metadata
) -> None:
    """Tell all time span listeners when something began and ended, in seconds since the epoch."""
    for listener in tuple(_time_spans):
        listener(event, start_time, end_time, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Call `callback(event, **kwargs)` at every event from now on."""
    _register(_events, callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call `callback(event, duration, **kwargs)` at every duration recorded from now on."""
    _register(_durations, callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call `callback(event, value, **kwargs)` at every scalar recorded from now on."""
    _register(_scalars, callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call `callback(event, start_time, end_time, **kwargs)` at every time span from now on."""
    _register(_time_spans, callback)


def unregister_event_listener(callback: Listener) -> None:
    """Call it no more. Raises AssertionError if it is not registered."""
    _unregister(_events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Call it no more. Raises AssertionError if it is not registered."""
    _unregister(_durations, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Call it no more. Raises AssertionError if it is not registered."""
    _unregister(_scalars, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Call it no more. Raises AssertionError if it is not registered."""
    _unregister(_time_spans, callback)


def clear_event_listeners() -> None:
    """Call no listener of any kind any more (in JAX, scalar listeners stay)."""
    for listeners in (_events, _durations, _scalars, _time_spans):
        listeners.clear()


def _register(listeners: list[Listener], callback: Listener) -> None:
    if not callable(callback):
        raise TypeError(f"a listener is a function, got {callback!r:.60}")
    listeners.append(callback)


def _unregister(listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise AssertionError(f"{callback!r:.80} is not registered as a listener of this kind")
    listeners.remove(callback)


class _Open(threading.local):
    """What this thread is tracing or compiling, outermost first: what it is, and since when."""

    def __init__(self) -> None:
        # By identity: what fails must not be kept alive.
        self.traces: deque[tuple[int, float]] = deque(maxlen=MOST_OPEN)
        self.compilations: deque[tuple[int, float]] = deque(maxlen=MOST_OPEN)


_open = _Open()


def _on_event(event: str, details: dict[str, Any]) -> None:
    """Record the traces and compilations that the library tells of."""
    if event == "trace":
        _open.traces.append((id(details["function"]), time.time()))
    elif event == "compile":
        _open.compilations.append((id(details["program"]), time.time()))
    elif event == "traced":
        _finish(TRACE, _open.traces, details["function"], function_name(details["function"]))
    elif event == "compiled":
        program = details["program"]
        name = program.jaxpr.debug_info.function.removesuffix(" for jit")
        _finish(COMPILE, _open.compilations, program, name)
    elif event == "object":
        record_event(CACHE_HIT if details["kept"] else CACHE_MISS)


def _finish(name: str, begun: deque[tuple[int, float]], what: Any, fun_name: str) -> None:
    while begun:
        candidate, start = begun.pop()
        if candidate == id(what):
            end = time.time()
            record_event_duration_secs(name, end - start, fun_name=fun_name)
            record_event_time_span(name, start, end, fun_name=fun_name)
            return


events.listen(_on_event)
