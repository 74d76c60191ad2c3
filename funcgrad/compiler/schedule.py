"""The schedule: a program as steps in order, each a kernel, a library call, or a loop of steps."""

from collections import Counter
from collections.abc import Sequence

from funcgrad.base.basis import transpose_p
from funcgrad.base.trace import NO_EFFECTS
from funcgrad.compiler import lowering
from funcgrad.compiler.fuse import LARGEST_GRAPH, Element, Group, Member, size
from funcgrad.compiler.kernels import Kernels
from funcgrad.compiler.loops import NeedsSplit
from funcgrad.compiler.lowering import Cond, Scan, element_type
from funcgrad.compiler.partial import build
from funcgrad.compiler.registers import Registers
from funcgrad.compiler.steps import (
    AliasStep,
    Block,
    CallStep,
    ControlStep,
    HostStep,
    KernelStep,
    Machine,
    Optimise,
    RegisterStep,
    Step,
    StridedView,
    reads_of,
)
from funcgrad.compiler.updating import build_update
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var

# Elements up to which a value lives in registers: a loop's own small arrays, else scalars.
REGISTERS_IN_LOOP = 4
REGISTERS = 1
# Groups that are looked at, from the last one, for one that an equation can share reads with.
LOOK_BACK = 8
# An equation joins others that read what it reads if that is one element for so many it makes.
WORTH_SHARING = 4
# Multiplications up to which a product is an ordinary reduction, fused with what is around it.
SMALL_PRODUCT = 4096
# Maps that an update takes in at most.
MOST_ABSORBED = 8
# Views that one may be made of: each use of it goes through them all, the shared ones again.
LARGEST_VIEW = 32


def schedule(
    program: ClosedJaxpr,
    optimise: Optimise,
    machine: Machine,
    in_loop: bool = False,
    kernels: Kernels | None = None,
) -> Block:
    """The steps of an optimised program; `kernels` are those of the program it is part of."""
    kernels = kernels or Kernels(machine.vector_bytes)
    return Scheduler(program, optimise, machine, in_loop, kernels).block()


class Scheduler:
    """Goes through the equations once, then backwards through the steps to see what is needed."""

    def __init__(
        self,
        program: ClosedJaxpr,
        optimise: Optimise,
        machine: Machine,
        in_loop: bool,
        kernels: Kernels,
    ):
        self.program, self.optimise = program, optimise
        self.machine, self.in_loop, self.kernels = machine, in_loop, kernels
        self.registers = REGISTERS_IN_LOOP if in_loop else REGISTERS
        jaxpr = program.jaxpr
        read = [*(v for eqn in jaxpr.eqns for v in eqn.invars), *jaxpr.outvars]
        self.uses = Counter(v for v in read if isinstance(v, Var))
        self.views: dict[Var, Eqn] = {}
        self.view_sizes: dict[Var, int] = {}
        self.steps: list[Step | Group | Registers | None] = []  # None: merged into a later one
        self.at: dict[Var, int] = {}  # the step that makes a value; -1 for inputs
        self.in_memory: set[Var] = set()  # views that some step has written out
        self.read_at: dict[Var, set[int]] = {}  # the steps that read a value, also through views
        self.behind: dict[Var, frozenset[Var]] = {}  # what a view looks at

    # what becomes of an equation

    def is_register(self, atom: Atom) -> bool:
        aval = atom.aval
        return 0 < aval.size <= self.registers and element_type(aval.dtype) is not None

    def lowered(self, eqn: Eqn, table: dict) -> bool:
        """Whether `table` has a rule that holds for this use of the primitive."""
        if eqn.primitive not in table or eqn.effects:
            return False
        if any(element_type(v.aval.dtype) is None for v in (*eqn.invars, *eqn.outvars)):
            return False
        refusal = lowering.refusals.get(eqn.primitive)
        return refusal is None or not refusal([v.aval for v in eqn.invars], eqn.params)

    def add(self, eqn: Eqn) -> None:
        primitive = eqn.primitive
        if primitive in lowering.controls:
            self.add_control(eqn)
        elif primitive in lowering.barriers:
            self.append(AliasStep(tuple(eqn.outvars), tuple(eqn.invars)), eqn)
        elif all(v.aval.size == 0 for v in eqn.outvars) and not eqn.effects:
            self.at.update((v, -1) for v in eqn.outvars)
        elif self.lowered(eqn, lowering.rules):
            self.add_map(eqn)
        elif self.lowered(eqn, lowering.products) and self.add_product(eqn):
            pass
        elif self.lowered(eqn, lowering.convolutions) and self.add_convolution(eqn):
            pass
        elif self.lowered(eqn, lowering.folds):
            self.add_fold(eqn)
        elif self.lowered(eqn, lowering.accumulations):
            self.add_accumulation(eqn)
        elif self.lowered(eqn, lowering.updates):
            self.add_update(eqn)
        else:
            self.append(HostStep(eqn), eqn)

    def position(self, atoms: Sequence[Atom]) -> int:
        """The last step that makes any of the values."""
        return max((self.at.get(v, -1) for v in atoms if isinstance(v, Var)), default=-1)

    def append(self, step: Step | Group | Registers, eqn: Eqn) -> None:
        if not isinstance(step, (Group, Registers)):
            for v in eqn.invars:
                self.materialise(v)
        self.steps.append(step)
        self.placed(eqn, len(self.steps) - 1)

    def materialise(self, atom: Atom) -> None:
        """Have a view written to memory, for a step that cannot look through it."""
        if isinstance(atom, Var) and atom in self.views and atom not in self.in_memory:
            eqn = self.views[atom]
            self.in_memory.add(atom)
            for var in self.behind.get(atom, ()):
                self.read_at.setdefault(var, set()).add(len(self.steps))
            base = None if self.is_register(atom) else whole_view(atom, self.views)
            if base is not None:
                self.steps.append(AliasStep((atom,), (base,)))
                return
            if self.is_register(atom):
                step: Group | Registers = Registers(self.views)
            else:
                step = Group(atom.aval.shape, self.views)
            assert step.join_map(eqn)
            self.steps.append(step)

    # maps and folds

    def add_map(self, eqn: Eqn) -> None:
        position = self.position(eqn.invars)
        is_view = eqn.primitive in lowering.views and not self.is_register(eqn.outvars[0])
        if is_view:
            count = 1 + sum(self.view_sizes.get(v, 0) for v in eqn.invars if isinstance(v, Var))
            if count <= LARGEST_VIEW:
                self.views[eqn.outvars[0]] = eqn
                self.behind[eqn.outvars[0]] = self.looked_at(eqn.invars)
                self.view_sizes[eqn.outvars[0]] = count
                self.at[eqn.outvars[0]] = position
                return
        if all(map(self.is_register, eqn.outvars)):
            self.add_registers(eqn, position)
            return
        shape = eqn.outvars[0].aval.shape
        for at in [] if is_view else self.candidates(eqn, position):
            group = self.steps[at]
            if isinstance(group, Group) and self.joins(group, eqn, size(shape)):
                self.placed(eqn, at)
                return
        group = Group(shape, self.views)
        if not group.join_map(eqn):
            raise AssertionError(f"no kernel computes {eqn!r}")
        self.append(group, eqn)

    def looked_at(self, atoms: Sequence[Atom]) -> frozenset[Var]:
        """The values that are no views themselves behind operands."""
        variables = [v for v in atoms if isinstance(v, Var)]
        return frozenset().union(*[self.behind.get(v, {v}) for v in variables])

    def placed(self, eqn: Eqn, at: int) -> None:
        """Note that a step computes an equation."""
        self.at.update((v, at) for v in eqn.outvars)
        for var in self.looked_at(eqn.invars):
            self.read_at.setdefault(var, set()).add(at)

    def candidates(self, eqn: Eqn, position: int) -> list[int]:
        """The step that makes the last operand; then later ones that read a large one too."""
        least = eqn.outvars[0].aval.size // WORTH_SHARING
        shared = [v for v in self.looked_at(eqn.invars) if v.aval.size > least]
        readers = {at for v in shared for at in self.read_at.get(v, ())}
        later = sorted((at for at in readers if at > position), reverse=True)[:LOOK_BACK]
        return [position, *later] if position >= 0 else later

    def merge_producers(self) -> None:
        """Move groups into the later one that alone reads them, so that no memory is between."""
        for at in reversed(range(len(self.steps))):
            group = self.steps[at]
            if not isinstance(group, Group):
                continue
            moved: dict[int, list[Member]] = {}
            room = LARGEST_GRAPH - group.graph.size
            pending = [m.eqn for m in dict.fromkeys(group.members.values())]
            while pending:
                eqn = pending.pop()
                for var in eqn.invars:
                    before = self.at.get(var, -1) if isinstance(var, Var) else -1
                    producer = self.steps[before] if before >= 0 else None
                    if before == at or not isinstance(producer, Group):
                        continue
                    if var in producer.members and self.may_move(producer, before, at, room):
                        room -= producer.graph.size
                        moved[before] = self.move(producer, before, at)
                        pending += [m.eqn for m in moved[before]]
            if moved:
                group.absorb([m for before in sorted(moved) for m in moved[before]])

    def may_move(self, producer: Group, before: int, at: int, room: int) -> bool:
        """Whether a group is all elementwise over the space of step `at`, and read only there."""
        group = self.steps[at]
        assert isinstance(group, Group)
        return (
            size(producer.space) == size(group.space)
            and producer.graph.size <= room
            and self.in_memory.isdisjoint(producer.members)  # views that other steps read there
            and all(self.read_at.get(v, set()) <= {before, at} for v in producer.members)
            and all(
                m.eqn.primitive in lowering.rules and not m.row for m in producer.members.values()
            )
        )

    def move(self, producer: Group, before: int, at: int) -> list[Member]:
        """Take a group out of its place, and note that step `at` computes its members."""
        members = list(dict.fromkeys(producer.members.values()))
        self.steps[before] = None
        for member in members:
            self.placed(member.eqn, at)
            for read in self.looked_at(member.eqn.invars):
                self.read_at[read].discard(before)
        return members

    def joins(self, group: Group, eqn: Eqn, count: int) -> bool:
        if count == size(group.space) and group.join_map(eqn):
            return True
        return bool(group.folded) and count == size(group.rows) and group.join_map(eqn, row=True)

    def add_registers(self, eqn: Eqn, position: int) -> None:
        last = len(self.steps) - 1
        for at in range(last, max(position - 1, last - LOOK_BACK, -1), -1):
            step = self.steps[at]
            if isinstance(step, Registers) and step.join_map(eqn):
                self.placed(eqn, at)
                return
        step = Registers(self.views)
        assert step.join_map(eqn)
        self.append(step, eqn)

    def add_fold(self, eqn: Eqn) -> None:
        position = self.position(eqn.invars)
        shape = eqn.outvars[0].aval.shape
        if eqn.primitive in lowering.axis_folds:
            space = eqn.invars[0].aval.shape
            axes = tuple(eqn.params["axes"])
            before = self.steps[position] if position >= 0 else None
            if isinstance(before, Group) and before.space == space:
                if before.join_fold(eqn, axes):
                    self.placed(eqn, position)
                    return
        else:
            probe = Group(shape, self.views)
            rule = lowering.folds[eqn.primitive]
            inner = rule(probe.graph, *map(probe.element, eqn.invars), **eqn.params).inner
            space = (*shape, *inner)
            axes = tuple(range(len(shape), len(space)))
        if all(map(self.is_register, (*eqn.outvars, *eqn.invars))):
            self.add_registers(eqn, position)
            return
        group = Group(space, self.views)
        if not group.join_fold(eqn, axes):
            raise AssertionError(f"no kernel computes {eqn!r}")
        self.append(group, eqn)

    def add_accumulation(self, eqn: Eqn) -> None:
        position = self.position(eqn.invars)
        space = eqn.outvars[0].aval.shape
        before = self.steps[position] if position >= 0 else None
        if isinstance(before, Group) and before.space == space and before.join_accumulation(eqn):
            self.placed(eqn, position)
            return
        group = Group(space, self.views)
        if not group.join_accumulation(eqn):
            raise AssertionError(f"no kernel computes {eqn!r}")
        self.append(group, eqn)

    # products

    def add_product(self, eqn: Eqn) -> bool:
        """Have a library function multiply, unless the product is small or of unusual types."""
        lhs, rhs = eqn.invars
        product = lowering.products[eqn.primitive](lhs.aval, rhs.aval, **eqn.params)
        if product is None or not (isinstance(lhs, Var) and isinstance(rhs, Var)):
            return False
        summed = size([lhs.aval.shape[d] for d in product.lhs[2]])
        out = eqn.outvars[0]
        if out.aval.size * summed <= SMALL_PRODUCT:
            return False
        batch, free, contracted = product.rhs
        views = (
            self.strided(lhs, product.lhs),
            self.strided(rhs, (batch, contracted, free)),
        )
        found = self.machine.product(*views, out)
        if found is not None:
            self.add_call(CallStep(found[0], tuple(v.base for v in views), out, found[1], eqn))
        return found is not None

    def add_convolution(self, eqn: Eqn) -> bool:
        """Have library functions convolve, where there are such."""
        found = self.machine.convolution(eqn)
        if found is None or not all(isinstance(v, Var) for v in eqn.invars):
            return False
        for v in eqn.invars:
            self.materialise(v)
        reads = tuple(v for v in eqn.invars if isinstance(v, Var))
        self.add_call(CallStep(found[0], reads, eqn.outvars[0], found[1], eqn))
        return True

    def add_call(self, step: CallStep) -> None:
        self.steps.append(step)
        self.placed(step.eqn, len(self.steps) - 1)

    def strided(self, atom: Atom, order: Sequence[tuple[int, ...]]) -> StridedView:
        """An operand as an array of three axes, each a run of its own; written out if need be."""
        assert isinstance(atom, Var)
        found = self.look_through(atom, order)
        if found is None:
            self.materialise(atom)
            whole = Group(atom.aval.shape, {})
            found = strided_view(whole, atom, order)
        return found or self.repacked(atom, order)

    def look_through(self, atom: Var, order: Sequence[tuple[int, ...]]) -> StridedView | None:
        if atom not in self.views or atom in self.in_memory:
            return strided_view(Group(atom.aval.shape, {}), atom, order)
        return strided_view(Group(atom.aval.shape, self.views), atom, order)

    def repacked(self, atom: Var, order: Sequence[tuple[int, ...]]) -> StridedView:
        """The operand copied into the order in which its axes are wanted."""
        permutation = tuple(d for axes in order for d in axes)
        shape = tuple(atom.aval.shape[d] for d in permutation)
        copy = Var(atom.aval.update(shape=shape))
        params = {"permutation": permutation}
        eqn = Eqn([atom], [copy], transpose_p, params, NO_EFFECTS, None)
        self.views[copy] = eqn
        self.at[copy] = self.position([atom])
        self.materialise(copy)
        counts = [len(axes) for axes in order]
        starts = [sum(counts[:i]) for i in range(len(counts))]
        runs = [tuple(range(s, s + n)) for s, n in zip(starts, counts, strict=True)]
        view = strided_view(Group(shape, {}), copy, runs)
        assert view is not None
        return view

    # the rest

    def add_update(self, eqn: Eqn) -> None:
        views = self.views | self.absorbed(eqn)
        fused = build_update(eqn, views, self.kernels)
        if eqn.invars[0] in fused.reads:  # which would keep it from being written over
            fused = build_update(eqn, self.views, self.kernels)
        step = KernelStep(fused, (eqn.primitive.name,), (eqn.source,), eqn.invars[0])
        self.materialise(eqn.invars[0])
        self.steps.append(step)
        self.placed(eqn, len(self.steps) - 1)

    def absorbed(self, eqn: Eqn) -> dict[Var, Eqn]:
        """Maps whose results only this update reads, which can compute them itself."""
        found: dict[Var, Eqn] = {}
        pending = list(eqn.invars[1:])
        while pending and len(found) < MOST_ABSORBED:
            var = pending.pop()
            if not isinstance(var, Var) or self.uses[var] != 1:
                continue
            made_at = self.at.get(var, -1)
            step = self.steps[made_at] if made_at >= 0 else None
            if var in self.views:
                pending += self.views[var].invars
            elif isinstance(step, Group) and step.going is None and var in step.members:
                member = step.members[var]
                if member.fold is None and not member.row and len(member.eqn.outvars) == 1:
                    found[var] = member.eqn
                    pending += member.eqn.invars
        return found

    def add_control(self, eqn: Eqn) -> None:
        control = lowering.controls[eqn.primitive](**eqn.params)
        programs = (
            control.branches
            if isinstance(control, Cond)
            else (control.body,)
            if isinstance(control, Scan)
            else (control.test, control.body)
        )
        in_loop = self.in_loop or not isinstance(control, Cond)
        blocks = tuple(
            schedule(self.optimise(p), self.optimise, self.machine, in_loop, self.kernels)
            for p in programs
        )
        self.append(ControlStep(eqn, control, blocks), eqn)

    # what is needed

    def block(self) -> Block:
        jaxpr = self.program.jaxpr
        for eqn in jaxpr.eqns:
            self.add(eqn)
        for atom in jaxpr.outvars:
            self.materialise(atom)
        self.merge_producers()
        needed = {v for v in jaxpr.outvars if isinstance(v, Var)}
        steps: list[Step] = []
        for step in reversed(self.steps):
            for made in reversed(self.finished(step, needed)):
                steps.append(made)
                needed.update(reads_of(made))
        consts = tuple(zip(jaxpr.constvars, self.program.consts, strict=True))
        steps.reverse()
        return Block(
            tuple(jaxpr.invars), consts, tuple(steps), tuple(jaxpr.outvars), self.registers
        )

    def finished(self, step: Step | Group | Registers | None, needed: set[Var]) -> tuple[Step, ...]:
        """The step as it will run: none if nobody needs it, several if it takes several kernels."""
        if step is None:
            return ()
        if not isinstance(step, (Group, Registers)):
            return (step,)
        wanted = [v for v in step.members if v in needed]
        if not wanted:
            return ()
        if isinstance(step, Registers):
            return (RegisterStep(*step.build(wanted)),)
        kernels = build(step, wanted, self.kernels)
        eqns = [m.eqn for m in dict.fromkeys(step.members.values())]
        names, places = tuple(e.primitive.name for e in eqns), tuple(e.source for e in eqns)
        return tuple(KernelStep(fused, names, places) for fused in kernels)


def strided_view(group: Group, atom: Var, order: Sequence[tuple[int, ...]]) -> StridedView | None:
    """The value as base + offset + strides with these runs of axes merged, if it is such a one."""
    try:
        element = Element(group, atom)(group.index)
    except NeedsSplit:
        return None
    if element.op != "read" or element.data[3] or element.data[4]:
        return None
    number, offset, terms, _, _ = element.data
    (base,) = [v for v, n in group.operands.items() if n == number]
    coeffs = dict(terms)
    strides, shape = [], []
    for axes in order:
        axes = [d for d in axes if atom.aval.shape[d] != 1]
        extents = [atom.aval.shape[d] for d in axes]
        steps = [coeffs.get(d, 0) for d in axes]
        for i in range(len(axes) - 1):
            if steps[i] != steps[i + 1] * extents[i + 1]:
                return None
        strides.append(steps[-1] if steps else 0)
        shape.append(size(extents))
    return StridedView(base, offset, tuple(strides), tuple(shape))


def whole_view(atom: Var, views: dict[Var, Eqn]) -> Var | None:
    """The value in memory whose elements, in order, are those of a view."""
    view = strided_view(Group(atom.aval.shape, views), atom, [tuple(range(atom.aval.ndim))])
    if view is None or view.offset or view.base.aval.size != atom.aval.size:
        return None
    return view.base if view.strides == (1,) or atom.aval.size == 1 else None
