"""The stages of a jitted function: traced, lowered, compiled."""

from funcgrad.api.jit import JitFunction as Wrapped
from funcgrad.api.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced", "Wrapped"]
