"""Conversions between element types, as NumPy makes them: bf16 by way of f32, f16 from f64 rounded
once. Only floats to integers saturate, and nan becomes 0.
"""

from typing import Any

from funcgrad.compiler.llvm.elements import HALVES, REGISTER, constant, register, splat, vector
from funcgrad.compiler.loops import BITS, FLOATS, SIGNED


def convert(ops: Any, text: str, source: str, dtype: str, lanes: int) -> str:
    """A value of another type; one of a half type comes as the f32 it stands for."""
    if source in FLOATS:
        if dtype in FLOATS:
            return _float_to_float(ops, text, source, dtype, lanes)
        return _float_to_integer(ops, text, source, dtype, lanes)
    if dtype in HALVES:
        number = convert(ops, text, source, "f32", lanes)
        return narrow(ops, number, dtype, lanes)
    old, new = register(source, lanes), register(dtype, lanes)
    if dtype == "bool":
        return ops.binary("icmp ne", text, constant(0, source, lanes), old)
    if dtype in FLOATS:
        if source == "bool":
            one, zero = constant(1.0, dtype, lanes), constant(0.0, dtype, lanes)
            return ops.choose(text, one, zero, REGISTER[dtype], lanes)
        sign = "s" if source in SIGNED else "u"
        return ops.writer.assign(f"{sign}itofp {old} {text} to {new}")
    if source != "bool" and BITS[source] >= BITS[dtype]:
        return text if old == new else ops.writer.assign(f"trunc {old} {text} to {new}")
    extend = "sext" if source in SIGNED else "zext"
    return ops.writer.assign(f"{extend} {old} {text} to {new}")


def _float_to_float(ops: Any, text: str, source: str, dtype: str, lanes: int) -> str:
    if source == dtype:
        return text
    if dtype in HALVES:
        if source == "f64":
            cut = _before_f16(ops, text, lanes) if dtype == "f16" else text
            text = _float_to_float(ops, cut, "f64", "f32", lanes)
        return narrow(ops, text, dtype, lanes)
    change = "fpext" if dtype == "f64" else "fptrunc"
    return ops.writer.assign(
        f"{change} {register(source, lanes)} {text} to {register(dtype, lanes)}"
    )


def _before_f16(ops: Any, text: str, lanes: int) -> str:
    """An f64 whose two roundings, to f32 and to f16, come to one: what it loses is a sticky bit."""
    cut = 52 - (10 + 2)
    number, bits = register("f64", lanes), vector("i64", lanes)
    low = splat("i64", str((1 << cut) - 1), lanes)
    word = ops.writer.assign(f"bitcast {number} {text} to {bits}")
    below = ops.binary("and", word, low, bits)
    # Adding the mask carries into the bit above it exactly if something was cut off.
    word = ops.binary("or", word, ops.binary("add", below, low, bits), bits)
    word = ops.binary("and", word, splat("i64", str(-(1 << cut)), lanes), bits)
    return ops.writer.assign(f"bitcast {bits} {word} to {number}")


def _float_to_integer(ops: Any, text: str, source: str, dtype: str, lanes: int) -> str:
    kind = register(source, lanes)
    if dtype == "bool":
        return ops.binary("fcmp une", text, constant(0.0, source, lanes), kind)
    bits, signed = BITS[dtype], dtype in SIGNED
    high = 1 << (bits - signed)
    low = -high if signed else 0
    # Lanes out of range are whatever the instruction gives until the selections replace them.
    wide = dtype if bits >= 32 else "i32"
    change = "fptoui" if wide[0] == "u" else "fptosi"
    result = ops.writer.assign(f"{change} {kind} {text} to {register(wide, lanes)}")
    scalar = REGISTER[wide]
    for test, bound, value in (
        ("fcmp oge", high, high - 1),
        ("fcmp ole", low, low),
        ("fcmp uno", 0, 0),
    ):
        holds = ops.binary(test, text, constant(float(bound), source, lanes), kind)
        result = ops.choose(holds, constant(value, wide, lanes), result, scalar, lanes)
    return convert(ops, result, wide, dtype, lanes) if wide != dtype else result


def widen(ops: Any, text: str, dtype: str, lanes: int) -> str:
    """The f32 that a half stands for."""
    bits, word, number = vector("i16", lanes), vector("i32", lanes), register("f32", lanes)
    if dtype == "f16" and ops.half_converts:
        half = ops.writer.assign(f"bitcast {bits} {text} to {vector('half', lanes)}")
        return ops.writer.assign(f"fpext {vector('half', lanes)} {half} to {number}")
    long = ops.writer.assign(f"zext {bits} {text} to {word}")
    if dtype == "bf16":
        long = ops.binary("shl", long, splat("i32", "16", lanes), word)
        return ops.writer.assign(f"bitcast {word} {long} to {number}")
    return _widen_f16(ops, long, lanes)


def narrow(ops: Any, text: str, dtype: str, lanes: int) -> str:
    """An f32 rounded to a half."""
    bits, word, number = vector("i16", lanes), vector("i32", lanes), register("f32", lanes)
    if dtype == "f16" and ops.half_converts:
        half = ops.writer.assign(f"fptrunc {number} {text} to {vector('half', lanes)}")
        return ops.writer.assign(f"bitcast {vector('half', lanes)} {half} to {bits}")
    long = ops.writer.assign(f"bitcast {number} {text} to {word}")
    if dtype == "f16":
        return _narrow_f16(ops, long, lanes)
    # No target's instruction is used: those of AVX512 lose denormals.
    even = ops.binary("lshr", long, splat("i32", "16", lanes), word)
    last = ops.binary("and", even, splat("i32", "1", lanes), word)
    up = ops.binary("add", long, splat("i32", str(0x7FFF), lanes), word)
    up = ops.binary("lshr", ops.binary("add", up, last, word), splat("i32", "16", lanes), word)
    quiet = ops.binary("or", even, splat("i32", "64", lanes), word)
    is_nan = ops.binary("fcmp uno", text, constant(0.0, "f32", lanes), number)
    result = ops.choose(is_nan, quiet, up, "i32", lanes)
    return ops.writer.assign(f"trunc {word} {result} to {bits}")


def _widen_f16(ops: Any, long: str, lanes: int) -> str:
    """f16 bits in an i32 to f32 by integer arithmetic, for targets that cannot convert."""
    word, number = vector("i32", lanes), register("f32", lanes)

    def do(op: str, x: str, y: int | str) -> str:
        return ops.binary(op, x, splat("i32", str(y), lanes) if isinstance(y, int) else y, word)

    size = do("shl", do("and", long, 0x7FFF), 13)
    exponent = do("and", size, 0x1F << 23)
    normal = do("add", size, 112 << 23)
    special = do("add", size, 224 << 23)
    # A denormal m * 2^-24 is what 2^-14 + m * 2^-24 exceeds 2^-14 by.
    above = ops.writer.assign(f"bitcast {word} {do('add', size, 113 << 23)} to {number}")
    small = ops.binary("fsub", above, constant(2.0**-14, "f32", lanes), number)
    small = ops.writer.assign(f"bitcast {number} {small} to {word}")
    result = ops.choose(do("icmp eq", exponent, 0), small, normal, "i32", lanes)
    result = ops.choose(do("icmp eq", exponent, 0x1F << 23), special, result, "i32", lanes)
    sign = do("shl", do("and", long, 0x8000), 16)
    return ops.writer.assign(f"bitcast {word} {do('or', result, sign)} to {number}")


def _narrow_f16(ops: Any, long: str, lanes: int) -> str:
    """f32 bits to f16 by integer arithmetic, for targets that cannot convert."""
    word, number = vector("i32", lanes), register("f32", lanes)

    def do(op: str, x: str, y: int | str) -> str:
        return ops.binary(op, x, splat("i32", str(y), lanes) if isinstance(y, int) else y, word)

    size = do("and", long, 0x7FFFFFFF)
    odd = do("and", do("lshr", size, 13), 1)
    normal = do("add", do("add", size, 0xFFF - (112 << 23)), odd)
    normal = do("lshr", normal, 13)
    # Adding 1/2 leaves the units of f16's denormals, 2^-24, as its last bits.
    small = ops.writer.assign(f"bitcast {word} {size} to {number}")
    small = ops.binary("fadd", small, constant(0.5, "f32", lanes), number)
    small = ops.writer.assign(f"bitcast {number} {small} to {word}")
    small = do("sub", small, 126 << 23)
    nan = do("or", do("and", do("lshr", size, 13), 0x3FF), 0x7E00)
    result = ops.choose(do("icmp ult", size, 113 << 23), small, normal, "i32", lanes)
    result = ops.choose(
        do("icmp uge", size, 143 << 23), splat("i32", str(0x7C00), lanes), result, "i32", lanes
    )
    result = ops.choose(do("icmp ugt", size, 0x7F800000), nan, result, "i32", lanes)
    sign = do("and", do("lshr", long, 16), 0x8000)
    result = do("or", result, sign)
    return ops.writer.assign(f"trunc {word} {result} to {vector('i16', lanes)}")
