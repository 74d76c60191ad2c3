"""Vector quantisation under SciPy's names."""

from funcgrad.scipy._quantisation import vq

__all__ = ["vq"]
