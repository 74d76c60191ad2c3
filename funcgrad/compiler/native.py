"""A program as native code: compiled once, called on buffers, and Python where it asks for it."""

import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from funcgrad.base import events
from funcgrad.base.aval import ShapedArray
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.shortage import of_operation
from funcgrad.base.source import at_source, mark_source
from funcgrad.base.trace import EVALUATION, evaluate_rules, running
from funcgrad.compiler import lowering, pages, shortage
from funcgrad.compiler.buffers import Layout, layout
from funcgrad.compiler.executable import Executable, NumpyTarget
from funcgrad.compiler.llvm import arrays
from funcgrad.compiler.llvm.engine import Code, cached_object
from funcgrad.compiler.llvm.library import NativeMachine, symbols
from funcgrad.compiler.llvm.program import ENTRY, HostCall, Native, emit_program
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.values import POLL
from funcgrad.compiler.pages import RefusedError
from funcgrad.compiler.schedule import schedule
from funcgrad.compiler.steps import Optimise
from funcgrad.ir.jaxpr import ClosedJaxpr

_Call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)
_HostFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_ARRAY = id(np.ndarray)


class NativeExecutable:
    """Calling it runs the program on NumPy buffers and returns the output buffers.

    It may write into the inputs listed in `donated`, and returns those that became outputs.
    `call` is native. It takes words as `pack` puts them together, and writes into them: what tells
    the program (`identity`), the arena, the host callback (0 where `asks_host` is false), the
    constants, then the inputs and outputs by id.
    """

    def __init__(
        self,
        program: ClosedJaxpr,
        optimise: Optimise,
        target: Target,
        donated: frozenset[int] = frozenset(),
    ):
        self.program, self._donated, self._optimise = program, donated, optimise
        plan = self.plan(target)
        events.notify("stage", name="schedule")
        native = emit_program(plan.block, plan, target)
        events.notify("stage", name="emit")
        image = cached_object(native.text, target)
        events.notify("stage", name="LLVM")
        self.link(native, image, target, program.in_avals, program.out_avals)
        events.notify("stage", name="link")

    def plan(self, target: Target) -> Layout:
        """The steps of the program and where their values lie."""
        block = schedule(self.program, self._optimise, NativeMachine(target))
        return layout(block, self._donated)

    def explained(self, error: MemoryError) -> MemoryError:
        """The error that says what refused memory was for."""
        if not isinstance(error, RefusedError):
            return error
        explain = shortage.of_result if error.result else shortage.of_arena
        return explain(self.plan(self.target), error)

    def link(
        self,
        native: Native,
        image: bytes,
        target: Target,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> None:
        """Make machine code ready to be called."""
        self.native, self.image, self.target = native, image, target
        self.out_avals = list(out_avals)
        self._code = Code([self.image], symbols(self.native.symbols))
        entry = self._code.address(ENTRY)
        self._entry = _Call(entry)
        self.call = caller()
        self.outs = [(a.shape, buffer_dtype(a.dtype)) for a in out_avals]
        self._consts = [c.contiguous() for c in self.native.consts]
        self._table = (ctypes.c_void_p * len(self._consts))(*map(address, self._consts))
        inputs = len(in_avals)
        every = inputs + len(self.outs)
        self.identity = (entry, inputs, every, _ARRAY)
        self.consts = ctypes.addressof(self._table)
        self.steps = [LibraryStep(call) for call in self.native.host_calls]
        self.asks_host = bool(self.steps) or self.native.polls
        self.pack = struct.Struct(f"{arrays.BEFORE_TABLE + arrays.HEAD + every}Q").pack
        self.arena = self.native.arena

    def __call__(self, *buffers: Any) -> list[Any]:
        if any(type(b) is not np.ndarray for b in buffers):
            return Executable(self.program, NumpyTarget())(*buffers)
        try:
            return self.computed(buffers)
        except MemoryError as error:
            raise self.explained(error) from None

    def computed(self, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs for NumPy arrays."""
        inputs = [b if b.flags.c_contiguous else np.array(b, order="C") for b in buffers]
        reused = self.native.reused
        outs = [
            inputs[reused[i]] if i in reused else pages.empty(shape, dtype)
            for i, (shape, dtype) in enumerate(self.outs)
        ]
        self.run(inputs, outs)
        return outs

    def run(self, inputs: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Fill the outputs; all arrays are C-contiguous."""
        arena, loan = pages.scratch(self.arena) if self.arena else (0, None)
        host = borrow_host(self.steps) if self.asks_host else None
        callback = host.address if host else 0
        try:
            if arrays.readable():
                objects = map(id, (*inputs, *outs))
                words = self.pack(*self.identity, arena, callback, self.consts, *objects)
                status = self.call(words)
            else:
                words = (arena, callback, self.consts, *map(address, (*inputs, *outs)))
                status = self._entry(struct.pack(f"{len(words)}Q", *words))
            if status:
                raise host.error if host else RuntimeError(f"native code gave {status}")
        finally:
            if host is not None:
                host.give_back()
            del loan


@functools.cache
def caller() -> Callable[[bytes], int]:
    """The native function that programs are called through."""
    return _Call(symbols([arrays.NAME])[arrays.NAME])


class Host:
    """What native code calls back: it runs library steps, and lets Python look for signals.

    The callback is the `send` of a generator, which is inside its `try` whenever it is resumed. So
    what a signal handler raises the moment Python gets control is caught, and ends the program.
    """

    def __init__(self) -> None:
        self.steps: Sequence[LibraryStep] = ()
        self.error: BaseException = RuntimeError("native code stopped without saying why")
        serving = self._serve()
        next(serving)
        self._callback = _HostFunction(serving.send)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _serve(self) -> Generator[int, int, None]:
        status = 0
        while True:
            try:
                request = yield status
                status = 0
                number, operands = (ctypes.c_int64 * 2).from_address(request)
                if number != POLL:
                    self.steps[number](operands)
            except GeneratorExit:
                return
            except BaseException as error:  # whatever it is, it is raised after the native code
                self.error = error
                status = 1

    def give_back(self) -> None:
        self.steps = ()
        _spare.hosts.append(self)


class _Spare(threading.local):
    """The callbacks of this thread that no native code uses now."""

    def __init__(self) -> None:
        self.hosts: list[Host] = []


_spare = _Spare()


def borrow_host(steps: Sequence["LibraryStep"]) -> Host:
    """A callback for one run of a program with these library steps."""
    host = _spare.hosts.pop() if _spare.hosts else Host()
    host.steps = steps
    return host


class LibraryStep:
    """An equation that the array library computes, on operands that native code points at."""

    def __init__(self, call: HostCall):
        eqn = call.eqn
        self.eqn = eqn
        self.evaluate = functools.partial(evaluate_rules[eqn.primitive], **eqn.params)
        self.views = [View(v.aval) for v in (*eqn.invars, *eqn.outvars)]
        self.copies = eqn.primitive in lowering.keepers

    def __call__(self, operands: int) -> None:
        pointers = (ctypes.c_void_p * len(self.views)).from_address(operands)
        found = [view(at) for view, at in zip(self.views, pointers, strict=True)]
        count = len(self.eqn.invars)
        inputs = [a.copy() if self.copies else a for a in found[:count]]
        with np.errstate(all="ignore"), running(EVALUATION):
            try:
                results = self.evaluate(np, *inputs)
            except MemoryError as error:
                results = [v.aval for v in self.eqn.outvars]
                explained = of_operation(self.eqn.primitive.name, results, error)
                at_source(self.eqn.source, mark_source, explained)
                raise explained from None
            except Exception as error:
                at_source(self.eqn.source, mark_source, error)
                raise
        for target, result in zip(found[count:], results, strict=True):
            target[...] = result


class View:
    """Makes NumPy arrays of one shape and dtype over memory."""

    def __init__(self, aval: Any):
        self.shape, self.dtype = aval.shape, buffer_dtype(aval.dtype)
        self.nbytes = aval.size * self.dtype.itemsize

    def __call__(self, at: int | None) -> np.ndarray:
        if not self.nbytes:
            return np.empty(self.shape, self.dtype)
        memory = (ctypes.c_char * self.nbytes).from_address(at or 0)
        return np.frombuffer(memory, self.dtype).reshape(self.shape)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
