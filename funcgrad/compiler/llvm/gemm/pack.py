"""Packing: a block of an operand of any strides is copied, converted and reordered into what the
tiles read in sequence, padded with zeros to whole steps.

In a packed block the units of one step stand together, one a lane: `[steps][lanes][group]`.
Rows of a that are contiguous along k stay rows: `[rows][k]`.
"""

from funcgrad.compiler.llvm.elements import BYTES, REGISTER, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.gemm.scheme import (
    Scheme,
    convert,
    first,
    masked_load,
    splat,
    step,
)

# From the element at `from`, `width` lanes that stand `along` bytes apart, of `k` elements each
# that stand `along_k` apart; to steps of `step` bytes. The bits of i8 are xored with `flip`.
PACK = "ptr %to, i64 %step, ptr %from, i64 %along_k, i64 %along, i64 %k, i64 %width, i64 %flip"


def packing(s: Scheme) -> list[str]:
    """The functions `pack` and `pack_rows`, with those they call."""
    parts = [pack(s), pack_beside(s), pack_across(s), pack_any(s), pack_rows(s)]
    return [*parts, balance(s)] if s.method == "quads" else parts


def pack(s: Scheme) -> str:
    """Pack lanes in the way that suits the strides."""
    f = Function("pack", PACK)
    for way, stride in (("pack_beside", "%along"), ("pack_across", "%along_k")):
        here, other = f.label("then"), f.label("else")
        f.branch(f.test(stride, "eq", BYTES[s.source]), here, other)
        f.begin(here)
        f.emit(f"call void @{way}({PACK})")
        f.emit("ret void")
        f.begin(other)
    f.emit(f"call void @pack_any({PACK})")
    return f.text()


def packed(f: Function, s: Scheme, value: str, lanes: int) -> str:
    """Elements as they are packed."""
    value = convert(f, s, value, s.source, s.element, lanes)
    if s.method != "quads":
        return value
    flip = splat(f, "i8", f.assign("trunc i64 %flip to i8"), lanes)
    return f.assign(f"xor {register('i8', lanes)} {value}, {flip}")


def pack_any(s: Scheme) -> str:
    """Element by element."""
    f = Function("pack_any", PACK)
    with f.loop(0, f.up("%k", s.group)) as k:
        source = f.at("%from", f.mul(k.index, "%along_k"))
        target = f.at("%to", f.mul(f.div(k.index, s.group), "%step"))
        target = f.at(target, f.mul(f.rem(k.index, s.group), BYTES[s.element]))
        inside = f.test(k.index, "slt", "%k")
        with f.when(inside), f.loop(0, "%width", 1, ("ptr", source), ("ptr", target)) as lane:
            here, there = lane.values
            f.store(s.element, packed(f, s, f.load(s.source, here), 1), there)
            lane.next = [f.at(here, "%along"), f.at(there, BYTES[s.unit])]
        with f.when(f.negate(inside)), f.loop(0, "%width") as lane:
            there = f.at(target, f.mul(lane.index, BYTES[s.unit]))
            f.emit(f"store {register(s.element)} zeroinitializer, ptr {there}, align 1")
    return f.text()


def call_any(f: Function, to: str, source: str, k: str, width: str) -> None:
    f.emit(
        f"call void @pack_any(ptr {to}, i64 %step, ptr {source}, i64 %along_k, i64 %along, "
        f"i64 {k}, i64 {width}, i64 %flip)"
    )


def pack_beside(s: Scheme) -> str:
    """Lanes that stand side by side: a vector of each of a step's elements, interleaved."""
    f = Function("pack_beside", PACK)
    steps = f.div("%k", s.group) if not s.masked else f.parts("%k", s.group)
    end = "%width" if s.masked else f.mul(f.div("%width", s.lanes), s.lanes)
    row_bytes = f.mul("%along_k", s.group)
    with f.loop(0, end, s.lanes) as lane:
        source = f.at("%from", f.mul(lane.index, BYTES[s.source]))
        target = f.at("%to", f.mul(lane.index, BYTES[s.unit]))
        mask = first(f, f.sub("%width", lane.index), s.lanes) if s.masked else ""
        with f.loop(0, steps, 1, ("ptr", source), ("ptr", target)) as each:
            here, there = each.values
            rows = []
            for g in range(s.group):
                rows.append(beside_row(f, s, here, each.index, g, mask))
            value = interleave(f, s, rows)
            f.store(s.unit, value, there, s.lanes)
            each.next = [f.at(here, row_bytes), f.at(there, "%step")]
    if not s.masked:
        beside_rest(f, s, steps, end)
    return f.text()


def beside_row(f: Function, s: Scheme, here: str, index: str, g: int, mask: str) -> str:
    """The vector of a step's element g; zeros where k has ended."""
    place = f.at(here, f.mul("%along_k", g)) if g else here
    if not mask:
        return packed(f, s, f.load(s.source, place, s.lanes), s.lanes)
    if g:
        inside = f.test(f.add(f.mul(index, s.group), g), "slt", "%k")
        mask = f.choose(inside, mask, "zeroinitializer", f"<{s.lanes} x i1>")
    return packed(f, s, masked_load(f, s.source, place, mask, s.lanes), s.lanes)


def beside_rest(f: Function, s: Scheme, steps: str, end: str) -> None:
    """What is left where no masks are: the last lanes, and the last step if it is not whole."""
    source = f.at("%from", f.mul(end, BYTES[s.source]))
    with f.when(f.test(end, "slt", "%width")):
        to = f.at("%to", f.mul(end, BYTES[s.unit]))
        call_any(f, to, source, "%k", f.sub("%width", end))
    done = f.mul(steps, s.group)
    with f.when(f.test(done, "slt", "%k")):
        to = f.at("%to", f.mul(steps, "%step"))
        call_any(f, to, f.at("%from", f.mul(done, "%along_k")), f.sub("%k", done), end)


def interleave(f: Function, s: Scheme, rows: list[str]) -> str:
    """One vector of units out of a vector of each of their elements."""
    lanes = s.lanes
    while len(rows) > 1:
        half = len(rows) // 2
        order = ", ".join(f"i32 {i // 2 + (i % 2) * lanes}" for i in range(2 * lanes))
        kind = register(s.element, lanes)
        rows = [
            f.assign(f"shufflevector {kind} {x}, {kind} {y}, <{2 * lanes} x i32> <{order}>")
            for x, y in zip(rows[:half], rows[half:], strict=True)
        ]
        lanes *= 2
    if s.group == 1:
        return rows[0]
    kind = register(s.element, lanes)
    return f.assign(f"bitcast {kind} {rows[0]} to {register(s.unit, s.lanes)}")


def pack_across(s: Scheme) -> str:
    """Lanes whose elements stand side by side along k: squares of units are transposed."""
    f = Function("pack_across", PACK)
    block, square = s.lanes * s.group, 16 // BYTES[s.unit]
    end = "%k" if s.masked else f.mul(f.div("%k", block), block)
    with f.loop(0, "%width", square) as lane:
        source = f.at("%from", f.mul(lane.index, "%along"))
        target = f.at("%to", f.mul(lane.index, BYTES[s.unit]))
        left = f.sub("%width", lane.index)
        down = [f.choose(f.test(left, "sgt", row), "%along", 0) for row in range(1, square)]
        with f.loop(0, end, block, ("ptr", source), ("ptr", target)) as each:
            here, there = each.values
            mask = first(f, f.sub("%k", each.index), block) if s.masked else ""
            rows, place = [across_row(f, s, here, mask)], here
            for stride in down:
                place = f.at(place, stride)
                rows.append(across_row(f, s, place, mask))
            each.next = [f.at(here, block * BYTES[s.source]), store_squares(f, s, rows, there)]
        if not s.masked:
            with f.when(f.test(end, "slt", "%k")):
                rest = f.at(source, f.mul(end, BYTES[s.source]))
                to = f.at(target, f.mul(f.div(end, s.group), "%step"))
                call_any(f, to, rest, f.sub("%k", end), f.min(left, square))
    return f.text()


def across_row(f: Function, s: Scheme, place: str, mask: str) -> str:
    """A vector of one lane's units."""
    elements = s.lanes * s.group
    if mask:
        value = masked_load(f, s.source, place, mask, elements)
    else:
        value = f.load(s.source, place, elements)
    value = packed(f, s, value, elements)
    if REGISTER[s.element] == REGISTER[s.unit]:
        return value
    kind = register(s.element, elements)
    return f.assign(f"bitcast {kind} {value} to {register(s.unit, s.lanes)}")


def store_squares(f: Function, s: Scheme, rows: list[str], there: str) -> str:
    """Transpose each 16 bytes of the rows and store them a step apart; gives the next step."""
    lanes, kind, square = s.lanes, register(s.unit, s.lanes), len(rows)
    half = square // 2
    for _ in range(half):  # one round for two rows, two for four
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [unpacked for x, y in pairs for unpacked in unpack(f, s, x, y, square)]
    part = register(s.unit, square)
    for i in range(0, lanes, square):
        order = ", ".join(f"i32 {i + lane}" for lane in range(square))
        for row in rows:
            piece = row
            if square < lanes:
                piece = f.assign(
                    f"shufflevector {kind} {row}, {kind} poison, <{square} x i32> <{order}>"
                )
            f.emit(f"store {part} {piece}, ptr {there}, align {BYTES[s.element]}")
            there = f.at(there, "%step")
    return there


def unpack(f: Function, s: Scheme, x: str, y: str, square: int) -> list[str]:
    """The lower, and the upper, halves of each 16 bytes of two vectors, element by element."""
    lanes, kind = s.lanes, register(s.unit, s.lanes)
    results = []
    for start in (0, square // 2):
        order = [
            base + start + i + which * lanes
            for base in range(0, lanes, square)
            for i in range(square // 2)
            for which in range(2)
        ]
        mask = ", ".join(f"i32 {i}" for i in order)
        results.append(f.assign(f"shufflevector {kind} {x}, {kind} {y}, <{lanes} x i32> <{mask}>"))
    return results


def pack_rows(s: Scheme) -> str:
    """Rows that are contiguous along k, kept as rows `step` bytes apart."""
    f = Function(
        "pack_rows", "ptr %to, i64 %step, ptr %from, i64 %along, i64 %k, i64 %rows, i64 %flip"
    )
    lanes = s.target.lanes(s.element)
    padded = f.up("%k", s.group)
    whole = f.mul(f.div("%k", lanes), lanes)
    with f.loop(0, "%rows", 1, ("ptr", "%from"), ("ptr", "%to")) as row:
        source, target = row.values
        with f.loop(0, whole, lanes) as k:
            value = f.load(s.source, f.at(source, f.mul(k.index, BYTES[s.source])), lanes)
            there = f.at(target, f.mul(k.index, BYTES[s.element]))
            f.store(s.element, packed(f, s, value, lanes), there, lanes)
        with f.loop(whole, "%k") as k:
            value = f.load(s.source, f.at(source, f.mul(k.index, BYTES[s.source])))
            there = f.at(target, f.mul(k.index, BYTES[s.element]))
            f.store(s.element, packed(f, s, value, 1), there)
        with f.loop("%k", padded) as k:
            there = f.at(target, f.mul(k.index, BYTES[s.element]))
            f.emit(f"store {register(s.element)} zeroinitializer, ptr {there}, align 1")
        row.next = [f.at(source, "%along"), f.at(target, "%step")]
    return f.text()


def balance(s: Scheme) -> str:
    """Write after a panel's steps what undoes the offset of a: -128 times each column's sum."""
    f = Function("balance", "ptr %panel, i64 %step, i64 %steps")
    kind = register(s.acc, s.lanes)
    ones = "splat (i32 16843009)"  # four bytes of 1
    with f.loop(0, s.width * BYTES[s.unit], s.target.vector_bytes) as column:
        start = f.at("%panel", column.index)
        with f.loop(0, "%steps", 1, ("ptr", start), (kind, "zeroinitializer")) as each:
            place, total = each.values
            units = f.load(s.unit, place, s.lanes)
            each.next = [f.at(place, "%step"), step(f, s, ones, units, total)]
        place, total = each.values
        f.store(s.acc, f.assign(f"mul {kind} {total}, splat (i32 -128)"), place, s.lanes)
    return f.text()
