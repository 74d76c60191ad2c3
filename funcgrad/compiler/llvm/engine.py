"""Text IR becomes machine code, and machine code becomes addresses to call; all use of LLVM is
here. Modules that the whole process shares are libraries, made once and kept.
"""

import contextlib
import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from funcgrad.base import events
from funcgrad.base.errors import CodeGenerationError
from funcgrad.compiler import disk
from funcgrad.compiler.llvm.target import LEVELS, Target, architecture, host_target

# ORC keeps some 10 KB of every library it ever held, so a linker serves this many and retires.
CODES_PER_LINKER = 64

# Vectors are explicit in the text, so LLVM's optimiser is left out: only its code generator runs.
SETTINGS = {"reloc": "pic", "codemodel": "small"}
# LLVM's levels of effort: what computes is worth it, what only calls that and waits is not.
EFFORT, LITTLE_EFFORT = 2, 0

# The makers of the modules that programs call by name: from a Target, the text of the module.
libraries: dict[str, Callable[[Target], str]] = {}

_lock = threading.RLock()
_across_fork: list[contextlib.ExitStack] = []


def _before_fork() -> None:
    """No child inherits LLVM half way: destructors run it without our lock, under llvmlite's."""
    held = contextlib.ExitStack()
    held.enter_context(_lock)
    native = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    lock = getattr(native, "_lock", None)
    if lock is not None:
        held.enter_context(lock)
    _across_fork.append(held)


def _after_fork() -> None:
    _across_fork.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


@functools.cache
def llvm() -> Any:
    """llvmlite's binding, ready to generate code for this machine."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@functools.cache
def available() -> bool:
    """Whether native code can be made here: llvmlite loads and knows the processor."""
    try:
        return architecture(llvm().get_process_triple()) in LEVELS
    except (ImportError, OSError):
        return False


@functools.cache
def versions() -> str:
    """What made the code: part of every key under which code is kept."""
    import llvmlite

    llvm_version = ".".join(map(str, llvm().llvm_version_info))
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm_version}, {SETTINGS}"


@functools.cache
def _machine(target: Target, effort: int = EFFORT) -> Any:
    """The code generator of a Target, and the line that names it at the head of a module."""
    binding = llvm()
    if architecture(target.triple) != architecture(binding.get_process_triple()):
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=effort, **SETTINGS
    )
    layout = str(machine.target_data)
    return machine, f'target datalayout = "{layout}" target triple = "{target.triple}" '


@contextlib.contextmanager
def _parsed(ir: str, target: Target, effort: int = EFFORT) -> Iterator[tuple[Any, Any]]:
    """The code generator and the verified module, in a context of its own: constants and types
    die with it. Both are closed by hand, because a collector might free the context first.
    """
    machine, head = _machine(target, effort)
    context, module = llvm().create_context(), None
    try:
        # The head joins the first line, so that errors count lines as the caller does.
        module = llvm().parse_assembly(head + ir, context)
        module.verify()
        yield machine, module
    except RuntimeError as error:
        raise CodeGenerationError(_refusal(ir, str(error))) from None
    finally:
        if module is not None:
            module.close()
        context.close()


def _refusal(ir: str, reason: str) -> str:
    """LLVM's complaint, with the number and text of the lines of the IR it quotes."""
    quoted = {line.strip() for line in reason.splitlines() if line.strip()}
    lines = [f"  {n}: {line}" for n, line in enumerate(ir.split("\n"), 1) if line.strip() in quoted]
    where = "\n".join(["In the text", *lines[:8]]) if lines else "No line of the text is quoted."
    return f"LLVM refused generated code, which is a bug in funcgrad:\n{reason.strip()}\n{where}"


def compile_object(ir: str, target: Target, effort: int = EFFORT) -> bytes:
    """The object file of a module, freshly made."""
    with _lock, _parsed(ir, target, effort) as (machine, module):
        return machine.emit_object(module)


def assembly(ir: str, target: Target) -> str:
    """What `compile_object` makes, to be read."""
    with _lock, _parsed(ir, target) as (machine, module):
        return machine.emit_assembly(module)


def cached_object(ir: str, target: Target, effort: int = EFFORT) -> bytes:
    """The object file of a module, from disk where it is kept there."""
    return kept((ir,), target, lambda: ir, effort)


def kept(
    key: tuple[str, ...], target: Target, emit: Callable[[], str], effort: int = EFFORT
) -> bytes:
    """The object file kept under a key, else that of the module which `emit` writes.

    A key that is not the text itself must tell all that the text depends on, but for the code of
    funcgrad: `disk.build()` belongs in it.
    """
    name = disk.name(*key, *target[:3], f"effort {effort}", versions())
    found = disk.load(name)
    events.notify("object", kept=found is not None)
    if found is None:
        found = compile_object(emit(), target, effort)
        disk.store(name, found)
    return found


class _Linker:
    """One ORC instance, which links a number of codes and lives as long as any of them."""

    def __init__(self) -> None:
        binding = llvm()
        host = binding.Target.from_triple(binding.get_process_triple())
        machine = host.create_target_machine(opt=EFFORT, **SETTINGS)
        # JITLink has no support for Windows' exception tables.
        self.orc = binding.create_lljit_compiler(machine, use_jit_link=os.name != "nt")
        self.used = 0


_linker: _Linker | None = None


def _next_linker() -> tuple[_Linker, str]:
    """The linker for one more code, and a name that is new to it."""
    global _linker
    if _linker is None or _linker.used == CODES_PER_LINKER:
        _linker = _Linker()
    _linker.used += 1
    return _linker, f"code{_linker.used}"


# Objects for Windows refer to this mark of the C runtime when they compute with floats.
_floats_used = ctypes.c_int32(1)


class Code:
    """Objects linked with each other, with the process and with `symbols`; collected, unloaded."""

    __slots__ = ("__weakref__", "_found", "_linker", "_name", "_tracker")

    def __init__(self, objects: Sequence[bytes], symbols: Mapping[str, int] | None = None):
        builder = llvm().JITLibraryBuilder()
        for image in objects:
            builder.add_object_img(image)
        for name, address in (symbols or {}).items():
            builder.import_symbol(name, address)
        if os.name == "nt":
            builder.import_symbol("_fltused", ctypes.addressof(_floats_used))
        builder.add_current_process()
        # Each tracker that ORC gives out unloads the code when it dies, so all are kept.
        self._found: dict[str, Any] = {}
        with _lock:
            self._linker, self._name = _next_linker()
            try:
                self._tracker = builder.link(self._linker.orc, self._name)
            except RuntimeError as error:
                raise CodeGenerationError(f"objects could not be linked: {error}") from None

    def address(self, name: str) -> int:
        """Where a function or a variable stands, for as long as this Code lives."""
        found = self._found.get(name)
        if found is None:
            with _lock:
                found = self._found.get(name)
                if found is None:
                    found = self._found[name] = self._lookup(name)
        return found[name]

    def _lookup(self, name: str) -> Any:
        try:
            return self._linker.orc.lookup(self._name, name)
        except RuntimeError as error:
            raise CodeGenerationError(
                f"{name!r} is not in the objects, or what it calls is nowhere (the error stream "
                f"names it): {error}"
            ) from None


_made: dict[tuple[str, Target], Code] = {}


def library(name: str, symbols: Mapping[str, int] | None = None) -> Code:
    """The module of that name in `libraries`, made for the host at first use and kept for good.

    `symbols` are the functions it calls; those given at the first use count.
    """
    key = name, host_target()
    found = _made.get(key)
    if found is None:
        with _lock:
            found = _made.get(key)
            if found is None:
                image = cached_object(libraries[name](key[1]), key[1])
                found = _made[key] = Code([image], symbols)
    return found
