"""Accumulators: registers that a loop carries. One that lanes fold into apart is folded across them
after its loop, always in the same order; one whose partial results count is the same in all lanes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.llvm.elements import (
    REGISTER,
    constant,
    lane_list,
    literal,
    register,
    splat,
)
from funcgrad.compiler.llvm.evaluation import Evaluation, Value
from funcgrad.compiler.llvm.plan import Group, Plans
from funcgrad.compiler.loops import Acc, Prefix, Reduce


class Running(NamedTuple):
    """The present value of an accumulator inside its loop."""

    text: str
    lanes: int
    dtype: str
    across: bool  # whether its lanes are folded together after its loop
    alike: bool  # whether it is the same in all lanes


class Accumulators:
    """The accumulators of the loops being written."""

    def __init__(self, state: Evaluation, plans: Plans):
        self.state, self.plans = state, plans
        self.running: dict[int, Running] = {}

    def start(self, acc: Acc) -> None:
        """Before the loop of an accumulator; one that is folded across lanes starts neutral."""
        number, dtype = acc.number, acc.dtype
        widths = self.plans.widths.get(number, {1})
        lanes, across, alike, start = self.state.lanes, False, False, acc.start
        if lanes == 1 and len(widths) == 1:
            (lanes,) = widths
            alike = number in self.plans.prefixed
            across = lanes > 1 and not alike
            if across:
                group = self.plans.groups[number]
                start = group.combine.identity[group.accs.index(number)]
        self.running[number] = Running(constant(start, dtype, lanes), lanes, dtype, across, alike)

    def finish(self, accs: Sequence[Acc]) -> None:
        """After the loop of accumulators: lanes that share one are folded together."""
        starts = {acc.number: literal(acc.start, acc.dtype) for acc in accs}
        level = len(self.state.frames) - 1
        self.state.at(level)
        for number in starts:
            run = self.running.pop(number, None)
            if run is None:
                continue
            if run.across:
                group = self.plans.groups[number]
                texts = [run.text if a == number else self.running.pop(a).text for a in group.accs]
                texts = self._across(group, texts, run.lanes)
                neutral = [literal(i, d) for i, d in zip(group.combine.identity, group.dtypes)]
                first = [starts[acc] for acc in group.accs]
                if first != neutral:
                    texts = self._combined(group, first, texts, 1)
                for acc, text in zip(group.accs, texts):
                    self.state.finished[acc] = Value(text, 1, level)
            elif run.alike:
                text = self._spread(run.text, run.dtype, run.lanes, 0, 1)
                self.state.finished[number] = Value(text, 1, level)
            else:
                self.state.finished[number] = Value(run.text, run.lanes, level)

    def reduce(self, statement: Reduce) -> None:
        """Fold values that have been evaluated into accumulators."""
        state, group = self.state, self.plans.groups[statement.accs[0]]
        runs = [self.running[acc] for acc in statement.accs]
        lanes, have, across = runs[0].lanes, state.lanes, runs[0].across
        values = [state.operand(v, have, v.dtype) for v in statement.values]
        state.at(len(state.frames) - 1)
        if across and have < lanes:
            values = self._padded(group, values, have, lanes)
        elif (across or lanes < have) and state.live < have:
            values = self._masked(group, values, have)
        if lanes < have:
            values = self._across(group, values, have)
        results = self._combined(group, [run.text for run in runs], values, lanes)
        for acc, run, text in zip(statement.accs, runs, results):
            self.running[acc] = run._replace(text=text)

    def prefix(self, statement: Prefix) -> None:
        """Fold values in, and have the accumulators read as what that comes to at each index."""
        state, group = self.state, self.plans.groups[statement.accs[0]]
        runs = [self.running[acc] for acc in statement.accs]
        lanes, wide, last = state.lanes, runs[0].lanes, state.live - 1
        values = [state.operand(v, lanes, v.dtype) for v in statement.values]
        level = len(state.frames) - 1
        state.at(level)
        before = [run.text for run in runs]
        if runs[0].alike and wide > 1:
            values = self._scanned(group, values, lanes)
            ends = [self._spread(v, d, lanes, last, wide) for v, d in zip(values, group.dtypes)]
            after = self._combined(group, before, ends, wide)
            before = [self._spread(run.text, run.dtype, wide, 0, lanes) for run in runs]
            results = self._combined(group, before, values, lanes)
        else:
            after = results = self._combined(group, before, values, lanes)
        for acc, run, text, result in zip(statement.accs, runs, after, results):
            self.running[acc] = run._replace(text=text)
            state.finished[acc] = Value(result, lanes, level)

    def _scanned(self, group: Group, values: Sequence[str], lanes: int) -> list[str]:
        """What the values up to each lane come to: lanes that cover ever more of those before."""
        found, distance = list(values), 1
        while distance < lanes:
            picked = tuple(lanes if k < distance else k - distance for k in range(lanes))
            order = f"<{lanes} x i32> {lane_list('i32', picked)}"
            before = []
            for text, dtype, identity in zip(found, group.dtypes, group.combine.identity):
                kind, neutral = register(dtype, lanes), constant(identity, dtype, lanes)
                moved = f"shufflevector {kind} {text}, {kind} {neutral}, {order}"
                before.append(self.state.writer.assign(moved))
            found = self._combined(group, before, found, lanes)
            distance *= 2
        return found

    def _spread(self, text: str, dtype: str, lanes: int, lane: int, wanted: int) -> str:
        """One lane in as many as are wanted."""
        kind = register(dtype, lanes)
        if lanes == 1:
            return self.state.ops.broadcast(text, kind, wanted) if wanted > 1 else text
        if wanted == 1:
            return self.state.writer.assign(f"extractelement {kind} {text}, i64 {lane}")
        order = f"<{wanted} x i32> {splat('i32', str(lane), wanted)}"
        return self.state.writer.assign(f"shufflevector {kind} {text}, {kind} poison, {order}")

    def _combined(
        self, group: Group, first: Sequence[str], second: Sequence[str], lanes: int
    ) -> list[str]:
        leaves = dict(zip(group.combine.params, (*first, *second), strict=True))
        return self.state.ops.expressions(group.combine.results, leaves, lanes)

    def _across(self, group: Group, texts: Sequence[str], lanes: int) -> list[str]:
        """All lanes folded into one, the upper half onto the lower each time."""
        writer, found = self.state.writer, list(texts)
        while lanes > 1:
            half = lanes // 2
            low: list[str] = []
            high: list[str] = []
            for text, dtype in zip(found, group.dtypes):
                kind = register(dtype, lanes)
                for part, first in ((low, 0), (high, half)):
                    if half == 1:
                        taken = f"extractelement {kind} {text}, i64 {first}"
                    else:
                        order = lane_list("i32", tuple(range(first, first + half)))
                        order = f"<{half} x i32> {order}"
                        taken = f"shufflevector {kind} {text}, {kind} poison, {order}"
                    part.append(writer.assign(taken))
            found = self._combined(group, low, high, half)
            lanes = half
        return found

    def _masked(self, group: Group, values: Sequence[str], lanes: int) -> list[str]:
        """Values with what changes nothing in the lanes that stand for no index."""
        state, found = self.state, []
        mask = state.mask()
        assert mask is not None
        for value, dtype, identity in zip(values, group.dtypes, group.combine.identity):
            neutral = constant(identity, dtype, lanes)
            found.append(state.ops.choose(mask, value, neutral, REGISTER[dtype], lanes))
        return found

    def _padded(self, group: Group, values: Sequence[str], have: int, lanes: int) -> list[str]:
        """Values in the first lanes of wider vectors, and what changes nothing in the others."""
        state, found = self.state, []
        live = state.live if have > 1 else 1
        picked = [lane if lane < live else have for lane in range(lanes)]
        for value, dtype, identity in zip(values, group.dtypes, group.combine.identity):
            kind, narrow = register(dtype, lanes), register(dtype, have)
            if have == 1:
                neutral = constant(identity, dtype, lanes)
                text = f"insertelement {kind} {neutral}, {narrow} {value}, i64 0"
            else:
                neutral = constant(identity, dtype, have)
                order = f"<{lanes} x i32> {lane_list('i32', tuple(picked))}"
                text = f"shufflevector {narrow} {value}, {narrow} {neutral}, {order}"
            found.append(state.writer.assign(text))
        return found
