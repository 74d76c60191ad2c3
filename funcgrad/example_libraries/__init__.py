"""Small libraries that show what can be built on the public names."""

from funcgrad.example_libraries import optimizers

__all__ = ["optimizers"]
