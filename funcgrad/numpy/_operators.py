"""The operators of arrays: what x + y, -x, x < y and the others do with operands of any type.

Arrays, NumPy arrays and numbers are computed with; lists and other containers are refused in words;
any other type gets its own chance to answer.
"""

from collections.abc import Callable
from typing import Any

from funcgrad.base.methods import slots
from funcgrad.numpy import _arithmetic, _bits, _complex, _logic, _products, _rounding
from funcgrad.numpy._promotion import ARRAY_TYPES

_REFUSED = (list, tuple, set, dict)

Function = Callable[[Any, Any], Any]


def _operand(symbol: str, other: Any, operands: tuple[Any, Any]) -> Any:
    """The other operand if it is one for arrays, else NotImplemented or a TypeError."""
    if hasattr(other, "__jax_array__"):
        return other.__jax_array__()
    if type(other) in _REFUSED:
        left, right = (type(x).__name__ for x in operands)
        raise TypeError(
            f"unsupported operand type(s) for {symbol}: {left!r} and {right!r}. Make an array of "
            f"the {type(other).__name__} with funcgrad.numpy.array first."
        )
    return NotImplemented


def _binary(symbol: str, function: Function) -> tuple[Function, Function]:
    """`self op other` and `other op self`."""

    def forward(x: Any, other: Any) -> Any:
        if not isinstance(other, ARRAY_TYPES):
            other = _operand(symbol, other, (x, other))
            if other is NotImplemented:
                return other
        return function(x, other)

    def reflected(x: Any, other: Any) -> Any:
        if not isinstance(other, ARRAY_TYPES):
            other = _operand(symbol, other, (other, x))
            if other is NotImplemented:
                return other
        return function(other, x)

    return forward, reflected
