"""Steps in a row as constant data, and the function that walks them: code for each step would cost
LLVM far more time than it takes to run.

A step is the words `function, extent, grain, count` and `count` pairs `slot, value`. Each pair is
one operand, what the table of bases holds in that slot plus the value; slot 0 holds zero. A grain
of zero marks a library function, called as `function(operands)`; any other a kernel.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgrad.compiler.llvm.functions import Function

NAME = "fg_steps"
DECLARATION = f"declare void @{NAME}(ptr, i64, ptr, ptr)"
# Bytes of a step before its operands, and of an operand.
HEAD_BYTES, PAIR_BYTES = 32, 16


class Place(NamedTuple):
    """An address: the name of a pointer in the code, and bytes from there."""

    base: str
    offset: int = 0

    def on(self, count: int) -> "Place":
        return Place(self.base, self.offset + count)


NOWHERE = Place("null")


class Call(NamedTuple):
    """A step: a kernel with its extent and grain, or a library function, whose grain is 0."""

    function: str
    extent: int
    grain: int
    operands: Sequence[Place | int]


def data(name: str, calls: Sequence[Call], slot: Callable[[str], int]) -> str:
    """The constant of that name; `slot` tells where the table holds a base."""
    lines = [", ".join((head(call), *(pair(o, slot) for o in call.operands))) for call in calls]
    count = sum(4 + 2 * len(call.operands) for call in calls)
    return f"@{name} = private constant [{count} x i64] [\n" + ",\n".join(lines) + "]"


def head(call: Call) -> str:
    function = f"i64 ptrtoint (ptr @{call.function} to i64)"
    return f"{function}, i64 {call.extent}, i64 {call.grain}, i64 {len(call.operands)}"


def pair(operand: Place | int, slot: Callable[[str], int]) -> str:
    if isinstance(operand, int):
        return f"i64 0, i64 {operand}"
    base, offset = operand
    if base == "null":
        return "i64 0, i64 0"
    if base.startswith("@"):
        there = f"getelementptr (i8, ptr {base}, i64 {offset})" if offset else base
        return f"i64 0, i64 ptrtoint (ptr {there} to i64)"
    return f"i64 {slot(base)}, i64 {offset}"


def driver() -> str:
    """`fg_steps(steps, count, bases, operands)`; `operands` is room for the most of any step."""
    f = Function(NAME, "ptr %steps, i64 %count, ptr %bases, ptr %operands", linkage="")
    with f.loop(0, "%count", 1, ("ptr", "%steps")) as steps:
        (step,) = steps.values
        kernel = f.assign(f"load ptr, ptr {step}")
        extent, grain, count = (f.load("i64", f.at(step, 8 * i)) for i in (1, 2, 3))
        pairs = f.at(step, HEAD_BYTES)
        with f.loop(0, count) as operand:
            pair = f.at(pairs, f.mul(operand.index, PAIR_BYTES))
            slot, value = f.load("i64", pair), f.load("i64", f.at(pair, 8))
            base = f.load("i64", f.assign(f"getelementptr i64, ptr %bases, i64 {slot}"))
            place = f.assign(f"getelementptr i64, ptr %operands, i64 {operand.index}")
            f.store("i64", f.add(base, value), place)
        is_kernel, alone = f.test(grain, "ne", 0), f.test(grain, "sge", extent)
        with f.when(f.negate(is_kernel)):
            f.emit(f"call void {kernel}(ptr %operands)")
        with f.when(f.all(is_kernel, alone)):
            f.emit(f"call void {kernel}(ptr %operands, i64 0, i64 {extent})")
        with f.when(f.all(is_kernel, f.negate(alone))):
            arguments = f"ptr {kernel}, ptr %operands, i64 {extent}, i64 {grain}"
            f.emit(f"call void @fg_parallel({arguments})")
        steps.next = [f.at(pairs, f.mul(count, PAIR_BYTES))]
    return f.text() + "\n"
