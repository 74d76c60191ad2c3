"""The rule tables of the interpreters, for primitives of the user's own."""

from funcgrad.interpreters import ad, batching, mlir, partial_eval

__all__ = ["ad", "batching", "mlir", "partial_eval"]
