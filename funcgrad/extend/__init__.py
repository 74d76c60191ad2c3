"""For libraries on top: the core's types, primitives of their own, wrapped functions."""

from funcgrad.extend import core, linear_util, source_info_util

__all__ = ["core", "linear_util", "source_info_util"]
