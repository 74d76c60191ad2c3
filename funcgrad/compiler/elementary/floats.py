"""How a function of floats is put together: formats, polynomials, powers of two, signs.

A function is written for f32 and f64; f16 and bf16 go through f32 and are rounded at the end.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from funcgrad.compiler.loops import BITS, FLOATS, Deferred, Expr

Coefficients = dict[str, tuple[str, ...]]  # by dtype, as float.hex, lowest power first


class Format(NamedTuple):
    """How the bits of a float are laid out, and numbers that its width decides."""

    unsigned: str  # dtypes of its width
    signed: str
    digits: int  # stored bits of the mantissa
    bias: int
    rounder: float  # adding this rounds to an integer, which then stands in the low bits

    @property
    def sign(self) -> int:
        return 1 << (BITS[self.unsigned] - 1)

    @property
    def one(self) -> int:
        return self.bias << self.digits

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


FORMATS = {
    "f32": Format("u32", "i32", 23, 127, 1.5 * 2.0**23),
    "f64": Format("u64", "i64", 52, 1023, 1.5 * 2.0**52),
}

INFINITY = float("inf")
NAN = float("nan")
# log 2 in two parts; the first has so few bits that its product with an exponent is exact.
LOG_2 = {
    "f32": ("0x1.62e4p-1", "0x1.7f7d1cp-20"),
    "f64": ("0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45"),
}


def float_function(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """Make `function(*floats, **settings)`, written for f32 and f64, take every float dtype."""

    @wraps(function)
    def at_once(*args: Expr, **settings: Any) -> Expr:
        dtype = args[0].dtype
        if dtype in FORMATS:
            return function(*args, **settings)
        return function(*(a.to("f32") for a in args), **settings).to(dtype)

    @wraps(function)
    def dispatch(*args: Expr, **settings: Any) -> Expr:
        dtype = args[0].dtype
        if dtype not in FLOATS or any(a.dtype != dtype for a in args):
            found = ", ".join(a.dtype for a in args)
            raise TypeError(f"{function.__name__} takes floats of one dtype, not {found}")
        graph = args[0].graph
        if graph.deferring:
            return graph.deferred(Deferred(at_once, tuple(settings.items())), args)
        return at_once(*args, **settings)

    return dispatch


def fma(x: Expr, y: Any, z: Any) -> Expr:
    return x.apply("fma", y, z)


def select(test: Expr, if_true: Any, if_false: Any, rare: bool = False) -> Expr:
    return test.graph.select(test, if_true, if_false, rare)


def const(like: Expr, value: Any) -> Expr:
    """A constant of the dtype of another expression."""
    return like.graph.const(value, like.dtype)


def absolute(x: Expr) -> Expr:
    return x.apply("abs")


def polynomial(x: Expr, coefficients: Sequence[Any]) -> Expr:
    """coefficients[0] + coefficients[1] x + ..., by Horner's rule."""
    total = const(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total


def clamped(x: Expr, low: float | None = None, high: float | None = None) -> Expr:
    """x within bounds; nan stays. Written so that a machine's own min and max do it."""
    if low is not None:
        x = select(x < low, low, x)
    if high is not None:
        x = select(x > high, high, x)
    return x


def nearest(x: Expr, scale: float | str) -> tuple[Expr, Expr]:
    """The integer nearest x * scale, as a float and as the low bits of a word."""
    rounder = FORMATS[x.dtype].rounder
    shifted = fma(x, scale, rounder)
    return shifted - rounder, shifted.bits(FORMATS[x.dtype].unsigned)


def scaled(x: Expr, word: Expr) -> Expr:
    """x * 2^n, n in the low bits of a word from `nearest`, where x is near 1.

    Two factors, as 2^n may be too small or too large for one; only the second product rounds.
    """
    form = FORMATS[x.dtype]
    half = (word >> 1) << form.digits
    rest = (word << form.digits) - half
    return x * (half + form.one).bits(x.dtype) * (rest + form.one).bits(x.dtype)


def power_of_two(word: Expr, dtype: str) -> Expr:
    """2^n where that is a normal number, n in the low bits of a word."""
    form = FORMATS[dtype]
    return ((word << form.digits) + form.one).bits(dtype)


def with_sign(x: Expr, source: Expr) -> Expr:
    """x, not negative, with the sign of `source` (or negative already where `source` is)."""
    form = FORMATS[x.dtype]
    sign = source.bits(form.unsigned) & form.sign
    return (x.bits(form.unsigned) | sign).bits(x.dtype)


def flipped(x: Expr, word: Expr) -> Expr:
    """x negated where the lowest bit of a word is set."""
    form = FORMATS[x.dtype]
    sign = word << (BITS[x.dtype] - 1)
    return (x.bits(form.unsigned) ^ sign).bits(x.dtype)


def sign_flipped(x: Expr, source: Expr) -> Expr:
    """x negated where `source` is negative."""
    form = FORMATS[x.dtype]
    sign = source.bits(form.unsigned) & form.sign
    return (x.bits(form.unsigned) ^ sign).bits(x.dtype)


def upper_half(x: Expr) -> Expr:
    """x cut to half of its digits, so that the product of two such is exact."""
    form = FORMATS[x.dtype]
    kept = -1 << (form.digits + 2) // 2
    return (x.bits(form.unsigned) & (kept % 2 ** BITS[x.dtype])).bits(x.dtype)
