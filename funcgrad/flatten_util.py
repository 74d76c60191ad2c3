"""Pytrees as vectors."""

from funcgrad.api.ravel import ravel_pytree

__all__ = ["ravel_pytree"]
