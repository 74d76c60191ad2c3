"""Programs and primitives: their types, and primitives of the user's own."""

from funcgrad.api.programs import gensym, jaxprs_in_params, new_jaxpr_eqn, subjaxprs
from funcgrad.api.trace_state import (
    axis_names as unsafe_get_axis_names_DO_NOT_USE,
)
from funcgrad.api.trace_state import (
    concrete_or_error,
    find_top_trace,
    get_opaque_trace_state,
    mapped_aval,
    primal_dtype_to_tangent_dtype,
    set_current_trace,
    take_current_trace,
    unmapped_aval,
    valid_jaxtype,
)
from funcgrad.api.trace_state import (
    under_jit as unsafe_am_i_under_a_jit_DO_NOT_USE,
)
from funcgrad.api.trace_state import (
    under_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE,
)
from funcgrad.base.axes import Effect
from funcgrad.base.trace import NO_EFFECTS as no_effects
from funcgrad.base.trace import CallPrimitive, Primitive
from funcgrad.extend.core import primitives
from funcgrad.ir.check import JaxprTypeError, check_jaxpr
from funcgrad.ir.evaluate import jaxpr_as_fun
from funcgrad.ir.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, Var
from funcgrad.ir.jaxpr import Eqn as JaxprEqn

__all__ = [
    "CallPrimitive",
    "ClosedJaxpr",
    "DropVar",
    "Effect",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Var",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
