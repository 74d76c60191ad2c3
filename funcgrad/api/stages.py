"""The stages a jitted function goes through before it runs: traced, lowered, compiled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from funcgrad.api.flat import give_up, may_be_overwritten
from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import ShapedArray, dtype_name
from funcgrad.base.dtypes import canonicalize_dtype
from funcgrad.base.placement import Sharding, default_sharding, format_of
from funcgrad.base.switches import watching_results
from funcgrad.base.trace import common_sharding
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.base.treediff import differences, look_at_structure, tell
from funcgrad.compiler.describe import describe, planned
from funcgrad.compiler.dispatch import MISS, dispatcher
from funcgrad.compiler.executable import Executable, NumpyTarget
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.loops import structure
from funcgrad.compiler.native import NativeExecutable
from funcgrad.compiler.pipeline import Target, compiled, optimise, present_target
from funcgrad.compiler.portable import LoadedExecutable
from funcgrad.compiler.traffic import bytes_accessed
from funcgrad.ir.cost import bytes_of, program_cost
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.ir.show import show_jaxpr
from funcgrad.primitives.call import jit_p

DIALECTS = ("jaxpr", "loops", "llvm", "asm")
# Differences that an error about arguments lists.
SHOWN_DIFFERENCES = 5


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


@dataclass(frozen=True)
class ArgInfo:
    """What a stage knows of one array among the arguments."""

    shape: tuple[int, ...]
    dtype: Any
    donated: bool


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class Stage:
    """What every stage knows of the function's arguments and outputs.

    `donate_argnums` are the numbers of the donated arrays among all leaves of (args, kwargs).
    """

    fun_name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    donate_argnums: tuple[int, ...]
    _in_avals: Sequence[ShapedArray]
    _out_avals: Sequence[ShapedArray]

    def _take_signature(self, stage: "Stage") -> None:
        self.fun_name, self.donate_argnums = stage.fun_name, stage.donate_argnums
        self.in_tree, self.out_tree = stage.in_tree, stage.out_tree
        self._in_avals, self._out_avals = stage._in_avals, stage._out_avals

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, as (args, kwargs)."""
        return tree_unflatten(self.in_tree, self._in_avals)

    @property
    def out_avals(self) -> Any:
        """The types of the outputs, in their tree."""
        return tree_unflatten(self.out_tree, self._out_avals)

    @property
    def input_shardings(self) -> Any:
        """Where the arguments are expected, as (args, kwargs)."""
        return tree_unflatten(self.in_tree, [default_sharding()] * len(self._in_avals))

    @property
    def output_shardings(self) -> Any:
        """Where the outputs come to lie, in their tree."""
        return tree_unflatten(self.out_tree, [default_sharding()] * len(self._out_avals))

    @property
    def input_formats(self) -> Any:
        """How the arguments lie in memory and where, as (args, kwargs)."""
        formats = [format_of(a.ndim, default_sharding()) for a in self._in_avals]
        return tree_unflatten(self.in_tree, formats)

    @property
    def output_formats(self) -> Any:
        """How the outputs lie in memory and where, in their tree."""
        formats = [format_of(a.ndim, default_sharding()) for a in self._out_avals]
        return tree_unflatten(self.out_tree, formats)

    @property
    def args_info(self) -> Any:
        """Shape, dtype and donation of the arguments, as (args, kwargs)."""
        infos = [
            ArgInfo(a.shape, a.dtype, i in self.donate_argnums)
            for i, a in enumerate(self._in_avals)
        ]
        return tree_unflatten(self.in_tree, infos)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the outputs, in their tree."""
        return tree_unflatten(self.out_tree, list(map(struct_of, self._out_avals)))


class Traced(Stage):
    """A function written down for one kind of arguments."""

    def __init__(
        self,
        name: str,
        jaxpr: ClosedJaxpr,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        donated: Sequence[int],
    ):
        self.fun_name, self.donate_argnums = name, tuple(donated)
        self.jaxpr = jaxpr
        self.in_tree, self.out_tree = in_tree, out_tree
        self._in_avals, self._out_avals = jaxpr.in_avals, jaxpr.out_avals

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """The program ready to be compiled or printed; the only platform is "cpu"."""
        if lowering_platforms is not None and tuple(lowering_platforms) != ("cpu",):
            raise ValueError(
                f"lower: programs are lowered for 'cpu', got platforms {lowering_platforms!r}"
            )
        traced = [c for c in self.jaxpr.consts if isinstance(c, Tracer)]
        if traced:
            raise ValueError(
                f"{self.fun_name} closes over a traced value of type {traced[0].aval.str_short()}, "
                "so it cannot be lowered: its program is part of another one. Pass the value as "
                "an argument."
            )
        return Lowered(self)


class Lowered(Stage):
    """A traced program that can be printed, measured or compiled."""

    def __init__(self, traced: Traced):
        self._traced = traced
        self._take_signature(traced)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text, optimised for where it would run now.

        Args:
            dialect: "jaxpr" for the equations, "loops" for the steps and kernels that they become,
                "llvm" or "asm" for the code of those; None is the first two.
            debug_info: whether to show the user's line of each equation and step in full.

        Raises:
            ValueError: for a dialect that there is not, or not where NumPy runs the program.
        """
        program = optimise(self._traced.jaxpr)
        return program_text(program, present_target(), dialect, debug_info)

    def compiler_ir(self, dialect: str | None = None) -> ClosedJaxpr:
        """The optimised program itself."""
        if dialect not in (None, "jaxpr"):
            raise ValueError(
                f"compiler_ir has the dialect 'jaxpr', got {dialect!r}; as_text shows "
                f"{', '.join(map(repr, DIALECTS))} as text."
            )
        return optimise(self._traced.jaxpr)

    def cost_analysis(self) -> dict[str, float]:
        """Counted by equations, as if each moved all it reads and writes through memory.

        Returns:
            `flops`: one an element of an elementwise operation, two a multiplication in a matrix
            product; `transcendentals`: elements of exp, log, tanh and the like; `bytes accessed`.
        """
        return program_cost(optimise(self._traced.jaxpr))

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """The program ready to run where it would run now; it takes no options."""
        if compiler_options:
            raise ValueError(
                f"compile has no compiler options, got {', '.join(map(repr, compiler_options))}; "
                "settings such as isa and strict_fp are switches of funcgrad.config."
            )
        program = self._traced.jaxpr
        executable = compiled(program, donated=frozenset(self.donate_argnums))
        return Compiled(self, executable, program)


class Compiled(Stage):
    """A program compiled for one kind of arguments; call it with exactly that kind."""

    def __init__(
        self,
        stage: Stage,
        executable: Executable | NativeExecutable,
        program: ClosedJaxpr | None,
        names: Sequence[str] = (),
    ):
        self._take_signature(stage)
        self._executable, self._program = executable, program
        self._names = program.jaxpr.debug_info.arg_names if program is not None else tuple(names)
        self._dispatch = None
        if isinstance(executable, NativeExecutable) and not self.donate_argnums:
            trees = self.in_tree, self.out_tree
            self._dispatch = dispatcher(executable, *trees, self._in_avals)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the types compiled for, static ones left out.

        Donated arrays are deleted; the memory of those that nothing else holds is written over.

        Raises:
            TypeError: if the arguments have another structure, shape or dtype, or are traced.
        """
        if self._dispatch is not None:
            out = self._dispatch(args, kwargs)
            if out is not MISS:
                return out
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise self._other_structure(in_tree)
        values = list(map(as_value, leaves))
        self._check(values)
        executable = self._executable
        if self._program is not None and watching_results():
            executable = compiled(self._program)
        sharding = common_sharding(jit_p, values)
        given_up = [leaves[i] for i in self.donate_argnums]
        kept = {*self.donate_argnums} - may_be_overwritten(values, given_up)
        outs = executable(
            *(v.buffer.copy() if i in kept else v.buffer for i, v in enumerate(values))
        )
        give_up(given_up)
        arrays = [ConcreteArray(o, a, sharding) for o, a in zip(outs, self._out_avals)]
        return tree_unflatten(self.out_tree, arrays)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The same as calling it."""
        return self(*args, **kwargs)

    def _other_structure(self, in_tree: PyTreeDef) -> TypeError:
        looks = (look_at_structure, look_at_structure)
        found = list(differences(self.in_tree, in_tree, *looks, prefix=False))
        lines = [tell(d, "the compiled function", "the call") for d in found[:SHOWN_DIFFERENCES]]
        return TypeError(
            f"{self.fun_name} was compiled for an input pytree that does not match the call. As "
            "(args, kwargs), " + "; ".join(lines)
        )

    def _check(self, values: Sequence[Any]) -> None:
        """Raise a TypeError if shapes or dtypes are not as compiled for; weak types may differ."""
        for value, name in zip(values, self._names):
            if type(value) is not ConcreteArray:
                raise TypeError(
                    f"{self.fun_name} is compiled for one signature, so transformations cannot be "
                    f"applied to it: argument {name} is traced here ({type(value).__name__}). "
                    "Transform the function that was compiled, then compile the result."
                )
        wrong = [
            f"argument {name} was {aval.str_short()} when compiled and is "
            f"{value.aval.str_short()} in this call"
            for value, aval, name in zip(values, self._in_avals, self._names, strict=True)
            if (value.aval.shape, value.aval.dtype) != (aval.shape, aval.dtype)
        ]
        if wrong:
            more = len(wrong) - SHOWN_DIFFERENCES
            tail = f"; and {more} more" if more > 0 else ""
            raise TypeError(
                f"{self.fun_name} was compiled for other argument types: "
                f"{'; '.join(wrong[:SHOWN_DIFFERENCES])}{tail}. Was enable_x64 the same then?"
            )

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program that runs as text; the dialects are those of `Lowered.as_text`."""
        executable = self._with_program("as_text")
        return program_text(executable.program, executable.target, dialect, debug_info)

    def cost_analysis(self) -> dict[str, float]:
        """What one call computes and moves.

        Returns:
            `flops` and `transcendentals` as `Lowered.cost_analysis` counts them, and `bytes
            accessed`: what the steps read and write in memory once operations are fused; and
            `bytes accessed NAME` for each kernel.
        """
        executable = self._with_program("cost_analysis")
        cost = program_cost(executable.program)
        if isinstance(executable, NativeExecutable):
            plan, native = planned(executable.program, optimise, executable.target)
            total, by_kernel = bytes_accessed(plan)
            cost["bytes accessed"] = float(total)
            for name, kernel in native.kernels.items():
                cost[f"bytes accessed {name}"] = float(by_kernel[structure(kernel)])
        return cost

    def memory_analysis(self) -> "MemoryAnalysis":
        """What one call takes in memory, and the code itself."""
        executable = self._executable
        temp = code = consts = alias = 0
        if isinstance(executable, NativeExecutable):
            temp, code = executable.native.arena, len(executable.image)
            consts = sum(bytes_of(c.aval) for c in executable.native.consts)
            alias = sum(bytes_of(self._out_avals[i]) for i in executable.native.reused)
        return MemoryAnalysis(
            generated_code_size_in_bytes=code,
            argument_size_in_bytes=sum(map(bytes_of, self._in_avals)),
            output_size_in_bytes=sum(map(bytes_of, self._out_avals)),
            temp_size_in_bytes=temp,
            constant_size_in_bytes=consts,
            alias_size_in_bytes=alias,
        )

    def runtime_executable(self) -> Executable | NativeExecutable:
        """What runs the program on buffers."""
        return self._executable

    def _with_program(self, asked: str) -> Executable | NativeExecutable:
        if isinstance(self._executable, LoadedExecutable):
            raise ValueError(
                f"{asked}: {self.fun_name} was deserialized, and only its machine code travelled. "
                "Ask the Compiled that was serialized."
            )
        return self._executable


class MemoryAnalysis(NamedTuple):
    """What a compiled program takes in memory, in bytes.

    `temp` is what a call needs besides arguments and outputs, `alias` what outputs take in the
    memory of donated arguments. The code does not count library functions, which all programs
    share. Where NumPy runs the program, only arguments and outputs are known.
    """

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    constant_size_in_bytes: int
    alias_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """Arguments, outputs, temporaries and constants together, what is shared counted once."""
        return sum(self[1:5]) - self.alias_size_in_bytes


def program_text(
    program: ClosedJaxpr, target: Target, dialect: str | None, debug_info: bool
) -> str:
    """The text of an optimised program in one of the dialects."""
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(
            f"as_text: there is no dialect {dialect!r} here; there are "
            f"{', '.join(map(repr, DIALECTS))}. Programs are not lowered to HLO."
        )
    equations = show_jaxpr(program, source=debug_info)
    if dialect == "jaxpr":
        return equations
    if isinstance(target, NumpyTarget):
        if dialect is None:
            return equations
        raise ValueError(
            f"as_text: there is no {dialect!r} of this program, since NumPy runs it equation by "
            "equation: llvmlite is missing, or a debugging switch is on."
        )
    plan, native = planned(program, optimise, target)
    if dialect == "llvm":
        return native.text
    if dialect == "asm":
        return engine.assembly(native.text, target)
    loops = describe(program, plan, native, source=debug_info)
    return loops if dialect == "loops" else f"{equations}\n\n{loops}"
