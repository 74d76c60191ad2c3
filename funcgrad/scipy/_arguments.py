"""What functions of real numbers share: promotion to one float dtype, derivatives by argument."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base.basis import add, convert, full_like
from funcgrad.numpy._choosing import where
from funcgrad.numpy._promotion import inexact, is_complex
from funcgrad.primitives.custom import SymbolicZero


def reals(name: str, *args: Any, weak: bool = True) -> list[Any]:
    """The arguments of the function `name` as float arrays of one dtype.

    If all are Python numbers, that dtype is a weak one, or not without `weak`.
    """
    arrays = list(inexact(name, *args))
    if is_complex(arrays[0]):
        given = ", ".join(x.aval.str_short() for x in arrays)
        raise ValueError(
            f"{name} is for real numbers only, and its arguments are complex after promotion: "
            f"{given}. Give it the real part."
        )
    return arrays if weak else [convert(x, x.aval.dtype) for x in arrays]


def real(name: str, x: Any, weak: bool = True) -> Any:
    return reals(name, x, weak=weak)[0]


def partials(function: custom_jvp, *rules: Callable[..., Any]) -> None:
    """Give a function its derivative argument by argument; arguments that do not move are skipped.

    `rules[i](tangent, output, *primals)` is what the tangent of argument i contributes.
    """

    def jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
        out, total = function(*primals), None
        for rule, tangent in zip(rules, tangents, strict=True):
            if not isinstance(tangent, SymbolicZero):
                part = rule(tangent, out, *primals)
                total = part if total is None else add(total, part)
        return out, full_like(out, 0) if total is None else total

    function.defjvp(jvp, symbolic_zeros=True)


def log_of_probability(p: Any) -> Any:
    """log(p), and -inf at 0, where the gradient is taken to be 0."""
    zero = p == 0
    return where(zero, -np.inf, lax.log(where(zero, 1, p)))
