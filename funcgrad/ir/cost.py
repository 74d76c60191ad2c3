"""An estimate of what a program costs, counted from its equations."""

import math

from funcgrad.base.aval import ShapedArray
from funcgrad.base.dtypes import itemsize_bits
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subprograms

TRANSCENDENTAL = frozenset(
    "exp exp2 expm1 log log1p logistic sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
    "atanh pow sqrt rsqrt cbrt erf erfc erf_inv lgamma digamma".split()
)
FREE = frozenset(
    "broadcast_in_dim reshape squeeze transpose slice pad concatenate iota copy rev gather "
    "dynamic_slice dynamic_update_slice convert_element_type select_n".split()
)


def program_cost(program: ClosedJaxpr | Jaxpr) -> dict[str, float]:
    """`flops`, `transcendentals` and `bytes accessed`, each summed over all equations.

    Loops count their body times their length where that is known, conditionals their dearest
    branch.
    """
    totals = {"flops": 0.0, "transcendentals": 0.0, "bytes accessed": 0.0}
    for eqn in program.eqns:
        for name, amount in _equation_cost(eqn).items():
            totals[name] += amount
    return totals


def _equation_cost(eqn: Eqn) -> dict[str, float]:
    inner = [program_cost(p) for p in subprograms(eqn.params)]
    if inner:
        times = eqn.params.get("length", 1)
        pick = max if "branches" in eqn.params else math.fsum
        return {name: times * pick([c[name] for c in inner]) for name in inner[0]}
    moved = sum(bytes_of(v.aval) for v in (*eqn.invars, *eqn.outvars))
    elements = float(sum(v.aval.size for v in eqn.outvars))
    name = eqn.primitive.name
    cost = {"flops": 0.0, "transcendentals": 0.0, "bytes accessed": float(moved)}
    if name in TRANSCENDENTAL:
        cost["transcendentals"] = elements
    elif name == "dot_general":
        cost["flops"] = 2 * elements * _contracted(eqn)
    elif name == "conv_general_dilated":
        kernel = eqn.invars[1].aval
        features = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
        cost["flops"] = 2 * elements * kernel.size / max(1, features)
    elif name.startswith(("reduce_", "arg", "cum")):
        cost["flops"] = float(sum(v.aval.size for v in eqn.invars))
    elif name not in FREE:
        cost["flops"] = elements
    return cost


def _contracted(eqn: Eqn) -> float:
    (contracting, _), _ = eqn.params["dimension_numbers"]
    shape = eqn.invars[0].aval.shape
    return float(math.prod(shape[d] for d in contracting))


def bytes_of(aval: ShapedArray) -> int:
    """What an array of this type takes in memory."""
    return aval.size * itemsize_bits(aval.dtype) // 8
