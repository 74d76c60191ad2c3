"""Questions about the interpreter at work, for libraries that keep state beside it."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import insert_dim
from funcgrad.base.trace import EVALUATION, Trace, current_trace, running
from funcgrad.base.tracer import Tracer
from funcgrad.transforms.batching import Batching
from funcgrad.transforms.staging import Staging


class OpaqueTraceState:
    """Stands for the interpreter that was at work when it was asked for; equal for the same one."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace):
        self._trace = weakref.ref(trace)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return NotImplemented
        return self._trace() is not None and self._trace() is other._trace()

    def __hash__(self) -> int:
        return id(self._trace())


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """What compares equal to a later answer as long as the same interpreter is at work."""
    return OpaqueTraceState(current_trace())


def find_top_trace(_: Any = None) -> Trace:
    """The interpreter at work."""
    return current_trace()


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """The interpreter at work; in the block, values are computed at once."""
    trace = current_trace()
    with running(EVALUATION):
        yield trace


@contextmanager
def set_current_trace(trace: Trace, check_leaks: bool = False) -> Iterator[None]:
    """Have an interpreter at work in the block."""
    with running(trace):
        yield


def traces() -> Iterator[Trace]:
    """The interpreters at work, the innermost first, without evaluation."""
    trace = current_trace()
    while trace is not EVALUATION:
        yield trace
        trace = trace.parent


def under_jit() -> bool:
    """Whether a program is being written down."""
    return any(isinstance(t, Staging) for t in traces())


def axis_names() -> list[Any]:
    """The names of the axes that collectives may ask for through vmap, outermost first."""
    names = [t.axis.name for t in traces() if isinstance(t, Batching)]
    return [n for n in names if n is not None][::-1]


def under_vmap() -> bool:
    """Whether a function runs on a batch."""
    return any(isinstance(t, Batching) for t in traces())


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array, or a number that is as good as one."""
    try:
        aval_of(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Any, value: Any, context: str = "") -> Any:
    """`force(value)`, or the value itself if `force` is None, for a value that is known.

    Raises:
        ConcretizationTypeError: for a traced value, with the context.
    """
    if isinstance(value, Tracer) and force is None:
        raise value.concretization_error(
            ConcretizationTypeError, f"A value has to be known ({context or 'no reason given'})", ""
        )
    return value if force is None else force(value)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of one member of a batch along an axis; the same where there is none."""
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval.str_short()} is not of size {size}")
    shape = list(aval.shape)
    del shape[axis]
    return aval.update(shape=tuple(shape))


def unmapped_aval(
    size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None
) -> ShapedArray:
    """The aval of a batch whose members have this one."""
    return aval if axis is None else aval.update(shape=insert_dim(aval.shape, axis, size))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents; float0 where there is no derivative."""
    return tangent_aval(ShapedArray((), primal_dtype)).dtype
