"""Programs that are written down, and what is left of them when some outputs are not asked for."""

from funcgrad.api.programs import (
    PartialVal,
    dce_jaxpr,
    trace_to_jaxpr_dynamic,
    trace_to_jaxpr_nounits,
)
from funcgrad.transforms.partial import Partial as JaxprTrace
from funcgrad.transforms.staging import RecordedTracer as DynamicJaxprTracer
from funcgrad.transforms.staging import Staging as DynamicJaxprTrace

__all__ = [
    "DynamicJaxprTrace",
    "DynamicJaxprTracer",
    "JaxprTrace",
    "PartialVal",
    "dce_jaxpr",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
