"""select_and_scatter: each window selects an element by one function, and writes by another."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    broadcast_in_dim,
    broadcast_to_shape,
    convert,
    eq,
    full_like,
    pad,
    scalar_like,
    select_n,
    slice_array,
)
from funcgrad.base.shapes import dilate
from funcgrad.base.trace import (
    EVALUATION,
    Primitive,
    abstract_rules,
    evaluate_rules,
    pure,
    single,
    under,
)
from funcgrad.base.tree import tree_structure
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.combiner import combine, on_elements, program_of
from funcgrad.primitives.compare import bitwise_and, bitwise_not, bitwise_or
from funcgrad.primitives.selecting import check_source, undilated
from funcgrad.primitives.sliding import Window, window_of
from funcgrad.transforms import batching, forward

select_and_scatter_p = Primitive("select_and_scatter")


def select_and_scatter(
    operand: Any,
    select: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    source: Any,
    init_value: Any,
    scatter: Callable[[Any, Any], Any],
) -> Any:
    """Each window's element of `source` combined into the place that the window selects.

    Args:
        operand: the array that windows cover.
        select: whether to keep the first of two elements; applied from the start of the window.
        window_dimensions, window_strides, padding: see `reduce_window`.
        source: an array with an element for each window.
        init_value: what every element of the result starts from.
        scatter: the result's new element, from that of `source` and the one there.

    Returns:
        An array of the shape of the operand.
    """
    window = window_of(aval_of(operand).shape, window_dimensions, window_strides, padding)
    number = aval_of(init_value)
    leaf = tree_structure(0)
    chosen, _ = program_of("select_and_scatter", select, [number], leaf)
    scattered, _ = program_of("select_and_scatter", scatter, [number], leaf)
    return select_and_scatter_p.bind(
        operand,
        source,
        init_value,
        select_jaxpr=chosen,
        scatter_jaxpr=scattered,
        window_dimensions=window.window_dimensions,
        window_strides=window.window_strides,
        padding=window.padding,
    )


def scatter_abstract(
    operand: ShapedArray,
    source: ShapedArray,
    init: ShapedArray,
    select_jaxpr: ClosedJaxpr,
    scatter_jaxpr: ClosedJaxpr,
    **params: Any,
) -> ShapedArray:
    check_source("select_and_scatter", source, operand, undilated(**params))
    if init.shape or not operand.dtype == source.dtype == init.dtype:
        raise TypeError(
            "select_and_scatter: operand, source and init_value must have one dtype, and "
            f"init_value shape (); got {operand.str_short()}, {source.str_short()} and "
            f"{init.str_short()}."
        )
    for name, program, dtype in (
        ("select", select_jaxpr, np.dtype(bool)),
        ("scatter", scatter_jaxpr, operand.dtype),
    ):
        if [(a.shape, a.dtype) for a in program.out_avals] != [((), dtype)]:
            raise TypeError(
                f"select_and_scatter: `{name}` must return a number of dtype {dtype}, it returned "
                f"{', '.join(a.str_short() for a in program.out_avals)}."
            )
    return operand.update(weak_type=False)


def scatter_steps(
    arrays: Sequence[Any], programs: tuple[ClosedJaxpr, ClosedJaxpr], window: Window
) -> Any:
    """Select among, and scatter to, one element of every window after the other."""
    operand, source, init = (convert(x, aval_of(x).dtype) for x in arrays)
    select, scatter = programs
    shape, counts = aval_of(operand).shape, aval_of(source).shape
    base = window.base_shape(shape)
    if 0 in counts or 0 in shape:
        return broadcast_in_dim(init, shape, ())
    config = window.padding_config
    padded = pad(operand, init, config)
    inside = pad(broadcast_to_shape(np.bool_(True), shape), np.bool_(False), config)
    offsets = list(itertools.product(*map(range, window.window_dimensions)))

    def covered(x: Any, offset: Sequence[int]) -> Any:
        spans = [dilate(n, s) for n, s in zip(counts, window.window_strides, strict=True)]
        limits = [o + span for o, span in zip(offset, spans, strict=True)]
        return slice_array(x, offset, limits, window.window_strides)

    def spread(x: Any, offset: Sequence[int]) -> Any:
        spans = [dilate(n, s) for n, s in zip(counts, window.window_strides, strict=True)]
        config = [
            (o, n - o - span, stride - 1)
            for o, n, span, stride in zip(offset, base, spans, window.window_strides, strict=True)
        ]
        return pad(x, scalar_like(0, x), config)

    best, found = covered(padded, offsets[0]), covered(inside, offsets[0])
    place = full_like(convert(found, np.int32), 0)
    for i, offset in enumerate(offsets[1:], 1):
        candidate, real = covered(padded, offset), covered(inside, offset)
        (keep,) = on_elements(select, [best, candidate])
        move = bitwise_and(real, bitwise_not(bitwise_and(found, keep)))
        best = select_n(move, best, candidate)
        place = select_n(move, place, full_like(place, i))
        found = bitwise_or(found, real)
    out = broadcast_in_dim(init, base, ())
    for i, offset in enumerate(offsets):
        here = bitwise_and(found, eq(place, full_like(place, i)))
        (new,) = combine(scatter, [spread(source, offset), out])
        out = select_n(spread(here, offset), out, new)
    return pad(out, init, [(-low, -high, 0) for low, high in window.padding])


def scatter_evaluate(
    xp: Any, *buffers: Any, select_jaxpr: Any, scatter_jaxpr: Any, **params: Any
) -> Any:
    avals = [ShapedArray(b.shape, b.dtype) for b in buffers]
    arrays = list(map(ConcreteArray, buffers, avals))
    programs = select_jaxpr, scatter_jaxpr
    return under(EVALUATION, scatter_steps, arrays, programs, undilated(**params)).buffer


def scatter_forward(
    primals: Sequence, tangents: Sequence, select_jaxpr: Any, scatter_jaxpr: Any, **params: Any
) -> tuple:
    def run(*values: Any) -> list[Any]:
        return [scatter_steps(values, (select_jaxpr, scatter_jaxpr), undilated(**params))]

    return forward.jvp(run, primals, tangents)


def scatter_batch(
    axis: Any,
    values: Sequence,
    axes: Sequence,
    select_jaxpr: Any,
    scatter_jaxpr: Any,
    **params: Any,
) -> tuple:
    window = undilated(**params)
    if axes[2] is not None:
        return batching.vmap_flat(
            lambda *args: [scatter_steps(args, (select_jaxpr, scatter_jaxpr), window)],
            axis,
            values,
            axes,
        )
    moved = [batching.to_front(axis, v, a) for v, a in zip(values[:2], axes[:2], strict=True)]
    wider = window.with_axis(0)
    out = select_and_scatter_p.bind(
        *moved,
        values[2],
        select_jaxpr=select_jaxpr,
        scatter_jaxpr=scatter_jaxpr,
        window_dimensions=wider.window_dimensions,
        window_strides=wider.window_strides,
        padding=wider.padding,
    )
    return (out,), (0,)


evaluate_rules[select_and_scatter_p] = single(scatter_evaluate)
abstract_rules[select_and_scatter_p] = pure(scatter_abstract)
forward.rules[select_and_scatter_p] = scatter_forward
batching.rules[select_and_scatter_p] = scatter_batch
