"""A contraction as the compiler takes it: a sum in the loop IR, a matrix product, and what passes
make of one that is transposed, summed or stacked."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.ir.jaxpr import Eqn, Var
from funcgrad.primitives.contraction_spec import Axes, Split, product_types, split_axes
from funcgrad.primitives.precision import CanonicalPrecision

# Rows up to which a product by a matrix reads it in the order of memory; more rows wait for less.
TURNED_ROWS = 64


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


def dot_turned(eqn: Eqn, number: int, matrix: Var) -> Eqn | None:
    """The product with its matrix transposed, of a matrix and a vector or a few rows and a matrix.

    Rows of floats alone: others are packed for the product, which puts them in order anyway.
    """
    (contract, batch), other = eqn.params["dimension_numbers"], eqn.invars[1 - number].aval
    if batch != ((), ()) or matrix.aval.ndim != 2 or contract[number] != (1,):
        return None
    rows = other.size // max(matrix.aval.shape[0], 1)
    in_place = matrix.aval.dtype == other.dtype in (np.float32, np.float64)
    if not (1 < rows <= TURNED_ROWS and in_place if number else other.ndim == 1):
        return None
    numbers = ((contract[0], (0,)) if number else ((0,), contract[1]), batch)
    invars = [eqn.invars[0], matrix] if number else [matrix, eqn.invars[1]]
    return eqn.replace(invars=invars, params={**eqn.params, "dimension_numbers": numbers})


def dot_summed(params: dict[str, Any]) -> dict[str, Any]:
    """The sum of the products of two stacks, element by element along their axes 0."""
    contract, batch = (tuple(map(behind, axes)) for axes in params["dimension_numbers"])
    numbers = (tuple((0, *axes) for axes in contract), batch)
    return {**params, "dimension_numbers": numbers}


def dot_stacked(params: dict[str, Any], number: int) -> dict[str, Any]:
    """The products of the elements along axis 0 of one operand, and of the other one."""
    numbers = tuple(
        tuple(behind(axes) if i == number else axes for i, axes in enumerate(pair))
        for pair in params["dimension_numbers"]
    )
    return {**params, "dimension_numbers": numbers}


def behind(axes: Axes) -> Axes:
    """The axes with a new one before them."""
    return tuple(axis + 1 for axis in axes)


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
