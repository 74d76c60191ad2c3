"""Smooth activations: elementwise functions that put a nonlinearity between two layers."""

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, lax
from funcgrad.nn._arguments import ArrayLike, as_array, as_inexact


def identity(x: ArrayLike) -> Array:
    """x itself, as an array."""
    return as_array("identity", x)


def sigmoid(x: ArrayLike) -> Array:
    r"""The logistic function: $1 / (1 + e^{-x})$.

    Args:
        x: any shape, of a float or complex dtype.

    Raises:
        TypeError: for integers and booleans; convert them first.
    """
    return lax.logistic(as_array("sigmoid", x))


def log_sigmoid(x: ArrayLike) -> Array:
    r"""$\log \mathrm{sigmoid}(x) = -\log(1 + e^{-x})$, exact far out on both sides."""
    return -softplus(-as_array("log_sigmoid", x))


def softplus(x: ArrayLike) -> Array:
    r"""A smooth relu: $\log(1 + e^x)$, without overflow."""
    return jnp.logaddexp(as_array("softplus", x), 0)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    r"""A smooth relu without exponentials: $(x + \sqrt{x^2 + b}) / 2$.

    Args:
        x: any shape and dtype; integers become floats.
        b: how wide the bend is; broadcasts with x. At 4 the value at 0 is 1.

    Source: Barron, Squareplus: A Softplus-Like Algebraic Rectifier, 2021.
    """
    x, b = as_array("squareplus", x), as_array("squareplus", b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


def soft_sign(x: ArrayLike) -> Array:
    r"""$x / (1 + |x|)$: a sigmoid between -1 and 1 with slow tails."""
    x = as_array("soft_sign", x)
    return x / (jnp.abs(x) + 1)


def silu(x: ArrayLike) -> Array:
    r"""$x \cdot \mathrm{sigmoid}(x)$, also known as swish.

    Raises:
        TypeError: for integers and booleans; convert them first.

    Source: Elfwing, Uchibe and Doya, Sigmoid-weighted linear units, Neural Networks 107, 2018.
    """
    x = as_array("silu", x)
    return x * sigmoid(x)


swish = silu


def mish(x: ArrayLike) -> Array:
    r"""$x \tanh(\mathrm{softplus}(x))$.

    Source: Misra, Mish: A Self Regularized Non-Monotonic Activation Function, BMVC 2020.
    """
    x = as_array("mish", x)
    return x * jnp.tanh(softplus(x))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    r"""Exponential linear unit: $x$ where $x > 0$, $\alpha (e^x - 1)$ elsewhere.

    Args:
        x: any shape and dtype; integers become floats.
        alpha: minus the value at minus infinity; broadcasts with x.

    Source: Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by
    Exponential Linear Units, ICLR 2016.
    """
    x = as_array("elu", x)
    # The inner choice keeps exp from overflowing where its value is not used: 0 * inf is nan.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    r"""Elu with slope 1 at 0 for every alpha: $\max(x, 0) + \alpha (e^{\min(x, 0) / \alpha} - 1)$.

    Source: Barron, Continuously Differentiable Exponential Linear Units, 2017.
    """
    x = as_array("celu", x)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


def selu(x: ArrayLike) -> Array:
    r"""Elu scaled so that activations of mean 0 and variance 1 stay so from layer to layer:
    $\lambda \, \mathrm{elu}(x, \alpha)$ with $\lambda = 1.05070\ldots$, $\alpha = 1.67326\ldots$

    Source: Klambauer et al., Self-Normalizing Neural Networks, NeurIPS 2017.
    """
    return 1.0507009873554805 * elu(as_array("selu", x), 1.6732632423543772)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    r"""Gaussian error linear unit: $x \, \Phi(x)$, with $\Phi$ the normal distribution function.

    Args:
        x: any shape and dtype; integers become floats.
        approximate: whether to use $\Phi(x) \approx \frac{1}{2} \left(1 + \tanh \left(
            \sqrt{2 / \pi} \, (x + 0.044715 x^3) \right) \right)$ instead of erfc.

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    x = as_inexact("gelu", x)
    if approximate:
        slope = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(slope * (x + 0.044715 * x**3))))
    return (0.5 * x * lax.erfc(-x * np.sqrt(0.5).astype(x.dtype))).astype(x.dtype)


def glu(x: ArrayLike, axis: int = -1) -> Array:
    r"""Gated linear unit: the first half of x along an axis times the sigmoid of the second half.

    Args:
        x: an array whose size along `axis` is even, of a float or complex dtype.
        axis: the axis to halve.

    Returns:
        An array of half the size along `axis`.

    Raises:
        ValueError: if the size along `axis` is odd, or there is no such axis.

    Source: Dauphin et al., Language Modeling with Gated Convolutional Networks, ICML 2017.
    """
    x = as_array("glu", x)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"glu: there is no axis {axis} in an array of shape {x.shape}")
    if x.shape[axis] % 2:
        raise ValueError(
            f"glu halves axis {axis} of an array of shape {x.shape}, which takes an even size, not "
            f"{x.shape[axis]}"
        )
    value, gate = jnp.split(x, 2, axis)
    return value * sigmoid(gate)
