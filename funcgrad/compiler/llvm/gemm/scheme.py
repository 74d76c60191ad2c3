"""How a product of one element type is computed: what it is packed as, and one multiply-add.

    c[i, j] = sum over k of a[i, k] * b[k, j]

A *unit* is what one lane multiplies at a step: an element, or the `group` of neighbours along k
that a dot instruction takes. Sums have the type `acc`; at the end they are converted to `out`.
"""

from typing import NamedTuple

from funcgrad.compiler.llvm import conversions
from funcgrad.compiler.llvm.elements import BYTES, HALVES, REGISTER, register, suffix
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.operations import Operations
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.writer import Module
from funcgrad.compiler.loops import BITS, FLOATS

# Steps along k of a packed panel: with two vectors of 64 bytes a step, 32 KB, which stay in L1.
STEPS = 256
# Rows and vectors of a tile: as many sums as there are registers, less two or three.
TILES = {"avx512": (12, 2), "neon": (12, 2), "avx2": (6, 2), "sse2": (6, 2)}


class Scheme(NamedTuple):
    """How a product is computed on a Target; types are those of the loop IR."""

    target: Target
    source: str  # as it stands in memory
    out: str
    element: str  # as packed
    unit: str
    group: int
    acc: str
    method: str  # "fma", "mul", or what the dot instruction takes: "bf16", "pairs" or "quads"

    @property
    def rows(self) -> int:
        return TILES[self.target.isa][0]

    @property
    def vectors(self) -> int:
        return TILES[self.target.isa][1]

    @property
    def lanes(self) -> int:
        return self.target.lanes(self.acc)

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return self.lanes * self.vectors

    @property
    def masked(self) -> bool:
        """Whether loads and stores of part of a vector cost no more than whole ones."""
        return self.target.isa == "avx512"

    @property
    def plain(self) -> bool:
        """Whether operands can be computed on as they stand in memory."""
        return self.group == 1 and self.source == self.element

    @property
    def in_place(self) -> bool:
        """Whether sums can be kept where the result goes."""
        return REGISTER[self.out] == REGISTER[self.acc]

    @property
    def depth(self) -> int:
        """Elements along k of a packed panel."""
        return STEPS * self.group


def scheme(source: str, out: str, target: Target) -> Scheme:
    """The way to multiply elements of `source` into elements of `out`."""
    if source == "bf16" and target.bf16_dot:
        return Scheme(target, source, out, "bf16", "i32", 2, "f32", "bf16")
    if source in FLOATS:
        kind = "f64" if source == "f64" else "f32"
        return Scheme(target, source, out, kind, kind, 1, kind, "fma")
    if source == "i8" and target.int8_dot and target.isa == "avx512":
        return Scheme(target, source, out, "i8", "i32", 4, "i32", "quads")
    small = source in ("i8", "u8", "i16") or (source, BITS[out]) == ("u16", 16)
    if small and target.isa != "neon":
        return Scheme(target, source, out, "i16", "i32", 2, "i32", "pairs")
    kind = f"i{max(BITS[source], 32)}"
    return Scheme(target, source, out, kind, kind, 1, kind, "mul")


def convert(f: Function, s: Scheme, value: str, source: str, dtype: str, lanes: int) -> str:
    """Elements of one type as another; integers of one width are the same bits."""
    if source == dtype or (REGISTER[source] == REGISTER[dtype] and source not in HALVES):
        return value
    operations = Operations(f, Module(), s.target)
    if source in HALVES and dtype == "f32":
        return conversions.widen(operations, value, source, lanes)
    return conversions.convert(operations, value, source, dtype, lanes)


def splat(f: Function, dtype: str, scalar: str, lanes: int) -> str:
    """Copies of one value, a lane each."""
    if lanes == 1:
        return scalar
    kind = register(dtype, lanes)
    one = f.assign(f"insertelement {kind} poison, {REGISTER[dtype]} {scalar}, i32 0")
    zeros = f"<{lanes} x i32> zeroinitializer"
    return f.assign(f"shufflevector {kind} {one}, {kind} poison, {zeros}")


def first(f: Function, count: str, lanes: int) -> str:
    """The mask of the lanes below `count`, which may be any number."""
    narrow = f.assign(f"trunc i64 {f.min(f.max(count, 0), lanes)} to i32")
    ramp = ", ".join(f"i32 {i}" for i in range(lanes))
    vector = f"<{lanes} x i32>"
    return f.assign(f"icmp sgt {vector} {splat(f, 'i32', narrow, lanes)}, <{ramp}>")


def masked_load(f: Function, dtype: str, pointer: str, mask: str, lanes: int) -> str:
    """The lanes of the mask, and zeros in the others."""
    kind = register(dtype, lanes)
    return f.assign(
        f"call {kind} @llvm.masked.load.{suffix(REGISTER[dtype], lanes)}.p0(ptr {pointer}, "
        f"i32 {BYTES[dtype]}, <{lanes} x i1> {mask}, {kind} zeroinitializer)"
    )


def masked_store(f: Function, dtype: str, value: str, pointer: str, mask: str, lanes: int) -> None:
    name = f"@llvm.masked.store.{suffix(REGISTER[dtype], lanes)}.p0"
    f.emit(
        f"call void {name}({register(dtype, lanes)} {value}, ptr {pointer}, "
        f"i32 {BYTES[dtype]}, <{lanes} x i1> {mask})"
    )


def plus(f: Function, s: Scheme, x: str, y: str, lanes: int) -> str:
    """The sum of two sums."""
    operation = "fadd" if s.acc in FLOATS else "add"
    return f.assign(f"{operation} {register(s.acc, lanes)} {x}, {y}")


def multiply_add(f: Function, s: Scheme, x: str, y: str, z: str, lanes: int) -> str:
    """x * y + z for elements of the sums' type, rounded once where the Target can."""
    kind = register(s.acc, lanes)
    if s.acc in FLOATS and s.target.fma:
        name = suffix(REGISTER[s.acc], lanes)
        return f.assign(f"call {kind} @llvm.fma.{name}({kind} {x}, {kind} {y}, {kind} {z})")
    times = "fmul" if s.acc in FLOATS else "mul"
    return plus(f, s, f.assign(f"{times} {kind} {x}, {y}"), z, lanes)


def step(f: Function, s: Scheme, x: str, y: str, z: str) -> str:
    """x . y + z for vectors of units."""
    if s.group == 1:
        return multiply_add(f, s, x, y, z, s.lanes)
    sums = register(s.acc, s.lanes)
    scalar = "bfloat" if s.method == "bf16" else REGISTER[s.element]
    parts = f"<{s.lanes * s.group} x {scalar}>"
    x, y = (f.assign(f"bitcast {register(s.unit, s.lanes)} {v} to {parts}") for v in (x, y))
    name = {
        "bf16": "avx512bf16.dpbf16ps.512",
        "pairs": "avx512.vpdpwssd.512",
        "quads": "avx512.vpdpbusd.512",
    }[s.method]
    if s.method != "pairs" or (s.masked and s.target.int8_dot):
        return f.assign(f"call {sums} @llvm.x86.{name}({sums} {z}, {parts} {x}, {parts} {y})")
    names = {"avx512": "avx512.pmaddw.d.512", "avx2": "avx2.pmadd.wd", "sse2": "sse2.pmadd.wd"}
    call = f"call {sums} @llvm.x86.{names[s.target.isa]}({parts} {x}, {parts} {y})"
    return plus(f, s, f.assign(call), z, s.lanes)
