"""Hypergeometric functions."""

from typing import Any

from funcgrad.primitives import hypergeometric
from funcgrad.scipy._arguments import reals


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function 1F1(a; b; x).

    Differentiable in all arguments; in a and in b once only.
    """
    return hypergeometric.hyp1f1(*reals("hyp1f1", a, b, x, weak=False))


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x) for x <= 1; inf beyond.

    Differentiable with respect to all arguments; with respect to a, b and c once only, and not
    close to x = 1, where that derivative is nan.
    """
    return hypergeometric.hyp2f1(*reals("hyp2f1", a, b, c, x, weak=False))
