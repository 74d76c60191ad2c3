"""Initializers make the first weights of a layer from a key, a shape and a dtype."""

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, random

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Number = float | Array
Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """`initializer(key, shape, dtype) -> Array`."""

    def __call__(
        self, key: Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None
    ) -> Array: ...


def zeros(key: Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Array:
    """The initializer that fills with 0; the key is not used."""
    return jnp.zeros(shape, settled(dtype, out_sharding))


def ones(key: Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Array:
    """The initializer that fills with 1; the key is not used."""
    return jnp.ones(shape, settled(dtype, out_sharding))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that fills with a value, which broadcasts to the shape.

    Args:
        value: a number or an array.
        dtype: what the initializer makes when not told otherwise.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        return jnp.full(shape, value, settled(dtype, out_sharding))

    return init


def uniform(scale: Number = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws uniformly from [0, scale).

    Args:
        scale: the upper end.
        dtype: what the initializer makes when not told otherwise; real.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev: Number = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws from the normal distribution around 0.

    Args:
        stddev: the standard deviation.
        dtype: what the initializer makes when not told otherwise; real or complex.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return init


def truncated_normal(
    stddev: Number = 1e-2, dtype: Any = None, lower: Number = -2.0, upper: Number = 2.0
) -> Initializer:
    """An initializer that draws from the normal distribution around 0, cut off on both sides.

    Args:
        stddev: the standard deviation before the cut, which makes it smaller.
        dtype: what the initializer makes when not told otherwise; real.
        lower, upper: where to cut, in standard deviations.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        draws = random.truncated_normal(key, lower, upper, shape, dtype)
        return draws * jnp.array(stddev, dtype)

    return init


def variance_scaling(
    scale: Number,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    r"""An initializer of mean 0 and variance scale / n, with n told by the shape.

    Of the axes of a weight, some count inputs, some outputs, and some only stack independent
    weights; the rest are the receptive field, such as the height and width of a convolution's
    kernel, and each of its positions is one more input and output.

    Args:
        scale: a positive number.
        mode: what n is: "fan_in", "fan_out", "fan_avg" (their mean) or "fan_geo_avg" (the root of
            their product).
        distribution: "truncated_normal" (cut at two standard deviations, and with the wanted
            variance after the cut), "normal" or "uniform"; complex "uniform" weights fill a disk.
        in_axis, out_axis, batch_axis: the axes that count inputs, outputs, and neither.
        dtype: what the initializer makes when not told otherwise; real or complex.

    Raises:
        ValueError: if mode or distribution is another; and the initializer raises it for a shape
            that lacks the axes.
    """
    if mode not in FANS:
        raise ValueError(f"variance_scaling knows no mode {mode!r}; the modes are {list(FANS)}")
    if distribution not in DRAWS:
        raise ValueError(
            f"variance_scaling knows no distribution {distribution!r}; the distributions are "
            f"{list(DRAWS)}"
        )

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        fan = FANS[mode](*fans(shape, in_axis, out_axis, batch_axis))
        return DRAWS[distribution](key, tuple(shape), dtype, jnp.array(scale / fan, dtype))

    return init


FANS = {
    "fan_in": lambda n, m: n,
    "fan_out": lambda n, m: m,
    "fan_avg": lambda n, m: (n + m) / 2,
    "fan_geo_avg": lambda n, m: (n * m) ** 0.5,
}


def fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """How many inputs each output of a weight has, and how many outputs each input."""
    sizes = []
    for name, axes in ("in_axis", in_axis), ("out_axis", out_axis), ("batch_axis", batch_axis):
        listed = (axes,) if isinstance(axes, int) else tuple(axes)
        if any(not -len(shape) <= a < len(shape) for a in listed):
            raise ValueError(
                f"a weight of shape {tuple(shape)} has no {name} {axes}, so its numbers of inputs "
                "and outputs are unknown. Give the axis by name, or a shape of at least two axes."
            )
        sizes.append(math.prod(shape[a] for a in listed))
    inputs, outputs, stacked = sizes
    field = math.prod(shape) / inputs / outputs / stacked
    return inputs * field, outputs * field


# draws of a given variance: (key, shape, dtype, variance)

# The standard deviations of a normal distribution cut at two: on the line, and in the plane.
CUT_REAL, CUT_COMPLEX = 0.87962566103423978, 0.95311164380491208


def is_real(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, np.floating)


def draw_truncated(key: Array, shape: tuple[int, ...], dtype: Any, variance: Array) -> Array:
    if is_real(dtype):
        stddev = jnp.sqrt(variance) / jnp.array(CUT_REAL, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
    stddev = jnp.sqrt(variance) / jnp.array(CUT_COMPLEX, dtype)
    # Modulus squared is exponential, cut at 4; the inverse of its distribution function draws it.
    key, key_angle = random.split(key)
    share = uniform_part(key, shape, dtype) * (1 - jnp.exp(jnp.array(-4, dtype)))
    return polar(jnp.sqrt(-jnp.log(1 - share)), key_angle) * stddev


def draw_normal(key: Array, shape: tuple[int, ...], dtype: Any, variance: Array) -> Array:
    return random.normal(key, shape, dtype) * jnp.sqrt(variance)


def draw_uniform(key: Array, shape: tuple[int, ...], dtype: Any, variance: Array) -> Array:
    if is_real(dtype):
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    key, key_angle = random.split(key)
    return polar(jnp.sqrt(2 * uniform_part(key, shape, dtype)), key_angle) * jnp.sqrt(variance)


DRAWS = {
    "truncated_normal": draw_truncated,
    "normal": draw_normal,
    "uniform": draw_uniform,
}


def uniform_part(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Uniform real numbers of [0, 1), in a complex dtype."""
    return random.uniform(key, shape, jnp.finfo(dtype).dtype).astype(dtype)


def polar(modulus: Array, key: Array) -> Array:
    """Numbers of this modulus at uniform angles."""
    return modulus * jnp.exp(1j * (2 * np.pi * uniform_part(key, modulus.shape, modulus.dtype)))


# variance_scaling under the names of those who first chose its settings


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 1, "fan_avg", "uniform".

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks, AISTATS 2010.
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 1, "fan_avg", "truncated_normal"; see `glorot_uniform`."""
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 1, "fan_in", "uniform".

    Source: LeCun et al., Efficient BackProp, 1998.
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 1, "fan_in", "truncated_normal"; see `lecun_uniform`."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 2, "fan_in", "uniform", for layers followed by relu.

    Source: He et al., Delving Deep into Rectifiers, ICCV 2015.
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """`variance_scaling` with scale 2, "fan_in", "truncated_normal"; see `he_uniform`."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# orthogonal weights


def orthogonal(scale: Number = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer that draws orthogonal matrices, all equally likely.

    All axes but one are taken together as the rows. Where there are more rows than columns, the
    columns are orthonormal, else the rows are.

    Args:
        scale: what the matrix is multiplied by.
        column_axis: the axis of the columns.
        dtype: what the initializer makes when not told otherwise; real or complex.

    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks, ICLR 2014.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        if len(shape) < 2:
            raise ValueError(
                f"orthogonal makes arrays of two or more axes, not of shape {tuple(shape)}"
            )
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        matrix = random.orthogonal(key, rows, (), dtype, columns)
        others = list(shape)
        del others[column_axis]
        stacked = jnp.moveaxis(matrix.reshape(*others, columns), -1, column_axis)
        return jnp.array(scale, dtype) * stacked

    return init


def delta_orthogonal(scale: Number = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolutions that keep lengths: orthogonal at the centre, 0 around it.

    Args:
        scale, column_axis, dtype: as in `orthogonal`.

    The shape is [*window, inputs, outputs] with a window of one to three axes, and no more inputs
    than outputs.

    Source: Xiao et al., Dynamical Isometry and a Mean Field Theory of CNNs, ICML 2018.
    """

    def init(
        key: Array, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None
    ) -> Array:
        dtype = settled(dtype, out_sharding)
        if len(shape) not in (3, 4, 5):
            raise ValueError(
                f"delta_orthogonal makes kernels of 3, 4 or 5 axes, not of shape {tuple(shape)}"
            )
        *window, inputs, outputs = shape
        if outputs < inputs:
            raise ValueError(
                "delta_orthogonal cannot have more inputs than outputs (fan_in > fan_out); the "
                f"shape {tuple(shape)} has {inputs} inputs and {outputs} outputs"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, (inputs, outputs))
        centre = tuple((n - 1) // 2 for n in window)
        return jnp.zeros(shape, dtype).at[centre].set(matrix)

    return init


def settled(dtype: Any, out_sharding: Any) -> Any:
    """The dtype to make; a sharding other than None has no meaning yet."""
    if out_sharding is not None:
        raise NotImplementedError(
            f"initializers make arrays on one device, got out_sharding={out_sharding!r:.80}; "
            "spread the result with device_put"
        )
    return jnp.result_type(float if dtype is None else dtype)
