"""Members of an axis as threads of one process, exchanging values at barriers."""

import threading
from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

import numpy as np


class ThreadGroup:
    """The meeting place of the threads along one axis."""

    def __init__(self, size: int):
        self.size = size
        self.slots: list[Any] = [None] * size
        self.meeting = threading.Barrier(size)

    def member(self, index: int) -> "ThreadCommunicator":
        return ThreadCommunicator(self, index)


class ThreadCommunicator:
    """One thread's end: puts its value in its slot, waits, reads the others', waits again."""

    def __init__(self, group: ThreadGroup, index: int):
        self._group = group
        self._index = index
        self.size = group.size

    def index(self) -> int:
        return self._index

    def barrier(self) -> None:
        self._group.meeting.wait()

    def exchange(self, value: Any) -> list[Any]:
        """The values of all members, in their order."""
        self._group.slots[self._index] = value
        self.barrier()
        values = list(self._group.slots)
        self.barrier()
        return values

    def _peers(self, groups: Sequence | None) -> Sequence[int]:
        if groups is None:
            return range(self.size)
        return next(g for g in groups if self._index in g)

    def gather(self, value: Any, groups: Sequence | None) -> list[Any]:
        values = self.exchange(value)
        return [values[i] for i in self._peers(groups)]

    def reduce(self, value: Any, combine: Callable, groups: Sequence | None) -> Any:
        """Combined in the members' order by each of them, so all get the same bits."""
        return fold(combine, self.gather(value, groups))

    def scatter_reduce(self, value: Any, combine: Callable, groups: Sequence | None) -> Any:
        """Row i of the combined values, for the i-th member of the group."""
        peers = list(self._peers(groups))
        place = peers.index(self._index)
        return fold(combine, [v[place] for v in self.gather(value, groups)])

    def all_to_all(self, value: Any, groups: Sequence | None) -> list[Any]:
        """This member's row of every member's value."""
        place = list(self._peers(groups)).index(self._index)
        return [v[place] for v in self.gather(value, groups)]

    def permute(self, value: Any, pairs: Sequence[tuple[int, int]]) -> Any:
        values = self.exchange(value)
        source = next((s for s, d in pairs if d == self._index), None)
        return np.zeros_like(value) if source is None else values[source]

    def broadcast(self, value: Any, root: int) -> Any:
        return self.exchange(value)[root]

    def abort(self, error: BaseException) -> None:
        self._group.meeting.abort()
