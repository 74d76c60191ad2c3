"""Derivatives of a user's primitive, forward and transposed."""

from funcgrad.api.derivative_rules import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    defbilinear,
    defjvp,
    defjvp2,
    deflinear,
    deflinear2,
    get_primitive_transpose,
    instantiate_zeros,
    is_undefined_primal,
    primitive_jvps,
    primitive_transposes,
)
from funcgrad.base.basis import add as add_jaxvals
from funcgrad.base.basis import add_p as add_jaxvals_p
from funcgrad.transforms.forward import Forward as JVPTrace
from funcgrad.transforms.forward import ForwardTracer as JVPTracer
from funcgrad.transforms.forward import zeros_like_aval

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]
