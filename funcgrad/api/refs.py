"""Ref: an array that is written in place, under jit, grad, vmap and control flow.

A program has no memory to write to, so writes are followed while a function is traced: what a
function reads and writes of a Ref becomes one more input and one more output of its program, before
anything is differentiated or compiled.
"""

import contextvars
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from funcgrad.api.flat import stage_call
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import broadcast_scalar
from funcgrad.base.source import function_name
from funcgrad.base.trace import EVALUATION, Trace, current_trace, running
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import PyTreeDef, tree_leaves, tree_unflatten
from funcgrad.transforms.staging import Staging

_alive: "weakref.WeakSet[Ref]" = weakref.WeakSet()


class Unfollowed(ValueError):
    """A program that is being written touches a Ref from outside of it."""


class Frame:
    """What Refs hold while one function runs as a pure one.

    A watching frame, without a trace, takes in every Ref from outside, to see which there are. As
    long as there is one, values read stand for any of their type, and what is written is dropped.
    """

    def __init__(self, values: dict["Ref", Any], trace: Trace | None, depth: int):
        self.values, self.trace, self.depth = values, trace, depth
        self.outside = current_trace()

    @property
    def watches(self) -> bool:
        return self.trace is None


_frames: contextvars.ContextVar[tuple[Frame, ...]] = contextvars.ContextVar("frames", default=())


class Ref:
    """A mutable array, made by `new_ref`: `ref[...]` reads, `ref[i] = x` writes.

    Values written have the dtype of the Ref, and the shape of the part that is written.
    """

    __slots__ = ("__weakref__", "_array", "_depth", "_trace")

    def __init__(self, array: Any):
        self._array = array
        self._trace, self._depth = current_trace(), len(_frames.get())
        _alive.add(self)

    @property
    def aval(self) -> ShapedArray:
        return aval_of(_read(self))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    def __getitem__(self, index: Any) -> Any:
        value = _read(self)
        return value if index is Ellipsis else value[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        swap(self, index, value)

    def addupdate(self, index: Any, value: Any) -> None:
        """Add to a part; see `addupdate`."""
        addupdate(self, index, value)

    def __repr__(self) -> str:
        return f"Ref({_read(self)!r})"


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A mutable array with a first value, of whose shape and dtype it stays.

    Args:
        init_val: an array or number.
        memory_space, kind: None.

    Example:
        >>> total = new_ref(0.0)
        >>> @jit
        ... def add(x):
        ...     total[...] += x
        >>> add(1.0), add(2.0)
        (None, None)
        >>> total[...]
        Array(3., dtype=float32, weak_type=True)
    """
    if memory_space is not None or kind is not None:
        raise ValueError(
            f"new_ref: memory_space and kind are None here, got {memory_space!r} and {kind!r}"
        )
    if isinstance(init_val, Ref):
        raise TypeError("new_ref takes an array; for another Ref of the same value pass ref[...]")
    return Ref(as_value(init_val))


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A Ref of a type, an aval or ShapeDtypeStruct, whose elements are to be set; zeros here."""
    return new_ref(broadcast_scalar(0, ShapedArray(ty.shape, ty.dtype)), memory_space=memory_space)


def freeze(ref: Ref) -> Any:
    """The value of a Ref at last."""
    return get(ref)


def free_ref(ref: Ref) -> None:
    """Give the memory of a Ref up; any later use raises a ValueError."""
    _write(ref, None)


def get(ref: Ref, idx: Any = None) -> Any:
    """A part of the value, all of it for None."""
    return checked(ref, "get")[... if idx is None else idx]


def set(ref: Ref, idx: Any, value: Any) -> None:
    """Write a part of the value."""
    swap(ref, idx, value)


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to a part of the value."""
    swap(ref, idx, get(ref, idx) + x)


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Write a part of the value; the part as it was.

    Args:
        ref: a Ref.
        idx: what an index may be, None or ... for all.
        value: an array of the Ref's dtype and of the part's shape.

    Raises:
        ValueError: for another shape or dtype, or for a value that is known only inside a
            transformation which the Ref was made outside of.
    """
    before = get(ref, idx)
    value = as_value(value)
    wanted, given = aval_of(before), aval_of(value)
    if (wanted.shape, wanted.dtype) != (given.shape, given.dtype):
        raise ValueError(
            f"a part of type {wanted.str_short()} of a Ref of type {ref.aval.str_short()} was "
            f"written with a value of type {given.str_short()}: shape and dtype must be the same. "
            "Cast with astype, or spread it with broadcast_to."
        )
    whole = idx is None or idx is Ellipsis
    _write(ref, value if whole else _read(ref).at[idx].set(value))
    return before


def checked(ref: Any, asked: str) -> Ref:
    if not isinstance(ref, Ref):
        raise TypeError(f"{asked} takes a Ref, made by new_ref; got {type(ref).__name__}")
    return ref


# where the value is


def _frame_of(ref: Ref) -> Frame | None:
    """The innermost frame that holds a Ref; None where it holds its own value."""
    for frame in reversed(_frames.get()):
        if ref in frame.values:
            if frame.trace is not None and not watched():
                check_followed(frame.trace)
            return frame
        if frame.watches and ref._depth < frame.depth:
            token = _frames.set(_frames.get()[: frame.depth - 1])
            try:
                with running(frame.outside):
                    frame.values[ref] = _read(ref)
            finally:
                _frames.reset(token)
            return frame
    if not watched():
        check_followed(ref._trace)
    return None


def check_followed(home: Trace) -> None:
    """Raise if a program is being written inside of where a value lives: it would be a constant."""
    trace = current_trace()
    while trace is not EVALUATION and trace is not home:
        if isinstance(trace, Staging):
            raise Unfollowed(
                f"{trace.description} uses a Ref from outside, and does not follow what is read "
                "and written there. jit, scan, while_loop, fori_loop, cond, switch and checkpoint "
                "do; elsewhere pass the value, ref[...], and return the new one."
            )
        trace = trace.parent


def _read(ref: Ref) -> Any:
    frame = _frame_of(ref)
    value = ref._array if frame is None else frame.values[ref]
    if value is None:
        raise ValueError("this Ref has been freed by free_ref")
    # Written into the program that is being watched, so that nothing can look at the zeros.
    return broadcast_scalar(0, aval_of(value)) if watched() else value


def _write(ref: Ref, value: Any) -> None:
    frame = _frame_of(ref)
    if watched():
        return
    home = ref._trace if frame is None else frame.trace
    if home is not None and isinstance(value, Tracer) and not stands_on(home, value._trace):
        raise ValueError(
            f"a value of type {value.aval.str_short()}, traced by {value._trace.description}, was "
            "written to a Ref that was made outside of it, and has no such value there. Make the "
            "Ref inside, pass it as an argument, or return the value instead."
        )
    if frame is None:
        ref._array = value
    else:
        frame.values[ref] = value


def stands_on(trace: Trace, lower: Trace) -> bool:
    """Whether a trace is another one, or runs above it."""
    while trace is not EVALUATION:
        if trace is lower:
            return True
        trace = trace.parent
    return trace is lower


# functions as pure ones


def split(leaves: Sequence[Any]) -> tuple[tuple[int, ...], list[Ref]]:
    """Which of the leaves of arguments are Refs, each of them once."""
    where = tuple(i for i, leaf in enumerate(leaves) if isinstance(leaf, Ref))
    own = [leaves[i] for i in where]
    if len(dict.fromkeys(map(id, own))) < len(own):
        raise ValueError("a Ref was passed twice in one call, and a function has one name for it")
    return where, own


def with_arguments(function: Callable, tree: PyTreeDef, where: Sequence[int]) -> Callable:
    """(values of Ref arguments, other leaves) -> (output, new values of those).

    The function gets Refs of its own at the places `where` among the leaves of (args, kwargs).
    """

    def run(values: Sequence[Any], plain: Sequence[Any]) -> tuple[Any, list[Any]]:
        inner, rest = list(map(Ref, values)), iter(plain)
        given = dict(zip(where, inner, strict=True))
        leaves = [given[i] if i in given else next(rest) for i in range(tree.num_leaves)]
        args, kwargs = tree_unflatten(tree, leaves)
        out = function(*args, **kwargs)
        check_no_ref(function, out)
        return out, read_all(inner)

    return run


def alive() -> bool:
    """Whether there is any Ref, so that functions might use one; none is looked for twice."""
    return len(_alive) > 0 and not watched()


def watched() -> bool:
    """Whether a function runs to see which Refs it touches."""
    return any(frame.watches for frame in _frames.get())


@contextmanager
def pushed(values: dict[Ref, Any], trace: Trace | None) -> Iterator[Frame]:
    """Have a frame hold Refs in the block."""
    before = _frames.get()
    frame = Frame(values, trace, len(before) + 1)
    token = _frames.set((*before, frame))
    try:
        yield frame
    finally:
        _frames.reset(token)


def touched(asked: str, functions: Sequence[Callable], *args: Any) -> list[Ref]:
    """The Refs from outside that functions read or write, for arguments like these."""
    found: dict[Ref, None] = {}
    for function in functions:
        with pushed({}, None) as frame:
            stage_call(function, args, {}, asked)
        found.update(dict.fromkeys(frame.values))
    return list(found)


def pure(function: Callable, refs: Sequence[Ref]) -> Callable:
    """(values of the Refs, *args) -> (output, new values of the Refs)."""

    def run(values: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        with pushed(dict(zip(refs, values, strict=True)), current_trace()) as frame:
            out = function(*args, **kwargs)
        check_no_ref(function, out)
        return out, [frame.values[ref] for ref in refs]

    return run


def read_all(refs: Sequence[Ref]) -> list[Any]:
    return [_read(ref) for ref in refs]


def write_all(refs: Sequence[Ref], values: Sequence[Any]) -> None:
    for ref, value in zip(refs, values, strict=True):
        _write(ref, value)


def check_no_ref(function: Callable, out: Any) -> None:
    """Raise a ValueError if a function returns a Ref."""
    if any(isinstance(leaf, Ref) for leaf in tree_leaves(out)):
        raise ValueError(
            f"{function_name(function)} returned a Ref, and Refs cannot be returned from a "
            "transformed function. Return its value, ref[...] or freeze(ref)."
        )
