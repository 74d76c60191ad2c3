"""Named axes: which names are bound here, how long each axis is, and who answers for it.

`vmap(axis_name=...)` binds a name to its batching trace; `pmap` binds one to a communicator, the
object through which the devices along the axis talk to each other.
"""

import contextlib
import contextvars
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from funcgrad.base.errors import UnboundAxisNameError

AxisName = Hashable


class Communicator(Protocol):
    """What a collective asks of the devices along one axis; values are NumPy or CuPy arrays.

    Every method is called by all members of a group, with equal shapes and dtypes. `groups`
    partitions the members (None: all of them together), each a tuple of member indices.
    """

    size: int

    def index(self) -> int: ...
    def barrier(self) -> None: ...
    def reduce(self, value: Any, combine: Callable, groups: Sequence | None) -> Any: ...
    def gather(self, value: Any, groups: Sequence | None) -> Any: ...
    def scatter_reduce(self, value: Any, combine: Callable, groups: Sequence | None) -> Any: ...
    def all_to_all(self, value: Any, groups: Sequence | None) -> Any: ...
    def permute(self, value: Any, pairs: Sequence[tuple[int, int]]) -> Any: ...
    def broadcast(self, value: Any, root: int) -> Any: ...
    def abort(self, error: BaseException) -> None: ...


@dataclass(frozen=True)
class Axis:
    """One bound name: its size, who bound it, and who answers while a program runs."""

    name: AxisName
    size: int
    bound_by: str = "vmap"
    communicator: Communicator | None = field(default=None, compare=False)


_bound: contextvars.ContextVar[tuple[Axis, ...]] = contextvars.ContextVar("axes", default=())


def bound_axes() -> tuple[Axis, ...]:
    """The axes bound here, outermost first."""
    return _bound.get()


def find_axis(name: AxisName, asked_by: str = "this collective") -> Axis:
    """The innermost axis of that name; raises UnboundAxisNameError listing the names there are."""
    for axis in reversed(_bound.get()):
        if axis.name == name:
            return axis
    names = ", ".join(repr(a.name) for a in _bound.get()) or "none"
    raise UnboundAxisNameError(
        f"{asked_by} asked for axis name {name!r}, which is an unbound axis name here: the bound "
        f"names are {names}. Bind it with vmap(f, axis_name={name!r}) or "
        f"pmap(f, axis_name={name!r}) around the call."
    )


@contextlib.contextmanager
def bind_axis(axis: Axis) -> Iterator[None]:
    """Bind one more name for the duration of the block."""
    token = _bound.set((*_bound.get(), axis))
    try:
        yield
    finally:
        _bound.reset(token)


class Effect:
    """What an equation does besides computing its outputs."""


@dataclass(frozen=True)
class NamedAxisEffect(Effect):
    """An equation with this effect speaks to the other members of the named axis."""

    name: AxisName

    def __str__(self) -> str:
        return f"NamedAxis({self.name!r})"
