"""What checkpoint policies may answer about a value, in place of True and False."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Decision:
    """Whether a value is saved or computed again; true and false accordingly."""

    name: str
    saved: bool

    def __bool__(self) -> bool:
        return self.saved

    def __repr__(self) -> str:
        return self.name


Saveable = Decision("Saveable", True)
Recompute = Decision("Recompute", False)


@dataclass(frozen=True)
class Offloadable:
    """The answer of a checkpoint policy that a value be kept in another memory.

    The value is saved. All arrays are in host memory already, so nothing is moved.

    Args:
        src, dst: the kinds of memory that it is in and should be kept in, such as "device" and
            "pinned_host".
    """

    src: Any
    dst: Any
