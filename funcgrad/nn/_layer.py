"""A layer is two pure functions: one makes its parameters, one applies them."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad import Array, ShapeDtypeStruct, eval_shape, random

Shape = Sequence[int]


class Layer(NamedTuple):
    """A part of a network, as two pure functions.

    `init(key, input_shape) -> params`: a pytree of arrays, None where there are none. The input
    shape is that of a whole batch, [batch, ...]; the size of the batch itself does not matter.

    `apply(params, x) -> y`: the first axis of x and y is the batch.

    Example:
        >>> model = sequential(dense(32), relu, dense(10))
        >>> params = model.init(random.key(0), (1, 64))
        >>> model.apply(params, jnp.ones((5, 64))).shape
        (5, 10)
    """

    init: Callable[[Array, Shape], Any]
    apply: Callable[[Any, Array], Array]


def from_function(function: Callable[[Array], Array]) -> Layer:
    """A function of the input alone, such as an activation, as a layer without parameters."""
    return Layer(lambda key, input_shape: None, lambda params, x: function(x))


def flatten() -> Layer:
    """A layer that turns each example into a vector: [batch, ...] to [batch, features]."""
    return from_function(lambda x: x.reshape(x.shape[0], math.prod(x.shape[1:])))


def sequential(*layers: Layer | Callable[[Array], Array]) -> Layer:
    """Layers one after the other, each fed with the output of the one before.

    Args:
        layers: layers, and functions of an array (activations) between them.

    Returns:
        A Layer; its params are a tuple of those of the layers, None for functions. Each layer is
        initialized with a key of its own and the shape that the one before it gives out.

    Raises:
        TypeError: if something else is among the layers; says where.
    """
    for i, layer in enumerate(layers):
        if not callable(layer) and not isinstance(layer, Layer):
            raise TypeError(
                f"sequential takes layers and functions of an array; argument {i} is {layer!r:.80}"
            )
    parts = [p if isinstance(p, Layer) else from_function(p) for p in layers]

    def init(key: Array, input_shape: Shape) -> tuple[Any, ...]:
        x = ShapeDtypeStruct(tuple(input_shape), "float32")
        params = []
        for part, part_key in zip(parts, random.split(key, max(len(parts), 1))):
            params.append(part.init(part_key, x.shape))
            x = eval_shape(part.apply, params[-1], x)
        return tuple(params)

    def apply(params: Sequence[Any], x: Array) -> Array:
        if len(params) != len(parts):
            raise ValueError(
                f"sequential has {len(parts)} layers, but was given params of {len(params)}; use "
                "those that its init made"
            )
        for part, part_params in zip(parts, params):
            x = part.apply(part_params, x)
        return x

    return Layer(init, apply)
