"""Activations made of pieces: relu and its kin, each with a slope chosen where two pieces meet."""

import funcgrad.numpy as jnp
from funcgrad import Array, custom_jvp
from funcgrad.nn._arguments import ArrayLike, as_array


@custom_jvp
def relu(x: ArrayLike) -> Array:
    r"""Rectified linear unit: $\max(x, 0)$, elementwise. Its slope at 0 is taken to be 0.

    Args:
        x: any shape and dtype.

    Returns:
        An array like x in shape and dtype.

    Example:
        >>> relu(jnp.array([-2.0, 0.0, 3.0]))
        Array([0., 0., 3.], dtype=float32)
    """
    return jnp.maximum(as_array("relu", x), 0)


relu.defjvps(lambda t, out, x: jnp.where(x > 0, t, jnp.zeros_like(t)))


@custom_jvp
def relu6(x: ArrayLike) -> Array:
    r"""Relu that stops at 6: $\min(\max(x, 0), 6)$. Its slope at 0 and at 6 is taken to be 0.

    Args:
        x: any shape and dtype; integers become floats.
    """
    return jnp.minimum(jnp.maximum(as_array("relu6", x), 0), 6.0)


relu6.defjvps(lambda t, out, x: jnp.where((x > 0) & (x < 6), t, jnp.zeros_like(t)))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    r"""Relu that leaks: $x$ where $x \ge 0$, `negative_slope` times $x$ elsewhere.

    Args:
        x: any shape and dtype; integers become floats. The slope at 0 is 1.
        negative_slope: a number, or an array that broadcasts with x.
    """
    x = as_array("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


def hard_tanh(x: ArrayLike) -> Array:
    """x clipped to [-1, 1], with slope 1 on the borders."""
    x = as_array("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def hard_sigmoid(x: ArrayLike) -> Array:
    """A sigmoid of three lines: relu6(x + 3) / 6."""
    return relu6(as_array("hard_sigmoid", x) + 3.0) / 6.0


def hard_silu(x: ArrayLike) -> Array:
    """Silu with its sigmoid made of three lines: x * hard_sigmoid(x).

    Source: Howard et al., Searching for MobileNetV3, ICCV 2019.
    """
    x = as_array("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def sparse_plus(x: ArrayLike) -> Array:
    r"""A softplus that meets its asymptotes: 0 up to -1, $x$ from 1 on, $(x + 1)^2 / 4$ between."""
    x = as_array("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: ArrayLike) -> Array:
    """The slope of `sparse_plus`: 0 up to -1, 1 from 1 on, (x + 1) / 2 between.

    Source: Blondel, Martins and Niculae, Learning with Fenchel-Young Losses, JMLR 21, 2020.
    """
    return 0.5 * jnp.clip(as_array("sparse_sigmoid", x) + 1.0, 0.0, 2.0)
