"""Loops: work that is the same in every turn is done once, before the loop.

A weight that a turn multiplies with a vector, or with a few, row by row is turned round once as
well, so that the product can go through it in the order of memory, many sums side by side.
"""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.basis import transpose_p
from funcgrad.base.trace import NO_EFFECTS, Primitive
from funcgrad.compiler import lowering
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var

# Bytes of all values that are kept from one loop's turns, at most.
LARGEST_KEPT = 1 << 26

# What a loop with a body among its params tells the pass: (body, inputs of the body that never
# change as operand numbers); and how it is put together again with more constants.
bodies: dict[Primitive, Callable[[Eqn], tuple[ClosedJaxpr, Sequence[int]]]] = {}
rebuild: dict[Primitive, Callable[[Eqn, ClosedJaxpr, Sequence[Atom]], Eqn]] = {}
# What a product becomes with its operand of this number, a matrix that never changes, transposed:
# (eqn, number, transposed matrix) -> eqn, None where the order of memory is right already.
turned: dict[Primitive, Callable[[Eqn, int, Var], Eqn | None]] = {}


def loops(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with what its loops compute again and again moved before them."""
    if not any(eqn.primitive in bodies for eqn in program.eqns):
        return program
    eqns: list[Eqn] = []
    for eqn in program.eqns:
        if eqn.primitive in bodies:
            before, eqn = hoisted(eqn)
            eqns += before
        eqns.append(eqn)
    return program.replace(program.jaxpr.replace(eqns=eqns))


def hoisted(eqn: Eqn) -> tuple[list[Eqn], Eqn]:
    """The equations to run before a loop, and the loop that reads their results."""
    body, constant = bodies[eqn.primitive](eqn)
    jaxpr = body.jaxpr
    outside: dict[Var, Atom] = {jaxpr.invars[i]: eqn.invars[j] for i, j in enumerate(constant)}
    eqns, turns = turned_weights(jaxpr.eqns, set(outside))
    moved, kept = invariant(eqns, set(outside), turns)
    if not moved:
        return [], eqn
    before: list[Eqn] = []
    for inner in moved:
        fresh = [Var(v.aval) for v in inner.outvars]
        invars = [outside.get(v, v) if isinstance(v, Var) else v for v in inner.invars]
        before.append(inner.replace(invars=invars, outvars=fresh))
        outside.update(zip(inner.outvars, fresh, strict=True))
    used = {v for e in kept for v in e.invars} | set(jaxpr.outvars)
    results = [v for e in moved for v in e.outvars if v in used]
    smaller = body.replace(jaxpr.replace(eqns=kept, invars=[*results, *jaxpr.invars]))
    return before, rebuild[eqn.primitive](eqn, smaller, [outside[v] for v in results])


def invariant(
    eqns: Sequence[Eqn], fixed: set[Var], wanted: Sequence[Eqn]
) -> tuple[list[Eqn], list[Eqn]]:
    """Equations that depend on fixed values alone and are worth moving, and the others."""
    candidates: list[Eqn] = []
    room = LARGEST_KEPT
    for eqn in eqns:
        depends = [v for v in eqn.invars if isinstance(v, Var)]
        nbytes = sum(v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars)
        if depends and not eqn.effects and fixed.issuperset(depends) and nbytes <= room:
            fixed.update(eqn.outvars)
            candidates.append(eqn)
            room -= nbytes
    # A view costs nothing where it is; it moves only if what reads it does.
    needed: set[Any] = {v for eqn in wanted for v in eqn.outvars}
    moved: set[int] = set()
    for eqn in reversed(candidates):
        if eqn.primitive not in lowering.views or not needed.isdisjoint(eqn.outvars):
            moved.add(id(eqn))
            needed.update(eqn.invars)
    return [e for e in candidates if id(e) in moved], [e for e in eqns if id(e) not in moved]


def turned_weights(eqns: Sequence[Eqn], fixed: set[Var]) -> tuple[list[Eqn], list[Eqn]]:
    """The equations with products by turned weights where those are read better; the turns."""
    found: list[Eqn] = []
    turns: list[Eqn] = []
    for eqn in eqns:
        pair = turned_product(eqn, fixed)
        if pair is not None:
            turns.append(pair[0])
        found += pair or [eqn]
    return found, turns


def turned_product(eqn: Eqn, fixed: set[Var]) -> tuple[Eqn, Eqn] | None:
    """The turn of a product's weight and the product by the turned one."""
    if eqn.primitive not in turned:
        return None
    for number, weight in enumerate(eqn.invars):
        if not isinstance(weight, Var) or weight not in fixed:
            continue
        copy = Var(weight.aval.update(shape=weight.aval.shape[::-1]))
        product = turned[eqn.primitive](eqn, number, copy)
        if product is not None:
            params = {"permutation": tuple(range(weight.aval.ndim))[::-1]}
            turn = Eqn([weight], [copy], transpose_p, params, NO_EFFECTS, eqn.source)
            return turn, product
    return None
