"""The entry of a product: which way suits its sizes and strides, and what runs in parallel."""

from funcgrad.compiler.llvm.elements import BYTES, register
from funcgrad.compiler.llvm.gemm.blocks import packed_need, packed_scratch, products_of_blocks
from funcgrad.compiler.llvm.gemm.finish import finish
from funcgrad.compiler.llvm.gemm.micro import FEW
from funcgrad.compiler.llvm.gemm.road import FIELDS, KERNEL, PARAMS, SLOTS, Road, share
from funcgrad.compiler.llvm.gemm.scheme import Scheme, plus

# The ways: b packed; both operands in place, by tiles; b in place along its rows or its columns,
# for few rows of a; each row of c at once, for small k; each tile for many products of a batch.
PACKED, DIRECT, ROWS, COLUMNS, ROW_BY_ROW, TINY = range(6)

# Limits, in elements unless said otherwise.
FEW_ROWS = 8  # rows for which b is read along its rows
FEW_ROWS_OF_DOTS = 16  # or along its columns
IN_PLACE_ROWS = 24  # rows up to which tiles read a row-major b in place
IN_PLACE_B = 1 << 18  # if it has no more elements than this, which stay in the second cache
STRIP_ROWS = (5, 8)  # rows from and up to which they do if it has more
STRIP = 16  # rows of b that are read at a time then
SMALL_B = 1 << 13  # elements of b up to which they do for any number of rows
BLOCK_ROWS = 48  # of a that are multiplied with all such panels in turn
SHALLOW_K = 16  # up to which a large c is written row by row
LARGE_C = 1 << 18  # elements of such a c, at least
LONG_ROW = 512  # and of its rows
ROWS_OF_PART = 16  # of it that one thread takes at least
PARALLEL_WORK = 1 << 21  # multiply-adds worth more than one thread
PARALLEL_B = 1 << 18  # or elements of b
PART_WORK = 1 << 16  # multiply-adds of the least part of a batch that a thread takes
MANY = 16  # products that are always spread over threads, not each over all of them
LOCAL_PACK = 144 << 10  # bytes of scratch on the stack, for one product of many in a batch
LOCAL_ACC = 32 << 10  # and of sums, where they are not kept in c nor beside a block of a
TINY_WORK = 1 << 12  # multiply-adds of a product that is done tile by tile across the batch
TINY_BATCH = 32  # products whose operands stay in the first cache meanwhile


def driver(s: Scheme, name: str) -> list[str]:
    """The function that programs call, with all that it does not compute itself."""
    parts = [share(), entry(s, name), product(s), *products_of_blocks(s), by_rows(s)]
    parts += [by_columns(s), each(s), finish(s)]
    parts += [direct(s)] if s.plain else []
    parts += [row_by_row(s)] if s.in_place else []
    return [*parts, tiny(s)] if has_tiny(s) else parts


def has_tiny(s: Scheme) -> bool:
    return s.plain and s.masked


def entry(s: Scheme, name: str) -> str:
    """What programs call."""
    f = Road(name, "ptr %p", "")
    f.state = f.reserve(8 * len(FIELDS))
    sizes = {"a": BYTES[s.source], "b": BYTES[s.source], "c": BYTES[s.out]}
    for param in PARAMS:
        value = f.assign(f"load i64, ptr {f.at('%p', 8 * SLOTS[param])}")
        if param[1:] in ("_batch", "_row", "_col"):
            value = f.mul(value, sizes[param[0]])
        f.put(**{param: value})
    batch, m, n = f.get("batch", "m", "n")
    f.leave_when(f.any(*(f.test(x, "eq", 0) for x in (batch, m, n))))
    merge_batch(f, s)
    swap_operands(f, s)
    choose_path(f, s)
    scratch = f.get1("scratch")
    f.put(pack=f.assign(f"and i64 {f.add(scratch, 63)}, -64"))
    run_batch(f, s)
    return f.text()


def merge_batch(f: Road, s: Scheme) -> None:
    """A batch that shares b is one product of more rows."""
    batch, m, a_batch, a_row, b_batch, c_batch, c_row = f.get(
        "batch", "m", "a_batch", "a_row", "b_batch", "c_batch", "c_row"
    )
    single = f.test(m, "eq", 1)
    follows = f.all(f.test(a_batch, "eq", f.mul(m, a_row)), f.test(c_batch, "eq", f.mul(m, c_row)))
    merges = f.all(f.test(batch, "sgt", 1), f.test(b_batch, "eq", 0), f.any(single, follows))
    with f.when(merges):
        f.put(
            m=f.mul(batch, m),
            batch=1,
            a_row=f.choose(single, a_batch, a_row),
            c_row=f.choose(single, c_batch, c_row),
        )


def swap_operands(f: Road, s: Scheme) -> None:
    """A column a b is the row b' a', where it can be stored as one."""
    m, n, c_row, bias = f.get("m", "n", "c_row", "bias")
    swaps = f.all(f.test(n, "eq", 1), f.test(m, "sgt", 1), f.test(c_row, "eq", BYTES[s.out]))
    if not s.in_place:  # or c would be rounded twice
        once = f.any(f.test(bias, "eq", 0), f.test(f.get1("accumulate"), "eq", 0))
        swaps = f.all(swaps, once)
    with f.when(swaps):
        a, b, a_batch, b_batch, a_row, a_col, b_row = f.get(
            "a", "b", "a_batch", "b_batch", "a_row", "a_col", "b_row"
        )
        f.put(a=b, b=a, a_batch=b_batch, b_batch=a_batch, a_col=b_row, b_row=a_col, b_col=a_row)
        f.put(m=1, n=m, a_row=0)
        with f.when(f.test(bias, "ne", 0)):
            start_from_bias(f, s, m)


def start_from_bias(f: Road, s: Scheme, m: str) -> None:
    """Add the bias of the one column to c beforehand, as the row it has become wants several."""
    value = f.load(s.out, f.pointer("bias"))
    c, (batch, c_batch, accumulate) = f.pointer("c"), f.get("batch", "c_batch", "accumulate")
    grows = f.test(accumulate, "ne", 0)
    with f.loop(0, batch) as i, f.loop(0, m) as j:
        place = f.at(f.at(c, f.mul(i.index, c_batch)), f.mul(j.index, BYTES[s.out]))
        first_value = value
        if s.in_place:
            grown = plus(f, s, f.load(s.acc, place), value, 1)
            first_value = f.choose(grows, grown, value, register(s.acc))
        f.store(s.out, first_value, place)
    f.put(bias=0, accumulate=1)


def choose_path(f: Road, s: Scheme) -> None:
    """The way that suits the sizes and which strides are those of neighbours."""
    batch, m, n, k, b_row, b_col = f.get("batch", "m", "n", "k", "b_row", "b_col")
    size = BYTES[s.source]
    along_n, along_k = f.test(b_col, "eq", size), f.test(b_row, "eq", size)
    path = f.choose(f.all(along_k, f.test(m, "sle", FEW_ROWS_OF_DOTS)), COLUMNS, PACKED)
    path = f.choose(f.all(along_n, f.test(m, "sle", FEW_ROWS)), ROWS, path)
    if s.plain:
        elements = f.mul(k, n)
        near = f.all(f.test(m, "sle", IN_PLACE_ROWS), f.test(elements, "sle", IN_PLACE_B))
        far = f.all(f.test(m, "sge", STRIP_ROWS[0]), f.test(m, "sle", STRIP_ROWS[1]))
        fits = f.all(f.any(near, far, f.test(elements, "sle", SMALL_B)), f.test(m, "sgt", 1))
        path = f.choose(f.all(along_n, fits), DIRECT, path)
        if has_tiny(s):
            work = f.mul(f.mul(m, n), k)
            tiny = f.all(f.test(work, "sle", TINY_WORK), f.test(batch, "sgt", 1), along_n)
            path = f.choose(tiny, TINY, path)
    if s.in_place:
        shallow = f.all(
            along_n,
            f.test(k, "sle", SHALLOW_K),
            f.test(f.mul(m, n), "sge", LARGE_C),
            f.test(n, "sge", LONG_ROW),
            f.test(m, "sgt", FEW_ROWS),
        )
        path = f.choose(shallow, ROW_BY_ROW, path)
    f.put(path=path)


def run_batch(f: Road, s: Scheme) -> None:
    """Products one by one, each on every thread; or many small ones, each on one thread."""
    batch, m, n, k, path = f.get("batch", "m", "n", "k", "path")
    elements = f.mul(k, n)
    work = f.mul(m, elements)
    heavy = f.any(
        f.test(f.mul(work, batch), "sge", PARALLEL_WORK),
        f.test(f.mul(elements, batch), "sge", PARALLEL_B),
    )
    f.put(serial=f.choose(heavy, 0, 1))
    grain = f.add(f.div(PART_WORK, f.max(work, 1)), 1)
    if has_tiny(s):
        with f.when(f.test(path, "eq", TINY)):
            f.share("tiny", batch, grain)
            f.leave()
    need = pack_need(f, s)
    many = f.all(
        f.test(batch, "sgt", 1),
        f.test(need, "sle", LOCAL_PACK),
        f.any(f.test(work, "sle", 2 * PARALLEL_WORK), f.test(batch, "sge", MANY)),
    )
    if not s.in_place:
        sums = f.mul(f.mul(m, n), BYTES[s.acc])
        many = f.all(many, f.any(f.test(path, "eq", PACKED), f.test(sums, "sle", LOCAL_ACC)))
    with f.when(many):
        f.share("each", batch, grain)
        f.leave()
    f.put(acc=f.add(f.get1("pack"), f.up(need, 64)))
    products(f, "0", batch)


def products(f: Road, begin: str, end: str) -> None:
    """One product of the batch after another."""
    a, b, c, a_batch, b_batch, c_batch = f.get("a", "b", "c", "a_batch", "b_batch", "c_batch")
    with f.loop(begin, end) as i:
        f.put(a=f.add(a, f.mul(i.index, a_batch)), b=f.add(b, f.mul(i.index, b_batch)))
        f.put(c=f.add(c, f.mul(i.index, c_batch)))
        f.emit(f"call void @product(ptr {f.state})")


def each(s: Scheme) -> str:
    """Whole products of a batch, with scratch of their own."""
    f = Road("each", KERNEL)
    pack, acc = f.reserve(LOCAL_PACK), f.reserve(LOCAL_ACC if not s.in_place else 64)
    own = f.reserve(8 * len(FIELDS))
    with f.loop(0, 8 * len(FIELDS), 8) as byte:
        word = f.assign(f"load i64, ptr {f.at('%s', byte.index)}")
        f.emit(f"store i64 {word}, ptr {f.at(own, byte.index)}")
    f.state = own
    f.put(pack=f.assign(f"ptrtoint ptr {pack} to i64"), acc=f.assign(f"ptrtoint ptr {acc} to i64"))
    f.put(serial=1)
    products(f, "%begin", "%end")
    return f.text()


def product(s: Scheme) -> str:
    """One product, on the path chosen."""
    f = Road("product", "ptr %s")
    if s.in_place:
        c, c_row = f.get("c", "c_row")
        f.put(acc=c, acc_row=c_row)
    else:
        f.put(acc_row=f.mul(f.get1("n"), BYTES[s.acc]))
    path, m, n = f.get("path", "m", "n")
    if s.in_place:
        with f.when(f.test(path, "eq", ROW_BY_ROW)):
            f.share("row_by_row", m, ROWS_OF_PART)
    others = ((ROWS, "by_rows", 4 * s.lanes, 4), (COLUMNS, "by_columns", FEW, 16))
    others += ((DIRECT, "direct", s.width, 4),) if s.plain else ()
    for number, kernel, unit, grain in others:
        with f.when(f.test(path, "eq", number)):
            if number == COLUMNS:
                contiguous_rows(f, s)
            f.share(kernel, f.parts(n, unit), grain)
    with f.when(f.test(path, "eq", PACKED)):
        f.emit("call void @packed(ptr %s)")
    return f.text()


def contiguous_rows(f: Road, s: Scheme) -> None:
    """Rows of a that are contiguous, as columns of b are; copied if they are not."""
    m, k, a_row, a_col = f.get("m", "k", "a_row", "a_col")
    size = BYTES[s.source]
    f.put(left=f.get1("a"), left_row=a_row)
    with f.when(f.all(f.test(a_col, "ne", size), f.test(k, "sgt", 1))):
        a, copy = f.pointer("a"), f.pointer("pack")
        row_bytes = f.mul(k, size)
        with f.loop(0, m) as i, f.loop(0, k) as j:
            source = f.at(f.at(a, f.mul(i.index, a_row)), f.mul(j.index, a_col))
            target = f.at(f.at(copy, f.mul(i.index, row_bytes)), f.mul(j.index, size))
            f.store(s.source, f.load(s.source, source), target)
        f.put(left=f.get1("pack"), left_row=row_bytes)


def pack_need(f: Road, s: Scheme) -> str:
    """Bytes of scratch for packing, on the path chosen."""
    m, k, path = f.get("m", "k", "path")
    need = f.choose(f.test(path, "eq", PACKED), packed_need(f, s), 0)
    copy = f.mul(f.mul(m, k), BYTES[s.source])
    need = f.choose(f.test(path, "eq", COLUMNS), copy, need)
    if s.masked or not s.plain:
        return need
    edge = f.mul(f.add(k, s.lanes), s.width * BYTES[s.unit])
    return f.choose(f.test(path, "eq", DIRECT), edge, need)


def scratch(s: Scheme, m: int, n: int, k: int) -> int:
    """Bytes of scratch for one product, whichever path it takes."""
    rows = min(m, FEW_ROWS_OF_DOTS)
    edge = (k + s.lanes) * s.width * BYTES[s.unit] if s.plain and not s.masked else 0
    sums = 0 if s.in_place else rows * n * BYTES[s.acc]
    # The two addresses are rounded up to whole lines.
    return max(packed_scratch(s, n, k), rows * k * BYTES[s.source], edge) + sums + 2 * 64


def columns_of(f: Road, s: Scheme, unit: int) -> tuple[str, str]:
    """The first column and the number of columns of parts %begin to %end."""
    first_col = f.mul("%begin", unit)
    return first_col, f.sub(f.min(f.mul("%end", unit), f.get1("n")), first_col)


def few_rows(f: Road, s: Scheme, function: str, unit: int, rows: tuple[str, str]) -> str:
    """All rows of some columns, by a function that reads b in place."""
    first_col, cols = columns_of(f, s, unit)
    m, k, a_col, b_row, b_col, acc_row = f.get("m", "k", "a_col", "b_row", "b_col", "acc_row")
    a, a_row = f.pointer(rows[0]), f.get1(rows[1])
    b = f.at(f.pointer("b"), f.mul(first_col, b_col))
    acc = f.at(f.pointer("acc"), f.mul(first_col, BYTES[s.acc]))
    grow = f.get1("accumulate") if s.in_place else "0"
    f.emit(
        f"call void @{function}(ptr {a}, i64 {a_row}, i64 {a_col}, ptr {b}, i64 {b_row}, "
        f"i64 {b_col}, i64 {k}, ptr {acc}, i64 {acc_row}, i64 {m}, i64 {cols}, i64 {grow})"
    )
    f.finish((acc, acc_row), ("0", m), (first_col, cols))
    return f.text()


def by_rows(s: Scheme) -> str:
    """Parts of the columns, of a b whose rows are contiguous."""
    return few_rows(Road("by_rows", KERNEL), s, "along_rows", 4 * s.lanes, ("a", "a_row"))


def by_columns(s: Scheme) -> str:
    """Parts of the columns, which are contiguous."""
    return few_rows(Road("by_columns", KERNEL), s, "along_columns", FEW, ("left", "left_row"))


def row_by_row(s: Scheme) -> str:
    """Some rows, each over all of its columns before the next one."""
    f = Road("row_by_row", KERNEL)
    n, k, a_row, a_col, b_row, b_col, acc_row, grow = f.get(
        "n", "k", "a_row", "a_col", "b_row", "b_col", "acc_row", "accumulate"
    )
    a, b, acc = f.pointer("a"), f.pointer("b"), f.pointer("acc")
    with f.loop("%begin", "%end") as row:
        place = f.at(acc, f.mul(row.index, acc_row))
        f.emit(
            f"call void @along_rows(ptr {f.at(a, f.mul(row.index, a_row))}, i64 {a_row}, "
            f"i64 {a_col}, ptr {b}, i64 {b_row}, i64 {b_col}, i64 {k}, ptr {place}, "
            f"i64 {acc_row}, i64 1, i64 {n}, i64 {grow})"
        )
        f.finish((place, acc_row), (row.index, "1"), ("0", n))
    return f.text()


def direct(s: Scheme) -> str:
    """Some panels times a block of rows after another, by tiles that read both in place."""
    f = Road("direct", KERNEL)
    m, n, k, a_row, a_col, b_row, acc_row, grow = f.get(
        "m", "n", "k", "a_row", "a_col", "b_row", "acc_row", "accumulate"
    )
    a, b, acc = f.pointer("a"), f.pointer("b"), f.pointer("acc")
    strip = f.choose(f.test(f.mul(k, n), "sle", IN_PLACE_B), f.max(k, 1), STRIP)
    with (
        f.loop(0, m, BLOCK_ROWS) as row,
        f.loop(0, f.max(k, 1), strip) as depth,
        f.loop("%begin", "%end") as number,
    ):
        col, size = f.mul(number.index, s.width), f.min(f.sub(k, depth.index), strip)
        cols = f.min(f.sub(n, col), s.width)
        source, step = f.at(b, f.mul(col, BYTES[s.source])), b_row
        if not s.masked:
            source, step = whole_panel(f, s, row.index, cols, source)
        source = f.at(source, f.mul(depth.index, step))
        left = f.at(f.at(a, f.mul(row.index, a_row)), f.mul(depth.index, a_col))
        place = f.at(f.at(acc, f.mul(row.index, acc_row)), f.mul(col, BYTES[s.acc]))
        grows = f.choose(f.test(depth.index, "sgt", 0), 1, grow)
        f.emit(
            f"call void @sweep(ptr {left}, i64 {a_row}, i64 {a_col}, ptr {source}, i64 {step}, "
            f"i64 {size}, ptr {place}, i64 {acc_row}, i64 {cols}, i64 {grows}, "
            f"i64 {f.min(f.sub(m, row.index), BLOCK_ROWS)}, i64 0, i64 1, i64 0, i64 0, i64 0)"
        )
    first_col, cols = columns_of(f, s, s.width)
    f.finish((f.at(acc, f.mul(first_col, BYTES[s.acc])), acc_row), ("0", m), (first_col, cols))
    return f.text()


def whole_panel(f: Road, s: Scheme, row: str, cols: str, source: str) -> tuple[str, str]:
    """A panel of b and its step; a copy of the last one if it has too few columns to be read."""
    k, b_row = f.get("k", "b_row")
    copy, step = f.pointer("pack"), s.width * BYTES[s.unit]
    part = f.test(cols, "slt", s.width)
    with f.when(f.all(part, f.test(row, "eq", 0))):
        f.emit(
            f"call void @pack(ptr {copy}, i64 {step}, ptr {source}, i64 {b_row}, "
            f"i64 {BYTES[s.source]}, i64 {k}, i64 {cols}, i64 0)"
        )
    return f.choose(part, copy, source, "ptr"), f.choose(part, step, b_row)


def tiny(s: Scheme) -> str:
    """Products of a batch, tile by tile: each tile for some of them, so that setting up is rare."""
    f = Road("tiny", KERNEL)
    m, n, k, a_batch, a_row, a_col, b_batch, b_row, c_batch, c_row, grow = f.get(
        "m", "n", "k", "a_batch", "a_row", "a_col", "b_batch", "b_row", "c_batch", "c_row",
        "accumulate",
    )  # fmt: skip
    a, b, c = f.pointer("a"), f.pointer("b"), f.pointer("c")
    with f.loop("%begin", "%end", TINY_BATCH) as i:
        count = f.min(f.sub("%end", i.index), TINY_BATCH)
        corner = f.at(a, f.mul(i.index, a_batch))
        result = f.at(c, f.mul(i.index, c_batch))
        first_b = f.at(b, f.mul(i.index, b_batch))
        with f.loop(0, n, s.width) as j:
            cols = f.min(f.sub(n, j.index), s.width)
            right = f.at(first_b, f.mul(j.index, BYTES[s.source]))
            place = f.at(result, f.mul(j.index, BYTES[s.acc]))
            f.emit(
                f"call void @sweep(ptr {corner}, i64 {a_row}, i64 {a_col}, ptr {right}, "
                f"i64 {b_row}, i64 {k}, ptr {place}, i64 {c_row}, i64 {cols}, i64 {grow}, i64 {m}, "
                f"i64 0, i64 {count}, i64 {a_batch}, i64 {b_batch}, i64 {c_batch})"
            )
    with f.loop("%begin", "%end") as i:
        place = f.at(c, f.mul(i.index, c_batch))
        f.finish((place, c_row), ("0", m), ("0", n))
    return f.text()
