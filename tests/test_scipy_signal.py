"""funcgrad.scipy.signal: values against SciPy and JAX, derivatives, vmap, jit, errors."""

import jax
import jax.scipy.signal as jss
import numpy as np
import pytest
import scipy.signal as ss

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy import signal

RNG = np.random.default_rng(0)
LONG, OTHER, SHORT = RNG.normal(size=64), RNG.normal(size=64), RNG.normal(size=5)
WIDE, TALL, SMALL = RNG.normal(size=(3, 6)), RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
CUBE, KERNEL = RNG.normal(size=(4, 5, 3)), RNG.normal(size=(2, 3, 3))


@pytest.fixture
def x64():
    with enable_x64(True):
        yield


def close(got, want, tolerance=1e-9):
    got, want = jax.tree.leaves(got), jax.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


PAIRS = [(LONG, SHORT), (SHORT, LONG), (WIDE, SMALL), (CUBE, KERNEL), (LONG + 1j * OTHER, SHORT)]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "convolve2d"])
def test_convolutions_are_scipys(x64, name, mode):
    for a, b in PAIRS:
        if name == "convolve2d" and a.ndim != 2:
            continue
        # Where the second is longer, SciPy's "same" keeps in1's shape as well.
        close(getattr(signal, name)(a, b, mode), getattr(ss, name)(a, b, mode))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlations_conjugate_the_second(x64, mode):
    a, b = WIDE + 1j * WIDE[::-1], SMALL - 2j * SMALL
    close(signal.correlate(a, b, mode), ss.correlate(a, b, mode))
    close(signal.correlate(a, b, mode, method="fft"), ss.correlate(a, b, mode))
    for one, two in [(a, b), (b, a), (a, b.T), (a[:2], b.T)]:
        if mode != "valid" or min(one.shape[0] - two.shape[0], one.shape[1] - two.shape[1]) >= 0:
            close(signal.correlate2d(one, two, mode), ss.correlate2d(one, two, mode))


@pytest.mark.parametrize("mode", ["full", "same"])
def test_neither_covers_the_other(x64, mode):
    close(signal.convolve(WIDE, TALL, mode), ss.convolve(WIDE, TALL, mode))
    close(signal.fftconvolve(WIDE, TALL, mode), ss.fftconvolve(WIDE, TALL, mode))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_fftconvolve_over_some_axes(x64, mode):
    close(
        signal.fftconvolve(WIDE, SMALL[:1], mode, axes=1),
        ss.fftconvolve(WIDE, SMALL[:1], mode, axes=1),
    )
    close(signal.fftconvolve(CUBE, KERNEL[:, :, :1], mode, [0, -2]),
          ss.fftconvolve(CUBE, KERNEL[:, :, :1], mode, [0, -2]))  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32, np.complex64, np.bool_])
def test_dtypes_are_jaxs(dtype):
    a, b = np.arange(6).astype(dtype), np.arange(3).astype(dtype)
    got, want = signal.convolve(a, b), jss.convolve(a, b)
    assert got.dtype == want.dtype
    close(got, want, 1e-3)


CUTS = [
    {},
    {"nperseg": 16},
    {"nperseg": 16, "noverlap": 4, "fs": 3.0},
    {"nperseg": 15, "nfft": 21},
    {"nperseg": 16, "window": ("kaiser", 3.0)},
    {"window": np.hanning(12), "nperseg": 12},
    {"nperseg": 16, "detrend": "linear"},
    {"nperseg": 16, "return_onesided": False},
]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.filterwarnings("ignore:.*nperseg")
def test_spectra_are_scipys(x64, cut):
    x = np.stack([LONG, OTHER]).reshape(2, 64)
    close(signal.welch(x, **cut), ss.welch(x, **cut))
    close(signal.welch(x, scaling="spectrum", **cut), ss.welch(x, scaling="spectrum", **cut))
    close(signal.csd(LONG, OTHER, **cut), ss.csd(LONG, OTHER, **cut))
    close(signal.csd(LONG, OTHER[:50], average="median", **cut),
          ss.csd(LONG, OTHER[:50], average="median", **cut))  # fmt: skip
    close(signal.welch(x.T, axis=0, **cut), ss.welch(x.T, axis=0, **cut))
    close(signal.stft(x, **cut), ss.stft(x, **cut))
    close(signal.stft(x.T, axis=0, **cut), ss.stft(x.T, axis=0, **cut))


@pytest.mark.parametrize("boundary", ["even", "odd", "constant", "zeros", None])
@pytest.mark.parametrize("padded", [True, False])
def test_ends_of_a_signal(x64, boundary, padded):
    kwargs = {"nperseg": 14, "noverlap": 3, "boundary": boundary, "padded": padded}
    close(signal.stft(LONG, **kwargs), ss.stft(LONG, **kwargs))


def test_the_spectrum_of_a_complex_signal_has_both_sides(x64):
    z = LONG + 1j * OTHER
    with pytest.warns(UserWarning, match="both sides"):
        got = signal.welch(z, nperseg=16)
    close(got, ss.welch(z, nperseg=16, return_onesided=False))


@pytest.mark.parametrize(
    "cut",
    [{"nperseg": 16}, {"nperseg": 15, "nfft": 15}, {"nperseg": 16, "noverlap": 12, "fs": 2.0}],
)
def test_istft_goes_back(x64, cut):
    spectrum = ss.stft(np.stack([LONG, OTHER]), **cut)[2]
    if "nfft" in cut:
        cut = {**cut, "nperseg": 15}
    got = signal.istft(spectrum, **cut)
    # SciPy counts the first axis of a stack for the times.
    close(got[0], ss.istft(spectrum[0], **cut)[0])
    close(got[1], ss.istft(spectrum, **cut)[1])
    np.testing.assert_allclose(got[1][:, :64], [LONG, OTHER], atol=1e-9)


def test_istft_of_half_precision_is_float32():
    got = signal.istft(np.ones((5, 9), np.float16))
    want = jss.istft(np.ones((5, 9), np.float16))
    assert [x.dtype for x in got] == [x.dtype for x in want]
    close(got, want, 1e-3)


def test_istft_with_other_axes(x64):
    z = ss.stft(np.stack([LONG, OTHER]), nperseg=16, return_onesided=False)[2]
    for axes in ((-1, -2), (0, 1), (1, 0), (0, 2), (2, 0)):
        turned = np.moveaxis(z, (-1, -2), axes)
        kwargs = {"input_onesided": False, "time_axis": axes[0], "freq_axis": axes[1]}
        close(signal.istft(turned, **kwargs)[1], ss.istft(turned, **kwargs)[1])


@pytest.mark.parametrize("kwargs", [{}, {"type": "constant"}, {"bp": [10, 30]}, {"bp": 7}], ids=str)
def test_detrend(x64, kwargs):
    x = np.stack([LONG, OTHER]) + np.arange(64)
    close(signal.detrend(x, **kwargs), ss.detrend(x, **kwargs))
    close(signal.detrend(x.T, axis=0, **kwargs), ss.detrend(x.T, axis=0, **kwargs))


FUNCTIONS = {
    "convolve": lambda s: lambda x: s.convolve(x, x[:4]),
    "correlate": lambda s: lambda x: s.correlate(x, x[:4], "same"),
    "fftconvolve": lambda s: lambda x: s.fftconvolve(x, x[:4], "valid"),
    "detrend": lambda s: lambda x: s.detrend(x, bp=20),
    "welch": lambda s: lambda x: s.welch(x, nperseg=16)[1],
    "stft": lambda s: lambda x: abs(s.stft(x, nperseg=16)[2]),
    "csd": lambda s: lambda x: abs(s.csd(x, x[::-1], nperseg=16, average="median")[1]),
    "istft": lambda s: lambda x: s.istft(x[:63].reshape(9, 7) + 0j)[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transformations(name):
    ours, theirs = FUNCTIONS[name](signal), FUNCTIONS[name](jss)
    x, batch = LONG.astype("f"), np.stack([LONG, OTHER]).astype("f")
    close(ours(x), theirs(x), 1e-4)
    close(funcgrad.jit(ours)(x), ours(x), 1e-5)
    close(funcgrad.vmap(ours)(batch), jnp.stack([ours(row) for row in batch]), 1e-5)
    got = funcgrad.grad(lambda x: (ours(x) ** 2).sum())(x)
    want = jax.grad(lambda x: (theirs(x) ** 2).sum())(x)
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4 * abs(np.asarray(want)).max())


ERRORS = [
    (lambda: signal.convolve(LONG, SHORT, "wide"), ValueError, "mode 'wide'"),
    (lambda: signal.convolve(LONG, SHORT, method="slow"), ValueError, "method 'slow'"),
    (lambda: signal.convolve(WIDE, SHORT), ValueError, "one rank"),
    (lambda: signal.convolve(LONG[:0], SHORT), ValueError, "no elements"),
    (lambda: signal.convolve(WIDE, TALL, "valid"), ValueError, "inside the other"),
    (lambda: signal.fftconvolve(WIDE, TALL, axes=0), ValueError, "neither equal nor 1"),
    (lambda: signal.fftconvolve(WIDE, WIDE, axes=5), ValueError, "axes 5 is out of bounds"),
    (lambda: signal.fftconvolve(WIDE, WIDE, axes=(0, -2)), ValueError, "duplicate"),
    (lambda: signal.detrend(LONG, bp=1.5), TypeError, "bp must be an integer"),
    (lambda: signal.convolve2d(LONG, SHORT), ValueError, "matrices"),
    (lambda: signal.convolve2d(WIDE, SMALL, boundary="wrap"), NotImplementedError, "numpy.pad"),
    (lambda: signal.correlate2d(WIDE, SMALL, fillvalue=2), NotImplementedError, "fillvalue=2"),
    (lambda: signal.detrend(LONG, type="cubic"), ValueError, "'cubic'"),
    (lambda: signal.detrend(LONG, bp=70), ValueError, "length 64"),
    (lambda: signal.detrend(LONG, overwrite_data=True), NotImplementedError, "overwrite"),
    (lambda: signal.stft(LONG, nperseg=0), ValueError, "at least one"),
    (lambda: signal.stft(LONG, nperseg=16, noverlap=16), ValueError, "noverlap=16"),
    (lambda: signal.stft(LONG, nperseg=16, nfft=5), ValueError, "nfft=5"),
    (lambda: signal.stft(LONG, nperseg=16, boundary="x"), ValueError, "boundary 'x'"),
    (lambda: signal.stft(LONG, nperseg=8, window=np.ones(7)), ValueError, "7 samples"),
    (lambda: signal.stft(LONG, window=np.ones((7, 2))), ValueError, "one axis"),
    (lambda: signal.stft(LONG, nperseg=8, detrend="x"), ValueError, "detrend 'x'"),
    (lambda: signal.welch(LONG, nperseg=8, scaling="x"), ValueError, "scaling 'x'"),
    (lambda: signal.csd(LONG, WIDE), ValueError, "one rank"),
    (lambda: signal.csd(LONG, LONG, average="mode"), ValueError, "average 'mode'"),
    (lambda: signal.istft(LONG), ValueError, "axes of times"),
    (lambda: signal.istft(WIDE, time_axis=0, freq_axis=0), ValueError, "both axis 0"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_signal_shorter_than_its_stretches_is_told():
    with pytest.warns(UserWarning, match="nperseg=100"):
        z = signal.stft(LONG.astype("f"), nperseg=100)[2]
    assert z.shape == (33, 3)
