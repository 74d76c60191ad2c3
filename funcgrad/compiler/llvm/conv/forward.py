"""The dense convolution: tiles of output places times two vectors of output features, summed over
the taps and input features of packed weights."""

from funcgrad.compiler.llvm.conv.places import (
    AXIS_FIELDS,
    HEADER,
    PLACE_FIELDS,
    TABLE_ROW,
    Axis,
    Params,
    address,
    axis_words,
    below,
    decoded,
    phase_words,
    places_function,
    put_address,
    row_of_tap,
    splat,
    tile_rows,
)
from funcgrad.compiler.llvm.conv.problem import Problem, in_one_line
from funcgrad.compiler.llvm.conv.steps import FEW_UNITS, SLOT_BYTES, SLOTS, Steps, View, aligned
from funcgrad.compiler.llvm.elements import BYTES, REGISTER, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target

# Tiles whose tables are made before they are used, and the most memory that these may take.
BLOCK_TILES = 16
TABLE_BYTES = 1 << 16
# The lanes of a vector are more than so many times the outputs if these are computed one by one.
FEW_OUTPUTS = 4
# How many input features one turn of the innermost loop takes.
UNROLL = 4
# Strides in bytes. Weights stand as [group, panel, tap, input feature, two vectors of outputs].
PARAMS = Params(
    "x",
    "w",
    "out",
    "scratch",
    *PLACE_FIELDS,
    "x_group",
    "w_group",
    "out_group",
    "inputs",
    "outputs",
    "panel_bytes",
    "panels",
    "panels_at_once",
    "panel_parts",
    "blocks",
    "block_tiles",
    "zero_bytes",
    "spare_bytes",
    "offset_bytes",
    "slot_bytes",
    "units",
    "grain",
)

# The parameters of what multiplies the tiles of a block by one panel, of which there are two kinds.
PANEL = "ptr %p, i64 %panel, ptr %weights, ptr %tiles, i64 %count, ptr %offsets, i64 %taps"


def module(target: Target, dtype: str) -> str:
    """The text of `fg_conv_dense_<dtype>`."""
    rows, lanes = tile_rows(target), target.lanes(dtype)
    return "\n".join(
        [
            *declarations(target, dtype),
            places_function(PARAMS, rows),
            _tile_function(target, dtype, rows, 1),
            _tile_function(target, dtype, rows, 2),
            _edge_function(dtype, rows, 2 * lanes),
            _panel_function(dtype, rows, 2 * lanes, lanes),
            units_function(rows),
            entry_function(PARAMS, f"fg_conv_dense_{dtype}"),
        ]
    )


def declarations(target: Target, dtype: str) -> list[str]:
    """What the kernels call."""
    lines = ["declare void @fg_parallel(ptr, ptr, i64, i64)"]
    if target.fma:
        lanes = target.lanes(dtype)
        kind = register(dtype, lanes)
        lines.append(f"declare {kind} @llvm.fma.v{lanes}{dtype}({kind}, {kind}, {kind})")
    return lines


def multiply_add(f: Function, target: Target, dtype: str, x: str, y: str, z: str) -> str:
    """x * y + z in vectors."""
    lanes = target.lanes(dtype)
    kind = register(dtype, lanes)
    if target.fma:
        name = f"@llvm.fma.v{lanes}{dtype}"
        return f.assign(f"call {kind} {name}({kind} {x}, {kind} {y}, {kind} {z})")
    return f.assign(f"fadd {kind} {f.assign(f'fmul {kind} {x}, {y}')}, {z}")


def _tile_function(target: Target, dtype: str, rows: int, width: int) -> str:
    """@tile<width>(tile, offsets, taps, inputs, panel, outs, column): one tile times one panel.

    The results go to the addresses at `outs`, each moved by `column` bytes.
    """
    f = Function(
        f"tile{width}",
        "ptr %tile, ptr %offsets, i64 %taps, i64 %inputs, ptr %panel, ptr %outs, i64 %column",
    )
    lanes, size = target.lanes(dtype), BYTES[dtype]
    scalar, vector = REGISTER[dtype], f"<{lanes} x {REGISTER[dtype]}>"
    zero = [(vector, "zeroinitializer")] * (rows * width)
    long = f.mul(below(f, "%inputs", UNROLL), size)
    all_of_them = f.mul("%inputs", size)

    def step(sums: list[str], pointers: list[str], weights: str, at: str, count: int) -> list[str]:
        for k in range(count):
            row = f.mul(f.add(at, k * size), 2 * lanes)
            loaded = [
                f.load(dtype, f.at(f.at(weights, row), v * lanes * size), lanes)
                for v in range(width)
            ]
            for r, pointer in enumerate(pointers):
                x = splat(f, scalar, lanes, f.load(dtype, f.at(f.at(pointer, at), k * size)))
                for v in range(width):
                    i = r * width + v
                    sums[i] = multiply_add(f, target, dtype, x, loaded[v], sums[i])
        return sums

    with f.loop(0, "%taps", 1, *zero) as tap:
        table = row_of_tap(f, "%tile", tap.index)
        pointers = [address(f, f.at(table, 8 * r)) for r in range(rows)]
        weights = f.at("%panel", f.load("i64", f.at("%offsets", f.mul(tap.index, 8))))
        carried = [(vector, value) for value in tap.values]
        with f.loop(0, long, UNROLL * size, *carried) as inner:
            inner.next = step(list(inner.values), pointers, weights, inner.index, UNROLL)
        carried = [(vector, value) for value in inner.values]
        with f.loop(long, all_of_them, size, *carried) as last:
            last.next = step(list(last.values), pointers, weights, last.index, 1)
        tap.next = last.values
    for r in range(rows):
        target_row = f.at(address(f, f.at("%outs", 8 * r)), "%column")
        for v in range(width):
            f.store(dtype, tap.values[r * width + v], f.at(target_row, v * lanes * size), lanes)
    return f.text()


def _edge_function(dtype: str, rows: int, width: int) -> str:
    """@edge(outs, column, from, bytes): rows of a full tile, cut off, to where they belong."""
    f = Function("edge", "ptr %outs, i64 %column, ptr %from, i64 %bytes")
    size = BYTES[dtype]
    with f.loop(0, rows) as row:
        out = f.at(address(f, f.at("%outs", f.mul(row.index, 8))), "%column")
        source = f.at("%from", f.mul(row.index, width * size))
        with f.loop(0, "%bytes", size) as byte:
            value = f.load(dtype, f.at(source, byte.index))
            f.store(dtype, value, f.at(out, byte.index))
    return f.text()


def _panel_function(dtype: str, rows: int, width: int, lanes: int) -> str:
    """@panel(p, panel, weights, tiles, count, offsets, taps): tiles of places times one panel."""
    f = Function("panel", PANEL)
    size = BYTES[dtype]
    buffer, buffer_rows = f.reserve(rows * width * size), f.reserve(8 * rows)
    for r in range(rows):
        put_address(f, f.at(buffer, r * width * size), f.at(buffer_rows, 8 * r))
    names = ("outputs", "inputs", "tile_bytes")
    outputs, inputs, tile_bytes = (PARAMS.load(f, "%p", name) for name in names)
    left = f.sub(outputs, f.mul("%panel", width))
    column = f.mul("%panel", width * size)
    narrow = f.test(left, "sle", lanes)
    exact = f.any(f.test(left, "sge", width), f.test(left, "eq", lanes))
    with f.loop(0, "%count") as number:
        tile = f.at("%tiles", f.mul(number.index, tile_bytes))
        arguments = (
            f"ptr {tile}, ptr %offsets, i64 %taps, i64 {inputs}, ptr %weights, "
            f"ptr {f.choose(exact, tile, buffer_rows, 'ptr')}, i64 {f.choose(exact, column, 0)}"
        )
        with f.when(narrow):
            f.emit(f"call void @tile1({arguments})")
        with f.when(f.negate(narrow)):
            f.emit(f"call void @tile2({arguments})")
        with f.when(f.negate(exact)):
            cut = f.mul(left, size)
            f.emit(f"call void @edge(ptr {tile}, i64 {column}, ptr {buffer}, i64 {cut})")
    return f.text()


def units_function(rows: int) -> str:
    """@units(p, begin, end): parts of the panels, of blocks of places, of phases, of groups."""
    f = Function("units", "ptr %p, i64 %begin, i64 %end")
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    x, w, out, scratch = (PARAMS.address(f, "%p", name) for name in PARAMS.names[:4])
    number = f.div("%begin", word["grain"])
    slot = f.at(scratch, f.add(word["zero_bytes"], f.mul(number, word["slot_bytes"])))
    offsets = f.at(slot, word["spare_bytes"])
    tiles = f.at(offsets, word["offset_bytes"])
    with f.loop("%begin", "%end") as unit:
        counts = (word["h_phases"], word["w_phases"], word["panel_parts"], word["blocks"])
        group, fh, fw, part, block = decoded(f, unit.index, *counts)
        h, w_phase = PARAMS.phase(f, "%p", "h", fh), PARAMS.phase(f, "%p", "w", fw)
        places = f.mul(word["batch"], f.mul(h["places"], w_phase["places"]))
        first = f.mul(f.mul(block, word["block_tiles"]), rows)
        left = f.max(f.sub(places, first), 0)
        count = f.min(word["block_tiles"], f.parts(left, rows))
        target = f.at(out, f.mul(group, word["out_group"]))
        f.emit(
            f"call void @places(ptr %p, ptr {f.at(x, f.mul(group, word['x_group']))}, "
            f"ptr {target}, ptr {slot}, ptr {scratch}, ptr {offsets}, ptr {tiles}, "
            f"i64 {fh}, i64 {fw}, i64 {first}, i64 {count})"
        )
        taps = f.mul(h["taps"], w_phase["taps"])
        panels = f.at(w, f.mul(group, word["w_group"]))
        begin = f.mul(part, word["panels_at_once"])
        end = f.min(f.add(begin, word["panels_at_once"]), word["panels"])
        with f.loop(begin, end) as panel:
            weights = f.at(panels, f.mul(panel.index, word["panel_bytes"]))
            f.emit(
                f"call void @panel(ptr %p, i64 {panel.index}, ptr {weights}, ptr {tiles}, "
                f"i64 {count}, ptr {offsets}, i64 {taps})"
            )
    return f.text()


def entry_function(params: Params, name: str) -> str:
    """@name(p): makes the row of zeros, and has the units computed."""
    f = Function(name, "ptr %p", linkage="")
    scratch = params.address(f, "%p", "scratch")
    with f.loop(0, params.load(f, "%p", "zero_bytes"), 8) as byte:
        f.store("i64", "0", f.at(scratch, byte.index))
    units, grain = params.load(f, "%p", "units"), params.load(f, "%p", "grain")
    f.emit(f"call void @fg_parallel(ptr @units, ptr %p, i64 {units}, i64 {grain})")
    return f.text()


# the words


def table_words(axes: tuple[Axis, Axis], batch: int, rows: int) -> tuple[dict[str, int], int]:
    """How places are divided into tiles and blocks, and how many blocks there are in all phases."""
    most = [max((phase.places for phase in a.phases), default=0) for a in axes]
    taps = [max((phase.taps for phase in a.phases), default=0) for a in axes]
    tile_bytes = (taps[0] * taps[1] + HEADER) * TABLE_ROW
    block = max(1, min(BLOCK_TILES, TABLE_BYTES // tile_bytes))
    blocks = -(-batch * most[0] * most[1] // (rows * block))
    words = {
        "tile_bytes": tile_bytes,
        "block_tiles": block,
        "blocks": blocks,
        "offset_bytes": aligned(taps[0] * taps[1] * 8),
    }
    return words, blocks * len(axes[0].phases) * len(axes[1].phases)


def place_words(
    x: View, out: View, axes: tuple[Axis, Axis], tap_strides: tuple[int, int]
) -> dict[str, int]:
    """The values of PLACE_FIELDS, but for the bytes of a tile."""
    words = {"batch": x.size("n"), "x_batch": x.stride("n"), "out_batch": out.stride("n")}
    for name, a, tap in zip("hw", axes, tap_strides):
        values = axis_words(a, x.stride(name), out.stride(name), tap)
        words |= {f"{name}_{field}": v for field, v in zip(AXIS_FIELDS, values)}
    return words


def slots(
    steps: Steps, zeros: int, spare: int, words: dict[str, int], units: int
) -> tuple[View, dict[str, int]]:
    """Scratch memory for zeros and for the tables of as many units as run at the same time."""
    tables = words["block_tiles"] * words["tile_bytes"]
    slot = aligned(spare) + words["offset_bytes"] + tables
    grain = -(-units // max(1, min(SLOTS, SLOT_BYTES // slot)))
    offset = steps.reserve(aligned(zeros) + -(-units // grain) * slot)
    more = {
        "zero_bytes": aligned(zeros),
        "spare_bytes": aligned(spare),
        "slot_bytes": slot,
        "units": units,
        "grain": grain,
    }
    return View("scratch", offset, "i8", {}), more


def forward(problem: Problem, steps: Steps) -> None:
    """The calls that compute the places, from x and the taps."""
    problem = problem.with_inputs_dense(steps)
    places, work = problem.places, problem.work
    out = places
    if places.dtype != work or not places.dense("o"):
        out = steps.array(work, [(name, places.size(name)) for name in "nhwgo"])
    _dense(in_one_line(problem._replace(places=out)), steps)
    if out is not places:
        steps.copy(out, places)


def _dense(problem: Problem, steps: Steps) -> None:
    """The call of the kernel, and the copy that packs the taps for it."""
    x, taps, out, work = problem.x, problem.taps, problem.places, problem.work
    size, lanes = BYTES[work], steps.target.lanes(work)
    # A panel is one output where that is a dot product of whole vectors and there are few of them.
    few = taps.size("o") <= lanes // FEW_OUTPUTS and x.size("i") % lanes == 0
    width = 1 if few else 2 * lanes
    panels = -(-taps.size("o") // width)
    sizes = [("g", taps.size("g")), ("p", panels), *((n, taps.size(n)) for n in "hwi")]
    packed = steps.array(work, [*sizes, ("b", width)])
    steps.pack(taps.split("o", "p", "b", width), packed, "ghw", "i", taps.size("o"))
    axes = problem.axis("h"), problem.axis("w")
    strides = packed.stride("h"), packed.stride("w")
    tables, units = table_words(axes, x.size("n"), tile_rows(steps.target))
    units *= taps.size("g")
    parts = min(panels, max(1, -(-FEW_UNITS // units)))
    at_once = -(-panels // parts)
    parts = -(-panels // at_once)
    zeros, spare = x.size("i") * size, panels * width * size
    scratch, more = slots(steps, zeros, spare, tables, units * parts)
    words = place_words(x, out, axes, strides) | tables | more
    words |= {
        "x_group": x.stride("g"),
        "w_group": packed.stride("g"),
        "out_group": out.stride("g"),
        "inputs": x.size("i"),
        "outputs": taps.size("o"),
        "panel_bytes": packed.stride("p"),
        "panels": panels,
        "panels_at_once": at_once,
        "panel_parts": parts,
    }
    phases = phase_words(*zip(axes, (out.stride("h"), out.stride("w")), strides))
    values = [*(words[name] for name in PARAMS.names[4:]), *phases]
    name = "few" if few else "dense"
    steps.call(f"fg_conv_{name}_{work}", [x, packed, out, scratch], values)
