"""Sink: what a scan only adds up is summed after it, and products without its carry leave it.

A weight gradient, `carry + x_t.T @ dz_t` in each turn, becomes one product of all x and all dz,
which a processor does faster than many small ones. A product of what the scan reads along and a
constant (`x_t @ W`) becomes one before the scan, and one that the scan only writes, one after it.

Sums are taken in another order than the turns': floats round differently, by no more than in any
product of that length; integers wrap around to the same bits. Narrow floats are rounded once, not
once a turn.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray
from funcgrad.base.basis import (
    add_p,
    broadcast_in_dim_p,
    neg_p,
    reduce_sum_p,
    reshape_p,
    squeeze_p,
    transpose_p,
)
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.source import Place
from funcgrad.base.trace import NO_EFFECTS, Primitive, abstract_eval
from funcgrad.compiler import lowering
from funcgrad.compiler.lowering import Scan
from funcgrad.compiler.passes.dce import dce, dce_jaxpr
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, DropVar, Eqn, Var

# What is stacked for a scan's sake may take half as much memory as all that it reads and writes
# along anyway. So a scan that computes values again, to save memory, goes on saving it. Or it may
# take so many bytes, of which the processor's caches hold the most.
SMALL_STACKS = 1 << 21
# Rows of a product, summed over or not, up to which moving its matrix to and from the processor
# takes a good part of the time. One of more rows is as fast in the scan, whose values are at hand.
FEW_ROWS = 64

# Primitives of which the sum over the turns is what they make of their operands' sums.
LINEAR = frozenset({add_p, broadcast_in_dim_p, neg_p, reshape_p, squeeze_p, transpose_p})

# How a scan is put together again: (eqn, body, (constants, carry, along), outvars) -> eqn.
Operands = tuple[Sequence[Atom], Sequence[Atom], Sequence[Atom]]
rebuild: dict[Primitive, Callable[[Eqn, ClosedJaxpr, Operands, Sequence[Var]], Eqn]] = {}
# params -> those by which the same primitive adds up the results for operands stacked along axis 0.
summed: dict[Primitive, Callable[[dict[str, Any]], dict[str, Any]]] = {
    reduce_sum_p: lambda params: {**params, "axes": (0, *(axis + 1 for axis in params["axes"]))}
}
# (params, number) -> those of the product whose operand of that number is stacked along axis 0.
stacked: dict[Primitive, Callable[[dict[str, Any], int], dict[str, Any]]] = {}

# (params, length) -> those of a view of that many, stacked along axis 0.
viewed: dict[Primitive, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    transpose_p: lambda params, _: {"permutation": (0, *(d + 1 for d in params["permutation"]))},
    reshape_p: lambda params, n: {**params, "new_sizes": (n, *params["new_sizes"])},
    squeeze_p: lambda params, _: {"dimensions": tuple(d + 1 for d in params["dimensions"])},
}


def sink(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with sums and products taken out of its scans."""
    if not any(eqn.primitive in rebuild for eqn in program.eqns):
        return program
    eqns: list[Eqn] = []
    consts = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for eqn in program.eqns:
        turns = emptied(eqn)
        if turns is None:
            eqns.append(eqn)
        else:
            eqns += turns.equations()
            consts.update(turns.constants)
    jaxpr = program.jaxpr.replace(constvars=list(consts), eqns=eqns)
    return ClosedJaxpr(jaxpr, list(consts.values()))


def emptied(eqn: Eqn) -> "Turns | None":
    """A scan without what can be done outside of it; None where there is nothing to take out."""
    if eqn.primitive not in rebuild or eqn.effects:
        return None
    control = lowering.controls[eqn.primitive](**eqn.params)
    if not isinstance(control, Scan) or control.length < 2:
        return None
    turns = Turns(eqn, control)
    turns.sink_sums()
    turns.sink_products()
    turns.hoist_products()
    return turns if turns.changed else None


class Carry(NamedTuple):
    """A carry: its variable in the body, what a turn makes of it, its first and last value."""

    var: Var
    following: Atom
    first: Atom
    last: Var


class Weighing(NamedTuple):
    """A product of `var`, which is operand `number`, and of what is the same in every turn."""

    eqn: Eqn
    var: Atom
    number: int
    turn_axis: int  # the place in the result of an axis that comes before those of `var`


class Turns:
    """A scan that is being emptied: the parts of its body, and what runs before and after it."""

    def __init__(self, eqn: Eqn, control: Scan):
        self.eqn, self.length = eqn, control.length
        self.body = dce(inline(control.body))
        jaxpr, first = self.body.jaxpr, control.num_consts
        last, num_carry = first + control.num_carry, control.num_carry
        self.consts = dict(zip(jaxpr.invars[:first], eqn.invars[:first], strict=True))
        bodies = jaxpr.invars[first:last], jaxpr.outvars[:num_carry]
        ends = eqn.invars[first:last], eqn.outvars[:num_carry]
        self.carries = [*map(Carry, *bodies, *ends)]
        self.along = dict(zip(jaxpr.invars[last:], eqn.invars[last:], strict=True))
        self.ys = [*zip(jaxpr.outvars[num_carry:], eqn.outvars[num_carry:], strict=True)]
        self.makers: dict[Atom, Eqn] = {v: e for e in jaxpr.eqns for v in e.outvars}
        read = [*(v for e in jaxpr.eqns for v in e.invars), *jaxpr.outvars]
        self.uses: Counter[Atom] = Counter(v for v in read if isinstance(v, Var))
        names = {v: Var(v.aval) for v in jaxpr.constvars}
        self.constants = dict(zip(names.values(), self.body.consts, strict=True))
        # Values that are the same in every turn, as they are called outside.
        self.outside: dict[Atom, Atom] = {**self.consts, **names}
        written = {v: y for v, y in self.ys if not isinstance(y, DropVar)}
        self.stacks: dict[Atom, Atom] = {**written, **self.along}
        self.room = max(nbytes([*self.along.values(), *eqn.outvars[num_carry:]]) // 2, SMALL_STACKS)
        self.before: list[Eqn] = []
        # After the scan come the stacks that are made of others, and then the sums that read them.
        self.restacked: list[Eqn] = []
        self.after: list[Eqn] = []
        self.changed = False

    # products

    def hoist_products(self) -> None:
        """Products of what is read along are computed before the scan, and read along."""
        for eqn in self.body.eqns:
            product = self.weighing(eqn)
            if product is None or product.var not in self.along:
                continue
            out = eqn.outvars[0]
            if self.takes(self.length * nbytes([out])):
                self.along[out] = self.whole(product, self.along, self.before)

    def sink_products(self) -> None:
        """Products that are only written along are computed after the scan."""
        for place, (value, result) in enumerate([*self.ys]):
            eqn = self.makers.get(value) if isinstance(value, Var) else None
            product = None if eqn is None or self.uses[value] > 1 else self.weighing(eqn)
            if product is None or isinstance(result, DropVar):
                continue
            if self.stack([product.var], nbytes([value])):
                self.ys[place] = (value, DropVar(result.aval))
                self.whole(product, self.stacks, self.restacked, result)

    def weighing(self, eqn: Eqn) -> Weighing | None:
        """An equation as the product of few rows with a value that is the same in every turn."""
        if eqn.primitive not in stacked:
            return None
        changing = [(i, v) for i, v in enumerate(eqn.invars) if not self.is_fixed(v)]
        product = lowering.products[eqn.primitive](*[v.aval for v in eqn.invars], **eqn.params)
        if product is None or len(changing) != 1:
            return None
        ((number, var),) = changing
        batch, rows, _ = product[number]
        if batch or extent(var.aval, rows) > FEW_ROWS:
            return None
        return Weighing(eqn, var, number, len(product.lhs[1]) if number else 0)

    def whole(
        self,
        product: Weighing,
        stacks: Mapping[Any, Atom],
        made: list[Eqn],
        out: Var | None = None,
    ) -> Var:
        """The product of all turns, stacked along axis 0, from what the stacks hold."""
        eqn, axis = product.eqn, product.turn_axis
        params = stacked[eqn.primitive](eqn.params, product.number)
        operands = [stacks[v] if v is product.var else self.fixed(v) for v in eqn.invars]
        if axis == 0:
            return emit(made, eqn.primitive, operands, params, eqn.source, out)
        result = emit(made, eqn.primitive, operands, params, eqn.source)
        order = (axis, *(d for d in range(result.aval.ndim) if d != axis))
        return emit(made, transpose_p, [result], {"permutation": order}, eqn.source, out)

    def is_fixed(self, atom: Atom) -> bool:
        """Whether a value is the same in every turn, and can be computed before the scan."""
        if not isinstance(atom, Var) or atom in self.outside:
            return True
        maker = self.makers.get(atom)
        return (
            maker is not None
            and maker.primitive in lowering.views
            and all(map(self.is_fixed, maker.invars))
        )

    def fixed(self, atom: Atom) -> Atom:
        """Such a value, computed before the scan."""
        if isinstance(atom, Var) and atom not in self.outside:
            maker = self.makers[atom]
            operands = [self.fixed(v) for v in maker.invars]
            args = maker.primitive, operands, maker.params, maker.source
            self.outside[atom] = emit(self.before, *args)
        return self.outside[atom] if isinstance(atom, Var) else atom

    # sums

    def sink_sums(self) -> None:
        """Carries that are only added to become sums after the scan."""
        for carry in sorted(self.carries, key=lambda c: -nbytes([c.var])):
            value = self.added(carry)
            leaves = None if value is None else self.leaves(value)
            if value is None or leaves is None or not self.stack(leaves, nbytes([carry.var])):
                continue
            source = self.makers[carry.following].source
            total = self.total(value)
            emit(self.after, add_p, [carry.first, total], {}, source, carry.last)
            self.carries.remove(carry)

    def added(self, carry: Carry) -> Var | None:
        """What a turn adds to a carry, if that is all that is done with it."""
        following = carry.following
        eqn = self.makers.get(following) if isinstance(following, Var) else None
        if eqn is None or eqn.primitive is not add_p or carry.var not in eqn.invars:
            return None
        value = eqn.invars[1 if eqn.invars[0] is carry.var else 0]
        alone = self.uses[carry.var] == 1 and self.uses[following] == 1
        alike = value.aval == carry.var.aval == following.aval
        return value if alone and alike and isinstance(value, Var) else None

    def leaves(self, value: Atom) -> list[Var] | None:
        """The values to stack so that `total` finds its operands; None where there is no sum."""
        if not isinstance(value, Var) or self.is_fixed(value):
            return None
        if value in self.stacks:
            return [value]
        eqn = self.makers.get(value)
        if eqn is None or self.uses[value] > 1:
            return None
        if eqn.primitive in summed:
            operands = [v for v in eqn.invars if isinstance(v, Var) and not self.is_fixed(v)]
            return operands if len(operands) == len(eqn.invars) and is_summable(eqn) else None
        found: list[Var] = []
        for operand in eqn.invars if eqn.primitive in LINEAR else ():
            more = self.leaves(operand)
            if more is None:
                return None
            found += more
        return found or None

    def total(self, value: Atom) -> Var:
        """The sum of a value over the turns."""
        if value in self.stacks:
            return emit(self.after, reduce_sum_p, [self.stacks[value]], {"axes": (0,)}, None)
        eqn = self.makers[value]
        if eqn.primitive in summed:
            params = summed[eqn.primitive](eqn.params)
            operands = [self.stacks[v] for v in eqn.invars]
        else:
            params = eqn.params
            operands = [self.total(v) for v in eqn.invars]
        return emit(self.after, eqn.primitive, operands, params, eqn.source)

    # memory

    def stack(self, values: Sequence[Atom], limit: int) -> bool:
        """Have values stacked, unless those that are not yet take more than `limit` a turn."""
        new = [v for v in dict.fromkeys(values) if not self.is_stacked(v)]
        if nbytes(new) > limit or not self.takes(self.length * nbytes(new)):
            return False
        for var in new:
            result = Var(var.aval.update(shape=(self.length, *var.aval.shape)))
            self.stacks[var] = result
            self.ys.append((var, result))
        return True

    def is_stacked(self, value: Atom) -> bool:
        """Whether a value is read or written along, or is a view of one that is."""
        eqn = self.makers.get(value)
        if value in self.stacks or eqn is None or eqn.primitive not in viewed:
            return value in self.stacks
        if not self.is_stacked(eqn.invars[0]):
            return False
        params = viewed[eqn.primitive](eqn.params, self.length)
        operands = [self.stacks[eqn.invars[0]]]
        self.stacks[value] = emit(self.restacked, eqn.primitive, operands, params, eqn.source)
        return True

    def takes(self, count: int) -> bool:
        """Whether there is room for so many bytes more; it is taken, and the scan changes."""
        if count > self.room:
            return False
        self.room -= count
        self.changed = True
        return True

    def equations(self) -> list[Eqn]:
        """What runs before the scan, what is left of it, and what runs after it."""
        ys = [(v, y) for v, y in self.ys if not isinstance(y, DropVar)]
        outvars = [*(c.last for c in self.carries), *(y for _, y in ys)]
        if not outvars:
            return [*self.before, *self.restacked, *self.after]
        inner = [*(c.following for c in self.carries), *(v for v, _ in ys)]
        eqns = [e for e in self.body.eqns if e.outvars[0] not in self.along]
        names = [*self.consts, *(c.var for c in self.carries), *self.along]
        jaxpr = self.body.jaxpr.replace(invars=names, outvars=inner, eqns=eqns)
        jaxpr, used = dce_jaxpr(jaxpr, (True,) * len(inner), keep_inputs=True)
        needed = {v for v, wanted in zip(names, used, strict=True) if wanted}
        needed.update(c.var for c in self.carries)
        body = self.body.replace(jaxpr.replace(invars=[v for v in names if v in needed]))
        operands = (
            [v for name, v in self.consts.items() if name in needed],
            [c.first for c in self.carries],
            [v for name, v in self.along.items() if name in needed],
        )
        scan = rebuild[self.eqn.primitive](self.eqn, body, operands, outvars)
        return [*self.before, scan, *self.restacked, *self.after]


def is_summable(eqn: Eqn) -> bool:
    """Whether an operation on stacks adds up what it gives for their elements, and is faster."""
    if eqn.primitive not in lowering.products:
        return True
    lhs, rhs = (v.aval for v in eqn.invars)
    product = lowering.products[eqn.primitive](lhs, rhs, **eqn.params)
    if product is None:
        return False
    batch, _, contracted = product.lhs
    rows = extent(lhs, contracted)
    # The turns are no neighbours of the rows in the stacks of a batch, which get copied then.
    return rows == 1 or rows * extent(lhs, batch) <= FEW_ROWS


def extent(aval: ShapedArray, axes: Iterable[int]) -> int:
    return math.prod(aval.shape[axis] for axis in axes)


def nbytes(atoms: Iterable[Atom]) -> int:
    return sum(v.aval.size * buffer_dtype(v.aval.dtype).itemsize for v in atoms)


def emit(
    made: list[Eqn],
    primitive: Primitive,
    operands: Sequence[Atom],
    params: dict[str, Any],
    source: Place | None,
    out: Var | None = None,
) -> Var:
    """Add an equation to those made; its one output."""
    if out is None:
        (aval,), _ = abstract_eval(primitive, tuple(v.aval for v in operands), params)
        out = Var(aval)
    made.append(Eqn([*operands], [out], primitive, params, NO_EFFECTS, source))
    return out
