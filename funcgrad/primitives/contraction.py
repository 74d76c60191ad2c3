"""dot_general: the sum of products over chosen axes of two arrays, with axes that go together."""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import convert, transpose, transpose_p
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.compiler.passes import loops, simplify
from funcgrad.ir.jaxpr import Eqn, Var
from funcgrad.primitives.cast import convert_evaluate
from funcgrad.primitives.matrix_product import is_exact, matrix_product, working_dtype
from funcgrad.primitives.precision import (
    CanonicalPrecision,
    DotAlgorithm,
    DotAlgorithmPreset,
    PrecisionLike,
    Rounding,
    canonicalize_precision,
    rounding_of,
)
from funcgrad.primitives.structural import inverse_permutation
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import is_linear

dot_general_p = Primitive("dot_general")

Axes: TypeAlias = tuple[int, ...]
DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


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
    return dot_general_p.bind1(
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


class Split(NamedTuple):
    """The axes of one operand by their part in the product; each in the order that results have."""

    batch: Axes
    free: Axes
    contract: Axes


def split_axes(ndim: int, contract: Axes, batch: Axes) -> Split:
    return Split(batch, tuple(i for i in range(ndim) if i not in {*contract, *batch}), contract)


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
        _check_axes(side, aval, dims_c, dims_b)
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


def _check_axes(side: str, aval: ShapedArray, contract: Axes, batch: Axes) -> None:
    given = f"{side}_contracting {contract} and {side}_batch {batch} for {aval.str_short()}"
    if not all(0 <= i < aval.ndim for i in contract + batch):
        raise TypeError(
            f"dot_general: {side} has rank {aval.ndim}, so its dimension numbers are nonnegative "
            f"and below {aval.ndim}; got {given}."
        )
    if len({*contract, *batch}) < len(contract) + len(batch):
        raise TypeError(
            f"dot_general requires {side} contracting and batch dimensions to be distinct and "
            f"disjoint; got {given}."
        )


@functools.cache
def product_dtype(name: str, lhs: Any, rhs: Any, precision: Any, preferred: Any) -> np.dtype:
    """The dtype of sums of products of two dtypes: complex, then range, mantissa, bits and sign
    decide which of the two it is, unless another one is preferred."""
    for side, dtype in (("lhs", lhs), ("rhs", rhs)):
        if not isinstance(dtype, np.dtype) or dtype == dtypes.float0:
            raise TypeError(f"{name} does not accept {side} of dtype {dtype}: it holds no numbers.")
    left, right = _rank(lhs), _rank(rhs)
    if left == right and lhs != rhs:
        raise TypeError(
            f"{name}: lhs of dtype {lhs} and rhs of dtype {rhs} have no common dtype; cast one."
        )
    result = lhs if left >= right else rhs
    if preferred is None or preferred == result:
        return result
    bound_to_width = not isinstance(precision, DotAlgorithm | DotAlgorithmPreset)
    narrower = bits_of(preferred) < bits_of(result)
    if bound_to_width and narrower and not dtypes.issubdtype(result, np.floating):
        raise TypeError(
            f"{name} has a result of type {result}, and `preferred_element_type` must not be "
            f"narrower; got {preferred}."
        )
    return np.dtype(preferred)


def _rank(dtype: Any) -> tuple:
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    if dtypes.issubdtype(dtype, np.inexact):
        info = dtypes.finfo(dtype)
        return is_complex, info.maxexp, info.nmant, info.bits, True
    return is_complex, -1, -1, bits_of(dtype), not dtypes.issubdtype(dtype, np.unsignedinteger)


def bits_of(dtype: Any) -> int:
    """The bits of one real number of a dtype."""
    if dtype == np.bool_:
        return 1
    inexact = dtypes.issubdtype(dtype, np.inexact)
    return (dtypes.finfo if inexact else dtypes.iinfo)(dtype).bits


# evaluate


class Layout(NamedTuple):
    """How both operands become stacks of matrices, and what shape their product gets."""

    lhs_permutation: Axes
    lhs_shape: Axes
    rhs_permutation: Axes
    rhs_shape: Axes
    out_shape: Axes


@functools.lru_cache(4096)
def layout_of(lhs: Axes, rhs: Axes, dimension_numbers: Any) -> Layout:
    """The layout for operands of these shapes.

    Axes may be summed over in any order; that of the larger operand spares it a copy.
    """
    contract, batch = dimension_numbers
    leading = contract[0] if math.prod(lhs) >= math.prod(rhs) else contract[1]
    order = sorted(range(len(leading)), key=leading.__getitem__)
    left = split_axes(len(lhs), tuple(contract[0][i] for i in order), batch[0])
    right = split_axes(len(rhs), tuple(contract[1][i] for i in order), batch[1])
    stack = tuple(lhs[i] for i in left.batch)
    rows = tuple(lhs[i] for i in left.free)
    columns = tuple(rhs[i] for i in right.free)
    length = math.prod(lhs[i] for i in left.contract)
    return Layout(
        left.batch + left.free + left.contract,
        (*stack, math.prod(rows), length),
        right.batch + right.contract + right.free,
        (*stack, length, math.prod(columns)),
        stack + rows + columns,
    )


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


@functools.cache
def evaluated_rounding(lhs: Any, rhs: Any, precision: Any, out: Any) -> Rounding | None:
    """What operands and sum are rounded to before the result is; None where nothing is.

    Operands of two dtypes with an integer result become integers before they are multiplied.
    """
    if lhs != rhs and is_exact(out):
        return Rounding(out, out, out)
    rounding = rounding_of(precision)
    return None if rounding == Rounding() else rounding


# forward


def dot_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    out = dot_general_p.bind1(*primals, **params)
    if not dtypes.issubdtype(aval_of(out).dtype, np.inexact):
        return (out,), (None,)
    (x, y), (x_dot, y_dot) = primals, tangents
    total = None if x_dot is None else dot_general_p.bind1(x_dot, y, **params)
    if y_dot is not None:
        total = forward.add_tangents(total, dot_general_p.bind1(x, y_dot, **params))
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
    out = dot_general_p.bind1(*values, dimension_numbers=(contract, batch), **params)
    return (out,), (where,)


def _past(axes: Axes, at: int | None) -> Axes:
    """Axis numbers of a member as those of the batch, whose new axis is `at`."""
    return axes if at is None else tuple(a + (a >= at) for a in axes)


evaluate_rules[dot_general_p] = single(dot_evaluate)
abstract_rules[dot_general_p] = pure(dot_abstract)
forward.rules[dot_general_p] = dot_forward
backward.rules[dot_general_p] = dot_backward
batching.rules[dot_general_p] = dot_batch


# lower


class ProductTypes(NamedTuple):
    """What operands are rounded to, what their products are added in, and what the sum becomes."""

    lhs: np.dtype
    rhs: np.dtype
    work: np.dtype
    sum: np.dtype
    out: np.dtype


def product_types(lhs: Any, rhs: Any, precision: Any, preferred: Any) -> ProductTypes:
    out = product_dtype("dot_general", lhs, rhs, precision, preferred)
    rounding = evaluated_rounding(lhs, rhs, precision, out) or Rounding()
    left, right = rounding.lhs or lhs, rounding.rhs or rhs
    total = rounding.sum or out
    work = working_dtype(left, right, total) or total
    return ProductTypes(*map(np.dtype, (left, right, work, total, out)))


def dot_lower(
    graph: Graph,
    lhs: Element,
    rhs: Element,
    dimension_numbers: Any,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
    out_sharding: None,
) -> Fold:
    contract, batch = dimension_numbers
    left = split_axes(len(lhs.shape), contract[0], batch[0])
    right = split_axes(len(rhs.shape), contract[1], batch[1])
    sources = lowering.numpy_dtype(lhs.dtype), lowering.numpy_dtype(rhs.dtype)
    types = product_types(*sources, precision, preferred_element_type)
    of_lhs, of_rhs, work, total, out = (lowering.element_type(t) or "" for t in types)
    num_batch, num_lhs = len(left.batch), len(left.batch) + len(left.free)

    def values(index: Position, inner: Position) -> tuple[Expr]:
        at_lhs = placed(left, index[:num_batch], index[num_batch:num_lhs], inner)
        at_rhs = placed(right, index[:num_batch], index[num_lhs:], inner)
        a = lowering.converted(lowering.converted(lhs(at_lhs), of_lhs), work)
        b = lowering.converted(lowering.converted(rhs(at_rhs), of_rhs), work)
        return (a * b,)

    combine = lowering.simple_combine(graph, "add", work, 0)
    return Fold(
        inner=tuple(lhs.shape[a] for a in left.contract),
        combine=combine,
        values=values,
        starts=combine.identity,
        finish=lambda folded: (lowering.converted(lowering.converted(folded, total), out),),
    )


def placed(split: Split, batch: Position, free: Position, contract: Position) -> Position:
    """The index into an operand, from those along its axes by their part in the product."""
    axes = (*split.batch, *split.free, *split.contract)
    return lowering.interleaved(axes, (*batch, *free, *contract), ())


def without_kernel(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    """Whether an algorithm rounds to a dtype that no kernel holds."""
    lhs, rhs = avals
    types = product_types(
        lhs.dtype, rhs.dtype, params["precision"], params["preferred_element_type"]
    )
    return not all(map(lowering.element_type, types))


def dot_product(
    lhs: ShapedArray,
    rhs: ShapedArray,
    dimension_numbers: Any,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
    out_sharding: None,
) -> lowering.Product | None:
    types = product_types(lhs.dtype, rhs.dtype, precision, preferred_element_type)
    if (types.lhs, types.rhs, types.sum) != (lhs.dtype, rhs.dtype, types.out):
        return None
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return lowering.Product(
        split_axes(lhs.ndim, lhs_contract, lhs_batch), split_axes(rhs.ndim, rhs_contract, rhs_batch)
    )


lowering.products[dot_general_p] = dot_product
lowering.folds[dot_general_p] = dot_lower
lowering.refusals[dot_general_p] = without_kernel


def dot_turned(eqn: Eqn, matrix: Var) -> Eqn | None:
    """The product of a matrix and a vector, with the matrix transposed."""
    if eqn.params["dimension_numbers"] != (((1,), (0,)), ((), ())) or matrix.aval.ndim != 2:
        return None
    if eqn.invars[1].aval.ndim != 1:
        return None
    params = {**eqn.params, "dimension_numbers": (((0,), (0,)), ((), ()))}
    return eqn.replace(invars=[matrix, eqn.invars[1]], params=params)


loops.turned[dot_general_p] = dot_turned


def transposed_dot(eqn: Eqn, dot: Eqn) -> Eqn | None:
    """A product whose result is transposed, as the product with its operands exchanged."""
    params = dot.params
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    lhs, rhs = dot.invars
    num_batch = len(lhs_batch)
    num_left = lhs.aval.ndim - num_batch - len(lhs_contract)
    ndim = dot.outvars[0].aval.ndim
    left, right = range(num_batch, num_batch + num_left), range(num_batch + num_left, ndim)
    if eqn.params["permutation"] != (*range(num_batch), *right, *left):
        return None
    if params["precision"] is not None or lhs.aval.dtype != rhs.aval.dtype:
        return None
    numbers = ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch))
    exchanged = {**params, "dimension_numbers": numbers}
    return dot.replace(invars=[rhs, lhs], outvars=eqn.outvars, params=exchanged)


simplify.rules[transpose_p, dot_general_p] = transposed_dot
