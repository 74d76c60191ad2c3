"""Convolutions in the forms that are most used, in terms of `conv_general_dilated`."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import (
    concatenate,
    convert,
    pad,
    reshape,
    scalar_like,
    slice_array,
    transpose,
)
from funcgrad.base.shapes import dilate
from funcgrad.primitives.contraction import dot_general
from funcgrad.primitives.convolution import conv_general_dilated
from funcgrad.primitives.convolution_spec import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    pick,
    result_dtype,
    transposed_padding,
)
from funcgrad.primitives.precision import (
    Precision,
    PrecisionLike,
    canonicalize_precision,
)
from funcgrad.primitives.sliding import Window, check_window, pairs, window_of
from funcgrad.primitives.structural import inverse_permutation, rev


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of inputs [N, C, *spatial] with a kernel [O, I, *spatial].

    Args:
        padding: 'SAME', 'SAME_LOWER' or 'VALID'.
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv` with any padding, and with both operands dilated."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """A convolution over the input with its elements `strides` apart: it enlarges by that factor.

    It undoes the shape of a convolution with these strides; it is that one's derivative if the
    kernel is transposed too.

    Args:
        lhs, rhs: inputs and kernel, with features last if `dimension_numbers` is None.
        strides: by which factor each spatial axis grows.
        padding: 'SAME' or 'VALID' as for the convolution that is undone; (low, high) pairs are for
            the dilated input, or, with `use_consistent_padding`, for that convolution too.
        rhs_dilation: how far apart the kernel's elements are put.
        dimension_numbers: see `conv_general_dilated`.
        transpose_kernel: reverse the kernel's spatial axes and exchange its features, which is
            what deep learning frameworks do.
        precision, preferred_element_type: see `conv_general_dilated`.
        use_consistent_padding: see `padding`.

    Example:
        >>> conv_transpose(np.ones((1, 4, 4, 3)), np.ones((3, 3, 3, 8)), (2, 2), "SAME").shape
        (1, 8, 8, 8)
    """
    left, right = aval_of(lhs).shape, aval_of(rhs).shape
    if dimension_numbers is None:
        if len(left) not in _CHANNELS_LAST:
            raise ValueError(
                "conv_transpose: dimension_numbers must be given for inputs with other than 0 to 3 "
                f"spatial axes, got lhs shape {left}."
            )
        dimension_numbers = _CHANNELS_LAST[len(left)]  # type: ignore[assignment]
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    outputs, inputs, *spatial = numbers.rhs_spec
    spread = (1,) * len(spatial) if rhs_dilation is None else tuple(rhs_dilation)
    pads: Any = padding
    if use_consistent_padding or padding in ("SAME", "VALID"):
        sizes = map(dilate, pick(right, spatial), spread)
        each = [padding] * len(spatial) if isinstance(padding, str) else pairs(padding)
        pads = [transposed_padding(k, s, p) for k, s, p in zip(sizes, strides, each, strict=True)]
    if transpose_kernel:
        order = list(range(len(right)))
        order[outputs], order[inputs] = inputs, outputs
        rhs = transpose(rev(rhs, spatial), order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        pads,
        strides,
        spread,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: Precision | None = None,
    preferred_element_type: Any = None,
) -> Any:
    """The patches of lhs that a kernel of shape `filter_shape` meets, as features of the result.

    Args:
        lhs: inputs with a batch, a feature and spatial axes.
        filter_shape: the kernel's spatial sizes, in the order of the second dimension numbers.
        precision: of no effect, as nothing is multiplied.
        Others: see `conv_general_dilated`.

    Returns:
        An array of the shape of that convolution's result with features [C * prod(filter_shape)]:
        all elements of a patch of the first feature of lhs, then those of the next.

    Example:
        >>> conv_general_dilated_patches(np.ones((1, 2, 5, 5)), (3, 3), (1, 1), "VALID").shape
        (1, 18, 3, 3)
    """
    shape = aval_of(lhs).shape
    lhs_spec, _, out_spec = _patch_numbers(shape, filter_shape, dimension_numbers)
    if isinstance(padding, str) and lhs_dilation is not None and any(d != 1 for d in lhs_dilation):
        raise ValueError(
            f"conv_general_dilated_patches: padding {padding!r} has no meaning with lhs_dilation "
            f"{tuple(lhs_dilation)}. Give (low, high) pairs."
        )
    sizes = pick(shape, lhs_spec[2:])
    window = window_of(sizes, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation)
    check_window("conv_general_dilated_patches", sizes, window)
    # [batch, features, 1, *spatial], the patch's elements to be put along the axis of length 1.
    arranged = transpose(lhs, lhs_spec)
    batch, features = pick(shape, lhs_spec[:2])
    patches = _taps(reshape(arranged, (batch, features, 1, *sizes)), sizes, window)
    places = window.out_shape(sizes)
    count = math.prod(window.window_dimensions)
    out = reshape(patches, (batch, features * count, *places))
    out = transpose(out, inverse_permutation(out_spec))
    if preferred_element_type is None:
        return out
    preferred = dtypes.check_user_dtype(preferred_element_type, "conv_general_dilated_patches")
    return convert(out, result_dtype(aval_of(lhs).dtype, preferred))


def _patch_numbers(
    shape: Sequence[int],
    filter_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    return conv_dimension_numbers(shape, (1, 1, *filter_shape), dimension_numbers)


def _taps(x: Any, sizes: Sequence[int], window: Window) -> Any:
    """[batch, features, 1, *spatial] to [batch, features, taps, *places]."""
    nothing = (0, 0, 0)
    base = pad(x, scalar_like(0, x), [nothing] * 3 + list(window.padding_config))
    shape = aval_of(base).shape
    places = window.out_shape(tuple(sizes))
    if 0 in places:
        return reshape(
            slice_array(base, [0] * len(shape), [*shape[:2], 0, *shape[3:]]),
            (*shape[:2], math.prod(window.window_dimensions), *places),
        )
    parts = []
    for tap in itertools.product(*map(range, window.window_dimensions)):
        start = [t * step for t, step in zip(tap, window.window_dilation, strict=True)]
        limit = [
            s + dilate(count, stride)
            for s, count, stride in zip(start, places, window.window_strides, strict=True)
        ]
        parts.append(
            slice_array(
                base, [0, 0, 0, *start], [*shape[:3], *limit], [1, 1, 1, *window.window_strides]
            )
        )
    return concatenate(parts, 2)


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Any:
    """A convolution with a kernel of its own at every place.

    Args:
        lhs: inputs with a batch, a feature and spatial axes.
        rhs: the kernels: output features, input features [C * prod(filter_shape)] in the order of
            `conv_general_dilated_patches`, and spatial axes as long as the result's.
        filter_shape: the kernels' spatial sizes.
        Others: see `conv_general_dilated`.
    """
    levels = canonicalize_precision(precision)
    if levels is not None and not isinstance(levels, tuple):
        raise ValueError(
            "conv_general_dilated_local: precision must be None, a Precision or a pair of them, "
            f"got {precision!r}."
        )
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
    )
    _, rhs_spec, out_spec = _patch_numbers(aval_of(lhs).shape, filter_shape, dimension_numbers)
    # Spatial axes are paired as the result orders them.
    order = sorted(range(len(out_spec) - 2), key=lambda i: out_spec[2 + i])
    places = [out_spec[2 + i] for i in order]
    kernels = [rhs_spec[2 + i] for i in order]
    numbers = (([out_spec[1]], [rhs_spec[1]]), (places, kernels))
    out = dot_general(patches, rhs, numbers, precision)
    # [*places, batch, features], the last two to be moved where the result has them.
    rank = len(places)
    moved = sorted([(out_spec[0], rank), (out_spec[1], rank + 1)])
    axes = list(range(rank))
    for target, source in moved:
        axes.insert(target, source)
    return transpose(out, axes)
