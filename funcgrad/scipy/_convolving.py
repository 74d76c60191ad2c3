"""Convolution and correlation in any number of dimensions, by sliding sums or through the FFT."""

from collections.abc import Sequence
from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._promotion import inexact1, is_complex, promote_dtypes

MODES = ("full", "same", "valid")


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of two arrays of the same rank, as floats or complex numbers.

    Args:
        in1: Array of any shape.
        in2: Array of as many dimensions.
        mode: "full" for every place where they overlap, "same" for the middle of that in the shape
            of in1, "valid" for the places where the smaller lies inside the larger.
        method: "direct" (which "auto" means, too) or "fft".
        precision: That of the products of "direct".

    Raises:
        ValueError: For other modes and methods, empty arrays, ranks that differ, or, in "valid",
            arrays of which neither covers the other.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy.signal import convolve
        >>> convolve(jnp.array([1., 2., 3.]), jnp.ones(2))
        Array([1., 3., 5., 3.], dtype=float32)

    Where they do not cover each other, "full" and "same" answer as SciPy does; JAX refuses.
    """
    return _convolve("convolve", in1, in2, mode, method, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The sums of products of in1 with in2's conjugate, shifted along it; see `convolve`.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy.signal import correlate
        >>> correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]), mode="valid")
        Array([2., 3.], dtype=float32)
    """
    return _convolve("correlate", in1, _reversed(in2), mode, method, precision)


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The convolution of two matrices, beyond whose borders there are zeros; see `convolve`.

    Raises:
        NotImplementedError: For a boundary other than "fill" with 0.
        ValueError: For arrays that are no matrices.
    """
    _check_2d("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve("convolve2d", in1, in2, mode, "direct", precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The correlation of two matrices, beyond whose borders there are zeros; see `convolve2d`."""
    _check_2d("correlate2d", in1, in2, boundary, fillvalue)
    # Turned round, so that "same" has its middle where SciPy's correlate2d has it.
    in1, in2 = jnp.flip(jnp.asarray(in1)), jnp.conj(jnp.asarray(in2))
    return jnp.flip(_convolve("correlate2d", in1, in2, mode, "direct", precision))


def fftconvolve(
    in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Any:
    """The convolution of two arrays through their Fourier transforms.

    Args:
        in1: Array of any shape.
        in2: Array of as many dimensions.
        mode: As in `convolve`.
        axes: Those to convolve over, None for all; along the others the arrays broadcast.

    Raises:
        ValueError: As `convolve`, and where other axes have lengths that do not broadcast.
    """
    in1, in2 = _pair("fftconvolve", in1, in2, mode)
    ndim = in1.ndim
    over = canonical_axes(axes, ndim, "axes")
    for axis in set(range(ndim)) - set(over):
        if in1.shape[axis] != in2.shape[axis] and 1 not in (in1.shape[axis], in2.shape[axis]):
            raise ValueError(
                f"fftconvolve over axes {over} of shapes {in1.shape} and {in2.shape}: along axis "
                f"{axis} the lengths are neither equal nor 1."
            )
    if mode == "valid" and _must_swap("fftconvolve", in1.shape, in2.shape, over):
        in1, in2 = in2, in1
    lengths = [in1.shape[a] + in2.shape[a] - 1 for a in over]
    if not over:
        return in1 * in2
    if is_complex(in1):
        full = jnp.fft.ifftn(
            jnp.fft.fftn(in1, lengths, over) * jnp.fft.fftn(in2, lengths, over), lengths, over
        )
    else:
        full = jnp.fft.irfftn(
            jnp.fft.rfftn(in1, lengths, over) * jnp.fft.rfftn(in2, lengths, over), lengths, over
        )
    full = full.astype(in1.dtype)
    if mode == "full":
        return full
    window = [slice(None)] * ndim
    for a in over:
        n, m = in1.shape[a], in2.shape[a]
        start = (m - 1) // 2 if mode == "same" else m - 1
        window[a] = slice(start, start + (n if mode == "same" else n - m + 1))
    return full[tuple(window)]


def _convolve(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    """Sums of products along in1 with in2 reversed, or the FFT's way to them."""
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method {method!r} is not 'auto', 'direct' or 'fft'.")
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    in1, in2 = _pair(name, in1, in2, mode)
    if not in1.ndim:
        return in1 * in2
    if mode == "valid" and _must_swap(name, in1.shape, in2.shape, range(in1.ndim)):
        in1, in2 = in2, in1
    lefts = {"full": lambda m: m - 1, "same": lambda m: m // 2, "valid": lambda m: 0}[mode]
    rights = {"full": lambda m: m - 1, "same": lambda m: (m - 1) // 2, "valid": lambda m: 0}[mode]
    result = lax.conv_general_dilated(
        in1[None, None],
        jnp.flip(in2)[None, None],
        (1,) * in1.ndim,
        [(lefts(m), rights(m)) for m in in2.shape],
        precision=precision,
    )
    return result[0, 0]


def _pair(name: str, in1: Any, in2: Any, mode: str) -> list[Any]:
    if mode not in MODES:
        raise ValueError(f"{name}: mode {mode!r} is not 'full', 'same' or 'valid'.")
    in1, in2 = promote_dtypes(name, in1, in2, kind=dtypes.to_inexact)
    if in1.ndim != in2.ndim:
        raise ValueError(
            f"{name} takes arrays of one rank, and these have shapes {in1.shape} and {in2.shape}."
        )
    if not in1.size or not in2.size:
        raise ValueError(f"{name}: of shapes {in1.shape} and {in2.shape}, one has no elements.")
    return [in1, in2]


def _must_swap(name: str, shape1: tuple, shape2: tuple, axes: Any) -> bool:
    """Whether the second covers the first rather than the other way round."""
    if all(shape1[a] >= shape2[a] for a in axes):
        return False
    if all(shape1[a] <= shape2[a] for a in axes):
        return True
    raise ValueError(
        f"{name} in mode 'valid' needs one array inside the other along each axis, and the shapes "
        f"are {shape1} and {shape2}. Use mode 'full' or 'same'."
    )


def _reversed(x: Any) -> Any:
    return jnp.conj(jnp.flip(inexact1("correlate", x)))


def _check_2d(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}: boundary={boundary!r} with fillvalue={fillvalue} is not there; pad the array "
            "first (numpy.pad) and take mode 'valid'."
        )
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(
            f"{name} takes matrices, and these have shapes {jnp.shape(in1)} and {jnp.shape(in2)}."
        )
