"""Helpers for those who write transformations."""

from funcgrad.api.flattening import (
    argnums_partial,
    debug_info,
    donation_vector,
    flatten_fun,
    flatten_fun_nokwargs,
    rebase_donate_argnums,
    safe_map,
    shaped_abstractify,
)
from funcgrad.base.tree import flatten_axes

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]
