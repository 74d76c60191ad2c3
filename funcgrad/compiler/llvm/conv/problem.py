"""A convolution as a sum of products of three arrays, whichever of them is wanted:
x[n, h, w, g, i] * taps[h, w, i, g, o] * places[n, h, w, g, o], where place p and tap t meet the
element (p * stride + t * spread - low) / hole of x along h and w, if there is one.
"""

from typing import NamedTuple

from funcgrad.base.shapes import dilate
from funcgrad.compiler.llvm.conv.places import Axis, axis
from funcgrad.compiler.llvm.conv.steps import Steps, View
from funcgrad.compiler.llvm.elements import BYTES

# Up to this many products a group, groups are computed side by side, one a lane.
SMALL_GROUP = 32
# Up to so many input features, those under a row of taps are taken together.
FEW_INPUTS = 8
# What kernels may read after the last element of an input they have few features of.
SPARE = 16


class Spacing(NamedTuple):
    """How places and taps meet the input along one axis."""

    stride: int
    spread: int
    low: int
    hole: int


class Problem(NamedTuple):
    """The arrays of a convolution in g groups, and the type products are summed in.

    With `rows`, the input features of x are those under a row of taps, one after another.
    """

    x: View
    taps: View
    places: View
    h: Spacing
    w: Spacing
    work: str
    rows: bool = False

    def axis(self, name: str) -> Axis:
        spacing = self.h if name == "h" else self.w
        taps = 1 if self.rows and name == "w" else self.taps.size(name)
        sizes = self.x.size(name), taps, self.places.size(name)
        stride, spread, low, hole = spacing
        return axis(*sizes, stride, low, hole, spread)

    @property
    def small_groups(self) -> bool:
        inputs, outputs = self.x.size("i"), self.taps.size("o")
        small = min(inputs, outputs) == 1 or inputs * outputs <= SMALL_GROUP
        return self.x.size("g") > 1 and small

    @property
    def few_inputs(self) -> bool:
        few = self.x.size("g") == 1 and self.x.size("i") <= FEW_INPUTS
        return few and self.taps.size("w") > 1 and self.w.spread == self.w.hole == 1

    def with_inputs_dense(self, steps: Steps, least: int = 1) -> "Problem":
        """With the features of x side by side, or copied where there are fewer than `least`."""
        x = self.x
        if x.dtype == self.work and x.dense("i") and x.size("i") >= least:
            return self
        dense = steps.array(self.work, [(name, x.size(name)) for name in "nhwgi"], SPARE)
        steps.copy(x, dense)
        return self._replace(x=dense)


def in_one_line(problem: Problem) -> Problem:
    """The problem with all places of all the batch in one row, where each place meets only the
    element that stands there."""
    x, places = problem.x, problem.places
    for name, spacing in (("h", problem.h), ("w", problem.w)):
        alone = problem.taps.size(name) == 1 and spacing._replace(spread=1) == Spacing(1, 1, 0, 1)
        if not alone or x.size(name) != places.size(name):
            return problem
    if problem.rows or not (x.in_line() and places.in_line()):
        return problem
    count = x.size("n") * x.size("h") * x.size("w")
    flat = {"n": (1, 0), "h": (1, 0)}
    x = x.with_axes(w=(count, x.stride("w")), **flat)
    places = places.with_axes(w=(count, places.stride("w")), **flat)
    return problem._replace(x=x, places=places)


def rows_together(problem: Problem, steps: Steps) -> Problem:
    """The problem with the input padded along w, and a row of taps as one tap of more features."""
    x, low = problem.x, problem.w.low
    taps, inputs = problem.taps.size("w"), x.size("i")
    width = (problem.places.size("w") - 1) * problem.w.stride + taps
    sizes = [("n", x.size("n")), ("h", x.size("h")), ("w", width), ("g", 1), ("i", inputs)]
    padded = steps.array(problem.work, sizes, SPARE)
    first, last = max(0, -low), min(x.size("w"), width - low)
    if low > 0 or last + low < width:
        steps.zero(padded, x.size("n") * x.size("h") * width * inputs * BYTES[problem.work])
    if last > first:
        stride = padded.stride("w")
        part = padded.with_axes(w=(last - first, stride)).moved((first + low) * stride)
        start = x.with_axes(w=(last - first, x.stride("w"))).moved(first * x.stride("w"))
        steps.copy(start, part)
    together = padded.with_axes(i=(taps * inputs, padded.stride("i")))
    spacing = Spacing(problem.w.stride, 1, 0, 1)
    return problem._replace(x=together, w=spacing, rows=True)


def holes_filled(problem: Problem, steps: Steps) -> Problem:
    """The problem with zeros in the holes of the input."""
    x, holes = problem.x, {"h": problem.h.hole, "w": problem.w.hole}
    sizes = [(n, dilate(x.size(n), holes.get(n, 1))) for n in "nhwgi"]
    filled = steps.array(problem.work, sizes, SPARE)
    total = BYTES[problem.work]
    for _, size in sizes:
        total *= size
    steps.zero(filled, total)
    apart = {n: (x.size(n), filled.stride(n) * hole) for n, hole in holes.items()}
    steps.copy(x, filled.with_axes(**apart))
    h, w = problem.h._replace(hole=1), problem.w._replace(hole=1)
    return problem._replace(x=filled, h=h, w=w)
