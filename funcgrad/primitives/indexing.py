"""What gather and scatter mean: index vectors that say where windows of an array start.

A gather reads such windows; a scatter writes or combines updates into them. This file declares both
families and the geometry they share; their rules stand in `gathering` and `scattering`.
"""

import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.basis import add_p, mul_p
from funcgrad.base.shapes import Shape, canonical_shape, remove_axes
from funcgrad.base.trace import NO_EFFECTS, Primitive
from funcgrad.compiler.loops import Expr, Graph, Index
from funcgrad.compiler.lowering import Element, Position
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from funcgrad.primitives.arithmetic import max_p, min_p, sub_p
from funcgrad.transforms.staging import stage_closed

gather_p = Primitive("gather")
scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter_sub_p = Primitive("scatter-sub")
scatter_mul_p = Primitive("scatter-mul")
scatter_min_p = Primitive("scatter-min")
scatter_max_p = Primitive("scatter-max")


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


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """The windows of the operand that start at the given indices.

    Args:
        operand: the array read from.
        start_indices: integers `[*batch, components]`; each last-axis vector starts a window.
        dimension_numbers: how the axes belong together.
        slice_sizes: the length of a window along each operand axis.
        unique_indices: a promise that windows do not overlap; it makes the gradient cheaper.
        indices_are_sorted: a promise that the index vectors ascend.
        mode: what to do with windows that leave the operand; None promises that none does.
        fill_value: what they read under FILL_OR_DROP. By default nan, the smallest signed or
            largest unsigned integer, or True.

    Returns:
        The windows in an array of its dtype, batch and window axes placed by `offset_dims`.
    """
    parsed = GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    fills = parsed is GatherScatterMode.FILL_OR_DROP
    return gather_p.bind1(
        operand,
        start_indices,
        dimension_numbers=GatherDimensionNumbers(*_hashable(dimension_numbers)),
        slice_sizes=canonical_shape(slice_sizes, "slice_sizes"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        fill_value=_fill_scalar(fill_value, aval_of(operand).dtype) if fills else None,
    )


def _fill_scalar(value: Any, dtype: Any) -> Any:
    """The fill value as a Python number, nan always as the one object `np.nan`: it is a key."""
    if value is not None:
        number = value.item() if hasattr(value, "item") else value
        return np.nan if number != number else number
    if isinstance(dtype, dtypes.KeyType):
        return np.iinfo(np.uint32).max
    if dtype == np.bool_:
        return True
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    info = dtypes.iinfo(dtype)
    return int(info.min if dtypes.issubdtype(dtype, np.signedinteger) else info.max)


def _hashable(numbers: DimensionNumbers) -> Sequence[tuple[int, ...]]:
    if all(type(axes) is tuple for axes in numbers):
        return numbers
    return [tuple(int(a) for a in axes) for axes in numbers]


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """The operand with the windows that start at the given indices replaced by the updates.

    Where several updates meet one element, one of them is kept.

    Args:
        operand: the array whose values are replaced.
        scatter_indices: integers `[*batch, components]`; each last-axis vector starts a window.
        updates: the new values, of the operand's dtype.
        dimension_numbers: how the axes belong together.
        indices_are_sorted: a promise that the index vectors ascend.
        unique_indices: a promise that no element is written twice.
        mode: what to do with windows that leave the operand; None drops them.
    """
    flags = indices_are_sorted, unique_indices, mode
    return _bind_scatter(scatter_p, (operand, scatter_indices, updates), dimension_numbers, flags)


def _combining(primitive: Primitive, what: str) -> Callable[..., Any]:
    """The user's function of a scatter that combines updates with what is there."""

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Any:
        arrays = operand, scatter_indices, updates
        flags = indices_are_sorted, unique_indices, mode
        return _bind_scatter(primitive, arrays, dimension_numbers, flags)

    function.__name__ = function.__qualname__ = primitive.name.replace("-", "_")
    function.__doc__ = f"{what}\n\n    The arguments are those of `scatter`.\n    "
    return function


scatter_add = _combining(
    scatter_add_p, "The operand with the updates added where they go, repeated ones each time."
)
scatter_sub = _combining(
    scatter_sub_p, "The operand with the updates subtracted where they go, repeated ones each time."
)
scatter_mul = _combining(
    scatter_mul_p, "The operand multiplied by the updates where they go, repeated ones each time."
)
scatter_min = _combining(
    scatter_min_p, "The minimum of the operand and of all updates that go to each element."
)
scatter_max = _combining(
    scatter_max_p, "The maximum of the operand and of all updates that go to each element."
)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """The operand with `func` applied to the elements at the given indices, once each time.

    It has a derivative only where `unique_indices` promises that no element is met twice.

    Args:
        func: takes and returns one number of the operand's dtype.
        update_shape: the shape that updates would have.
    """
    aval = aval_of(operand)
    program = _applied(func, aval.dtype)
    arrays = operand, scatter_indices, np.zeros(update_shape, aval.dtype)
    flags = indices_are_sorted, unique_indices, mode
    return _bind_scatter(scatter_p, arrays, dimension_numbers, flags, program)


def _applied(func: Callable[[Any], Any], dtype: Any) -> ClosedJaxpr:
    """The program (number, unused number) -> func(number)."""
    number = shaped((), dtype)
    program, operands = stage_closed(lambda x, _: [func(x)], [number, number])
    if operands:
        raise TypeError(
            "scatter_apply: func closes over a traced value, which it may not; apply it with "
            "gather, vmap and scatter instead"
        )
    (out,) = program.out_avals
    if out.shape != () or out.dtype != dtype:
        raise TypeError(
            f"scatter_apply: func must turn one {dtype} number into another, it returned "
            f"{out.str_short()}"
        )
    return program


# What each combining scatter does to one element, as the program in its param `update_jaxpr`.
COMBINE = {
    scatter_add_p: add_p,
    scatter_sub_p: sub_p,
    scatter_mul_p: mul_p,
    scatter_min_p: min_p,
    scatter_max_p: max_p,
}


@functools.cache
def combine_program(primitive: Primitive, dtype: Any) -> Jaxpr:
    """The program of one binary operation on two numbers."""
    x, y, out = (Var(shaped((), dtype)) for _ in range(3))
    eqn = Eqn([x, y], [out], primitive, {}, NO_EFFECTS, None)
    return Jaxpr([], [x, y], [out], [eqn])


def _bind_scatter(
    primitive: Primitive,
    arrays: tuple[Any, Any, Any],
    dimension_numbers: ScatterDimensionNumbers,
    flags: tuple[bool, bool, str | GatherScatterMode | None],
    program: Jaxpr | ClosedJaxpr | None = None,
) -> Any:
    is_sorted, unique, mode = flags
    combine = COMBINE.get(primitive)
    if combine is not None:
        program = combine_program(combine, aval_of(arrays[0]).dtype)
    return primitive.bind1(
        *arrays,
        update_jaxpr=program,
        update_consts=(),
        dimension_numbers=ScatterDimensionNumbers(*_hashable(dimension_numbers)),
        indices_are_sorted=bool(is_sorted),
        unique_indices=bool(unique),
        mode=GatherScatterMode.from_any(mode),
    )


# the geometry that both share; `numbers` is unpacked by position, its fields being the same


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
