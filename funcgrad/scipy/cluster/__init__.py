"""Clusters under SciPy's names."""

from funcgrad.scipy.cluster import vq

__all__ = ["vq"]
