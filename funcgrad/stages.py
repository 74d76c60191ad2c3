"""The stages of a jitted function: traced, lowered, compiled."""

from funcgrad.api.jit import JitFunction as Wrapped
from funcgrad.api.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]
