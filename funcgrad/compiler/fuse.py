"""A group: equations over one iteration space, which one kernel computes where they are used."""

import math
from collections.abc import Sequence

from funcgrad.base.basis import reshape_p
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Combine, Expr, Graph, Index, NeedsSplit, axis_index, ordered
from funcgrad.compiler.lowering import (
    Accumulation,
    Fold,
    Position,
    element_type,
    linear,
    literal_value,
    unravel,
)
from funcgrad.ir.jaxpr import Atom, Eqn, Literal, Var

# Nodes of one kernel's graph beyond which nothing more joins: longer bodies spill registers.
LARGEST_GRAPH = 500
# Equations that may stand between one being looked at and what is known or read from memory.
DEEPEST = 48
# Nodes of an equation that may be computed once a row, element by element.
CHEAP_NODES = 12


class NotAlignedError(Exception):
    """A folded value is asked for at another index than its own row's."""


class TooDeepError(Exception):
    """A value is asked for at an index where too many equations before it would be gone through."""


class Member:
    """An equation computed inside a group, at every index of its space or once for each row.

    A reduction has its `fold`, and partial results along an axis their `accumulation`, with the
    accumulators that the combined values end up in.
    """

    def __init__(self, eqn: Eqn, row: bool):
        self.eqn, self.row = eqn, row
        self.fold: Fold | None = None
        self.accumulation: Accumulation | None = None
        self.accs: tuple[Expr, ...] = ()


class Group:
    """What one kernel computes over `space`.

    `folded` are the axes that its reductions run over, none as long as it has no reduction; what is
    left of the space are its rows. `views` says which values readers look through. A group that
    makes partial results goes in order along the axis of these, `going` being that and whether it
    goes backward.
    """

    def __init__(self, space: Sequence[int], views: dict[Var, Eqn]):
        self.space = tuple(space)
        self.views = views
        self.folded: tuple[int, ...] = ()
        self.going: tuple[int, bool] | None = None
        self.members: dict[Var, Member] = {}
        self._restart(list(self.space), [axis_index(d) for d in range(len(space))])

    def _restart(self, extents: list[int], index: list[Index]) -> None:
        """Begin the expressions anew; `index` is the index into the space, over these axes."""
        self.graph = Graph(extents, deferring=True)
        self.index = tuple(index)
        self.operands: dict[Var, int] = {}
        self._known: dict[tuple, tuple[Expr, ...]] = {}
        self._num_accs = self._depth = 0
        for member in dict.fromkeys(self.members.values()):
            if member.fold is not None:
                self._make_fold(member)
            elif member.accumulation is not None:
                self._make_accumulation(member)

    # positions

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(n for d, n in enumerate(self.space) if d not in self.folded)

    @property
    def row_index(self) -> Position:
        return tuple(i for d, i in enumerate(self.index) if d not in self.folded)

    @property
    def inner_index(self) -> Position:
        return tuple(self.index[d] for d in self.folded)

    @property
    def inner_axes(self) -> frozenset[int]:
        """The loop axes that reductions run over."""
        return frozenset(a for i in self.inner_index for a, _ in i.terms)

    def index_of(self, shape: Sequence[int], row: bool) -> Position:
        """The index into a value of this shape that the group computes."""
        space, index = (self.rows, self.row_index) if row else (self.space, self.index)
        if tuple(shape) == space:
            return index
        return unravel(self.graph, shape, linear(space, index))

    def rows_lie_together(self) -> bool:
        """Whether the folded axes include the last, so that a row may be gone over again."""
        wide = [d for d, n in enumerate(self.space) if n > 1]
        return not wide or wide[-1] in self.folded

    # expressions

    def value(self, atom: Atom, index: Position) -> Expr:
        """The expression of an element of any value of the program."""
        if isinstance(atom, Literal):
            return self.graph.const(literal_value(atom), element_type(atom.aval.dtype) or "")
        member = self.members.get(atom)
        if member is not None and member.fold is not None:
            return self._folded_value(atom, member, index)
        if member is not None and member.accumulation is not None:
            if index != self.index:
                raise NotAlignedError
            return member.accumulation.finish(*member.accs)
        eqn = member.eqn if member is not None else self.views.get(atom)
        if eqn is None:
            return self.read(atom, linear(atom.aval.shape, index))
        key = (id(eqn), index, self.graph.guard)
        outs = self._known.get(key)
        if outs is None:
            if self._depth == DEEPEST:
                raise TooDeepError
            rule = lowering.rules[eqn.primitive]
            self._depth += 1
            try:
                found = rule(self.graph, index, *map(self.element, eqn.invars), **eqn.params)
            finally:
                self._depth -= 1
            outs = self._known[key] = found if isinstance(found, tuple) else (found,)
        return outs[eqn.outvars.index(atom)]

    def element(self, atom: Atom) -> "Element":
        return Element(self, atom)

    def read(self, var: Var, offset: Index) -> Expr:
        number = self.operands.setdefault(var, len(self.operands))
        return self.graph.read(number, offset, element_type(var.aval.dtype) or "")

    def _make_fold(self, member: Member) -> None:
        eqn = member.eqn
        rule = lowering.folds[eqn.primitive]
        fold: Fold = rule(self.graph, *map(self.element, eqn.invars), **eqn.params)
        member.fold = fold
        self._make_accs(member, fold.combine)

    def _make_accumulation(self, member: Member) -> Accumulation:
        eqn = member.eqn
        rule = lowering.accumulations[eqn.primitive]
        found: Accumulation = rule(self.graph, *map(self.element, eqn.invars), **eqn.params)
        member.accumulation = found
        self._make_accs(member, found.combine)
        return found

    def _make_accs(self, member: Member, combine: Combine) -> None:
        dtypes = [p.dtype for p in combine.params[: len(combine.results)]]
        member.accs = tuple(self.graph.acc(self._num_accs + i, d) for i, d in enumerate(dtypes))
        self._num_accs += len(dtypes)

    def _folded_value(self, var: Var, member: Member, index: Position) -> Expr:
        assert member.fold is not None
        if index != self.index_of(var.aval.shape, row=True):
            raise NotAlignedError
        return member.fold.finish(*member.accs)[member.eqn.outvars.index(var)]

    def fold_values(self, member: Member) -> tuple[Expr, ...]:
        """What a reduction folds, at the group's index."""
        assert member.fold is not None
        row = self.index_of(member.eqn.outvars[0].aval.shape, row=True)
        return member.fold.values(row, self.inner_index)

    def output(self, var: Var) -> Expr:
        """A value of the group at its own index."""
        member = self.members[var]
        return self.value(var, self.index_of(var.aval.shape, member.row))

    # joining

    def join_map(self, eqn: Eqn, row: bool = False) -> bool:
        """Take an elementwise equation in, if the group can compute it at its index."""
        if self.going is not None and (row or eqn.outvars[0].aval.shape != self.space):
            return False
        before = self.graph.size
        if not self._join(Member(eqn, row), lambda: [self.output(v) for v in eqn.outvars]):
            return False
        # Rows that lie together are folded one at a time, and so would this be computed.
        costly = self.graph.size - before > CHEAP_NODES
        if row and costly and self.rows_lie_together() and size(self.rows) > 1:
            for var in eqn.outvars:
                del self.members[var]
            return False
        return True

    def join_fold(self, eqn: Eqn, axes: Sequence[int]) -> bool:
        """Take a reduction over `axes` of the space in."""
        before = self.folded
        folds = any(m.fold is not None for m in self.members.values())
        if self.going is not None or (folds and before != tuple(axes)):
            return False
        self.folded = tuple(axes)
        member = Member(eqn, row=True)
        self._make_fold(member)
        if self._join(member, lambda: self.fold_values(member)):
            return True
        self.folded = before
        return False

    def join_accumulation(self, eqn: Eqn) -> bool:
        """Take partial results along an axis in, if the group can go along that in order."""
        member = Member(eqn, row=False)
        found = self._make_accumulation(member)
        going, first = (found.axis, found.reverse), self.going is None
        if self.folded if first else self.going != going:
            return False
        known = list(dict.fromkeys(self.members.values()))
        self.going, self.folded = going, (found.axis,)
        if first and found.reverse:
            self._turn(found.axis)
            self._make_accumulation(member)
        if self._join(member, lambda: self.accumulated_values(member), known):
            return True
        if first:
            self.going, self.folded = None, ()
            if found.reverse:
                self._turn(found.axis)
                for before in known:
                    self.look_at(before)
        return False

    def _turn(self, axis: int) -> None:
        """Go along an axis the other way."""
        index = list(self.index)
        index[axis] = index[axis].times(-1).plus(self.space[axis] - 1)
        self._restart(self.graph.extents, index)

    def accumulated_values(self, member: Member) -> tuple[Expr, ...]:
        """What partial results are made of, at the group's index."""
        assert member.accumulation is not None
        return member.accumulation.values(self.index)

    def _join(self, member: Member, values, unknown: Sequence[Member] = ()) -> bool:
        outvars = member.eqn.outvars
        self.members.update((v, member) for v in outvars)
        while True:
            try:
                for before in unknown:
                    self.look_at(before)
                found = values()
            except NeedsSplit as needed:
                self.split(needed.axis, needed.inner)
                unknown = [m for m in dict.fromkeys(self.members.values()) if m is not member]
                continue
            except (NotAlignedError, TooDeepError):
                break
            again = self.going is None and (not member.row or member.fold is not None)
            folded = self._num_accs and not self.rows_lie_together()
            if again and folded and any_acc(found):
                break
            if self.graph.size > LARGEST_GRAPH and len(self.members) > len(outvars):
                break
            return True
        for var in outvars:
            del self.members[var]
        return False

    def look_at(self, member: Member) -> None:
        """Have the expressions of a member known, so that later ones need not go deep for them."""
        if member.fold is not None:
            self.fold_values(member)
        elif member.accumulation is not None:
            self.accumulated_values(member)
        else:
            self.output(member.eqn.outvars[0])

    def absorb(self, earlier: Sequence[Member]) -> bool:
        """Take in equations that another group was to compute before this one."""
        before = self.members
        self.members = {v: m for m in earlier for v in m.eqn.outvars} | before
        self._restart(self.graph.extents, list(self.index))
        while True:
            try:
                for var in list(self.members):
                    self.output(var)
                return True
            except NeedsSplit as needed:
                self.split(needed.axis, needed.inner)
            except NotAlignedError:
                self.members = before
                self._restart(self.graph.extents, list(self.index))
                return False

    def split(self, axis: int, inner: int) -> None:
        """Cut a loop axis in two, so that an index can be divided exactly."""
        extents = self.graph.extents
        new = [*extents[:axis], extents[axis] // inner, inner, *extents[axis + 1 :]]

        def moved(index: Index) -> Index:
            total = Index(index.const)
            for a, coeff in index.terms:
                if a == axis:
                    total = total.plus(axis_index(axis).times(coeff * inner))
                total = total.plus(axis_index(a if a < axis else a + 1).times(coeff))
            return total

        self._restart(new, [moved(i) for i in self.index])


class Element:
    """An operand of a lowering rule, inside one group."""

    __slots__ = ("array_dtype", "atom", "dtype", "group", "shape")

    def __init__(self, group: Group, atom: Atom):
        self.group, self.atom = group, atom
        self.shape = atom.aval.shape
        self.array_dtype = atom.aval.dtype
        self.dtype = element_type(self.array_dtype) or ""

    def __call__(self, index: Position) -> Expr:
        return self.group.value(self.atom, index)

    def flat(self, offset: Index) -> Expr:
        """The element at a row-major offset, which reshapes leave as it is."""
        group, atom = self.group, self.atom
        if isinstance(atom, Var) and atom not in group.members:
            eqn = group.views.get(atom)
            if eqn is None:
                return group.read(atom, offset)
            if eqn.primitive is reshape_p:
                return Element(group, eqn.invars[0]).flat(offset)
        return self(unravel(group.graph, self.shape, offset))


def any_acc(values: Sequence[Expr]) -> bool:
    return any(node.op == "acc" for node in ordered(values))


def size(shape: Sequence[int]) -> int:
    return math.prod(shape)
