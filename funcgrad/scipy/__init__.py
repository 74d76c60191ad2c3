"""Functions under SciPy's names: special functions, linear algebra, probability distributions."""

from funcgrad.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
