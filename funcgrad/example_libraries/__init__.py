"""Small libraries that show what can be built on the public names."""

from funcgrad.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]
