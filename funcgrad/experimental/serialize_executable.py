"""Compiled functions as bytes, under JAX's names."""

from funcgrad.api.serialize import deserialize_and_load, serialize

__all__ = ["deserialize_and_load", "serialize"]
