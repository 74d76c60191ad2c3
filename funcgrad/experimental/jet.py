"""Taylor mode: derivatives of any order along a curve."""

from funcgrad.api.taylor import jet

__all__ = ["jet"]
