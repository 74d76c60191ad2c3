"""What reverse mode keeps of the forward pass, shown to users."""

from collections.abc import Callable
from typing import Any

from funcgrad.api.flat import FlatFunction, argument_names, checked_values
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.compiler.passes.dce import dce_jaxpr
from funcgrad.ir.jaxpr import Atom, Jaxpr, Literal
from funcgrad.transforms.linearize import linearize_flat
from funcgrad.transforms.staging import stage


def saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The type of each array that reverse mode through `f` would keep, and where it comes from."""
    values, in_tree = checked_values("print_saved_residuals", f, args, kwargs)
    names = argument_names(f, args, kwargs)

    def residuals(*leaves: Any) -> list[Any]:
        _, linear = linearize_flat(FlatFunction(f, in_tree), leaves)
        jaxpr, _ = dce_jaxpr(linear.jaxpr, (True,) * len(linear.jaxpr.outvars))
        used = {v for e in jaxpr.eqns for v in e.invars} | set(jaxpr.outvars)
        pairs = zip(linear.jaxpr.constvars, linear.consts, strict=True)
        return [value for var, value in pairs if var in used]

    program, _ = stage(residuals, [aval_of(v) for v in values])
    return [(v.aval, _origin(program, names, v)) for v in program.outvars]


def _origin(program: Jaxpr, names: tuple[str, ...], atom: Atom) -> str:
    if isinstance(atom, Literal):
        return "from a number in the program"
    if atom in program.invars:
        return f"from the argument {names[program.invars.index(atom)]}"
    for eqn in program.eqns:
        if atom in eqn.outvars:
            place = f" from {eqn.source}" if eqn.source else ""
            return f"output of {eqn.primitive}{place}"
    return "from a constant"


def print_saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> None:
    """Print what reverse mode through a function would keep of its forward pass.

    One line for each array: its type, and the argument or the operation that it comes from.

    Args:
        f: the function, perhaps under `checkpoint`.
        args, kwargs: its arguments; pytrees of arrays.

    Example:
        >>> from funcgrad.ad_checkpoint import print_saved_residuals
        >>> print_saved_residuals(checkpoint(lambda x: np.sin(np.sin(x))), np.ones(3))
        f32[3] from the argument x
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")
