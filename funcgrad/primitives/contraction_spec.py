"""What a contraction is told: the part each axis plays, and the dtypes that follow from it."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray
from funcgrad.primitives.matrix_product import is_exact, working_dtype
from funcgrad.primitives.precision import DotAlgorithm, DotAlgorithmPreset, Rounding, rounding_of

Axes: TypeAlias = tuple[int, ...]
DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Split(NamedTuple):
    """The axes of one operand by their part in the product; each in the order that results have."""

    batch: Axes
    free: Axes
    contract: Axes


def split_axes(ndim: int, contract: Axes, batch: Axes) -> Split:
    return Split(batch, tuple(i for i in range(ndim) if i not in {*contract, *batch}), contract)


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


def check_axes(side: str, aval: ShapedArray, contract: Axes, batch: Axes) -> None:
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


@functools.cache
def evaluated_rounding(lhs: Any, rhs: Any, precision: Any, out: Any) -> Rounding | None:
    """What operands and sum are rounded to before the result is; None where nothing is.

    Operands of two dtypes with an integer result become integers before they are multiplied.
    """
    if lhs != rhs and is_exact(out):
        return Rounding(out, out, out)
    rounding = rounding_of(precision)
    return None if rounding == Rounding() else rounding


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
