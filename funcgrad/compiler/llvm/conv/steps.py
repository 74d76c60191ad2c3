"""A convolution as a few calls of library functions, and the arrays that pass between them."""

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.llvm.conv.copy import COPY, OUTER, ZERO
from funcgrad.compiler.llvm.elements import BYTES
from funcgrad.compiler.llvm.target import Target

# Copies hand out parts of at least so many elements, and so long a run is not made longer.
PART = 1 << 12
ALIGNMENT = 64
# How many parts of its work a kernel has scratch memory for, and hands out at least if it can.
SLOTS = 128
SLOT_BYTES = 1 << 26  # of all of them together, unless one alone takes more
FEW_UNITS = 32


class Call(NamedTuple):
    """A call `symbol(p)`, where p points to 64-bit words: first addresses, given as (operand, byte
    offset) of the operands 'lhs', 'rhs', 'out' and 'scratch', then values."""

    symbol: str
    addresses: tuple[tuple[str, int], ...]
    values: tuple[int, ...]


class ConvPlan(NamedTuple):
    """Calls to make in order, and the bytes of scratch memory, aligned to 64, that they use."""

    calls: tuple[Call, ...]
    scratch: int


class View(NamedTuple):
    """An array in memory, its axes by name as (size, stride in bytes)."""

    operand: str
    offset: int
    dtype: str
    axes: dict[str, tuple[int, int]]

    def size(self, name: str) -> int:
        return self.axes[name][0]

    def stride(self, name: str) -> int:
        return self.axes[name][1]

    def split(self, name: str, outer: str, inner: str, size: int) -> "View":
        """The axis as two, the inner of that size."""
        axes = dict(self.axes)
        count, stride = axes.pop(name)
        axes[outer], axes[inner] = (-(-count // size), size * stride), (size, stride)
        return self._replace(axes=axes)

    def with_axes(self, **axes: tuple[int, int]) -> "View":
        return self._replace(axes={**self.axes, **axes})

    def moved(self, offset: int) -> "View":
        return self._replace(offset=self.offset + offset)

    def dense(self, names: str) -> bool:
        """Whether those axes, the last one fastest, are elements side by side."""
        stride = BYTES[self.dtype]
        for name in reversed(names):
            size, actual = self.axes[name]
            if size > 1 and actual != stride:
                return False
            stride *= size
        return True

    def in_line(self) -> bool:
        """Whether what stands at n, h and w is at one distance from each other all along."""
        step = self.stride("w") * self.size("w")
        rows = self.size("h") == 1 or self.stride("h") == step
        whole = self.size("n") == 1 or self.stride("n") == step * self.size("h")
        return rows and whole and self.size("w") > 1


class Steps:
    """The calls of a plan as they are put together."""

    def __init__(self, target: Target):
        self.target = target
        self.calls: list[Call] = []
        self.scratch = 0

    def plan(self) -> ConvPlan:
        return ConvPlan(tuple(self.calls), self.scratch)

    def reserve(self, size: int) -> int:
        """The offset of so many bytes of scratch memory."""
        start = self.scratch
        self.scratch += aligned(size)
        return start

    def array(self, dtype: str, axes: Sequence[tuple[str, int]], spare: int = 0) -> View:
        """A new dense array with axes of those names and sizes, and so many spare elements."""
        strides, stride = {}, BYTES[dtype]
        for name, size in reversed(axes):
            strides[name] = (size, stride)
            stride *= size
        return View("scratch", self.reserve(stride + spare * BYTES[dtype]), dtype, strides)

    def call(self, symbol: str, addresses: Sequence[View], values: Sequence[int]) -> None:
        places = tuple((view.operand, view.offset) for view in addresses)
        self.calls.append(Call(symbol, places, tuple(values)))

    def zero(self, view: View, size: int) -> None:
        self.call("fg_conv_zero", [view], named(ZERO.names, target=0, bytes=size)[1:])

    def copy(self, source: View, target: View) -> None:
        """Copy elements of axes that both have."""
        runs = _runs(source, target)
        b = next((r for r in runs if r[2] == BYTES[target.dtype]), runs[-1])
        runs.remove(b)
        a = next((r for r in runs if r[1] == BYTES[source.dtype]), runs[-1] if runs else (1, 0, 0))
        if runs:
            runs.remove(a)
        self._copy(source, target, runs, a, b, 1 << 62)

    def pack(self, source: View, target: View, outer: str, a: str, columns: int) -> None:
        """Copy in panels: axis p of panels, b of their columns, of which so many exist in all;
        of the other axes the outer ones are named."""
        first, panel, *rest = [
            (target.size(n), source.stride(n), target.stride(n)) if n in target.axes else (1, 0, 0)
            for n in (outer[0], "p", *outer[1:])
        ]
        inner, column = ((target.size(n), source.stride(n), target.stride(n)) for n in (a, "b"))
        self._copy(source, target, [first, panel, *rest], inner, column, columns)

    def _copy(
        self,
        source: View,
        target: View,
        outer: list[tuple[int, int, int]],
        a: tuple[int, int, int],
        b: tuple[int, int, int],
        columns: int,
    ) -> None:
        outer = outer + [(1, 0, 0)] * (OUTER - len(outer))
        counts, froms, tos = zip(*outer)
        grain = max(1, PART // max(1, a[0] * b[0]))
        values = (*counts, *froms, *tos, *a, *b, columns, grain)
        assert len(values) == len(COPY.names) - 2
        self.call(f"fg_conv_copy_{source.dtype}_{target.dtype}", [source, target], values)


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def named(names: Sequence[str], **values: int) -> tuple[int, ...]:
    """Values in the order of their names."""
    assert set(names) == set(values), set(names) ^ set(values)
    return tuple(values[name] for name in names)


def _runs(source: View, target: View) -> list[tuple[int, int, int]]:
    """The axes as (count, stride of the source, of the target), the target's longest strides first;
    those that continue each other in both arrays are one, unless that is long already."""
    axes = [(size, source.stride(n), stride) for n, (size, stride) in target.axes.items()]
    axes = sorted((r for r in axes if r[0] > 1), key=lambda r: -abs(r[2])) or [(1, 0, 0)]
    runs = [axes.pop()]
    while axes:
        count, here, there = axes.pop()
        inner = runs[-1]
        joins = here == inner[0] * inner[1] and there == inner[0] * inner[2]
        if joins and inner[0] < PART:
            runs[-1] = (count * inner[0], inner[1], inner[2])
        else:
            runs.append((count, here, there))
    return runs[::-1]
