"""Loops and choices in native code: small carries in registers, large ones in one buffer or two."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.buffers import Layout, carries_of, nbytes, rewritten
from funcgrad.compiler.kernels import work_of
from funcgrad.compiler.llvm.elements import register
from funcgrad.compiler.llvm.sequence import Place
from funcgrad.compiler.llvm.values import POLL, Argument, Frame, Values
from funcgrad.compiler.lowering import Cond, Scan, While, element_type
from funcgrad.compiler.steps import CallStep, ControlStep, HostStep, KernelStep
from funcgrad.ir.jaxpr import Var

# Elementary steps of work that take about a millisecond, and those of a turn.
WORK_BETWEEN_POLLS, TURN_WORK = 1 << 23, 1 << 6
# Multiplications of a library function that take as long as one elementary step.
PRODUCTS_PER_WORK = 4
# Turns that a loop inside another is taken to make if that is not known.
TURNS_EXPECTED = 64


class Pair(NamedTuple):
    """The buffers of a carry: where its value lies, and where a turn makes the next one.

    A carry that its loop rewrites in place has no other buffer.
    """

    current: Place
    other: Place | None


# A carried value: the names of its elements, or its buffers.
Value = tuple[str, ...] | Pair


class Carry(NamedTuple):
    """A carried value as it is before the first turn."""

    var: Var
    first: Value


class Heads(NamedTuple):
    """The phi nodes at the head of a loop, to be completed once the next values are known."""

    values: list[Value]
    places: list[tuple[int, str, str, str]]  # (line, name, type, first value)


def emit(emitter: Values, i: int, step: ControlStep, frame: Frame) -> None:
    """The code of a loop or a choice."""
    if isinstance(step.control, Scan):
        emit_scan(emitter, i, step, step.control, frame)
    elif isinstance(step.control, While):
        emit_while(emitter, i, step, step.control, frame)
    else:
        emit_cond(emitter, i, step, frame)


# what the loops share


def first_carries(
    emitter: Values, i: int, step: ControlStep, frame: Frame, start_in_spare: bool
) -> list[Carry]:
    """The carries with their first values in place.

    Where buffers alternate over an odd number of turns, the first value goes into the spare one, so
    that the last comes to lie where the result belongs.
    """
    body = frame.layout.inner[i][-1]
    control = step.control
    assert not isinstance(control, Cond)
    first = control.num_consts if isinstance(control, Scan) else control.body_consts
    spares = frame.layout.extra[i][1:]
    carries: list[Carry] = []
    copies: list[tuple[Place, Place, int]] = []
    for j, (out, atom) in enumerate(carries_of(step)):
        var = body.block.inputs[first + j]
        if body.is_register(var):
            carries.append(Carry(var, emitter.all_elements(frame, atom)))
            continue
        buffer, source, spare = emitter.place(frame, out), emitter.place(frame, atom), None
        if not rewritten(body, first + j, j):
            pair = buffer, emitter.storage(frame, spares[j])
            named = [Place(emitter.pointer(place)) for place in pair]
            buffer, spare = reversed(named) if start_in_spare else named
        copies.append((buffer, source, nbytes(atom)))
        carries.append(Carry(var, Pair(buffer, spare)))
    for target, source, count in copies:
        emitter.copy(target, source, count)
    return carries


def heads(emitter: Values, carries: Sequence[Carry]) -> Heads:
    """Places for the phi nodes of the carries."""
    found = Heads([], [])
    for var, first in carries:
        if not isinstance(first, Pair):
            kind = register(element_type(var.aval.dtype) or "")
            found.values.append(tuple(phi(emitter, found, kind, e) for e in first))
        elif first.other:
            pointers = [phi(emitter, found, "ptr", p.base) for p in (first.current, first.other)]
            found.values.append(Pair(*map(Place, pointers)))
        else:
            found.values.append(first)
    return found


def phi(emitter: Values, found: Heads, kind: str, first: str) -> str:
    name = emitter.writer.fresh()
    found.places.append((len(emitter.writer.lines), name, kind, first))
    emitter.writer.lines.append("")
    return name


def complete(
    emitter: Values, found: Heads, following: Sequence[str], before: str, latch: str
) -> None:
    """Write the phi nodes: the first values come from `before`, the following ones from `latch`."""
    for (line, name, kind, first), value in zip(found.places, following, strict=True):
        text = f"  {name} = phi {kind} [ {first}, %{before} ], [ {value}, %{latch} ]"
        emitter.writer.lines[line] = text


def following(emitter: Values, values: Sequence[Value], inner: Frame) -> list[str]:
    """What the phi nodes take on at the end of a turn, in their order."""
    found: list[str] = []
    for value, atom in zip(values, inner.layout.block.outputs, strict=False):
        if not isinstance(value, Pair):
            found += emitter.elements(inner, atom)
        elif value.other:
            found += [value.other.base, value.current.base]
    return found


def poll(emitter: Values, body: Layout, count: str) -> None:
    """Every millisecond or so, look whether Python was asked to stop."""
    if any(isinstance(s, HostStep) for s in body.block.steps):
        return
    mask = turns_between_polls(body) - 1
    writer = emitter.writer
    due = writer.assign(f"and i64 {count}, {mask}")
    test = writer.assign(f"icmp eq i64 {due}, {mask}")
    ask, after = writer.label("poll"), writer.label("turn")
    writer.branch(test, ask, after)
    writer.begin(ask)
    emitter.call_host(POLL)
    writer.jump(after)
    writer.begin(after)


def turns_between_polls(body: Layout) -> int:
    """A power of two that is the smaller, the more the body does."""
    return 1 << max(WORK_BETWEEN_POLLS // turn_work(body), 1).bit_length() - 1


def turn_work(layout: Layout) -> int:
    """About how much a block does: of a choice the most, of a loop until it polls itself."""
    work = TURN_WORK
    for i, step in enumerate(layout.block.steps):
        if isinstance(step, KernelStep):
            work += work_of(step.fused.kernel)
        elif isinstance(step, CallStep):
            sizes = [v.aval.size for v in (*step.reads, step.out)]
            work += math.isqrt(math.prod(sizes)) // PRODUCTS_PER_WORK  # m n k, of a matrix product
        elif isinstance(step, ControlStep):
            inner = [turn_work(block) for block in layout.inner[i]]
            control = step.control
            if isinstance(control, Cond):
                work += max(inner)
            else:
                turns = control.length if isinstance(control, Scan) else TURNS_EXPECTED
                work += min(turns * sum(inner), WORK_BETWEEN_POLLS)
    return work


# scan


def emit_scan(emitter: Values, i: int, step: ControlStep, control: Scan, frame: Frame) -> None:
    """A loop over the turns; arrays to go along are read and written a slice a turn."""
    writer, body = emitter.writer, frame.layout.inner[i][0]
    num_first = control.num_consts + control.num_carry
    carries = first_carries(emitter, i, step, frame, start_in_spare=control.length % 2 == 1)
    eqn, inputs = step.eqn, body.block.inputs
    consts = [
        emitter.argument(frame, body, v, a)
        for v, a in zip(inputs[: control.num_consts], eqn.invars, strict=False)
    ]
    along = [emitter.place(frame, a) for a in eqn.invars[num_first:]]
    results = [emitter.place(frame, v) for v in eqn.outvars[control.num_carry :]]
    if control.length == 0:
        for (_, first), out in zip(carries, eqn.outvars, strict=False):
            if not isinstance(first, Pair):
                emitter.put_result(frame, out, first)
        return
    arena = emitter.storage(frame, frame.layout.extra[i][0])
    before, head = writer.current, writer.label("scan")
    writer.jump(head)
    writer.begin(head)
    counting = Heads([], [])
    turn = phi(emitter, counting, "i64", "0")
    found = heads(emitter, carries)
    at = turn
    if control.reverse:
        at = writer.assign(f"sub i64 {control.length - 1}, {turn}")
    arguments = [*consts, *map(handed_over, found.values)]
    for var, whole in zip(inputs[num_first:], along, strict=True):
        piece = slice_at(emitter, whole, at, nbytes(var))
        arguments.append(slice_argument(emitter, body, var, piece))
    outputs = list(map(made_in, found.values))
    for atom, whole in zip(body.block.outputs[control.num_carry :], results, strict=True):
        outputs.append(slice_at(emitter, whole, at, nbytes(atom)))
    inner = emitter.inner_frame(body, arena, arguments, outputs)
    emitter.block(body.block, inner)
    emitter.finish_outputs(body.block, inner)
    poll(emitter, body, turn)
    next_turn = writer.assign(f"add i64 {turn}, 1")
    next_values = following(emitter, found.values, inner)
    again = writer.assign(f"icmp ult i64 {next_turn}, {control.length}")
    after, latch = writer.label("scanned"), writer.current
    writer.branch(again, head, after)
    complete(emitter, counting, [next_turn], before, latch)
    complete(emitter, found, next_values, before, latch)
    writer.begin(after)
    for (_, first), out, atom in zip(carries, eqn.outvars, body.block.outputs, strict=False):
        if not isinstance(first, Pair):
            emitter.put_result(frame, out, emitter.elements(inner, atom))


def handed_over(value: Value) -> Argument:
    return value.current if isinstance(value, Pair) else value


def made_in(value: Value) -> Place | None:
    return value.other if isinstance(value, Pair) else None


def slice_at(emitter: Values, whole: Place, turn: str, count: int) -> Place:
    """Where the slice of a turn begins."""
    offset = emitter.writer.assign(f"mul i64 {turn}, {count}")
    pointer = emitter.pointer(whole)
    return Place(emitter.writer.assign(f"getelementptr i8, ptr {pointer}, i64 {offset}"))


def slice_argument(emitter: Values, body: Layout, var: Var, piece: Place) -> Argument:
    """A slice as the body wants it."""
    if not body.is_register(var):
        return piece
    return emitter.load_all(piece, element_type(var.aval.dtype) or "", var.aval.size)


# while


def emit_while(emitter: Values, i: int, step: ControlStep, control: While, frame: Frame) -> None:
    """Test, body, test, body, ... until the test says no."""
    writer = emitter.writer
    test, body = frame.layout.inner[i]
    eqn, num_test, num_body = step.eqn, control.test_consts, control.body_consts
    carries = first_carries(emitter, i, step, frame, start_in_spare=False)
    test_consts = [
        emitter.argument(frame, test, v, a)
        for v, a in zip(test.block.inputs[:num_test], eqn.invars, strict=False)
    ]
    body_consts = [
        emitter.argument(frame, body, v, a)
        for v, a in zip(body.block.inputs[:num_body], eqn.invars[num_test:], strict=False)
    ]
    arena = emitter.storage(frame, frame.layout.extra[i][0])
    body_arena = arena.on(test.size)
    before, head = writer.current, writer.label("while")
    writer.jump(head)
    writer.begin(head)
    counting = Heads([], [])
    turn = phi(emitter, counting, "i64", "0")
    found = heads(emitter, carries)
    current = list(map(handed_over, found.values))
    testing = emitter.inner_frame(test, arena, [*test_consts, *current], [None])
    emitter.block(test.block, testing)
    (going,) = emitter.elements(testing, test.block.outputs[0])
    go, after = writer.label("body"), writer.label("done")
    writer.branch(going, go, after)
    writer.begin(go)
    outputs = list(map(made_in, found.values))
    inner = emitter.inner_frame(body, body_arena, [*body_consts, *current], outputs)
    emitter.block(body.block, inner)
    emitter.finish_outputs(body.block, inner)
    poll(emitter, body, turn)
    next_turn = writer.assign(f"add i64 {turn}, 1")
    next_values = following(emitter, found.values, inner)
    latch = writer.current
    writer.jump(head)
    complete(emitter, counting, [next_turn], before, latch)
    complete(emitter, found, next_values, before, latch)
    writer.begin(after)
    for (_, first), value, out in zip(carries, found.values, eqn.outvars, strict=True):
        if not isinstance(value, Pair):
            emitter.put_result(frame, out, value)
        elif isinstance(first, Pair) and first.other:
            copy_unless_there(emitter, first.current, value.current, nbytes(out))


def copy_unless_there(emitter: Values, target: Place, source: Place, count: int) -> None:
    writer = emitter.writer
    there = writer.assign(f"icmp eq ptr {target.base}, {source.base}")
    move, after = writer.label("move"), writer.label("there")
    writer.branch(there, after, move)
    writer.begin(move)
    emitter.copy(target, source, count)
    writer.jump(after)
    writer.begin(after)


# cond


def emit_cond(emitter: Values, i: int, step: ControlStep, frame: Frame) -> None:
    """A switch over the branches; small results meet again in phi nodes."""
    writer, eqn, layouts = emitter.writer, step.eqn, frame.layout.inner[i]
    index = clamped(emitter, step, frame)
    labels = [writer.label("branch") for _ in layouts]
    after = writer.label("joined")
    in_memory = [not layouts[0].is_register(v) for v in eqn.outvars]
    outputs = [
        emitter.place(frame, v) if memory else None
        for v, memory in zip(eqn.outvars, in_memory, strict=True)
    ]
    arguments = [
        [emitter.argument(frame, inner, v, a) for v, a in zip(inner.block.inputs, eqn.invars[1:])]
        for inner in layouts
    ]
    arena = emitter.storage(frame, frame.layout.extra[i][0])
    cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels[:-1]))
    writer.emit(f"switch i32 {index}, label %{labels[-1]} [ {cases} ]")
    ends: list[tuple[str, list[tuple[str, ...]]]] = []
    for label, inner_layout, given in zip(labels, layouts, arguments, strict=True):
        writer.begin(label)
        inner = emitter.inner_frame(inner_layout, arena, given, outputs)
        emitter.block(inner_layout.block, inner)
        emitter.finish_outputs(inner_layout.block, inner)
        small = [
            emitter.elements(inner, atom)
            for atom, memory in zip(inner_layout.block.outputs, in_memory, strict=True)
            if not memory
        ]
        ends.append((writer.current, small))
        writer.jump(after)
    writer.begin(after)
    joined: list[tuple[Var, tuple[str, ...]]] = []
    small_vars = [v for v, memory in zip(eqn.outvars, in_memory, strict=True) if not memory]
    for j, var in enumerate(small_vars):
        kind = register(element_type(var.aval.dtype) or "")
        values = []
        for k in range(var.aval.size):
            sources = ", ".join(f"[ {small[j][k]}, %{block} ]" for block, small in ends)
            values.append(writer.assign(f"phi {kind} {sources}"))
        joined.append((var, tuple(values)))
    for var, values in joined:
        emitter.put_result(frame, var, values)


def clamped(emitter: Values, step: ControlStep, frame: Frame) -> str:
    """The number of the branch to take."""
    writer, atom = emitter.writer, step.eqn.invars[0]
    (index,) = emitter.elements(frame, atom)
    dtype = element_type(atom.aval.dtype) or ""
    if dtype == "bool":
        return writer.assign(f"zext i1 {index} to i32")
    last = len(step.blocks) - 1
    emitter.module.declare("declare i32 @llvm.smax.i32(i32, i32)")
    emitter.module.declare("declare i32 @llvm.smin.i32(i32, i32)")
    index = writer.assign(f"call i32 @llvm.smax.i32(i32 {index}, i32 0)")
    return writer.assign(f"call i32 @llvm.smin.i32(i32 {index}, i32 {last})")
