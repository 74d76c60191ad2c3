"""Large products: blocks of b are packed, all threads together, and then blocks of a multiplied
with them, each packed by the thread that takes it.

Blocks depend on sizes alone and no sum is divided, so any number of threads gives the same bits.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from funcgrad.compiler.llvm.elements import BYTES
from funcgrad.compiler.llvm.gemm.micro import FEW
from funcgrad.compiler.llvm.gemm.road import KERNEL, Road
from funcgrad.compiler.llvm.gemm.scheme import STEPS, Scheme

BLOCK_N = 1024  # columns of b packed at a time
BLOCK_STEPS = 4 * STEPS  # and steps along k, where sums are kept in c
BLOCK_B = 1 << 22  # elements of b packed at a time, where they are not
PANELS_OF_PART = 4  # that one thread packs at least
STRIP = 16  # steps of them that are packed at a time
BLOCK_A = 96 * 4 * STEPS  # bytes of a packed block of a, which stays in the second cache
# (rows of a up to which, columns of a part): enough parts for the threads, though each packs a
COLUMNS_OF_PART = ((384, 128), (768, 256))
COLUMNS_OF_SUMS = 256  # and where sums are not kept in c, but beside the block of a


def block_rows(s: Scheme) -> int:
    return BLOCK_A // (STEPS * BYTES[s.unit])


def products_of_blocks(s: Scheme) -> list[str]:
    """`packed`, which multiplies all of a and b, and its kernels."""
    return [packed(s), pack_panels(s), blocks(s)]


def packed_need(f: Road, s: Scheme) -> str:
    """Bytes of scratch that the packed block of b needs."""
    n, k = f.get("n", "k")
    block_n, block_k = blocking(f, s)
    panels, depth = f.parts(f.min(n, block_n), s.width), f.min(k, block_k)
    return f.mul(panels, f.mul(f.max(f.parts(depth, s.depth), 1), panel_bytes(f, s, depth)))


def packed_scratch(s: Scheme, n: int, k: int) -> int:
    """The same, for sizes that are known."""
    block_n, block_k = BLOCK_N, BLOCK_STEPS * s.group
    if not s.in_place:
        block_k = max(k, 1)
        block_n = min(max(BLOCK_B // block_k // s.width * s.width, s.width), BLOCK_N)
    panels, depth, block = -(-min(n, block_n) // s.width), min(k, block_k), s.lanes * s.group
    steps = -(-min(depth, s.depth) // block) * block // s.group + 1
    return panels * max(-(-depth // s.depth), 1) * steps * s.width * BYTES[s.unit]


def blocking(f: Road, s: Scheme) -> tuple[str, str]:
    """Columns and depth of b packed at a time; the whole depth if sums cannot be kept in c."""
    if s.in_place:
        return str(BLOCK_N), str(BLOCK_STEPS * s.group)
    k = f.max(f.get1("k"), 1)
    cols = f.mul(f.div(f.div(BLOCK_B, k), s.width), s.width)
    return f.min(f.max(cols, s.width), BLOCK_N), k


def panel_bytes(f: Road, s: Scheme, depth: str) -> str:
    """Of one panel: its steps in whole blocks, and one more, of a block of this depth."""
    block = s.lanes * s.group
    steps = f.div(f.up(f.min(depth, s.depth), block), s.group)
    return f.mul(f.add(steps, 1), s.width * BYTES[s.unit])


def packed(s: Scheme) -> str:
    """Block after block of b is packed and multiplied with all of a."""
    f = Road("packed", "ptr %s")
    m, n, k = f.get("m", "n", "k")
    rows = f.up(f.parts(m, f.parts(m, block_rows(s))), FEW)
    block_n, block_k = blocking(f, s)
    with f.loop(0, n, block_n) as col, f.loop(0, f.max(k, 1), block_k) as depth:
        n_size = f.min(f.sub(n, col.index), block_n)
        k_size = f.min(f.sub(k, depth.index), block_k)
        panels = f.parts(n_size, s.width)
        cols: str | int = BLOCK_N if s.in_place else COLUMNS_OF_SUMS
        for most, fewer in reversed(COLUMNS_OF_PART):
            cols = f.choose(f.test(m, "sle", most), fewer, cols)
        row_parts, col_parts = f.parts(m, rows), f.parts(n_size, cols)
        f.put(n_first=col.index, n_size=n_size, k_first=depth.index, k_size=k_size, panels=panels)
        f.put(panel_bytes=panel_bytes(f, s, k_size), row_size=rows, row_parts=row_parts)
        f.put(col_size=cols, col_parts=col_parts)
        f.share("pack_panels", panels, PANELS_OF_PART)
        f.share("blocks", f.mul(row_parts, col_parts), 1)
    return f.text()


def panel(f: Road, s: Scheme, number: str, block: str) -> str:
    """Where a panel of b stands: by block of depth, then by columns."""
    pack = f.pointer("pack")
    panels, size = f.get("panels", "panel_bytes")
    return f.at(pack, f.mul(f.add(f.mul(block, panels), number), size))


@contextmanager
def depths(f: Road, s: Scheme) -> Iterator[tuple[str, str, str]]:
    """For each block of depth: its number, its first index and its size; at least once."""
    k_first, k_size = f.get("k_first", "k_size")
    with f.loop(0, f.max(f.parts(k_size, s.depth), 1)) as block:
        start = f.mul(block.index, s.depth)
        yield block.index, f.add(k_first, start), f.min(f.sub(k_size, start), s.depth)


def pack_panels(s: Scheme) -> str:
    """Pack panels of the block of b; if rows are contiguous, some rows of all panels at a time."""
    f = Road("pack_panels", KERNEL)
    n_first, n_size, b_row, b_col = f.get("n_first", "n_size", "b_row", "b_col")
    b, step = f.pointer("b"), s.width * BYTES[s.unit]
    strip = f.choose(f.test(b_col, "eq", BYTES[s.source]), STRIP * s.group, s.depth)
    with depths(f, s) as (block, first_k, size):
        with f.loop(0, size, strip) as k, f.loop("%begin", "%end") as number:
            col = f.mul(number.index, s.width)
            source = f.at(b, f.mul(f.add(first_k, k.index), b_row))
            source = f.at(source, f.mul(f.add(n_first, col), b_col))
            target = f.at(panel(f, s, number.index, block), f.mul(f.div(k.index, s.group), step))
            f.emit(
                f"call void @pack(ptr {target}, i64 {step}, ptr {source}, i64 {b_row}, "
                f"i64 {b_col}, i64 {f.min(f.sub(size, k.index), strip)}, "
                f"i64 {f.min(f.sub(n_size, col), s.width)}, i64 0)"
            )
        if s.method == "quads":
            steps = f.parts(size, s.group)
            with f.loop("%begin", "%end") as number:
                target = panel(f, s, number.index, block)
                f.emit(f"call void @balance(ptr {target}, i64 {step}, i64 {steps})")
    return f.text()


def blocks(s: Scheme) -> str:
    """Products of blocks of rows with parts of the packed columns."""
    f = Road("blocks", KERNEL)
    room = f.reserve(block_rows(s) * (STEPS * BYTES[s.unit] + 64))
    m, n_first, n_size, k, k_first, k_size = f.get(
        "m", "n_first", "n_size", "k", "k_first", "k_size"
    )
    row_size, col_size, col_parts = f.get("row_size", "col_size", "col_parts")
    sums = f.reserve(block_rows(s) * COLUMNS_OF_SUMS * BYTES[s.acc]) if not s.in_place else ""
    with f.loop("%begin", "%end") as task:
        row = f.mul(f.div(task.index, col_parts), row_size)
        col = f.mul(f.rem(task.index, col_parts), col_size)
        rows, cols = f.min(f.sub(m, row), row_size), f.min(f.sub(n_size, col), col_size)
        first_col = f.add(n_first, col)
        if s.in_place:
            acc_row = f.get1("acc_row")
            acc = f.at(f.pointer("acc"), f.mul(row, acc_row))
            acc = f.at(acc, f.mul(first_col, BYTES[s.acc]))
        else:
            acc, acc_row = sums, str(COLUMNS_OF_SUMS * BYTES[s.acc])
        with depths(f, s) as (block, first_k, size):
            a_row, a_step = pack_a(f, s, room, (row, rows), (first_k, size))
            later = f.test(first_k, "sgt", 0)
            if s.in_place:
                later = f.any(later, f.test(f.get1("accumulate"), "ne", 0))
            grow = f.choose(later, 1, 0)
            steps = f.parts(size, s.group)
            with f.loop(0, cols, s.width) as j:
                right = panel(f, s, f.div(f.add(col, j.index), s.width), block)
                prefetch_a(f, s, (row, rows), (first_k, size), (j.index, cols))
                f.emit(
                    f"call void @sweep(ptr {room}, i64 {a_row}, i64 {a_step}, "
                    f"ptr {right}, i64 {s.width * BYTES[s.unit]}, i64 {steps}, "
                    f"ptr {f.at(acc, f.mul(j.index, BYTES[s.acc]))}, i64 {acc_row}, "
                    f"i64 {f.min(f.sub(cols, j.index), s.width)}, i64 {grow}, i64 {rows}, "
                    f"i64 {f.get1('panel_bytes')}, i64 1, i64 0, i64 0, i64 0)"
                )
        with f.when(f.test(f.add(k_first, k_size), "sge", k)):
            f.finish((acc, acc_row), (row, rows), (first_col, cols))
    return f.text()


def prefetch_a(
    f: Road, s: Scheme, rows: tuple[str, str], depth: tuple[str, str], cols: tuple[str, str]
) -> None:
    """Have a share of the next block of a come into the second cache, if its rows are contiguous.

    Each pair is a first index and a size: those of this block, and of its part that is done now.
    """
    a_row, a_col, k_first, k_size = f.get("a_row", "a_col", "k_first", "k_size")
    with f.when(f.test(a_col, "eq", BYTES[s.source])):
        share = f.parts(rows[1], f.parts(cols[1], s.width))
        begin = f.mul(f.div(cols[0], s.width), share)
        deeper = f.add(*depth)
        last = f.test(deeper, "sge", f.add(k_first, k_size))
        row, k = f.choose(last, f.add(*rows), rows[0]), f.choose(last, k_first, deeper)
        corner = f.at(f.at(f.pointer("a"), f.mul(row, a_row)), f.mul(k, a_col))
        with f.loop(begin, f.min(f.add(begin, share), rows[1])) as i:
            line = f.at(corner, f.mul(i.index, a_row))
            with f.loop(0, f.mul(depth[1], BYTES[s.source]), 64) as byte:
                f.prefetch(f.at(line, byte.index), cache=2)


def pack_a(
    f: Road, s: Scheme, room: str, rows: tuple[str, str], depth: tuple[str, str]
) -> tuple[str, str]:
    """Pack a block of a; gives the strides by row and by step. The pairs are first and number."""
    a_row, a_col = f.get("a_row", "a_col")
    source = f.at(f.at(f.pointer("a"), f.mul(rows[0], a_row)), f.mul(depth[0], a_col))
    unit = BYTES[s.unit]
    line, column = STEPS * unit + 64, block_rows(s) * unit
    contiguous = f.test(a_col, "eq", BYTES[s.source])
    last = f"i64 {depth[1]}, i64 {rows[1]}, i64 {128 if s.method == 'quads' else 0}"
    with f.when(contiguous):
        f.emit(f"call void @pack_rows(ptr {room}, i64 {line}, ptr {source}, i64 {a_row}, {last})")
    with f.when(f.negate(contiguous)):
        f.emit(
            f"call void @pack(ptr {room}, i64 {column}, ptr {source}, i64 {a_col}, i64 {a_row}, "
            f"{last})"
        )
    return f.choose(contiguous, line, unit), f.choose(contiguous, unit, column)
