"""Updates: kernels that change some elements of an array and leave the others."""

from funcgrad.compiler import lowering
from funcgrad.compiler.fuse import Group
from funcgrad.compiler.kernels import WRITTEN, Fused, Kernels, Lanes, Plan
from funcgrad.compiler.loops import Guarded, NeedsSplit, Store
from funcgrad.compiler.lowering import element_type, linear
from funcgrad.ir.jaxpr import Eqn, Var


def build_update(eqn: Eqn, views: dict[Var, Eqn], kernels: Kernels) -> Fused:
    """The kernel of an equation that has an Update; its output begins as a copy of operand 0."""
    rule = lowering.updates[eqn.primitive]
    probe = Group((), views)
    extents = rule(probe.graph, *map(probe.element, eqn.invars), **eqn.params).extents
    group = Group(extents, views)
    while True:
        update = rule(group.graph, *map(group.element, eqn.invars), **eqn.params)
        try:
            plan = update_plan(eqn, group, update)
            return kernels.assemble(group, plan, eqn.outvars)
        except NeedsSplit as needed:
            group.split(needed.axis, needed.inner)


def update_plan(eqn: Eqn, group: Group, update: lowering.Update) -> Plan:
    """One store for each index; lanes go along the window, whose elements are all different."""
    target = eqn.outvars[0].aval
    position, guard = update.place(group.index)
    offset = linear(target.shape, position)
    with Guarded(group.graph, guard):
        old = group.graph.read(WRITTEN, offset, element_type(target.dtype) or "")
        value = update.value(group.index, old)
    always = guard.op == "const" and guard.data
    store = Store(WRITTEN, offset, value, None if always else guard)
    if update.distinct:
        outer = tuple(range(len(group.graph.extents)))
        return Plan(outer, (), (((), (store,)),))
    window = group.index[len(group.space) - update.window :]
    inner = sorted({a for i in window for a, _ in i.terms})
    outer = tuple(a for a in range(len(group.graph.extents)) if a not in inner)
    return Plan(outer, tuple(inner), (((), (store,)),), (), Lanes.INNER)
