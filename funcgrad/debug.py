"""Looking inside programs while they run."""

from funcgrad.api.callbacks import debug_callback as callback
from funcgrad.api.callbacks import debug_print as print
from funcgrad.api.debugger import breakpoint
from funcgrad.primitives.host import DebugEffect, OrderedDebugEffect

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "print"]
