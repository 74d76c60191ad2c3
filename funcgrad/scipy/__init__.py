"""Functions under SciPy's names: special functions, linear algebra, probability distributions."""

from funcgrad.scipy import special

__all__ = ["special"]
