"""Each operation of the loop IR as LLVM instructions, on one element or on a vector of them.

Arithmetic on half types is done in f32: its operands come widened and its result is rounded.
"""

from collections.abc import Callable, Mapping, Sequence

from funcgrad.base.errors import CodeGenerationError
from funcgrad.compiler.llvm import conversions, extrema
from funcgrad.compiler.llvm.elements import (
    BYTES,
    HALVES,
    REGISTER,
    constant,
    register,
    rounded,
    splat,
    suffix,
    vector,
)
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.llvm.writer import Module, Writer
from funcgrad.compiler.loops import (
    BITS,
    COMPARISONS,
    FLOAT_UNARY,
    INTEGERS,
    SIGNED,
    Expr,
    Graph,
)

# Operations that work on the bits of a half; all others work on the f32 it stands for.
ON_BITS = ("neg", "abs", "select", "bitcast", "deferred")


def _instructions() -> dict[tuple[str, str], str]:
    """What is one instruction on operands of one type."""
    table: dict[tuple[str, str], str] = {}
    for d in ("f32", "f64"):
        for op in ("add", "sub", "mul", "div", "rem", "neg"):
            table[op, d] = "f" + op
        for op in COMPARISONS:
            table[op, d] = f"fcmp {'une' if op == 'ne' else 'o' + op}"
    for d in INTEGERS:
        for op in ("add", "sub", "mul"):
            table[op, d] = op
        sign = "s" if d in SIGNED else "u"
        for op in COMPARISONS:
            table[op, d] = f"icmp {op if op in ('eq', 'ne') else sign + op}"
        table["shl", d] = "shl"
        table["shr", d] = "ashr" if d in SIGNED else "lshr"
    for d in (*INTEGERS, "bool"):
        for op in ("and", "or", "xor"):
            table[op, d] = op
    for op in COMPARISONS:
        table[op, "bool"] = f"icmp {op if op in ('eq', 'ne') else 'u' + op}"
    table["min", "bool"], table["max", "bool"] = "and", "or"
    return table


def _intrinsics() -> dict[tuple[str, str], tuple[str, str]]:
    """What is one call of an intrinsic on operands of one type, with its last argument."""
    table: dict[tuple[str, str], tuple[str, str]] = {}
    for d in ("f32", "f64"):
        table["sqrt", d] = ("sqrt", "")
        table["round", d] = ("roundeven", "")
        table["abs", d] = ("fabs", "")
        table["min", d], table["max", d] = ("minimum", ""), ("maximum", "")
        for op in ("floor", "ceil", "trunc"):
            table[op, d] = (op, "")
    for d in INTEGERS:
        sign = "s" if d in SIGNED else "u"
        table["min", d], table["max", d] = (f"{sign}min", ""), (f"{sign}max", "")
        table["popcount", d] = ("ctpop", "")
        table["clz", d] = ("ctlz", ", i1 false")
    for d in SIGNED:
        table["abs", d] = ("abs", ", i1 false")
    return table


INSTRUCTIONS = _instructions()
INTRINSICS = _intrinsics()


class Operations:
    """Writes operations where a Writer stands."""

    def __init__(self, writer: Writer, module: Module, target: Target):
        self.writer = writer
        self.module = module
        self.target = target
        self.rounds = target.isa != "sse2"  # whether there are instructions that round floats
        self.half_converts = target.isa != "sse2"

    def apply(self, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
        """The node's operation on operands held as `dtype`: f32 for halves, i32 if narrowed."""
        op = node.op
        instruction = INSTRUCTIONS.get((op, dtype))
        if instruction is not None:
            result = self.writer.assign(f"{instruction} {register(dtype, lanes)} {', '.join(args)}")
        elif extrema.applies(self.target, node, dtype, lanes):
            result = extrema.extremum(self.writer, self.module, self.target, op, args, dtype, lanes)
        elif (op, dtype) in INTRINSICS and (self.rounds or op not in ROUNDINGS):
            name, last = INTRINSICS[op, dtype]
            result = self.intrinsic(name, args, REGISTER[dtype], lanes, last)
        else:
            special = SPECIAL.get(op)
            if special is None:
                raise CodeGenerationError(f"{node!r} on {dtype} has no form in LLVM")
            result = special(self, node, args, dtype, lanes)
        if node.dtype in HALVES and op not in ON_BITS and op != "convert":
            return conversions.narrow(self, result, node.dtype, lanes)
        return result

    def expressions(
        self, roots: Sequence[Expr], leaves: Mapping[Expr, str], lanes: int
    ) -> list[str]:
        """Straight-line code for expressions whose leaves have values in all lanes."""
        texts = dict(leaves)
        wide: dict[Expr, str] = {}
        for node in _between(roots, leaves):
            if node.op == "const":
                texts[node] = constant(node.data, node.dtype, lanes)
                continue
            dtype = operand_dtype(node)
            if dtype in HALVES and node.op not in ON_BITS:
                for arg in node.args:
                    if arg not in wide:
                        wide[arg] = self.widened(arg, texts[arg], lanes)
                args, dtype = [wide[arg] for arg in node.args], "f32"
            else:
                args = [texts[arg] for arg in node.args]
            texts[node] = self.apply(node, args, dtype, lanes)
        return [texts[root] for root in roots]

    def widened(self, node: Expr, text: str, lanes: int) -> str:
        """A half as the f32 it stands for."""
        if node.op == "const":
            return constant(rounded(node.data, node.dtype), "f32", lanes)
        return conversions.widen(self, text, node.dtype, lanes)

    def cast(self, text: str, held: str, dtype: str, lanes: int) -> str:
        """A value held as one type in another that can stand for it."""
        if held in HALVES:
            return conversions.widen(self, text, held, lanes)
        return conversions.convert(self, text, held, dtype, lanes)

    def intrinsic(
        self, name: str, args: Sequence[str], scalar: str, lanes: int, last: str = ""
    ) -> str:
        """A call of an intrinsic whose operands and result are of one type."""
        kind = vector(scalar, lanes)
        function = f"@llvm.{name}.{suffix(scalar, lanes)}"
        flag = ", i1 immarg" if last else ""
        self.module.declare(f"declare {kind} {function}({', '.join([kind] * len(args))}{flag})")
        operands = ", ".join([f"{kind} {arg}" for arg in args])
        return self.writer.assign(f"call {kind} {function}({operands}{last})")

    def binary(self, instruction: str, x: str, y: str, kind: str) -> str:
        return self.writer.assign(f"{instruction} {kind} {x}, {y}")

    def choose(self, test: str, x: str, y: str, scalar: str, lanes: int) -> str:
        """x where the test holds, y elsewhere."""
        kind = vector(scalar, lanes)
        bits = vector("i1", lanes)
        return self.writer.assign(f"select {bits} {test}, {kind} {x}, {kind} {y}")

    def any(self, test: str, lanes: int) -> str:
        """Whether a test holds in some lane."""
        bits, name = vector("i1", lanes), f"@llvm.vector.reduce.or.v{lanes}i1"
        self.module.declare(f"declare i1 {name}({bits})")
        return self.writer.assign(f"call i1 {name}({bits} {test})")

    def broadcast(self, text: str, scalar: str, lanes: int) -> str:
        """One value in every lane."""
        kind = vector(scalar, lanes)
        first = self.writer.assign(f"insertelement {kind} poison, {scalar} {text}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.writer.assign(f"shufflevector {kind} {first}, {kind} poison, {zeros}")


def operand_dtype(node: Expr) -> str:
    """The type of the operands that choose the form of an operation."""
    return node.args[1 if node.op == "select" else 0].dtype


def _between(roots: Sequence[Expr], leaves: Mapping[Expr, str]) -> list[Expr]:
    """The nodes that roots are made of, down to the leaves, each after those it depends on."""
    seen: set[Expr] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node in seen or node in leaves:
            continue
        if node.op in ("read", "index", "acc", "param"):
            raise ValueError(f"{node!r} is a leaf, and was given no value.")
        seen.add(node)
        pending.extend(node.args)
    return sorted(seen, key=lambda node: node.number)


# The forms of operations that are more than one instruction.


def complement(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    ones = constant(True if dtype == "bool" else -1, dtype, lanes)
    return ops.binary("xor", args[0], ones, register(dtype, lanes))


def negate(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    kind = register(dtype, lanes)
    if dtype in HALVES:
        return ops.binary("xor", args[0], splat("i16", "-32768", lanes), kind)
    return ops.binary("sub", constant(0, dtype, lanes), args[0], kind)


def magnitude(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    if dtype in HALVES:
        return ops.binary("and", args[0], splat("i16", "32767", lanes), register(dtype, lanes))
    return args[0]  # unsigned


def fused(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    if ops.target.fma:
        return ops.intrinsic("fma", args, REGISTER[dtype], lanes)
    kind = register(dtype, lanes)
    return ops.binary("fadd", ops.binary("fmul", args[0], args[1], kind), args[2], kind)


def choice(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    return ops.choose(args[0], args[1], args[2], REGISTER[dtype], lanes)


def rotate(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    return ops.intrinsic("fshl", (args[0], *args), REGISTER[dtype], lanes)


def high_product(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    if dtype == "u64" and lanes > 1:
        return _high_product_in_halves(ops, args[0], args[1], lanes)
    bits = BITS[dtype]
    narrow, wide = register(dtype, lanes), vector(f"i{2 * bits}", lanes)
    x, y = (ops.writer.assign(f"zext {narrow} {arg} to {wide}") for arg in args)
    shift = splat(f"i{2 * bits}", str(bits), lanes)
    high = ops.binary("lshr", ops.binary("mul", x, y, wide), shift, wide)
    return ops.writer.assign(f"trunc {wide} {high} to {narrow}")


def _high_product_in_halves(ops: Operations, x: str, y: str, lanes: int) -> str:
    """The high 64 bits of a product, from the four products of 32-bit halves."""
    kind = register("u64", lanes)
    shift, low = splat("i64", "32", lanes), splat("i64", str(0xFFFFFFFF), lanes)

    def do(op: str, a: str, b: str) -> str:
        return ops.binary(op, a, b, kind)

    x0, y0 = do("and", x, low), do("and", y, low)
    x1, y1 = do("lshr", x, shift), do("lshr", y, shift)
    middle = do("add", do("mul", x1, y0), do("lshr", do("mul", x0, y0), shift))
    other = do("add", do("mul", x0, y1), do("and", middle, low))
    high = do("add", do("mul", x1, y1), do("lshr", middle, shift))
    return do("add", high, do("lshr", other, shift))


def divide(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    """A quotient toward zero, or its remainder: all ones and the dividend for a zero divisor."""
    kind, signed, x = register(dtype, lanes), dtype in SIGNED, args[0]
    divisor = node.args[1]
    if divisor.op == "const":
        return _divide_by_constant(ops, node.op, x, int(divisor.data), dtype, lanes)
    if lanes > 1 and BITS[dtype] < 64:
        quotient = _divide_as_floats(ops, x, args[1], dtype, lanes)
        if node.op == "div":
            return quotient
        return ops.binary("sub", x, ops.binary("mul", quotient, args[1], kind), kind)
    zero, one = constant(0, dtype, lanes), constant(1, dtype, lanes)
    ones = constant(-1, dtype, lanes)
    is_zero = ops.binary("icmp eq", args[1], zero, kind)
    unsafe = is_minus_one = is_zero
    if signed:
        is_minus_one = ops.binary("icmp eq", args[1], ones, kind)
        unsafe = ops.binary("or", is_zero, is_minus_one, vector("i1", lanes))
    safe = ops.choose(unsafe, one, args[1], REGISTER[dtype], lanes)
    result = ops.binary(f"{'s' if signed else 'u'}{node.op}", x, safe, kind)
    if node.op == "rem":
        return ops.choose(is_zero, x, result, REGISTER[dtype], lanes)
    if signed:
        minus = ops.binary("sub", zero, x, kind)
        result = ops.choose(is_minus_one, minus, result, REGISTER[dtype], lanes)
    return ops.choose(is_zero, ones, result, REGISTER[dtype], lanes)


def _divide_by_constant(
    ops: Operations, op: str, x: str, divisor: int, dtype: str, lanes: int
) -> str:
    kind = register(dtype, lanes)
    if divisor == 0:
        return x if op == "rem" else constant(-1, dtype, lanes)
    if divisor == -1 and dtype in SIGNED:
        zero = constant(0, dtype, lanes)
        return zero if op == "rem" else ops.binary("sub", zero, x, kind)
    sign = "s" if dtype in SIGNED else "u"
    return ops.binary(sign + op, x, constant(divisor, dtype, lanes), kind)


def _divide_as_floats(ops: Operations, x: str, y: str, dtype: str, lanes: int) -> str:
    """The quotient of narrow integers, which no vector unit divides.

    A float with more than twice their bits is exact enough: a quotient that is not an integer is
    at least 1/y from the next, further than rounding moves it.
    """
    kind, bits, sign = register(dtype, lanes), BITS[dtype], "s" if dtype in SIGNED else "u"
    wide = "f64" if bits == 32 else "f32"
    number = register(wide, lanes)
    floats = [ops.writer.assign(f"{sign}itofp {kind} {v} to {number}") for v in (x, y)]
    quotient = ops.binary("fdiv", floats[0], floats[1], number)
    if bits == 32:
        whole = ops.writer.assign(f"fpto{sign}i {number} {quotient} to {kind}")
    else:
        middle = vector("i32", lanes)
        whole = ops.writer.assign(f"fptosi {number} {quotient} to {middle}")
        whole = ops.writer.assign(f"trunc {middle} {whole} to {kind}")
    ones = constant(-1, dtype, lanes)
    if sign == "s" and bits == 32:
        minus = ops.binary("sub", constant(0, dtype, lanes), x, kind)
        test = ops.binary("icmp eq", y, ones, kind)
        whole = ops.choose(test, minus, whole, REGISTER[dtype], lanes)
    test = ops.binary("icmp eq", y, constant(0, dtype, lanes), kind)
    return ops.choose(test, ones, whole, REGISTER[dtype], lanes)


def round_by_addition(
    ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int
) -> str:
    """Rounding without instructions for it: adding 2^23 (2^52) leaves no room for a fraction."""
    x, kind, scalar = args[0], register(dtype, lanes), REGISTER[dtype]
    limit = constant(2.0**23 if dtype == "f32" else 2.0**52, dtype, lanes)
    size = ops.intrinsic("fabs", (x,), scalar, lanes)
    near = ops.binary("fsub", ops.binary("fadd", size, limit, kind), limit, kind)
    one, zero = constant(1.0, dtype, lanes), constant(0.0, dtype, lanes)
    if node.op == "trunc":
        over = ops.binary("fcmp ogt", near, size, kind)
        near = ops.binary("fsub", near, ops.choose(over, one, zero, scalar, lanes), kind)
    elif node.op != "round":
        near = ops.intrinsic("copysign", (near, x), scalar, lanes)
        test, step = ("fcmp ogt", "fsub") if node.op == "floor" else ("fcmp olt", "fadd")
        off = ops.binary(test, near, x, kind)
        near = ops.binary(step, near, ops.choose(off, one, zero, scalar, lanes), kind)
    near = ops.intrinsic("copysign", (near, x), scalar, lanes)
    small = ops.binary("fcmp olt", size, limit, kind)
    return ops.choose(small, near, x, scalar, lanes)


def convert(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    return conversions.convert(ops, args[0], dtype, node.dtype, lanes)


def bitcast(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    source, target = register(dtype, lanes), register(node.dtype, lanes)
    if source == target:
        return args[0]
    if dtype == "bool":
        return ops.writer.assign(f"zext {source} {args[0]} to {target}")
    if node.dtype == "bool":
        return ops.binary("icmp ne", args[0], constant(0, dtype, lanes), source)
    if BYTES[dtype] != BYTES[node.dtype]:
        raise ValueError(f"{node!r} casts the bits of {dtype} to {node.dtype}, of another width.")
    return ops.writer.assign(f"bitcast {source} {args[0]} to {target}")


def call(ops: Operations, node: Expr, args: Sequence[str], dtype: str, lanes: int) -> str:
    """A call of a function that the module holds once."""
    dtypes = tuple(a.dtype for a in node.args)
    name = ops.module.called.get((node.data, dtypes, lanes))
    kinds = [register(d, lanes) for d in dtypes]
    result = register(node.dtype, lanes)
    if name is None:
        name = f"{node.data.function.__name__}{len(ops.module.called)}_{dtypes[0]}"
        ops.module.called[node.data, dtypes, lanes] = name
        graph, writer = Graph([]), Writer()
        params = {graph.param(i, d): f"%p{i}" for i, d in enumerate(dtypes)}
        inner = Operations(writer, ops.module, ops.target)
        (text,) = inner.expressions([node.data(*params)], params, lanes)
        given = ", ".join(f"{kind} %p{i}" for i, kind in enumerate(kinds))
        head = f"define internal {result} @{name}({given}) nounwind {{"
        ops.module.functions.append("\n".join([head, *writer.lines, f"  ret {result} {text}", "}"]))
    given = ", ".join(f"{kind} {arg}" for kind, arg in zip(kinds, args, strict=True))
    return ops.writer.assign(f"call {result} @{name}({given})")


ROUNDINGS = FLOAT_UNARY[1:]
SPECIAL: dict[str, Callable[[Operations, Expr, Sequence[str], str, int], str]] = {
    "not": complement,
    "neg": negate,
    "abs": magnitude,
    "fma": fused,
    "select": choice,
    "rotl": rotate,
    "mulhi": high_product,
    "div": divide,
    "rem": divide,
    "convert": convert,
    "bitcast": bitcast,
    "deferred": call,
} | dict.fromkeys(ROUNDINGS, round_by_addition)
