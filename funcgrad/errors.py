"""The exception classes that users may want to catch."""

from funcgrad.base.errors import (
    ConcretizationTypeError,
    DonatedBufferError,
    JAXIndexError,
    JaxRuntimeError,
    JAXTypeError,
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
from funcgrad.ir.check import JaxprTypeError

__all__ = [
    "ConcretizationTypeError",
    "DonatedBufferError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
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
