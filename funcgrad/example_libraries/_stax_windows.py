"""Layers of stax that look through windows: convolutions, and pools of the elements in each."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import funcgrad.numpy as jnp
from funcgrad import lax, random
from funcgrad.nn.initializers import glorot_normal, normal

Shape = tuple[int, ...]
Key = Any
Layer = tuple[Callable[..., tuple[Any, Any]], Callable[..., Any]]
Initializer = Callable[..., Any]
Padding = str | Sequence[tuple[int, int]]

SMALL = normal(1e-6)


def GeneralConv(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = SMALL,
) -> Layer:
    """A convolution with a bias for each channel.

    Args:
        dimension_numbers: the layouts of input, kernel and output, as `("NHWC", "HWIO", "NHWC")`.
        out_chan: the number of channels of the output.
        filter_shape: the kernel's spatial sizes.
        strides: one step for each spatial axis; 1 by default.
        padding: "SAME", "VALID", or a (low, high) pair for each spatial axis.
        W_init, b_init: what makes kernel and bias; glorot_normal over the channels, and
            normal(1e-6), by default.

    Returns:
        A layer with params (kernel, bias).
    """
    return _convolution(
        lax.conv_general_dilated,
        lax.conv_general_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def GeneralConvTranspose(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = SMALL,
) -> Layer:
    """A transposed convolution, which enlarges by its strides, with a bias for each channel.

    Args:
        dimension_numbers, out_chan, filter_shape, padding, W_init, b_init: as for `GeneralConv`.
        strides: how many times larger each spatial axis gets; 1 by default.

    Returns:
        A layer with params (kernel, bias).
    """
    return _convolution(
        lax.conv_transpose,
        lax.conv_transpose_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def _convolution(
    convolve: Callable,
    output_shape: Callable,
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    W_init: Initializer | None,
    b_init: Initializer,
) -> Layer:
    """What both kinds of convolution share; they differ in what computes results and shapes."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    steps = tuple(strides or (1,) * len(filter_shape))
    make_kernel = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Key, input_shape: Shape) -> tuple[Shape, Any]:
        spatial = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = tuple(channels[c] if c in channels else next(spatial) for c in rhs_spec)
        key_w, key_b = random.split(rng)
        bias_shape = tuple(out_chan if c == "C" else 1 for c in out_spec)
        params = make_kernel(key_w, kernel_shape), b_init(key_b, bias_shape)
        batch = lhs_spec.index("N")
        known = (*input_shape[:batch], 1, *input_shape[batch + 1 :])
        shape = output_shape(known, kernel_shape, steps, padding, dimension_numbers)
        sizes = (input_shape[batch] if c == "N" else int(n) for c, n in zip(out_spec, shape))
        return tuple(sizes), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, bias = params
        return bias + convolve(inputs, kernel, steps, padding, dimension_numbers=dimension_numbers)

    return init_fun, apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest element of each window.

    Args:
        window_shape: the window's spatial sizes.
        strides: the step of windows along each spatial axis; 1 by default.
        padding: "SAME" or "VALID".
        spec: the inputs' layout, with N for the batch and C for channels; by default N is the
            first axis and C the last.
    """
    reduce = lambda x, *window: lax.reduce_window(x, -jnp.inf, lax.max, *window)
    return _pool(reduce, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window; the arguments are those of `MaxPool`."""
    reduce = lambda x, *window: lax.reduce_window(x, 0.0, lax.add, *window)
    return _pool(reduce, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, over the elements that are not padding.

    The arguments are those of `MaxPool`.
    """

    def reduce(x: Any, *window: Any) -> Any:
        total = lax.reduce_window(x, 0.0, lax.add, *window)
        return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *window)

    return _pool(reduce, window_shape, strides, padding, spec)


def _pool(
    reduce: Callable,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
    spec: str | None,
) -> Layer:
    """A layer from `reduce(inputs, window, strides, padding)`, all given for every axis."""
    steps = tuple(strides or (1,) * len(window_shape))
    rank = len(window_shape) + 2
    batch, channel = (0, rank - 1) if spec is None else (spec.index("N"), spec.index("C"))
    window, every = list(window_shape), list(steps)
    for i in sorted((batch, channel)):
        window.insert(i, 1)
        every.insert(i, 1)

    def init_fun(rng: Key, input_shape: Shape) -> tuple[Shape, Any]:
        size = lambda n, w, s: -(-n // s) if padding.upper() == "SAME" else (n - w) // s + 1
        sizes = zip(input_shape, window, every, strict=True)
        return tuple(n if w == s == 1 else size(n, w, s) for n, w, s in sizes), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return reduce(inputs, tuple(window), tuple(every), padding)

    return init_fun, apply_fun
