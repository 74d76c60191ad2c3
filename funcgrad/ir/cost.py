"""What a program computes, counted from its equations: arithmetic, and calls of functions."""

import math
from collections.abc import Callable

from funcgrad.base.aval import ShapedArray
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subprograms

TRANSCENDENTAL = frozenset(
    "exp exp2 expm1 log log1p logistic sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
    "atanh pow sqrt rsqrt cbrt erf erfc erf_inv lgamma digamma".split()
)
# What moves, renames or makes elements without arithmetic.
FREE = frozenset(
    "broadcast_in_dim reshape squeeze transpose slice pad concatenate iota copy rev gather scatter "
    "dynamic_slice dynamic_update_slice split expand_dims real imag bitcast_convert_type "
    "stop_gradient optimization_barrier random_wrap random_unwrap".split()
)


def program_cost(program: ClosedJaxpr | Jaxpr) -> dict[str, float]:
    """`flops`, `transcendentals` and `bytes accessed`, each summed over all equations.

    An elementwise operation counts one a element, a product and its sum two. Loops count their body
    times their length where that is known, conditionals their dearest branch.
    """
    totals = {"flops": 0.0, "transcendentals": 0.0, "bytes accessed": 0.0}
    for eqn in program.eqns:
        for name, amount in _equation_cost(eqn).items():
            totals[name] += amount
    return totals


def _equation_cost(eqn: Eqn) -> dict[str, float]:
    name = eqn.primitive.name
    inner = [] if _combines(name) else [program_cost(p) for p in subprograms(eqn.params)]
    if inner:
        times = eqn.params.get("length", 1)
        pick = max if "branches" in eqn.params else math.fsum
        return {key: times * pick([c[key] for c in inner]) for key in inner[0]}
    moved = sum(bytes_of(v.aval) for v in (*eqn.invars, *eqn.outvars))
    elements = sum(v.aval.size for v in eqn.outvars)
    called = elements if name in TRANSCENDENTAL else 0
    flops = 0.0 if called or name in FREE else COUNTED.get(name, _elementwise)(eqn)
    if name == "reduce" or (name.startswith(("reduce_", "arg")) and "axes" in eqn.params):
        flops = _reduced(eqn)
    return {
        "flops": float(flops),
        "transcendentals": float(called),
        "bytes accessed": float(moved),
    }


def _combines(name: str) -> bool:
    """Whether the program that a primitive carries is how it combines two elements."""
    return name.startswith(("scatter", "reduce_window", "select_and")) or name == "reduce"


def _elementwise(eqn: Eqn) -> int:
    return max((v.aval.size for v in eqn.outvars), default=0)


def _conversion(eqn: Eqn) -> int:
    """Nothing where only the weak type changes."""
    source, result = eqn.invars[0].aval, eqn.outvars[0].aval
    return 0 if source.dtype == result.dtype else result.size


def _reduced(eqn: Eqn) -> int:
    """One operation less than there are elements, for each output."""
    return max(eqn.invars[0].aval.size - eqn.outvars[0].aval.size, 0)


def _dot_general(eqn: Eqn) -> int:
    (contracting, _), _ = eqn.params["dimension_numbers"]
    shape = eqn.invars[0].aval.shape
    return 2 * eqn.outvars[0].aval.size * math.prod(shape[d] for d in contracting)


def _convolution(eqn: Eqn) -> float:
    kernel = eqn.invars[1].aval
    features = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
    return 2 * eqn.outvars[0].aval.size * kernel.size / max(1, features)


def _integer_power(eqn: Eqn) -> int:
    """By repeated squaring, and one division if the exponent is negative."""
    exponent = abs(eqn.params["y"])
    products = max(exponent.bit_length() - 1 + exponent.bit_count() - 1, 0)
    return (products + (eqn.params["y"] < 0)) * eqn.outvars[0].aval.size


def _cumulative(eqn: Eqn) -> int:
    aval = eqn.invars[0].aval
    length = aval.shape[eqn.params["axis"]]
    return aval.size // length * (length - 1) if length else 0


def _windows(eqn: Eqn) -> int:
    window = math.prod(eqn.params["window_dimensions"])
    return eqn.outvars[0].aval.size * max(window - 1, 0)


def _updates(eqn: Eqn) -> int:
    return eqn.invars[2].aval.size


def _sort(eqn: Eqn) -> int:
    aval = eqn.invars[0].aval
    length = aval.shape[eqn.params["dimension"]]
    return aval.size * max(length - 1, 0).bit_length()


def _fft(eqn: Eqn) -> float:
    lengths = math.prod(eqn.params["fft_lengths"])
    count = max(eqn.invars[0].aval.size, eqn.outvars[0].aval.size)
    return 5 * count * math.log2(lengths) if lengths > 1 else 0


def _cubic(factor: float) -> Callable[[Eqn], float]:
    """Of matrices [..., m, n]: factor * m * n * min(m, n) each (Golub and Van Loan)."""

    def count(eqn: Eqn) -> float:
        shape = eqn.invars[0].aval.shape
        return factor * math.prod(shape) * min(shape[-2:])

    return count


def _triangular_solve(eqn: Eqn) -> int:
    return eqn.invars[1].aval.size * eqn.invars[0].aval.shape[-1]


COUNTED: dict[str, Callable[[Eqn], float]] = {
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
    "convert_element_type": _conversion,
    "integer_pow": _integer_power,
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _cumulative),
    **dict.fromkeys([f"reduce_window{end}" for end in ("", "_max", "_min", "_sum")], _windows),
    **dict.fromkeys([f"scatter-{kind}" for kind in ("add", "sub", "mul", "min", "max")], _updates),
    "sort": _sort,
    "fft": _fft,
    "cholesky": _cubic(1 / 3),
    "lu": _cubic(2 / 3),
    "triangular_solve": _triangular_solve,
}


def bytes_of(aval: ShapedArray) -> int:
    """What an array of this type takes in memory."""
    return aval.size * buffer_dtype(aval.dtype).itemsize
