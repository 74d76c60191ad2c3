"""Looking inside programs while they run."""

from funcgrad.api.callbacks import debug_callback as callback
from funcgrad.api.callbacks import debug_print as print

__all__ = ["callback", "print"]
