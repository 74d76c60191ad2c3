"""Integers as rows of bits: shifts, counts, high products, and the threefry hash."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray
from funcgrad.base.shapes import broadcast_shapes
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import BITS, SIGNED, Expr, Graph
from funcgrad.primitives.nary import INTEGER, elementwise, nary_shape
from funcgrad.transforms import batching, forward

shift_left_p = Primitive("shift_left")
shift_right_arithmetic_p = Primitive("shift_right_arithmetic")
shift_right_logical_p = Primitive("shift_right_logical")
population_count_p = Primitive("population_count")
clz_p = Primitive("clz")
mulhi_p = Primitive("mulhi")
threefry2x32_p = Primitive("threefry2x32", multiple_results=True)


def shift_left(x: Any, y: Any) -> Any:
    """Elementwise x << y; 0 where y is negative or not less than the number of bits."""
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Elementwise x >> y with copies of the highest bit moving in, also for unsigned x.

    Where y is negative or not less than the number of bits, only copies of it are left.
    """
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """Elementwise x >> y with zeros moving in, also for signed x.

    The result is 0 where y is negative or not less than the number of bits.
    """
    return shift_right_logical_p.bind(x, y)


def population_count(x: Any) -> Any:
    """The number of one bits of each element, in its dtype."""
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """The number of zero bits above the highest one bit of each element, in its dtype."""
    return clz_p.bind(x)


def mulhi(x: Any, y: Any) -> Any:
    """The upper half of the bits of the exact elementwise product."""
    return mulhi_p.bind(x, y)


def bit_count(dtype: Any) -> int:
    return dtypes.iinfo(dtype).bits


def unsigned(x: Any) -> Any:
    """The same bits as an unsigned NumPy integer; those of less than a byte with zeros above."""
    if x.dtype.kind == "u":
        return x
    if x.dtype.kind == "i":
        return x.view(f"u{x.dtype.itemsize}")
    return x.astype(np.int8).view(np.uint8) & np.uint8((1 << bit_count(x.dtype)) - 1)


def signed(x: Any) -> Any:
    """The same bits as a signed NumPy integer; those of less than a byte with copies of the top."""
    if x.dtype.kind == "i":
        return x
    if x.dtype.kind == "u":
        return x.view(f"i{x.dtype.itemsize}")
    spare = np.uint8(8 - bit_count(x.dtype))
    return (unsigned(x) << spare).view(np.int8) >> np.int8(spare)


def as_dtype(x: Any, dtype: Any) -> Any:
    """The lowest bits of unsigned integers as a dtype of that many bits or fewer."""
    if dtype.kind == "u":
        return x.astype(dtype, copy=False)
    if dtype.kind == "i":
        return x.view(dtype)
    return x.astype(dtype)


# shifts


def shifts(x: Any, y: Any) -> tuple[Any, Any]:
    """The shift amounts in the dtype of the bits, and which of them are less than their number."""
    amount = unsigned(y)
    few = amount < bit_count(x.dtype)
    if y.dtype.kind not in "iu" and dtypes.issubdtype(y.dtype, np.signedinteger):
        few = few & (y.astype(np.int8) >= 0)
    return amount, few


def shift_left_evaluate(xp: Any, x: Any, y: Any) -> Any:
    amount, few = shifts(x, y)
    bits = unsigned(x)
    return as_dtype(xp.where(few, bits << amount, bits.dtype.type(0)), x.dtype)


def shift_right_logical_evaluate(xp: Any, x: Any, y: Any) -> Any:
    amount, few = shifts(x, y)
    bits = unsigned(x)
    return as_dtype(xp.where(few, bits >> amount, bits.dtype.type(0)), x.dtype)


def shift_right_arithmetic_evaluate(xp: Any, x: Any, y: Any) -> Any:
    amount, few = shifts(x, y)
    wide = signed(x)
    last = wide.dtype.type(bit_count(x.dtype) - 1)
    shifted = wide >> xp.where(few, amount.astype(wide.dtype), last)
    return as_dtype(shifted.view(f"u{wide.itemsize}"), x.dtype)


for _primitive, _evaluate in (
    (shift_left_p, shift_left_evaluate),
    (shift_right_arithmetic_p, shift_right_arithmetic_evaluate),
    (shift_right_logical_p, shift_right_logical_evaluate),
):
    elementwise(_primitive, INTEGER, _evaluate)
    forward.zero_derivative(_primitive)


def shift_lower(op: str, signed: bool) -> Callable[[Expr, Expr], Expr]:
    """A shift of unsigned bits, after which zeros are left where it is too far, or of signed."""

    def lower(x: Expr, y: Expr) -> Expr:
        graph, width = x.graph, BITS[x.dtype]
        dtype = f"{'i' if signed else 'u'}{width}"
        bits = x.bits(dtype)
        if y.op == "const":
            amount = int(y.data) % 2**width
            if amount >= width and not signed:
                return graph.const(0, x.dtype)
            return bits.apply(op, min(amount, width - 1)).bits(x.dtype)
        amount = y.bits(f"u{width}")
        few = amount < width
        amount = graph.select(few, amount, width - 1 if signed else 0).bits(dtype)
        shifted = bits.apply(op, amount)
        return (shifted if signed else graph.select(few, shifted, 0)).bits(x.dtype)

    return lower


lowering.elementwise(shift_left_p, shift_lower("shl", signed=False))
lowering.elementwise(shift_right_logical_p, shift_lower("shr", signed=False))
lowering.elementwise(shift_right_arithmetic_p, shift_lower("shr", signed=True))
lowering.refuse_narrow(shift_right_logical_p)
lowering.refuse_narrow(shift_right_arithmetic_p)


# counts


def bit_length(xp: Any, bits: Any) -> Any:
    """How many bits unsigned integers need; a double holds 32 of them exactly."""
    if bits.dtype.itemsize < 8:
        return xp.frexp(bits.astype(np.float64))[1]
    high, low = (bits >> np.uint64(32)).astype(np.uint32), bits.astype(np.uint32)
    return xp.where(high != 0, 32 + bit_length(xp, high), bit_length(xp, low))


elementwise(
    population_count_p,
    INTEGER,
    lambda xp, x: xp.bitwise_count(unsigned(x)).astype(x.dtype),
)
forward.zero_derivative(population_count_p)

elementwise(
    clz_p,
    INTEGER,
    lambda xp, x: (bit_count(x.dtype) - bit_length(xp, unsigned(x))).astype(x.dtype),
)
forward.zero_derivative(clz_p)


def count_lower(op: str) -> Callable[[Expr], Expr]:
    return lambda x: x.bits(f"u{BITS[x.dtype]}").apply(op).bits(x.dtype)


lowering.elementwise(population_count_p, count_lower("popcount"))
lowering.elementwise(clz_p, count_lower("clz"))
lowering.refuse_narrow(population_count_p)
lowering.refuse_narrow(clz_p)


# mulhi


def mulhi_evaluate(xp: Any, x: Any, y: Any) -> Any:
    bits, signed = bit_count(x.dtype), dtypes.issubdtype(x.dtype, np.signedinteger)
    if bits < 64:
        wide = np.int64 if signed else np.uint64
        return ((x.astype(wide) * y.astype(wide)) >> wide(bits)).astype(x.dtype)
    high = _unsigned_mulhi(unsigned(x), unsigned(y))
    if not signed:
        return high
    # Read as unsigned, a negative factor is 2**64 too large.
    zero = np.uint64(0)
    high = high - xp.where(x < 0, unsigned(y), zero) - xp.where(y < 0, unsigned(x), zero)
    return high.view(x.dtype)


def _unsigned_mulhi(x: Any, y: Any) -> Any:
    """The schoolbook product of two digits of 32 bits each."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x_high, x_low, y_high, y_low = x >> half, x & mask, y >> half, y & mask
    middle = x_high * y_low + ((x_low * y_low) >> half)
    return x_high * y_high + (middle >> half) + ((x_low * y_high + (middle & mask)) >> half)


elementwise(mulhi_p, INTEGER, mulhi_evaluate)
forward.zero_derivative(mulhi_p)


def mulhi_lower(x: Expr, y: Expr) -> Expr:
    """Of narrow factors the product is exact in 32 bits; of wide ones it is that of their bits."""
    graph, width = x.graph, BITS[x.dtype]
    if width < 32:
        wide = "i32" if x.dtype in SIGNED else "u32"
        return (x.to(wide) * y.to(wide) >> width).to(x.dtype)
    word = f"u{width}"
    a, b = x.bits(word), y.bits(word)
    high = a.apply("mulhi", b)
    if x.dtype in SIGNED:
        high = high - graph.select(x < 0, b, 0) - graph.select(y < 0, a, 0)
    return high.bits(x.dtype)


lowering.elementwise(mulhi_p, mulhi_lower)
lowering.refuse_narrow(mulhi_p)


# threefry2x32: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
# Counters hashed at a time: two words each and a scratch array stay in a core's cache.
BLOCK = 1 << 15


def threefry2x32_evaluate(xp: Any, key1: Any, key2: Any, x1: Any, x2: Any) -> tuple[Any, Any]:
    shape = broadcast_shapes(key1.shape, key2.shape, x1.shape, x2.shape)
    one_key = key1.size == 1 and key2.size == 1
    keys = [k.reshape(1) if one_key else flat(xp, k, shape) for k in (key1, key2)]
    keys.append(keys[0] ^ keys[1] ^ PARITY)
    outs = tuple(xp.array(xp.broadcast_to(x, shape), order="C") for x in (x1, x2))
    first, second = (out.reshape(-1) for out in outs)
    scratch = xp.empty(min(BLOCK, first.size), np.uint32)
    for start in range(0, first.size, BLOCK):
        part = slice(start, start + BLOCK)
        words = first[part], second[part]
        block_keys = keys if one_key else [k[part] for k in keys]
        hash_block(xp, words, block_keys, scratch[: words[0].size])
    return outs


def flat(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return xp.broadcast_to(x, shape).reshape(-1)


def hash_block(xp: Any, words: tuple[Any, Any], keys: list[Any], scratch: Any) -> None:
    """Hash counters in place: 20 rounds of add, rotate and xor, a key word added every four."""
    x, y = words
    x += keys[0]
    y += keys[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x += y
            xp.right_shift(y, np.uint32(32 - rotation), out=scratch)
            y <<= np.uint32(rotation)
            y |= scratch
            y ^= x
        x += keys[(group + 1) % 3]
        y += keys[(group + 2) % 3]
        y += np.uint32(group + 1)


def threefry2x32_abstract(*avals: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    if any(a.dtype != np.uint32 for a in avals):
        raise TypeError(
            "threefry2x32: all arguments must have the dtype uint32, got "
            f"{', '.join(a.str_short() for a in avals)}"
        )
    out = avals[0].update(shape=nary_shape("threefry2x32", avals), weak_type=False)
    return out, out


evaluate_rules[threefry2x32_p] = threefry2x32_evaluate
abstract_rules[threefry2x32_p] = pure(threefry2x32_abstract)
forward.zero_derivative(threefry2x32_p)
batching.elementwise(threefry2x32_p)


def hash_lower(key1: Expr, key2: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
    schedule = (key1, key2, key1 ^ key2 ^ int(PARITY))
    x, y = x + key1, y + key2
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = x + y
            y = y.apply("rotl", rotation) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + (group + 1)
    return x, y


def threefry2x32_lower(
    graph: Graph, index: lowering.Position, *operands: lowering.Element
) -> tuple[Expr, Expr]:
    key1, key2, x, y = (lowering.at_broadcast(x, index) for x in operands)
    return hash_lower(key1, key2, x, y)


lowering.rules[threefry2x32_p] = threefry2x32_lower
