"""A convolution as the compiler takes it: a sum in the loop IR, and what its kernels depend on."""

from collections.abc import Sequence
from typing import Any

from funcgrad.compiler import lowering
from funcgrad.compiler.loops import ZERO, Expr, Graph, Index
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.primitives.convolution_spec import ConvDimensionNumbers, Geometry, pick, result_dtype
from funcgrad.primitives.matrix_product import working_dtype

Shape = tuple[int, ...]


def conv_lower(
    graph: Graph,
    lhs: Element,
    rhs: Element,
    window_strides: Shape,
    padding: tuple,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> Fold:
    """A sum over taps and input features, which go along in the order of the memory of lhs."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    batch, sizes = lhs.shape[lhs_spec[0]], pick(lhs.shape, lhs_spec[2:])
    outputs, inputs, *taps = pick(rhs.shape, rhs_spec)
    source = lowering.numpy_dtype(lhs.dtype)
    out_dtype = result_dtype(source, preferred_element_type)
    work_dtype = working_dtype(source, source, out_dtype) or out_dtype
    out, work = (lowering.element_type(t) or "" for t in (out_dtype, work_dtype))
    groups = feature_group_count * batch_group_count
    lengths = (inputs, *taps)
    order = sorted(range(len(lengths)), key=lambda i: lhs_spec[1 + i])
    moves = Geometry(window_strides, padding, lhs_dilation, rhs_dilation)

    def values(index: Position, inner: Position) -> tuple[Expr]:
        element, output, *places = (index[a] for a in out_spec)
        feature, *offsets = lowering.interleaved(order, inner, ())
        at_rhs = lowering.interleaved(rhs_spec, (output, feature, *offsets), ())
        group = graph.divide(output, outputs // groups)[0] if groups > 1 else ZERO
        if batch_group_count > 1:
            element = element.plus(group.times(batch // groups))
        else:
            feature = feature.plus(group.times(inputs))
        met, inside = met_elements(graph, places, offsets, sizes, moves)
        at_lhs = lowering.interleaved(lhs_spec, (element, feature, *met), ())
        zero = graph.const(0, lhs.dtype)
        base = lowering.guarded(graph, inside, lambda: lhs(at_lhs), zero)
        return (lowering.converted(base, work) * lowering.converted(rhs(at_rhs), work),)

    combine = lowering.simple_combine(graph, "add", work, 0)
    return Fold(
        inner=tuple(lengths[i] for i in order),
        combine=combine,
        values=values,
        starts=combine.identity,
        finish=lambda folded: (lowering.converted(folded, out),),
    )


def met_elements(
    graph: Graph, places: Sequence[Index], taps: Sequence[Index], sizes: Shape, moves: Geometry
) -> tuple[list[Index], Expr]:
    """The spatial index that a tap meets at a place, and whether an element stands there."""
    met, inside = [], graph.const(True, "bool")
    for place, tap, size, stride, (low, _), hole, spread in zip(
        places, taps, sizes, *moves, strict=True
    ):
        spot = place.times(stride).plus(tap.times(spread))
        position, here = lowering.undilated(graph, spot, low, size, hole)
        met.append(position)
        inside = graph.both(inside, here)
    return met, inside


def conv_settings(
    window_strides: Shape,
    padding: tuple,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> dict[str, Any]:
    """What chooses a kernel of the compiler's library."""
    return {
        "window_strides": window_strides,
        "padding": padding,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
        "dimension_numbers": dimension_numbers,
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
    }
