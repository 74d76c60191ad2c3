"""Convolutions of small groups, in vectors over the output features: an output feature has one
input feature of its own in each of a few planes, and the gradient of its kernel likewise."""

from funcgrad.compiler.llvm.conv import depthwise_rows, gradient
from funcgrad.compiler.llvm.conv.forward import (
    declarations,
    entry_function,
    multiply_add,
    place_words,
    slots,
    table_words,
)
from funcgrad.compiler.llvm.conv.places import (
    PLACE_FIELDS,
    Params,
    address,
    below,
    decoded,
    phase_words,
    places_function,
    row_of_tap,
)
from funcgrad.compiler.llvm.conv.problem import Problem
from funcgrad.compiler.llvm.conv.steps import Steps, View, aligned, named
from funcgrad.compiler.llvm.elements import BYTES, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target

# Places that are summed up side by side for the gradient, each in a register of its own.
SIDE_BY_SIDE = 8
# Strides in bytes. Weights stand as [plane, tap, output feature]; there are as many features as a
# vector holds, or more.
PARAMS = Params(
    "x",
    "w",
    "out",
    "scratch",
    *PLACE_FIELDS,
    "x_plane",
    "w_plane",
    "planes",
    "features",
    "blocks",
    "block_tiles",
    "zero_bytes",
    "spare_bytes",
    "offset_bytes",
    "slot_bytes",
    "units",
    "grain",
)


def tile_rows(target: Target) -> int:
    """How many places make a tile: accumulators of one vector each."""
    return 16 if target.isa in ("avx512", "neon") else 8


def module(target: Target, dtype: str) -> str:
    """The text of `fg_conv_depthwise_<dtype>`."""
    rows = tile_rows(target)
    return "\n".join(
        [
            *declarations(target, dtype),
            places_function(PARAMS, rows),
            _tile_function(target, dtype, rows),
            _units_function(rows),
            entry_function(PARAMS, f"fg_conv_depthwise_{dtype}"),
        ]
    )


def _tile_function(target: Target, dtype: str, rows: int) -> str:
    """@tile(p, tile, offsets, taps, w): all features of one tile of places."""
    f = Function("tile", "ptr %p, ptr %tile, ptr %offsets, i64 %taps, ptr %w")
    lanes, size = target.lanes(dtype), BYTES[dtype]
    vector = register(dtype, lanes)
    names = ("x_plane", "w_plane", "planes", "features")
    x_plane, w_plane, planes, features = (PARAMS.load(f, "%p", name) for name in names)
    zero = [(vector, "zeroinitializer")] * rows
    last = f.sub(features, lanes)
    with f.loop(0, features, lanes) as feature:
        # The last vector begins earlier, and computes some features once more.
        column = f.mul(f.min(feature.index, last), size)
        with f.loop(0, planes, 1, *zero) as plane:
            moved = f.add(column, f.mul(plane.index, x_plane))
            weights = f.at("%w", f.add(column, f.mul(plane.index, w_plane)))
            with f.loop(0, "%taps", 1, *((vector, value) for value in plane.values)) as tap:
                table = row_of_tap(f, "%tile", tap.index)
                offset = f.load("i64", f.at("%offsets", f.mul(tap.index, 8)))
                w = f.load(dtype, f.at(weights, offset), lanes)
                for r in range(rows):
                    x = f.at(address(f, f.at(table, 8 * r)), moved)
                    x = f.load(dtype, x, lanes)
                    tap.next[r] = multiply_add(f, target, dtype, x, w, tap.values[r])
            plane.next = tap.values
        for r in range(rows):
            out = f.at(address(f, f.at("%tile", 8 * r)), column)
            f.store(dtype, plane.values[r], out, lanes)
    return f.text()


def _units_function(rows: int) -> str:
    """@units(p, begin, end): blocks of places of phases."""
    f = Function("units", "ptr %p, i64 %begin, i64 %end")
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    x, w, out, scratch = (PARAMS.address(f, "%p", name) for name in PARAMS.names[:4])
    slot = f.at(
        scratch,
        f.add(word["zero_bytes"], f.mul(f.div("%begin", word["grain"]), word["slot_bytes"])),
    )
    offsets = f.at(slot, word["spare_bytes"])
    tiles = f.at(offsets, word["offset_bytes"])
    with f.loop("%begin", "%end") as unit:
        fh, fw, block = decoded(f, unit.index, word["w_phases"], word["blocks"])
        h, w_phase = PARAMS.phase(f, "%p", "h", fh), PARAMS.phase(f, "%p", "w", fw)
        places = f.mul(word["batch"], f.mul(h["places"], w_phase["places"]))
        first = f.mul(f.mul(block, word["block_tiles"]), rows)
        count = f.min(word["block_tiles"], f.parts(f.max(f.sub(places, first), 0), rows))
        f.emit(
            f"call void @places(ptr %p, ptr {x}, ptr {out}, ptr {slot}, ptr {scratch}, "
            f"ptr {offsets}, ptr {tiles}, i64 {fh}, i64 {fw}, i64 {first}, i64 {count})"
        )
        taps = f.mul(h["taps"], w_phase["taps"])
        with f.loop(0, count) as number:
            tile = f.at(tiles, f.mul(number.index, word["tile_bytes"]))
            f.emit(f"call void @tile(ptr %p, ptr {tile}, ptr {offsets}, i64 {taps}, ptr {w})")
    return f.text()


def weights_module(target: Target, dtype: str) -> str:
    """The text of `fg_conv_depthwise_weights_<dtype>`, with the parameters of `conv_gradient`:
    planes are its groups, parts are parts of the output features."""
    unit = _gradient_function(target, dtype)
    return gradient.around(target, dtype, [unit], f"fg_conv_depthwise_weights_{dtype}")


def _gradient_function(target: Target, dtype: str) -> str:
    """@unit(p, table, ct, out, part, count, more): one tap's gradient, summed over a block."""
    f = Function("unit", "ptr %p, ptr %table, ptr %ct, ptr %out, i64 %part, i64 %count, i1 %more")
    lanes, size, params = target.lanes(dtype), BYTES[dtype], gradient.PARAMS
    vector, scalar = register(dtype, lanes), register(dtype)
    names = ("outputs", "part_tiles", "ct_place")
    features, part_tiles, place_bytes = (params.load(f, "%p", name) for name in names)
    buffer = f.reserve(lanes * size)
    begin = f.mul("%part", part_tiles)
    last = f.sub(features, lanes)

    def product(index: str, column: str, total: str) -> str:
        x = f.load(dtype, f.at(address(f, f.at("%table", f.mul(index, 8))), column), lanes)
        ct = f.load(dtype, f.at(f.at("%ct", f.mul(index, place_bytes)), column), lanes)
        return multiply_add(f, target, dtype, x, ct, total)

    with f.loop(begin, f.min(f.add(begin, part_tiles), f.parts(features, lanes))) as tile:
        wanted = f.mul(tile.index, lanes)
        # The last vector begins earlier, and what it repeats is not stored.
        start = f.min(wanted, last)
        column, repeated = f.mul(start, size), f.sub(wanted, start)
        whole = below(f, "%count", SIDE_BY_SIDE)
        zero = [(vector, "zeroinitializer")] * SIDE_BY_SIDE
        with f.loop(0, whole, SIDE_BY_SIDE, *zero) as place:
            for k, total in enumerate(place.values):
                place.next[k] = product(f.add(place.index, k), column, total)
        with f.loop(whole, "%count", 1, (vector, place.values[0])) as rest:
            rest.next = [product(rest.index, column, rest.values[0])]
        sums = [*rest.values, *place.values[1:]]
        while len(sums) > 1:
            sums = [f.assign(f"fadd {vector} {a}, {b}") for a, b in zip(sums[::2], sums[1::2])]
        f.store(dtype, sums[0], buffer, lanes)
        with f.loop(repeated, lanes) as lane:
            at = f.mul(lane.index, size)
            out = f.at("%out", f.add(column, at))
            value = f.load(dtype, f.at(buffer, at))
            total = f.assign(f"fadd {scalar} {f.load(dtype, out)}, {value}")
            f.store(dtype, f.choose("%more", total, value, scalar), out)
    return f.text()


# the words


def forward(problem: Problem, steps: Steps) -> None:
    """The calls that compute the places, from x and the taps."""
    work, taps, places = problem.work, problem.taps, problem.places
    features = max(taps.size("g") * taps.size("o"), steps.target.lanes(work))
    x = _planes(problem, steps, features)
    w, out = taps, places
    if _needs_copy(taps, work, features):
        w = _array(steps, work, taps, "ihw", features)
        steps.copy(taps, w)
    if _needs_copy(places, work, features):
        out = _array(steps, work, places, "nhw", features)
    if depthwise_rows.suits(problem):
        depthwise_rows.call(problem, steps, x, w, out, features)
    else:
        _call(problem, steps, x, w, out, features)
    if out is not places:
        steps.copy(out, places)


def _call(problem: Problem, steps: Steps, x: View, w: View, out: View, features: int) -> None:
    """The call of the kernel that goes by tables, for whatever the taps meet."""
    work, inputs = problem.work, problem.taps.size("i")
    axes, strides = (problem.axis("h"), problem.axis("w")), (w.stride("h"), w.stride("w"))
    tables, units = table_words(axes, x.size("n"), tile_rows(steps.target))
    row = features * BYTES[work]
    plane = x.stride("i")
    scratch, more = slots(steps, plane * (inputs - 1) + row, row, tables, units)
    words = place_words(x, out, axes, strides) | tables | more
    words |= {"x_plane": plane, "w_plane": w.stride("i"), "planes": inputs, "features": features}
    phases = phase_words(*zip(axes, (out.stride("h"), out.stride("w")), strides))
    values = [*named(PARAMS.names[4:], **words), *phases]
    steps.call(f"fg_conv_depthwise_{work}", [x, w, out, scratch], values)


def weights(problem: Problem, steps: Steps) -> None:
    """The calls that compute the taps, from x and the places."""
    work, taps, places = problem.work, problem.taps, problem.places
    lanes = steps.target.lanes(work)
    features = max(taps.size("g") * taps.size("o"), lanes)
    x = _planes(problem, steps, features)
    ct, out = places, taps
    if _needs_copy(places, work, features) or not places.in_line():
        ct = _array(steps, work, places, "nhw", features)
        steps.copy(places, ct)
    if _needs_copy(taps, work, features):
        out = _array(steps, work, taps, "hwi", features)
    zeros = aligned(features * BYTES[work])
    words = gradient.spacing_words(problem._replace(x=x))
    tap_count = taps.size("i") * taps.size("h") * taps.size("w")
    words |= gradient.unit_words(tap_count, -(-features // lanes))
    words |= {
        "x_group": x.stride("i"),
        "ct_group": 0,
        "ct_panel": 0,
        "ct_place": ct.stride("w"),
        "out_group": out.stride("i"),
        "out_h": out.stride("h"),
        "out_w": out.stride("w"),
        "out_input": 0,
        "inputs": 0,
        "outputs": features,
        "zero_bytes": zeros,
    }
    scratch = View("scratch", steps.reserve(zeros), "i8", {})
    values = named(gradient.PARAMS.names[4:], **words)
    steps.call(f"fg_conv_depthwise_weights_{work}", [x, ct, out, scratch], values)
    if out is not taps:
        steps.copy(out, taps)


def _needs_copy(view: View, work: str, features: int) -> bool:
    exact = view.size("g") * view.size("o") == features
    return not (exact and view.dtype == work and view.dense("go"))


def _array(steps: Steps, work: str, like: View, names: str, features: int) -> View:
    """A new array with those axes of a view and its output features side by side, filled up."""
    made = steps.array(work, [*((name, like.size(name)) for name in names), ("f", features)])
    outputs, size = like.size("o"), BYTES[work]
    axes = {name: made.axes[name] for name in names}
    return made._replace(axes=axes).with_axes(g=(like.size("g"), outputs * size), o=(outputs, size))


def _planes(problem: Problem, steps: Steps, features: int) -> View:
    """x with an element for each output feature, in planes of one input feature of every group."""
    outputs, groups = problem.taps.size("o"), problem.taps.size("g")
    x = problem.x.with_axes(g=(groups, problem.x.stride("g")), o=(outputs, 0))
    alone = x.size("i") == outputs == 1
    if alone and not _needs_copy(x, problem.work, features):
        return x
    planes = _array(steps, problem.work, x, "nhwi", features)
    steps.copy(x, planes)
    return planes
