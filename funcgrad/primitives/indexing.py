"""What gather and scatter mean: index vectors that say where windows of an array start.

A gather reads such windows; a scatter writes or combines updates into them. This file declares both
families; their rules stand in `gathering` and `scattering`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of, shaped
from funcgrad.base.basis import add_p, mul_p
from funcgrad.base.shapes import canonical_shape
from funcgrad.base.trace import NO_EFFECTS, Primitive
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from funcgrad.primitives.arithmetic import max_p, min_p, sub_p
from funcgrad.primitives.indexing_spec import (
    DimensionNumbers,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from funcgrad.transforms.staging import stage_closed

gather_p = Primitive("gather")
scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter_sub_p = Primitive("scatter-sub")
scatter_mul_p = Primitive("scatter-mul")
scatter_min_p = Primitive("scatter-min")
scatter_max_p = Primitive("scatter-max")


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
    return gather_p.bind(
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
    return primitive.bind(
        *arrays,
        update_jaxpr=program,
        update_consts=(),
        dimension_numbers=ScatterDimensionNumbers(*_hashable(dimension_numbers)),
        indices_are_sorted=bool(is_sorted),
        unique_indices=bool(unique),
        mode=GatherScatterMode.from_any(mode),
    )
