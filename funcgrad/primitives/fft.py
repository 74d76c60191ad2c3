"""Fourier transforms over the last axes: complex to complex, real to half spectrum, and back."""

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import broadcast_in_dim, convert, mul, scalar_like
from funcgrad.base.shapes import canonical_shape
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.primitives.complex_parts import conj, is_complex
from funcgrad.primitives.nary import real_dtype
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear

fft_p = Primitive("fft")


class FftType(enum.IntEnum):
    """Which transform: complex, inverse complex, of real values, to real values."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform over the last `len(fft_lengths)` axes.

    Args:
        x: [..., *fft_lengths]; for IRFFT the last axis has fft_lengths[-1] // 2 + 1 elements, the
            half spectrum that RFFT returns. Inverse transforms are divided by the lengths.
        fft_type: an FftType or its name.
        fft_lengths: the lengths of the transformed axes, on the real side for RFFT and IRFFT.

    Raises:
        ValueError: an unknown fft_type, a complex x for RFFT, lengths that are not those of x.

    Example:
        >>> fft(np.ones(4), "RFFT", (4,))
        Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    kind = _fft_type(fft_type)
    dtype = aval_of(x).dtype
    if kind != FftType.RFFT:
        x = convert(x, dtypes.to_complex(dtype))
    elif is_complex(x):
        raise ValueError(f"RFFT takes real values, got dtype {dtype}. Use FFT for complex ones.")
    else:
        x = convert(x, dtypes.to_inexact(dtype))
    lengths = canonical_shape(tuple(fft_lengths), "fft_lengths")
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x


def _fft_type(given: FftType | str) -> FftType:
    if isinstance(given, FftType):
        return given
    if isinstance(given, str) and given in (given.lower(), given.upper()):
        if given.upper() in FftType.__members__:
            return FftType[given.upper()]
    names = ", ".join(FftType.__members__)
    kind = ValueError if isinstance(given, str) else TypeError
    raise kind(f"fft_type must be an FftType or one of {names}, got {given!r}")


def half(length: int) -> int:
    """How many of the coefficients of `length` real values determine the others."""
    return length // 2 + 1


def fft_abstract(x: ShapedArray, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    real = fft_type == FftType.RFFT
    accepted = (np.float32, np.float64) if real else (np.complex64, np.complex128)
    if x.dtype not in accepted:
        names = " or ".join(np.dtype(d).name for d in accepted)
        raise ValueError(f"{fft_type.name} takes an array of {names}, got {x.str_short()}")
    spectrum = (*fft_lengths[:-1], half(fft_lengths[-1]))
    needed = spectrum if fft_type == FftType.IRFFT else fft_lengths
    kept = x.shape[: max(x.ndim - len(needed), 0)]
    if x.shape != (*kept, *needed):
        raise ValueError(
            f"{fft_type.name} with fft_lengths {fft_lengths} needs an array whose last axes are "
            f"{needed}, got shape {x.shape}"
        )
    if real:
        return x.update(shape=(*kept, *spectrum), dtype=dtypes.to_complex(x.dtype))
    if fft_type == FftType.IRFFT:
        return x.update(shape=(*kept, *fft_lengths), dtype=real_dtype(x.dtype))
    return x


def fft_evaluate(xp: Any, x: Any, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    if 0 in fft_lengths or not x.size:
        out = fft_abstract(ShapedArray(x.shape, x.dtype), fft_type, fft_lengths)
        return xp.zeros(out.shape, out.dtype)
    function = getattr(xp.fft, f"{fft_type.name.lower()}n")
    return function(x, s=fft_lengths, axes=range(-len(fft_lengths), 0))


def weigh_pairs(spectrum: Any, length: int, weight: float) -> Any:
    """A half spectrum whose coefficients are multiplied by `weight` if they stand for two."""
    aval = aval_of(spectrum)
    weights = np.full(half(length), weight, aval.dtype)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    return mul(spectrum, broadcast_in_dim(weights, aval.shape, (aval.ndim - 1,)))


def fft_backward(ct: Any, x: Linear, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    """The transform's matrix is symmetric; a half spectrum lacks the mirrored half of it."""
    size, last = math.prod(fft_lengths), fft_lengths[-1]
    if fft_type == FftType.RFFT:
        halved = weigh_pairs(conj(ct), last, 0.5)
        back = fft_p.bind(halved, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return mul(back, scalar_like(size, back))
    if fft_type == FftType.IRFFT:
        back = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        return conj(mul(weigh_pairs(back, last, 2), scalar_like(1 / max(size, 1), back)))
    return fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)


evaluate_rules[fft_p] = single(fft_evaluate)
abstract_rules[fft_p] = pure(fft_abstract)
forward.linear(fft_p)
backward.unary(fft_p, fft_backward)
batching.leading(fft_p)
