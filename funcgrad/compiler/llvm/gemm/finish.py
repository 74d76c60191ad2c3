"""What follows a product: old values of c, the bias, what the flags ask for, the type of c."""

from funcgrad.compiler.llvm.elements import BYTES, constant, register
from funcgrad.compiler.llvm.gemm.road import RELU, Road
from funcgrad.compiler.llvm.gemm.scheme import (
    Scheme,
    convert,
    first,
    masked_load,
    masked_store,
    plus,
)
from funcgrad.compiler.loops import FLOATS


def finish(s: Scheme) -> str:
    """The function behind `Road.finish`."""
    f = Road("finish", "ptr %s, ptr %acc, i64 %acc_row, i64 %row, i64 %rows, i64 %col, i64 %cols")
    bias, flags, accumulate, c_row = f.get("bias", "flags", "accumulate", "c_row")
    tests = {"bias": f.test(bias, "ne", 0), "accumulate": f.test(accumulate, "ne", 0)}
    tests["relu"] = f.test(f.assign(f"and i64 {flags}, {RELU}"), "ne", 0)
    if s.in_place:
        f.leave_when(f.all(f.negate(tests["bias"]), f.test(flags, "eq", 0)))
    along = f.mul("%col", BYTES[s.out])
    if s.in_place:
        c, c_row = "%acc", "%acc_row"
    else:
        c = f.at(f.at(f.pointer("c"), along), f.mul("%row", c_row))
    bias = f.choose(tests["bias"], f.at(f.pointer("bias"), along), c, "ptr")
    whole = "%cols" if s.masked else f.mul(f.div("%cols", s.lanes), s.lanes)
    with f.loop(0, "%rows", 1, ("ptr", "%acc"), ("ptr", c)) as row:
        row_of_sums, row_of_c = row.values
        for begin, end, lanes in (("0", whole, s.lanes), (whole, "%cols", 1)):
            if begin == end == "%cols":
                continue
            with f.loop(begin, end, lanes) as col:
                mask = first(f, f.sub(end, col.index), lanes) if s.masked else ""
                here = f.mul(col.index, BYTES[s.out])
                sums = fetch(
                    f, s.acc, f.at(row_of_sums, f.mul(col.index, BYTES[s.acc])), lanes, mask
                )
                place = f.at(row_of_c, here)
                others = {"accumulate": place, "bias": f.at(bias, here)}
                value = result(f, s, sums, others, lanes, mask, tests)
                if mask:
                    masked_store(f, s.out, value, place, mask, lanes)
                else:
                    f.store(s.out, value, place, lanes)
        row.next = [f.at(row_of_sums, "%acc_row"), f.at(row_of_c, c_row)]
    return f.text()


def fetch(f: Road, dtype: str, pointer: str, lanes: int, mask: str) -> str:
    if mask:
        return masked_load(f, dtype, pointer, mask, lanes)
    return f.load(dtype, pointer, lanes)


def result(
    f: Road,
    s: Scheme,
    value: str,
    others: dict[str, str],
    lanes: int,
    mask: str,
    tests: dict[str, str],
) -> str:
    """Some sums as elements of c; `others` is where what may be added to them stands."""
    kind, zero = register(s.acc, lanes), constant(0, s.acc, lanes)
    for name, pointer in others.items():
        if name == "accumulate" and s.in_place:
            continue
        other = convert(f, s, fetch(f, s.out, pointer, lanes, mask), s.out, s.acc, lanes)
        value = f.choose(tests[name], plus(f, s, value, other, lanes), value, kind)
    below = "fcmp olt" if s.acc in FLOATS else "icmp slt"
    negative = f.assign(f"{below} {kind} {value}, {zero}")
    bits = f"<{lanes} x i1>" if lanes > 1 else "i1"
    clipped = f.assign(f"select {bits} {negative}, {kind} {zero}, {kind} {value}")
    value = f.choose(tests["relu"], clipped, value, kind)
    return convert(f, s, value, s.acc, s.out, lanes)
