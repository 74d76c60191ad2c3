"""How arrays lie in memory: always row by row here."""

from funcgrad.base.placement import Format, Layout

__all__ = ["Format", "Layout"]
