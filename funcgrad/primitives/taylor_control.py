"""Rules of Taylor mode for branches and scans: one of each, in which all terms travel along."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.aval import aval_of, tangent_aval
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import Mask, cut, given, pick, present
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.branch import cond_p
from funcgrad.primitives.loop import reordered
from funcgrad.primitives.scan import Parts, bind_scan, parts_of, scan_p
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.taylor import Series, columns, rules, taylor_program


def movable(avals: Sequence[Any]) -> Mask:
    """Which values have a derivative."""
    return tuple(tangent_aval(a).dtype != float0 for a in avals)


def joined(series: Sequence[Series]) -> list[Any]:
    """The terms of all series, one after the other."""
    return [term for terms in given(series) for term in terms]


def cond_taylor(
    order: int, primals: Sequence, series: Sequence, *, branches: tuple[ClosedJaxpr, ...]
) -> tuple:
    """The branch chosen at t = 0, with its series."""
    moving = present(series[1:])
    programs = tuple(taylor_program(b, order, moving) for b in branches)
    results = cond_p.bind_list([*primals, *joined(series[1:])], {"branches": programs})
    wanted = movable(branches[0].out_avals)
    outs, terms = cut(results, len(wanted))
    return outs, columns(order, wanted, terms)


def scan_taylor(
    order: int,
    primals: Sequence,
    series: Sequence,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple:
    """One scan that carries values and their terms."""
    values = parts_of(primals, num_consts, num_carry)
    terms = parts_of(series, num_consts, num_carry)
    carried = movable([aval_of(c) for c in values.carry])
    wanted = movable(jaxpr.out_avals)
    filled = [
        t or [zeros_like_aval(aval_of(c))] * order
        for c, t in zip(pick(carried, values.carry), pick(carried, terms.carry), strict=True)
    ]
    moving = (*present(terms.consts), *carried, *present(terms.xs))
    body = taylor_program(jaxpr, order, moving)
    moves = Parts(joined(terms.consts), joined(filled), joined(terms.xs))
    # The body takes all values and then all terms; of a scan, the carry of both comes before the
    # rest of both.
    count, num_outs, num_moves = len(moving), len(wanted), len(moves.carry)
    inputs, outputs = range(len(body.in_avals)), range(len(body.out_avals))
    ins = parts_of(inputs[:count], num_consts, num_carry)
    in_moves = parts_of(inputs[count:], len(moves.consts), num_moves)
    outs = parts_of(outputs[:num_outs], 0, num_carry)
    out_moves = parts_of(outputs[num_outs:], 0, num_moves)
    body = reordered(body, ins.beside(in_moves).all(), outs.beside(out_moves).all())
    results = bind_scan(values.beside(moves), body, params)
    carry, carry_moves, ys, ys_moves = cut(results, num_carry, num_moves, num_outs - num_carry)
    return [*carry, *ys], columns(order, wanted, [*carry_moves, *ys_moves])


rules[cond_p] = cond_taylor
rules[scan_p] = scan_taylor
