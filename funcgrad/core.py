"""The types of the core under JAX's names: jaxprs, tracers, primitives and avals."""

from funcgrad.base.aval import ShapedArray
from funcgrad.base.aval import aval_of as get_aval
from funcgrad.base.trace import Primitive, Trace
from funcgrad.base.tracer import Tracer
from funcgrad.ir.check import JaxprTypeError, check_jaxpr
from funcgrad.ir.evaluate import eval_jaxpr, jaxpr_as_fun
from funcgrad.ir.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, Var
from funcgrad.ir.jaxpr import Eqn as JaxprEqn

__all__ = [
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
