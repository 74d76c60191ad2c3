"""Whole arrays in another arrangement: broadcast, reshaped, transposed, reversed; and iota."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.basis import (
    broadcast_in_dim,
    broadcast_in_dim_p,
    iota_p,
    moveaxis,
    reduce_sum,
    reshape,
    reshape_p,
    squeeze_p,
    transpose,
    transpose_p,
)
from funcgrad.base.shapes import (
    canonical_axes,
    canonical_axis,
    check_lengths,
    check_permutation,
    remove_axes,
)
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import ZERO, Expr, Graph
from funcgrad.compiler.lowering import Element, Position
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear

rev_p = Primitive("rev")
copy_p = Primitive("copy")
stop_gradient_p = Primitive("stop_gradient")


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The operand with its elements in reverse order along the listed axes."""
    dims = canonical_axes(tuple(dimensions), len(aval_of(operand).shape), "dimensions")
    return rev_p.bind(operand, dimensions=dims) if dims else operand


def copy(x: Any) -> Any:
    """A copy of x."""
    return copy_p.bind(x)


# broadcast_in_dim

COPIED_ELEMENTS = 1024  # np.broadcast_to takes 2 us; up to about here a copy is quicker


def broadcast_abstract(
    x: ShapedArray, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    dims = broadcast_dimensions
    check_lengths("broadcast_in_dim", x.ndim, broadcast_dimensions=dims)
    increasing = all(a < b for a, b in pairwise(dims))
    if not increasing or any(not 0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must be strictly increasing axes of {shape}, "
            f"got {dims}"
        )
    for i, d in enumerate(dims):
        if x.shape[i] not in (1, shape[d]):
            raise TypeError(
                f"broadcast_in_dim: operand axis {i} of length {x.shape[i]} does not fit axis {d} "
                f"of the shape {shape}; operand shape {x.shape}"
            )
    return x.update(shape=shape)


def broadcast_evaluate(
    xp: Any, x: Any, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> Any:
    spread = [1] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        spread[d] = x.shape[i]
    spread_out = x.reshape(spread)
    if spread_out.shape == shape:
        return spread_out
    if math.prod(shape) > COPIED_ELEMENTS or x.dtype.kind == "V":  # keys are told by their memory
        return xp.broadcast_to(spread_out, shape)
    out = xp.empty(shape, x.dtype)
    out[...] = spread_out
    return out


def broadcast_backward(ct: Any, x: Linear, shape: Any, broadcast_dimensions: Any) -> Any:
    new = [i for i in range(len(shape)) if i not in broadcast_dimensions]
    stretched = [d for i, d in enumerate(broadcast_dimensions) if x.shape[i] == 1 and shape[d] != 1]
    return reshape(reduce_sum(ct, [*new, *stretched]), x.shape)


def broadcast_batch(
    axis: Any, values: Sequence, axes: Sequence, shape: Any, broadcast_dimensions: Any
) -> Any:
    value = moveaxis(values[0], axes[0], 0)
    dims = (0, *(d + 1 for d in broadcast_dimensions))
    return (broadcast_in_dim(value, (axis.size, *shape), dims),), (0,)


evaluate_rules[broadcast_in_dim_p] = single(broadcast_evaluate)
abstract_rules[broadcast_in_dim_p] = pure(broadcast_abstract)
forward.linear(broadcast_in_dim_p)
backward.unary(broadcast_in_dim_p, broadcast_backward)
batching.rules[broadcast_in_dim_p] = broadcast_batch


def broadcast_lower(
    graph: Graph,
    index: Position,
    x: Element,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
) -> Expr:
    return lowering.at_broadcast(x, tuple(index[d] for d in broadcast_dimensions))


lowering.view(broadcast_in_dim_p, broadcast_lower)


# reshape, squeeze


def reshape_abstract(x: ShapedArray, new_sizes: tuple[int, ...], dimensions: None) -> ShapedArray:
    if dimensions is not None:
        raise TypeError("reshape: transpose the operand first instead of giving dimensions")
    out = x.update(shape=new_sizes)
    if any(d < 0 for d in new_sizes) or out.size != x.size:
        raise TypeError(
            f"reshape total size must be unchanged, got new_sizes {new_sizes} (size "
            f"{out.size}) for shape {x.shape} (size {x.size})"
        )
    return out


def reshape_batch(
    axis: Any, values: Sequence, axes: Sequence, new_sizes: Any, dimensions: Any
) -> Any:
    return (reshape(moveaxis(values[0], axes[0], 0), (axis.size, *new_sizes)),), (0,)


evaluate_rules[reshape_p] = single(lambda xp, x, new_sizes, dimensions: x.reshape(new_sizes))
abstract_rules[reshape_p] = pure(reshape_abstract)
forward.linear(reshape_p)
backward.unary(reshape_p, lambda ct, x, **_: reshape(ct, x.shape))
batching.rules[reshape_p] = reshape_batch


def reshape_lower(
    graph: Graph, index: Position, x: Element, new_sizes: tuple[int, ...], dimensions: None
) -> Expr:
    """Row-major offsets stay; where only axes of length 1 come and go, so do indices."""
    kept = [i for i, n in zip(index, new_sizes, strict=True) if n != 1]
    if [n for n in x.shape if n != 1] != [n for n in new_sizes if n != 1]:
        return x.flat(lowering.linear(new_sizes, index))
    rest = iter(kept)
    return x(tuple(ZERO if n == 1 else next(rest) for n in x.shape))


lowering.view(reshape_p, reshape_lower)


def squeeze_abstract(x: ShapedArray, dimensions: tuple[int, ...]) -> ShapedArray:
    dims = canonical_axes(dimensions, x.ndim, "squeeze dimensions")
    if any(x.shape[d] != 1 for d in dims):
        raise ValueError(
            f"squeeze drops axes of size one only, got shape={x.shape} and dimensions={dimensions}"
        )
    return x.update(shape=remove_axes(x.shape, dims))


evaluate_rules[squeeze_p] = single(
    lambda xp, x, dimensions: x.reshape(remove_axes(x.shape, dimensions))
)
abstract_rules[squeeze_p] = pure(squeeze_abstract)
forward.linear(squeeze_p)
backward.unary(squeeze_p, lambda ct, x, **_: reshape(ct, x.shape))
batching.shifted(squeeze_p, dimensions=batching.axes_shifted)
lowering.view(
    squeeze_p,
    lambda graph, index, x, dimensions: x(
        lowering.interleaved(dimensions, (ZERO,) * len(dimensions), index)
    ),
)


# transpose, rev, copy


def transpose_abstract(x: ShapedArray, permutation: tuple[int, ...]) -> ShapedArray:
    perm = check_permutation(permutation, x.ndim, "transpose")
    return x.update(shape=tuple(x.shape[i] for i in perm))


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(permutation))


evaluate_rules[transpose_p] = single(lambda xp, x, permutation: x.transpose(permutation))
abstract_rules[transpose_p] = pure(transpose_abstract)
forward.linear(transpose_p)
backward.unary(
    transpose_p, lambda ct, x, permutation: transpose(ct, inverse_permutation(permutation))
)
batching.shifted(transpose_p, permutation=lambda perm, ndim: (0, *(p + 1 for p in perm)))
lowering.view(
    transpose_p,
    lambda graph, index, x, permutation: x(lowering.interleaved(permutation, index, ())),
)

evaluate_rules[rev_p] = single(lambda xp, x, dimensions: xp.flip(x, dimensions))
abstract_rules[rev_p] = pure(lambda x, dimensions: x)
forward.linear(rev_p)
backward.unary(rev_p, lambda ct, x, dimensions: rev(ct, dimensions))
batching.shifted(rev_p, dimensions=batching.axes_shifted)


def rev_lower(graph: Graph, index: Position, x: Element, dimensions: tuple[int, ...]) -> Expr:
    return x(
        tuple(
            i.times(-1).plus(n - 1) if d in dimensions else i
            for d, (i, n) in enumerate(zip(index, x.shape, strict=True))
        )
    )


lowering.view(rev_p, rev_lower)

evaluate_rules[copy_p] = single(lambda xp, x: x.copy())
abstract_rules[copy_p] = pure(lambda x: x)
forward.linear(copy_p)
backward.unary(copy_p, lambda ct, x: ct)
batching.elementwise(copy_p)
lowering.view(copy_p, lambda graph, index, x: x(index))

evaluate_rules[stop_gradient_p] = lambda xp, x: (x,)
abstract_rules[stop_gradient_p] = pure(lambda x: x)
forward.zero_derivative(stop_gradient_p)
batching.elementwise(stop_gradient_p)
lowering.view(stop_gradient_p, lambda graph, index, x: x(index))


# iota


def iota_abstract(dtype: Any, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    canonical_axis(dimension, len(shape), "dimension")
    if not dtypes.issubdtype(dtype, np.number):
        raise TypeError(f"iota: dtype must be numeric, got {dtype}")
    return shaped(shape, dtype)


def iota_evaluate(xp: Any, dtype: Any, shape: tuple[int, ...], dimension: int) -> Any:
    line = xp.arange(shape[dimension]).astype(dtype)
    spread = [1] * len(shape)
    spread[dimension] = -1
    return xp.broadcast_to(line.reshape(spread), shape)


evaluate_rules[iota_p] = single(iota_evaluate)
abstract_rules[iota_p] = pure(iota_abstract)
forward.zero_derivative(iota_p)
batching.rules[iota_p] = lambda axis, values, axes, **params: ((iota_p.bind(**params),), (None,))


def iota_lower(
    graph: Graph, index: Position, dtype: Any, shape: tuple[int, ...], dimension: int
) -> Expr:
    counter = "i32" if shape[dimension] <= 2**31 else "i64"
    return graph.value(index[dimension], counter).to(lowering.element_type(dtype) or "")


lowering.view(iota_p, iota_lower)
lowering.fillers[iota_p] = lambda params: True
