"""Convolutions of small groups whose taps along w meet neighbors: a tile is of places in one row,
and each element of the input is loaded once for all the taps of a row that meet it."""

from funcgrad.compiler.llvm.conv.forward import declarations, entry_function, multiply_add
from funcgrad.compiler.llvm.conv.places import Params, decoded
from funcgrad.compiler.llvm.conv.problem import Problem, Spacing
from funcgrad.compiler.llvm.conv.steps import Steps, View, aligned, named
from funcgrad.compiler.llvm.elements import BYTES, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target

# How many taps along w a kernel is made for: each has its weights in a register.
WIDTHS = range(2, 8)
# Bytes of the output that a processor is handed at a time, at least.
PART_BYTES = 1 << 15
# Strides in bytes. Weights stand as [plane, tap along h, tap along w, output feature].
PARAMS = Params(
    "x",
    "w",
    "out",
    "scratch",
    "x_batch",
    "x_h",
    "x_w",
    "x_plane",
    "w_h",
    "w_w",
    "w_plane",
    "out_batch",
    "out_h",
    "out_w",
    "h_size",
    "w_size",
    "h_places",
    "w_places",
    "h_taps",
    "h_stride",
    "h_spread",
    "h_low",
    "w_low",
    "planes",
    "features",
    "zero_bytes",
    "units",
    "grain",
)
TILE = "ptr %p, ptr %x, ptr %w, ptr %out, i64 %top, i64 %left, i64 %count"


def tile_rows(target: Target) -> int:
    """How many places of a row make a tile: accumulators of one vector each."""
    return 16 if target.isa in ("avx512", "neon") else 8


def suits(problem: Problem) -> bool:
    """Whether the places and taps along w meet neighbors, and no holes along h."""
    near = problem.w._replace(low=0) == Spacing(1, 1, 0, 1) and problem.h.hole == 1
    return near and problem.taps.size("w") in WIDTHS


def module(target: Target, dtype: str, width: int) -> str:
    """The text of `fg_conv_depthwise_<width>_<dtype>`, for so many taps along w."""
    return "\n".join(
        [
            *declarations(target, dtype),
            _tile_function(target, dtype, width, inside=True),
            _tile_function(target, dtype, width, inside=False),
            _units_function(target, dtype, width),
            entry_function(PARAMS, f"fg_conv_depthwise_{width}_{dtype}"),
        ]
    )


def _tile_function(target: Target, dtype: str, width: int, inside: bool) -> str:
    """@inside or @across(p, x, w, out, top, left, count): all features of places side by side.

    `x` is an image, whose element (top, left) is what the first place and the first tap meet; `out`
    is the first place. At the border of an image some elements are not there, and are zeros, and
    there may be fewer places than a tile has.
    """
    f = Function("inside" if inside else "across", TILE)
    lanes, size, rows = target.lanes(dtype), BYTES[dtype], tile_rows(target)
    vector = register(dtype, lanes)
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    zeros = PARAMS.address(f, "%p", "scratch")
    begin = f.add(f.mul("%top", word["x_h"]), f.mul("%left", word["x_w"]))
    down = f.mul(word["h_spread"], word["x_h"])
    last = f.sub(word["features"], lanes)

    def element(row: str, there: str, column: int) -> str:
        """The features of an element of a row; `there` is how many elements the row has."""
        at = f.at(row, f.mul(word["x_w"], column))
        if not inside:
            met = f.test(f.add("%left", column), "ult", there)
            at = f.choose(met, at, zeros, "ptr")
        return f.load(dtype, at, lanes)

    with f.loop(0, word["features"], lanes) as feature:
        # The last vector begins earlier, and computes some features once more.
        offset = f.mul(f.min(feature.index, last), size)
        zero = [(vector, "zeroinitializer")] * rows
        with f.loop(0, word["planes"], 1, *zero) as plane:
            image = f.at("%x", f.add(f.add(begin, offset), f.mul(plane.index, word["x_plane"])))
            kernel = f.at("%w", f.add(offset, f.mul(plane.index, word["w_plane"])))
            carried = [(vector, value) for value in plane.values]
            with f.loop(0, word["h_taps"], 1, *carried) as tap:
                row = f.at(image, f.mul(tap.index, down))
                y = f.add("%top", f.mul(tap.index, word["h_spread"]))
                there = f.choose(f.test(y, "ult", word["h_size"]), word["w_size"], 0)
                first = f.at(kernel, f.mul(tap.index, word["w_h"]))
                weights = [
                    f.load(dtype, f.at(first, f.mul(word["w_w"], k)), lanes) for k in range(width)
                ]
                for column in range(rows + width - 1):
                    x = element(row, there, column)
                    for k, w in enumerate(weights):
                        if 0 <= column - k < rows:
                            total = tap.next[column - k]
                            tap.next[column - k] = multiply_add(f, target, dtype, x, w, total)
            plane.next = tap.values
        for r in range(rows):
            at = f.at("%out", f.add(offset, f.mul(word["out_w"], r)))
            if inside:
                f.store(dtype, plane.values[r], at, lanes)
            else:
                with f.when(f.test(r, "slt", "%count")):
                    f.store(dtype, plane.values[r], at, lanes)
    return f.text()


def _units_function(target: Target, dtype: str, width: int) -> str:
    """@units(p, begin, end): rows of places."""
    f = Function("units", "ptr %p, i64 %begin, i64 %end")
    rows = tile_rows(target)
    word = {name: PARAMS.load(f, "%p", name) for name in PARAMS.names[4:]}
    x, w, out = (PARAMS.address(f, "%p", name) for name in PARAMS.names[:3])
    last = f.max(f.sub(word["w_places"], rows), 0)
    count = f.min(word["w_places"], rows)
    with f.loop("%begin", "%end") as unit:
        n, i = decoded(f, unit.index, word["h_places"])
        image = f.at(x, f.mul(n, word["x_batch"]))
        start = f.at(out, f.add(f.mul(n, word["out_batch"]), f.mul(i, word["out_h"])))
        top = f.sub(f.mul(i, word["h_stride"]), word["h_low"])
        bottom = f.add(top, f.mul(f.sub(word["h_taps"], 1), word["h_spread"]))
        rows_there = f.all(f.test(top, "sge", 0), f.test(bottom, "slt", word["h_size"]))
        rows_there = f.all(rows_there, f.test(count, "eq", rows))
        with f.loop(0, word["w_places"], rows) as tile:
            # The last tile begins earlier, and computes some places once more.
            place = f.min(tile.index, last)
            left = f.sub(place, word["w_low"])
            right = f.add(left, rows + width - 1)
            whole = f.all(f.test(left, "sge", 0), f.test(right, "sle", word["w_size"]))
            whole = f.all(whole, rows_there)
            target_place = f.at(start, f.mul(place, word["out_w"]))
            given = f"ptr %p, ptr {image}, ptr {w}, ptr {target_place}"
            given += f", i64 {top}, i64 {left}, i64 {count}"
            with f.when(whole):
                f.emit(f"call void @inside({given})")
            with f.when(f.negate(whole)):
                f.emit(f"call void @across({given})")
    return f.text()


def call(problem: Problem, steps: Steps, x: View, w: View, out: View, features: int) -> None:
    """The call of the kernel: x in planes, weights and output as `depthwise.forward` has them."""
    work, taps, places = problem.work, problem.taps, problem.places
    row = places.size("w") * features * BYTES[work]
    zeros = aligned(BYTES[work] * steps.target.lanes(work))
    words = {
        "x_batch": x.stride("n"),
        "x_h": x.stride("h"),
        "x_w": x.stride("w"),
        "x_plane": x.stride("i"),
        "w_h": w.stride("h"),
        "w_w": w.stride("w"),
        "w_plane": w.stride("i"),
        "out_batch": out.stride("n"),
        "out_h": out.stride("h"),
        "out_w": out.stride("w"),
        "h_size": x.size("h"),
        "w_size": x.size("w"),
        "h_places": places.size("h"),
        "w_places": places.size("w"),
        "h_taps": taps.size("h"),
        "h_stride": problem.h.stride,
        "h_spread": problem.h.spread,
        "h_low": problem.h.low,
        "w_low": problem.w.low,
        "planes": taps.size("i"),
        "features": features,
        "zero_bytes": zeros,
        "units": x.size("n") * places.size("h"),
        "grain": max(1, PART_BYTES // row),
    }
    scratch = View("scratch", steps.reserve(zeros), "i8", {})
    symbol = f"fg_conv_depthwise_{taps.size('w')}_{work}"
    steps.call(symbol, [x, w, out, scratch], named(PARAMS.names[4:], **words))
