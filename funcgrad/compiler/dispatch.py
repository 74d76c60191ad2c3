"""Dispatch: for one kind of arguments, a Python function written out that calls the native program.

It takes the arguments apart, checks each leaf, and puts the outputs together, all without a loop or
a lookup. Whatever it does not expect makes it return `MISS`, and the general way is taken.
"""

import itertools
import linecache
import weakref
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import numpy as np

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray
from funcgrad.base.axes import bound_axes
from funcgrad.base.config import config
from funcgrad.base.memo import context_key
from funcgrad.base.trace import EVALUATION, current_trace
from funcgrad.base.tree import PyTreeDef, tree_unflatten
from funcgrad.compiler import pages
from funcgrad.compiler.llvm import arrays
from funcgrad.compiler.native import NativeExecutable, borrow_host

MISS = object()  # what a dispatch function returns for arguments that it is not made for
PYTHON_SCALARS = {"f": float, "i": int, "c": complex, "b": bool}
# Levels of containers that are written out, at most. Python reads no more than 200 brackets in
# each other.
DEEPEST = 100
_numbers = itertools.count()

Dispatch = Callable[[tuple, dict], Any]


def dispatcher(
    executable: NativeExecutable,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    avals: Sequence[ShapedArray],
) -> Dispatch | None:
    """The function for arguments `(args, kwargs)` of this structure; None where there is none."""
    if not arrays.readable():
        return None
    source = Source(executable, avals)
    if not source.take_apart(in_tree):
        return None
    return source.function(out_tree)


class Source:
    """The text of a dispatch function, and the objects that it refers to by name."""

    def __init__(self, executable: NativeExecutable, avals: Sequence[ShapedArray]):
        self.executable, self.avals = executable, avals
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "MISS": MISS,
            "Array": ConcreteArray,
            "EVALUATION": EVALUATION,
            "current_trace": current_trace,
            "context": context_key(),
            "trace_key": config.trace_key,
            "bound_axes": bound_axes,
            "array": np.array,
            "empty": np.empty,
            "empty_pages": pages.empty,
            "scratch": pages.scratch,
            "borrow_host": borrow_host,
            "pack": executable.pack,
            "native": executable.call,
            "steps": executable.steps,
            "explained": executable.explained,
        }
        self.leaves = 0

    def constant(self, value: Any, kind: str) -> str:
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name

    # arguments

    def take_apart(self, in_tree: PyTreeDef) -> bool:
        """Lines that bind the buffer of each leaf; False for trees that are not `plain`."""
        args, kwargs = in_tree.children()
        if kwargs.num_leaves or kwargs.children():
            return False
        if not plain(args):
            return False
        self.node(args, "args")
        return True

    def node(self, tree: PyTreeDef, value: str) -> None:
        data = tree.node_data()
        if data is None:
            self.leaf(value)
            return
        kind, keys = data
        if kind is NoneType:
            self.lines.append(f"if {value} is not None: return MISS")
            return
        parts = tree.children()
        names = [f"v{len(self.lines)}_{i}" for i in range(len(parts))]
        if kind in (tuple, list):
            self.lines.append(
                f"if type({value}) is not {kind.__name__} or len({value}) != {len(parts)}: "
                "return MISS"
            )
            if names:
                self.lines.append(f"{', '.join(names)}, = {value}")
        else:
            self.lines.append(
                f"if type({value}) is not dict or len({value}) != {len(parts)}: return MISS"
            )
            for name, key in zip(names, keys, strict=True):
                self.lines.append(f"{name} = {value}[{self.constant(key, 'key')}]")
        for part, name in zip(parts, names, strict=True):
            self.node(part, name)

    def leaf(self, value: str) -> None:
        i, aval = self.leaves, self.avals[self.leaves]
        self.leaves += 1
        name = self.constant(aval, "aval")
        is_array = (
            f"type({value}) is Array and {value}.aval is {name} and {value}._sharding is None"
        )
        scalar = PYTHON_SCALARS.get(aval.dtype.kind) if not aval.shape else None
        if scalar is not None and (aval.weak_type or scalar is bool):
            dtype = self.constant(aval.dtype, "dtype")
            self.lines.append(
                f"if type({value}) is {scalar.__name__}: b{i} = array({value}, {dtype})"
            )
            self.lines.append(f"elif {is_array}: b{i} = {value}._buffer")
            self.lines.append("else: return MISS")
        else:
            self.lines.append(f"if not ({is_array}): return MISS")
            self.lines.append(f"b{i} = {value}._buffer")

    # the call

    def function(self, out_tree: PyTreeDef) -> Dispatch:
        run, outs = self.call()
        result = self.rebuilt(out_tree, iter(outs))
        body = [
            "if kwargs or current_trace() is not EVALUATION: return MISS",
            "if (trace_key(), bound_axes()) != context: return MISS",
            "try:",
            *(f"    {line}" for line in self.lines),
            "except KeyError: return MISS",
            "try:",
            *(f"    {line}" for line in run),
            "except MemoryError as error: raise explained(error) from None",
            f"return {result}",
        ]
        text = "def dispatch(args, kwargs):\n" + "\n".join(f"    {line}" for line in body) + "\n"
        file = f"<funcgrad dispatch {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self.names)
        dispatch = self.names["dispatch"]
        weakref.finalize(dispatch, linecache.cache.pop, file, None).atexit = False
        return dispatch

    def call(self) -> tuple[list[str], list[str]]:
        """Lines that allocate and run, and the expressions of the output arrays."""
        executable = self.executable
        lines, outs = [], []
        for i, (shape, dtype) in enumerate(executable.outs):
            large = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize >= pages.LARGE
            make = "empty_pages" if large else "empty"
            lines.append(
                f"o{i} = {make}({self.constant(shape, 'shape')}, {self.constant(dtype, 'dtype')})"
            )
            aval = self.constant(executable.out_avals[i], "aval")
            outs.append(f"Array(o{i}, {aval})")
        arena, host = "0", "0"
        if executable.arena:
            lines.append(f"arena, loan = scratch({executable.arena})")
            arena = "arena"
        if executable.asks_host:
            lines.append("host = borrow_host(steps)")
            host = "host.address"
        ids = [f"id(b{i})" for i in range(self.leaves)]
        ids += [f"id(o{i})" for i in range(len(executable.outs))]
        identity = map(str, executable.identity)
        words = ", ".join([*identity, arena, host, str(executable.consts), *ids])
        run = [f"status = native(pack({words}))", "if status:"]
        if executable.asks_host:
            run.append("    if status == 1: raise host.error")
        run.append("    return MISS")
        if executable.asks_host:
            run = ["try:", *(f"    {line}" for line in run), "finally: host.give_back()"]
        return [*lines, *run], outs

    # outputs

    def rebuilt(self, tree: PyTreeDef, outs: Any) -> str:
        """An expression of the result; trees that are not `plain` are put together by
        `tree_unflatten`."""
        if plain(tree):
            return self.expression(tree, outs)
        self.names["tree_unflatten"] = tree_unflatten
        return f"tree_unflatten({self.constant(tree, 'tree')}, [{', '.join(outs)}])"

    def expression(self, tree: PyTreeDef, outs: Any) -> str:
        data = tree.node_data()
        if data is None:
            return next(outs)
        kind, keys = data
        if kind is NoneType:
            return "None"
        parts = [self.expression(part, outs) for part in tree.children()]
        if kind is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if kind is list:
            return f"[{', '.join(parts)}]"
        pairs = [f"{self.constant(k, 'key')}: {p}" for k, p in zip(keys, parts, strict=True)]
        return f"{{{', '.join(pairs)}}}"


def plain(tree: PyTreeDef, levels: int = DEEPEST) -> bool:
    """Whether all nodes are tuples, lists, dicts or None, in no more levels."""
    data = tree.node_data()
    if data is None:
        return True
    known = data[0] in (tuple, list, dict, NoneType) and levels > 0
    return known and all(plain(part, levels - 1) for part in tree.children())
