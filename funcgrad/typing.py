"""Types for annotations."""

from funcgrad.base.typing import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
