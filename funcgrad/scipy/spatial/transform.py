"""Rotations in three dimensions, and ways between them."""

from funcgrad.scipy._rotation import Rotation
from funcgrad.scipy._slerp import Slerp

__all__ = ["Rotation", "Slerp"]
