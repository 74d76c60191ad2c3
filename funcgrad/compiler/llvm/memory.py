"""Reads and stores: contiguous, reversed, gathered or scattered, and never outside the operands:
a lane that stands for no index, or whose guard is false, touches no memory.
"""

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.llvm import transpose
from funcgrad.compiler.llvm.elements import (
    BYTES,
    MEMORY,
    lane_list,
    splat,
    suffix,
    vector,
)
from funcgrad.compiler.llvm.evaluation import Evaluation, Value
from funcgrad.compiler.llvm.ranges import GREATEST
from funcgrad.compiler.llvm.stream import ask_ahead
from funcgrad.compiler.loops import Expr, Store


class Access(NamedTuple):
    """Elements of an operand that the lanes touch, written at a loop level."""

    operand: int
    const: int
    terms: Sequence[tuple[int, int]]
    dynamic: Sequence[tuple[Expr, int]]
    guard: Expr | None
    dtype: str
    step: int  # from lane to lane, by the terms
    level: int

    def moved(self, distance: int) -> "Access":
        return self._replace(const=self.const + distance)


def read(state: Evaluation, node: Expr) -> Value:
    """The value of a read, at the outermost level where its position and guard are known."""
    operand, const, terms, coeffs, guarded = node.data
    values = [state.values[arg] for arg in node.args]
    level = max(
        [state.floor, *[value.level for value in values], *[state.axes[a][1] for a, _ in terms]]
    )
    if operand in state.changing:
        level = max([level, *[i for i, f in enumerate(state.frames) if operand in f.stored]])
    step = _step(state, terms)
    alone = not step and all(value.lanes == 1 for value in values)
    if not alone:
        level = max(level, state.lane_level)
    dynamic = list(zip(node.args, coeffs))
    guard = node.args[-1] if guarded else None
    access = Access(operand, const, terms, dynamic, guard, node.dtype, step, level)
    if alone:
        return Value(_read_one(state, access), 1, level)
    tile = transpose.column(state, node) if abs(step) > 1 else None
    if tile is not None:
        text, level = tile
    elif step == 2 and guard is None and state.mask() is None and not _varying(state, access):
        text = _read_every_other(state, access)
    elif _varying(state, access) or step not in (0, 1, -1):
        text = _gather(state, access)
    elif step:
        text = _read_line(state, access)
    else:
        text = _read_for_some(state, access)
    if node.dtype == "bool":
        text = _as_bit(state, text, state.lanes, level)
    return Value(text, state.lanes, level)


def store(state: Evaluation, statement: Store) -> None:
    """Write a statement's value, whose expressions have been evaluated."""
    operand, offset, value, guard = statement
    level = len(state.frames) - 1
    step = _step(state, offset.terms)
    access = Access(
        operand, offset.const, offset.terms, offset.dynamic, guard, value.dtype, step, level
    )
    lanes = state.lanes
    some = guard is not None and guard.op != "const" and state.values[guard].lanes > 1
    if lanes > 1 and (some or step or _varying(state, access)):
        text = state.operand(value, lanes, value.dtype)
        if value.dtype == "bool":
            text = state.at(level).assign(f"zext <{lanes} x i1> {text} to <{lanes} x i8>")
        if step in (1, -1) and not _varying(state, access):
            _store_line(state, access, text)
        else:
            _scatter(state, access, text)
    else:
        _store_one(state, access, value)
    for node in state.changing[operand]:
        state.values.pop(node, None)


def _step(state: Evaluation, terms: Sequence[tuple[int, int]]) -> int:
    return dict(terms).get(state.lane_axis, 0) if state.lanes > 1 else 0


def _varying(state: Evaluation, access: Access) -> list[tuple[Expr, int]]:
    return [(expr, coeff) for expr, coeff in access.dynamic if state.values[expr].lanes > 1]


def _address(state: Evaluation, access: Access) -> str:
    """The pointer to what lane 0 touches, but for the parts that vary from lane to lane."""
    values = [(state.values[expr], coeff) for expr, coeff in access.dynamic]
    uniform = [(value, coeff) for value, coeff in values if value.lanes == 1]
    kind = MEMORY[access.dtype]
    return state.address(access.operand, access.const, access.terms, uniform, kind)


def _as_bit(state: Evaluation, text: str, lanes: int, level: int) -> str:
    zero = splat("i8", "0", lanes)
    return state.at(level).assign(f"icmp ne {vector('i8', lanes)} {text}, {zero}")


# one element


def _read_one(state: Evaluation, access: Access) -> str:
    pointer, kind = _address(state, access), MEMORY[access.dtype]
    test = None
    if access.guard is not None and access.guard is not state.held_true:
        test = state.operand(access.guard, 1, "bool")
        # The array of operands is memory that any kernel may read.
        pointer = state.at(access.level).assign(f"select i1 {test}, ptr {pointer}, ptr %args")
    writer = state.at(access.level)
    text = writer.assign(f"load {kind}, ptr {pointer}, align {BYTES[access.dtype]}")
    if test is not None:
        text = state.ops.choose(test, text, _zero(access.dtype), kind, 1)
    return _as_bit(state, text, 1, access.level) if access.dtype == "bool" else text


def _zero(dtype: str) -> str:
    return "0.0" if dtype in ("f32", "f64") else "0"


def _store_one(state: Evaluation, access: Access, value: Expr) -> None:
    """One element; of several lanes that write it, the last that stands for an index counts."""
    pointer, kind = _address(state, access), MEMORY[access.dtype]
    lanes = 1 if value.op == "const" else state.values[value].lanes
    text = state.operand(value, lanes, access.dtype)
    test = None if access.guard is None else state.operand(access.guard, 1, "bool")
    writer, frame = state.at(access.level), state.frames[access.level]
    if lanes > 1:
        held = vector("i1" if access.dtype == "bool" else kind, lanes)
        text = writer.assign(f"extractelement {held} {text}, i64 {state.live - 1}")
    if access.dtype == "bool":
        text = writer.assign(f"zext i1 {text} to i8")
    write = f"store {kind} {text}, ptr {pointer}, align {BYTES[access.dtype]}"
    if test is None:
        writer.emit(write)
        return
    held, after = writer.label("write"), writer.label("after")
    writer.branch(test, held, after)
    writer.begin(held)
    writer.emit(write)
    writer.jump(after)
    writer.begin(after)
    frame.block = after


# a vector of neighbours


def _mask(state: Evaluation, access: Access) -> str | None:
    """The lanes that may touch memory, None if all may."""
    live = state.mask()
    if access.guard is None:
        return live
    guard = state.operand(access.guard, state.lanes, "bool")
    if live is None:
        return guard
    return state.at(access.level).assign(f"and {vector('i1', state.lanes)} {guard}, {live}")


def _reverse(state: Evaluation, text: str, scalar: str, level: int) -> str:
    kind, order = vector(scalar, state.lanes), tuple(range(state.lanes - 1, -1, -1))
    lanes = f"{vector('i32', state.lanes)} {lane_list('i32', order)}"
    return state.at(level).assign(f"shufflevector {kind} {text}, {kind} poison, {lanes}")


def _line(state: Evaluation, access: Access) -> tuple[str, str | None]:
    """The lowest address of neighbours, and the mask of those to touch."""
    mask = _mask(state, access)
    if access.step == 1:
        return _mapped(state, access, _address(state, access), mask), mask
    pointer = _mapped(state, access, _address(state, access.moved(1 - state.lanes)), mask)
    return pointer, None if mask is None else _reverse(state, mask, "i1", access.level)


def _mapped(state: Evaluation, access: Access, pointer: str, mask: str | None) -> str:
    """The pointer, or one to memory that is there if a guard forbids all lanes.

    On a page that is not there, even an access of no lane takes hundreds of cycles.
    """
    if access.guard is None or mask is None:
        return pointer
    if access.guard.op == "const" or state.values[access.guard].lanes == 1:
        test = state.operand(access.guard, 1, "bool")
    else:
        state.at(access.level)
        test = state.ops.any(mask, state.lanes)
    return state.at(access.level).assign(f"select i1 {test}, ptr {pointer}, ptr %args")


def _read_line(state: Evaluation, access: Access) -> str:
    pointer, mask = _line(state, access)
    scalar, align = MEMORY[access.dtype], BYTES[access.dtype]
    kind, writer = vector(scalar, state.lanes), state.at(access.level)
    if mask is None:
        if access.operand in state.streamed:
            state.streamed.remove(access.operand)  # later loops find the lines near
            ask_ahead(writer, state.ops.module, pointer, align * state.lanes)
        text = writer.assign(f"load {kind}, ptr {pointer}, align {align}")
    else:
        bits = vector("i1", state.lanes)
        name = f"@llvm.masked.load.{suffix(scalar, state.lanes)}.p0"
        state.ops.module.declare(f"declare {kind} {name}(ptr, {bits}, {kind})")
        place = f"ptr align {align} {pointer}"
        text = writer.assign(f"call {kind} {name}({place}, {bits} {mask}, {kind} zeroinitializer)")
    return text if access.step == 1 else _reverse(state, text, scalar, access.level)


def _read_every_other(state: Evaluation, access: Access) -> str:
    """Elements with one between each two: two lines, the second ending with the last of them."""
    scalar, lanes = MEMORY[access.dtype], state.lanes
    kind, found = vector(scalar, lanes), []
    for start in (0, lanes - 1):
        pointer = _address(state, access.moved(start))
        load = f"load {kind}, ptr {pointer}, align {BYTES[access.dtype]}"
        found.append(state.at(access.level).assign(load))
    half = lanes // 2
    order = [2 * k if k < half else 2 * k + 1 for k in range(lanes)]
    order = f"{vector('i32', lanes)} {lane_list('i32', tuple(order))}"
    text = f"shufflevector {kind} {found[0]}, {kind} {found[1]}, {order}"
    return state.at(access.level).assign(text)


def _store_line(state: Evaluation, access: Access, text: str) -> None:
    pointer, mask = _line(state, access)
    scalar, align = MEMORY[access.dtype], BYTES[access.dtype]
    if access.step == -1:
        text = _reverse(state, text, scalar, access.level)
    kind, writer = vector(scalar, state.lanes), state.at(access.level)
    if mask is None:
        writer.emit(f"store {kind} {text}, ptr {pointer}, align {align}")
        return
    bits = vector("i1", state.lanes)
    name = f"@llvm.masked.store.{suffix(scalar, state.lanes)}.p0"
    state.ops.module.declare(f"declare void {name}({kind}, ptr, {bits})")
    writer.emit(f"call void {name}({kind} {text}, ptr align {align} {pointer}, {bits} {mask})")


def _read_for_some(state: Evaluation, access: Access) -> str:
    """One element in the lanes whose guard is true, 0 in the others."""
    scalar, lanes = MEMORY[access.dtype], state.lanes
    pointer, mask = _address(state, access), _mask(state, access)
    assert mask is not None, "a read at one place varies by its guard only"
    writer = state.at(access.level)
    some = state.ops.any(mask, lanes)
    safe = writer.assign(f"select i1 {some}, ptr {pointer}, ptr %args")
    one = writer.assign(f"load {scalar}, ptr {safe}, align {BYTES[access.dtype]}")
    every = state.ops.broadcast(one, scalar, lanes)
    return state.ops.choose(mask, every, "zeroinitializer", scalar, lanes)


# a vector of elements anywhere


def _pointers(state: Evaluation, access: Access) -> str:
    """A pointer in each lane."""
    varying, lanes = _varying(state, access), state.lanes
    reach = abs(access.step) * lanes
    for expr, coeff in varying:
        low, high = state.ranges.get(expr, (0, GREATEST + 1))
        reach += abs(coeff) * max(-low, high)
    dtype = "i32" if reach <= GREATEST else "i64"
    kind = vector(dtype, lanes)
    texts = [(state.operand(expr, lanes, dtype), coeff) for expr, coeff in varying]
    base, writer = _address(state, access), state.at(access.level)
    parts = []
    for text, coeff in texts:
        if coeff != 1:
            text = writer.assign(f"mul {kind} {text}, {splat(dtype, str(coeff), lanes)}")
        parts.append(text)
    if access.step or not parts:
        parts.append(lane_list(dtype, tuple(access.step * lane for lane in range(lanes))))
    total = parts[0]
    for part in parts[1:]:
        total = writer.assign(f"add {kind} {total}, {part}")
    return writer.assign(f"getelementptr {MEMORY[access.dtype]}, ptr {base}, {kind} {total}")


def _gather(state: Evaluation, access: Access) -> str:
    mask = _mask(state, access) or splat("i1", "true", state.lanes)
    pointers = _pointers(state, access)
    scalar, lanes = MEMORY[access.dtype], state.lanes
    kind, bits, places = vector(scalar, lanes), vector("i1", lanes), vector("ptr", lanes)
    name = f"@llvm.masked.gather.{suffix(scalar, lanes)}.v{lanes}p0"
    state.ops.module.declare(f"declare {kind} {name}({places}, {bits}, {kind})")
    return state.at(access.level).assign(
        f"call {kind} {name}({places} align {BYTES[access.dtype]} {pointers}, {bits} {mask}, "
        f"{kind} zeroinitializer)"
    )


def _scatter(state: Evaluation, access: Access, text: str) -> None:
    mask = _mask(state, access) or splat("i1", "true", state.lanes)
    pointers = _pointers(state, access)
    scalar, lanes = MEMORY[access.dtype], state.lanes
    kind, bits, places = vector(scalar, lanes), vector("i1", lanes), vector("ptr", lanes)
    name = f"@llvm.masked.scatter.{suffix(scalar, lanes)}.v{lanes}p0"
    state.ops.module.declare(f"declare void {name}({kind}, {places}, {bits})")
    state.at(access.level).emit(
        f"call void {name}({kind} {text}, {places} align {BYTES[access.dtype]} {pointers}, "
        f"{bits} {mask})"
    )
