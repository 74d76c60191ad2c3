"""The stages a jitted function goes through before it runs: traced, lowered, compiled."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray, aval_of, dtype_name
from funcgrad.base.dtypes import canonicalize_dtype
from funcgrad.base.placement import Sharding
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.compiler.executable import Executable
from funcgrad.compiler.pipeline import compiled, optimise
from funcgrad.ir.cost import bytes_of, program_cost
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.ir.show import show_jaxpr
from funcgrad.primitives.call import jit_p


class ShapeDtypeStruct:
    """A shape and dtype without data, as a stand-in for an array in `eval_shape` and `lower`."""

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Sharding | None = None,
        weak_type: bool = False,
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = canonicalize_dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return ShapedArray(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple:
        return self.shape, self.dtype, self.weak_type, self.sharding

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype_name(self.dtype)}{weak})"


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class Traced:
    """A function written down for one kind of arguments."""

    def __init__(self, name: str, jaxpr: ClosedJaxpr, in_tree: PyTreeDef, out_tree: PyTreeDef):
        self.fun_name = name
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the outputs, in their tree."""
        return tree_unflatten(self.out_tree, [struct_of(a) for a in self.jaxpr.out_avals])

    @property
    def args_info(self) -> Any:
        """The shapes and dtypes of the arguments, as (args, kwargs)."""
        return tree_unflatten(self.in_tree, [struct_of(a) for a in self.jaxpr.in_avals])

    def lower(self) -> "Lowered":
        return Lowered(self)


class _Stage:
    """What every stage knows of the function's arguments and outputs."""

    def __init__(self, traced: Traced):
        self._traced = traced

    @property
    def in_tree(self) -> PyTreeDef:
        return self._traced.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self._traced.out_tree

    @property
    def args_info(self) -> Any:
        return self._traced.args_info

    @property
    def out_info(self) -> Any:
        return self._traced.out_info


class Lowered(_Stage):
    """A traced program that can be printed, measured or compiled."""

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The optimised program as text; with `debug_info`, each equation's user line too."""
        if dialect not in (None, "jaxpr"):
            raise ValueError(f"as_text: the only dialect is 'jaxpr', got {dialect!r}")
        return show_jaxpr(optimise(self._traced.jaxpr), source=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> ClosedJaxpr:
        """The optimised program itself."""
        return optimise(self._traced.jaxpr)

    def cost_analysis(self) -> dict[str, float]:
        """Counted by equations: `flops`, `transcendentals`, `bytes accessed`."""
        return program_cost(optimise(self._traced.jaxpr))

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        if compiler_options:
            raise ValueError(f"compile: unknown compiler options {sorted(compiler_options)}")
        return Compiled(self._traced, compiled(self._traced.jaxpr))


class Compiled(_Stage):
    """A program compiled for one kind of arguments; call it with exactly that kind."""

    def __init__(self, traced: Traced, executable: Executable):
        super().__init__(traced)
        self._executable = executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self._traced.in_tree:
            raise TypeError(
                f"Compiled {self._traced.fun_name} was made for arguments of the tree "
                f"{self._traced.in_tree}, called with {in_tree}"
            )
        expected = self._traced.jaxpr.in_avals
        for i, (leaf, aval) in enumerate(zip(leaves, expected, strict=True)):
            got = aval_of(leaf)
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"{self._traced.fun_name} was compiled for other argument types: argument {i} "
                    "has to "
                    f"be {aval.str_short()}, got {got.str_short()}"
                )
        outs = jit_p.bind(*leaves, jaxpr=self._traced.jaxpr, name=self._traced.fun_name)
        return tree_unflatten(self._traced.out_tree, outs)

    def as_text(self) -> str:
        """The program that runs, as text."""
        return show_jaxpr(self._executable.program)

    def cost_analysis(self) -> dict[str, float]:
        """Counted by equations: `flops`, `transcendentals`, `bytes accessed`."""
        return program_cost(self._executable.program)

    def memory_analysis(self) -> "MemoryAnalysis":
        """Bytes of arguments and outputs."""
        program = self._executable.program
        return MemoryAnalysis(
            sum(map(bytes_of, program.in_avals)), sum(map(bytes_of, program.out_avals))
        )

    def runtime_executable(self) -> Executable:
        return self._executable


class MemoryAnalysis:
    """What a compiled program keeps in memory, in bytes."""

    def __init__(self, argument_bytes: int, output_bytes: int):
        self.argument_size_in_bytes = argument_bytes
        self.output_size_in_bytes = output_bytes
