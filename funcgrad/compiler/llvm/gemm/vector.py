"""Products with few rows, where each element of b is used so few times that b is read where it
stands, at the speed of memory: along its rows, or along its columns if those are contiguous.
"""

from funcgrad.compiler.llvm.elements import BYTES, REGISTER, constant, register, suffix
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.gemm.scheme import (
    Scheme,
    convert,
    first,
    masked_load,
    masked_store,
    multiply_add,
    plus,
    splat,
)
from funcgrad.compiler.loops import FLOATS

# Rows of b that are folded into a row of c at once: of one row of c, and of each of several, for
# which they and the next ones should stay in L1 even if they compete for the same places.
DEPTH_OF_ONE = 8
DEPTH = 4
# Columns of c at once, likewise.
SPAN_OF_ONE = 4096
SPAN = 1024
COLUMNS = 4  # of b that are read side by side
AHEAD = 1024  # bytes along a row of b that are prefetched when c has one row

FEW_ROWS = (
    "ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col, i64 %k, ptr %c, i64 %c_row, "
    "i64 %rows, i64 %cols, i64 %grow"
)


def vector_products(s: Scheme) -> list[str]:
    """`along_rows` for contiguous rows of b, `along_columns` for contiguous columns of b and a."""
    return [along_rows(s), *(axpy(s, d) for d in (DEPTH_OF_ONE, DEPTH, 1)), along_columns(s)]


def element(f: Function, s: Scheme, pointer: str, lanes: int, mask: str = "") -> str:
    """Elements of an operand, converted to the type of the sums."""
    if mask:
        value = masked_load(f, s.source, pointer, mask, lanes)
    else:
        value = f.load(s.source, pointer, lanes)
    return convert(f, s, value, s.source, s.acc, lanes)


def along_rows(s: Scheme) -> str:
    """c = or += a b, some rows of b at a time."""
    f = Function("along_rows", FEW_ROWS)
    fresh = f.test("%grow", "eq", 0)
    one = f.test("%rows", "eq", 1)
    span = f.choose(one, SPAN_OF_ONE, SPAN)
    ends = [f.mul(f.div("%k", depth), depth) for depth in (DEPTH_OF_ONE, DEPTH)]
    ends = ["0", f.choose(one, ends[0], 0), ends[1], "%k"]
    with f.loop(0, "%cols", span) as block:
        cols = f.min(span, f.sub("%cols", block.index))
        b = f.at("%b", f.mul(block.index, BYTES[s.source]))
        c = f.at("%c", f.mul(block.index, BYTES[s.acc]))
        with f.when(fresh), f.loop(0, "%rows") as row:
            clear(f, s, f.at(c, f.mul(row.index, "%c_row")), cols)
        depths = (DEPTH_OF_ONE, DEPTH, 1)
        for depth, begin, end in zip(depths, ends[:-1], ends[1:], strict=True):
            with f.loop(begin, end, depth) as k, f.loop(0, "%rows") as row:
                corner = f.at(f.at("%a", f.mul(row.index, "%a_row")), f.mul(k.index, "%a_col"))
                soon = f.at(b, f.mul(f.add(f.add(k.index, depth), row.index), "%b_row"))
                f.emit(
                    f"call void @axpy_{depth}(ptr {corner}, i64 %a_col, "
                    f"ptr {f.at(b, f.mul(k.index, '%b_row'))}, i64 %b_row, "
                    f"ptr {f.at(c, f.mul(row.index, '%c_row'))}, i64 {cols}, ptr {soon})"
                )
    return f.text()


def clear(f: Function, s: Scheme, place: str, cols: str) -> None:
    """Zeros in a row of c."""
    whole = f.mul(f.div(cols, s.lanes), s.lanes)
    for begin, end, lanes in (("0", whole, s.lanes), (whole, cols, 1)):
        with f.loop(begin, end, lanes) as j:
            there = f.at(place, f.mul(j.index, BYTES[s.acc]))
            f.store(s.acc, constant(0, s.acc, lanes), there, lanes)


def axpy(s: Scheme, depth: int) -> str:
    """Add to a row of c `depth` rows of b times elements of a; `soon` is a row to prefetch."""
    params = "ptr %a, i64 %a_col, ptr %b, i64 %b_row, ptr %c, i64 %cols, ptr %soon"
    f = Function(f"axpy_{depth}", params)
    factors, place = [], "%a"
    for i in range(depth):
        place = f.at(place, "%a_col") if i else place
        factors.append(element(f, s, place, 1))
    spread = [splat(f, s.acc, factor, s.lanes) for factor in factors]
    if s.masked:
        add_rows(f, s, spread, s.lanes, ("0", "%cols"))
        return f.text()
    whole = f.mul(f.div("%cols", s.lanes), s.lanes)
    add_rows(f, s, spread, s.lanes, ("0", whole))
    add_rows(f, s, factors, 1, (whole, "%cols"))
    return f.text()


def add_rows(
    f: Function, s: Scheme, factors: list[str], lanes: int, columns: tuple[str, str]
) -> None:
    """The columns from the first to before the second, so many lanes at a time."""
    begin, end = columns
    along, along_c = f.mul(begin, BYTES[s.source]), f.mul(begin, BYTES[s.acc])
    carried = [("ptr", f.at(base, along)) for base in ("%b", "%soon")]
    with f.loop(begin, end, lanes, *carried, ("ptr", f.at("%c", along_c))) as j:
        here, soon, there = j.values
        mask = first(f, f.sub(end, j.index), lanes) if s.masked else ""
        total = masked_load(f, s.acc, there, mask, lanes) if mask else f.load(s.acc, there, lanes)
        if len(factors) == DEPTH:
            f.prefetch(soon, cache=1)
        place = here
        for i, factor in enumerate(factors):
            place = f.at(place, "%b_row") if i else place
            if len(factors) == DEPTH_OF_ONE:
                f.prefetch(f.at(place, AHEAD), cache=1)
            total = multiply_add(f, s, factor, element(f, s, place, lanes, mask), total, lanes)
        if mask:
            masked_store(f, s.acc, total, there, mask, lanes)
        else:
            f.store(s.acc, total, there, lanes)
        step = lanes * BYTES[s.source]
        j.next = [f.at(here, step), f.at(soon, step), f.at(there, lanes * BYTES[s.acc])]


def along_columns(s: Scheme) -> str:
    """c = or += a b, each element the sum along a row of a and a column of b, both contiguous."""
    f = Function("along_columns", FEW_ROWS)
    grows = f.test("%grow", "ne", 0)
    room = f.reserve(COLUMNS * s.target.vector_bytes)
    whole = f.mul(f.div("%k", 2 * s.lanes), 2 * s.lanes)
    with f.loop(0, "%cols", COLUMNS) as j, f.loop(0, "%rows") as row:
        left = f.sub("%cols", j.index)
        a = f.at("%a", f.mul(row.index, "%a_row"))
        columns = [f.at("%b", f.mul(j.index, "%b_col"))]
        for i in range(1, COLUMNS):
            columns.append(f.at(columns[-1], f.choose(f.test(left, "sgt", i), "%b_col", 0)))
        for i, total in enumerate(dots(f, s, a, columns, whole)):
            f.store(s.acc, total, f.at(room, i * s.target.vector_bytes), s.lanes)
        place = f.at(f.at("%c", f.mul(row.index, "%c_row")), f.mul(j.index, BYTES[s.acc]))
        with f.loop(0, f.min(left, COLUMNS)) as i:
            lanes = f.load(s.acc, f.at(room, f.mul(i.index, s.target.vector_bytes)), s.lanes)
            total = across_lanes(f, s, lanes)
            if not s.masked:
                column = f.at(columns[0], f.mul(i.index, "%b_col"))
                total = one_by_one(f, s, total, (a, column), whole)
            there = f.at(place, f.mul(i.index, BYTES[s.acc]))
            grown = plus(f, s, f.load(s.acc, there), total, 1)
            f.store(s.acc, f.choose(grows, grown, total, register(s.acc)), there)
    return f.text()


def dots(f: Function, s: Scheme, a: str, columns: list[str], whole: str) -> list[str]:
    """The sums along k of a row times each of some columns, by lane; without masks, up to whole."""
    kind, count = register(s.acc, s.lanes), len(columns)
    starts = [(kind, "zeroinitializer")] * (2 * count)
    with f.loop(0, whole, 2 * s.lanes, *starts) as k:  # two sums each, since an add takes a while
        near = fold(f, s, (a, columns), k.index, k.values[:count])
        far = fold(f, s, (a, columns), f.add(k.index, s.lanes), k.values[count:])
        k.next = near + far
    pairs = zip(k.values[:count], k.values[count:], strict=True)
    sums = [plus(f, s, x, y, s.lanes) for x, y in pairs]
    if not s.masked:
        return sums
    with f.loop(whole, "%k", s.lanes, *((kind, total) for total in sums)) as k:
        mask = first(f, f.sub("%k", k.index), s.lanes)
        k.next = fold(f, s, (a, columns), k.index, k.values, mask)
    return k.values


def fold(
    f: Function,
    s: Scheme,
    operands: tuple[str, list[str]],
    index: str,
    sums: list[str],
    mask: str = "",
) -> list[str]:
    """The sums with one vector of each product more."""
    a, columns = operands
    along = f.mul(index, BYTES[s.source])
    left = element(f, s, f.at(a, along), s.lanes, mask)
    right = [element(f, s, f.at(column, along), s.lanes, mask) for column in columns]
    pairs = zip(right, sums, strict=True)
    return [multiply_add(f, s, left, x, total, s.lanes) for x, total in pairs]


def one_by_one(f: Function, s: Scheme, total: str, operands: tuple[str, str], begin: str) -> str:
    """The sum with the products from begin on, element by element."""
    with f.loop(begin, "%k", 1, (register(s.acc), total)) as k:
        along = f.mul(k.index, BYTES[s.source])
        left, right = (element(f, s, f.at(x, along), 1) for x in operands)
        k.next = [multiply_add(f, s, left, right, k.values[0], 1)]
    return k.values[0]


def across_lanes(f: Function, s: Scheme, total: str) -> str:
    """The sum of a vector's lanes, halves on halves."""
    scalar, lanes = REGISTER[s.acc], s.lanes
    kind = register(s.acc, lanes)
    name = suffix(scalar, lanes)
    if s.acc in FLOATS:
        call = (
            f"call reassoc {scalar} @llvm.vector.reduce.fadd.{name}({scalar} -0.0, {kind} {total})"
        )
        return f.assign(call)
    return f.assign(f"call {scalar} @llvm.vector.reduce.add.{name}({kind} {total})")
