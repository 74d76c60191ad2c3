"""Mutable arrays: made, read, written, and at last frozen."""

from funcgrad.api.refs import Ref, addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap

__all__ = [
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
