"""conv_general_dilated: convolutions of any rank with strides, holes, padding and groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import broadcast_scalar, convert, reshape, transpose
from funcgrad.base.shapes import concrete_int, dilate, remove_axes
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.primitives.cast import convert_evaluate
from funcgrad.primitives.convolution_lowering import conv_lower, conv_settings
from funcgrad.primitives.convolution_spec import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    Geometry,
    check_groups,
    check_spatial,
    conv_dimension_numbers,
    conv_shape_tuple,
    pick,
    result_dtype,
    unpick,
)
from funcgrad.primitives.matrix_product import working_dtype
from funcgrad.primitives.nary import ANY, check_dtype, check_same_dtype
from funcgrad.primitives.patches import convolve
from funcgrad.primitives.precision import PrecisionLike, canonicalize_precision
from funcgrad.primitives.sliding import padtype_to_pads, pairs
from funcgrad.primitives.structural import rev
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear, is_linear

conv_general_dilated_p = Primitive("conv_general_dilated")

Shape = tuple[int, ...]


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The convolution (without reversal of the kernel) of a batch of inputs with a kernel.

    Args:
        lhs: the inputs, with a batch, a feature and any number of spatial axes.
        rhs: the kernel, with an output feature, an input feature and as many spatial axes; of the
            dtype of lhs.
        window_strides: the steps in which the kernel moves along each spatial axis.
        padding: 'SAME', 'SAME_LOWER', 'VALID', or a (low, high) pair of ints for each spatial
            axis, which may be negative.
        lhs_dilation: how far apart the elements of lhs are put first; 1 by default.
        rhs_dilation: how far apart those of rhs are put; 1 by default.
        dimension_numbers: which axis is which: None for ('NC...', 'OI...', 'NC...'), three strings
            such as ('NHWC', 'HWIO', 'NHWC'), or ConvDimensionNumbers.
        feature_group_count: split the features of lhs and the output features of rhs into that
            many groups, and convolve each with its own.
        batch_group_count: the same with the batch of lhs.
        precision: see `Precision`; of no effect on a CPU.
        preferred_element_type: the dtype of the result, in which products are summed.
        out_sharding: None.

    Returns:
        An array with a batch, an output feature and spatial axes, as `dimension_numbers` has them.

    Raises:
        TypeError, ValueError: shapes, dtypes or settings do not fit.

    Example:
        >>> x, w = np.ones((8, 32, 32, 3)), np.ones((3, 3, 3, 16))
        >>> numbers = ("NHWC", "HWIO", "NHWC")
        >>> conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=numbers).shape
        (8, 16, 16, 16)
    """
    left, right = aval_of(lhs).shape, aval_of(rhs).shape
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    rank = len(left) - 2
    strides = tuple(concrete_int(s, "window_strides") for s in window_strides)
    if isinstance(padding, str) and lhs_dilation is not None and any(d != 1 for d in lhs_dilation):
        raise ValueError(
            f"conv_general_dilated: padding {padding!r} has no meaning with lhs_dilation "
            f"{tuple(lhs_dilation)}. Give (low, high) pairs, or use conv_transpose."
        )

    def dilation(given: Sequence[int] | None, name: str) -> Shape:
        return (1,) * rank if given is None else tuple(concrete_int(d, name) for d in given)

    holes, spread = dilation(lhs_dilation, "lhs_dilation"), dilation(rhs_dilation, "rhs_dilation")
    if isinstance(padding, str):
        check_spatial(rank, window_strides=strides, rhs_dilation=spread)
        kernel = map(dilate, pick(right, numbers.rhs_spec[2:]), spread)
        sizes = pick(left, numbers.lhs_spec[2:])
        pads = tuple(padtype_to_pads(sizes, tuple(kernel), strides, padding))
    else:
        pads = pairs(padding)
    if out_sharding is not None:
        raise ValueError(
            f"conv_general_dilated: out_sharding must be None, got {out_sharding!r}. Constrain the "
            "result with lax.with_sharding_constraint."
        )
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(
            preferred_element_type, "conv_general_dilated"
        )
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pads,
        lhs_dilation=holes,
        rhs_dilation=spread,
        dimension_numbers=numbers,
        feature_group_count=concrete_int(feature_group_count, "feature_group_count"),
        batch_group_count=concrete_int(batch_group_count, "batch_group_count"),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


# abstract


def conv_abstract(
    lhs: ShapedArray,
    rhs: ShapedArray,
    window_strides: Shape,
    padding: tuple,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> ShapedArray:
    for i, aval in enumerate((lhs, rhs)):
        check_dtype("conv_general_dilated", i, aval, ANY)
    check_same_dtype("conv_general_dilated", (lhs, rhs))
    check_spatial(
        lhs.ndim - 2,
        window_strides=window_strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
    )
    batch, features, *sizes = pick(lhs.shape, dimension_numbers.lhs_spec)
    outputs, inputs, *kernel = pick(rhs.shape, dimension_numbers.rhs_spec)
    check_groups(batch, features, outputs, inputs, feature_group_count, batch_group_count)
    if 0 in kernel:
        raise ValueError(
            f"conv_general_dilated: the spatial axes of rhs must not be empty, they are "
            f"{tuple(kernel)} in the shape {rhs.shape}."
        )
    shape = conv_shape_tuple(
        (batch, features, *map(dilate, sizes, lhs_dilation)),
        (outputs, inputs, *map(dilate, kernel, rhs_dilation)),
        window_strides,
        padding,
        batch_group_count,
    )
    return lhs.update(
        shape=unpick(shape, dimension_numbers.out_spec),
        dtype=result_dtype(lhs.dtype, preferred_element_type),
        weak_type=lhs.weak_type and rhs.weak_type,
    )


# evaluate


def conv_evaluate(
    xp: Any,
    lhs: Any,
    rhs: Any,
    window_strides: Shape,
    padding: tuple,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> Any:
    out_dtype = result_dtype(lhs.dtype, preferred_element_type)
    work = working_dtype(lhs.dtype, rhs.dtype, out_dtype)
    if work is None:
        work = out_dtype if out_dtype.isbuiltin == 1 else np.dtype(np.int32)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    # To [batch, *spatial, feature] and [*spatial, input feature, output feature].
    base = lhs.transpose(lhs_spec[0], *lhs_spec[2:], lhs_spec[1]).astype(work, copy=False)
    kernel = rhs.transpose(*rhs_spec[2:], rhs_spec[1], rhs_spec[0]).astype(work, copy=False)
    groups = feature_group_count * batch_group_count
    if batch_group_count > 1:
        base = base.reshape(groups, base.shape[0] // groups, *base.shape[1:])
    else:
        base = _groups_first(xp, base, groups)
    kernel = _groups_first(xp, kernel, groups)
    geometry = Geometry(window_strides, padding, lhs_dilation, rhs_dilation)
    out = convolve(xp, base, kernel, geometry, work)
    out = out.reshape(*out.shape[:-2], out.shape[-2] * out.shape[-1])
    out = convert_evaluate(xp, out, out_dtype, False)
    arranged = xp.moveaxis(out, -1, 1)
    return arranged.transpose(np.argsort(out_spec))


def _groups_first(xp: Any, x: Any, groups: int) -> Any:
    """The last axis in groups, whose number becomes the first axis."""
    return xp.moveaxis(x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups), -2, 0)


# forward, backward


def _swapped(spec: Sequence[int]) -> Shape:
    """A spec with its first two axes, those that are not spatial, exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _spatial_sizes(
    ct: Any, lhs: Shape, rhs: Shape, numbers: ConvDimensionNumbers
) -> tuple[Shape, Shape, Shape]:
    lhs_spec, rhs_spec, out_spec = numbers
    return (
        pick(lhs, lhs_spec[2:]),
        pick(rhs, rhs_spec[2:]),
        pick(aval_of(ct).shape, out_spec[2:]),
    )


def ct_of_lhs(ct: Any, lhs: Linear, rhs: Any, params: dict[str, Any]) -> Any:
    """[batch, outputs] x [outputs, inputs]: the spread cotangent convolved with the kernel turned
    round. Groups of either kind become feature groups."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    geometry = _geometry(params)
    if 0 in lhs.shape or 0 in aval_of(ct).shape:
        return broadcast_scalar(0, lhs.aval)
    sizes = _spatial_sizes(ct, lhs.shape, aval_of(rhs).shape, numbers)
    outputs, inputs, *spatial = numbers.rhs_spec
    batch_groups = params["batch_group_count"]
    groups = params["feature_group_count"] * batch_groups
    if groups > 1:
        rhs = merge_axis(split_axis(rhs, outputs, groups), outputs, inputs)
    out = conv_general_dilated(
        ct,
        convert(rev(rhs, spatial), aval_of(ct).dtype),
        window_strides=geometry.base_dilation,
        padding=geometry.padding_for_base(*sizes),
        lhs_dilation=geometry.strides,
        rhs_dilation=geometry.kernel_dilation,
        dimension_numbers=ConvDimensionNumbers(
            numbers.out_spec, _swapped(numbers.rhs_spec), numbers.lhs_spec
        ),
        feature_group_count=groups,
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    out = convert(out, lhs.aval.dtype, lhs.aval.weak_type)
    if batch_groups == 1:
        return out
    batch, features = numbers.lhs_spec[:2]
    return merge_axis(split_axis(out, features, batch_groups), features, batch)


def ct_of_rhs(ct: Any, lhs: Any, rhs: Linear, params: dict[str, Any]) -> Any:
    """[inputs, batch] x [batch, outputs]: lhs convolved with the spread cotangent as its kernel.
    Groups of one kind become groups of the other."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    geometry = _geometry(params)
    if 0 in rhs.shape or 0 in aval_of(ct).shape or 0 in aval_of(lhs).shape:
        return broadcast_scalar(0, rhs.aval)
    sizes = _spatial_sizes(ct, aval_of(lhs).shape, rhs.shape, numbers)
    out = conv_general_dilated(
        convert(lhs, aval_of(ct).dtype),
        ct,
        window_strides=geometry.kernel_dilation,
        padding=geometry.padding_for_kernel(*sizes),
        lhs_dilation=geometry.base_dilation,
        rhs_dilation=geometry.strides,
        dimension_numbers=ConvDimensionNumbers(
            _swapped(numbers.lhs_spec), _swapped(numbers.out_spec), _swapped(numbers.rhs_spec)
        ),
        feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    return convert(out, rhs.aval.dtype, rhs.aval.weak_type)


def _geometry(params: dict[str, Any]) -> Geometry:
    return Geometry(
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    )


def conv_backward(cts: Sequence, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    if is_linear(lhs):
        return [ct_of_lhs(cts[0], lhs, rhs, params), None]
    return [None, ct_of_rhs(cts[0], lhs, rhs, params)]


# batching


def merge_axis(x: Any, source: int, target: int) -> Any:
    """One axis less: `source` becomes the slow part of what is axis `target` without it."""
    shape = aval_of(x).shape
    order = [i for i in range(len(shape)) if i != source]
    order.insert(target, source)
    merged = list(remove_axes(shape, (source,)))
    merged[target] *= shape[source]
    return reshape(transpose(x, order), tuple(merged))


def split_axis(x: Any, axis: int, count: int) -> Any:
    """One axis more: `axis` in `count` equal parts, the number of the part coming first."""
    shape = aval_of(x).shape
    parts = (count, shape[axis] // count)
    return reshape(x, (*shape[:axis], *parts, *shape[axis + 1 :]))


def conv_batch(axis: Any, values: Sequence, axes: Sequence, **params: Any) -> tuple:
    """A batched operand is one with a longer batch, more features or more groups."""
    (lhs, rhs), (left, right) = values, axes
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    batch, outputs, features = lhs_spec[0], rhs_spec[0], out_spec[1]
    groups = params["feature_group_count"] * params["batch_group_count"]

    def bind(lhs: Any, rhs: Any, **changes: Any) -> Any:
        return conv_general_dilated_p.bind(lhs, rhs, **{**params, **changes})

    if axis.size == 0:
        return (_empty_batch(values, axes, params),), (0,)
    if left is not None and right is not None:
        which = "batch" if params["batch_group_count"] > 1 else "feature"
        where = batch if which == "batch" else lhs_spec[1]
        count = f"{which}_group_count"
        out = bind(
            merge_axis(lhs, left, where),
            merge_axis(rhs, right, outputs),
            **{count: params[count] * axis.size},
        )
        return (split_axis(out, features, axis.size),), (features,)
    if left is not None:
        if params["batch_group_count"] > 1:
            lhs = _merge_within_groups(lhs, left, batch, groups)
        else:
            lhs = merge_axis(lhs, left, batch)
        return (split_axis(bind(lhs, rhs), out_spec[0], axis.size),), (out_spec[0],)
    assert right is not None
    if groups == 1:
        out = bind(lhs, merge_axis(rhs, right, outputs))
        return (split_axis(out, features, axis.size),), (features,)
    out = bind(lhs, _merge_within_groups(rhs, right, outputs, groups))
    # The output features are [group, member, feature]: take the members out.
    out = split_axis(split_axis(out, features, groups), features + 1, axis.size)
    return (merge_axis(out, features, features + 1),), (features,)


def _merge_within_groups(x: Any, source: int, target: int, groups: int) -> Any:
    """`merge_axis` where the target axis is in groups, which stay its slowest part."""
    at = target + (source <= target)
    split = split_axis(x, at, groups)
    merged = merge_axis(split, source + (at < source), target + 1)
    return merge_axis(merged, target, target)


def _empty_batch(values: Sequence, axes: Sequence, params: dict[str, Any]) -> Any:
    lhs, rhs = (
        a if at is None else a.update(shape=remove_axes(a.shape, (at,)))
        for a, at in zip(map(aval_of, values), axes, strict=True)
    )
    out = conv_abstract(lhs, rhs, **params)
    return broadcast_scalar(0, out.update(shape=(0, *out.shape)))


evaluate_rules[conv_general_dilated_p] = single(conv_evaluate)
abstract_rules[conv_general_dilated_p] = pure(conv_abstract)
forward.elementwise(
    conv_general_dilated_p,
    lambda t, out, x, w, **params: conv_general_dilated_p.bind(t, w, **params),
    lambda t, out, x, w, **params: conv_general_dilated_p.bind(x, t, **params),
)
backward.rules[conv_general_dilated_p] = conv_backward
batching.rules[conv_general_dilated_p] = conv_batch
lowering.folds[conv_general_dilated_p] = conv_lower
lowering.convolutions[conv_general_dilated_p] = conv_settings
