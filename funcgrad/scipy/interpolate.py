"""Interpolation between samples under SciPy's names."""

from funcgrad.scipy._regular_grid import RegularGridInterpolator

__all__ = ["RegularGridInterpolator"]
