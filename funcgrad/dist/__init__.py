"""Running one program on many devices: pmap, and the communicators that carry values."""

from funcgrad.dist._pmap import pmap

__all__ = ["pmap"]
