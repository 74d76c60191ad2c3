"""Choosing element by element: where, select, piecewise, clip, nan_to_num, heaviside."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import convert, eq
from funcgrad.base.basis import select_n as select_case
from funcgrad.numpy._arithmetic import maximum, minimum
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._logic import truth
from funcgrad.numpy._nonzero import nonzero
from funcgrad.numpy._promotion import (
    broadcast_together,
    check_arraylike,
    choose,
    constant,
    inexact,
    is_arraylike,
    is_complex,
    like,
    promote_dtypes,
    to_array,
    to_arrays,
)
from funcgrad.primitives import complex_parts
from funcgrad.primitives.compare import gt, lt, ne


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where the condition holds, else y; all three broadcast.

    With the condition alone it is `nonzero(condition, size=size, fill_value=fill_value)`. The
    derivative of the branch not taken is multiplied by 0: where it is infinite the gradient is nan,
    so make its operand harmless by another `where` inside.
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value belong to the call without x and y.")
    if x is None or y is None:
        raise ValueError(
            f"where takes x and y together, or the condition alone; here x is {x} and y is {y}."
        )
    condition = truth(to_array("where", condition))
    x, y = promote_dtypes("where", x, y)
    return choose_broadcast(condition, x, y)


def choose_broadcast(condition: Any, x: Any, y: Any) -> Any:
    if not condition.aval.shape and x.aval.shape == y.aval.shape:
        return select_case(condition, y, x)
    if not condition.aval.shape:
        x, y = broadcast_together("where", [x, y])
        return select_case(condition, y, x)
    return choose(condition, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice that belongs to the first condition that holds, else the default."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: {len(condlist)} conditions in condlist for {len(choicelist)} in choicelist"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    conditions = [truth(c) for c in to_arrays("select", *condlist)]
    result, *choices = promote_dtypes("select", default, *choicelist)
    everything = broadcast_together("select", [result, *choices, *conditions])
    result, rest = everything[0], everything[1:]
    choices, conditions = rest[: len(choices)], rest[len(choices) :]
    for condition, chosen in reversed(list(zip(conditions, choices, strict=True))):
        result = select_case(condition, result, chosen)
    return result


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The function (or number) that belongs to the last condition that holds, applied to x.

    One more function than conditions is the one for nowhere else; without it that is 0. Every
    function is called on all of x.
    """
    x = to_array("piecewise", x)
    one_condition = is_arraylike(condlist) and aval_of(condlist).ndim == x.ndim
    conditions = [condlist] if one_condition else list(condlist)
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: funclist needs one function per condition ({len(conditions)}), and at "
            f"most one more for the rest; it has {len(funclist)}"
        )
    *branches, otherwise = [_on(f, x, args, kw) for f in functions]
    result = otherwise
    for condition, branch in zip(conditions, branches, strict=True):
        result = where(condition, branch, result)
    return result


def _on(function: Any, x: Any, args: tuple, kw: dict[str, Any]) -> Any:
    value = function(x, *args, **kw) if callable(function) else function
    value = convert(asarray(value), x.aval.dtype, x.aval.weak_type)
    return broadcast_together("piecewise", [value, x])[0]


# limits


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """arr limited to the range min..max, either of which may be left out."""
    if arr is None:
        raise ValueError("clip: no input was provided")
    check_arraylike("clip", arr)
    if any(
        dtypes.issubdtype(aval_of(x).dtype, np.complexfloating)
        for x in (arr, min, max)
        if x is not None
    ):
        raise ValueError(
            "clip: complex values have no order and cannot be clipped; clip x.real and x.imag."
        )
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return to_array("clip", arr)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with nan replaced by 0 and infinities by the largest finite numbers, or as given."""
    x = to_array("nan_to_num", x)
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        return x
    if is_complex(x):
        parts = (complex_parts.real(x), complex_parts.imag(x))
        return complex_parts.complex(*(nan_to_num(p, copy, nan, posinf, neginf) for p in parts))
    info = dtypes.finfo(x.aval.dtype)
    positive = float(info.max) if posinf is None else posinf
    negative = float(info.min) if neginf is None else neginf
    result = choose(ne(x, x), _in_dtype(nan, x), x)
    result = choose(eq(x, like(np.inf, x)), _in_dtype(positive, x), result)
    return choose(eq(x, like(-np.inf, x)), _in_dtype(negative, x), result)


def _in_dtype(value: Any, x: Any) -> Any:
    return convert(asarray(value), x.aval.dtype)


def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0, nan where it is nan."""
    x, at_zero = inexact("heaviside", x1, x2)
    x, at_zero = broadcast_together("heaviside", [x, at_zero])
    zero, one = constant(0, x.aval.dtype), constant(1, x.aval.dtype)
    middle = choose(eq(x, x), at_zero, x)
    return choose(lt(x, zero), zero, choose(gt(x, zero), one, middle))
