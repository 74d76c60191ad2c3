"""Copies between layouts: an array of any strides, converted and rearranged so that the kernels of
a convolution find neighbours in memory where they want them."""

from typing import NamedTuple

from funcgrad.compiler.llvm.conv.places import Params, below, decoded
from funcgrad.compiler.llvm.conversions import narrow, widen
from funcgrad.compiler.llvm.elements import BYTES, HALVES, REGISTER
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.operations import Operations
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.writer import Module
from funcgrad.compiler.loops import BITS

# What is copied to what: the storage type to the one that products are summed in, and back.
PAIRS = (
    ("f32", "f32"),
    ("f64", "f64"),
    ("bf16", "f32"),
    ("f16", "f32"),
    ("f32", "bf16"),
    ("f32", "f16"),
)
OUTER = 4
# Indices run over (i0, i1, i2, i3, a, b), with strides in bytes. At i1 only the first
# `columns` - i1 * b of the b elements are there: the others become zeros.
COPY = Params(
    "source",
    "target",
    *(f"count{i}" for i in range(OUTER)),
    *(f"source{i}" for i in range(OUTER)),
    *(f"target{i}" for i in range(OUTER)),
    "count_a",
    "source_a",
    "target_a",
    "count_b",
    "source_b",
    "target_b",
    "columns",
    "grain",
)
ZERO = Params("target", "bytes")
ZERO_GRAIN = 1 << 14


class Pair(NamedTuple):
    """Two element types between which a module copies, so many elements at once."""

    source: str
    to: str
    lanes: int
    machine: Target

    def move(self, f: Function, where: str, there: str, lanes: int = 1) -> None:
        f.store(self.to, self.load(f, where, lanes), there, lanes)

    def load(self, f: Function, where: str, lanes: int) -> str:
        """Elements in the type they are copied to."""
        value, operations = f.load(self.source, where, lanes), Operations(f, Module(), self.machine)
        if self.source in HALVES:
            return widen(operations, value, self.source, lanes)
        return narrow(operations, value, self.to, lanes) if self.to in HALVES else value


def copy_module(target: Target, source: str, to: str) -> str:
    """The text of `fg_conv_copy_<source>_<to>`."""
    pair = Pair(source, to, min(target.lanes(source), target.lanes(to)), target)
    return "\n".join(
        [
            "declare void @fg_parallel(ptr, ptr, i64, i64)",
            _rows_function(pair),
            _turned_function(pair),
            _any_function(pair),
            _parts_function(pair),
            _entry_function(pair),
        ]
    )


def _rows_function(pair: Pair) -> str:
    """@rows(p, source, target, there, all): b is contiguous on both sides."""
    f = Function("rows", "ptr %p, ptr %from, ptr %to, i64 %there, i64 %all")
    first, second = BYTES[pair.source], BYTES[pair.to]
    sa, da = COPY.load(f, "%p", "source_a"), COPY.load(f, "%p", "target_a")
    lanes = pair.lanes
    whole = below(f, "%there", lanes)
    with f.loop(0, COPY.load(f, "%p", "count_a")) as a:
        row, out = f.at("%from", f.mul(a.index, sa)), f.at("%to", f.mul(a.index, da))
        with f.loop(0, whole, lanes) as b:
            where = f.at(row, f.mul(b.index, first))
            pair.move(f, where, f.at(out, f.mul(b.index, second)), lanes)
        _elements(f, pair, (row, first), (out, second), (whole, "%there"))
        _zeros(f, pair.to, out, second, ("%there", "%all"))
    return f.text()


def _elements(
    f: Function,
    pair: Pair,
    start: tuple[str, str | int],
    out: tuple[str, str | int],
    span: tuple[str | int, str],
) -> None:
    """Copies one by one, from and to (address, stride)."""
    with f.loop(*span) as i:
        where = f.at(start[0], f.mul(i.index, start[1]))
        pair.move(f, where, f.at(out[0], f.mul(i.index, out[1])))


def _zeros(f: Function, to: str, out: str, stride: str | int, span: tuple[str, str]) -> None:
    with f.loop(*span) as i:
        f.store(f"i{BITS[to]}", "0", f.at(out, f.mul(i.index, stride)))


def _turned_function(pair: Pair) -> str:
    """@turned(p, source, target, there, all): a is contiguous in the source, b in the target."""
    f = Function("turned", "ptr %p, ptr %from, ptr %to, i64 %there, i64 %all")
    first, second = BYTES[pair.source], BYTES[pair.to]
    sb, da = COPY.load(f, "%p", "source_b"), COPY.load(f, "%p", "target_a")
    count, lanes = COPY.load(f, "%p", "count_a"), pair.lanes
    whole_a, whole_b = below(f, count, lanes), below(f, "%there", lanes)
    with f.loop(0, whole_b, lanes) as b:
        with f.loop(0, whole_a, lanes) as a:
            corner = f.at("%from", f.add(f.mul(b.index, sb), f.mul(a.index, first)))
            rows = [pair.load(f, f.at(corner, f.mul(sb, k)), lanes) for k in range(lanes)]
            out = f.at("%to", f.add(f.mul(a.index, da), f.mul(b.index, second)))
            for k, value in enumerate(_transposed(f, rows, REGISTER[pair.to], lanes)):
                f.store(pair.to, value, f.at(out, f.mul(da, k)), lanes)
        with f.loop(b.index, f.add(b.index, lanes)) as b_left:
            column = f.at("%from", f.mul(b_left.index, sb))
            out = f.at("%to", f.mul(b_left.index, second))
            _elements(f, pair, (column, first), (out, da), (whole_a, count))
    with f.loop(whole_b, "%there") as b:
        column = f.at("%from", f.mul(b.index, sb))
        out = f.at("%to", f.mul(b.index, second))
        _elements(f, pair, (column, first), (out, da), (0, count))
    with f.loop(0, count) as a:
        _zeros(f, pair.to, f.at("%to", f.mul(a.index, da)), second, ("%there", "%all"))
    return f.text()


def _transposed(f: Function, vectors: list[str], kind: str, lanes: int) -> list[str]:
    """The rows of a square of vectors as its columns: each stage exchanges blocks off the diagonal
    (Eklundh 1972)."""
    vector = f"<{lanes} x {kind}>"
    step = 1
    while step < lanes:
        for i in range(lanes):
            if i & step:
                continue
            pair = f"{vector} {vectors[i]}, {vector} {vectors[i + step]}"
            upper = [k if not k & step else lanes + k - step for k in range(lanes)]
            lower = [k + step if not k & step else lanes + k for k in range(lanes)]
            made = []
            for mask in (upper, lower):
                text = ", ".join(f"i32 {k}" for k in mask)
                made.append(f.assign(f"shufflevector {pair}, <{lanes} x i32> <{text}>"))
            vectors[i], vectors[i + step] = made
        step *= 2
    return vectors


def _any_function(pair: Pair) -> str:
    """@scattered(p, source, target, there, all): any strides."""
    f = Function("scattered", "ptr %p, ptr %from, ptr %to, i64 %there, i64 %all")
    word = {n: COPY.load(f, "%p", n) for n in ("source_a", "target_a", "source_b", "target_b")}
    with f.loop(0, COPY.load(f, "%p", "count_a")) as a:
        row = f.at("%from", f.mul(a.index, word["source_a"]))
        out = f.at("%to", f.mul(a.index, word["target_a"]))
        ends = (row, word["source_b"]), (out, word["target_b"])
        _elements(f, pair, *ends, (0, "%there"))
        _zeros(f, pair.to, out, word["target_b"], ("%there", "%all"))
    return f.text()


def _parts_function(pair: Pair) -> str:
    """@parts(p, begin, end): the outer indices of those numbers."""
    f = Function("parts", "ptr %p, i64 %begin, i64 %end")
    word = {name: COPY.load(f, "%p", name) for name in COPY.names[2:]}
    start, target = COPY.address(f, "%p", "source"), COPY.address(f, "%p", "target")
    dense = f.test(word["target_b"], "eq", BYTES[pair.to])
    by_rows = f.all(dense, f.test(word["source_b"], "eq", BYTES[pair.source]))
    turns = f.all(dense, f.test(word["source_a"], "eq", BYTES[pair.source]))
    way = f.choose(by_rows, "@rows", f.choose(turns, "@turned", "@scattered", "ptr"), "ptr")
    with f.loop("%begin", "%end") as part:
        index = decoded(f, part.index, *(word[f"count{i}"] for i in range(1, OUTER)))
        here, there = start, target
        for i, at in enumerate(index):
            here = f.at(here, f.mul(at, word[f"source{i}"]))
            there = f.at(there, f.mul(at, word[f"target{i}"]))
        left = f.sub(word["columns"], f.mul(index[1], word["count_b"]))
        left = f.max(f.min(left, word["count_b"]), 0)
        all_of_them = word["count_b"]
        f.emit(f"call void {way}(ptr %p, ptr {here}, ptr {there}, i64 {left}, i64 {all_of_them})")
    return f.text()


def _entry_function(pair: Pair) -> str:
    f = Function(f"fg_conv_copy_{pair.source}_{pair.to}", "ptr %p", linkage="")
    total = COPY.load(f, "%p", "count0")
    for i in range(1, OUTER):
        total = f.mul(total, COPY.load(f, "%p", f"count{i}"))
    grain = COPY.load(f, "%p", "grain")
    f.emit(f"call void @fg_parallel(ptr @parts, ptr %p, i64 {total}, i64 {grain})")
    return f.text()


def zero_module(target: Target) -> str:
    """The text of `fg_conv_zero`, which fills bytes with zeros."""
    lanes = target.vector_bytes // 8
    f = Function("clear", "ptr %p, i64 %begin, i64 %end")
    to = ZERO.address(f, "%p", "target")
    whole = f.add("%begin", below(f, f.sub("%end", "%begin"), 8 * lanes))
    with f.loop("%begin", whole, 8 * lanes) as i:
        f.store("i64", "zeroinitializer", f.at(to, i.index), lanes)
    with f.loop(whole, "%end") as i:
        f.store("i8", "0", f.at(to, i.index))
    entry = Function("fg_conv_zero", "ptr %p", linkage="")
    count = ZERO.load(entry, "%p", "bytes")
    entry.emit(f"call void @fg_parallel(ptr @clear, ptr %p, i64 {count}, i64 {ZERO_GRAIN})")
    return "\n".join(["declare void @fg_parallel(ptr, ptr, i64, i64)", f.text(), entry.text()])
