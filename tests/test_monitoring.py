"""Monitoring: listeners of each kind hear what is recorded, as in JAX; jit's own durations too."""

import inspect
import time

import pytest
from jax import monitoring as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import monitoring as ours
from funcgrad.api.monitoring import CACHE_HIT, CACHE_MISS, COMPILE, TRACE

KINDS = {
    "event": ("event_listener", "event_listener", "event", ()),
    "duration": ("event_duration_secs_listener", "event_duration_listener", "event_duration_secs",
                 (2.5,)),
    "scalar": ("scalar_listener", "scalar_listener", "scalar", (3,)),
    "time span": ("event_time_span_listener", "event_time_span_listener", "event_time_span",
                  (1.0, 2.0)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_listens():
    ours.clear_event_listeners()
    yield
    ours.clear_event_listeners()


def functions(library, kind):
    register, unregister, record, numbers = KINDS[kind]
    return (
        getattr(library, f"register_{register}"),
        getattr(library, f"unregister_{unregister}"),
        getattr(library, f"record_{record}"),
        numbers,
    )


@pytest.mark.parametrize("library", [ours, theirs], ids=["funcgrad", "jax"])
@pytest.mark.parametrize("kind", KINDS)
def test_listeners_hear_until_they_are_unregistered(library, kind):
    register, unregister, record, numbers = functions(library, kind)
    heard = []
    listener = lambda *args, **kwargs: heard.append((args, kwargs))
    register(listener)
    record("/a", *numbers)
    record("/b", *numbers, size=3, name="x")
    assert heard == [(("/a", *numbers), {}), (("/b", *numbers), {"size": 3, "name": "x"})]
    unregister(listener)
    record("/c", *numbers)
    assert len(heard) == 2
    with pytest.raises(AssertionError):
        unregister(listener)


def test_kinds_are_apart_and_clearing_ends_all():
    heard = []
    for kind in KINDS:
        register, *_ = functions(ours, kind)
        register(lambda *args, kind=kind, **kwargs: heard.append(kind))
    for kind in KINDS:
        _, _, record, numbers = functions(ours, kind)
        record("/x", *numbers)
    assert heard == list(KINDS)
    ours.clear_event_listeners()
    for kind in KINDS:
        _, _, record, numbers = functions(ours, kind)
        record("/x", *numbers)
    assert heard == list(KINDS)


def test_listener_registered_twice_hears_twice_and_its_errors_reach_the_recorder():
    heard = []
    ours.register_event_listener(heard.append)
    ours.register_event_listener(heard.append)
    ours.record_event("/x")
    assert heard == ["/x", "/x"]

    def fail(event):
        raise KeyError(event)

    ours.register_event_listener(fail)
    with pytest.raises(KeyError, match="/x"):
        ours.record_event("/x")
    with pytest.raises(TypeError, match="a listener is a function, got 3"):
        ours.register_event_listener(3)  # type: ignore[arg-type]


def test_traces_and_compilations_are_recorded():
    durations, spans, events = {}, {}, []
    ours.register_event_duration_secs_listener(
        lambda event, seconds, **kwargs: durations.setdefault(event, []).append((seconds, kwargs))
    )
    ours.register_event_time_span_listener(
        lambda event, start, end, **kwargs: spans.setdefault(event, []).append((start, end))
    )
    ours.register_event_listener(lambda event: events.append(event))

    def slow_to_trace(x):
        time.sleep(0.05)
        return fnp.sin(x) * 2

    before = time.time()
    f = fg.jit(slow_to_trace)
    f(1.0)
    f(2.0)
    assert set(durations) == set(spans) == {TRACE, COMPILE}
    ((traced, about),) = durations[TRACE]
    assert traced > 0.05 and about == {"fun_name": "slow_to_trace"}
    ((compiled, about),) = durations[COMPILE]
    assert 0 < compiled < 10 and "slow_to_trace" in about["fun_name"]
    ((start, end),) = spans[TRACE]
    assert before <= start < end <= time.time() and abs(end - start - traced) < 1e-9
    assert set(events) <= {CACHE_HIT, CACHE_MISS}


def test_a_trace_inside_a_trace_has_its_own_duration():
    names = []
    ours.register_event_duration_secs_listener(
        lambda event, seconds, fun_name: names.append(fun_name) if event == TRACE else None
    )

    def inner(x):
        return x + 1

    def outer(x):
        return fg.jit(inner)(x) * 2

    fg.jit(outer)(1.0)
    assert names == ["inner", "outer"]


def test_a_trace_that_fails_is_forgotten():
    names = []
    ours.register_event_duration_secs_listener(
        lambda event, seconds, fun_name: names.append(fun_name) if event == TRACE else None
    )

    def failing(x):
        raise KeyError("no")

    def good(x):
        with pytest.raises(KeyError):
            fg.jit(failing)(x)
        return x

    fg.jit(good)(1.0)
    assert names == ["good"]


def test_all_names_and_parameters_are_there():
    for name in ours.__all__:
        want = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == want, name
    assert {n for n in dir(theirs) if inspect.isfunction(getattr(theirs, n))} == set(ours.__all__)
