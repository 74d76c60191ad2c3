"""The types of the core under JAX's names: jaxprs, tracers, primitives and avals."""

from funcgrad.api.trace_state import (
    concrete_or_error,
    find_top_trace,
    get_opaque_trace_state,
    mapped_aval,
    set_current_trace,
    take_current_trace,
    unmapped_aval,
    valid_jaxtype,
)
from funcgrad.base.aval import ShapedArray
from funcgrad.base.aval import ShapedArray as AbstractValue
from funcgrad.base.aval import aval_of as get_aval
from funcgrad.base.trace import Primitive, Trace
from funcgrad.base.tracer import Tracer
from funcgrad.ir.check import JaxprTypeError, check_jaxpr
from funcgrad.ir.evaluate import eval_jaxpr, jaxpr_as_fun
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, Literal, Var
from funcgrad.ir.jaxpr import Eqn as JaxprEqn

__all__ = [
    "AbstractValue",
    "Atom",
    "concrete_or_error",
    "find_top_trace",
    "get_opaque_trace_state",
    "mapped_aval",
    "set_current_trace",
    "take_current_trace",
    "unmapped_aval",
    "valid_jaxtype",
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "check_jaxpr",
    "eval_jaxpr",
    "get_aval",
    "jaxpr_as_fun",
]
