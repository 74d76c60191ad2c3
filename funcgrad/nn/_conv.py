"""conv: the same weighted sum of neighbours at every place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import Array, lax, random
from funcgrad.nn._layer import Layer, Shape
from funcgrad.nn.initializers import Initializer, lecun_normal, zeros

Sizes = int | Sequence[int]

KERNEL_INIT = lecun_normal()


def conv(
    features: int,
    kernel_shape: Sequence[int],
    *,
    strides: Sizes = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    input_dilation: Sizes = 1,
    kernel_dilation: Sizes = 1,
    feature_group_count: int = 1,
    use_bias: bool = True,
    kernel_init: Initializer = KERNEL_INIT,
    bias_init: Initializer = zeros,
    dtype: Any = None,
) -> Layer:
    """A convolution over one to three axes, channels last.

    Args:
        features: the number of channels of y.
        kernel_shape: the size of the window, (length,), (height, width) or (depth, height, width).
        strides: how far the window moves at a time, along all axes or along each.
        padding: "SAME" (as many places in y as in x, divided by the strides and rounded up),
            "VALID" (only where the window fits), or (before, after) for each axis.
        input_dilation, kernel_dilation: how far apart the elements of x and of the window are set.
        feature_group_count: into how many groups the channels fall, each convolved by itself.
        use_bias: whether there is a bias.
        kernel_init, bias_init: what the parameters are at first.
        dtype: of the parameters; by default float32 (float64 under `enable_x64`).

    Returns:
        A Layer that takes x [batch, *places, channels] to [batch, *places, features], of params
        {"kernel": [*kernel_shape, channels / groups, features], "bias": [features]}.

    Raises:
        ValueError: if the shapes do not fit together; says which.

    Example:
        >>> layer = conv(8, (3, 3), strides=2)
        >>> params = layer.init(random.key(0), (1, 28, 28, 1))
        >>> layer.apply(params, jnp.ones((5, 28, 28, 1))).shape
        (5, 14, 14, 8)
    """
    window = tuple(kernel_shape)
    rank = len(window)
    if not 1 <= rank <= 3:
        raise ValueError(f"conv takes a kernel_shape of one to three axes, got {kernel_shape}")
    if features % feature_group_count:
        raise ValueError(
            f"conv: {features} features do not split into feature_group_count = "
            f"{feature_group_count} groups of equal size"
        )
    places = "DHW"[-rank:]
    layout = (f"N{places}C", f"{places}IO", f"N{places}C")
    options = {
        "window_strides": per_axis("strides", strides, rank),
        "padding": padding,
        "lhs_dilation": per_axis("input_dilation", input_dilation, rank),
        "rhs_dilation": per_axis("kernel_dilation", kernel_dilation, rank),
        "feature_group_count": feature_group_count,
    }

    def check(shape: Shape) -> None:
        if len(shape) != rank + 2:
            raise ValueError(
                f"conv of kernel_shape {window} takes x of {rank + 2} axes, [batch, "
                f"{', '.join(places.lower())}, channels], got the shape {tuple(shape)}"
            )

    def init(key: Array, input_shape: Shape) -> dict[str, Array]:
        check(input_shape)
        channels = input_shape[-1]
        if channels % feature_group_count:
            raise ValueError(
                f"conv: the {channels} channels of the input shape {tuple(input_shape)} do not "
                f"fall into {feature_group_count} equal groups (feature_group_count)"
            )
        kernel_key, bias_key = random.split(key)
        shape = (*window, channels // feature_group_count, features)
        params = {"kernel": kernel_init(kernel_key, shape, dtype)}
        if use_bias:
            params["bias"] = bias_init(bias_key, (features,), dtype)
        return params

    def apply(params: dict[str, Array], x: Array) -> Array:
        kernel = params["kernel"]
        shape = np.shape(x)
        check(shape)
        if shape[-1] != kernel.shape[-2] * feature_group_count:
            raise ValueError(
                f"conv has a kernel for {kernel.shape[-2] * feature_group_count} channels, but was "
                f"given x of shape {shape}; its last axis must match"
            )
        y = lax.conv_general_dilated(x, kernel, dimension_numbers=layout, **options)
        return y + params["bias"] if use_bias else y

    return Layer(init, apply)


def per_axis(name: str, value: Sizes, rank: int) -> tuple[int, ...]:
    sizes = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(sizes) != rank:
        raise ValueError(f"conv: {name} must be one number or {rank}, one an axis, got {value}")
    return sizes
