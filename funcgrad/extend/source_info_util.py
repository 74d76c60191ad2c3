"""The lines that errors and programs name: which files of a library are left out."""

from funcgrad.base.source import current_source as current
from funcgrad.base.source import register_exclusion

__all__ = ["current", "register_exclusion"]
