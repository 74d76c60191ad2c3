"""Matrices in the last two axes: the small algebra, and the checks, that linear algebra shares."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.backend import scipy, to_numpy
from funcgrad.base.basis import (
    add,
    broadcast_in_dim,
    convert,
    eq,
    full_like,
    iota,
    mul,
    pad,
    reduce_sum,
    reshape,
    scalar_like,
    select_n,
    slice_array,
    transpose,
)
from funcgrad.base.trace import (
    Primitive,
    Rule,
    abstract_eval,
    abstract_rules,
    evaluate_rules,
    pure,
)
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.compare import ge
from funcgrad.primitives.complex_parts import conj, is_complex
from funcgrad.primitives.contraction import batch_matmul
from funcgrad.primitives.indexing import gather, scatter
from funcgrad.primitives.indexing_spec import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from funcgrad.primitives.nary import INEXACT, INTEGER, check_dtype, check_same_dtype
from funcgrad.primitives.precision import Precision
from funcgrad.transforms import batching, forward

# What LAPACK computes in.
LAPACK_DTYPES = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
REAL_DTYPES = LAPACK_DTYPES[:2]
INDEX_DTYPES = (np.dtype(np.int32),)

IN_BOUNDS = GatherScatterMode.PROMISE_IN_BOUNDS


def transposed(x: Any) -> Any:
    ndim = aval_of(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return transposed(conj(x) if is_complex(x) else x)


def matmul(a: Any, b: Any) -> Any:
    return batch_matmul(a, b, Precision.HIGHEST)


def symmetrize(x: Any) -> Any:
    """The Hermitian part (x + x^H) / 2, of integers as floats."""
    aval = aval_of(x)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ValueError(
            f"only square matrices [..., n, n] have a Hermitian part, got {aval.shape}"
        )
    x = convert(x, dtypes.to_inexact(aval.dtype))
    return mul(add(x, adjoint(x)), scalar_like(0.5, x))


def _offsets(x: Any, k: int) -> tuple[Any, Any]:
    """The row numbers plus k, and the column numbers, of every element of x."""
    shape = aval_of(x).shape
    rows, columns = (iota(np.int32, shape, len(shape) + axis) for axis in (-2, -1))
    return (add(rows, np.int32(k)) if k else rows), columns


def lower_part(x: Any, k: int = 0) -> Any:
    """x with zeros above the k-th diagonal."""
    return select_n(ge(*_offsets(x, k)), full_like(x, 0), x)


def upper_part(x: Any, k: int = 0) -> Any:
    """x with zeros below the k-th diagonal."""
    return select_n(ge(*_offsets(x, k - 1)), x, full_like(x, 0))


def diagonal_part(x: Any) -> Any:
    """x with zeros off its diagonal."""
    return select_n(eq(*_offsets(x, 0)), full_like(x, 0), x)


def diagonal(x: Any) -> Any:
    """The diagonal of square matrices, [..., n]."""
    return reduce_sum(diagonal_part(x), (aval_of(x).ndim - 1,))


def identity_like(x: Any) -> Any:
    """The identity in the place of each matrix of x."""
    return convert(eq(*_offsets(x, 0)), aval_of(x).dtype)


def column(v: Any) -> Any:
    """[..., n] as a matrix of one column."""
    return reshape(v, (*aval_of(v).shape, 1))


def in_rows(v: Any, count: int) -> Any:
    """[..., n] as each of `count` rows: element [i, j] is v[j]."""
    *batch, n = aval_of(v).shape
    axes = range(len(batch))
    return broadcast_in_dim(v, (*batch, count, n), (*axes, len(batch) + 1))


def in_columns(v: Any, count: int) -> Any:
    """[..., n] as each of `count` columns: element [i, j] is v[i]."""
    *batch, n = aval_of(v).shape
    return broadcast_in_dim(v, (*batch, n, count), range(len(batch) + 1))


def part(x: Any, rows: slice, columns: slice) -> Any:
    """x[..., rows, columns]"""
    *batch, m, n = aval_of(x).shape
    (top, bottom, _), (left, right, _) = rows.indices(m), columns.indices(n)
    zeros = [0] * len(batch)
    return slice_array(x, (*zeros, top, left), (*batch, bottom, right))


def elements(v: Any, chosen: slice) -> Any:
    """v[..., chosen]"""
    shape = aval_of(v).shape
    zeros = [0] * (len(shape) - 1)
    return slice_array(v, (*zeros, chosen.start), (*shape[:-1], chosen.stop))


def padded(x: Any, rows: int, columns: int) -> Any:
    """x with that many rows and columns of zeros at the end."""
    config = [(0, 0, 0)] * (aval_of(x).ndim - 2)
    return pad(x, scalar_like(0, x), [*config, (0, rows, 0), (0, columns, 0)])


def take_rows(x: Any, index: Any) -> Any:
    """x[..., index, :] for indices of each matrix, [..., rows], that do not repeat."""
    *batch, _, n = aval_of(x).shape
    stack, rows = tuple(range(len(batch))), (len(batch),)
    numbers = GatherDimensionNumbers((len(batch) + 1,), rows, rows, stack, stack)
    sizes = (*(1 for _ in batch), 1, n)
    return gather(x, column(index), numbers, sizes, unique_indices=True, mode=IN_BOUNDS)


def put_rows(x: Any, index: Any) -> Any:
    """The inverse of `take_rows` with a permutation: row i of x becomes row index[i]."""
    ndim = aval_of(x).ndim
    stack, rows = tuple(range(ndim - 2)), (ndim - 2,)
    numbers = ScatterDimensionNumbers((ndim - 1,), rows, rows, stack, stack)
    zeros = full_like(x, 0)
    return scatter(zeros, column(index), x, numbers, unique_indices=True, mode=IN_BOUNDS)


def take_columns(x: Any, index: Any) -> Any:
    """x[..., index] for indices of each matrix, [..., columns], that do not repeat."""
    return transposed(take_rows(transposed(x), index))


def inverse_or_zero(x: Any) -> Any:
    """1 / x, and 0 where x is 0."""
    zero = eq(x, full_like(x, 0))
    return select_n(zero, div(full_like(x, 1), select_n(zero, x, full_like(x, 1))), full_like(x, 0))


# how a primitive of linear algebra is registered


def matrix_primitive(
    name: str,
    ranks: Sequence[int],
    result: Callable[..., Sequence[tuple[tuple[int, ...], Any]]],
    evaluate: Rule,
    accepted: Sequence[np.dtype] = LAPACK_DTYPES,
    multiple_results: bool = False,
) -> Primitive:
    """A primitive whose operands are stacks of vectors (rank 1) and matrices (rank 2).

    `result(dtype, *shapes, **params)` checks the shapes without the stack's axes and lists the
    (shape, dtype) of each output; `evaluate(xp, outs, *buffers, **params)` gets the full avals of
    the outputs and returns their buffers.
    """
    primitive = Primitive(name, multiple_results)

    def abstract(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        check_operands(name, avals, ranks, accepted)
        split = [a.ndim - rank for a, rank in zip(avals, ranks, strict=True)]
        stack = avals[0].shape[: split[0]]
        if any(a.shape[:s] != stack for a, s in zip(avals, split, strict=True)):
            raise TypeError(
                f"{name}: the axes before the last {_listed(ranks)} must be the same for all "
                f"operands, got {', '.join(a.str_short() for a in avals)}"
            )
        shapes = [a.shape[s:] for a, s in zip(avals, split, strict=True)]
        weak = all(a.weak_type for a in avals)
        return [
            shaped((*stack, *shape), np.dtype(dtype), weak and dtype == avals[0].dtype)
            for shape, dtype in result(avals[0].dtype, *shapes, **params)
        ]

    def evaluated(xp: Any, *buffers: Any, **params: Any) -> tuple:
        avals = [shaped(b.shape, b.dtype) for b in buffers]
        outs, _ = abstract_eval(primitive, avals, params)
        return tuple(evaluate(xp, outs, *buffers, **params))

    abstract_rules[primitive] = pure(abstract)
    evaluate_rules[primitive] = evaluated
    batching.leading(primitive)
    return primitive


def check_operands(
    name: str, avals: Sequence[ShapedArray], ranks: Sequence[int], accepted: Sequence[np.dtype]
) -> None:
    for i, (aval, rank) in enumerate(zip(avals, ranks, strict=True)):
        if aval.ndim < rank:
            raise TypeError(
                f"{name}: argument {i} needs at least {rank} axes, got {aval.str_short()}"
            )
        if aval.dtype in accepted:
            continue
        check_dtype(name, i, aval, INTEGER if accepted[0].kind == "i" else INEXACT)
        raise NotImplementedError(
            f"{name} is not computed in {aval.dtype} (argument {i}, {aval.str_short()}), only in "
            f"{', '.join(d.name for d in accepted)}. Cast first, as in x.astype('float32')."
        )
    check_same_dtype(name, tuple(avals))


def _listed(ranks: Sequence[int]) -> str:
    return str(ranks[0]) if len(set(ranks)) == 1 else f"{', '.join(map(str, ranks))} respectively"


def check_square(name: str, shape: tuple[int, ...]) -> int:
    """The size of a square matrix; ValueError for any other."""
    if shape[0] != shape[1]:
        raise ValueError(f"{name} takes square matrices [..., n, n], got matrices of shape {shape}")
    return shape[0]


def check_subset(given: tuple[int, int], count: int) -> tuple[int, int]:
    """The range of values to return, of `count`."""
    start, end = given
    if not 0 <= start <= end <= count:
        raise ValueError(
            f"subset_by_index needs 0 <= start <= end <= {count}, the number of values; got {given}"
        )
    return start, end


def check_choice(name: str, asked: Any, available: Sequence[Any]) -> None:
    """NotImplementedError for an algorithm that only other devices have."""
    if asked is not None and asked not in available:
        raise NotImplementedError(
            f"{name}: {asked} is not there on a CPU; use None or {' or '.join(map(str, available))}"
        )


def by_definition(primitive: Primitive, definition: Callable) -> None:
    """Register the derivative that follows from writing the one output in other operations."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        return forward.jvp(lambda *args: [definition(*args, **params)], primals, tangents)

    forward.rules[primitive] = rule


# evaluation, matrix by matrix where NumPy has no function for stacks


@functools.cache
def lapack(name: str, dtype: Any) -> Callable:
    """The LAPACK function of that name (without its first letter) for a dtype."""
    (function,) = scipy("linalg").get_lapack_funcs((name,), dtype=dtype)
    return function


@functools.cache
def blas(name: str, dtype: Any) -> Callable:
    """The same for BLAS."""
    (function,) = scipy("linalg").get_blas_funcs((name,), dtype=dtype)
    return function


def one_by_one(
    xp: Any, outs: Sequence[ShapedArray], stack: tuple[int, ...], function: Callable, *arrays: Any
) -> list:
    """`function` of each member of arrays with these leading axes; nan where it finds no result.

    It returns one array for each of `outs`, or None (or raises LinAlgError) if it fails.
    """
    host = [to_numpy(a) for a in arrays]
    results = [np.empty(o.shape, o.dtype) for o in outs]
    for index in np.ndindex(stack):
        try:
            found = function(*(a[index] for a in host))
        except np.linalg.LinAlgError:
            found = None
        for i, result in enumerate(results):
            result[index] = np.nan if found is None else found[i]
    return [xp.asarray(r) for r in results]


def stacked(xp: Any, outs: Sequence[ShapedArray], function: Callable, x: Any) -> Sequence:
    """`function` of all matrices at once; if one of them fails, one by one."""
    try:
        return function(x)
    except np.linalg.LinAlgError:
        return one_by_one(xp, outs, x.shape[:-2], function, x)
