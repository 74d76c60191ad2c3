"""The gradient of a convolution's kernel: tiles of input times output features, each the sum over
the places of outer products of what a tap meets there and the output's cotangent."""

from funcgrad.compiler.llvm.conv.forward import declarations, entry_function, multiply_add
from funcgrad.compiler.llvm.conv.places import (
    LANES,
    Params,
    address,
    below,
    decoded,
    narrow,
    splat,
)
from funcgrad.compiler.llvm.conv.problem import Problem
from funcgrad.compiler.llvm.conv.steps import FEW_UNITS, Steps, View, aligned, named
from funcgrad.compiler.llvm.elements import BYTES, REGISTER, lane_list
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target

# Places summed up in registers before the result is touched: their cotangents stay in the L1 cache.
BLOCK = 128
ENTRIES = BLOCK + LANES  # of tables of places, which are written in vectors
UNROLL = 2
AXIS_FIELDS = ("size", "stride", "step", "reach", "count", "taps", "first")
# Strides in bytes. A unit of work is a part of the input features at one tap of one group.
PARAMS = Params(
    "x",
    "ct",
    "out",
    "scratch",
    "batch",
    "x_batch",
    *(f"{axis}_{field}" for axis in ("h", "w") for field in AXIS_FIELDS),
    "x_group",
    "ct_group",
    "ct_panel",
    "ct_place",
    "out_group",
    "out_h",
    "out_w",
    "out_input",
    "inputs",
    "outputs",
    "parts",
    "part_tiles",
    "zero_bytes",
    "units",
    "grain",
)


def tile_inputs(target: Target) -> int:
    """How many input features make a tile; an input must hold as many, though of fewer use."""
    return {"avx512": 8, "avx2": 6, "sse2": 4, "neon": 8}[target.isa]


def module(target: Target, dtype: str) -> str:
    """The text of `fg_conv_weights_<dtype>`."""
    rows, lanes = tile_inputs(target), target.lanes(dtype)
    unit = [
        _tile_function(target, dtype, rows, 1),
        _tile_function(target, dtype, rows, 2),
        _edge_function(dtype, 2 * lanes),
        _unit_function(dtype, rows, lanes),
    ]
    return around(target, dtype, unit, f"fg_conv_weights_{dtype}")


def around(target: Target, dtype: str, unit: list[str], name: str) -> str:
    """A module whose function @unit is given, with the functions it calls."""
    parts = [_positions_function(), _addresses_function(), *unit, _units_function()]
    return "\n".join([*declarations(target, dtype), *parts, entry_function(PARAMS, name)])


def _positions_function() -> str:
    """@positions(p, x, first, count, at, bases): where tap 0 of each place of a block stands."""
    f = Function("positions", "ptr %p, ptr %x, i64 %first, i64 %count, ptr %at, ptr %bases")
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    columns, step = word["w_count"], word["w_step"]
    n, i, j = decoded(f, "%first", word["h_count"], columns)
    base = f.add(f.assign("ptrtoint ptr %x to i64"), f.mul(n, word["x_batch"]))
    lanes, wide = lane_list("i64", tuple(range(LANES))), f"<{LANES} x i64>"
    ramp = f.assign(f"mul {wide} {splat(f, 'i64', LANES, step)}, {lanes}")
    apart = splat(f, "i64", LANES, f.mul(step, word["w_stride"]))
    ramp_bytes = f.assign(f"mul {wide} {apart}, {lanes}")
    # Row by row of places; vectors may reach past the end of one, where the next one begins.
    with f.loop(0, f.parts(f.add(j, "%count"), columns), 1, ("i64", base), ("i64", i)) as row:
        base, i = row.values
        start = f.sub(f.mul(row.index, columns), j)
        y = f.add(word["h_first"], f.mul(i, word["h_step"]))
        line = f.add(base, f.mul(y, word["h_stride"]))
        ys = narrow(f, y)
        with f.loop(f.max(start, 0), f.min(f.add(start, columns), "%count"), LANES) as place:
            x = f.add(word["w_first"], f.mul(f.sub(place.index, start), step))
            xs = f.assign(f"add {wide} {splat(f, 'i64', LANES, x)}, {ramp}")
            here = splat(f, "i64", LANES, f.add(line, f.mul(x, word["w_stride"])))
            here = f.assign(f"add {wide} {here}, {ramp_bytes}")
            f.store("i64", here, f.at("%bases", f.mul(place.index, 8)), LANES)
            at = f.at("%at", f.mul(place.index, 4))
            f.store("i32", ys, at, LANES)
            xs = f.assign(f"trunc {wide} {xs} to <{LANES} x i32>")
            f.store("i32", xs, f.at(at, 4 * ENTRIES), LANES)
        i = f.add(i, 1)
        ends = f.test(i, "sge", word["h_count"])
        after = f.add(base, word["x_batch"])
        row.next = [f.choose(ends, after, base), f.choose(ends, 0, i)]
    return f.text()


def _addresses_function() -> str:
    """@addresses(p, zeros, th, tw, group bytes, at, bases, table): what a tap meets in a block."""
    f = Function(
        "addresses",
        "ptr %p, ptr %zeros, i64 %th, i64 %tw, i64 %group, ptr %at, ptr %bases, ptr %table",
    )
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    small, wide = f"<{LANES} x i32>", f"<{LANES} x i64>"

    down, along = f.mul("%th", word["h_reach"]), f.mul("%tw", word["w_reach"])
    moved = f.add(f.mul(down, word["h_stride"]), f.mul(along, word["w_stride"]))
    shift = splat(f, "i64", LANES, f.add(moved, "%group"))
    dy, dx = narrow(f, down), narrow(f, along)
    height, width = narrow(f, word["h_size"]), narrow(f, word["w_size"])
    zeros = splat(f, "i64", LANES, f.assign("ptrtoint ptr %zeros to i64"))
    with f.loop(0, BLOCK, LANES) as place:
        fourth, eighth = f.mul(place.index, 4), f.mul(place.index, 8)
        ys = f.load("i32", f.at("%at", fourth), LANES)
        xs = f.load("i32", f.at("%at", f.add(fourth, 4 * ENTRIES)), LANES)
        y, x = f.assign(f"add {small} {ys}, {dy}"), f.assign(f"add {small} {xs}, {dx}")
        inside = f.assign(f"icmp ult {small} {y}, {height}")
        within = f.assign(f"icmp ult {small} {x}, {width}")
        meets = f.assign(f"and <{LANES} x i1> {inside}, {within}")
        base = f.load("i64", f.at("%bases", eighth), LANES)
        moved_base = f.assign(f"add {wide} {base}, {shift}")
        chosen = f.assign(f"select <{LANES} x i1> {meets}, {wide} {moved_base}, {wide} {zeros}")
        f.store("i64", chosen, f.at("%table", eighth), LANES)
    return f.text()


def _tile_function(target: Target, dtype: str, rows: int, width: int) -> str:
    """@tile<width>(table, column, ct, place, count, out, row, more): one tile over a block.

    `column` and `place` are bytes to a feature of x and between cotangents; rows of the result are
    `row` bytes apart, and are added to if `more`.
    """
    f = Function(
        f"tile{width}",
        "ptr %table, i64 %column, ptr %ct, i64 %place, i64 %count, ptr %out, i64 %row, i1 %more",
    )
    lanes, size = target.lanes(dtype), BYTES[dtype]
    scalar, vector = REGISTER[dtype], f"<{lanes} x {REGISTER[dtype]}>"

    def step(sums: list[str], first: str, count: int) -> list[str]:
        for k in range(count):
            index = f.add(first, k)
            x = f.at(address(f, f.at("%table", f.mul(index, 8))), "%column")
            ct = f.at("%ct", f.mul(index, "%place"))
            loaded = [f.load(dtype, f.at(ct, v * lanes * size), lanes) for v in range(width)]
            for r in range(rows):
                value = splat(f, scalar, lanes, f.load(dtype, f.at(x, r * size)))
                for v in range(width):
                    i = r * width + v
                    sums[i] = multiply_add(f, target, dtype, value, loaded[v], sums[i])
        return sums

    whole = below(f, "%count", UNROLL)
    zero = [(vector, "zeroinitializer")] * (rows * width)
    with f.loop(0, whole, UNROLL, *zero) as place:
        place.next = step(list(place.values), place.index, UNROLL)
    with f.loop(whole, "%count", 1, *((vector, value) for value in place.values)) as last:
        last.next = step(list(last.values), last.index, 1)
    places = [
        (f.at(f.at("%out", f.mul("%row", r)), v * lanes * size), last.values[r * width + v])
        for r in range(rows)
        for v in range(width)
    ]
    with f.when("%more"):
        for at, value in places:
            total = f.assign(f"fadd {vector} {f.load(dtype, at, lanes)}, {value}")
            f.store(dtype, total, at, lanes)
    with f.when(f.negate("%more")):
        for at, value in places:
            f.store(dtype, value, at, lanes)
    return f.text()


def _edge_function(dtype: str, width: int) -> str:
    """@edge(from, first, last, columns, out, row, more): rows of a tile to where they belong."""
    f = Function(
        "edge", "ptr %from, i64 %first, i64 %last, i64 %columns, ptr %out, i64 %row, i1 %more"
    )
    size, scalar = BYTES[dtype], REGISTER[dtype]
    with f.loop("%first", "%last") as row:
        source = f.at("%from", f.mul(row.index, width * size))
        out = f.at("%out", f.mul(row.index, "%row"))
        with f.loop(0, "%columns") as column:
            at = f.at(out, f.mul(column.index, size))
            value = f.load(dtype, f.at(source, f.mul(column.index, size)))
            total = f.assign(f"fadd {scalar} {f.load(dtype, at)}, {value}")
            f.store(dtype, f.choose("%more", total, value, scalar), at)
    return f.text()


def _unit_function(dtype: str, rows: int, lanes: int) -> str:
    """@unit(p, table, ct, out, part, count, more): the tiles of one part of the inputs."""
    f = Function("unit", "ptr %p, ptr %table, ptr %ct, ptr %out, i64 %part, i64 %count, i1 %more")
    size, width = BYTES[dtype], 2 * lanes
    buffer = f.reserve(rows * width * size)
    names = ("inputs", "outputs", "part_tiles", "ct_panel", "ct_place", "out_input")
    inputs, outputs, part_tiles, panel_bytes, place, row = (
        PARAMS.load(f, "%p", name) for name in names
    )
    first = f.mul("%part", part_tiles)
    end = f.min(f.add(first, part_tiles), f.parts(inputs, rows))
    with f.loop(first, end) as tile:
        wanted = f.mul(tile.index, rows)
        # The last tile begins earlier, and what it repeats is not stored.
        start = f.max(f.min(wanted, f.sub(inputs, rows)), 0)
        begin, stop = f.sub(wanted, start), f.min(f.sub(inputs, start), rows)
        tall = f.test(f.sub(stop, begin), "eq", rows)
        with f.loop(0, f.parts(outputs, width)) as panel:
            left = f.sub(outputs, f.mul(panel.index, width))
            narrow = f.test(left, "sle", lanes)
            columns = f.min(left, width)
            exact = f.all(tall, f.any(f.test(left, "sge", width), f.test(left, "eq", lanes)))
            ct = f.at("%ct", f.mul(panel.index, panel_bytes))
            target = f.at("%out", f.mul(start, row))
            target = f.at(target, f.mul(panel.index, width * size))
            to = f.choose(exact, target, buffer, "ptr")
            to_row = f.choose(exact, row, width * size)
            more = f.all("%more", exact)
            arguments = (
                f"ptr %table, i64 {f.mul(start, size)}, ptr {ct}, i64 {place}, i64 %count, "
                f"ptr {to}, i64 {to_row}, i1 {more}"
            )
            with f.when(narrow):
                f.emit(f"call void @tile1({arguments})")
            with f.when(f.negate(narrow)):
                f.emit(f"call void @tile2({arguments})")
            with f.when(f.negate(exact)):
                f.emit(
                    f"call void @edge(ptr {buffer}, i64 {begin}, i64 {stop}, i64 {columns}, "
                    f"ptr {target}, i64 {row}, i1 %more)"
                )
    return f.text()


def _units_function() -> str:
    """@units(p, begin, end): parts of the inputs, of taps, of groups, over all blocks of places."""
    f = Function("units", "ptr %p, i64 %begin, i64 %end")
    at, bases, table = (f.reserve(8 * ENTRIES) for _ in range(3))
    with f.loop(0, ENTRIES) as entry:
        for memory in (at, bases):
            f.store("i64", "0", f.at(memory, f.mul(entry.index, 8)))
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    x, ct, out, zeros = (PARAMS.address(f, "%p", name) for name in PARAMS.names[:4])
    places = f.mul(word["batch"], f.mul(word["h_count"], word["w_count"]))
    with f.loop(0, places, BLOCK) as block:
        count = f.min(f.sub(places, block.index), BLOCK)
        f.emit(
            f"call void @positions(ptr %p, ptr {x}, i64 {block.index}, i64 {count}, "
            f"ptr {at}, ptr {bases})"
        )
        more = f.test(block.index, "ne", 0)
        here = f.at(ct, f.mul(block.index, word["ct_place"]))
        with f.loop("%begin", "%end") as unit:
            counts = (word["h_taps"], word["w_taps"], word["parts"])
            group, th, tw, part = decoded(f, unit.index, *counts)
            f.emit(
                f"call void @addresses(ptr %p, ptr {zeros}, i64 {th}, i64 {tw}, "
                f"i64 {f.mul(group, word['x_group'])}, ptr {at}, ptr {bases}, ptr {table})"
            )
            offset = f.add(f.mul(th, word["out_h"]), f.mul(tw, word["out_w"]))
            target = f.at(out, f.add(offset, f.mul(group, word["out_group"])))
            f.emit(
                f"call void @unit(ptr %p, ptr {table}, "
                f"ptr {f.at(here, f.mul(group, word['ct_group']))}, ptr {target}, "
                f"i64 {part}, i64 {count}, i1 {more})"
            )
    return f.text()


# the words


def spacing_words(problem: Problem) -> dict[str, int]:
    """The values of the fields of the axes, and of the batch."""
    x, words = problem.x, {"batch": problem.x.size("n"), "x_batch": problem.x.stride("n")}
    for name, spacing in (("h", problem.h), ("w", problem.w)):
        taps = 1 if problem.rows and name == "w" else problem.taps.size(name)
        count = problem.places.size(name)
        values = (x.size(name), x.stride(name), spacing.stride, spacing.spread, count, taps)
        words |= {f"{name}_{f}": v for f, v in zip(AXIS_FIELDS, (*values, -spacing.low))}
    return words


def unit_words(taps: int, tiles: int) -> dict[str, int]:
    """How the work is divided, for so many tiles at each of so many taps of all groups."""
    parts = min(tiles, -(-FEW_UNITS // taps))
    part_tiles = -(-tiles // parts)
    parts = -(-tiles // part_tiles)
    return {"parts": parts, "part_tiles": part_tiles, "units": taps * parts, "grain": 1}


def weights(problem: Problem, steps: Steps) -> None:
    """The calls that compute the taps, from x and the places."""
    rows, lanes = tile_inputs(steps.target), steps.target.lanes(problem.work)
    if not problem.rows:
        problem = problem.with_inputs_dense(steps, rows)
    x, taps, places, work = problem.x, problem.taps, problem.places, problem.work
    size, width, outputs = BYTES[work], 2 * lanes, taps.size("o")
    ct, panel = places, width * size
    beside = places.dtype == work and places.dense("o") and places.in_line()
    if not beside or outputs % lanes:
        sizes = [("g", taps.size("g")), ("p", -(-outputs // width)), *_sizes(places, "nhw")]
        ct = steps.array(work, [*sizes, ("b", width)])
        steps.pack(places.split("o", "p", "b", width), ct, "gnh", "w", outputs)
        panel = ct.stride("p")
    out = taps
    in_rows = taps.stride("w") == taps.size("i") * taps.stride("i")
    if taps.dtype != work or not taps.dense("o") or (problem.rows and not in_rows):
        out = steps.array(work, _sizes(taps, "ghwio"))
    inputs = x.size("i")
    zeros = aligned(max(inputs, rows) * size)
    words = spacing_words(problem)
    tap_count = taps.size("g") * words["h_taps"] * words["w_taps"]
    words |= unit_words(tap_count, -(-inputs // rows))
    words |= {
        "x_group": x.stride("g"),
        "ct_group": ct.stride("g"),
        "ct_panel": panel,
        "ct_place": ct.stride("w"),
        "out_group": out.stride("g"),
        "out_h": out.stride("h"),
        "out_w": out.stride("w"),
        "out_input": out.stride("i"),
        "inputs": inputs,
        "outputs": outputs,
        "zero_bytes": zeros,
    }
    scratch = View("scratch", steps.reserve(zeros), "i8", {})
    values = named(PARAMS.names[4:], **words)
    steps.call(f"fg_conv_weights_{work}", [x, ct, out, scratch], values)
    if out is not taps:
        steps.copy(out, taps)


def _sizes(view: View, names: str) -> list[tuple[str, int]]:
    return [(name, view.size(name)) for name in names]
