"""The loop IR: what a kernel computes, as loops around expressions of array elements.

    kernel    = Kernel(operands, axes, body)                     one statement tree over pointers
    statement = Loop(axis, lanes, body, accs)                    run the body for each index
              | Reduce(accs, combine, values)                    fold values into accumulators
              | Prefix(accs, combine, values)                    the same, read on the way
              | Store(operand, offset, value, guard)             write one element
    expr      = const | index | read | acc | param | op(expr...) an element of some dtype
    offset    = Index(const, terms, dynamic)                     sum of coeff*axis and coeff*expr

An expression belongs to a Graph, where equal expressions are one object. In a Loop with `lanes` > 1
every expression that depends on its axis is computed for that many indices at once.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

# Element types, as jaxprs print them. A bool is stored as a byte of 0 or 1, a random key as u64.
FLOATS = ("f16", "bf16", "f32", "f64")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
DTYPES = ("bool", *INTEGERS, *FLOATS)
BITS = {"bool": 8} | {d: int(d.lstrip("iubf")) for d in (*INTEGERS, *FLOATS)}

# The operations, by the dtypes they take. Each is elementwise on operands of one dtype.
FLOAT_UNARY = ("sqrt", "floor", "ceil", "round", "trunc")  # round: halves to even
UNARY = ("neg", "abs")
# div and rem of integers truncate; by 0 they give -1, all bits set, and the dividend.
BINARY = ("add", "sub", "mul", "div", "rem", "min", "max")
BITWISE = ("and", "or", "xor", "not")  # bool and integers
SHIFTS = ("shl", "shr", "rotl")  # shr keeps the sign of signed dtypes; counts below the width
COUNTS = ("popcount", "clz")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # give bool; with nan only ne is true
# besides: fma(x, y, z) floats, rounded once where the Target has it; mulhi(x, y) u32 and u64;
# select(bool, if_true, if_false); convert(x); bitcast(x) between dtypes of one width.
# A select with data "rare" promises that its test seldom holds: a backend may skip what only its
# if_true needs where the test holds in no lane.
# min and max of floats return nan if either operand is nan, and take -0 < +0.


class Expr:
    """One node; `args` are the nodes it depends on, `data` what else tells it from others."""

    __slots__ = ("args", "data", "dtype", "graph", "number", "op")

    def __init__(
        self, graph: "Graph", op: str, args: tuple["Expr", ...], dtype: str, data: Any, number: int
    ):
        self.graph = graph
        self.op = op
        self.args = args
        self.dtype = dtype
        self.data = data
        self.number = number  # greater than those of its args

    def _binary(self, op: str, other: Any, swap: bool = False) -> "Expr":
        other = self.graph.lift(other, self.dtype)
        args = (other, self) if swap else (self, other)
        dtype = "bool" if op in COMPARISONS else self.dtype
        return self.graph.make(op, args, dtype)

    def __add__(self, other: Any) -> "Expr":
        return self._binary("add", other)

    def __radd__(self, other: Any) -> "Expr":
        return self._binary("add", other, swap=True)

    def __sub__(self, other: Any) -> "Expr":
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> "Expr":
        return self._binary("sub", other, swap=True)

    def __mul__(self, other: Any) -> "Expr":
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> "Expr":
        return self._binary("mul", other, swap=True)

    def __truediv__(self, other: Any) -> "Expr":
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> "Expr":
        return self._binary("div", other, swap=True)

    def __neg__(self) -> "Expr":
        return self.graph.make("neg", (self,), self.dtype)

    def __and__(self, other: Any) -> "Expr":
        return self._binary("and", other)

    def __or__(self, other: Any) -> "Expr":
        return self._binary("or", other)

    def __xor__(self, other: Any) -> "Expr":
        return self._binary("xor", other)

    def __invert__(self) -> "Expr":
        return self.graph.make("not", (self,), self.dtype)

    def __lshift__(self, other: Any) -> "Expr":
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> "Expr":
        return self._binary("shr", other)

    def __lt__(self, other: Any) -> "Expr":
        return self._binary("lt", other)

    def __le__(self, other: Any) -> "Expr":
        return self._binary("le", other)

    def __gt__(self, other: Any) -> "Expr":
        return self._binary("gt", other)

    def __ge__(self, other: Any) -> "Expr":
        return self._binary("ge", other)

    def eq(self, other: Any) -> "Expr":
        return self._binary("eq", other)

    def ne(self, other: Any) -> "Expr":
        return self._binary("ne", other)

    def apply(self, op: str, *others: Any) -> "Expr":
        """`op(self, *others)` for an operation that gives the dtype it takes."""
        others = tuple(self.graph.lift(o, self.dtype) for o in others)
        return self.graph.make(op, (self, *others), self.dtype)

    def to(self, dtype: str) -> "Expr":
        """The value converted: floats to integers toward zero, saturating, nan to 0."""
        return self if dtype == self.dtype else self.graph.make("convert", (self,), dtype)

    def bits(self, dtype: str) -> "Expr":
        """The same bits as another dtype of the same width."""
        return self if dtype == self.dtype else self.graph.make("bitcast", (self,), dtype)

    def __repr__(self) -> str:
        data = "" if self.data is None else f"[{self.data}]"
        return f"%{self.number} = {self.op}{data}({', '.join(f'%{a.number}' for a in self.args)})"


class Index(NamedTuple):
    """A position: const + sum of coeff * axis + sum of coeff * expr, in 64-bit integers."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()  # (axis, coeff), by axis, coeff never 0
    dynamic: tuple[tuple[Expr, int], ...] = ()  # (expr of dtype i64, coeff)

    def plus(self, other: "Index | int") -> "Index":
        if isinstance(other, int):
            return self._replace(const=self.const + other)
        coeffs = dict(self.terms)
        for axis, coeff in other.terms:
            coeffs[axis] = coeffs.get(axis, 0) + coeff
        terms = tuple(sorted((a, c) for a, c in coeffs.items() if c))
        dynamic = self.dynamic
        if other.dynamic:
            by_expr: dict[Expr, int] = dict(dynamic)
            for expr, coeff in other.dynamic:
                by_expr[expr] = by_expr.get(expr, 0) + coeff
            dynamic = tuple((e, c) for e, c in by_expr.items() if c)
        return Index(self.const + other.const, terms, dynamic)

    def times(self, factor: int) -> "Index":
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index(
            self.const * factor,
            tuple((a, c * factor) for a, c in self.terms),
            tuple((e, c * factor) for e, c in self.dynamic),
        )

    def coeff(self, axis: int) -> int:
        return dict(self.terms).get(axis, 0)


ZERO = Index()


def axis_index(axis: int) -> Index:
    return Index(0, ((axis, 1),))


class NeedsSplit(Exception):
    """An index cannot be divided unless loop axis `axis` is cut into (extent/inner, inner)."""

    def __init__(self, axis: int, inner: int):
        super().__init__(axis, inner)
        self.axis, self.inner = axis, inner


class Deferred(NamedTuple):
    """A function of expressions that is one node until its kernel is put together."""

    function: Callable[..., Expr]
    settings: tuple[tuple[str, Any], ...]

    def __call__(self, *args: Expr) -> Expr:
        return self.function(*args, **dict(self.settings))


@functools.cache
def footprint(deferred: Deferred, dtypes: tuple[str, ...]) -> tuple[int, str]:
    """How many nodes a function makes of operands of these dtypes, and its result's dtype."""
    graph = Graph([])
    result = deferred(*(graph.param(i, d) for i, d in enumerate(dtypes)))
    return len(graph.nodes) - len(dtypes), result.dtype


class Graph:
    """The expressions of one kernel, and the extents of the axes they refer to.

    One that is `deferring` holds functions of many nodes as `deferred` nodes. `size` counts what
    these will become too.
    """

    def __init__(self, extents: Sequence[int], deferring: bool = False):
        self.extents = list(extents)
        self.deferring = deferring
        self.size = 0
        self.nodes: dict[tuple, Expr] = {}
        self.guard: Expr | None = None  # under which the reads being made are in bounds

    def make(self, op: str, args: tuple[Expr, ...], dtype: str, data: Any = None) -> Expr:
        key = (op, args, dtype, data)
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = Expr(self, op, args, dtype, data, len(self.nodes))
            self.size += weight(found)
        return found

    def deferred(self, deferred: Deferred, args: tuple[Expr, ...]) -> Expr:
        """The node that stands for a function of expressions."""
        _, dtype = footprint(deferred, tuple(a.dtype for a in args))
        return self.make("deferred", args, dtype, deferred)

    def const(self, value: Any, dtype: str) -> Expr:
        """A constant: a Python bool, int or float, or for exact bits of a float a `float.hex`."""
        if dtype in FLOATS:
            value = float.fromhex(value) if isinstance(value, str) else float(value)
            return self.make("const", (), dtype, value.hex())
        return self.make("const", (), dtype, bool(value) if dtype == "bool" else int(value))

    def lift(self, value: Any, dtype: str) -> Expr:
        return value if isinstance(value, Expr) else self.const(value, dtype)

    def select(self, test: Expr, if_true: Any, if_false: Any, rare: bool = False) -> Expr:
        dtype = if_true.dtype if isinstance(if_true, Expr) else if_false.dtype
        if_true, if_false = self.lift(if_true, dtype), self.lift(if_false, dtype)
        if test.op == "const":
            return if_true if test.data else if_false
        if if_true is if_false:
            return if_true
        return self.make("select", (test, if_true, if_false), dtype, "rare" if rare else None)

    def fma(self, x: Expr, y: Any, z: Any) -> Expr:
        """x * y + z, rounded once."""
        return x.apply("fma", y, z)

    # positions

    def bounds(self, index: Index) -> tuple[int, int]:
        """The least and the greatest value of an index without dynamic part."""
        low = high = index.const
        for axis, coeff in index.terms:
            last = coeff * (self.extents[axis] - 1)
            low, high = low + min(last, 0), high + max(last, 0)
        return low, high

    def value(self, index: Index, dtype: str = "i64") -> Expr:
        """The index as a number."""
        total = self.make("index", (), "i64", (index.const, index.terms))
        if not index.terms:
            total = self.const(index.const, "i64")
        for expr, coeff in index.dynamic:
            part = expr if coeff == 1 else expr * coeff
            total = part if total.op == "const" and total.data == 0 else total + part
        return total.to(dtype)

    def position(self, expr: Expr) -> Index:
        """An integer expression as an index."""
        if expr.op == "const":
            return Index(int(expr.data))
        return Index(0, (), ((expr.to("i64"), 1),))

    def divide(self, index: Index, divisor: int) -> tuple[Index, Index]:
        """Quotient and remainder by a positive constant, of an index that is not negative."""
        if divisor == 1:
            return index, ZERO
        whole = tuple((a, c) for a, c in index.terms if c % divisor == 0)
        rest = tuple((a, c) for a, c in index.terms if c % divisor)
        if not index.dynamic:
            quotient, const = divmod(index.const, divisor)
            remainder = Index(const, rest)
            low, high = self.bounds(remainder)
            if low >= 0 and high < divisor:
                terms = tuple((a, c // divisor) for a, c in whole)
                return Index(quotient, terms), remainder
            for axis, coeff in rest:
                inner = divisor // coeff if coeff > 0 and divisor % coeff == 0 else 0
                if inner > 1 and self.extents[axis] % inner == 0 and self.extents[axis] > inner:
                    raise NeedsSplit(axis, inner)
        number = self.value(index)
        quotient = self.position(number / divisor)
        return quotient, self.position(number.apply("rem", divisor))

    def within(self, index: Index, low: int, high: int) -> Expr:
        """Whether low <= index < high."""
        if not index.dynamic:
            least, greatest = self.bounds(index)
            if low <= least and greatest < high:
                return self.const(True, "bool")
            if greatest < low or least >= high:
                return self.const(False, "bool")
            number = self.value(index)
            tests = [number >= low] if least < low else []
            tests += [number < high] if greatest >= high else []
            return tests[0] if len(tests) == 1 else self.both(*tests)
        number = self.value(index)
        return self.both(number >= low, number < high)

    def both(self, first: Expr, second: Expr) -> Expr:
        """The conjunction of two conditions, simplified."""
        if first.op == "const":
            return second if first.data else first
        if second.op == "const":
            return first if second.data else second
        return first & second

    def read(self, operand: int, offset: Index, dtype: str) -> Expr:
        """Element `offset` of an operand; 0 where the present guard is false."""
        args = tuple(e for e, _ in offset.dynamic)
        coeffs = tuple(c for _, c in offset.dynamic)
        guard = self.guard
        if guard is not None:
            args = (*args, guard)
        data = (operand, offset.const, offset.terms, coeffs, guard is not None)
        return self.make("read", args, dtype, data)

    def acc(self, number: int, dtype: str) -> Expr:
        """The value of an accumulator, once its loop has ended; after a Prefix, its running one."""
        return self.make("acc", (), dtype, number)

    def param(self, number: int, dtype: str) -> Expr:
        """Operand `number` of a Combine."""
        return self.make("param", (), dtype, number)


class Guarded:
    """`with Guarded(graph, condition):` reads made inside are only legal where it holds."""

    def __init__(self, graph: Graph, condition: Expr):
        self.graph, self.condition = graph, condition

    def __enter__(self) -> None:
        graph = self.graph
        self.outer = graph.guard
        if self.condition.op == "const" and self.condition.data:
            return
        graph.guard = (
            self.condition if self.outer is None else graph.both(self.outer, self.condition)
        )

    def __exit__(self, *_: Any) -> None:
        self.graph.guard = self.outer


# statements


class Combine(NamedTuple):
    """How two partial results become one: associative and commutative up to rounding.

    `results` are expressions of params 0..k-1 (one partial result) and k..2k-1 (the other).
    `identity` is the value that changes nothing, as constants.
    """

    params: tuple[Expr, ...]
    results: tuple[Expr, ...]
    identity: tuple[Any, ...]


class Acc(NamedTuple):
    """An accumulator: its number, dtype and first value."""

    number: int
    dtype: str
    start: Any


class Reduce(NamedTuple):
    accs: tuple[int, ...]
    combine: Combine
    values: tuple[Expr, ...]


class Prefix(NamedTuple):
    """A Reduce in the order of the loops, whose partial results count: from here to the end of the
    body, the accumulators read as what has been folded up to this index, itself included.
    """

    accs: tuple[int, ...]
    combine: Combine
    values: tuple[Expr, ...]


class Store(NamedTuple):
    operand: int
    offset: Index
    value: Expr
    guard: Expr | None = None


class Loop(NamedTuple):
    """The body for each index along `axis`; `accs` start before it and can be read after it."""

    axis: int
    lanes: int
    body: tuple["Statement", ...]
    accs: tuple[Acc, ...] = ()


Statement = Loop | Reduce | Prefix | Store


class Operand(NamedTuple):
    """An array that a kernel reads or writes: its element type and whether it is written."""

    dtype: str
    written: bool


class Kernel(NamedTuple):
    """A statement tree over the extents of its axes.

    `divisible` says that any part of the outermost loop may run alone, on any thread.
    """

    operands: tuple[Operand, ...]
    extents: tuple[int, ...]
    body: tuple[Statement, ...]
    divisible: bool


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement, outer ones first."""
    for statement in statements:
        yield statement
        if isinstance(statement, Loop):
            yield from walk(statement.body)


def roots(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement computes."""
    if isinstance(statement, (Reduce, Prefix)):
        yield from statement.values
    elif isinstance(statement, Store):
        yield statement.value
        yield from (e for e, _ in statement.offset.dynamic)
        if statement.guard is not None:
            yield statement.guard


def weight(node: Expr) -> int:
    """How many nodes a node stands for."""
    if node.op != "deferred":
        return 1
    return footprint(node.data, tuple(a.dtype for a in node.args))[0]


def ordered(expressions: Sequence[Expr]) -> list[Expr]:
    """The nodes that the expressions are made of, each after those it depends on."""
    seen: set[Expr] = set()
    pending = list(expressions)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending.extend(node.args)
    return sorted(seen, key=lambda node: node.number)


def undeferred(expressions: Sequence[Expr]) -> list[Expr]:
    """The same expressions in a graph of their own, with all that functions stand for."""
    graph, copies = Graph([]), dict[Expr, Expr]()
    for node in ordered(expressions):
        args = tuple(copies[a] for a in node.args)
        if node.op == "deferred":
            copies[node] = node.data(*args)
        else:
            copies[node] = graph.make(node.op, args, node.dtype, node.data)
    return [copies[e] for e in expressions]


def structure(kernel: Kernel) -> tuple:
    """What two kernels have in common exactly when their code is the same."""
    return kernel.operands, kernel.extents, alike(kernel.body)


def alike(statements: Sequence[Statement]) -> tuple:
    """What statements of two graphs have in common exactly when they do the same."""
    nodes = ordered([e for s in walk(statements) for e in (*roots(s), *combined_by(s))])
    number = {node: i for i, node in enumerate(nodes)}

    def shown(index: Index) -> tuple:
        return index.const, index.terms, tuple((number[e], c) for e, c in index.dynamic)

    def told(s: Statement) -> tuple:
        if isinstance(s, Loop):
            return s.axis, s.lanes, s.accs, tuple(map(told, s.body))
        if isinstance(s, (Reduce, Prefix)):
            params = tuple(number.get(p, -1) for p in s.combine.params)
            results = tuple(number[r] for r in s.combine.results)
            kind, values = type(s).__name__, tuple(number[v] for v in s.values)
            return kind, s.accs, params, results, s.combine.identity, values
        guard = None if s.guard is None else number[s.guard]
        return s.operand, shown(s.offset), number[s.value], guard

    expressions = tuple((n.op, n.dtype, n.data, tuple(number[a] for a in n.args)) for n in nodes)
    return expressions, tuple(map(told, statements))


def combined_by(statement: Statement) -> tuple[Expr, ...]:
    return statement.combine.results if isinstance(statement, (Reduce, Prefix)) else ()
