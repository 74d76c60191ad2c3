"""Layers as pairs of pure functions: make parameters from a key and a shape, apply them to inputs.

`init_fun(rng, input_shape) -> (output_shape, params)` and `apply_fun(params, inputs, **kwargs)`;
`serial` and `parallel` make one layer of several. A size of -1 in a shape is one not known yet.

Example:
    >>> from funcgrad import random
    >>> init, apply = serial(Dense(8), Relu, Dense(2), LogSoftmax)
    >>> shape, params = init(random.key(0), (-1, 4))
    >>> shape
    (-1, 2)
    >>> apply(params, np.ones((3, 4))).shape
    (3, 2)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import funcgrad.numpy as jnp
from funcgrad import random
from funcgrad.example_libraries._stax_windows import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    Initializer,
    Key,
    Layer,
    MaxPool,
    Shape,
    SumPool,
)
from funcgrad.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from funcgrad.nn import log_softmax as logsoftmax
from funcgrad.nn.initializers import glorot_normal, normal, ones, zeros

GLOROT = glorot_normal()
NORMAL = normal()


def Dense(out_dim: int, W_init: Initializer = GLOROT, b_init: Initializer = NORMAL) -> Layer:
    """A layer x W + b.

    Args:
        out_dim: the number of outputs.
        W_init, b_init: what makes W of shape [in, out_dim] and b of shape [out_dim] from a key.

    Returns:
        A layer from [..., in] to [..., out_dim] with params (W, b).
    """

    def init_fun(rng: Key, input_shape: Shape) -> tuple[Shape, Any]:
        key_w, key_b = random.split(rng)
        params = W_init(key_w, (input_shape[-1], out_dim)), b_init(key_b, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Inputs made to have mean 0 and variance 1 over some axes, then scaled and shifted.

    The statistics are those of the inputs at hand; no running ones are kept.

    Args:
        axis: the axes to take statistics over; not negative.
        epsilon: added to the variance.
        center, scale: whether to add a learned beta, and multiply by a learned gamma.
        beta_init, gamma_init: what makes them, with the sizes of the other axes as shape.

    Returns:
        A layer that keeps shapes, with params (beta, gamma); () stands for one that is not used.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Key, input_shape: Shape) -> tuple[Shape, Any]:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        key_beta, key_gamma = random.split(rng)
        beta = beta_init(key_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(key_gamma, shape) if scale else ())

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        spread = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        out = standardize(x, axes, epsilon=epsilon)
        out = gamma[spread] * out if scale else out
        return out + beta[spread] if center else out

    return init_fun, apply_fun


def elementwise(fun: Callable, **fun_kwargs: Any) -> Layer:
    """A layer without parameters that applies a function: `fun(inputs, **fun_kwargs)`."""

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return _same_shape, apply_fun


def _same_shape(rng: Key, input_shape: Any) -> tuple[Any, Any]:
    return input_shape, ()


Elu = elementwise(elu)
Exp = elementwise(jnp.exp)
Gelu = elementwise(gelu)
LeakyRelu = elementwise(leaky_relu)
LogSoftmax = elementwise(log_softmax, axis=-1)
Relu = elementwise(relu)
Selu = elementwise(selu)
Sigmoid = elementwise(sigmoid)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Tanh = elementwise(jnp.tanh)


def _flatten_init(rng: Key, input_shape: Shape) -> tuple[Shape, Any]:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flatten(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = (_flatten_init, _flatten)
Identity = elementwise(lambda inputs: inputs)


def FanOut(num: int) -> Layer:
    """A layer that gives its input `num` times, as a list; for `parallel` to take."""

    def init_fun(rng: Key, input_shape: Shape) -> tuple[list[Shape], Any]:
        return [input_shape] * num, ()

    return init_fun, lambda params, inputs, **kwargs: [inputs] * num


def _sum_init(rng: Key, input_shape: Sequence[Shape]) -> tuple[Shape, Any]:
    return input_shape[0], ()


FanInSum = (_sum_init, lambda params, inputs, **kwargs: sum(inputs[1:], inputs[0]))


def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins a list of inputs along an axis."""

    def init_fun(rng: Key, input_shape: Sequence[Shape]) -> tuple[Shape, Any]:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()

    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Each element kept with probability `rate` and divided by it, or made 0.

    Args:
        rate: the probability that an element is kept (not that it is dropped).
        mode: "train", or "test" for a layer that changes nothing.

    Returns:
        A layer whose `apply_fun` needs a key: `apply_fun(params, inputs, rng=key)`.

    Raises:
        ValueError: for another mode, or if it is applied without a key.
    """
    if mode not in ("train", "test"):
        raise ValueError(f"stax.Dropout: mode is 'train' or 'test', got {mode!r}")

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "stax.Dropout draws random numbers, and was applied without a key; call "
                "apply_fun(params, inputs, rng=key), on the outermost layer too"
            )
        if mode == "test":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return _same_shape, apply_fun


def serial(*layers: Layer) -> Layer:
    """One layer that applies several in turn, each to what the one before gives.

    Returns:
        A layer whose params are a list with those of each; a key given to it as `rng` is split
        among them.
    """
    inits, applies = [layer[0] for layer in layers], [layer[1] for layer in layers]

    def init_fun(rng: Key, input_shape: Any) -> tuple[Any, Any]:
        params = []
        for init in inits:
            rng, key = random.split(rng)
            input_shape, own = init(key, input_shape)
            params.append(own)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for apply, own, key in zip(applies, params, keys, strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """One layer that applies several to a list of inputs, one each.

    Returns:
        A layer from a list of shapes (inputs) to a tuple of shapes (a list of outputs), whose
        params are a tuple with those of each.
    """
    inits, applies = [layer[0] for layer in layers], [layer[1] for layer in layers]

    def init_fun(rng: Key, input_shape: Sequence[Shape]) -> tuple[tuple, Any]:
        keys = random.split(rng, len(layers))
        made = [init(key, shape) for init, key, shape in zip(inits, keys, input_shape, strict=True)]
        return tuple(shape for shape, _ in made), tuple(own for _, own in made)

    def apply_fun(params: Any, inputs: Sequence[Any], **kwargs: Any) -> list[Any]:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        parts = zip(applies, params, inputs, keys, strict=True)
        return [apply(own, x, rng=key, **kwargs) for apply, own, x, key in parts]

    return init_fun, apply_fun


def _keys(rng: Key, count: int) -> Sequence[Key]:
    return (None,) * count if rng is None or not count else random.split(rng, count)


def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """The layer that `make_layer(input_shape)` makes, once the shape of the inputs is known."""

    def init_fun(rng: Key, input_shape: Shape) -> tuple[Any, Any]:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun


__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "parallel",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
]
