"""Operations that change how bits or numbers are represented: casts, bitcasts, precision."""

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray
from funcgrad.base.basis import convert, convert_element_type_p
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import BITS, Expr, Graph, Index
from funcgrad.compiler.narrow import computed
from funcgrad.primitives.nary import FLOAT, elementwise
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import Linear

bitcast_convert_type_p = Primitive("bitcast_convert_type")
reduce_precision_p = Primitive("reduce_precision")


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of the operand read as another dtype.

    A narrower dtype adds a trailing axis, a wider one consumes the trailing axis.
    """
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonicalize_dtype(new_dtype))


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """The operand rounded to a float format of that many exponent and mantissa bits."""
    return reduce_precision_p.bind(
        operand, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits)
    )


# convert_element_type


def convert_abstract(x: ShapedArray, new_dtype: Any, weak_type: bool) -> ShapedArray:
    if isinstance(x.dtype, dtypes.KeyType) or isinstance(new_dtype, dtypes.KeyType):
        if x.dtype != new_dtype:
            raise TypeError(
                f"cannot convert between {x.dtype} and {new_dtype}: use random.key_data or "
                "random.wrap_key_data"
            )
    return x.update(dtype=new_dtype, weak_type=weak_type)


def convert_evaluate(xp: Any, x: Any, new_dtype: Any, weak_type: bool) -> Any:
    if x.dtype == new_dtype or isinstance(new_dtype, dtypes.KeyType):
        return x
    target = np.dtype(new_dtype)
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    wide = computed(x.dtype)
    if wide is not None and computed(target) is not None:
        x = x.astype(wide)  # ml_dtypes converts few of its dtypes into each other
    if dtypes.issubdtype(target, np.integer) and dtypes.issubdtype(x.dtype, np.floating):
        return _float_to_integer(xp, x, target)
    return x.astype(target)


def _float_to_integer(xp: Any, x: Any, target: np.dtype) -> Any:
    """Round towards zero and saturate, nan to zero: what XLA does, where C leaves it undefined."""
    info = ml_dtypes.iinfo(target)
    wide = x.astype(np.float64)
    inside = xp.where(xp.isnan(wide), 0.0, wide)
    low, high = inside < info.min, inside >= float(info.max) + (info.bits < 53)
    out = xp.where(low | high, 0.0, inside).astype(target)
    out = xp.where(low, target.type(info.min), out)
    return xp.where(high, target.type(info.max), out)


def convert_forward(
    primals: Sequence, tangents: Sequence, new_dtype: Any, weak_type: bool
) -> tuple:
    (x,), (t,) = primals, tangents
    out = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type)
    if not dtypes.issubdtype(new_dtype, np.inexact):
        return (out,), (None,)
    return (out,), (convert(t, new_dtype, weak_type),)


def convert_backward(ct: Any, x: Linear, new_dtype: Any, weak_type: bool) -> Any:
    return convert(ct, x.aval.dtype, x.aval.weak_type)


evaluate_rules[convert_element_type_p] = single(convert_evaluate)
abstract_rules[convert_element_type_p] = pure(convert_abstract)
forward.rules[convert_element_type_p] = convert_forward
backward.unary(convert_element_type_p, convert_backward)
batching.elementwise(convert_element_type_p)


def convert_lower(
    graph: Graph,
    index: lowering.Position,
    x: lowering.Element,
    new_dtype: Any,
    weak_type: bool,
) -> Expr:
    return lowering.convert_element(x, index, new_dtype)


lowering.rules[convert_element_type_p] = convert_lower


# bitcast_convert_type


def bitcast_abstract(x: ShapedArray, new_dtype: Any) -> ShapedArray:
    old, new = np.dtype(x.dtype).itemsize, np.dtype(new_dtype).itemsize
    if (np.dtype(x.dtype) == bool) != (np.dtype(new_dtype) == bool) or new_dtype == dtypes.float0:
        raise TypeError(f"bitcast_convert_type: cannot cast {x.str_short()} to {new_dtype}")
    if old == new:
        shape = x.shape
    elif old > new:
        shape = (*x.shape, old // new)
    elif x.shape and x.shape[-1] == new // old:
        shape = x.shape[:-1]
    else:
        raise ValueError(
            f"bitcast_convert_type: casting {x.dtype} to {new_dtype} takes {new // old} elements "
            f"for one, so the last axis must have that length; got shape {x.shape}"
        )
    return x.update(shape=shape, dtype=np.dtype(new_dtype), weak_type=False)


def bitcast_evaluate(xp: Any, x: Any, new_dtype: Any) -> Any:
    shape = bitcast_abstract(ShapedArray(x.shape, x.dtype), new_dtype).shape
    return xp.ascontiguousarray(x).reshape(-1).view(new_dtype).reshape(shape)


def bitcast_batch(axis: Any, values: Sequence, axes: Sequence, new_dtype: Any) -> Any:
    value = batching.to_front(axis, values[0], axes[0])
    return (bitcast_convert_type(value, new_dtype),), (0,)


evaluate_rules[bitcast_convert_type_p] = single(bitcast_evaluate)
abstract_rules[bitcast_convert_type_p] = pure(bitcast_abstract)
forward.zero_derivative(bitcast_convert_type_p)
batching.rules[bitcast_convert_type_p] = bitcast_batch


def bitcast_lower(
    graph: Graph, index: lowering.Position, x: lowering.Element, new_dtype: Any
) -> Expr:
    """Along the trailing axis that comes or goes, the lowest bits stand first."""
    dtype = lowering.element_type(new_dtype) or ""
    old, new = BITS[x.dtype], BITS[dtype]
    if old == new:
        return x(index).bits(dtype)
    if old > new:
        *outer, part = index
        whole = x(tuple(outer)).bits(f"u{old}")
        return (whole >> graph.value(part.times(new), f"u{old}")).to(f"u{new}").bits(dtype)
    total = graph.const(0, f"u{new}")
    for i in range(new // old):
        part = x((*index, Index(i))).bits(f"u{old}").to(f"u{new}")
        total = total | (part << i * old)
    return total.bits(dtype)


def splits_bytes(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    """Whether a dtype has less bits than the byte that holds it."""
    found = [d for d in (avals[0].dtype, params["new_dtype"]) if not isinstance(d, dtypes.KeyType)]
    return any(dtypes.itemsize_bits(d) < 8 for d in found)


lowering.rules[bitcast_convert_type_p] = bitcast_lower
lowering.movers.add(bitcast_convert_type_p)
lowering.refusals[bitcast_convert_type_p] = splits_bytes


# reduce_precision


def reduce_precision_evaluate(xp: Any, x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round to nearest even in float64, overflow to infinity, flush what would be denormal."""
    wide = x.astype(np.float64)
    bias = 2 ** (exponent_bits - 1) - 1
    fraction, exponent = xp.frexp(wide)
    rounded = xp.rint(xp.ldexp(fraction, mantissa_bits + 1))
    value = xp.ldexp(rounded, exponent - mantissa_bits - 1)
    largest = np.ldexp(2.0 - 2.0**-mantissa_bits, bias)
    smallest = np.ldexp(1.0, 1 - bias)
    value = xp.where(xp.abs(value) > largest, xp.copysign(np.inf, wide), value)
    value = xp.where(xp.abs(value) < smallest, xp.copysign(0.0, wide), value)
    return xp.where(xp.isfinite(wide), value, wide).astype(x.dtype)


elementwise(reduce_precision_p, FLOAT, reduce_precision_evaluate)
forward.elementwise(
    reduce_precision_p, lambda t, out, x, **params: reduce_precision_p.bind(t, **params)
)
backward.unary(reduce_precision_p, lambda ct, x, **params: reduce_precision_p.bind(ct, **params))


def reduce_precision_lower(x: Expr, exponent_bits: int, mantissa_bits: int) -> Expr:
    """Rounded in the bits of a double, whose denormals are scaled up so that each has 53."""
    graph, wide = x.graph, x.to("f64")
    if mantissa_bits < 52:
        scale = graph.const(1, "f64")
        if x.dtype == "f64":
            scale = graph.select(wide.apply("abs") < 2.0**-1000, 2.0**60, scale)
        rounded = rounded_to(wide * scale, mantissa_bits) / scale
    else:
        rounded = wide
    bias = 2 ** (exponent_bits - 1) - 1
    with np.errstate(over="ignore"):
        largest = float(np.ldexp(2.0 - 2.0**-mantissa_bits, bias))
    smallest = float(np.ldexp(1.0, 1 - bias))
    size, negative = rounded.apply("abs"), wide.bits("i64") < 0
    infinity = graph.select(negative, -math.inf, graph.const(math.inf, "f64"))
    zero = graph.select(negative, -0.0, graph.const(0, "f64"))
    value = graph.select(size > largest, infinity, rounded)
    value = graph.select(size < smallest, zero, value)
    return graph.select(wide.apply("abs") < math.inf, value.to(x.dtype), x)


def rounded_to(x: Expr, mantissa_bits: int) -> Expr:
    """A double rounded to nearest, halves to even, after that many bits of its fraction."""
    dropped = 52 - mantissa_bits
    bits = x.bits("u64")
    half = (bits >> dropped & 1) + ((1 << dropped - 1) - 1)
    return ((bits + half) >> dropped << dropped).bits("f64")


lowering.elementwise(reduce_precision_p, reduce_precision_lower)
