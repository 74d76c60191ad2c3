"""Real and imaginary parts, conjugates, angles; for real arrays what those are of x + 0i."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import convert, full_like
from funcgrad.numpy._promotion import is_complex, to_array
from funcgrad.numpy._ufuncs import rad2deg
from funcgrad.primitives import complex_parts, trigonometric


def real(val: Any, /) -> Any:
    """The real part."""
    x = to_array("real", val)
    return complex_parts.real(x) if is_complex(x) else x


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros for a real array."""
    x = to_array("imag", val)
    return complex_parts.imag(x) if is_complex(x) else full_like(x, 0)


def conjugate(x: Any, /) -> Any:
    """The complex conjugate."""
    x = to_array("conjugate", x)
    return complex_parts.conj(x) if is_complex(x) else x


def angle(z: Any, deg: bool = False) -> Any:
    """The argument of z, in [-pi, pi] or degrees; 0 or pi for real z."""
    z = to_array("angle", z)
    parts = [real(z), imag(z)]
    floating = dtypes.issubdtype(parts[0].aval.dtype, np.floating)
    if not floating or (not is_complex(z) and not z.aval.shape):
        parts = [convert(part, dtypes.default_float()) for part in parts]
    result = trigonometric.atan2(parts[1], parts[0])
    return rad2deg(result) if deg else result


conj = conjugate
