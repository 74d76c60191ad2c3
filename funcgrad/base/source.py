"""Where in the user's code something happened: cheap to capture, text only when it is read."""

import linecache
import os
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_ours: dict[str, bool] = {}


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
    known = filename.startswith((_PACKAGE, "<funcgrad"))
    known = known or os.path.basename(filename) in ("contextlib.py", "functools.py")
    _is_ours[filename] = known
    return known


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
