"""lax.fft against jax.lax: values, derivatives, batches, and its errors."""

import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_x64
from lax_oracle import check_batches, check_derivatives, check_values, random_array

CASES = [
    ("FFT", (3, 5), (5,)),
    ("FFT", (2, 3, 4), (3, 4)),
    ("IFFT", (2, 3, 4), (2, 3, 4)),
    ("IFFT", (1,), (1,)),
    ("RFFT", (3, 5), (5,)),
    ("RFFT", (3, 6), (6,)),
    ("RFFT", (2, 3, 4), (2, 3, 4)),
    ("RFFT", (2, 1), (1,)),
    ("RFFT", (2, 2), (2,)),
    ("IRFFT", (3, 3), (5,)),
    ("IRFFT", (3, 4), (6,)),
    ("IRFFT", (2, 3, 3), (3, 4)),
    ("IRFFT", (2, 3, 3), (2, 3, 5)),
    ("IRFFT", (2, 1), (1,)),
    ("IRFFT", (0, 3), (4,)),
    ("FFT", (2, 3), ()),
]


@pytest.mark.parametrize("kind, shape, lengths", CASES)
def test_fft(kind: str, shape: tuple, lengths: tuple) -> None:
    x = random_array(np.random.default_rng(0), shape, "f4" if kind == "RFFT" else "c8")

    def ours(x):
        return lax.fft(x, kind, lengths)

    def theirs(x):
        return jlax.fft(x, kind, lengths)

    check_values(ours, theirs, x)
    check_derivatives(ours, theirs, x)
    if x.size:
        check_batches(ours, x)


@pytest.mark.parametrize("kind, dtype", [("FFT", "c16"), ("RFFT", "f8"), ("IRFFT", "c16")])
def test_double_precision(kind: str, dtype: str) -> None:
    from jax import enable_x64 as jax_x64

    with enable_x64(True), jax_x64(True):
        length = 4 if kind == "IRFFT" else 3
        x = random_array(np.random.default_rng(0), (2, 3), dtype)
        check_values(
            lambda x: lax.fft(x, kind, (length,)), lambda x: jlax.fft(x, kind, (length,)), x
        )


@pytest.mark.parametrize("dtype", ["f4", "i4", "?", "f2"])
def test_real_values_are_made_complex(dtype: str) -> None:
    x = random_array(np.random.default_rng(0), (4,), dtype)
    kind = lax.FftType.IFFT
    check_values(lambda x: lax.fft(x, kind, (4,)), lambda x: jlax.fft(x, "IFFT", (4,)), x)


def test_axis_of_length_zero() -> None:
    assert lax.fft(np.zeros((2, 0), "c8"), "FFT", (0,)).shape == (2, 0)
    out = lax.fft(np.zeros((2, 0), "f4"), "RFFT", (0,))
    assert out.shape == (2, 1)
    assert not np.asarray(out).any()


@pytest.mark.parametrize(
    "x, kind, lengths, error, said",
    [
        (np.zeros(4, "c8"), "DCT", (4,), ValueError, "one of FFT, IFFT, RFFT, IRFFT, got 'DCT'"),
        (np.zeros(4, "c8"), 3, (4,), TypeError, "FftType"),
        (np.zeros(4, "c8"), "RFFT", (4,), ValueError, "RFFT takes real values, got dtype complex"),
        (np.zeros(4, "f2"), "RFFT", (4,), ValueError, "float32 or float64, got float16"),
        (np.zeros((2, 4), "c8"), "FFT", (3,), ValueError, r"last axes are \(3,\), got shape"),
        (np.zeros((2, 4), "c8"), "IRFFT", (4,), ValueError, r"last axes are \(3,\)"),
        (np.zeros(4, "c8"), "FFT", (4, 4), ValueError, r"fft_lengths \(4, 4\)"),
        (np.zeros(4, "c8"), "FFT", (-4,), ValueError, "negative"),
    ],
)
def test_errors(x: np.ndarray, kind: str, lengths: tuple, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        lax.fft(x, kind, lengths)
