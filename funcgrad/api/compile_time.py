"""Computing while tracing: what is known is evaluated at once, and not written down."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from funcgrad.base.trace import EVALUATION, Primitive, Trace, current_trace, running, under
from funcgrad.base.tracer import Tracer


class CompileTime(Trace):
    """Computes what it can at once, and leaves what has a traced operand to its parent."""

    description = "ensure_compile_time_eval"

    def __init__(self, parent: Trace):
        self.parent = parent
        self.records = parent.records

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        traced = any(isinstance(arg, Tracer) for arg in args)
        trace = self.parent if traced else EVALUATION
        return under(trace, trace.process, primitive, args, params)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within this block, operations on known values are computed while tracing, not recorded.

    Example:
        >>> @jit
        ... def f(x):
        ...     with ensure_compile_time_eval():
        ...         size = int(jnp.arange(4).sum())  # known, though f is being traced
        ...     return x * size
        >>> f(2.0)
        Array(12., dtype=float32, weak_type=True)
    """
    with running(CompileTime(current_trace())):
        yield
