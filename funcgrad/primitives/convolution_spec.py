"""What a convolution is told: which axis plays which part, and the shapes that follow from it."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.shapes import dilate, strided
from funcgrad.primitives.sliding import padtype_to_pads

Shape = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """The axes of the operands and the result of a convolution.

    `lhs_spec` and `out_spec` list (batch, feature, *spatial) axes, `rhs_spec` lists
    (output feature, input feature, *spatial) axes; spatial axes correspond by their place.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers: TypeAlias = tuple[str, str, str] | ConvDimensionNumbers | None

# The letters of the two axes that are not spatial, in the order in which a spec lists them.
_LETTERS = ("NC", "OI", "NC")
_NAMES = ("lhs", "rhs", "out")


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Dimension numbers in any accepted form, as ConvDimensionNumbers.

    Args:
        lhs_shape, rhs_shape: shapes of the input and of the kernel.
        dimension_numbers: None for ('NC...', 'OI...', 'NC...'), three strings such as
            ('NHWC', 'HWIO', 'NHWC'), or ConvDimensionNumbers.

    Raises:
        TypeError: other forms, strings that do not name each axis once, ranks that differ.

    Example:
        >>> conv_dimension_numbers((1, 5, 5, 2), (3, 3, 2, 4), ("NHWC", "HWIO", "NHWC")).lhs_spec
        (0, 3, 1, 2)
    """
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "a convolution takes an lhs and an rhs of the same rank, got shapes "
            f"{tuple(lhs_shape)} and {tuple(rhs_shape)}."
        )
    rank = len(lhs_shape)
    if dimension_numbers is None:
        axes = tuple(range(rank))
        return ConvDimensionNumbers(axes, axes, axes)
    given: Any = dimension_numbers
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise TypeError(
            "a convolution's dimension_numbers must be None, ConvDimensionNumbers or three "
            f"strings for lhs, rhs and out, got {given!r}."
        )
    if all(isinstance(spec, str) for spec in given):
        for name, spec in zip(_NAMES, given, strict=True):
            if len(spec) != rank:
                raise TypeError(
                    f"a convolution's dimension_numbers must have a letter for each of the {rank} "
                    f"axes of lhs shape {tuple(lhs_shape)} and rhs shape {tuple(rhs_shape)}; "
                    f"that of {name} is {spec!r}."
                )
        return ConvDimensionNumbers(*conv_general_permutations(given))
    for name, spec in zip(_NAMES, given, strict=True):
        if isinstance(spec, str) or sorted(spec) != list(range(rank)):
            raise TypeError(
                "a convolution's dimension_numbers must be three strings, or list every axis once "
                f"for each of lhs, rhs and out; that of {name} is {spec!r} for rank {rank}."
            )
    return ConvDimensionNumbers(*(tuple(spec) for spec in given))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Shape, Shape, Shape]:
    """Three strings as lists of axes: batch or output, feature, and spatial in rhs's order."""
    rhs = dimension_numbers[1]
    for name, spec, letters in zip(_NAMES, dimension_numbers, _LETTERS, strict=True):
        if len(set(spec)) != len(spec) or not set(letters) <= set(spec):
            raise TypeError(
                f"a convolution's dimension_numbers name each axis once, and for {name} one of "
                f"them {letters[0]!r} and one {letters[1]!r}; got {spec!r}."
            )
    spatial = [
        set(s) - set(letters) for s, letters in zip(dimension_numbers, _LETTERS, strict=True)
    ]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError(
            "a convolution's dimension_numbers must have the same letters for spatial axes in all "
            f"three, got {tuple(dimension_numbers)}."
        )
    order = [c for c in rhs if c in spatial[1]]
    lhs_axes, rhs_axes, out_axes = (
        tuple(map(spec.index, [*letters, *order]))
        for spec, letters in zip(dimension_numbers, _LETTERS, strict=True)
    )
    return lhs_axes, rhs_axes, out_axes


def pick(shape: Sequence[int], axes: Sequence[int]) -> Shape:
    return tuple(int(shape[a]) for a in axes)


def unpick(shape: Sequence[int], axes: Sequence[int]) -> Shape:
    """The shape of which `pick(..., axes)` gives `shape`."""
    placed = dict(zip(axes, shape, strict=True))
    return tuple(placed[i] for i in range(len(axes)))


class Geometry(NamedTuple):
    """How the kernel moves over the base, axis by spatial axis."""

    strides: Shape
    padding: Padding
    base_dilation: Shape
    kernel_dilation: Shape

    def places(self, base: Shape, kernel: Shape) -> Shape:
        """How many places the kernel takes along each spatial axis."""
        padded = (
            dilate(n, d) + low + high
            for n, d, (low, high) in zip(base, self.base_dilation, self.padding, strict=True)
        )
        return tuple(map(strided, padded, map(dilate, kernel, self.kernel_dilation), self.strides))

    def padding_for_base(self, base: Shape, kernel: Shape, places: Shape) -> Padding:
        """How the spread cotangent is padded for the turned kernel to meet it at every element."""
        result = []
        for n, k, m, stride, (low, _), hole, spread in zip(
            base, kernel, places, *self, strict=True
        ):
            extent = dilate(k, spread)
            before = extent - 1 - low
            after = dilate(n, hole) + extent - 1 - dilate(m, stride) - before
            result.append((before, after))
        return tuple(result)

    def padding_for_kernel(self, base: Shape, kernel: Shape, places: Shape) -> Padding:
        """How the base is padded so that the spread cotangent, as a kernel, takes a place for each
        tap."""
        result = []
        for n, k, m, stride, (low, _), hole, spread in zip(
            base, kernel, places, *self, strict=True
        ):
            high = dilate(k, spread) + dilate(m, stride) - 1 - dilate(n, hole) - low
            result.append((low, high))
        return tuple(result)


# What must fit together.


def check_spatial(rank: int, **settings: Sequence) -> None:
    for name, values in settings.items():
        if len(values) != rank:
            kind = TypeError if name == "padding" else ValueError
            raise kind(
                f"conv_general_dilated: {name} must have one entry for each of the {rank} spatial "
                f"axes, got {tuple(values)}."
            )
        if name != "padding" and any(v < 1 for v in values):
            raise (ValueError if name == "window_strides" else TypeError)(
                f"conv_general_dilated: {name} must be positive, got {tuple(values)}."
            )


def check_groups(
    batch: int, features: int, outputs: int, inputs: int, feature_groups: int, batch_groups: int
) -> None:
    def require(fits: bool, message: str) -> None:
        if not fits:
            raise ValueError(
                f"conv_general_dilated: {message}. lhs has batch size {batch} and {features} "
                f"features, rhs {inputs} input features and {outputs} output features; "
                f"feature_group_count is {feature_groups}, batch_group_count {batch_groups}."
            )

    require(feature_groups > 0, "feature_group_count takes a positive integer")
    require(batch_groups > 0, "batch_group_count takes a positive integer")
    require(
        feature_groups == 1 or batch_groups == 1,
        "one of feature_group_count and batch_group_count must be 1",
    )
    require(features % feature_groups == 0, "feature_group_count must divide the features of lhs")
    require(
        features // feature_groups == inputs,
        "rhs must have as many input features as lhs has in each of feature_group_count groups",
    )
    require(
        outputs % feature_groups == 0, "feature_group_count must divide the output features of rhs"
    )
    require(batch % batch_groups == 0, "batch_group_count must divide the batch size of lhs")
    require(outputs % batch_groups == 0, "batch_group_count must divide the output features of rhs")


def result_dtype(dtype: Any, preferred: Any) -> np.dtype:
    """The preferred dtype, which must be of the same kind (or a float for integers) and no
    narrower."""
    if preferred is None or dtype == preferred:
        return np.dtype(dtype)
    below = dtypes.issubdtype
    fits = below(dtype, np.bool_) or any(
        below(dtype, kind) and any(below(preferred, wider) for wider in allowed)
        for kind, allowed in (
            (np.signedinteger, (np.signedinteger, np.floating)),
            (np.unsignedinteger, (np.integer, np.floating)),
            (np.floating, (np.floating,)),
            (np.complexfloating, (np.complexfloating,)),
        )
    )
    if not fits or np.dtype(preferred).itemsize < np.dtype(dtype).itemsize:
        raise TypeError(
            f"conv_general_dilated: preferred_element_type {np.dtype(preferred)} does not hold "
            f"sums of products of {np.dtype(dtype)}: it must be of the same kind and signedness, "
            "or a float for integers, and not narrower."
        )
    return np.dtype(preferred)


# The shape functions that are public. Each takes a padding type or pairs.


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> Shape:
    """The result's (N, C, *spatial) shape, from those of lhs (N, C, ...) and rhs (O, I, ...)."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"a convolution needs padding for each of the {len(lhs_shape) - 2} spatial axes, got "
            f"{tuple(pads)}."
        )
    padded = [n + low + high for n, (low, high) in zip(lhs_shape[2:], pads, strict=True)]
    if min(padded, default=0) < 0:
        raise ValueError(
            f"a convolution's negative padding {tuple(pads)} takes away more than there is of the "
            f"spatial axes of lhs, {tuple(lhs_shape[2:])}."
        )
    places = map(strided, padded, rhs_shape[2:], strides)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *places)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> Shape:
    """The shape of a convolution's result, its axes arranged as three strings say."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(pick(lhs_shape, lhs), pick(rhs_shape, rhs), window_strides, padding)
    return unpick(shape, out)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> Shape:
    """The shape of the result of `conv_transpose`, its axes arranged as three strings say."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    batch, _, *sizes = pick(lhs_shape, lhs)
    features, _, *kernel = pick(rhs_shape, rhs)
    pads = (
        [transposed_padding(k, s, padding) for k, s in zip(kernel, window_strides, strict=True)]
        if isinstance(padding, str)
        else padding
    )
    places = [
        (n - 1) * stride - k + 2 + low + high
        for n, k, stride, (low, high) in zip(sizes, kernel, window_strides, pads, strict=True)
    ]
    return unpick((batch, features, *places), out)


def transposed_padding(kernel: int, stride: int, padding: str | Sequence[int]) -> tuple[int, int]:
    """The padding of one axis with which a dilated convolution undoes the shape of a strided one.

    `kernel` is the (dilated) size of the kernel, `stride` and `padding` those of the convolution
    that is undone.
    """
    if padding == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total = kernel + stride - 2 + max(kernel - stride, 0)
        low = kernel - 1
    elif not isinstance(padding, str) and len(padding) == 2:
        low, high = (kernel - 1 - p for p in padding)
        return low, high
    else:
        raise ValueError(
            f"a transposed convolution's padding must be 'SAME', 'VALID' or a (low, high) pair for "
            f"each spatial axis, got {padding!r}."
        )
    return low, total - low
