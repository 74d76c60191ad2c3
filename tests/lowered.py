"""Running the lowering tables: what rules return, computed by the definition of the loop IR.

Rules are called as the compiler calls them, at every index at once; a read that its guard allows
must be in bounds.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engines import OURS
from funcgrad.base.array import as_array
from funcgrad.base.aval import ShapedArray
from funcgrad.base.dtypes import KeyType
from funcgrad.base.trace import evaluate_rules
from funcgrad.compiler import lowering, reference
from funcgrad.compiler.loops import (
    ZERO,
    Combine,
    Expr,
    Graph,
    Index,
    NeedsSplit,
    axis_index,
    ordered,
)
from funcgrad.compiler.lowering import (
    Accumulation,
    Fold,
    Position,
    Update,
    element_type,
    linear,
    unravel,
)
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Literal

Roots = Sequence[Expr]
Operands = Sequence[np.ndarray]


class Element:
    """An operand in a row-major buffer; or one computed at indices, as a fused one is."""

    def __init__(self, graph: Graph, number: int, buffer: np.ndarray, computed: bool):
        self.graph, self.number, self.computed = graph, number, computed
        self.shape, self.array_dtype = buffer.shape, buffer.dtype
        self.dtype = lowering.short_name(buffer.dtype)
        self.literal = buffer if computed and not buffer.shape else None

    def __call__(self, index: Position) -> Expr:
        assert len(index) == len(self.shape)
        if self.literal is not None:
            return self.graph.const(self.literal.item(), self.dtype)
        return self.graph.read(self.number, linear(self.shape, index), self.dtype)

    def flat(self, offset: Index) -> Expr:
        if self.computed:
            return self(unravel(self.graph, self.shape, offset))
        return self.graph.read(self.number, offset, self.dtype)


class Space:
    """Every index of a shape, each axis cut into the axes that divisions ask for."""

    def __init__(self, shape: Sequence[int]):
        self.shape = tuple(shape)
        self.pieces = [[n] for n in shape]

    def roots(self, build: Callable[[Graph, Position], Roots]) -> tuple[Graph, Roots]:
        while True:
            graph = Graph([n for axes in self.pieces for n in axes])
            try:
                return graph, build(graph, self.position())
            except NeedsSplit as needed:
                self.split(needed.axis, needed.inner)

    def position(self) -> Position:
        position, number = [], 0
        for axes in self.pieces:
            index = ZERO
            for stride in lowering.strides(axes):
                index = index.plus(axis_index(number).times(stride))
                number += 1
            position.append(index)
        return tuple(position)

    def split(self, axis: int, inner: int) -> None:
        for axes in self.pieces:
            if axis < len(axes):
                assert axes[axis] % inner == 0 and axes[axis] > inner
                axes[axis : axis + 1] = [axes[axis] // inner, inner]
                return
            axis -= len(axes)

    def counters(self) -> list[np.ndarray]:
        """The index along each loop axis, shaped so as to broadcast."""
        extents = [n for axes in self.pieces for n in axes]
        return list(np.indices(extents, sparse=True)) if extents else []


def computed(roots: Roots, counters: Sequence[Any], buffers: Operands, known: dict) -> list:
    """The values of expressions where the loops stand at the counters."""
    values = dict(known)
    with np.errstate(all="ignore"):
        for node in ordered(roots):
            if node in values:
                continue
            args = [values[a] for a in node.args]
            if node.op == "index":
                values[node] = np.asarray(at(node.data, counters), np.int64)
            elif node.op == "read":
                values[node] = read(node, args, counters, buffers)
            else:
                values[node] = np.asarray(reference.apply(node, args))
            assert values[node].dtype == reference.NUMPY[node.dtype], node
    return [values[r] for r in roots]


def at(index: tuple, counters: Sequence[Any]) -> Any:
    const, terms = index[:2]
    return const + sum(coeff * counters[axis] for axis, coeff in terms)


def read(node: Expr, args: list, counters: Sequence[Any], buffers: Operands) -> np.ndarray:
    operand, const, terms, coeffs, guarded = node.data
    place = at((const, terms), counters)
    place = place + sum(a * c for a, c in zip(args, coeffs, strict=False))
    buffer = buffers[operand].reshape(-1)
    legal = args[-1] if guarded else np.True_
    place, legal = np.broadcast_arrays(place, legal)
    assert ((place >= 0) & (place < buffer.size) | ~legal).all(), f"{node} is out of bounds"
    if not buffer.size:
        return np.zeros(place.shape, buffer.dtype)
    return np.where(legal, buffer[np.where(legal, place, 0)], buffer.dtype.type(0))


def run_rule(eqn: Eqn, buffers: Operands, shape: Sequence[int], computed_ones: bool) -> list:
    space = Space(shape)

    def build(graph: Graph, index: Position) -> Roots:
        found = lowering.rules[eqn.primitive](
            graph, index, *elements(graph, buffers, computed_ones), **eqn.params
        )
        return found if isinstance(found, tuple) else (found,)

    _, roots = space.roots(build)
    extents = [n for axes in space.pieces for n in axes]
    outs = computed(roots, space.counters(), buffers, {})
    return [np.broadcast_to(out, extents).reshape(shape) for out in outs]


def elements(graph: Graph, buffers: Operands, computed_ones: bool) -> list[Element]:
    return [Element(graph, i, b, computed_ones) for i, b in enumerate(buffers)]


def run_fold(eqn: Eqn, buffers: Operands, shape: Sequence[int], computed_ones: bool) -> list:
    """The inner indices in three parts, from the identity each, then the parts together."""

    def fold_in(graph: Graph) -> Fold:
        operands = elements(graph, buffers, computed_ones)
        return lowering.folds[eqn.primitive](graph, *operands, **eqn.params)

    inner = fold_in(Graph([])).inner
    space, count = Space((*shape, *inner)), math.prod(inner)

    def build(graph: Graph, index: Position) -> Roots:
        return fold_in(graph).values(index[: len(shape)], index[len(shape) :])

    graph, roots = space.roots(build)
    extents = [n for axes in space.pieces for n in axes]
    values = [
        np.broadcast_to(v, extents).reshape(math.prod(shape), count)
        for v in computed(roots, space.counters(), buffers, {})
    ]
    fold = fold_in(graph)
    dtypes = [p.dtype for p in fold.combine.params[: len(values)]]
    assert [r.dtype for r in roots] == dtypes
    lanes = (
        np.array_split(np.arange(count), 3)
        if fold.ordered
        else [range(i, count, 3) for i in range(3)]
    )
    parts = []
    for lane in lanes:
        part = constants(fold.combine.identity, dtypes)
        for i in lane:
            part = combined(fold.combine, part, [v[:, i] for v in values])
        parts.append(part)
    total = constants(fold.starts, dtypes)
    for part in parts:
        total = combined(fold.combine, total, part)
    accs = [graph.acc(i, d) for i, d in enumerate(dtypes)]
    outs = computed(fold.finish(*accs), [], buffers, dict(zip(accs, total, strict=True)))
    return [np.broadcast_to(out, math.prod(shape)).reshape(shape) for out in outs]


def constants(values: Sequence[Any], dtypes: Sequence[str]) -> list:
    return [reference.constant(v, d) for v, d in zip(values, dtypes, strict=True)]


def combined(combine: Combine, first: list, second: list) -> list:
    known = dict(zip(combine.params, (*first, *second), strict=True))
    return computed(combine.results, [], [], known)


def run_accumulation(
    eqn: Eqn, buffers: Operands, shape: Sequence[int], computed_ones: bool
) -> list:
    """Up to each index, the first half of what is folded and the second apart, then together."""

    def accumulation_in(graph: Graph) -> Accumulation:
        operands = elements(graph, buffers, computed_ones)
        return lowering.accumulations[eqn.primitive](graph, *operands, **eqn.params)

    space = Space(shape)
    graph, roots = space.roots(lambda graph, index: accumulation_in(graph).values(index))
    found = accumulation_in(graph)
    dtypes = [r.dtype for r in roots]
    assert [p.dtype for p in found.combine.params] == dtypes * 2
    extents = [n for axes in space.pieces for n in axes]
    step = -1 if found.reverse else 1
    values = [
        np.moveaxis(np.broadcast_to(v, extents).reshape(shape), found.axis, 0)[::step]
        for v in computed(roots, space.counters(), buffers, {})
    ]

    def part(first: int, last: int) -> list:
        total = constants(found.combine.identity, dtypes)
        for i in range(first, last):
            total = combined(found.combine, total, [v[i] for v in values])
        return total

    accs = [graph.acc(i, d) for i, d in enumerate(dtypes)]
    outs = []
    for count in range(1, shape[found.axis] + 1):
        halves = combined(found.combine, part(0, count // 2), part(count // 2, count))
        total = combined(found.combine, constants(found.starts, dtypes), halves)
        (out,) = computed([found.finish(*accs)], [], buffers, dict(zip(accs, total, strict=True)))
        outs.append(out)
    return [np.moveaxis(np.stack(outs)[::step], 0, found.axis)]


def run_update(eqn: Eqn, buffers: Operands, shape: Sequence[int], computed_ones: bool) -> list:
    """One index after the other, with a look at what the Update promises of them."""

    def update_in(graph: Graph) -> Update:
        operands = elements(graph, buffers, computed_ones)
        return lowering.updates[eqn.primitive](graph, *operands, **eqn.params)

    extents = update_in(Graph([])).extents
    space = Space(extents)
    dtype = lowering.short_name(buffers[0].dtype)

    def build(graph: Graph, index: Position) -> Roots:
        update = update_in(graph)
        position, guard = update.place(index)
        assert len(position) == len(shape)
        value = update.value(index, graph.param(0, dtype))
        return graph.value(linear(shape, position)), guard, value

    graph, (place, guard, value) = space.roots(build)
    update, counters = update_in(graph), space.counters()
    pieces = [n for axes in space.pieces for n in axes]
    places, written = (
        np.broadcast_to(v, pieces).reshape(extents)
        for v in computed([place, guard], counters, buffers, {})
    )
    groups = [(places, written)] if update.distinct else []
    for first in np.ndindex(*extents[: len(extents) - update.window]):
        groups.append((places[first], written[first]))
    for one_group, kept in groups:
        met = one_group[kept]
        assert len(np.unique(met)) == met.size, "an element is met twice"
    out = buffers[0].copy().reshape(-1)
    for flat, index in enumerate(np.ndindex(*pieces)):
        if written.reshape(-1)[flat]:
            where = places.reshape(-1)[flat]
            old = {graph.param(0, dtype): out[where]}
            (out[where],) = computed([value], index, buffers, old)
    return [out.reshape(shape)]


# the equations of a program

KINDS = (
    (lowering.rules, run_rule),
    (lowering.folds, run_fold),
    (lowering.accumulations, run_accumulation),
    (lowering.updates, run_update),
)

# Rounding in a result, relative to the largest: of library functions, and of sums in any order.
ROUNDING = {"bf16": 1e-2, "f16": 2e-3, "f32": 2e-6, "f64": 1e-14}
# Primitives that NumPy computes with the same roundings as the loop IR.
EXACT = set(
    """abs add and bitcast_convert_type broadcast_in_dim ceil clamp clz concatenate
    convert_element_type copy cummax cummin div dynamic_slice dynamic_update_slice eq floor gather
    ge gt iota is_finite le lt max min mul mulhi name ne neg nextafter not or pad
    population_count random_bits random_clone random_fold_in random_seed random_split random_unwrap
    random_wrap reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_window_max
    reduce_window_min reduce_xor rem reshape rev round scatter scatter-add scatter-max scatter-min
    scatter-mul scatter-sub select_n shift_left shift_right_arithmetic shift_right_logical sign
    slice sqrt square squeeze stop_gradient sub threefry2x32 transpose xor""".split()
)
# Where the sign of a zero is NumPy's choice.
UNSIGNED_ZERO = ("max", "min", "clamp", "cummax", "cummin")


def supported(eqn: Eqn) -> bool:
    """Whether the compiler would ask the tables about an equation."""
    avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    refuses = lowering.refusals.get(eqn.primitive)
    if refuses is not None and refuses(avals[: len(eqn.invars)], eqn.params):
        return False
    return all(element_type(a.dtype) for a in avals)


def as_words(buffer: Any, aval: ShapedArray) -> np.ndarray:
    """A buffer as kernels see it: keys are numbers of 64 bits."""
    buffer = np.ascontiguousarray(buffer).reshape(aval.shape)
    return buffer.view(np.uint64) if isinstance(aval.dtype, KeyType) else buffer


def check_program(function: Callable, args: Sequence) -> set[str]:
    """Hold every equation against its evaluation; the names of those that have no kernel."""
    program = inline(OURS.make_jaxpr(function)(*args))
    jaxpr, missing = program.jaxpr, set()
    flat = [as_array(x).buffer for x in OURS.leaves(args)]
    env: dict = dict(zip(jaxpr.invars, flat, strict=True))
    env.update((v, c.buffer) for v, c in zip(jaxpr.constvars, program.consts, strict=True))
    for eqn in jaxpr.eqns:
        ins = [v.array.buffer if isinstance(v, Literal) else env[v] for v in eqn.invars]
        with np.errstate(all="ignore"):
            outs = evaluate_rules[eqn.primitive](np, *ins, **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
        if not check_equation(eqn, ins, list(outs)):
            missing.add(eqn.primitive.name)
    return missing


def check_equation(eqn: Eqn, ins: list, outs: list) -> bool:
    run = next((run for table, run in KINDS if eqn.primitive in table), None)
    if not supported(eqn) or not any(out.size for out in outs):
        return True
    if run is None:
        return False
    ins = [as_words(b, v.aval) for b, v in zip(ins, eqn.invars, strict=True)]
    outs = [as_words(b, v.aval) for b, v in zip(outs, eqn.outvars, strict=True)]
    for computed_ones in (False, True):
        with np.errstate(all="ignore"):
            got = run(eqn, ins, outs[0].shape, computed_ones)
            for a, b in zip(got, outs, strict=True):
                compare(eqn, a, b)
    return True


def compare(eqn: Eqn, got: np.ndarray, want: np.ndarray) -> None:
    what = f"{eqn.primitive.name} {eqn.params}"
    assert got.dtype == want.dtype, what
    dtype = lowering.short_name(want.dtype)
    if dtype not in ROUNDING:
        np.testing.assert_array_equal(got, want, what)
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    applies = isinstance(eqn.params.get("update_jaxpr"), ClosedJaxpr)
    if eqn.primitive.name in EXACT and not applies:
        np.testing.assert_array_equal(got, want, what)
        if not eqn.primitive.name.endswith(UNSIGNED_ZERO):
            np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])
        return
    scale = np.abs(want[np.isfinite(want)]).max(initial=1e-30)
    error = ROUNDING[dtype]
    np.testing.assert_allclose(got, want, error, error * min(scale, 1e30), err_msg=what)
