"""Linear systems under SciPy's names whose matrices need not be stored."""

from funcgrad.scipy.sparse import linalg

__all__ = ["linalg"]
