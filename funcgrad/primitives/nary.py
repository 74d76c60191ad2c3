"""What elementwise primitives have in common: the shape and dtype rule, and their registration."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray
from funcgrad.base.errors import TypePromotionError
from funcgrad.base.shapes import broadcast_shapes
from funcgrad.base.trace import Primitive, Rule, abstract_rules, evaluate_rules, pure, single
from funcgrad.transforms import batching

# Names of the kinds of dtype that an operand may have, as the error message prints them.
INTEGER = (np.integer,)
BITS = (np.bool_, np.integer)
FLOAT = (np.floating,)
REAL = (np.integer, np.floating)
COMPLEX = (np.complexfloating,)
INEXACT = (np.floating, np.complexfloating)
NUMBER = (np.number,)
ANY = (np.bool_, np.number)

# The integers of less than 8 bits.
SMALL = frozenset(d for d in dtypes.KINDS["integral"].values() if dtypes.itemsize_bits(d) < 8)

Accepted = tuple[type, ...]


class DtypeMismatchError(TypeError, TypePromotionError):
    """Operands of an elementwise lax operation have different dtypes."""


def nary_shape(name: str, avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
    """The common shape: equal ranks with axes equal or of length 1, scalars fitting anything."""
    if len({a.shape for a in avals}) == 1:
        return avals[0].shape
    shapes = [a.shape for a in avals if a.shape]
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(
            f"{name} takes arrays of one rank, scalars aside, and adds no dimensions; got shapes "
            f"{', '.join(str(a.shape) for a in avals)}"
        )
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(
            f"{name} got incompatible shapes for broadcasting: "
            f"{', '.join(str(a.shape) for a in avals)}."
        ) from None


def check_dtype(name: str, position: int, aval: ShapedArray, accepted: Accepted) -> None:
    if not any(dtypes.issubdtype(aval.dtype, kind) for kind in accepted):
        kinds = ", ".join(kind.__name__ for kind in accepted)
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype} (argument {position}, "
            f"{aval.str_short()}). Accepted dtypes are subtypes of {kinds}."
        )


def check_same_dtype(name: str, avals: tuple[ShapedArray, ...]) -> None:
    if len({a.dtype for a in avals}) > 1:
        raise DtypeMismatchError(
            f"lax.{name} promotes nothing and takes arguments of the same dtypes, got "
            f"{', '.join(str(a.dtype) for a in avals)}. Cast one with lax.convert_element_type, or "
            f"use the function of funcgrad.numpy, which promotes its arguments."
        )


def nary_abstract(
    primitive: Primitive,
    accepted: Accepted | tuple[Accepted, ...],
    result: Callable[[Any], Any] = lambda dtype: dtype,
) -> Rule:
    """The abstract rule of an elementwise primitive.

    `accepted` is one kind for all operands, which must then agree, or a kind for each operand.
    """
    each = accepted if isinstance(accepted[0], tuple) else None

    def rule(*avals: ShapedArray, **params: Any) -> ShapedArray:
        for i, aval in enumerate(avals):
            check_dtype(primitive.name, i, aval, each[i] if each else accepted)  # type: ignore
        if each is None:
            check_same_dtype(primitive.name, avals)
        dtype = result(avals[0].dtype)
        weak = all(a.weak_type for a in avals)
        return avals[0].update(
            shape=nary_shape(primitive.name, avals), dtype=np.dtype(dtype), weak_type=weak
        )

    return pure(rule)


def elementwise(
    primitive: Primitive,
    accepted: Accepted | tuple[Accepted, ...],
    evaluate: Rule,
    result: Callable[[Any], Any] = lambda dtype: dtype,
) -> None:
    """Register evaluate, abstract and batching of a primitive that acts on each element alone.

    `evaluate(xp, *buffers, **params)` returns the one output; `result` maps the first operand's
    dtype to the output's.
    """
    evaluate_rules[primitive] = single(evaluate)
    abstract_rules[primitive] = nary_abstract(primitive, accepted, result)
    batching.elementwise(primitive)


def ufunc(name: str) -> Rule:
    """For `elementwise`: evaluation by the array library's function of that name."""
    return lambda xp, *buffers: by_int32(getattr(xp, name), *buffers)


def by_int32(function: Callable, *buffers: Any) -> Any:
    """What NumPy has no loops for, integers of less than 8 bits, computed with as int32."""
    dtype = buffers[0].dtype
    if dtype not in SMALL:
        return function(*buffers)
    return function(*(b.astype(np.int32) for b in buffers)).astype(dtype)


def by_float32(function: Callable, x: Any) -> Any:
    """A function of several steps, rounded once to a float of 8 bits or less, as XLA has it."""
    if x.dtype.itemsize > 1:
        return function(x)
    return function(x.astype(np.float32)).astype(x.dtype)


def always(dtype: Any) -> Callable[[Any], Any]:
    return lambda _: dtype


def real_dtype(dtype: Any) -> Any:
    """float32 for complex64, float64 for complex128, anything else unchanged."""
    return np.dtype(dtype).type(0).real.dtype if np.dtype(dtype).kind == "c" else dtype
