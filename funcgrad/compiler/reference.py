"""The definition of the loop IR: expressions by NumPy, statements by loops over single indices.

What a compiled kernel computes is what this file computes, but for the order in which the partial
results of a reduction combine: `lanes` lets a backend keep several, and here there is one.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.compiler.loops import (
    BITS,
    COMPARISONS,
    FLOATS,
    Expr,
    Kernel,
    Loop,
    Prefix,
    Reduce,
    Statement,
    Store,
    ordered,
    roots,
    walk,
)

Array = Any  # a NumPy array or scalar of one of the dtypes below

NARROW = ("f16", "bf16")  # computed in f32 and rounded after each operation
NUMPY: dict[str, np.dtype] = {
    "bool": np.dtype(bool),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"f{n}": np.dtype(f"float{n}") for n in (16, 32, 64)},
}


def evaluate(expressions: Sequence[Expr], leaves: Mapping[Expr, np.ndarray]) -> list[np.ndarray]:
    """The values of expressions, given those of the nodes they rest on, which broadcast."""
    values: dict[Expr, Array] = dict(leaves)
    with np.errstate(all="ignore"):
        for node in ordered(expressions):
            if node not in values:
                values[node] = apply(node, [values[a] for a in node.args])
    shape = np.broadcast_shapes(*(np.shape(v) for v in leaves.values()))
    return [np.broadcast_to(values[e], shape) for e in expressions]


def run_kernel(kernel: Kernel, buffers: Sequence[np.ndarray]) -> None:
    """Run every statement of a kernel on flat arrays, one an operand."""
    run = Run(kernel, buffers)
    with np.errstate(all="ignore"):
        run.statements(kernel.body)


class Run:
    """The state of one kernel at work: where each loop stands, and the accumulators."""

    def __init__(self, kernel: Kernel, buffers: Sequence[np.ndarray]):
        self.buffers = buffers
        self.extents = kernel.extents
        self.at = [0] * len(kernel.extents)
        self.accs: dict[int, Array] = {}
        self.nodes = {id(s): ordered(list(roots(s))) for s in walk(kernel.body)}

    def statements(self, body: Sequence[Statement]) -> None:
        for statement in body:
            if isinstance(statement, Loop):
                self.accs |= {a.number: constant(a.start, a.dtype) for a in statement.accs}
                for index in range(self.extents[statement.axis]):
                    self.at[statement.axis] = index
                    self.statements(statement.body)
            elif isinstance(statement, (Reduce, Prefix)):
                self.reduce(statement)
            else:
                self.store(statement)

    def reduce(self, statement: Reduce | Prefix) -> None:
        values = self.values(statement)
        partials = [self.accs[a] for a in statement.accs] + [values[v] for v in statement.values]
        combine = statement.combine
        results = evaluate(combine.results, dict(zip(combine.params, partials, strict=True)))
        self.accs |= dict(zip(statement.accs, results, strict=True))

    def store(self, statement: Store) -> None:
        values = self.values(statement)
        if statement.guard is None or values[statement.guard]:
            offset = statement.offset
            dynamic = [(values[e], coeff) for e, coeff in offset.dynamic]
            position = self.position(offset.const, offset.terms, dynamic)
            self.buffers[statement.operand][position] = values[statement.value]

    def values(self, statement: Statement) -> dict[Expr, Array]:
        """Every node that a statement rests on, computed where the loops stand now."""
        values: dict[Expr, Array] = {}
        for node in self.nodes[id(statement)]:
            args = [values[a] for a in node.args]
            if node.op == "index":
                const, terms = node.data
                values[node] = constant(self.position(const, terms, ()), node.dtype)
            elif node.op == "acc":
                values[node] = self.accs[node.data]
            elif node.op == "read":
                values[node] = self.read(node, args)
            else:
                values[node] = apply(node, args)
        return values

    def read(self, node: Expr, args: list[Array]) -> Array:
        operand, const, terms, coeffs, guarded = node.data
        if guarded and not args[-1]:
            return constant(0, node.dtype)
        dynamic = zip(args, coeffs, strict=False)
        return self.buffers[operand][self.position(const, terms, dynamic)]

    def position(self, const: int, terms: Any, dynamic: Any) -> int:
        place = const + sum(coeff * self.at[axis] for axis, coeff in terms)
        place += sum(int(value) * coeff for value, coeff in dynamic)
        return place


def constant(value: Any, dtype: str) -> Array:
    if dtype in FLOATS:
        value = float.fromhex(value) if isinstance(value, str) else float(value)
        return NUMPY[dtype].type(value)
    if dtype == "bool":
        return np.bool_(value)
    return np.array(int(value) % 2 ** BITS[dtype], f"u{BITS[dtype] // 8}").view(NUMPY[dtype])[()]


def apply(node: Expr, args: list[Array]) -> Array:
    """The value of one node, given those of its args."""
    op, dtype = node.op, node.dtype
    if op == "const":
        return constant(node.data, dtype)
    if op == "select":
        return np.where(*args)
    if op == "convert":
        return convert(args[0], node.args[0].dtype, dtype)
    if op == "bitcast":
        return args[0].view(NUMPY[dtype])
    if op in COMPARISONS:
        return OPERATIONS[op](*args)
    if dtype in NARROW:
        result = OPERATIONS[op](*(a.astype(np.float32) for a in args))
        return result.astype(NUMPY[dtype])
    return OPERATIONS[op](*args)


def convert(x: Array, source: str, target: str) -> Array:
    """As NumPy converts, but floats to integers saturate, and nan gives 0."""
    if target == "bool":
        return x != 0
    if source not in FLOATS or target in FLOATS:
        return x.astype(NUMPY[target])
    x = np.trunc(x.astype(np.float64))
    limits = np.iinfo(NUMPY[target])
    inside = (x >= limits.min) & (x < float(limits.max + 1))
    ends = np.where(x > 0, limits.max, np.where(x < 0, limits.min, 0)).astype(NUMPY[target])
    return np.where(inside, np.where(inside, x, 0).astype(NUMPY[target]), ends)


# the operations


def div(x: Array, y: Array) -> Array:
    """Toward zero for integers; by zero it gives -1, or all ones."""
    if x.dtype.kind == "f":
        return x / y
    divisor = np.where(y == 0, y.dtype.type(1), y)
    quotient = (x - np.fmod(x, divisor)) // divisor
    return np.where(y == 0, ~y, quotient)


def rem(x: Array, y: Array) -> Array:
    """With the sign of x; by zero it gives x for integers, nan for floats."""
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


def extremum(lesser: bool, x: Array, y: Array) -> Array:
    """min or max: nan if either is nan, and -0 below +0."""
    chosen = np.minimum(x, y) if lesser else np.maximum(x, y)
    if x.dtype.kind != "f":
        return chosen
    return np.where((x == y) & (np.signbit(x) == lesser), x, np.where(x == y, y, chosen))


def rotl(x: Array, count: Array) -> Array:
    bits = x.dtype.itemsize * 8
    word = unsigned(x)
    left, right = unsigned(count), unsigned((bits - count).astype(x.dtype))
    return ((word << left) | np.where(left == 0, word, word >> right)).view(x.dtype)


def mulhi(x: Array, y: Array) -> Array:
    """The upper half of the product of two unsigned words."""
    if x.dtype.itemsize == 4:
        return ((x.astype(np.uint64) * y.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)
    low, half = np.uint64(2**32 - 1), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    return x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)


def popcount(x: Array) -> Array:
    return np.bitwise_count(unsigned(x)).astype(x.dtype)


def clz(x: Array) -> Array:
    """How many zeros stand above the highest one."""
    word = unsigned(x)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < 8 * x.dtype.itemsize:
            word = word | (word >> word.dtype.type(shift))
    return popcount(~word).astype(x.dtype)


def unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, rounded once."""
    if x.dtype == np.float32:
        product = x.astype(np.float64) * y.astype(np.float64)  # exact
        return to_odd(product, z.astype(np.float64)).astype(np.float32)
    x, y, z = np.broadcast_arrays(x, y, z)
    result = np.asarray(fma_regular(x, y, z))
    sizes = np.abs(np.stack([x, y, z, x * y, result]))
    regular = ((sizes > 2.0**-480) & (sizes < 2.0**480)).all(0)
    result[~regular] = EXACT_FMA(x[~regular], y[~regular], z[~regular])
    return result


def fma_regular(x: Array, y: Array, z: Array) -> Array:
    """fma of doubles where nothing overflows or underflows (Boldo and Melquiond 2008)."""
    product = x * y
    (x1, x0), (y1, y0) = halves(x), halves(y)
    rest = x0 * y0 - (((product - x1 * y1) - x0 * y1) - x1 * y0)
    low, lower = two_sum(z, rest)
    high, middle = two_sum(product, low)
    return high + to_odd(middle, lower)


def halves(x: Array) -> tuple[Array, Array]:
    """x as the sum of two numbers of 26 bits (Veltkamp)."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y as rounded, and the error of that (Knuth)."""
    total = x + y
    shadow = total - x
    return total, (x - (total - shadow)) + (y - shadow)


def to_odd(x: Array, y: Array) -> Array:
    """x + y; of two neighbours, the one whose last bit is 1. Rounding it again is harmless."""
    total, error = two_sum(x, y)
    inexact = np.isfinite(total) & (error != 0) & (np.asarray(total).view(np.uint64) % 2 == 0)
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total)


def exact_fma(x: float, y: float, z: float) -> float:
    """fma of any doubles, by rational numbers where they are finite."""
    if not np.isfinite([x, y]).all():
        return x * y + z
    if not np.isfinite(z):
        return z
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if total == 0:
        return x * y + z if x == 0 or y == 0 else 0.0
    try:
        return float(total)
    except OverflowError:
        return np.inf if total > 0 else -np.inf


EXACT_FMA = np.frompyfunc(exact_fma, 3, 1)

OPERATIONS: dict[str, Callable[..., Array]] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "neg": np.negative,
    "abs": np.abs,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": div,
    "rem": rem,
    "min": partial(extremum, True),
    "max": partial(extremum, False),
    "fma": fma,
    "mulhi": mulhi,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "rotl": rotl,
    "popcount": popcount,
    "clz": clz,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
