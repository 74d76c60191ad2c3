"""Integration under SciPy's names."""

from funcgrad.numpy import trapezoid

__all__ = ["trapezoid"]
