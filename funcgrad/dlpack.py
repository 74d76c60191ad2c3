"""Exchanging arrays with other libraries by DLPack."""

from funcgrad.api.exchanging import from_dlpack, is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]
