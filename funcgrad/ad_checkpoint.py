"""Rematerialisation: checkpoint, its policies, and names for values."""

from funcgrad.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from funcgrad.api.checkpoint import checkpoint as remat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
