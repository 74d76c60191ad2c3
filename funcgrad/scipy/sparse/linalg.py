"""Solutions of linear systems of which only products with vectors are needed."""

from funcgrad.scipy._gmres import gmres
from funcgrad.scipy._krylov import bicgstab, cg

__all__ = ["bicgstab", "cg", "gmres"]
