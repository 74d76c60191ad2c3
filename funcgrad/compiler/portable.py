"""Executables as bytes: machine code with the tables needed to run it, for a process like this one.

    magic, then sha256 of the rest, then the length of a JSON text, the text, and blobs in its order

Nothing in the bytes is Python code or a pickle; the machine code is, so load what you trust only.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from funcgrad._version import __version__
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, dtype_name
from funcgrad.base.dtypes import BY_NAME, KeyType, buffer_dtype, key_type
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.program import Native
from funcgrad.compiler.llvm.target import Target, host_target
from funcgrad.compiler.native import NativeExecutable
from funcgrad.ir.jaxpr import ClosedJaxpr

# Changes with the layout of the bytes and with how native code is called.
MAGIC = b"funcgrad executable 1\n"
DIGEST = hashlib.sha256().digest_size
LENGTH = 8


class LoadedExecutable(NativeExecutable):
    """An executable without its program: it runs on NumPy buffers only."""

    def __init__(self, loaded: "Loaded"):
        self.in_avals = loaded.in_avals
        self.link(loaded.native, loaded.image, loaded.target, loaded.in_avals, loaded.out_avals)

    def __call__(self, *buffers: Any) -> list[Any]:
        if any(type(b) is not np.ndarray for b in buffers):
            raise TypeError("a deserialized executable runs on arrays in the CPU's memory only")
        return super().__call__(*buffers)

    def explained(self, error: MemoryError) -> MemoryError:
        return error


class Loaded(NamedTuple):
    """What the bytes of an executable hold."""

    info: dict[str, Any]
    native: Native
    image: bytes
    target: Target
    in_avals: list[ShapedArray]
    out_avals: list[ShapedArray]


def dump(executable: NativeExecutable, program: ClosedJaxpr, info: dict[str, Any]) -> bytes:
    """The bytes of an executable; `info` is JSON that travels with it.

    Raises ValueError if some of its steps need Python.
    """
    native = executable.native
    if native.host_calls:
        steps = dict.fromkeys(
            f"{c.eqn.primitive} ({c.eqn.source or 'unknown place'})" for c in native.host_calls
        )
        raise ValueError(
            "This program cannot be serialized, because some of its steps run in Python: "
            f"{', '.join(steps)}. Only machine code is kept; jit them apart from the rest."
        )
    consts = [c.contiguous() for c in native.consts]
    text = json.dumps(
        {
            "version": __version__,
            "build": build(),
            "target": executable.target._asdict(),
            "in_avals": [_aval_data(a) for a in program.in_avals],
            "out_avals": [_aval_data(a) for a in program.out_avals],
            "consts": [_aval_data(c.aval) for c in native.consts],
            "arena": native.arena,
            "polls": native.polls,
            "symbols": sorted(native.symbols),
            "sizes": [len(executable.image), *(c.nbytes for c in consts)],
            "info": info,
        }
    ).encode()
    blobs = b"".join([executable.image, *(c.tobytes() for c in consts)])
    rest = len(text).to_bytes(LENGTH, "little") + text + blobs
    return MAGIC + hashlib.sha256(rest).digest() + rest


def load(data: bytes) -> Loaded:
    """What `dump` wrote; ValueError if it is damaged, or made for another version or processor."""
    head, digest = data[: len(MAGIC)], data[len(MAGIC) : len(MAGIC) + DIGEST]
    if head != MAGIC:
        kind = "of another format" if head.startswith(MAGIC[:-3]) else "not a serialized executable"
        raise ValueError(f"These bytes are {kind}: they begin with {head[:24]!r}, not {MAGIC!r}.")
    rest = data[len(MAGIC) + DIGEST :]
    if hashlib.sha256(rest).digest() != digest:
        raise ValueError("The serialized executable is damaged: its checksum does not match.")
    end = LENGTH + int.from_bytes(rest[:LENGTH], "little")
    table = json.loads(rest[LENGTH:end])
    if table["version"] != __version__:
        raise ValueError(
            f"The executable was serialized by funcgrad {table['version']}, and this is "
            f"{__version__}. Compile it again with this version."
        )
    if table["build"] != build():
        raise ValueError(
            f"The executable was serialized by other code of funcgrad {__version__} than this, and "
            "the two may not fit. Compile it again with this code."
        )
    target = Target(**table["target"])
    check_target(target)
    blobs = []
    for size in table["sizes"]:
        blobs.append(rest[end : end + size])
        end += size
    avals = [_aval(*fields) for fields in table["consts"]]
    consts = tuple(map(_const, avals, blobs[1:]))
    symbols = frozenset(table["symbols"])
    native = Native(
        text="",
        arena=table["arena"],
        consts=consts,
        host_calls=(),
        kernels={},
        symbols=symbols,
        polls=table["polls"],
        reused={},
    )
    ins, outs = ([_aval(*f) for f in table[key]] for key in ("in_avals", "out_avals"))
    return Loaded(table["info"], native, blobs[0], target, ins, outs)


@functools.cache
def build() -> str:
    """The hash of the compiler's own sources: what native code and its libraries agree on."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def check_target(target: Target) -> None:
    """Raise a ValueError that says in what this processor differs from the one compiled for."""
    if not engine.available():
        raise ValueError(
            "The executable is machine code, and none can be run here: llvmlite is not installed, "
            "or does not know this processor."
        )
    host = host_target()
    if target == host:
        return
    differing = [
        f"{name} {theirs!r}, here {ours!r}"
        for name, theirs, ours in zip(Target._fields, target, host, strict=True)
        if theirs != ours and name != "features"
    ]
    theirs, ours = (
        {word[1:] for word in t.features.split(",") if word.startswith("+")} for t in (target, host)
    )
    for where, only in (("there", theirs - ours), ("here", ours - theirs)):
        if only:
            differing.append(f"only {where} {' '.join(sorted(only))}")
    raise ValueError(
        f"The executable was compiled for another processor: {'; '.join(differing)}. Compile it "
        "again on this one, or on both with the same config.isa if only that differs."
    )


def _aval_data(aval: ShapedArray) -> list[Any]:
    dtype = aval.dtype
    name = [dtype.impl, dtype.tag, dtype.words] if isinstance(dtype, KeyType) else dtype_name(dtype)
    return [list(aval.shape), name, aval.weak_type]


def _aval(shape: list[int], dtype: Any, weak_type: bool) -> ShapedArray:
    found = key_type(*dtype) if isinstance(dtype, list) else BY_NAME.get(dtype) or np.dtype(dtype)
    return ShapedArray(tuple(shape), found, weak_type)


def _const(aval: ShapedArray, data: bytes) -> ConcreteArray:
    buffer = np.frombuffer(data, buffer_dtype(aval.dtype)).reshape(aval.shape)
    return ConcreteArray(buffer, aval)
