"""The exception classes that users may want to catch."""

from funcgrad.base.errors import (
    ConcretizationTypeError,
    DonatedBufferError,
    KeyReuseError,
    NonConcreteBooleanIndexError,
    OutOfMemoryError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TypePromotionError,
    UnboundAxisNameError,
    UnexpectedTracerError,
)

__all__ = [
    "ConcretizationTypeError",
    "DonatedBufferError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "OutOfMemoryError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnboundAxisNameError",
    "UnexpectedTracerError",
]
