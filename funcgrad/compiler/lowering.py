"""The lowering table: what one element of a primitive's output is, given its index.

A rule is called as `rule(graph, index, *operands, **params)` and returns the expression of the
output element at `index` (a tuple of them for several outputs). An operand is called with an index
of its own and gives the expression of its element there. So fusing is calling, and a view is free.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.base.config import config
from funcgrad.base.dtypes import BY_NAME, KeyType, short_name
from funcgrad.base.trace import Primitive
from funcgrad.compiler.loops import (
    BITS,
    DTYPES,
    FLOATS,
    ZERO,
    Combine,
    Expr,
    Graph,
    Guarded,
    Index,
)
from funcgrad.compiler.narrow import STORED, code_of, format_of, narrowed, widened
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Literal

Position = tuple[Index, ...]
Rule = Callable[..., Any]


class Element(Protocol):
    """An operand of a rule: its shape, element type and dtype, and its element at any index."""

    shape: tuple[int, ...]
    dtype: str
    array_dtype: Any

    def __call__(self, index: Position) -> Expr: ...

    def flat(self, offset: Index) -> Expr:
        """The element at a row-major offset."""
        ...


class Fold(NamedTuple):
    """A reduction: for each output index, fold what stands at each inner index.

    `values(index, inner)` are the expressions to fold, one an output; `starts` are the first values
    as constants; `finish(*folded)` makes the output elements of the folded ones. Where `ordered` is
    true the Combine is associative only: it takes what stands earlier in row-major order first.
    """

    inner: tuple[int, ...]
    combine: Combine
    values: Callable[[Position, Position], tuple[Expr, ...]]
    starts: tuple[Any, ...]
    finish: Callable[..., tuple[Expr, ...]]
    ordered: bool = False


class Accumulation(NamedTuple):
    """The partial results of a reduction along one axis, as many as there are elements.

    `values(index)` are the expressions to fold in; `starts` are the first values as constants;
    `finish(*folded)` makes the output element of what has been folded up to its index. With
    `reverse` the axis is gone through from its end. The Combine takes what stands earlier first.
    """

    axis: int
    reverse: bool
    combine: Combine
    values: Callable[[Position], tuple[Expr, ...]]
    starts: tuple[Any, ...]
    finish: Callable[..., Expr]


class Update(NamedTuple):
    """An output that is operand 0 with some elements replaced, one after the other.

    For each index of `extents`: the element at `place(index)` becomes `value(index, old)`, unless
    the guard that `place` returns with it is false. Where `distinct` is true no element is met
    twice; otherwise no element is met twice along the last `window` axes.
    """

    extents: tuple[int, ...]
    place: Callable[[Position], tuple[Position, Expr]]
    value: Callable[[Position, Expr], Expr]
    window: int
    distinct: bool


class Scan(NamedTuple):
    """A loop of known length; inputs are constants, carry, and arrays to go along."""

    body: ClosedJaxpr
    length: int
    reverse: bool
    num_consts: int
    num_carry: int


class While(NamedTuple):
    """A loop while `test` says so; inputs are constants of the test, of the body, and the carry."""

    test: ClosedJaxpr
    body: ClosedJaxpr
    test_consts: int
    body_consts: int


class Cond(NamedTuple):
    """One of several programs, chosen by input 0, clamped; a bool chooses the second if true."""

    branches: tuple[ClosedJaxpr, ...]


Control = Scan | While | Cond


class Product(NamedTuple):
    """A matrix product: the axes of each operand that are batch, free, or summed over."""

    lhs: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    rhs: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


# rule(**params) -> Control
controls: dict[Primitive, Callable[..., Control]] = {}
# rule(lhs aval, rhs aval, **params) -> Product, None where operands are rounded on the way
products: dict[Primitive, Callable[..., Product | None]] = {}
# rule(**params) -> the settings by which a convolution kernel is chosen
convolutions: dict[Primitive, Callable[..., dict[str, Any]]] = {}
# Primitives whose outputs are their inputs, but which nothing may be moved across.
barriers: set[Primitive] = set()
# Primitives that may keep the arrays they are evaluated on, which therefore get copies.
keepers: set[Primitive] = set()
# Reductions over params["axes"] of operand 0, the other axes staying in order.
axis_folds: set[Primitive] = set()

# rule(graph, index, *operands, **params) -> Expr or a tuple of them
rules: dict[Primitive, Rule] = {}
# rule(graph, *operands, **params) -> Fold
folds: dict[Primitive, Rule] = {}
# rule(graph, *operands, **params) -> Accumulation
accumulations: dict[Primitive, Rule] = {}
# rule(graph, *operands, **params) -> Update
updates: dict[Primitive, Rule] = {}
# Primitives whose rule only moves elements: computing one again is as cheap as reading it.
views: set[Primitive] = set()
# Other primitives whose rule only moves elements.
movers: set[Primitive] = set()
# fills(params) -> whether a primitive that moves elements makes some itself in this use
fillers: dict[Primitive, Callable[[dict[str, Any]], bool]] = {}
# refuses(avals, params) -> whether a use of the primitive, rule or not, has no kernel
refusals: dict[Primitive, Callable[[Sequence[ShapedArray], dict[str, Any]], bool]] = {}
# Those of them that hold because computing with a wider dtype gives something else.
unwidened: dict[Primitive, Callable[[Sequence[ShapedArray], dict[str, Any]], bool]] = {}


def element_type(dtype: Any) -> str | None:
    """The loop IR's name of a dtype, None for one that no kernel holds."""
    if isinstance(dtype, KeyType):
        return "u64" if dtype.words == 2 else None
    name = short_name(dtype)
    if name in DTYPES:
        return name
    return None if format_of(dtype) is None else STORED


def has_kernel(primitive: Primitive) -> bool:
    """Whether kernels or library functions compute a primitive, in some of its uses at least."""
    tables = (rules, folds, accumulations, updates, products, convolutions)
    return any(primitive in table for table in tables)


def moves(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether the elements that a primitive makes are all elements of its operands."""
    makes_new = primitive in fillers and fillers[primitive](params)
    return (primitive in views or primitive in movers) and not makes_new


def refuse_narrow(
    primitive: Primitive, when: Callable[[ShapedArray], bool] = lambda x: True
) -> None:
    """A primitive whose result depends on the bits of its dtype has no kernel for narrow ones."""

    def refuses(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
        return any(format_of(a.dtype) is not None and when(a) for a in avals)

    refusals[primitive] = unwidened[primitive] = refuses


def literal_value(literal: Literal) -> bool | int | float:
    """A literal's number as Python holds it; of a narrow dtype, its byte."""
    value = literal.val
    if format_of(literal.aval.dtype) is not None:
        return code_of(literal.array)
    if hasattr(value, "item") and value.dtype.kind in "biuf":
        return value.item()
    return value if isinstance(value, (bool, int, float)) else float(value)


def elementwise(primitive: Primitive, function: Callable[..., Expr]) -> None:
    """Register `function(*elements, **params)` for a primitive on operands that broadcast."""

    def rule(graph: Graph, index: Position, *operands: Element, **params: Any) -> Expr:
        return function(*(at_broadcast(x, index) for x in operands), **params)

    rules[primitive] = rule


def view(primitive: Primitive, rule: Rule) -> None:
    """Register the rule of a primitive that only moves elements."""
    rules[primitive] = rule
    views.add(primitive)


def at_broadcast(operand: Element, index: Position) -> Expr:
    """The element that stands at `index` of a larger shape: axes of length 1 have but one."""
    if not operand.shape:
        return operand(())
    return operand(tuple(ZERO if n == 1 else i for n, i in zip(operand.shape, index, strict=True)))


def extremum(op: str, x: Expr, y: Expr) -> Expr:
    """The min or max of two elements, of booleans too."""
    if x.dtype == "bool":
        return x & y if op == "min" else x | y
    return x.apply(op, y)


def convert_element(x: Element, index: Position, new_dtype: Any) -> Expr:
    """The element at an index as another dtype, which may be a narrow one, as the old one may."""
    value = at_broadcast(x, index)
    if format_of(x.array_dtype) is not None:
        value = widened(value, x.array_dtype)
    if format_of(new_dtype) is not None:
        return narrowed(value, new_dtype)
    return converted(value, element_type(new_dtype) or "")


def converted(x: Expr, dtype: str) -> Expr:
    """An element as another dtype, as `convert_element_type` has it."""
    return x.ne(0) if dtype == "bool" and x.dtype != "bool" else x.to(dtype)


def constant(graph: Graph, value: Any, dtype: str) -> Expr:
    """A number as an element of a dtype, rounded or wrapped to it."""
    return graph.const(np.asarray(value).astype(_NUMPY[dtype]).item(), dtype)


_NUMPY = {short_name(dtype): dtype for dtype in BY_NAME.values()}


def numpy_dtype(dtype: str) -> np.dtype:
    return _NUMPY[dtype]


def extreme(dtype: str, highest: bool) -> bool | int | float:
    """The largest or smallest value of a dtype, infinite where it has infinities."""
    if dtype == "bool":
        return highest
    if dtype in FLOATS:
        return math.inf if highest else -math.inf
    info = np.iinfo(_NUMPY[dtype])
    return int(info.max if highest else info.min)


def accumulator(dtype: str) -> str:
    """Where elements of a dtype are added and multiplied: narrow floats are, in f32."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def simple_combine(graph: Graph, op: str, dtype: str, identity: Any) -> Combine:
    """The Combine of one operation on one value."""
    first, second = graph.param(0, dtype), graph.param(1, dtype)
    identity = float(identity) if dtype in FLOATS else identity
    return Combine((first, second), (graph.make(op, (first, second), dtype),), (identity,))


def interleaved(axes: Sequence[int], inner: Position, outer: Position) -> Position:
    """The index that has `inner` along the listed axes, and `outer` along the others in order."""
    given = dict(zip(axes, inner, strict=True))
    rest = iter(outer)
    return tuple(given[d] if d in given else next(rest) for d in range(len(inner) + len(outer)))


def undilated(graph: Graph, place: Index, low: int, size: int, step: int) -> tuple[Index, Expr]:
    """Which of `size` elements stands at a place, and whether one does.

    Places count from 0; the elements are `step` apart and the first of them is at `low`.
    """
    if step == 1:
        position = place.plus(-low)
        return position, graph.within(position, 0, size)
    skipped = max(-(-low // step), 0)  # as many more make the dividend nonnegative
    position, rest = graph.divide(place.plus(skipped * step - low), step)
    position = position.plus(-skipped)
    return position, graph.both(graph.within(rest, 0, 1), graph.within(position, 0, size))


def guarded(graph: Graph, condition: Expr, read: Callable[[], Expr], otherwise: Expr) -> Expr:
    """`read()` where the condition holds, which is when its reads are in bounds."""
    if condition.op == "const" and not condition.data:
        return otherwise
    with Guarded(graph, condition):
        found = read()
    if found.op == "read" and otherwise is graph.const(0, found.dtype):
        return found  # which is 0 where it is not allowed
    return graph.select(condition, found, otherwise)


def applied(graph: Graph, program: ClosedJaxpr, elements: Sequence[Expr]) -> tuple[Expr, ...]:
    """What a program of scalars returns for these elements; see `holds_scalars`."""
    jaxpr = program.jaxpr
    values: dict[Atom, Expr] = dict(zip(jaxpr.invars, elements, strict=True))

    def number(array: Any) -> Expr:
        return constant(graph, array.buffer, element_type(array.aval.dtype) or "")

    values.update((v, number(c)) for v, c in zip(jaxpr.constvars, program.consts, strict=True))

    def read(atom: Atom) -> Expr:
        return number(atom.array) if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        operands = [Scalar(read(v)) for v in eqn.invars]
        found = rules[eqn.primitive](graph, (), *operands, **eqn.params)
        outs = found if isinstance(found, tuple) else (found,)
        values.update(zip(eqn.outvars, outs, strict=True))
    return tuple(map(read, jaxpr.outvars))


class Scalar:
    """One element as an operand of a rule."""

    shape = ()

    def __init__(self, value: Expr):
        self.value, self.dtype = value, value.dtype

    def __call__(self, index: Position) -> Expr:
        return self.value

    def flat(self, offset: Index) -> Expr:
        return self.value


def holds_scalars(program: ClosedJaxpr) -> bool:
    """Whether a program has nothing but numbers that kernels hold, and rules for all of it."""
    jaxpr = program.jaxpr
    atoms = [*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars]
    for eqn in jaxpr.eqns:
        avals = [v.aval for v in eqn.invars]
        refuses = refusals.get(eqn.primitive, lambda avals, params: False)
        if eqn.primitive not in rules or refuses(avals, eqn.params):
            return False
        atoms += [*eqn.invars, *eqn.outvars]
    return all(not v.aval.shape and element_type(v.aval.dtype) in BITS for v in atoms)


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major strides of a shape, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def linear(shape: Sequence[int], index: Position) -> Index:
    """The row-major offset of an index into a shape."""
    offset = ZERO
    for stride, i in zip(strides(shape), index, strict=True):
        offset = offset.plus(i.times(stride))
    return offset


def unravel(graph: Graph, shape: Sequence[int], offset: Index) -> Position:
    """The index into a shape of a row-major offset; may raise NeedsSplit."""
    if 0 in shape:
        return (ZERO,) * len(shape)
    index: list[Index] = []
    for stride, extent in zip(strides(shape), shape, strict=True):
        if extent == 1:
            index.append(ZERO)
            continue
        position, offset = graph.divide(offset, stride)
        index.append(position)
    return tuple(index)


def fused_add(x: Expr, y: Expr) -> Expr:
    """x + y, where a product among them is not rounded first."""
    if product(x):
        return x.graph.fma(x.args[0], x.args[1], y)
    return x.graph.fma(y.args[0], y.args[1], x) if product(y) else x + y


def fused_subtract(x: Expr, y: Expr) -> Expr:
    """x - y, where a product among them is not rounded first."""
    if product(x):
        return x.graph.fma(x.args[0], x.args[1], -y)
    return x.graph.fma(-y.args[0], y.args[1], x) if product(y) else x - y


def product(x: Expr) -> bool:
    """Whether x is a product that an addition may take in unrounded."""
    return x.op == "mul" and x.dtype in ("f32", "f64") and not config.strict_fp
