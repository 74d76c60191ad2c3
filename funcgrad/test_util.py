"""Checks of derivatives against finite differences."""

from funcgrad.api.check_derivatives import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
