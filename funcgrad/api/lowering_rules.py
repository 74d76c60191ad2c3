"""What a user's primitive is compiled as: a function of other operations, put in its place."""

from collections.abc import Callable
from typing import Any, NamedTuple

from funcgrad.base.array import as_value
from funcgrad.base.source import function_name, function_place
from funcgrad.base.trace import Primitive
from funcgrad.compiler.passes import inline as inlining
from funcgrad.ir.jaxpr import ClosedJaxpr, DebugInfo, Eqn
from funcgrad.transforms.staging import stage_closed


class LoweredFunction(NamedTuple):
    """A function as a lowering rule; see `lower_fun`."""

    fun: Callable
    multiple_results: bool

    def program(self, eqn: Eqn) -> ClosedJaxpr:
        """The program that an equation stands for."""

        def flat(*args: Any) -> list[Any]:
            out = self.fun(*args, **eqn.params)
            return list(map(as_value, out if self.multiple_results else (out,)))

        info = DebugInfo(f"{function_place(self.fun)} for lowering {eqn.primitive}")
        program, operands = stage_closed(flat, [v.aval for v in eqn.invars], info)
        wanted = [(v.aval.shape, v.aval.dtype) for v in eqn.outvars]
        if operands or [(a.shape, a.dtype) for a in program.out_avals] != wanted:
            raise TypeError(
                f"the lowering of {eqn.primitive} by {function_name(self.fun)} gives "
                f"{', '.join(a.str_short() for a in program.out_avals)}, and its abstract "
                f"evaluation says {', '.join(v.aval.str_short() for v in eqn.outvars)}"
            )
        return program


def lower_fun(fun: Callable, multiple_results: bool = True) -> LoweredFunction:
    """A lowering rule from a function of arrays, `fun(*args, **params)`.

    Args:
        fun: what the primitive computes, written in other operations.
        multiple_results: whether it returns a list of outputs.
    """
    return LoweredFunction(fun, multiple_results)


def register_lowering(
    prim: Primitive,
    rule: Any,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Any:
    """Compile a primitive as the function that `lower_fun` was given.

    Without a lowering, or with one that builds MLIR, a compiled program calls the primitive's
    `impl`, in Python.

    Args:
        prim: the primitive.
        rule: what `lower_fun` returned.
        platform: None or "cpu"; rules for other platforms are not used here.
        inline, cacheable: accepted for compatibility; the function is always put in place.

    Raises:
        TypeError: for a rule that builds MLIR, of a primitive without `impl`.
    """
    if isinstance(rule, LoweredFunction):
        if platform in (None, "cpu"):
            inlining.rules[prim] = rule.program
    elif prim.impl is None:
        raise TypeError(
            f"register_lowering of {prim}: {function_name(rule)} is no function of arrays wrapped "
            "by lower_fun, and programs are not lowered to MLIR here. Write it with array "
            "operations, register_lowering(p, lower_fun(f, multiple_results=False)), or give the "
            "primitive an impl first, p.def_impl(f), which the program then calls."
        )
    return rule
