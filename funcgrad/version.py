"""The version of funcgrad, as a string and as numbers."""

from funcgrad._version import __version__

__version_info__ = tuple(int(part) for part in __version__.split(".") if part.isdigit())

__all__ = ["__version__", "__version_info__"]
