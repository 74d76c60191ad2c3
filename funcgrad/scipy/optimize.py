"""Minima of functions of a vector, found by their gradients."""

from funcgrad.scipy._minimize import minimize
from funcgrad.scipy._optimize_results import OptimizeResults

__all__ = ["OptimizeResults", "minimize"]
