"""The tiles that a product is made of: a few rows by one or two vectors, held in registers for the
whole of k. Operands have any row and step strides, so the same code reads them packed or in place.
"""

from contextlib import ExitStack

from funcgrad.compiler.llvm.elements import BYTES, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.gemm.scheme import (
    Scheme,
    first,
    masked_load,
    masked_store,
    plus,
    splat,
    step,
)

# Rows of the tile for what is left below a whole one, of which it may leave some out; and of the
# whole tile that is one vector wide.
FEW = 4
NARROW = 8

# Strides are in bytes. `k` counts steps, `cols` is how many columns are stored, `grow` says whether
# to add to c, `ahead` is how far behind this panel of b the next one stands, or 0. `count` tiles of
# `rows` rows are made, whose operands stand `next` bytes apart.
TILE = (
    "ptr %a, i64 %a_row, i64 %a_step, ptr %b, i64 %b_step, i64 %k, ptr %c, i64 %c_row, i64 %cols, "
    "i64 %grow, i64 %rows, i64 %ahead, i64 %count, i64 %a_next, i64 %b_next, i64 %c_next"
)


def tiles(s: Scheme) -> list[str]:
    """Every tile of a scheme, and `sweep`, which covers rows of one panel of columns with them."""
    size = s.vectors * s.target.vector_bytes
    zeros = f"@zeros = internal constant [{size} x i8] zeroinitializer, align 64"
    parts = [zeros, *(tile(s, rows, vectors) for rows, vectors in shapes(s)), sweep(s)]
    return parts if s.masked else [*parts, merge(s)]


def shapes(s: Scheme) -> list[tuple[int, int]]:
    """Rows and vectors of the tiles there are; one vector's width pays only with masks."""
    wide = [(s.rows, s.vectors), (FEW, s.vectors)]
    return [*wide, (NARROW, 1), (FEW, 1)] if s.masked else wide


def tile_name(rows: int, vectors: int) -> str:
    return f"tile_{rows}x{vectors}"


def tile(s: Scheme, rows: int, vectors: int) -> str:
    """The function that makes tiles of one shape."""
    f = Function(tile_name(rows, vectors), TILE)
    masks: list[str] = []
    grows = f.test("%grow", "ne", 0)
    old_row = f.choose(grows, "%c_row", 0)
    whole = spare = pace = ""
    if s.masked:
        masks = [first(f, f.sub("%cols", v * s.lanes), s.lanes) for v in range(vectors)]
    else:
        whole = f.all(f.test("%cols", "sge", s.width), f.test("%rows", "sge", rows))
        spare = f.reserve(rows * s.width * BYTES[s.acc])
    large = (rows, vectors) == (s.rows, s.vectors)
    if large:  # while the tiles are made, what they read of b next comes into the second cache
        pace = f.div(s.width * BYTES[s.unit], f.max("%count", 1))
        pace = f.choose(f.test("%ahead", "eq", 0), 0, pace)
    with f.loop(0, "%count", 1, ("ptr", "%a"), ("ptr", "%b"), ("ptr", "%c")) as each:
        a, b, c = each.values
        soon = ""
        if large:
            prefetch_tile(f, s, c)
            soon = f.at(f.at(b, "%ahead"), f.mul(each.index, f.mul(pace, "%k")))
        sums = products(f, s, (rows, vectors), (a, b, soon, pace), masks)
        old = f.choose(grows, c, "@zeros", "ptr")
        if s.masked:
            store_masked(f, s, sums, (c, "%c_row"), (old, old_row), masks)
        else:
            with f.when(whole):
                store_whole(f, s, sums, (c, "%c_row"), (old, old_row))
            with f.when(f.negate(whole)):
                store_whole(f, s, sums, (spare, str(s.width * BYTES[s.acc])), ("@zeros", "0"))
                f.emit(
                    f"call void @merge(ptr {spare}, ptr {c}, i64 %c_row, i64 {f.min('%rows', rows)}"
                    f", i64 %cols, i64 %grow)"
                )
        each.next = [f.at(a, "%a_next"), f.at(b, "%b_next"), f.at(c, "%c_next")]
    return f.text()


def prefetch_tile(f: Function, s: Scheme, c: str) -> None:
    """Have a tile of c come into the first cache, to be written."""
    with f.loop(0, s.rows, 1, ("ptr", c)) as row:
        for column in range(0, s.width * BYTES[s.acc], 64):
            f.prefetch(f.at(row.values[0], column), cache=1, write=True)
        row.next = [f.at(row.values[0], "%c_row")]


def products(
    f: Function,
    s: Scheme,
    shape: tuple[int, int],
    operands: tuple[str, str, str, str],
    masks: list[str],
) -> list[list[str]]:
    """The sums over k of one tile, by row and vector. Operands are where a, b and what to prefetch
    start, if anything, and by how much the latter moves in a step.
    """
    (rows, vectors), (a, b, soon, pace) = shape, operands
    columns = [v * s.target.vector_bytes for v in range(vectors)]
    starts = ["zeroinitializer"] * vectors
    if s.method == "quads":  # the row after the last step makes up for the offset of a
        after = f.at(b, f.mul("%b_step", "%k"))
        starts = [load_units(f, s, f.at(after, x), masks, v) for v, x in enumerate(columns)]
    down = ["%a_row"] * rows
    if rows == FEW:  # rows that are left out repeat the last one
        down = [f.choose(f.test("%rows", "sgt", row), "%a_row", 0) for row in range(rows)]
    kind = register(s.acc, s.lanes)
    carried = [("ptr", a), ("ptr", b), ("ptr", soon or b)]
    with f.loop(0, "%k", 1, *carried, *((kind, start) for start in starts * rows)) as loop:
        corner, panel, later, *sums = loop.values
        if soon:
            f.prefetch(later, cache=2)
        right = [load_units(f, s, f.at(panel, x), masks, v) for v, x in enumerate(columns)]
        here, totals = corner, []
        for row in range(rows):
            here = f.at(here, down[row]) if row else here
            left = splat(f, s.unit, load_unit(f, s, here), s.lanes)
            for v in range(vectors):
                totals.append(step(f, s, left, right[v], sums[row * vectors + v]))
        later = f.at(later, pace) if soon else later
        loop.next = [f.at(corner, "%a_step"), f.at(panel, "%b_step"), later, *totals]
    sums = loop.values[3:]
    return [sums[row * vectors : (row + 1) * vectors] for row in range(rows)]


def load_unit(f: Function, s: Scheme, pointer: str) -> str:
    """One unit of a, aligned as its elements are."""
    return f.assign(f"load {register(s.unit)}, ptr {pointer}, align {BYTES[s.element]}")


def load_units(f: Function, s: Scheme, pointer: str, masks: list[str], v: int) -> str:
    """One vector of b's units; with masks, of the columns there are."""
    if masks:
        return masked_load(f, s.unit, pointer, masks[v], s.lanes)
    return f.load(s.unit, pointer, s.lanes)


def store_masked(
    f: Function,
    s: Scheme,
    sums: list[list[str]],
    c: tuple[str, str],
    old: tuple[str, str],
    masks: list[str],
) -> None:
    """Add to the sums what was there before and store the columns of the masks.

    `c` and `old` are where each begins and how far its rows are apart; `old` may be zeros. It is
    not c with a mask of no columns, because a load must wait for a store to the same bytes.
    """
    (place, c_row), (before, old_row) = c, old
    with ExitStack() as nest:
        for row, values in enumerate(sums):
            if row:
                place, before = f.at(place, c_row), f.at(before, old_row)
                if len(sums) == FEW:
                    nest.enter_context(f.when(f.test("%rows", "sgt", row)))
            for v, value in enumerate(values):
                column = v * s.target.vector_bytes
                other = masked_load(f, s.acc, f.at(before, column), masks[v], s.lanes)
                total = plus(f, s, other, value, s.lanes)
                masked_store(f, s.acc, total, f.at(place, column), masks[v], s.lanes)


def store_whole(
    f: Function, s: Scheme, sums: list[list[str]], c: tuple[str, str], old: tuple[str, str]
) -> None:
    """The same for every row and column of a tile."""
    (place, c_row), (before, old_row) = c, old
    for row, values in enumerate(sums):
        if row:
            place, before = f.at(place, c_row), f.at(before, old_row)
        for v, value in enumerate(values):
            column = v * s.target.vector_bytes
            other = f.load(s.acc, f.at(before, column), s.lanes)
            f.store(s.acc, plus(f, s, other, value, s.lanes), f.at(place, column), s.lanes)


def merge(s: Scheme) -> str:
    """Store or add the rows and columns of a whole tile that are inside c."""
    f = Function("merge", "ptr %from, ptr %c, i64 %c_row, i64 %rows, i64 %cols, i64 %grow")
    grows, size = f.test("%grow", "ne", 0), BYTES[s.acc]
    with f.loop(0, "%rows") as row, f.loop(0, "%cols") as col:
        along = f.mul(col.index, size)
        source = f.at(f.at("%from", f.mul(row.index, s.width * size)), along)
        place = f.at(f.at("%c", f.mul(row.index, "%c_row")), along)
        value = f.load(s.acc, source)
        total = plus(f, s, f.load(s.acc, place), value, 1)
        f.store(s.acc, f.choose(grows, total, value, register(s.acc)), place)
    return f.text()


def sweep(s: Scheme) -> str:
    """All rows of one panel of columns: whole tiles, then tiles of FEW rows, then what is left.

    For a batch of products, `count` of them, each tile is made for all before the next one.
    """
    f = Function("sweep", TILE)
    tall, large, small = (
        str(s.rows),
        f"@{tile_name(s.rows, s.vectors)}",
        f"@{tile_name(FEW, s.vectors)}",
    )
    if s.masked:
        narrow = f.test("%cols", "sle", s.lanes)
        tall = f.choose(narrow, NARROW, tall)
        large = f.choose(narrow, f"@{tile_name(NARROW, 1)}", large, "ptr")
        small = f.choose(narrow, f"@{tile_name(FEW, 1)}", small, "ptr")
    batch = f.test("%count", "sgt", 1)
    done = "0"
    for height, function in ((tall, large), (str(FEW), small), ("", small)):
        left = f.sub("%rows", done)
        tiles_left = f.div(left, height) if height else f.min(left, 1)
        height = height or left
        calls = f.choose(batch, tiles_left, f.min(tiles_left, 1))
        count = f.choose(batch, "%count", tiles_left)
        steps = [
            f.choose(batch, f"%{x}_next", f.mul(f"%{x}_row", height) if x != "b" else 0)
            for x in "abc"
        ]
        with f.loop(0, calls) as call:
            row = f.add(done, f.mul(call.index, height))
            a, c = f.at("%a", f.mul(row, "%a_row")), f.at("%c", f.mul(row, "%c_row"))
            f.emit(
                f"call void {function}(ptr {a}, i64 %a_row, i64 %a_step, ptr %b, i64 %b_step, "
                f"i64 %k, ptr {c}, i64 %c_row, i64 %cols, i64 %grow, i64 {height}, i64 %ahead, "
                f"i64 {count}, i64 {steps[0]}, i64 {steps[1]}, i64 {steps[2]})"
            )
        done = f.add(done, f.mul(tiles_left, height))
    return f.text()
