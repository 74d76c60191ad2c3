"""Where a convolution reads and writes: for tiles of output places, the address that each kernel
tap meets, so that the kernels themselves know nothing of strides, holes, padding or the batch.

A tap that meets padding gets the address of zeros, a place past the last one writes to a spare row.
Places that meet holes of the input alike form a phase, which has taps of its own: `Axis` says what
phases an axis has, and a unit of work is a block of places in one phase.
"""

import math
from typing import NamedTuple

from funcgrad.compiler.llvm.elements import lane_list
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target

# Addresses of a tile's places for one tap, a row of a table: those past the tile are not used.
LANES = 16
TABLE_ROW = LANES * 8
# A tile's table holds the addresses of its outputs, those that tap 0 meets whether they are there
# or not, the positions along h and w that it meets, and then a row for each tap.
BASES, POSITIONS, HEADER = TABLE_ROW, 2 * TABLE_ROW, 3
# Added to no tap does it become a position in the input.
FAR = -(1 << 30)

# The parameters of every kernel that walks over places, in order, after its addresses.
AXIS_FIELDS = ("size", "stride", "step", "reach", "out_step", "tap_step", "phases")
PLACE_FIELDS = (
    "batch",
    "x_batch",
    "out_batch",
    *(f"{axis}_{field}" for axis in ("h", "w") for field in AXIS_FIELDS),
    "tile_bytes",
)
PHASE_FIELDS = ("places", "taps", "first", "out_first", "tap_first")


class Axis(NamedTuple):
    """A spatial axis as the kernels see it: place i of a phase and its tap j meet the position
    first + i * step + j * reach of an input of `size` elements."""

    size: int
    step: int
    reach: int
    period: int  # between output places of one phase
    skip: int  # between kernel taps of one phase
    phases: tuple["Phase", ...]


class Phase(NamedTuple):
    places: int
    taps: int
    first: int
    out_first: int
    tap_first: int


def axis(size: int, taps: int, places: int, stride: int, low: int, hole: int, spread: int) -> Axis:
    """The phases of an axis where place p and tap t meet element (p*stride + t*spread - low)/hole,
    if that is whole."""
    period = hole // math.gcd(hole, stride)
    skip = hole // math.gcd(hole, spread)
    phases = []
    for start in range(min(period, places)):
        count = -(-(places - start) // period)
        meets = [
            t for t in range(min(skip, taps)) if (start * stride + t * spread - low) % hole == 0
        ]
        if meets:
            first = (start * stride + meets[0] * spread - low) // hole
            phases.append(Phase(count, -(-(taps - meets[0]) // skip), first, start, meets[0]))
        else:
            phases.append(Phase(count, 0, 0, start, 0))
    step, reach = period * stride // hole, skip * spread // hole
    return Axis(size, step, reach, period, skip, tuple(phases))


class Params:
    """The parameter array of a kernel: names of its 64-bit words, and code that reads them."""

    def __init__(self, *names: str):
        self.names = names
        self.slots = {name: i for i, name in enumerate(names)}

    def load(self, f: Function, p: str, name: str) -> str:
        return f.load("i64", f.at(p, 8 * self.slots[name]))

    def address(self, f: Function, p: str, name: str) -> str:
        return address(f, f.at(p, 8 * self.slots[name]))

    def phase(self, f: Function, p: str, axis: str, number: str) -> dict[str, str]:
        """The words of one phase; those of the h axis stand first, after all named ones."""
        index = number if axis == "h" else f.add(number, self.load(f, p, "h_phases"))
        at = f.at(p, f.add(8 * len(self.names), f.mul(index, 8 * len(PHASE_FIELDS))))
        return {field: f.load("i64", f.at(at, 8 * i)) for i, field in enumerate(PHASE_FIELDS)}


def phase_words(*axes: tuple[Axis, int, int]) -> list[int]:
    """The words of the phases of axes, with their strides of the output and of the taps."""
    return [
        word
        for axis, out_stride, tap_stride in axes
        for phase in axis.phases
        for word in (*phase[:3], phase.out_first * out_stride, phase.tap_first * tap_stride)
    ]


def axis_words(axis: Axis, stride: int, out_stride: int, tap_stride: int) -> tuple[int, ...]:
    """The words of AXIS_FIELDS; strides in bytes of the input, the output and the taps."""
    return (
        axis.size,
        stride,
        axis.step,
        axis.reach,
        axis.period * out_stride,
        axis.skip * tap_stride,
        len(axis.phases),
    )


def decoded(f: Function, number: str, *counts: str) -> list[str]:
    """A mixed-radix number taken apart, its last digit counted fastest."""
    digits: list[str] = []
    for count in counts[::-1]:
        rest = f.div(number, count)
        digits.append(f.sub(number, f.mul(rest, count)))
        number = rest
    return [number, *digits[::-1]]


class Walk(NamedTuple):
    """What the code that makes tables goes by: words of the kernel, and of a phase of each axis."""

    words: dict[str, str]
    h: dict[str, str]
    w: dict[str, str]


def places_function(params: Params, rows: int) -> str:
    """@places(p, x, out, spare, zeros, offsets, tiles, phase of h, phase of w, first, count).

    For `count` tiles of `rows` places from place `first` on, writes at `tiles` the addresses of
    their outputs and, tap by tap, of their inputs; at `offsets`, where each tap's weights begin.
    """
    f = Function(
        "places",
        "ptr %p, ptr %x, ptr %out, ptr %spare, ptr %zeros, ptr %offsets, ptr %tiles, "
        "i64 %fh, i64 %fw, i64 %first, i64 %count",
    )
    words = {name: params.load(f, "%p", name) for name in PLACE_FIELDS}
    h, w = params.phase(f, "%p", "h", "%fh"), params.phase(f, "%p", "w", "%fw")
    walk = Walk(words, h, w)
    f.leave_when(f.test(f.mul(f.mul(h["places"], w["places"]), words["batch"]), "eq", 0))
    _tap_offsets(f, walk)
    n, i, j = decoded(f, "%first", h["places"], w["places"])
    begin = [("i64", n), ("i64", i), ("i64", j)]
    ramps = _ramps(f, walk)
    with f.loop(0, "%count", 1, *begin) as tiles:
        tile = f.at("%tiles", f.mul(tiles.index, words["tile_bytes"]))
        n, i, j = tiles.values
        after = f.add(j, rows)
        in_row = f.all(f.test(after, "sle", w["places"]), f.test(n, "slt", words["batch"]))
        with f.when(in_row):
            _row_of_places(f, walk, tiles.values, ramps, tile)
        one_by_one = f.choose(in_row, 0, rows)
        with f.loop(0, one_by_one, 1, *(("i64", v) for v in tiles.values)) as place:
            _one_place(f, walk, place.values, place.index, tile)
            n_now, i_now, j_now = place.values
            place.next = _wrapped(f, walk, n_now, i_now, f.add(j_now, 1))
        moved = _wrapped(f, walk, n, i, after)
        tiles.next = [f.choose(in_row, a, b) for a, b in zip(moved, place.values)]
    # A loop of its own, for what was just written in small pieces is slow to read as vectors.
    with f.loop(0, "%count") as tiles:
        _taps_of_tile(f, walk, f.at("%tiles", f.mul(tiles.index, words["tile_bytes"])))
    return f.text()


def _tap_offsets(f: Function, walk: Walk) -> None:
    words, h, w = walk
    start = f.add(h["tap_first"], w["tap_first"])
    with f.loop(0, h["taps"]) as down, f.loop(0, w["taps"]) as along:
        row = f.mul(down.index, words["h_tap_step"])
        offset = f.add(f.add(start, row), f.mul(along.index, words["w_tap_step"]))
        tap = f.add(f.mul(down.index, w["taps"]), along.index)
        f.store("i64", offset, f.at("%offsets", f.mul(tap, 8)))


def _wrapped(f: Function, walk: Walk, n: str, i: str, j: str) -> list[str]:
    """A place whose column may be just past the end."""
    ends = f.test(j, "sge", walk.w["places"])
    i = f.choose(ends, f.add(i, 1), i)
    over = f.test(i, "sge", walk.h["places"])
    return [f.choose(over, f.add(n, 1), n), f.choose(over, 0, i), f.choose(ends, 0, j)]


def _start(f: Function, walk: Walk, place: list[str]) -> tuple[str, str, str, str]:
    """The position that a place's tap 0 meets, along h and w; its address; the output's address."""
    words, h, w = walk
    n, i, j = place
    y = f.add(h["first"], f.mul(i, words["h_step"]))
    x = f.add(w["first"], f.mul(j, words["w_step"]))
    offset = f.add(f.mul(y, words["h_stride"]), f.mul(x, words["w_stride"]))
    offset = f.add(offset, f.mul(n, words["x_batch"]))
    base = f.add(f.assign("ptrtoint ptr %x to i64"), offset)
    out = f.add(f.add(h["out_first"], w["out_first"]), f.mul(n, words["out_batch"]))
    out = f.add(out, f.mul(i, words["h_out_step"]))
    return y, x, base, f.at("%out", f.add(out, f.mul(j, words["w_out_step"])))


def _one_place(f: Function, walk: Walk, place: list[str], row: str, tile: str) -> None:
    """Writes where a place starts, one of a tile that crosses rows or is past the last place."""
    y, x, base, out = _start(f, walk, place)
    exists = f.test(place[0], "slt", walk.words["batch"])
    eighth = f.mul(row, 8)
    at = f.at(f.at(tile, POSITIONS), f.mul(row, 4))
    f.store("i64", base, f.at(f.at(tile, BASES), eighth))
    f.store("i32", f.assign(f"trunc i64 {f.choose(exists, y, FAR)} to i32"), at)
    f.store("i32", f.assign(f"trunc i64 {x} to i32"), f.at(at, 4 * LANES))
    put_address(f, f.choose(exists, out, "%spare", "ptr"), f.at(tile, eighth))


def _ramps(f: Function, walk: Walk) -> tuple[str, str, str]:
    """By how much the places of a tile in one row are further: positions, addresses, outputs."""
    words = walk.words
    step, wide = words["w_step"], f"<{LANES} x i64>"
    made = []
    for distance in (step, f.mul(step, words["w_stride"]), words["w_out_step"]):
        lanes = lane_list("i64", tuple(range(LANES)))
        made.append(f.assign(f"mul {wide} {splat(f, 'i64', LANES, distance)}, {lanes}"))
    positions = f.assign(f"trunc {wide} {made[0]} to <{LANES} x i32>")
    return positions, made[1], made[2]


def _row_of_places(
    f: Function, walk: Walk, place: list[str], ramps: tuple[str, str, str], tile: str
) -> None:
    """Writes where the places of a tile start that all stand in one row."""
    y, x, base, out = _start(f, walk, place)
    positions, bases, outs = ramps
    at = f.at(tile, POSITIONS)
    small, wide = f"<{LANES} x i32>", f"<{LANES} x i64>"
    f.store("i32", narrow(f, y), at, LANES)
    f.store("i32", f.assign(f"add {small} {narrow(f, x)}, {positions}"), f.at(at, 4 * LANES), LANES)
    first = splat(f, "i64", LANES, base)
    f.store("i64", f.assign(f"add {wide} {first}, {bases}"), f.at(tile, BASES), LANES)
    first = splat(f, "i64", LANES, f.assign(f"ptrtoint ptr {out} to i64"))
    f.store("i64", f.assign(f"add {wide} {first}, {outs}"), tile, LANES)


def row_of_tap(f: Function, tile: str, tap: str) -> str:
    return f.at(tile, f.mul(f.add(tap, HEADER), TABLE_ROW))


def address(f: Function, pointer: str) -> str:
    return f.assign(f"load ptr, ptr {pointer}, align 8")


def put_address(f: Function, value: str, pointer: str) -> None:
    f.emit(f"store ptr {value}, ptr {pointer}, align 8")


def below(f: Function, number: str, size: int) -> str:
    """The multiple of a size at or below a number."""
    return f.sub(number, f.rem(number, size))


def splat(f: Function, kind: str, lanes: int, value: str) -> str:
    first = f.assign(f"insertelement <{lanes} x {kind}> poison, {kind} {value}, i64 0")
    vector = f"<{lanes} x {kind}>"
    return f.assign(
        f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer"
    )


def narrow(f: Function, value: str) -> str:
    """A 64-bit number in every lane of a vector of 32-bit ones."""
    return splat(f, "i32", LANES, f.assign(f"trunc i64 {value} to i32"))


def _taps_of_tile(f: Function, walk: Walk, tile: str) -> None:
    """Writes the address that each tap of each place of the tile meets."""
    words, h, w = walk
    small, wide = f"<{LANES} x i32>", f"<{LANES} x i64>"
    at = f.at(tile, POSITIONS)
    ys, xs = f.load("i32", at, LANES), f.load("i32", f.at(at, 4 * LANES), LANES)
    base = f.load("i64", f.at(tile, BASES), LANES)
    zeros = splat(f, "i64", LANES, f.assign("ptrtoint ptr %zeros to i64"))
    height, width = narrow(f, words["h_size"]), narrow(f, words["w_size"])
    row_bytes = f.mul(words["h_reach"], words["h_stride"])
    column_bytes = f.mul(words["w_reach"], words["w_stride"])
    with f.loop(0, h["taps"]) as down:
        y = f.assign(f"add {small} {ys}, {narrow(f, f.mul(down.index, words['h_reach']))}")
        inside = f.assign(f"icmp ult {small} {y}, {height}")
        table = row_of_tap(f, tile, f.mul(down.index, w["taps"]))
        with f.loop(0, w["taps"]) as along:
            x = f.assign(f"add {small} {xs}, {narrow(f, f.mul(along.index, words['w_reach']))}")
            within = f.assign(f"icmp ult {small} {x}, {width}")
            meets = f.assign(f"and <{LANES} x i1> {inside}, {within}")
            moved = f.add(f.mul(down.index, row_bytes), f.mul(along.index, column_bytes))
            moved = f.assign(f"add {wide} {base}, {splat(f, 'i64', LANES, moved)}")
            chosen = f.assign(f"select <{LANES} x i1> {meets}, {wide} {moved}, {wide} {zeros}")
            f.store("i64", chosen, f.at(table, f.mul(along.index, TABLE_ROW)), LANES)


def tile_rows(target: Target) -> int:
    """How many places make a tile: what registers hold beside two vectors of weights."""
    return {"avx512": 12, "avx2": 6, "sse2": 4, "neon": 12}[target.isa]
