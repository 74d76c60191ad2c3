"""dot_general: the sum of products over chosen axes of two arrays, with axes that go together."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import convert, transpose, transpose_p
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.passes import loops, simplify, sink
from funcgrad.primitives.cast import convert_evaluate
from funcgrad.primitives.contraction_lowering import (
    dot_lower,
    dot_product,
    dot_stacked,
    dot_summed,
    dot_turned,
    transposed_dot,
    without_kernel,
)
from funcgrad.primitives.contraction_spec import (
    Axes,
    DotDimensionNumbers,
    check_axes,
    evaluated_rounding,
    layout_of,
    product_dtype,
    split_axes,
)
from funcgrad.primitives.matrix_product import matrix_product
from funcgrad.primitives.precision import (
    CanonicalPrecision,
    PrecisionLike,
    canonicalize_precision,
)
from funcgrad.primitives.structural import inverse_permutation
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import is_linear

dot_general_p = Primitive("dot_general")


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: None = None,
) -> Any:
    """The sum over contracting axes of lhs times rhs, for each index of their batch axes.

    Args:
        lhs, rhs: arrays; their dtypes may differ, and then the wider kind wins.
        dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`; axes of
            lhs and rhs at the same place in a pair of lists have the same length.
        precision: see `Precision`; of no effect on a CPU, unless it is a DotAlgorithm.
        preferred_element_type: the dtype of the result, in which products are summed.
        out_sharding: None.

    Returns:
        An array of shape [*batch, *other axes of lhs, *other axes of rhs].

    Raises:
        TypeError: axes out of bounds, repeated, or of different lengths; dtypes without product.

    Example:
        >>> dot_general(np.ones((8, 2, 3)), np.ones((8, 3, 4)), (((2,), (1,)), ((0,), (0,)))).shape
        (8, 2, 4)
    """
    return dot(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The product of vectors and matrices; with `dimension_numbers`, `dot_general`."""
    if dimension_numbers is None:
        left, right = aval_of(lhs).shape, aval_of(rhs).shape
        if not (len(left) in (1, 2) and len(right) in (1, 2) and left[-1] == right[0]):
            raise ValueError(
                "dot: dimension_numbers must be specified for anything but vectors and matrices "
                f"whose inner axes agree; got lhs shape {left} and rhs shape {right}."
            )
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    if out_sharding is not None:
        raise ValueError(
            f"dot_general: out_sharding must be None, got {out_sharding!r}. Constrain the result "
            "with lax.with_sharding_constraint."
        )
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(preferred_element_type, "dot_general")
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=(
            (_axes(lhs_contract), _axes(rhs_contract)),
            (_axes(lhs_batch), _axes(rhs_batch)),
        ),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """The matrix product over the last two axes; the axes before them go together."""
    left, right = aval_of(lhs), aval_of(rhs)
    if left.ndim != right.ndim or left.ndim < 2:
        raise ValueError(
            "batch_matmul takes two arrays of the same rank, at least 2; got shapes "
            f"{left.shape} and {right.shape}."
        )
    batch = tuple(range(left.ndim - 2))
    numbers = (((left.ndim - 1,), (left.ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision=precision)


def _axes(axes: Any) -> Axes:
    try:
        return (operator.index(axes),)
    except TypeError:
        return tuple(operator.index(a) for a in axes)


# abstract


def dot_abstract(
    lhs: ShapedArray,
    rhs: ShapedArray,
    dimension_numbers: Any,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
    out_sharding: None,
) -> ShapedArray:
    contract, batch = dimension_numbers
    for side, aval, dims_c, dims_b in (
        ("lhs", lhs, contract[0], batch[0]),
        ("rhs", rhs, contract[1], batch[1]),
    ):
        check_axes(side, aval, dims_c, dims_b)
    for name, (left, right) in (("batch", batch), ("contracting", contract)):
        sizes = [lhs.shape[i] for i in left], [rhs.shape[i] for i in right]
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"dot_general requires {name} dimensions of lhs and rhs to have the same shape: "
                f"lhs {lhs.str_short()} has {tuple(sizes[0])} at axes {left}, rhs "
                f"{rhs.str_short()} has {tuple(sizes[1])} at axes {right}."
            )
    dtype = product_dtype("dot_general", lhs.dtype, rhs.dtype, precision, preferred_element_type)
    left = split_axes(lhs.ndim, contract[0], batch[0])
    right = split_axes(rhs.ndim, contract[1], batch[1])
    shape = (
        *(lhs.shape[i] for i in left.batch + left.free),
        *(rhs.shape[i] for i in right.free),
    )
    return lhs.update(shape=shape, dtype=dtype, weak_type=lhs.weak_type and rhs.weak_type)


# evaluate


def dot_evaluate(
    xp: Any,
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
    out_sharding: None,
) -> Any:
    """Both operands as stacks of matrices, views where their layout allows it, and one matmul."""
    layout = layout_of(lhs.shape, rhs.shape, dimension_numbers)
    dtype = product_dtype("dot_general", lhs.dtype, rhs.dtype, precision, preferred_element_type)
    rounding = evaluated_rounding(lhs.dtype, rhs.dtype, precision, dtype)
    a = lhs.transpose(layout.lhs_permutation).reshape(layout.lhs_shape)
    b = rhs.transpose(layout.rhs_permutation).reshape(layout.rhs_shape)
    if rounding:
        a = convert_evaluate(xp, a, rounding.lhs or a.dtype, False)
        b = convert_evaluate(xp, b, rounding.rhs or b.dtype, False)
        out = matrix_product(xp, a, b, rounding.sum or dtype)
        return convert_evaluate(xp, out, dtype, False).reshape(layout.out_shape)
    return matrix_product(xp, a, b, dtype).reshape(layout.out_shape)


# forward


def dot_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    out = dot_general_p.bind(*primals, **params)
    if not dtypes.issubdtype(aval_of(out).dtype, np.inexact):
        return (out,), (None,)
    (x, y), (x_dot, y_dot) = primals, tangents
    total = None if x_dot is None else dot_general_p.bind(x_dot, y, **params)
    if y_dot is not None:
        total = forward.add_tangents(total, dot_general_p.bind(x, y_dot, **params))
    return (out,), (total,)


# backward


def _transpose_lhs(ct: Any, x: Any, y: Any, numbers: Any, swapped: bool, params: dict) -> Any:
    """The cotangent of x, the first operand of the product (the second one if swapped)."""
    (x_contract, y_contract), (x_batch, y_batch) = numbers
    xs = split_axes(len(x.shape), x_contract, x_batch)
    ys = split_axes(aval_of(y).ndim, y_contract, y_batch)
    ct_batch = tuple(range(len(x_batch)))
    start = len(x_batch) if swapped else len(x_batch) + len(xs.free)
    ct_y = tuple(range(start, start + len(ys.free)))
    # What remains of y are its contracting axes, in the order of y.
    order = sorted(range(len(y_contract)), key=y_contract.__getitem__)
    remaining = tuple(x_contract[i] for i in order)
    out = dot_general(ct, y, ((ct_y, ys.free), (ct_batch, y_batch)), **params)
    out = transpose(out, inverse_permutation(xs.batch + xs.free + remaining))
    same = aval_of(out).dtype == x.aval.dtype
    return out if same else convert(out, x.aval.dtype, x.aval.weak_type)


def dot_backward(
    cts: Sequence, lhs: Any, rhs: Any, dimension_numbers: Any, **params: Any
) -> list[Any]:
    (ct,) = cts
    if is_linear(lhs):
        return [_transpose_lhs(ct, lhs, rhs, dimension_numbers, False, params), None]
    contract, batch = dimension_numbers
    return [None, _transpose_lhs(ct, rhs, lhs, (contract[::-1], batch[::-1]), True, params)]


# batching


def dot_batch(
    axis: Any, values: Sequence, axes: Sequence, dimension_numbers: Any, **params: Any
) -> tuple:
    """Two batched operands share a new batch axis; with one, the batch is one more free axis."""
    contract, batch = dimension_numbers
    contract = tuple(_past(c, at) for c, at in zip(contract, axes, strict=True))
    batch = tuple(_past(b, at) for b, at in zip(batch, axes, strict=True))
    left, right = axes
    splits = [
        split_axes(aval_of(v).ndim, c, b) for v, c, b in zip(values, contract, batch, strict=True)
    ]
    if left is not None and right is not None:
        batch = ((left, *batch[0]), (right, *batch[1]))
        where = 0
    elif left is not None:
        where = len(batch[0]) + splits[0].free.index(left)
    else:
        where = len(batch[0]) + len(splits[0].free) + splits[1].free.index(right)
    out = dot_general_p.bind(*values, dimension_numbers=(contract, batch), **params)
    return (out,), (where,)


def _past(axes: Axes, at: int | None) -> Axes:
    """Axis numbers of a member as those of the batch, whose new axis is `at`."""
    return axes if at is None else tuple(a + (a >= at) for a in axes)


evaluate_rules[dot_general_p] = single(dot_evaluate)
abstract_rules[dot_general_p] = pure(dot_abstract)
forward.rules[dot_general_p] = dot_forward
backward.rules[dot_general_p] = dot_backward
batching.rules[dot_general_p] = dot_batch
simplify.rules[transpose_p, dot_general_p] = transposed_dot
loops.turned[dot_general_p] = dot_turned
sink.summed[dot_general_p] = dot_summed
sink.stacked[dot_general_p] = dot_stacked
lowering.products[dot_general_p] = dot_product
lowering.folds[dot_general_p] = dot_lower
lowering.refusals[dot_general_p] = without_kernel
