"""dense: every output is a weighted sum of every input."""

from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, random
from funcgrad.nn._layer import Layer, Shape
from funcgrad.nn.initializers import Initializer, lecun_normal, zeros

KERNEL_INIT = lecun_normal()


def dense(
    out_features: int,
    *,
    use_bias: bool = True,
    kernel_init: Initializer = KERNEL_INIT,
    bias_init: Initializer = zeros,
    dtype: Any = None,
) -> Layer:
    """A layer y = x @ kernel + bias.

    Args:
        out_features: how many features y has, on its last axis.
        use_bias: whether there is a bias.
        kernel_init, bias_init: what the parameters are at first.
        dtype: of the parameters; by default float32 (float64 under `enable_x64`).

    Returns:
        A Layer that takes x [..., in_features] to [..., out_features], of params
        {"kernel": [in_features, out_features], "bias": [out_features]}.

    Raises:
        ValueError: from `apply`, if x has another number of features than `init` was told.

    Example:
        >>> layer = dense(3)
        >>> params = layer.init(random.key(0), (1, 4))
        >>> layer.apply(params, jnp.ones((2, 4))).shape
        (2, 3)
    """

    def init(key: Array, input_shape: Shape) -> dict[str, Array]:
        if not input_shape:
            raise ValueError("dense needs inputs with a last axis of features, got the shape ()")
        kernel_key, bias_key = random.split(key)
        params = {"kernel": kernel_init(kernel_key, (input_shape[-1], out_features), dtype)}
        if use_bias:
            params["bias"] = bias_init(bias_key, (out_features,), dtype)
        return params

    def apply(params: dict[str, Array], x: Array) -> Array:
        kernel = params["kernel"]
        if np.shape(x)[-1:] != kernel.shape[:1]:
            raise ValueError(
                f"dense({out_features}) has a kernel for {kernel.shape[0]} input features, but was "
                f"given x of shape {np.shape(x)}; its last axis must match"
            )
        y = jnp.matmul(x, kernel)
        return y + params["bias"] if use_bias else y

    return Layer(init, apply)
