"""Images of other sizes: each output sample is a weighted mean of input samples along each axis."""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axes, canonical_shape
from funcgrad.numpy._promotion import inexact1, to_arrays

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

# Below this a row of weights is taken to be of no sample at all.
NO_WEIGHT_EPSILONS = 1000


class ResizeMethod(enum.Enum):
    """The kernel that says how much a sample counts at a distance from it.

    NEAREST copies the closest sample. LINEAR is a triangle. CUBIC is Keys' cubic with a = -1/2, and
    CUBIC_PYTORCH without antialiasing that with a = -3/4 and a repeated border, else CUBIC.
    LANCZOS3 and LANCZOS5 are windowed sincs. AREA averages over what an output sample covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """The method of a name such as "bilinear"."""
        if s not in NAMES:
            raise ValueError(f"resize method {s!r} is not one of {', '.join(map(repr, NAMES))}.")
        return NAMES[s]


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys (1981), Cubic convolution interpolation for digital image processing."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = a * (((x - 5) * x + 8) * x - 4)
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))

    return kernel


def _lanczos(radius: float) -> Callable[[Any], Any]:
    """Duchon (1979), Lanczos filtering in one and two dimensions."""

    def kernel(x: Any) -> Any:
        return jnp.where(x < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)

    return kernel


KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """The image at another size.

    Args:
        image: Array of any rank; booleans and integers become floats, except for "nearest".
        shape: As many lengths; axes that keep theirs are left alone.
        method: A `ResizeMethod`, or "nearest", "linear", "cubic", "lanczos3", "lanczos5",
            "cubic-pytorch", "area", or another name of these ("bilinear", ...).
        antialias: Make kernels wider where the image shrinks, so that all samples count.
        precision: That of the products.

    Returns:
        An array of that shape.

    Raises:
        ValueError: For shapes of another rank, negative lengths, unknown methods, and an axis
            without samples that is to have some.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad import image
        >>> image.resize(jnp.array([0., 2., 4., 6.]), (2,), "linear").round(3)
        Array([1.429, 4.571], dtype=float32)
    """
    (image,) = to_arrays("image.resize", image)
    shape = canonical_shape(shape)
    if len(shape) != image.ndim:
        raise ValueError(
            f"image.resize of shape {image.shape} to {shape}: give one length for each axis."
        )
    if any(n and not size for n, size in zip(shape, image.shape, strict=True)):
        raise ValueError(
            f"image.resize of shape {image.shape} to {shape}: an axis without samples can not grow."
        )
    method = _method(method)
    axes = [a for a in range(image.ndim) if shape[a] != image.shape[a]]
    if method is ResizeMethod.NEAREST:
        for a in axes:
            image = jnp.take(image, _nearest(image.shape[a], shape[a]), axis=a)
        return image
    image = inexact1("image.resize", image)
    scales = [shape[a] / image.shape[a] for a in axes]
    return _resample(image, shape, axes, scales, [0.0] * len(axes), method, antialias, precision)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """The image stretched by factors and then shifted, with zeros where it does not reach.

    Sample centres are at halves: output place y shows input place (y - translation) / scale.

    Args:
        image: Array of any rank.
        shape: That of the result; as image's but for the spatial axes.
        spatial_dims: The axes to resample, n of them.
        scale: Array [n]; may be traced and differentiated.
        translation: Array [n], in samples of the output; likewise.
        method: As in `resize`, but for "nearest".
        antialias: As in `resize`.
        precision: That of the products.

    Raises:
        ValueError: For other shapes, and for "nearest".

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.image import scale_and_translate
        >>> shift = jnp.array([1.])
        >>> scale_and_translate(jnp.array([1., 2., 3.]), (4,), (0,), jnp.ones(1), shift, "linear")
        Array([0., 1., 2., 3.], dtype=float32)
    """
    image = inexact1("scale_and_translate", image)
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    shape = canonical_shape(shape)
    axes = canonical_axes(spatial_dims, image.ndim)
    others = [a for a in range(image.ndim) if a not in axes]
    if len(shape) != image.ndim or any(shape[a] != image.shape[a] for a in others):
        raise ValueError(
            f"scale_and_translate of shape {image.shape} to {shape} along axes {tuple(axes)}: all "
            "other axes keep their lengths."
        )
    if scale.shape != (len(axes),) or translation.shape != (len(axes),):
        raise ValueError(
            f"scale_and_translate along {len(axes)} axes takes as many scales and translations; "
            f"their shapes are {scale.shape} and {translation.shape}."
        )
    method = _method(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate has no method 'nearest'; use 'linear', or `resize`.")
    real = jnp.promote_types(jnp.finfo(image.dtype).dtype, jnp.float32)
    scales, shifts = list(scale.astype(real)), list(translation.astype(real))
    return _resample(image, shape, axes, scales, shifts, method, antialias, precision)


def _method(method: Any) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise ValueError(f"a resize method is a ResizeMethod or a string, and not {method!r}.")
    return method


def _nearest(size: int, out_size: int) -> np.ndarray:
    """[out_size]: the input closest to each output; ties fall as float32 rounds, as in JAX."""
    step = np.float32(size) * (np.float32(1) / np.float32(max(out_size, 1)))
    places = (np.arange(out_size, dtype=np.float32) + np.float32(0.5)) * step
    return np.floor(places).astype(np.int32)


def _resample(
    image: Any,
    shape: Sequence[int],
    axes: Sequence[int],
    scales: Sequence[Any],
    shifts: Sequence[Any],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    """The image times one matrix of weights for each axis."""
    real = jnp.finfo(image.dtype).dtype
    for axis, scale, shift in zip(axes, scales, shifts, strict=True):
        sizes = (image.shape[axis], shape[axis])
        if method is ResizeMethod.AREA:
            weights = _area_weights(*sizes, scale, shift, real)
        else:
            weights = _kernel_weights(*sizes, scale, shift, method, antialias, real)
        image = jnp.moveaxis(
            jnp.tensordot(image, weights.astype(image.dtype), (axis, 0), precision=precision),
            -1,
            axis,
        )
    return image


def _kernel_weights(
    size: int,
    out_size: int,
    scale: Any,
    shift: Any,
    method: ResizeMethod,
    antialias: bool,
    dtype: Any,
) -> Any:
    """[size, out_size]: how much each input counts in each output."""
    dtype = jnp.promote_types(dtype, jnp.float32)
    step = 1 / jnp.asarray(scale, dtype)
    width = jnp.maximum(step, 1) if antialias else 1
    centres = (jnp.arange(out_size, dtype=dtype) + 0.5) * step - shift * step - 0.5
    if antialias and method is ResizeMethod.CUBIC_PYTORCH:
        method = ResizeMethod.CUBIC
    repeats = method is ResizeMethod.CUBIC_PYTORCH
    beyond = 2 if repeats else 0
    places = jnp.arange(-beyond, size + beyond, dtype=dtype)
    weights = KERNELS[method](abs(centres - places[:, None]) / width)
    if repeats:
        first = weights[: beyond + 1].sum(0, keepdims=True)
        last = weights[-beyond - 1 :].sum(0, keepdims=True)
        inner = weights[beyond + 1 : -beyond - 1]
        weights = jnp.concatenate([first, inner, last]) if size > 1 else weights.sum(0)[None]
    return _normalized(weights, None if repeats else centres, size)


def _area_weights(size: int, out_size: int, scale: Any, shift: Any, dtype: Any) -> Any:
    """[size, out_size]: how much of each input an output covers."""
    dtype = jnp.promote_types(dtype, jnp.float32)
    step = 1 / jnp.asarray(scale, dtype)
    left = (jnp.arange(out_size, dtype=dtype) - shift) * step
    places = jnp.arange(size, dtype=dtype)[:, None]
    covered = jnp.minimum(left + step, places + 1) - jnp.maximum(left, places)
    return _normalized(jnp.maximum(covered, 0), left + step / 2 - 0.5, size)


def _normalized(weights: Any, centres: Any, size: int) -> Any:
    """Weights that add to one, and zeros for outputs with centres outside the input."""
    total = weights.sum(0)
    some = abs(total) > NO_WEIGHT_EPSILONS * jnp.finfo(weights.dtype).eps
    weights = jnp.where(some, weights / jnp.where(some, total, 1), 0)
    if centres is None:
        return weights
    return jnp.where((centres >= -0.5) & (centres <= size - 0.5), weights, 0)
