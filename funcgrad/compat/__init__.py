"""A door for unmodified libraries that say `import jax`: here it gives them funcgrad."""

from funcgrad.compat._door import install, uninstall

__all__ = ["install", "uninstall"]
