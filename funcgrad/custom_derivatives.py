"""Derivative rules of the user's own."""

from funcgrad.api.custom_gradient import closure_convert, custom_gradient, linear_call
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.custom_vjp import CustomVJPPrimal, custom_vjp
from funcgrad.api.rule_helpers import custom_vjp_primal_tree_values, zero_from_primal
from funcgrad.primitives.custom import SymbolicZero, custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
