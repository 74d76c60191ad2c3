"""Where in the user's code something happened: cheap to capture, text only when it is read."""

import contextvars
import linecache
import os
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_ours: dict[str, bool] = {}
_excluded: list[str] = []


class Source(NamedTuple):
    """A place in a running function: its code object and the last instruction executed."""

    code: CodeType
    lasti: int

    @property
    def line(self) -> int:
        for start, stop, line in self.code.co_lines():
            if start <= self.lasti < stop and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def text(self) -> str:
        return linecache.getline(self.code.co_filename, self.line).strip()

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line} ({self.code.co_name})"

    def describe(self) -> str:
        """`file:line (function): source text`, the text left out where it cannot be found."""
        return f"{self}: {self.text}" if self.text else str(self)

    def __reduce__(self) -> tuple:
        return (Remembered, (str(self), self.text))


class Remembered(NamedTuple):
    """A Source that came out of a pickle: code objects do not travel, their description does."""

    where: str
    text: str

    def __str__(self) -> str:
        return self.where

    def describe(self) -> str:
        return f"{self.where}: {self.text}" if self.text else self.where


Place = Source | Remembered

# A NamedTuple's own constructor is a Python function, twice as slow as the tuple's.
_source: Callable[[tuple], Source] = partial(tuple.__new__, Source)


def _ours(filename: str) -> bool:
    known = filename.startswith((_PACKAGE, "<funcgrad", *_excluded))
    known = known or os.path.basename(filename) in ("contextlib.py", "functools.py")
    _is_ours[filename] = known
    return known


def register_exclusion(path: str) -> None:
    """Have a library's files, by how their paths begin, count as funcgrad's own.

    Errors and programs then name the line that called the library.
    """
    _excluded.append(path)
    _is_ours.clear()


def is_own_file(filename: str) -> bool:
    """Whether the code in that file is funcgrad's, or glue that it is called through."""
    known = _is_ours.get(filename)
    return _ours(filename) if known is None else known


def user_source(skipped: int = 0) -> Source | None:
    """The innermost frame that is not funcgrad's own, or None when there is none.

    The `skipped` nearest ones are known to be its own, the caller's first.
    """
    frame = sys._getframe(skipped + 1)
    while frame is not None:
        code = frame.f_code
        filename = code.co_filename
        ours = _is_ours.get(filename)
        if not (_ours(filename) if ours is None else ours):
            return _source((code, frame.f_lasti))
        frame = frame.f_back
    return None


# Set while a program is replayed: the line that its equation was first written at.
inherited_source: contextvars.ContextVar[Place | None] = contextvars.ContextVar(
    "inherited_source", default=None
)


def current_source() -> Place | None:
    """The user's line that counts now: the one a replayed equation came from, or this call's."""
    return inherited_source.get() or user_source()


def at_source(place: Place | None, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)` as if written at `place`, unless a line is inherited already."""
    token = inherited_source.set(inherited_source.get() or place)
    try:
        return function(*args, **kwargs)
    finally:
        inherited_source.reset(token)


class sources:
    """For replaying equations: in the block, a function says at which line the next was written."""

    __slots__ = ("token",)

    def __enter__(self) -> Callable[[Place | None], Any]:
        outer = inherited_source.get()
        self.token = inherited_source.set(outer)
        return inherited_source.set if outer is None else _keep_outer

    def __exit__(self, *exception: object) -> None:
        inherited_source.reset(self.token)


def _keep_outer(place: Place | None) -> None:
    """A line is inherited already, and stays."""


def mark_source(error: BaseException) -> None:
    """Add the user's own line to an error, once."""
    place = inherited_source.get() or user_source()
    if place is not None and not any("At " in n for n in getattr(error, "__notes__", ())):
        error.add_note(f"At {place.describe()}")


def function_name(f: object) -> str:
    """A readable name for any callable."""
    while hasattr(f, "func") and not hasattr(f, "__name__"):
        f = f.func  # type: ignore[attr-defined]
    return getattr(f, "__name__", None) or type(f).__name__


def function_place(f: object) -> str:
    """`name at file:line` of a Python function, its name alone for other callables."""
    name = function_name(f)
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__  # type: ignore[attr-defined]
    code = getattr(getattr(f, "func", f), "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name
