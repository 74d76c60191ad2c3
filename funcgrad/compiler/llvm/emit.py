"""A kernel of the loop IR as one LLVM function: loops around expressions on explicit vectors, the
last indices under a mask, accumulators in registers.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from funcgrad.compiler.llvm import memory, transpose
from funcgrad.compiler.llvm.accumulators import Accumulators
from funcgrad.compiler.llvm.elements import register
from funcgrad.compiler.llvm.evaluation import Evaluation, Frame
from funcgrad.compiler.llvm.operations import Operations
from funcgrad.compiler.llvm.plan import Plans, power_of_two
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.width import widened
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import (
    Expr,
    Kernel,
    Loop,
    Prefix,
    Statement,
    Store,
)

# A loop of at most so many turns, and nodes in all of them, is written out turn by turn.
MOST_COPIES = 4
MOST_COPIED = 64

__all__ = ["Module", "Writer", "emit_kernel", "emit_scalars"]


def emit_scalars(
    writer: Writer,
    module: Module,
    target: Target,
    roots: Sequence[Expr],
    leaves: Mapping[Expr, str],
    lanes: int = 1,
) -> list[str]:
    """Straight-line code for expressions whose leaves have names; the names of the roots.

    A bool is an i1, f16 and bf16 are their bits in an i16; with `lanes` > 1 all are vectors.
    """
    return Operations(writer, module, target).expressions(roots, leaves, lanes)


def emit_kernel(
    module: Module, kernel: Kernel, name: str, target: Target, internal: bool = False
) -> None:
    """Add `void @name(ptr %args, i64 %begin, i64 %end)`, which runs a part of a kernel."""
    lines = _Function(module, kernel, target).lines()
    linkage = "internal " if internal else ""
    head = f"define {linkage}void @{name}(ptr %args, i64 %begin, i64 %end) nounwind {{\nentry:"
    module.functions.append("\n".join([head, *lines, "  ret void", "}"]))


class _Function:
    """Writes one kernel."""

    def __init__(self, module: Module, kernel: Kernel, target: Target):
        # The caller divides the outermost loop by the lanes that it had.
        self.lanes = kernel.body[0].lanes if isinstance(kernel.body[0], Loop) else 1
        self.kernel = kernel = widened(kernel, target)
        self.plans = Plans(kernel)
        self.state = Evaluation(kernel, self.plans, module, target, memory.read)
        self.accs = Accumulators(self.state, self.plans)

    def lines(self) -> list[str]:
        """The body of the function, without its last instruction."""
        state = self.state
        writer = state.at(0)
        for number in range(len(self.kernel.operands)):
            place = writer.assign(f"getelementptr ptr, ptr %args, i64 {number}")
            writer.emit(f"%p{number} = load ptr, ptr {place}, align 8")
        if self.kernel.divisible:
            (loop,) = self.kernel.body
            assert isinstance(loop, Loop)
            self._divisible(loop)
        else:
            self._statements(self.kernel.body)
        return state.frames[0].lines

    def _statements(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Loop):
                self._loop(statement)
                continue
            if isinstance(statement, Store) and statement.guard and self.state.lanes == 1:
                if statement.guard.op != "const":
                    self.state.under_guard(statement, partial(memory.store, self.state))
                    continue
            self.state.evaluate(statement)
            if isinstance(statement, Store):
                memory.store(self.state, statement)
            elif isinstance(statement, Prefix):
                self.accs.prefix(statement)
            else:
                self.accs.reduce(statement)

    # loops

    def _loop(self, loop: Loop) -> None:
        """All indices of a loop, whole vectors first; then what its accumulators came to."""
        extent, lanes = self.kernel.extents[loop.axis], loop.lanes
        for acc in loop.accs:
            self.accs.start(acc)
        outer = self.state.frames[-1]
        whole, rest = extent - extent % lanes, extent % lanes
        plan = self.plans.loops[id(loop)]
        few = extent <= MOST_COPIES and plan.nodes * extent <= MOST_COPIED
        if lanes == 1 and (few or transpose.is_tile(self.state, loop, plan.nodes)):
            for index in range(extent):
                self._append(outer, self._body(loop, index, 1, 1, outer.block))
            whole = 0
        if whole == lanes:
            self._append(outer, self._body(loop, 0, lanes, lanes, outer.block))
        elif whole:
            self._append(outer, self._repeat(loop, "0", str(whole), outer.block))
        if rest:
            last = self._body(loop, whole, power_of_two(rest), rest, outer.block)
            self._append(outer, last)
        self.accs.finish(loop.accs)

    def _append(self, outer: Frame, inner: Frame) -> None:
        outer.lines += inner.lines
        outer.block = inner.block

    def _divisible(self, loop: Loop) -> None:
        """The indices of the outermost loop that the caller asks for."""
        extent, lanes = self.kernel.extents[loop.axis], self.lanes
        whole, rest = extent - extent % lanes, extent % lanes
        if whole:
            start, stop = "%begin", "%end"
            if rest:
                stop = self.state.ops.intrinsic("umin", ("%end", str(whole)), "i64", 1)
            if loop.lanes > lanes:
                start = self._side_by_side(loop, start, stop)
                wide, loop = loop, loop._replace(lanes=lanes)
                self.plans.loops[id(loop)] = self.plans.loops[id(wide)]
            label = self.state.writer.label("some")
            inner = self._repeat(loop, start, stop, label)
            self._run_if(f"icmp ult i64 {start}, {stop}", label, inner)
        if rest:
            label = self.state.writer.label("last")
            inner = self._body(loop, whole, power_of_two(rest), rest, label)
            self._run_if(f"icmp eq i64 %end, {extent}", label, inner)

    def _side_by_side(self, loop: Loop, start: str, stop: str) -> str:
        """Several vectors at a time while there are as many; where that ends."""
        writer = self.state.at(0)
        distance = writer.assign(f"sub i64 {stop}, {start}")
        distance = self.state.ops.intrinsic("smax", (distance, "0"), "i64", 1)
        distance = writer.assign(f"and i64 {distance}, {-loop.lanes}")
        bound = writer.assign(f"add i64 {start}, {distance}")
        label = writer.label("wide")
        inner = self._repeat(loop, start, bound, label)
        self._run_if(f"icmp ult i64 {start}, {bound}", label, inner)
        return bound

    def _run_if(self, test: str, label: str, inner: Frame) -> None:
        """Blocks that begin with a label, run if the test holds; what they hoisted runs anyway."""
        outer, writer = self.state.frames[0], self.state.at(0)
        after = writer.label("after")
        writer.branch(writer.assign(test), label, after)
        writer.begin(label)
        outer.lines += inner.lines
        writer.jump(after)
        writer.begin(after)
        outer.block = after

    def _body(self, loop: Loop, base: int | str, lanes: int, live: int, block: str) -> Frame:
        """The body for `live` indices from `base` on, written after the start of a block."""
        state = self.state
        frame = Frame(block, self.plans.loops[id(loop)].stored)
        state.frames.append(frame)
        level = len(state.frames) - 1
        state.axes[loop.axis] = base, level
        outer_lanes = state.lane_axis, state.lane_level, state.lanes, state.live
        if lanes > 1:
            state.lane_axis, state.lane_level = loop.axis, level
            state.lanes, state.live = lanes, live
        self._statements(loop.body)
        state.lane_axis, state.lane_level, state.lanes, state.live = outer_lanes
        state.frames.pop()
        del state.axes[loop.axis]
        for node in frame.nodes:
            state.values.pop(node, None)
        return frame

    def _repeat(self, loop: Loop, start: str, stop: str, before: str) -> Frame:
        """The body for whole vectors of indices from start to stop, at least once."""
        writer, folded = self.state.writer, self.plans.loops[id(loop)].folded
        head, after, index = writer.label("loop"), writer.label("after"), writer.fresh()
        running = self.accs.running
        first = {acc: running[acc] for acc in folded}
        for acc in folded:
            running[acc] = first[acc]._replace(text=writer.fresh())
        phis = {acc: running[acc].text for acc in folded}
        frame = self._body(loop, index, loop.lanes, loop.lanes, head)
        following = writer.fresh()
        lines = [f"  br label %{head}", f"{head}:"]
        lines.append(f"  {index} = phi i64 [{start}, %{before}], [{following}, %{frame.block}]")
        for acc in folded:
            was, now = first[acc], running[acc]
            kind = register(was.dtype, was.lanes)
            ends = f"[{was.text}, %{before}], [{now.text}, %{frame.block}]"
            lines.append(f"  {phis[acc]} = phi {kind} {ends}")
        writer.lines = frame.lines
        writer.emit(f"{following} = add i64 {index}, {loop.lanes}")
        writer.branch(writer.assign(f"icmp ult i64 {following}, {stop}"), head, after)
        writer.begin(after)
        frame.lines[:0] = lines
        frame.block = after
        return frame
