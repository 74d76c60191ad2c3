"""Reading ahead: reductions along rows do so little with each line that the machine's own
prefetching comes too late.
"""

from funcgrad.compiler.llvm.elements import BYTES
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import Kernel, Loop, Reduce, ordered, roots, walk

# Bytes of an operand from which it does not lie near, and how far ahead its lines are asked for.
LARGE = 1 << 20
AHEAD = 1 << 14
LINE = 64
# Nodes of a body that takes longer than its lines.
MOST_NODES = 24
ASK = "@llvm.prefetch.p0"


def streamed(kernel: Kernel) -> set[int]:
    """The large operands that a vector loop which only folds is the first to read."""
    known: set[int] = set()
    found: set[int] = set()
    for loop in walk(kernel.body):
        if not isinstance(loop, Loop) or any(isinstance(s, Loop) for s in loop.body):
            continue
        nodes = ordered([e for s in loop.body for e in roots(s)])
        reads = [node.data for node in nodes if node.op == "read"]
        folds = all(isinstance(s, Reduce) for s in loop.body)
        if loop.lanes > 1 and folds and len(nodes) <= MOST_NODES:
            for operand, _, terms, *_ in reads:
                reach = sum(abs(c) * (kernel.extents[a] - 1) for a, c in terms)
                large = reach * BYTES[kernel.operands[operand].dtype] >= LARGE
                if large and operand not in known and dict(terms).get(loop.axis) == 1:
                    found.add(operand)
        known.update(data[0] for data in reads)
    return found


def ask_ahead(writer: Writer, module: Module, pointer: str, nbytes: int) -> None:
    """Have the lines that come a while after these bytes fetched."""
    module.declare(f"declare void {ASK}(ptr, i32 immarg, i32 immarg, i32 immarg)")
    for line in range(0, nbytes, LINE):
        place = writer.assign(f"getelementptr i8, ptr {pointer}, i64 {AHEAD + line}")
        writer.emit(f"call void {ASK}(ptr {place}, i32 0, i32 3, i32 1)")
