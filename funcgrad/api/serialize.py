"""Compiled functions as bytes, to be run in another process without tracing or compiling."""

from typing import Any

from funcgrad.api.stages import Compiled, Stage
from funcgrad.base.tree import PyTreeDef, default_registry
from funcgrad.compiler import pipeline
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.portable import LoadedExecutable, dump, load


class Signature(Stage):
    """The signature that came with a serialized executable."""

    def __init__(
        self, executable: LoadedExecutable, name: str, in_tree: PyTreeDef, out_tree: PyTreeDef
    ):
        self.fun_name, self.in_tree, self.out_tree = name, in_tree, out_tree
        self.donate_argnums = ()
        self._in_avals, self._out_avals = executable.in_avals, executable.out_avals


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """Write a compiled function down as bytes.

    Args:
        compiled: what `jit(f).lower(...).compile()` returned.

    Returns:
        The bytes, and the structures of (args, kwargs) and of the output. Structures of dicts with
        string keys, lists, tuples and None are in the bytes as well. Donation does not travel.

    Raises:
        ValueError: if NumPy runs the program, or some of its steps need Python (callbacks,
            sorting, LAPACK).

    Example:
        >>> x = ones(3)
        >>> data, in_tree, out_tree = serialize(jit(lambda x: x + 1).lower(x).compile())
        >>> deserialize_and_load(data, in_tree, out_tree)(x)
        Array([2., 2., 2.], dtype=float32)
    """
    executable, program = compiled._executable, compiled._program
    if program is None or not isinstance(executable, NativeExecutable):
        reason = "was deserialized itself" if program is None else "is run by NumPy, not compiled"
        raise ValueError(f"{compiled.fun_name} cannot be serialized: it {reason}.")
    info = {
        "name": compiled.fun_name,
        "arguments": list(compiled._names),
        "trees": [_tree_text(t) for t in (compiled.in_tree, compiled.out_tree)],
    }
    if compiled.donate_argnums:
        executable = pipeline.compiled(program, executable.target)
        assert isinstance(executable, NativeExecutable)
    return dump(executable, program, info), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef | None = None,
    out_tree: PyTreeDef | None = None,
    backend: Any = None,
    execution_devices: Any = None,
) -> Compiled:
    """The compiled function that `serialize` wrote down; load bytes that you trust only.

    Args:
        serialized: the bytes.
        in_tree, out_tree: the structures that came with them; needed where they hold more than
            dicts with string keys, lists, tuples and None.
        backend: None or "cpu".
        execution_devices: None; there is one CPU.

    Returns:
        A Compiled that runs but can neither be shown nor serialized again.

    Raises:
        ValueError: if the bytes are damaged, or made by another version or for another processor.
    """
    if backend not in (None, "cpu") or execution_devices is not None:
        raise ValueError(
            "deserialize_and_load: executables run on the CPU, so `backend` is None or 'cpu' and "
            f"`execution_devices` None; got {backend!r} and {execution_devices!r}."
        )
    loaded = load(serialized)
    trees = [_tree(g, t) for g, t in zip((in_tree, out_tree), loaded.info["trees"], strict=True)]
    for tree, avals, what in zip(trees, loaded[4:], ("in_tree", "out_tree"), strict=True):
        if tree.num_leaves != len(avals):
            raise ValueError(
                f"{what} has {tree.num_leaves} leaves, and the executable {len(avals)} values: it "
                "belongs to another executable."
            )
    executable = LoadedExecutable(loaded)
    signature = Signature(executable, loaded.info["name"], *trees)
    return Compiled(signature, executable, None, loaded.info["arguments"])


def _tree_text(tree: PyTreeDef) -> str | None:
    """A structure as hexadecimal text, None for one that holds classes."""
    try:
        return tree.serialize_using_proto().hex()
    except ValueError:
        return None


def _tree(given: PyTreeDef | None, text: str | None) -> PyTreeDef:
    if given is not None:
        return given
    if text is None:
        raise ValueError(
            "deserialize_and_load needs in_tree and out_tree: the arguments or outputs hold "
            "containers of classes, which are not in the bytes."
        )
    return PyTreeDef.deserialize_using_proto(default_registry, bytes.fromhex(text))
