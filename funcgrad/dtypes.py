"""Dtypes: conversions, the promotion lattice, and the extended dtypes of random keys."""

from funcgrad.base.dtypes import (
    bfloat16,
    canonicalize_dtype,
    extended,
    finfo,
    float0,
    iinfo,
    issubdtype,
    itemsize_bits,
    prng_key,
)
from funcgrad.base.errors import TypePromotionError
from funcgrad.base.promotion import result_type, scalar_type_of

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
