"""Names that JAX calls experimental."""

from funcgrad.api.callbacks import io_callback
from funcgrad.base.config import enable_x64
from funcgrad.experimental import serialize_executable

__all__ = ["enable_x64", "io_callback", "serialize_executable"]
