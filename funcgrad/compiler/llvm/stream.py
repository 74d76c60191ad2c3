"""Reading ahead: reductions along rows do so little with each line that the machine's own
prefetching comes too late.
"""

from funcgrad.compiler.llvm.elements import BYTES
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import Kernel, Loop, Reduce, ordered, roots, walk

# Bytes of an operand from which it does not lie near, and how far ahead its lines are asked for.
LARGE = 1 << 20
AHEAD = 4096
LINE = 64
# Nodes of a body that takes longer than its lines.
MOST_NODES = 24
ASK = "@llvm.prefetch.p0"


def streamed(kernel: Kernel) -> frozenset[int]:
    """The operands that a kernel's one vector loop only folds, and that are large."""
    loops = [s for s in walk(kernel.body) if isinstance(s, Loop)]
    folds = [s for s in walk(kernel.body) if isinstance(s, Reduce)]
    wide = [loop for loop in loops if loop.lanes > 1]
    if len(wide) != 1 or not folds or not all(isinstance(s, Reduce) for s in wide[0].body):
        return frozenset()
    nodes = ordered([e for s in folds for e in roots(s)])
    found = set()
    for node in nodes if len(nodes) <= MOST_NODES else ():
        if node.op == "read" and dict(node.data[2]).get(wide[0].axis) == 1:
            reach = sum(abs(c) * (kernel.extents[a] - 1) for a, c in node.data[2])
            if reach * BYTES[node.dtype] >= LARGE:
                found.add(node.data[0])
    return frozenset(found)


def ask_ahead(writer: Writer, module: Module, pointer: str, nbytes: int) -> None:
    """Have the lines that come a while after these bytes fetched."""
    module.declare(f"declare void {ASK}(ptr, i32 immarg, i32 immarg, i32 immarg)")
    for line in range(0, nbytes, LINE):
        place = writer.assign(f"getelementptr i8, ptr {pointer}, i64 {AHEAD + line}")
        writer.emit(f"call void {ASK}(ptr {place}, i32 0, i32 3, i32 1)")
