"""Real and imaginary parts, complex numbers made of them, conjugates: linear over the reals."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import full_like, neg
from funcgrad.base.trace import Primitive
from funcgrad.primitives.nary import COMPLEX, FLOAT, elementwise, real_dtype
from funcgrad.transforms import backward, forward

real_p = Primitive("real")
imag_p = Primitive("imag")
complex_p = Primitive("complex")
conj_p = Primitive("conj")


def real(x: Any) -> Any:
    """The real part of a complex array."""
    return real_p.bind(x)


def imag(x: Any) -> Any:
    """The imaginary part of a complex array."""
    return imag_p.bind(x)


def complex(x: Any, y: Any) -> Any:
    """x + iy from real arrays."""
    return complex_p.bind(x, y)


def conj(x: Any) -> Any:
    """The complex conjugate of an array; of a real one, the complex array with imaginary part 0."""
    return conj_p.bind(x, input_dtype=aval_of(x).dtype)


def is_complex(x: Any) -> bool:
    return dtypes.issubdtype(aval_of(x).dtype, np.complexfloating)


def zero_imaginary(x: Any) -> Any:
    """x + 0i of a real array."""
    return complex(x, full_like(x, 0))


def complex_dtype(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


elementwise(real_p, COMPLEX, lambda xp, x: xp.array(x.real, order="C"), real_dtype)
forward.elementwise(real_p, lambda t, out, x: real(t))
backward.unary(real_p, lambda ct, x: zero_imaginary(ct))

elementwise(imag_p, COMPLEX, lambda xp, x: xp.array(x.imag, order="C"), real_dtype)
forward.elementwise(imag_p, lambda t, out, x: imag(t))
# JAX's convention: the cotangent of z pairs with dz without conjugation, so imag gives -i ct.
backward.unary(imag_p, lambda ct, x: complex(full_like(ct, 0), neg(ct)))


def complex_evaluate(xp: Any, x: Any, y: Any) -> Any:
    out = xp.empty(np.broadcast_shapes(x.shape, y.shape), complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


elementwise(complex_p, FLOAT, complex_evaluate, complex_dtype)
forward.elementwise(
    complex_p,
    lambda t, out, x, y: zero_imaginary(t),
    lambda t, out, x, y: complex(full_like(t, 0), t),
)
backward.elementwise(complex_p, lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct)))


def conj_evaluate(xp: Any, x: Any, input_dtype: Any) -> Any:
    return xp.conjugate(x).astype(complex_dtype(x.dtype), copy=False)


def conj_backward(ct: Any, x: Any, input_dtype: Any) -> Any:
    return conj(ct) if is_complex(x) else real(ct)


elementwise(conj_p, (np.float32, np.float64, np.complexfloating), conj_evaluate, complex_dtype)
forward.elementwise(conj_p, lambda t, out, x, input_dtype: conj(t))
backward.unary(conj_p, conj_backward)
