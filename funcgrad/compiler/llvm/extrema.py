"""The min and max of float vectors where the machine's own instructions return their second operand
for a nan and for two zeros: both orders are taken, and the bits of the results put together.

They differ only there. A nan with the bits of anything added is a nan still. Of two zeros the min
has the sign that either has, the max the one that both have.
"""

from collections.abc import Sequence

from funcgrad.compiler.llvm.elements import BYTES, REGISTER, lane_list, splat, vector
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import Expr

# The table of the instruction on three operands for: at least two of three bits.
MAJORITY = 0xE8


def applies(target: Target, node: Expr, dtype: str, lanes: int) -> bool:
    """Whether a node is such a min or max; constants make others cheaper."""
    if node.op not in ("min", "max") or dtype not in ("f32", "f64"):
        return False
    return lanes > 1 and target.isa != "neon" and all(arg.op != "const" for arg in node.args)


def extremum(
    writer: Writer,
    module: Module,
    target: Target,
    op: str,
    args: Sequence[str],
    dtype: str,
    lanes: int,
) -> str:
    """The min or max of two vectors."""
    width = 8 * BYTES[dtype]
    kind, bits = vector(REGISTER[dtype], lanes), vector(f"i{width}", lanes)
    found = []
    for x, y in (args, tuple(reversed(args))):
        test = writer.assign(f"fcmp {'olt' if op == 'min' else 'ogt'} {kind} {x}, {y}")
        text = writer.assign(f"select {vector('i1', lanes)} {test}, {kind} {x}, {kind} {y}")
        found.append(writer.assign(f"bitcast {kind} {text} to {bits}"))
    if op == "min":
        total = writer.assign(f"or {bits} {found[0]}, {found[1]}")
    elif target.isa == "avx512" and lanes * width >= 128:
        total = _majorities(writer, module, found, width, lanes)
    else:
        unsigned = splat(f"i{width}", str((1 << width - 1) - 1), lanes)
        either = writer.assign(f"or {bits} {found[0]}, {found[1]}")
        both = writer.assign(f"and {bits} {found[0]}, {found[1]}")
        both = writer.assign(f"or {bits} {both}, {unsigned}")
        total = writer.assign(f"and {bits} {either}, {both}")
    return writer.assign(f"bitcast {bits} {total} to {kind}")


def _majorities(writer: Writer, module: Module, pair: Sequence[str], width: int, lanes: int) -> str:
    """The and of the sign bits and the or of the others, an instruction a machine vector."""
    size = min(512 // width, lanes)
    kind, bits = vector(f"i{width}", size), vector(f"i{width}", lanes)
    name = f"@llvm.x86.avx512.pternlog.{'d' if width == 32 else 'q'}.{size * width}"
    module.declare(f"declare {kind} {name}({kind}, {kind}, {kind}, i32 immarg)")
    unsigned = splat(f"i{width}", str((1 << width - 1) - 1), size)
    parts = []
    for start in range(0, lanes, size):
        taken = list(pair)
        if size < lanes:
            order = lane_list("i32", tuple(range(start, start + size)))
            taken = [
                writer.assign(f"shufflevector {bits} {p}, {bits} poison, <{size} x i32> {order}")
                for p in pair
            ]
        operands = ", ".join(f"{kind} {text}" for text in (*taken, unsigned))
        parts.append(writer.assign(f"call {kind} {name}({operands}, i32 {MAJORITY})"))
    while len(parts) > 1:
        size *= 2
        order = f"<{size} x i32> {lane_list('i32', tuple(range(size)))}"
        kind = vector(f"i{width}", size // 2)
        parts = [
            writer.assign(f"shufflevector {kind} {x}, {kind} {y}, {order}")
            for x, y in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]
