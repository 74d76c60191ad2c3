"""Discrete cosine transforms, each by one Fourier transform of the samples in another order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axes, canonical_axis, concrete_int, int_tuple
from funcgrad.numpy._promotion import inexact1, is_complex

__all__ = ["dct", "dctn", "idct", "idctn"]


def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The cosine transform of type II along an axis: how much of each half wave is in the samples.

    y[k] = 2 sum_j x[j] cos(pi k (2 j + 1) / (2 n))

    Args:
        x: Array with at least one axis. Integers and half precision are computed in float32,
            complex numbers part by part.
        type: 2, the only one there is.
        n: Length that the axis is cut to, or filled up to with zeros; None leaves it.
        axis: The axis.
        norm: "ortho" scales the rows of the transform to unit length; None or "backward" do not.

    Returns:
        The shape of x with length n along the axis.

    Raises:
        NotImplementedError: For other types.
        ValueError: For another norm, a length below 1, and an axis that x lacks.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy import fft
        >>> fft.dct(jnp.array([1., 2., 4.])).round(3)
        Array([14.   , -5.196,  1.   ], dtype=float32)

    Source: Makhoul (1980), A fast cosine transform in one and two dimensions.
    """
    x = _checked("dct", x, type, norm)
    return _along(_forward, "dct", x, canonical_axis(axis, x.ndim), n, norm)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The inverse of `dct` along an axis: samples from their half waves.

    Args:
        x: Array with at least one axis; dtypes as in `dct`.
        type: 2, that of the transform to be inverted.
        n: Number of half waves that are kept, or filled up to with zeros; None takes all.
        axis: The axis.
        norm: What `dct` was told.

    Returns:
        The shape of x with length n along the axis.

    Raises:
        NotImplementedError: For other types.
        ValueError: For another norm, a length below 1, and an axis that x lacks.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy import fft
        >>> fft.idct(fft.dct(jnp.arange(4.0))).round(3)
        Array([0., 1., 2., 3.], dtype=float32)

    Source: Makhoul (1980), A fast cosine transform in one and two dimensions.
    """
    x = _checked("idct", x, type, norm)
    return _along(_inverse, "idct", x, canonical_axis(axis, x.ndim), n, norm)


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The cosine transform of type II along several axes: `dct` along one after the other.

    Args:
        x: Array; dtypes as in `dct`.
        type: 2, the only one there is.
        s: A length for each axis, as n in `dct`.
        axes: The axes; None takes the last len(s), or all where s is None too.
        norm: As in `dct`.

    Raises:
        NotImplementedError: For other types.
        ValueError: For another norm, lengths below 1, repeated axes, and s that does not fit axes.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy import fft
        >>> fft.dctn(jnp.ones((2, 2)), norm="ortho").round(3)
        Array([[2., 0.],
               [0., 0.]], dtype=float32)
    """
    return _along_several(_forward, "dctn", x, type, s, axes, norm)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `dctn`: `idct` along one axis after the other.

    Args:
        x: Array; dtypes as in `dct`.
        type: 2, that of the transform to be inverted.
        s: A length for each axis, as n in `idct`.
        axes: The axes; None takes the last len(s), or all where s is None too.
        norm: What `dctn` was told.

    Raises:
        NotImplementedError: For other types.
        ValueError: For another norm, lengths below 1, repeated axes, and s that does not fit axes.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy import fft
        >>> fft.idctn(fft.dctn(jnp.eye(2))).round(3)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return _along_several(_inverse, "idctn", x, type, s, axes, norm)


def _checked(name: str, x: Any, type: int, norm: str | None) -> Any:
    """x in a precision that Fourier transforms have."""
    if type != 2:
        raise NotImplementedError(f"{name} has type 2 of the cosine transform, and not {type!r}.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"{name}: norm {norm!r} is not None, 'backward' or 'ortho'.")
    x = inexact1(name, x)
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def _along_several(
    transform: Any, name: str, x: Any, type: int, s: Any, axes: Any, norm: str | None
) -> Any:
    x = _checked(name, x, type, norm)
    lengths = None if s is None else int_tuple(s, "s")
    if axes is None and lengths is not None:
        axes = tuple(range(-len(lengths), 0))
    axes = canonical_axes(axes, x.ndim, "axes")
    if lengths is None:
        lengths = tuple(x.shape[axis] for axis in axes)
    if len(lengths) != len(axes):
        raise ValueError(f"{name} needs a length for each axis; got s={s} for axes={axes}.")
    for axis, length in zip(axes, lengths, strict=True):
        x = _along(transform, name, x, axis, length, norm)
    return x


def _along(transform: Any, name: str, x: Any, axis: int, n: int | None, norm: str | None) -> Any:
    length = x.shape[axis] if n is None else concrete_int(n, "n")
    if length < 1:
        raise ValueError(
            f"{name} needs a sample at least; along axis {axis} of shape {x.shape} it got {length}."
        )
    x = jnp.moveaxis(x, axis, -1)[..., :length]
    missing = length - x.shape[-1]
    if missing:
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    if is_complex(x):
        out = lax.complex(transform(x.real, norm), transform(x.imag, norm))
    else:
        out = transform(x, norm)
    return jnp.moveaxis(out, -1, axis)


def _turn(x: Any) -> Any:
    """exp(-i pi k / (2 n)) for the frequencies of `rfft`."""
    n = x.shape[-1]
    turn = np.exp(-0.5j * np.pi * np.arange(n // 2 + 1) / n)
    return jnp.asarray(turn, jnp.promote_types(x.dtype, jnp.complex64))


def _row_norms(x: Any) -> Any:
    """The lengths of the transform's rows, [n]."""
    n = x.shape[-1]
    norms = np.full(n, np.sqrt(2 * n))
    norms[0] *= np.sqrt(2)
    return jnp.asarray(norms, x.dtype)


def _forward(x: Any, norm: str | None) -> Any:
    """Even samples in order, then odd ones backwards: turned, their spectrum holds y[k] / 2 as
    real parts and -y[n - k] / 2 as imaginary ones."""
    n = x.shape[-1]
    ordered = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    half = 2 * jnp.fft.rfft(ordered) * _turn(x)
    y = jnp.concatenate([half.real, -half.imag[..., 1 : (n + 1) // 2][..., ::-1]], -1)
    return y / _row_norms(x) if norm == "ortho" else y


def _inverse(y: Any, norm: str | None) -> Any:
    """The steps of `_forward`, undone from the last to the first."""
    n = y.shape[-1]
    y = y * _row_norms(y) if norm == "ortho" else y
    mirrored = jnp.concatenate([jnp.zeros_like(y[..., :1]), y[..., : (n - 1) // 2 : -1]], -1)
    half = lax.complex(y[..., : n // 2 + 1], -mirrored) * jnp.conj(_turn(y)) / 2
    ordered = jnp.fft.irfft(half, n)
    first = (n + 1) // 2
    even, odd = ordered[..., :first], ordered[..., first:][..., ::-1]
    return _interleaved(even, odd)


def _interleaved(even: Any, odd: Any) -> Any:
    spread = lambda x, before, after: lax.pad(
        x, jnp.zeros((), x.dtype), [(0, 0, 0)] * (x.ndim - 1) + [(before, after, 1)]
    )
    if not odd.shape[-1]:
        return even
    longer = even.shape[-1] > odd.shape[-1]
    return spread(even, 0, int(not longer)) + spread(odd, 1, int(longer))
