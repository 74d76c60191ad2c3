"""Derivative rules of the user's own."""

from funcgrad.api.custom_gradient import closure_convert, custom_gradient, linear_call
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.custom_vjp import CustomVJPPrimal, custom_vjp
from funcgrad.primitives.custom import SymbolicZero

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "linear_call",
]
