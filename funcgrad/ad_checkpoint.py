"""Rematerialisation: checkpoint, its policies, names for values, and what is saved."""

from funcgrad.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from funcgrad.api.checkpoint import checkpoint as remat
from funcgrad.api.decisions import Offloadable, Recompute, Saveable
from funcgrad.api.residuals import print_saved_residuals

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]
