"""Batching rules of the user's own."""

from funcgrad.api.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
