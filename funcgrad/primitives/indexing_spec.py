"""What gather and scatter are told: which axes belong together, and where windows then stand.

Dimension numbers are unpacked by position, the fields of both kinds being the same.
"""

import enum
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray
from funcgrad.base.shapes import Shape, remove_axes
from funcgrad.compiler.loops import Expr, Graph, Index
from funcgrad.compiler.lowering import Element, Position


class GatherDimensionNumbers(NamedTuple):
    """Which axes of a gather's operand, indices and result belong together.

    The last axis of the indices is the index vector; its other axes are the batch axes.

    Attributes:
        offset_dims: axes of the result that run inside a window; the others are batch axes.
        collapsed_slice_dims: operand axes whose windows have length 1 and are left out.
        start_index_map: the operand axis that each component of an index vector is for.
        operand_batching_dims: operand axes walked along together with ...
        start_indices_batching_dims: ... these axes of the indices, pair by pair.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The same for a scatter, field by field, with the updates in the place of the result.

    Attributes:
        update_window_dims: axes of the updates that run inside a window.
        inserted_window_dims: operand axes whose windows have length 1 and the updates lack.
        scatter_dims_to_operand_dims: the operand axis that each index component is for.
        operand_batching_dims: operand axes walked along together with ...
        scatter_indices_batching_dims: ... these axes of the indices, pair by pair.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


DimensionNumbers = GatherDimensionNumbers | ScatterDimensionNumbers


class GatherScatterMode(enum.Enum):
    """What happens to a window that does not lie wholly inside the operand.

    CLIP moves it inside. FILL_OR_DROP reads the fill value, and writes nothing. With
    PROMISE_IN_BOUNDS the caller says there is none; one that is there all the same is moved inside
    by a gather and dropped by a scatter. ONE_HOT is for `numpy` functions that multiply by a
    one-hot matrix instead; gather and scatter do not take it.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode of that name; None is FILL_OR_DROP."""
        if isinstance(s, GatherScatterMode):
            return s
        if s not in _MODES:
            names = ", ".join(repr(name) for name in _MODES if name)
            raise ValueError(f"Unknown gather mode {s!r}: the modes are {names}.")
        return _MODES[s]


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def window_axes(numbers: DimensionNumbers, ndim: int) -> tuple[int, ...]:
    """The operand axes that a window, as the result or the updates hold it, has."""
    _, collapsed, _, batching, _ = numbers
    return remove_axes(tuple(range(ndim)), (*collapsed, *batching))


def batch_axes(numbers: DimensionNumbers, ndim: int) -> tuple[int, ...]:
    """The axes of the result or the updates (of that rank) that do not run inside a window."""
    return remove_axes(tuple(range(ndim)), numbers[0])


def window_sizes(numbers: DimensionNumbers, ndim: int, updates: Shape) -> tuple[int, ...]:
    """The length of a window along each operand axis, from the shape of the updates."""
    sizes = [1] * ndim
    for axis, window in zip(window_axes(numbers, ndim), numbers[0], strict=True):
        sizes[axis] = updates[window]
    return tuple(sizes)


def windows_shape(numbers: DimensionNumbers, sizes: Shape, batch: Shape) -> Shape:
    """The shape of the result of a gather, or of the updates of a scatter."""
    kept = iter([sizes[a] for a in window_axes(numbers, len(sizes))])
    rest, total = iter(batch), len(numbers[0]) + len(batch)
    return tuple(next(kept) if i in numbers[0] else next(rest) for i in range(total))


def check_dimension_numbers(
    op: str, numbers: DimensionNumbers, operand: ShapedArray, indices: ShapedArray
) -> None:
    """Raise unless the dimension numbers fit the ranks and lengths they are for."""
    windows, collapsed, indexed, batching, index_batching = numbers
    of_windows, of_collapsed, of_indexed, of_batching, of_index_batching = numbers._fields
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{op} takes indices of an integer type, got {indices.str_short()}; convert them"
        )
    if not indices.ndim:
        raise TypeError(
            f"{op}: indices must have at least one axis, the last, which holds the index vectors; "
            f"got {indices.str_short()}"
        )
    batch_ndim = indices.ndim - 1
    _check_axes(op, of_windows, windows, len(windows) + batch_ndim, in_order=True)
    _check_axes(op, of_collapsed, collapsed, operand.ndim, in_order=True)
    _check_axes(op, of_indexed, indexed, operand.ndim, in_order=False)
    _check_axes(op, of_batching, batching, operand.ndim, in_order=True)
    _check_axes(op, of_index_batching, index_batching, batch_ndim, in_order=False)
    for name, axes in ((of_collapsed, collapsed), (of_indexed, indexed)):
        if not set(axes).isdisjoint(batching):
            raise TypeError(
                f"{op}: {name} and {of_batching} must be disjoint, got {axes} and {batching}"
            )
    if len(indexed) != indices.shape[-1]:
        raise TypeError(
            f"{op}: {of_indexed} must have one entry for each component of an index vector, got "
            f"{indexed} for indices of shape {indices.shape}"
        )
    if len(windows) + len(collapsed) + len(batching) != operand.ndim:
        raise TypeError(
            f"{op}: each of the {operand.ndim} operand axes must run inside a window, be collapsed "
            f"or be a batching axis; got {of_windows} {windows}, {of_collapsed} {collapsed}, "
            f"{of_batching} {batching}"
        )
    lengths = [operand.shape[a] for a in batching], [indices.shape[a] for a in index_batching]
    if lengths[0] != lengths[1]:
        raise TypeError(
            f"{op}: {of_batching} {batching} and {of_index_batching} {index_batching} must name "
            f"axes of equal lengths, pair by pair; got {lengths[0]} and {lengths[1]}"
        )


def _check_axes(op: str, name: str, axes: Shape, ndim: int, in_order: bool) -> None:
    if any(not 0 <= a < ndim for a in axes):
        raise TypeError(f"{op}: {name} must be axes in the range [0, {ndim}), got {axes}")
    if len(set(axes)) != len(axes):
        raise TypeError(f"{op}: {name} must not repeat an axis, got {axes}")
    if in_order and tuple(sorted(axes)) != tuple(axes):
        raise TypeError(f"{op}: {name} must be sorted, got {axes}")


def check_mode(op: str, mode: GatherScatterMode) -> None:
    if mode is GatherScatterMode.ONE_HOT:
        raise ValueError(f"{op}: the mode 'one_hot' is one of numpy functions, not of lax.{op}")


def positions(xp: Any, indices: Any, limits: Sequence[int], clamp: bool) -> tuple[Any, Any]:
    """The indices as int64, clamped to 0..limits where asked; and which vectors were inside.

    The second is None if all were; `limits` has one entry for each component.
    """
    if indices.dtype == np.uint64:
        indices = xp.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    indices = indices.astype(np.int64, copy=False)
    components = range(len(limits))
    fine = indices.size == 0 or (
        int(indices.min()) >= 0 and all(int(indices[..., k].max()) <= limits[k] for k in components)
    )
    if fine:
        return indices, None
    highest = xp.asarray(limits, np.int64)
    inside = ((indices >= 0) & (indices <= highest)).all(axis=-1)
    return (xp.clip(indices, 0, highest) if clamp else indices), inside


def walk(xp: Any, lengths: Shape, along: int) -> Any:
    """0, 1, 2, ... along one of the batch axes, shaped so as to broadcast with the others."""
    shape = [1] * len(lengths)
    shape[along] = -1
    return xp.arange(lengths[along]).reshape(shape)


def element_strides(shape: Shape) -> tuple[int, ...]:
    """How far apart neighbours along each axis lie in row-major order, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def window_start(
    graph: Graph, indices: Element, batch: Position, limits: Sequence[int], clamp: bool
) -> tuple[list[Index], Expr]:
    """Where the window of a batch index starts, clamped to 0..limits where asked, and whether it
    does so inside of them."""
    starts, inside = [], graph.const(True, "bool")
    for k, limit in enumerate(limits):
        start = as_i64(indices((*batch, Index(k))))
        if clamp:
            start = clamped(start, limit)
        else:
            inside = graph.both(inside, start.bits("u64") <= limit)  # which negative ones are not
        starts.append(graph.position(start))
    return starts, inside


def clamped(start: Expr, limit: int) -> Expr:
    """An index moved into 0..limit."""
    graph, start = start.graph, as_i64(start)
    if limit == 0:
        return graph.const(0, "i64")
    return start.apply("min", limit).apply("max", 0)


def as_i64(index: Expr) -> Expr:
    """An index in 64 signed bits, which the largest do not fit into."""
    if index.dtype == "u64":
        index = index.apply("min", np.iinfo(np.int64).max)
    return index.to("i64")
