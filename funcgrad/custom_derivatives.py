"""Derivative rules of the user's own."""

from funcgrad.api.custom import (
    CustomVJPPrimal,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    linear_call,
)
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
