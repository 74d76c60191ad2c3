"""Signals under SciPy's names: convolution, correlation, trends and spectra."""

from funcgrad.scipy._convolving import convolve, convolve2d, correlate, correlate2d, fftconvolve
from funcgrad.scipy._spectra import csd, istft, stft, welch
from funcgrad.scipy._trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
