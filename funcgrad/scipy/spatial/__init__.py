"""Geometry in space."""

from funcgrad.scipy.spatial import transform

__all__ = ["transform"]
