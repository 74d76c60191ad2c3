"""The compile log: one line for each program compiled, with what it became and where time went."""

import logging
import threading
import weakref
from collections import deque
from time import perf_counter
from typing import Any

from funcgrad.base.config import config
from funcgrad.compiler.executable import Executable
from funcgrad.compiler.native import NativeExecutable
from funcgrad.ir.jaxpr import ClosedJaxpr

_log = logging.getLogger("funcgrad.compile")
# Traces and compilations under way that are remembered; those that failed are never finished.
MOST_OPEN = 64


class Compilation:
    """A compilation under way: when the last stage ended, and what each has taken."""

    def __init__(self, program: ClosedJaxpr):
        self.program = program
        self.last = perf_counter()
        self.seconds: dict[str, float] = {}
        self.kept: list[bool] = []

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.last = now


class _Open(threading.local):
    """What this thread is tracing and compiling, outermost first."""

    def __init__(self) -> None:
        # By identity: a trace that fails must not keep its function alive.
        self.traces: deque[tuple[int, float]] = deque(maxlen=MOST_OPEN)
        self.compilations: deque[Compilation] = deque(maxlen=MOST_OPEN)


_open = _Open()
_trace_seconds: "weakref.WeakKeyDictionary[ClosedJaxpr, float]" = weakref.WeakKeyDictionary()


def on_event(event: str, details: dict[str, Any]) -> None:
    """Follow traces and compilations, and log each that ends."""
    if event == "trace":
        _open.traces.append((id(details["function"]), perf_counter()))
    elif event == "traced":
        while _open.traces:
            function, start = _open.traces.pop()
            if function == id(details["function"]):
                _trace_seconds[details["program"]] = perf_counter() - start
                break
    elif event == "compile":
        _open.compilations.append(Compilation(details["program"]))
    elif event == "compiled":
        while _open.compilations:
            compilation = _open.compilations.pop()
            if compilation.program is details["program"]:
                _report(compilation, details["executable"])
                break
    elif _open.compilations:
        if event == "stage":
            _open.compilations[-1].stage(details["name"])
        elif event == "object":
            _open.compilations[-1].kept.append(details["kept"])


def _report(compilation: Compilation, executable: Any) -> None:
    level = logging.WARNING if config.log_compiles else logging.DEBUG
    if _log.isEnabledFor(level):
        _log.log(level, "%s", told(compilation, executable))


def told(compilation: Compilation, executable: Executable | NativeExecutable) -> str:
    """The line about one compilation."""
    program = compilation.program
    types = ", ".join(a.str_short() for a in program.in_avals) or "no arguments"
    before, after = len(program.eqns), len(executable.program.eqns)
    name = program.jaxpr.debug_info.function.removesuffix(" for jit")
    text = f"compiled {name} ({types}): {_count(before, 'equation')}"
    if after != before:
        text += f", {after} after passes"
    seconds = dict(compilation.seconds)
    if program in _trace_seconds:
        seconds = {"trace": _trace_seconds[program], **seconds}
    if isinstance(executable, NativeExecutable):
        native = executable.native
        calls = sum(s.startswith(("fg_matmul", "fg_conv")) for s in native.symbols)
        text += (
            f" -> {_count(len(native.kernels), 'kernel')}, {_count(calls, 'library function')}, "
            f"{_count(len(native.host_calls), 'host step')}"
        )
        source = "from disk" if compilation.kept[:1] == [True] else "made anew"
        text += f"; code {source}"
        made = compilation.kept[1:].count(False)
        if made:
            text += f", {_count(made, 'library')} too"
    else:
        text += f" -> {_count(len(executable.steps), 'step')} of the array library"
    times = ", ".join(f"{name} {1000 * spent:.1f} ms" for name, spent in seconds.items())
    return f"{text}; {times}"


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
