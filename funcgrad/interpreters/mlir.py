"""What a user's primitive is compiled as. There is no MLIR here: rules are functions of arrays."""

from funcgrad.api.lowering_rules import lower_fun, register_lowering

__all__ = ["lower_fun", "register_lowering"]
