"""Events, durations, scalars and time spans, recorded and heard; among them jit's own.

For each function that jit traces and each program that is compiled, a duration and a time span are
recorded: "/jax/core/compile/jaxpr_trace_duration" and "/jax/core/compile/backend_compile_duration".
For each object file looked for on disk there is an event "/jax/compilation_cache/cache_hits" or
"/jax/compilation_cache/cache_misses".
"""

from funcgrad.api.monitoring import (
    clear_event_listeners,
    record_event,
    record_event_duration_secs,
    record_event_time_span,
    record_scalar,
    register_event_duration_secs_listener,
    register_event_listener,
    register_event_time_span_listener,
    register_scalar_listener,
    unregister_event_duration_listener,
    unregister_event_listener,
    unregister_event_time_span_listener,
    unregister_scalar_listener,
)

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
