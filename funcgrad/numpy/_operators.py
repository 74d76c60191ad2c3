"""The operators of arrays: what x + y, -x, x < y and the others do with operands of any type.

Arrays, NumPy arrays and numbers are computed with; lists and other containers are refused in words;
any other type gets its own chance to answer.
"""

from collections.abc import Callable
from typing import Any

from funcgrad.base.methods import slots
from funcgrad.numpy import _arithmetic, _bits, _logic, _products, _rounding
from funcgrad.numpy._promotion import ARRAY_TYPES

_REFUSED = (list, tuple, set, dict)

Function = Callable[[Any, Any], Any]


def _other(symbol: str, other: Any, left: Any, right: Any) -> Any:
    """An operand that is neither array nor number: what stands for it, or NotImplemented."""
    if hasattr(other, "__jax_array__"):
        return other.__jax_array__()
    if type(other) in _REFUSED:
        raise TypeError(
            f"unsupported operand of {symbol} in {type(left).__name__!r} {symbol} "
            f"{type(right).__name__!r}. Make an array of the {type(other).__name__} with "
            "funcgrad.numpy.array first."
        )
    return NotImplemented


def _operator(symbol: str, function: Function) -> Function:
    def operate(x: Any, other: Any) -> Any:
        if not isinstance(other, ARRAY_TYPES):
            other = _other(symbol, other, x, other)
            if other is NotImplemented:
                return other
        return function(x, other)

    return operate


def _reflected(symbol: str, function: Function) -> Function:
    def operate(x: Any, other: Any) -> Any:
        if not isinstance(other, ARRAY_TYPES):
            other = _other(symbol, other, other, x)
            if other is NotImplemented:
                return other
        return function(other, x)

    return operate


for _name, _symbol, _function in (
    ("add", "+", _arithmetic.add),
    ("sub", "-", _arithmetic.subtract),
    ("mul", "*", _arithmetic.multiply),
    ("truediv", "/", _arithmetic.true_divide),
    ("floordiv", "//", _arithmetic.floor_divide),
    ("mod", "%", _arithmetic.remainder),
    ("divmod", "divmod", _arithmetic.divmod),
    ("pow", "**", _arithmetic.power),
    ("matmul", "@", _products.matmul),
    ("and", "&", _bits.bitwise_and),
    ("or", "|", _bits.bitwise_or),
    ("xor", "^", _bits.bitwise_xor),
    ("lshift", "<<", _bits.left_shift),
    ("rshift", ">>", _bits.right_shift),
):
    slots[_name] = _operator(_symbol, _function)
    slots[f"r{_name}"] = _reflected(_symbol, _function)

for _name, _symbol, _function in (
    ("eq", "==", _logic.equal),
    ("ne", "!=", _logic.not_equal),
    ("lt", "<", _logic.less),
    ("le", "<=", _logic.less_equal),
    ("gt", ">", _logic.greater),
    ("ge", ">=", _logic.greater_equal),
):
    slots[_name] = _operator(_symbol, _function)

slots["negative"] = _arithmetic.negative
slots["positive"] = _arithmetic.positive
slots["abs"] = _arithmetic.absolute
slots["invert"] = _bits.invert
slots["round"] = _rounding.round
