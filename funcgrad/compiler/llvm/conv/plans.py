"""Convolutions as library calls: `plan` finds, for the parameters of one conv_general_dilated, the
kernels that compute it, the words they are called with, and the copies they need around them.

The forward convolution and the gradient of the input give x and the taps of a `Problem` and want
the places. The gradient of the kernel, which appears as a convolution with batch and features
exchanged, gives x and the places and wants the taps.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgrad.base.shapes import dilate, strided
from funcgrad.compiler.llvm.conv import copy, depthwise, depthwise_rows, few, forward, gradient
from funcgrad.compiler.llvm.conv.copy import PAIRS
from funcgrad.compiler.llvm.conv.problem import Problem, Spacing, holes_filled, rows_together
from funcgrad.compiler.llvm.conv.steps import ConvPlan, Steps, View
from funcgrad.compiler.llvm.elements import BYTES
from funcgrad.compiler.llvm.engine import libraries
from funcgrad.compiler.llvm.target import Target

Shape = tuple[int, ...]
WORK = {"f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64"}
# Positions in an axis are 32-bit numbers, half of which mark places that do not exist.
LONGEST = 1 << 30
# Holes may put the places of an axis into as many phases, each with words of its own.
WIDEST_HOLE = 64


def _modules() -> dict[str, Callable[[Target], str]]:
    """The library functions by name, each as the maker of its module's text."""
    made: dict[str, Callable[[Target], str]] = {"fg_conv_zero": copy.zero_module}
    for source, to in PAIRS:
        made[f"fg_conv_copy_{source}_{to}"] = partial(copy.copy_module, source=source, to=to)
    for dtype in ("f32", "f64"):
        made[f"fg_conv_dense_{dtype}"] = partial(forward.module, dtype=dtype)
        made[f"fg_conv_few_{dtype}"] = partial(few.module, dtype=dtype)
        made[f"fg_conv_weights_{dtype}"] = partial(gradient.module, dtype=dtype)
        made[f"fg_conv_depthwise_{dtype}"] = partial(depthwise.module, dtype=dtype)
        weights = partial(depthwise.weights_module, dtype=dtype)
        made[f"fg_conv_depthwise_weights_{dtype}"] = weights
        for width in depthwise_rows.WIDTHS:
            rows = partial(depthwise_rows.module, dtype=dtype, width=width)
            made[f"fg_conv_depthwise_{width}_{dtype}"] = rows
    return made


MODULES = _modules()
libraries.update(MODULES)


def plan(
    target: Target,
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dtype: str,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: tuple[Sequence[int], Sequence[int], Sequence[int]],
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    out_dtype: str | None = None,
    lhs_strides: Sequence[int] | None = None,
    rhs_strides: Sequence[int] | None = None,
    rhs_reversed: bool = False,
) -> ConvPlan | None:
    """How to compute a conv_general_dilated, or None where there is no kernel for it.

    There are kernels for f32, f64, bf16 and f16 in up to two spatial dimensions; halves are
    multiplied and summed in f32. The three forms in which convolutions appear are told apart by the
    layout of lhs and by the groups, and none of them needs a layout to be right:

        forward             lhs (n, i), rhs (o, i), result (n, o); feature groups of i and o
        gradient of lhs     the same with lhs_dilation, on the kernel with i and o exchanged, turned
        gradient of rhs     lhs (i, n), rhs (o, n), result (i, o); batch groups of i and o

    Args:
        target: what code is made for.
        lhs_shape, rhs_shape: shapes that have passed the primitive's checks.
        dtype, out_dtype: element types of the operands and of the result.
        window_strides ... batch_group_count: the parameters of the primitive, with
            dimension_numbers as its three lists of axes.
        lhs_strides, rhs_strides: strides in elements, by default those of dense arrays. The result
            is dense.
        rhs_reversed: take the kernel turned round along its spatial axes.
    """
    out_dtype = dtype if out_dtype is None else out_dtype
    work, rank = WORK.get(dtype), len(lhs_shape) - 2
    if work is None or WORK.get(out_dtype) != work or not 0 <= rank <= 2:
        return None
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out_shape = _out_shape(
        [lhs_shape[a] for a in lhs_spec],
        [rhs_shape[a] for a in rhs_spec],
        (window_strides, padding, lhs_dilation, rhs_dilation),
        batch_group_count,
        out_spec,
    )
    longest = _longest(lhs_shape, rhs_shape, padding, lhs_dilation, rhs_dilation)
    if longest >= LONGEST or max((1, *lhs_dilation)) > WIDEST_HOLE:
        return None
    steps = Steps(target)
    lhs = _view("lhs", lhs_shape, lhs_strides, dtype, lhs_spec)
    rhs = _view("rhs", rhs_shape, rhs_strides, dtype, rhs_spec)
    out = _view("out", out_shape, None, out_dtype, out_spec)
    if rhs_reversed:
        rhs = _reversed(rhs)
    if 0 in out_shape:
        return steps.plan()
    if 0 in (*lhs_shape, *rhs_shape):
        steps.zero(out, math.prod(out_shape) * BYTES[out_dtype])
        return steps.plan()
    spacings = _spacings(window_strides, padding, lhs_dilation, rhs_dilation)
    groups = feature_group_count * batch_group_count
    # What stands side by side in memory are the features of x, which here may be called its batch.
    exchanged = lhs.stride("1") > lhs.stride("0") and feature_group_count == 1
    if batch_group_count > 1 or exchanged:
        problem = _exchanged(lhs, rhs, out, groups, spacings, work)
        _weights(problem, steps)
    else:
        problem = _straight(lhs, rhs, out, groups, spacings, work)
        _forward(problem, steps)
    return steps.plan()


def _longest(lhs: Sequence[int], rhs: Sequence[int], padding: Any, holes: Any, spreads: Any) -> int:
    """No position along an axis is further from 0."""
    around = sum(abs(low) + abs(high) for low, high in padding)
    return around + sum((*lhs, *rhs)) * max((1, *holes, *spreads))


def _out_shape(
    lhs: list[int], rhs: list[int], geometry: tuple, batch_groups: int, spec: Sequence[int]
) -> Shape:
    shape = [lhs[0] // batch_groups, rhs[0]]
    for n, k, stride, (low, high), hole, spread in zip(lhs[2:], rhs[2:], *geometry):
        shape.append(strided(dilate(n, hole) + low + high, dilate(k, spread), stride))
    placed = dict(zip(spec, shape))
    return tuple(placed[axis] for axis in range(len(spec)))


def _view(
    operand: str, shape: Sequence[int], strides: Sequence[int] | None, dtype: str, spec: Any
) -> View:
    """An operand with axes 0 and 1, the first two of the spec, and h and w, of which there may be
    fewer."""
    if strides is None:
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    names = ("0", "1", *"hw"[4 - len(spec) :])
    axes = {"h": (1, 0), "w": (1, 0)}
    for name, a in zip(names, spec):
        axes[name] = (int(shape[a]), int(strides[a]) * BYTES[dtype])
    return View(operand, 0, dtype, axes)


def _reversed(view: View) -> View:
    for name in "hw":
        size, stride = view.axes[name]
        view = view.with_axes(**{name: (size, -stride)}).moved((size - 1) * stride)
    return view


def _spacings(strides: Any, padding: Any, holes: Any, spreads: Any) -> list[Spacing]:
    given = [Spacing(s, r, low, d) for s, (low, _), d, r in zip(strides, padding, holes, spreads)]
    return [Spacing(1, 1, 0, 1)] * (2 - len(given)) + given


def _renamed(view: View, names: str) -> View:
    axes = dict(view.axes)
    first, second = axes.pop("0"), axes.pop("1")
    return view._replace(axes={names[0]: first, names[1]: second, **axes})


def _straight(
    lhs: View, rhs: View, out: View, groups: int, spacings: list[Spacing], work: str
) -> Problem:
    """The convolution as it is named: lhs is (n, i), rhs (o, i), the result (n, o)."""
    outputs = rhs.size("0") // groups
    x = _renamed(lhs, "nc").split("c", "g", "i", rhs.size("1"))
    taps = _renamed(rhs, "oi").split("o", "g", "o", outputs)
    places = _renamed(out, "no").split("o", "g", "o", outputs)
    h, w = spacings
    return Problem(x, taps, places, h, w, work)


def _exchanged(
    lhs: View, rhs: View, out: View, groups: int, spacings: list[Spacing], work: str
) -> Problem:
    """The gradient of a kernel: lhs is (i, n), rhs (o, n), the result (i, o). Its window's strides
    are the distances of the taps, its kernel's dilation those of the places."""
    outputs = rhs.size("0") // groups
    x = _renamed(lhs, "cn").split("c", "g", "i", out.size("0"))
    places = _renamed(rhs, "on").split("o", "g", "o", outputs)
    taps = _renamed(out, "io").split("o", "g", "o", outputs)
    h, w = (Spacing(s.spread, s.stride, s.low, s.hole) for s in spacings)
    return Problem(x, taps, places, h, w, work)


def _forward(problem: Problem, steps: Steps) -> None:
    if problem.small_groups:
        depthwise.forward(problem, steps)
    elif problem.few_inputs:
        forward.forward(rows_together(problem, steps), steps)
    else:
        forward.forward(problem, steps)


def _weights(problem: Problem, steps: Steps) -> None:
    if problem.h.hole > 1 or problem.w.hole > 1:
        problem = holes_filled(problem, steps)
    if problem.small_groups:
        depthwise.weights(problem, steps)
    elif problem.few_inputs:
        gradient.weights(rows_together(problem, steps), steps)
    else:
        gradient.weights(problem, steps)
