"""Discrete Fourier transforms with NumPy's names: JAX's `jax.numpy.fft`.

A transform of length n is a sum with exp(-2 pi i j k / n); inverse ones are divided by n, unless
`norm` says "ortho" (both by the root) or "forward" (the others).
"""

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.base.basis import pad as pad_array
from funcgrad.base.shapes import canonical_axes, canonical_axis, canonical_shape, concrete_int
from funcgrad.numpy._complex import conj
from funcgrad.numpy._creation import placed
from funcgrad.numpy._editing import roll
from funcgrad.numpy._promotion import like, to_array
from funcgrad.numpy._ranges import arange
from funcgrad.numpy._shaping import moveaxis, part
from funcgrad.primitives import arithmetic
from funcgrad.primitives.fft import FftType
from funcgrad.primitives.fft import fft as transform

Axes = Sequence[int] | None


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform along an axis, cut or filled with zeros to length n first."""
    return _along("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse transform along an axis."""
    return _along("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform of real values along an axis: its first n // 2 + 1 elements."""
    return _along("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`; n is the length of the result, 2 (m - 1) by default."""
    return _along("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform of values that are conjugate symmetric, of which the first half is given."""
    a = conj(to_array("hfft", a))
    length = 2 * (a.shape[_one_axis("hfft", a, axis)] - 1) if n is None else n
    return _along("hfft", FftType.IRFFT, a, n, axis, norm) * length


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`."""
    a = to_array("ihfft", a)
    length = a.shape[_one_axis("ihfft", a, axis)] if n is None else n
    return conj(_along("ihfft", FftType.RFFT, a, n, axis, norm)) * (1 / length)


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform along two axes."""
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse transform along two axes."""
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform of real values along two axes, half of it along the last."""
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `rfft2`."""
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(a: Any, s: Any = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The transform along several axes, by default all, cut or filled to lengths s."""
    return _transformed("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse transform along several axes."""
    return _transformed("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The transform of real values along several axes, half of it along the last."""
    return _transformed("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`."""
    return _transformed("irfftn", FftType.IRFFT, a, s, axes, norm)


def _one_axis(name: str, a: Any, axis: Any) -> int:
    if isinstance(axis, (list, tuple)):
        raise ValueError(
            f"fft.{name} does not support multiple axes; use fft.{name}n. Got axis = {axis!r}."
        )
    return canonical_axis(axis, a.ndim)


def _along(name: str, kind: FftType, a: Any, n: int | None, axis: Any, norm: str | None) -> Any:
    a = to_array(f"fft.{name}", a)
    lengths = None if n is None else (n,)
    return _transformed(name, kind, a, lengths, (_one_axis(name, a, axis),), norm)


def _along_two(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None
) -> Any:
    if len(axes) != 2:
        raise ValueError(f"fft.{name} goes along two axes, not along axes={axes!r}.")
    return _transformed(name, kind, a, s, axes, norm)


def _transformed(name: str, kind: FftType, a: Any, s: Any, axes: Axes, norm: str | None) -> Any:
    a = to_array(f"fft.{name}", a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(
            f'fft.{name}: norm {norm!r} is not among "backward", "forward" and "ortho".'
        )
    if s is not None:
        s = canonical_shape(s, "s")
        if 0 in s:
            raise ValueError(f"fft.{name}: lengths should be positive, got {s}")
    if axes is None:
        axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
    axes = canonical_axes(tuple(axes), a.ndim, "axes")
    if s is not None and len(s) != len(axes):
        raise ValueError(f"fft.{name}: s and axes have different lengths, {s} and {axes}")
    last = tuple(range(a.ndim - len(axes), a.ndim))
    a = moveaxis(a, axes, last)
    if s is None:
        lengths = list(a.shape[a.ndim - len(axes) :])
        if kind is FftType.IRFFT and lengths:
            lengths[-1] = max(0, 2 * (lengths[-1] - 1))
    else:
        lengths = list(s)
        a = _fitted(a, lengths, last, kind)
    out = _in_steps(a, kind, lengths)
    if norm in ("ortho", "forward"):
        size = math.prod(lengths)
        inverse = name.startswith("i")
        scale = math.sqrt(size) if norm == "ortho" else size
        out = out * like(scale if inverse else 1 / scale, out)
    return moveaxis(out, last, axes)


def _fitted(a: Any, lengths: Sequence[int], axes: tuple[int, ...], kind: FftType) -> Any:
    """a cut or filled with zeros to the lengths that its transform takes."""
    for axis, n in zip(axes, lengths, strict=True):
        if kind is FftType.IRFFT and axis == axes[-1]:
            n = n // 2 + 1
        a = part(a, 0, min(n, a.shape[axis]), axis)
        missing = n - a.shape[axis]
        if missing:
            config = [(0, missing if i == axis else 0, 0) for i in range(a.ndim)]
            a = pad_array(a, like(0, a), config)
    return a


def _in_steps(a: Any, kind: FftType, lengths: Sequence[int]) -> Any:
    """The transform over the last axes, three at a time."""
    if len(lengths) <= 3:
        return transform(a, kind, tuple(lengths))
    first = len(lengths) - 3
    src = tuple(range(a.ndim - len(lengths), a.ndim - 3))
    dst = tuple(range(a.ndim - first, a.ndim))
    if kind in (FftType.RFFT, FftType.FFT):
        a = transform(a, kind, tuple(lengths[-3:]))
        return moveaxis(_in_steps(moveaxis(a, src, dst), FftType.FFT, lengths[:-3]), dst, src)
    a = moveaxis(_in_steps(moveaxis(a, src, dst), FftType.IFFT, lengths[:-3]), dst, src)
    return transform(a, kind, tuple(lengths[-3:]))


# frequencies


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of a transform of length n, in cycles per unit of d.

    d is the distance between samples; the frequencies ascend from 0, then from the lowest up to 0.
    """
    n = _length("fftfreq", n, d)
    dtype = _frequency_dtype("fftfreq", dtype)
    k = arange(n, dtype=dtype)
    k = arithmetic.rem(k + n // 2, like(n, k)) - n // 2
    return placed(k / convert(to_array("fftfreq", d * n), dtype), device)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of `rfft`, in cycles per unit of d."""
    n = _length("rfftfreq", n, d)
    dtype = _frequency_dtype("rfftfreq", dtype)
    k = arange(n // 2 + 1, dtype=dtype)
    return placed(k / convert(to_array("rfftfreq", d * n), dtype), device)


def _length(name: str, n: Any, d: Any) -> int:
    if isinstance(n, (list, tuple)) or isinstance(d, (list, tuple)):
        raise ValueError(
            f"fft.{name} takes an int n and a single number d, got n = {n!r} and d = {d!r}"
        )
    return concrete_int(n, "n")


def _frequency_dtype(name: str, dtype: Any) -> Any:
    return dtypes.default_float() if dtype is None else dtypes.check_user_dtype(dtype, name)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """x with the zero frequency in the middle of the given axes."""
    x = to_array("fftshift", x)
    chosen = canonical_axes(axes, x.ndim, "axes")
    return roll(x, [x.shape[i] // 2 for i in chosen], chosen)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of `fftshift`."""
    x = to_array("ifftshift", x)
    chosen = canonical_axes(axes, x.ndim, "axes")
    return roll(x, [-(x.shape[i] // 2) for i in chosen], chosen)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
