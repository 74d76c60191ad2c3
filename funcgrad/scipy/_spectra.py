"""Spectra of signals: stretches of them, without their trend, windowed and Fourier transformed."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.backend import scipy
from funcgrad.base.shapes import canonical_axis
from funcgrad.numpy._promotion import inexact1, is_complex, promote_dtypes
from funcgrad.scipy._trends import detrend

# The stretch where none is asked for.
LONGEST = 256
# Squared window weights below this are taken for zero.
NO_WEIGHT = 1e-10
EXTENSIONS = {"even": "reflect", "constant": "edge", "zeros": "constant"}


class _Plan(NamedTuple):
    """How a signal is cut: the window, its length, the step, and the length of the transform."""

    window: Any
    nperseg: int
    step: int
    nfft: int


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = LONGEST,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """The Fourier transforms of a signal's stretches, one after the other.

    Args:
        x: Signal, [..., time, ...].
        fs: Samples a second.
        window: Array [nperseg], or a name for `scipy.signal.get_window`.
        nperseg: Samples in a stretch.
        noverlap: Samples that neighbours share; None is half of them.
        nfft: Length of each transform, with zeros at the end; None is nperseg.
        detrend: False, "linear", "constant", or a function of [..., nperseg].
        return_onesided: Leave the negative frequencies of a real signal out.
        boundary: What stands half a stretch beyond both ends: "even", "odd", "constant", "zeros";
            None for no such ends.
        padded: Fill the last stretch up with zeros rather than drop it.
        axis: That of time.

    Returns:
        Frequencies [f] in hertz, times [t] in seconds, and complex [..., f, ..., t].

    Raises:
        ValueError: For lengths and names that do not fit.
    """
    x = inexact1("stft", x)
    return _spectra(
        "stft", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        "spectrum", axis, boundary, padded,
    )  # fmt: skip


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The cross spectral density of two signals by Welch's averages; of x alone if y is None.

    Args:
        x: Signal, [..., time, ...]
        y: Another of that rank; the shorter is filled up with zeros, other axes broadcast.
        fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: As in `stft`.
        scaling: "density", by hertz, or "spectrum".
        average: "mean" or "median" of the stretches.

    Returns:
        Frequencies [f] and the density [..., f, ...], complex, or real if y is None.

    Source: Welch (1967), The use of fast Fourier transform for the estimation of power spectra.
    """
    if average not in ("mean", "median"):
        raise ValueError(f"csd: average {average!r} is not 'mean' or 'median'.")
    x, y = _signals("csd", x, y)
    axis = canonical_axis(axis, x.ndim)
    frequencies, _, result = _spectra(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis, None, False,
    )  # fmt: skip
    count = result.shape[-1]
    if average == "mean":
        return frequencies, result.mean(-1)
    middle = jnp.median(result.real, -1)
    if is_complex(result):
        middle = middle + 1j * jnp.median(result.imag, -1)
    even = 2.0 * np.arange(1, (count - 1) // 2 + 1)
    return frequencies, middle / (1 + float(np.sum(1 / (even + 1) - 1 / even)))


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The power spectral density of a signal: `csd` of it with itself.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy.signal import welch
        >>> welch(jnp.sin(jnp.arange(64.)), nperseg=16)[1].argmax()
        Array(3, dtype=int32)
    """
    return csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis, average,
    )  # fmt: skip


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """The signal of which `stft` gave Zxx, found by overlapping and adding its stretches.

    Args:
        Zxx: Complex array with an axis of frequencies and one of times.
        fs, window, nperseg, noverlap, nfft: As they were for `stft`.
        input_onesided: Whether negative frequencies were left out.
        boundary: Whether the signal was made longer at its ends.
        time_axis, freq_axis: Where the two axes are.

    Returns:
        Times [t] in seconds and the signal [..., t], real for one-sided input.

    Raises:
        ValueError: For fewer than two axes, and lengths that do not fit.

    Source: Griffin and Lim (1984), Signal estimation from modified short-time Fourier transform.
    JAX gives as many times as Zxx has first elements, and takes noverlap=0 for None.
    """
    Zxx = inexact1("istft", Zxx)
    if Zxx.ndim < 2:
        raise ValueError(f"istft needs axes of times and frequencies; the shape is {Zxx.shape}.")
    time, freq = canonical_axis(time_axis, Zxx.ndim), canonical_axis(freq_axis, Zxx.ndim)
    if time == freq:
        raise ValueError(f"istft: time_axis and freq_axis are both axis {time}.")
    Zxx = jnp.moveaxis(Zxx, (time, freq), (-2, -1))
    frames, bins = Zxx.shape[-2:]
    longest = 2 * (bins - 1) if input_onesided else bins
    length = longest if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = length if input_onesided and length == longest + 1 else longest
    real = jnp.promote_types(jnp.finfo(Zxx.dtype).dtype, jnp.float32)
    plan = _plan("istft", real, window, length, noverlap, nfft, length)
    nperseg = plan.nperseg
    if input_onesided:
        pieces = jnp.fft.irfft(Zxx, n=plan.nfft)
    else:
        pieces = jnp.fft.ifft(Zxx, n=plan.nfft)
    pieces = pieces[..., :nperseg] * plan.window * plan.window.sum()
    places = np.arange(frames)[:, None] * plan.step + np.arange(nperseg)
    length = nperseg + (frames - 1) * plan.step
    total = jnp.zeros((*Zxx.shape[:-2], length), pieces.dtype).at[..., places].add(pieces)
    weight = jnp.zeros(length, real).at[places].add(plan.window**2)
    if boundary:
        inner = slice(nperseg // 2, length - nperseg // 2)
        total, weight = total[..., inner], weight[inner]
    signal = total / jnp.where(weight > NO_WEIGHT, weight, 1)
    times = jnp.arange(signal.shape[-1], dtype=real) / fs
    # The time axis stands where the later of the two axes was removed from.
    return times, jnp.moveaxis(signal, -1, time - (freq < time))


def _signals(name: str, x: Any, y: Any) -> list[Any]:
    if y is None:
        return [inexact1(name, x), None]
    x, y = promote_dtypes(name, x, y, kind=dtypes.to_inexact)
    if x.ndim != y.ndim:
        raise ValueError(
            f"{name} takes signals of one rank, and these have shapes {x.shape} and {y.shape}."
        )
    return [x, y]


def _plan(
    name: str, dtype: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, length: int
) -> _Plan:
    """The lengths, checked, and the window of one stretch."""
    named = isinstance(window, str | tuple)
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError(f"{name}: nperseg is {nperseg}, and stretches have at least one sample.")
    if not named:
        window = jnp.asarray(window)
        if window.ndim != 1:
            raise ValueError(f"{name}: a window has one axis, and this has shape {window.shape}.")
        if nperseg is not None and window.shape[0] != nperseg:
            raise ValueError(f"{name}: a window of {window.shape[0]} samples for {nperseg=}.")
        if window.shape[0] > length:
            raise ValueError(
                f"{name}: a window of {window.shape[0]} samples for a signal of {length}."
            )
        nperseg = window.shape[0]
    elif nperseg is None:
        nperseg = min(LONGEST, length)
    elif nperseg > length:
        warnings.warn(
            f"{name}: {nperseg=} is more than the signal's {length} samples, which are used.",
            stacklevel=4,
        )
        nperseg = length
    nperseg = int(nperseg)
    nfft = nperseg if nfft is None else int(nfft)
    if nfft < nperseg:
        raise ValueError(f"{name}: {nfft=} is less than {nperseg=}.")
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError(f"{name}: {noverlap=} is not less than {nperseg=}.")
    weights = scipy("signal").get_window(window, nperseg) if named else window
    return _Plan(jnp.asarray(weights, dtype), nperseg, nperseg - noverlap, nfft)


def _spectra(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    trend: Any,
    onesided: bool,
    scaling: str,
    axis: int,
    boundary: str | None,
    padded: bool,
) -> tuple[Any, Any, Any]:
    """Frequencies, times, and [..., f, ..., t]: transforms for `stft`, densities for `csd`."""
    _check_names(name, boundary, scaling)
    axis = canonical_axis(axis, x.ndim)
    x = jnp.moveaxis(x, axis, -1)
    y = None if y is None else jnp.moveaxis(y, axis, -1)
    length = x.shape[-1] if y is None else max(x.shape[-1], y.shape[-1])
    if not length:
        raise ValueError(f"{name}: the signal has no samples; its shape is {x.shape}.")
    real = jnp.finfo(x.dtype).dtype
    plan = _plan(name, real, window, nperseg, noverlap, nfft, length)
    if is_complex(x) and onesided:
        warnings.warn(f"{name}: of a complex signal both sides are returned.", stacklevel=3)
        onesided = False
    remove = _trend_remover(name, trend)
    x = _extended(x, length, plan, boundary, padded)
    result = _transforms(x, plan, remove, onesided)
    scale = 1 / plan.window.sum() ** 2
    if scaling == "density":
        scale = 1 / (fs * (plan.window**2).sum())
    if name == "stft":
        result = result * jnp.sqrt(scale)
    elif y is None:
        result = _doubled((jnp.conj(result) * result * scale).real, plan.nfft, onesided)
    else:
        other = _transforms(_extended(y, length, plan, boundary, padded), plan, remove, onesided)
        result = _doubled(jnp.conj(result) * other * scale, plan.nfft, onesided)
    frequencies = (jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq)(plan.nfft, dtype=real) * fs
    times = np.arange(result.shape[-2]) * plan.step
    times = times if boundary else times + plan.nperseg / 2
    return frequencies, jnp.asarray(times, real) / fs, jnp.moveaxis(result, -1, axis)


def _check_names(name: str, boundary: Any, scaling: Any) -> None:
    if boundary not in (None, "odd", *EXTENSIONS):
        raise ValueError(
            f"{name}: boundary {boundary!r} is not 'even', 'odd', 'constant', 'zeros' or None."
        )
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling {scaling!r} is not 'density' or 'spectrum'.")


def _extended(x: Any, length: int, plan: _Plan, boundary: str | None, padded: bool) -> Any:
    """The signal, [..., time], with all that is added at its ends."""
    ends = lambda left, right: [(0, 0)] * (x.ndim - 1) + [(left, right)]
    x = jnp.pad(x, ends(0, length - x.shape[-1]))
    half = plan.nperseg // 2
    if boundary is not None and half:
        if boundary in ("even", "odd") and half >= length:
            raise ValueError(
                f"boundary {boundary!r} needs {half} samples beside the last, and the "
                f"signal has {length}."
            )
        if boundary == "odd":
            x = jnp.pad(x, ends(half, half), mode="reflect", reflect_type="odd")
        else:
            x = jnp.pad(x, ends(half, half), mode=EXTENSIONS[boundary])
    if padded:
        x = jnp.pad(x, ends(0, (plan.nperseg - x.shape[-1]) % plan.step % plan.nperseg))
    return x


def _transforms(x: Any, plan: _Plan, remove: Callable[[Any], Any], onesided: bool) -> Any:
    """[..., stretches, frequencies] of [..., time]."""
    count = (x.shape[-1] - plan.nperseg) // plan.step + 1
    places = np.arange(count)[:, None] * plan.step + np.arange(plan.nperseg)
    pieces = remove(x[..., places]) * plan.window
    return (jnp.fft.rfft if onesided else jnp.fft.fft)(pieces, n=plan.nfft)


def _doubled(density: Any, nfft: int, onesided: bool) -> Any:
    """Densities that stand for the frequencies left out as well."""
    if not onesided:
        return density
    factor = np.full(density.shape[-1], 2.0)
    factor[0] = 1
    if nfft % 2 == 0:
        factor[-1] = 1
    return density * jnp.asarray(factor, jnp.finfo(density.dtype).dtype)


def _trend_remover(name: str, trend: Any) -> Callable[[Any], Any]:
    if callable(trend):
        return trend
    if trend is False or trend is None:
        return lambda x: x
    if trend not in ("linear", "constant"):
        raise ValueError(f"{name}: detrend {trend!r} is not False, 'linear' or 'constant'.")
    return lambda x: detrend(x, type=trend)
