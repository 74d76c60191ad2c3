"""Slices whose start is computed: read with dynamic_slice, written with dynamic_update_slice.

Only the start may depend on data, never the size, and it is moved so that the slice fits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    broadcast_in_dim,
    broadcast_scalar,
    concatenate,
    reshape,
    scalar_like,
    select_n,
    slice_array,
    squeeze,
)
from funcgrad.base.shapes import Shape, canonical_shape, check_lengths
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Element, Position
from funcgrad.primitives.compare import lt
from funcgrad.primitives.gathering import gather_batch
from funcgrad.primitives.indexing import scatter_p
from funcgrad.primitives.indexing_spec import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    clamped,
)
from funcgrad.primitives.nary import check_same_dtype
from funcgrad.primitives.scattering import scatter_batch
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.forward import instantiate_zeros

dynamic_slice_p = Primitive("dynamic_slice")
dynamic_update_slice_p = Primitive("dynamic_update_slice")

NegativeAllowed = bool | Sequence[bool]


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: NegativeAllowed = True,
) -> Any:
    """The slice of the given sizes that starts at indices which may be computed.

    A start from which the slice would leave the operand is moved to where it just fits.

    Args:
        operand: where the slice is taken.
        start_indices: an integer scalar per axis, or all of them in one 1-D integer array.
        slice_sizes: how long the slice is along every axis.
        allow_negative_indices: a bool, or one per axis; where true, a start below 0 counts from the
            end of the axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad import lax
        >>> lax.dynamic_slice(np.arange(6.0), (2,), (3,)).tolist()
        [2.0, 3.0, 4.0]
    """
    starts = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    sizes = canonical_shape(slice_sizes, "slice_sizes")
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: NegativeAllowed = True,
) -> Any:
    """The operand with the slice that starts at the given indices replaced by `update`.

    Args:
        operand: the array whose values are replaced.
        update: the new values, of the operand's rank and dtype.
        start_indices: as in `dynamic_slice`; they too are moved so that the update fits.
        allow_negative_indices: as in `dynamic_slice`.
    """
    starts = _starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def _starts(op: str, operand: Any, start_indices: Any, negative: NegativeAllowed) -> list[Any]:
    """One scalar for each axis, negative ones counted from the end where allowed."""
    shape = aval_of(operand).shape
    if not isinstance(start_indices, Sequence):
        aval = aval_of(start_indices)
        if aval.ndim != 1:
            raise ValueError(
                f"{op}: start_indices must be a sequence of scalars or a 1-D array, got "
                f"{aval.str_short()}"
            )
        start_indices = [
            squeeze(slice_array(start_indices, (i,), (i + 1,)), (0,)) for i in range(len(aval))
        ]
    if len(start_indices) != len(shape):
        raise ValueError(
            f"{op}: start_indices must have one entry for each axis of the operand, got "
            f"{len(start_indices)} for shape {shape}"
        )
    allowed = [negative] * len(shape) if isinstance(negative, bool) else list(negative)
    check_lengths(op, len(shape), allow_negative_indices=allowed)
    return [
        _start(start, size, from_end)
        for start, size, from_end in zip(start_indices, shape, allowed, strict=True)
    ]


def _start(start: Any, size: int, from_end: bool) -> Any:
    aval = aval_of(start)
    if dtypes.issubdtype(aval.dtype, np.unsignedinteger) or aval.shape:
        return start
    if isinstance(start, (int, np.integer, ConcreteArray)) and _is_integer(aval):
        value = int(start)
        if value < 0 and not from_end and not isinstance(start, ConcreteArray):
            raise ValueError(
                f"index {start} is negative and allow_negative_indices is False, for an axis of "
                f"length {size}"
            )
        return np.asarray(value + size if value < 0 and from_end else value, aval.dtype)
    if not from_end or not _is_integer(aval):
        return start
    wrapped = add(start, scalar_like(size, start))
    return select_n(lt(start, scalar_like(0, start)), start, wrapped)


def _is_integer(aval: ShapedArray) -> bool:
    return dtypes.issubdtype(aval.dtype, np.integer)


# dynamic_slice


def check_starts(op: str, ndim: int, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != ndim:
        raise TypeError(
            f"{op}: start_indices must have one entry for each of the {ndim} axes of the operand, "
            f"got {len(starts)}"
        )
    given = ", ".join(s.str_short() for s in starts)
    if any(s.shape for s in starts):
        raise TypeError(f"{op}: start_indices must be scalars, got {given}")
    if len({s.dtype for s in starts}) > 1 or not all(map(_is_integer, starts)):
        raise TypeError(f"{op}: start_indices must share one integer type, got {given}")


def dynamic_slice_abstract(x: ShapedArray, *starts: ShapedArray, slice_sizes: Shape) -> ShapedArray:
    check_starts("dynamic_slice", x.ndim, starts)
    check_lengths("dynamic_slice", x.ndim, slice_sizes=slice_sizes)
    if any(not 0 <= s <= n for s, n in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_slice: slice_sizes must not be negative nor exceed the operand's shape, got "
            f"{slice_sizes} for shape {x.shape}"
        )
    return x.update(shape=slice_sizes)


def window(x: Any, starts: Sequence[Any], sizes: Shape) -> Any:
    """A view of the part of x that begins at the starts, moved so that it fits."""
    index = []
    for start, size, length in zip(starts, sizes, x.shape, strict=True):
        first = min(max(int(start), 0), length - size)
        index.append(slice(first, first + size))
    return x[(*index, ...)]


def dynamic_slice_forward(primals: Sequence, tangents: Sequence, slice_sizes: Shape) -> tuple:
    x, *starts = primals
    out = dynamic_slice_p.bind(x, *starts, slice_sizes=slice_sizes)
    if tangents[0] is None:
        return (out,), (None,)
    return (out,), (dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes),)


def dynamic_slice_backward(cts: Sequence, x: Any, *starts: Any, slice_sizes: Shape) -> list[Any]:
    (ct,) = cts
    zeros = broadcast_scalar(0, aval_of(ct).update(shape=x.shape))
    return [dynamic_update_slice_p.bind(zeros, ct, *starts), *(None for _ in starts)]


def index_vectors(axis: Any, starts: Sequence, axes: Sequence) -> tuple[Any, int | None]:
    """The starts side by side as index vectors, and where the batch axis is."""
    if all(a is None for a in axes):
        return concatenate([reshape(s, (1,)) for s in starts], 0), None
    columns = [
        broadcast_in_dim(s, (axis.size, 1), () if a is None else (0,))
        for s, a in zip(starts, axes, strict=True)
    ]
    return concatenate(columns, 1), 0


def dynamic_slice_batch(axis: Any, values: Sequence, axes: Sequence, slice_sizes: Shape) -> Any:
    x, *starts = values
    if all(a is None for a in axes[1:]):
        x = batching.to_front(axis, x, axes[0])
        zero = scalar_like(0, starts[0]) if starts else np.int32(0)
        sizes = (axis.size, *slice_sizes)
        return (dynamic_slice_p.bind(x, zero, *starts, slice_sizes=sizes),), (0,)
    vectors, of_vectors = index_vectors(axis, starts, axes[1:])
    dims = tuple(range(len(slice_sizes)))
    return gather_batch(
        axis,
        [x, vectors],
        [axes[0], of_vectors],
        dimension_numbers=GatherDimensionNumbers(dims, (), dims),
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


evaluate_rules[dynamic_slice_p] = single(
    lambda xp, x, *starts, slice_sizes: window(x, starts, slice_sizes)
)
abstract_rules[dynamic_slice_p] = pure(dynamic_slice_abstract)
forward.rules[dynamic_slice_p] = dynamic_slice_forward
backward.rules[dynamic_slice_p] = dynamic_slice_backward
batching.rules[dynamic_slice_p] = dynamic_slice_batch


def moved_to(
    graph: Graph, index: Position, starts: Sequence[Element], sizes: Shape, shape: Shape
) -> Position:
    """The element of an array that an index into its dynamic slice means."""
    return tuple(
        i.plus(graph.position(clamped(start(()), length - size))) if size < length else i
        for i, start, size, length in zip(index, starts, sizes, shape, strict=True)
    )


def dynamic_slice_lower(
    graph: Graph, index: Position, x: Element, *starts: Element, slice_sizes: Shape
) -> Expr:
    return x(moved_to(graph, index, starts, slice_sizes, x.shape))


lowering.view(dynamic_slice_p, dynamic_slice_lower)


# dynamic_update_slice


def dynamic_update_slice_abstract(
    x: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    check_starts("dynamic_update_slice", x.ndim, starts)
    check_same_dtype("dynamic_update_slice", (x, update))
    if update.ndim != x.ndim or any(s > n for s, n in zip(update.shape, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_update_slice: the update must have the operand's rank and not exceed its "
            f"shape, got an update of shape {update.shape} for an operand of shape {x.shape}"
        )
    weak = x.weak_type and update.weak_type and all(s.weak_type for s in starts)
    return x.update(weak_type=weak)


def dynamic_update_slice_evaluate(xp: Any, x: Any, update: Any, *starts: Any) -> Any:
    out = xp.array(x, order="C")
    window(out, starts, update.shape)[...] = update
    return out


def dynamic_update_slice_forward(primals: Sequence, tangents: Sequence) -> tuple:
    x, update, *starts = primals
    out = dynamic_update_slice_p.bind(x, update, *starts)
    if tangents[0] is None and tangents[1] is None:
        return (out,), (None,)
    t_x, t_update = instantiate_zeros(x, tangents[0]), instantiate_zeros(update, tangents[1])
    return (out,), (dynamic_update_slice_p.bind(t_x, t_update, *starts),)


def dynamic_update_slice_backward(cts: Sequence, x: Any, update: Any, *starts: Any) -> list[Any]:
    (ct,) = cts
    aval = update.aval if is_linear(update) else aval_of(update)
    ct_x = ct_update = None
    if is_linear(x):
        zeros = broadcast_scalar(0, aval_of(ct).update(shape=aval.shape))
        ct_x = dynamic_update_slice_p.bind(ct, zeros, *starts)
    if is_linear(update):
        ct_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=aval.shape)
    return [ct_x, ct_update, *(None for _ in starts)]


def dynamic_update_slice_batch(axis: Any, values: Sequence, axes: Sequence) -> Any:
    x, update, *starts = values
    if all(a is None for a in axes[2:]):
        x, update = batching.to_front(axis, x, axes[0]), batching.to_front(axis, update, axes[1])
        zero = scalar_like(0, starts[0]) if starts else np.int32(0)
        return (dynamic_update_slice_p.bind(x, update, zero, *starts),), (0,)
    vectors, of_vectors = index_vectors(axis, starts, axes[2:])
    dims = tuple(range(len(starts)))
    return scatter_batch(scatter_p)(
        axis,
        [x, vectors, update],
        [axes[0], of_vectors, axes[1]],
        dimension_numbers=ScatterDimensionNumbers(dims, (), dims),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    )


evaluate_rules[dynamic_update_slice_p] = single(dynamic_update_slice_evaluate)
abstract_rules[dynamic_update_slice_p] = pure(dynamic_update_slice_abstract)
forward.rules[dynamic_update_slice_p] = dynamic_update_slice_forward
backward.rules[dynamic_update_slice_p] = dynamic_update_slice_backward
batching.rules[dynamic_update_slice_p] = dynamic_update_slice_batch


def dynamic_update_slice_lower(
    graph: Graph, x: Element, update: Element, *starts: Element
) -> lowering.Update:
    def place(index: Position) -> tuple[Position, Expr]:
        position = moved_to(graph, index, starts, update.shape, x.shape)
        return position, graph.const(True, "bool")

    return lowering.Update(
        extents=update.shape,
        place=place,
        value=lambda index, old: update(index),
        window=len(update.shape),
        distinct=True,
    )


lowering.updates[dynamic_update_slice_p] = dynamic_update_slice_lower
lowering.movers.add(dynamic_update_slice_p)
