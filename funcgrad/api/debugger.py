"""breakpoint: a debugger that opens when the program runs, with the values of traced variables.

The frames above a breakpoint are written down while the program is traced, and end with that; what
their local variables hold is passed to a callback, which fills the values in and reads commands.
"""

import cmd
import linecache
import pprint
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import IO, Any

from funcgrad.api.callbacks import debug_callback
from funcgrad.base.source import is_own_file
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import tree_map

BACKENDS = (None, "cli")
# Lines of source shown before and after the one that a frame stands at.
CONTEXT = 5


@dataclass(frozen=True)
class Frame:
    """A frame as it was when the breakpoint was traced."""

    file: str
    line: int
    function: str
    variables: dict[str, Any]
    names: dict[str, Any]  # the globals

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    """Open a debugger here, when the program runs, on the frames that lead here.

    Expressions see the variables of a frame, traced ones with their values; `help` lists the
    commands. Under `vmap` it opens for each member, under `grad` with the primal values.

    Args:
        backend: "cli", a debugger in the terminal; None chooses it too.
        filter_frames: whether to leave out funcgrad's own frames.
        num_frames: how many frames to keep, the innermost first; None keeps all.
        ordered: whether it keeps its order among ordered effects.
        token: a pytree of arrays; the debugger opens only after they have been computed.
        kwargs: `stdin` and `stdout`, files to use in place of the terminal.

    Returns:
        The token, unchanged.

    Raises:
        ValueError: for another backend, or if there is no frame to show.
        SystemExit: when the program runs, if the user quits.

    Source: `jax.debug.breakpoint`. Different here: an unknown backend is an error, any statement
    may be entered, and a breakpoint whose token is not used later opens all the same.
    """
    if backend not in BACKENDS:
        raise ValueError(f"debug.breakpoint: the backend is 'cli' or None, got {backend!r}")
    unknown = kwargs.keys() - {"stdin", "stdout"}
    if unknown:
        raise TypeError(f"debug.breakpoint got unexpected arguments: {', '.join(sorted(unknown))}")
    frames = list(frames_above(sys._getframe(1), filter_frames))[:num_frames]
    if not frames:
        raise ValueError(
            "debug.breakpoint has no frame to show; num_frames must be at least 1, and "
            "filter_frames=False shows funcgrad's own"
        )
    tracers: list[Any] = []
    marked = _replaced(frames, _marker(tracers))

    def opened(values: list[Any], token: Any) -> None:
        fill = lambda x: values[x.index] if isinstance(x, _Value) else x
        Debugger(_replaced(marked, fill), **kwargs).cmdloop()

    debug_callback(opened, tracers, token, ordered=ordered)
    return token


@dataclass(frozen=True)
class _Value:
    """Where the value of a traced variable belongs."""

    index: int


def _marker(tracers: list[Any]) -> Callable[[Any], Any]:
    """What replaces live tracers by places, and puts each one at the end of `tracers` once."""
    places: dict[int, _Value] = {}

    def mark(x: Any) -> Any:
        if not isinstance(x, Tracer) or not x._trace.alive:
            return x
        if id(x) not in places:
            places[id(x)] = _Value(len(tracers))
            tracers.append(x)
        return places[id(x)]

    return mark


def _replaced(frames: list[Frame], change: Callable[[Any], Any]) -> list[Frame]:
    """The frames with `change` applied to the leaves of their variables."""

    def changed(variable: Any) -> Any:
        try:
            return tree_map(change, variable)
        except (TypeError, ValueError):  # a dict whose keys have no order, or its like
            return variable

    return [replace(f, variables={n: changed(v) for n, v in f.variables.items()}) for f in frames]


def frames_above(frame: FrameType | None, filter_frames: bool) -> Iterator[Frame]:
    """The frame and its callers, innermost first."""
    while frame is not None:
        code = frame.f_code
        if not (filter_frames and is_own_file(code.co_filename)):
            yield Frame(
                code.co_filename,
                frame.f_lineno,
                code.co_name,
                dict(frame.f_locals),
                frame.f_globals,
            )
        frame = frame.f_back


class Debugger(cmd.Cmd):
    """Reads commands about frames, as pdb does, until told to continue or quit."""

    prompt = "(fgdb) "

    def __init__(
        self, frames: list[Frame], stdin: IO[str] | None = None, stdout: IO[str] | None = None
    ):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames = frames
        # What expressions see; what statements bind stays there.
        self.scopes = [{**f.names, **f.variables} for f in frames]
        self.index = 0
        self.intro = f"Breakpoint at {frames[0]}"

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")

    def told(self, run: Callable[[], Any], show: Callable[[Any], str]) -> None:
        """Say the value of what is run, if it has one, or its error."""
        try:
            value = run()
        except Exception as error:
            self.say("*** " + "".join(traceback.format_exception_only(error)).strip())
        else:
            if value is not None:
                self.say(show(value))

    def default(self, line: str) -> None:
        """An expression whose value is shown, or a statement."""
        scope = self.scopes[self.index]
        try:
            code = compile(line, "<fgdb>", "eval")
        except SyntaxError:
            self.told(lambda: exec(line, scope), repr)
        else:
            self.told(lambda: eval(code, scope), repr)

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def do_p(self, text: str) -> None:
        """p expression: show its value."""
        self.told(lambda: repr(eval(text, self.scopes[self.index])), str)

    def do_pp(self, text: str) -> None:
        """pp expression: show its value over as many lines as it takes."""
        self.told(lambda: eval(text, self.scopes[self.index]), pprint.pformat)

    def do_list(self, text: str) -> None:
        """l(ist): show the source around the line that the frame stands at."""
        frame = self.frames[self.index]
        self.say(f"> {frame}")
        lines = range(max(1, frame.line - CONTEXT), frame.line + CONTEXT + 1)
        sources = [(n, linecache.getline(frame.file, n, frame.names)) for n in lines]
        if not any(source for _, source in sources):
            self.say("    (its source cannot be found)")
        for number, source in sources:
            if source:
                arrow = "->" if number == frame.line else "  "
                self.say(f"{arrow} {number:4d} {source.rstrip()}")

    def do_where(self, text: str) -> None:
        """w(here), bt: show the frames, the innermost last."""
        for i, frame in reversed(list(enumerate(self.frames))):
            self.say(f"{'>' if i == self.index else ' '} {frame}")
            self.say(f"      {linecache.getline(frame.file, frame.line, frame.names).strip()}")

    def do_args(self, text: str) -> None:
        """a(rgs), vars: show the variables of the frame."""
        for name, value in self.frames[self.index].variables.items():
            self.say(f"{name} = {value!r}")

    def do_up(self, text: str) -> None:
        """u(p): go to the frame that called this one."""
        self._go(self.index + 1, "this is the outermost frame")

    def do_down(self, text: str) -> None:
        """d(own): go to the frame that this one called."""
        self._go(self.index - 1, "this is the innermost frame")

    def _go(self, index: int, otherwise: str) -> None:
        if 0 <= index < len(self.frames):
            self.index = index
            self.say(f"> {self.frames[index]}")
        else:
            self.say(f"*** {otherwise}")

    def do_continue(self, text: str) -> bool:
        """c(ont(inue)): let the program run on."""
        return True

    def do_quit(self, text: str) -> bool:
        """q(uit), exit, the end of input: end the program."""
        raise SystemExit(0)

    do_l = do_list
    do_w = do_bt = do_where
    do_a = do_vars = do_args
    do_u, do_d = do_up, do_down
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit
