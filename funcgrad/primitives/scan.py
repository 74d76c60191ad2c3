"""scan_p: run a program once for each element along an axis, its carry handed from turn to turn."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, tangent_aval
from funcgrad.base.basis import moveaxis
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.lists import Mask, cut, drop, given, merge, pick, present, spread
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler import lowering
from funcgrad.compiler.passes import dce, loops, sink
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var
from funcgrad.primitives.loop import fixpoint, reordered, run_whole, stable_masks
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.backward import Linear, backward_pass, instantiate_ct, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted, to_front
from funcgrad.transforms.forward import (
    add_tangents,
    instantiate_zeros,
    jvp_program,
    zeros_like_aval,
)
from funcgrad.transforms.masking import masked_program
from funcgrad.transforms.partial import Partial, Split, split_program
from funcgrad.transforms.staging import stage_closed

scan_p = Primitive("scan", multiple_results=True)


class Parts(NamedTuple):
    """The operands of a scan or of its body: constants, carry, and what is scanned over."""

    consts: list[Any]
    carry: list[Any]
    xs: list[Any]

    def all(self) -> list[Any]:
        return [*self.consts, *self.carry, *self.xs]

    def beside(self, other: "Parts") -> "Parts":
        """Each part followed by the other's."""
        return Parts(*([*mine, *its] for mine, its in zip(self, other, strict=True)))


def parts_of(items: Sequence[Any], num_consts: int, num_carry: int) -> Parts:
    return Parts(*cut(items, num_consts, num_carry))


def scan_params(operands: Parts, jaxpr: ClosedJaxpr, params: dict[str, Any]) -> dict[str, Any]:
    """The params of a scan of another program over these operands."""
    sizes = {"num_consts": len(operands.consts), "num_carry": len(operands.carry)}
    return {**params, "jaxpr": jaxpr, **sizes}


def bind_scan(operands: Parts, jaxpr: ClosedJaxpr, params: dict[str, Any]) -> tuple:
    return scan_p.bind(*operands.all(), **scan_params(operands, jaxpr, params))


def scan_evaluate(
    xp: Any,
    *buffers: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Sequence[Any]:
    sizes = {"length": length, "num_consts": num_consts, "num_carry": num_carry}
    avals = parts_of(jaxpr.in_avals, num_consts, num_carry)
    along = [a.update(shape=(length, *a.shape)) for a in avals.xs]
    whole = {"jaxpr": jaxpr, "reverse": reverse, **sizes, **params}
    outs = run_whole(scan_p, [*avals.consts, *avals.carry, *along], whole, buffers)
    if outs is not None:
        return outs
    consts, carry, xs = parts_of(buffers, num_consts, num_carry)
    body = compiled(jaxpr)
    ys = [xp.empty((length, *a.shape), buffer_dtype(a.dtype)) for a in jaxpr.out_avals[num_carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = body(*consts, *carry, *[x[i, ...] for x in xs])
        carry = outs[:num_carry]
        for y, value in zip(ys, outs[num_carry:], strict=True):
            y[i] = value
    return [*carry, *ys]


def scan_abstract(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int, **_: Any
) -> tuple[tuple, Effects]:
    outs = jaxpr.out_avals
    ys = [a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]
    return (*outs[:num_carry], *ys), jaxpr.effects


def scan_forward(
    primals: Sequence,
    tangents: Sequence,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple:
    """One scan that carries primals and tangents."""
    nonzero, out_nonzero = stable_masks(
        *parts_of(present(tangents), num_consts, num_carry),
        lambda mask: jvp_program(jaxpr, mask)[1],
    )
    body, _ = jvp_program(jaxpr, nonzero, out_nonzero)
    values = parts_of(primals, num_consts, num_carry)
    moves = parts_of(tangents, num_consts, num_carry)
    carry_nonzero = out_nonzero[:num_carry]
    moving, moved = pick(carry_nonzero, values.carry), pick(carry_nonzero, moves.carry)
    dots = Parts(given(moves.consts), [*map(instantiate_zeros, moving, moved)], given(moves.xs))
    # The jvp body takes (primals, tangents) and gives (outs, tangents); of a scan, the carry of
    # both comes before the rest of both.
    inputs, outputs = range(len(body.in_avals)), range(len(body.out_avals))
    count, num_outs, num_dots = len(nonzero), len(out_nonzero), len(dots.carry)
    ins = parts_of(inputs[:count], num_consts, num_carry)
    in_dots = parts_of(inputs[count:], len(dots.consts), num_dots)
    outs = parts_of(outputs[:num_outs], 0, num_carry)
    out_dots = parts_of(outputs[num_outs:], 0, num_dots)
    body = reordered(body, ins.beside(in_dots).all(), outs.beside(out_dots).all())
    results = bind_scan(values.beside(dots), body, params)
    carry, carry_dots, ys, ys_dots = cut(results, num_carry, num_dots, num_outs - num_carry)
    return [*carry, *ys], spread(out_nonzero, [*carry_dots, *ys_dots])


def scan_backward(
    cts: Sequence,
    *args: Any,
    jaxpr: ClosedJaxpr,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    """A scan the other way round, which carries cotangents of the constants and of the carry."""
    linear = parts_of(tuple(map(is_linear, args)), num_consts, num_carry)
    known = Parts(*map(drop, linear, parts_of(args, num_consts, num_carry)))
    avals = parts_of(jaxpr.in_avals, num_consts, num_carry)
    ct_ys = cts[num_carry:]
    ct_carry = map(instantiate_ct, cts[:num_carry], avals.carry)
    zeros = [zeros_like_aval(tangent_aval(a)) for a in pick(linear.consts, avals.consts)]
    outs = bind_scan(
        Parts(known.consts, [*zeros, *ct_carry], [*known.xs, *given(ct_ys)]),
        backward_body(jaxpr, linear, present(ct_ys)),
        {**params, "reverse": not reverse},
    )
    ct_consts, ct_carry, ct_xs = cut(outs, len(zeros), num_carry)
    return [
        *spread(linear.consts, ct_consts),
        *(ct if lin else None for ct, lin in zip(ct_carry, linear.carry, strict=True)),
        *spread(linear.xs, ct_xs),
    ]


def backward_body(jaxpr: ClosedJaxpr, linear: Parts, ys_nonzero: Mask) -> ClosedJaxpr:
    """(known consts; ct consts, ct carry; known xs, ct ys) -> (ct consts, ct carry; ct xs)."""
    num_consts, num_carry = len(linear.consts), len(linear.carry)
    avals = parts_of(jaxpr.in_avals, num_consts, num_carry)
    lin_consts, lin_xs = pick(linear.consts, avals.consts), pick(linear.xs, avals.xs)
    ct_avals = [tangent_aval(a).strip_weak_type() for a in (*lin_consts, *avals.carry)]
    ct_y_avals = map(tangent_aval, pick(ys_nonzero, jaxpr.out_avals[num_carry:]))
    known = Parts(*map(drop, linear, avals))
    parts = Parts(known.consts, ct_avals, [*known.xs, *ct_y_avals])

    def body(*flat: Any) -> list[Any]:
        known_consts, sums, ct_out, known_xs, ct_ys = cut(
            flat, len(known.consts), len(lin_consts), num_carry, len(known.xs)
        )
        inputs = [
            *merge(linear.consts, known_consts, map(Linear, lin_consts)),
            *map(Linear, avals.carry),
            *merge(linear.xs, known_xs, map(Linear, lin_xs)),
        ]
        out_cts = [*ct_out, *spread(ys_nonzero, ct_ys)]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, inputs, out_cts)
        ct_consts, ct_carry, ct_xs = parts_of(found, num_consts, num_carry)
        return [
            *map(add_tangents, sums, pick(linear.consts, ct_consts)),
            *map(instantiate_ct, ct_carry, avals.carry),
            *map(instantiate_ct, pick(linear.xs, ct_xs), lin_xs),
        ]

    key = ("scan_backward", num_consts, num_carry, tuple(linear.all()), ys_nonzero)
    return jaxpr.derived(key, lambda: stage_closed(body, parts.all())[0])


def scan_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple:
    batched, out_batched = stable_masks(
        *parts_of(present(axes), num_consts, num_carry),
        lambda mask: batch_program(jaxpr, axis, mask)[1],
    )
    body, _ = batch_program(jaxpr, axis, batched, out_batched)
    carry_batched, ys_batched = cut(out_batched, num_carry)
    consts, carry, xs = parts_of(values, num_consts, num_carry)
    at_consts, at_carry, at_xs = parts_of(axes, num_consts, num_carry)
    operands = Parts(
        fronted(consts, at_consts),
        [
            to_front(axis, v, at) if b else v
            for v, at, b in zip(carry, at_carry, carry_batched, strict=True)
        ],
        [v if at is None else moveaxis(v, at, 1) for v, at in zip(xs, at_xs, strict=True)],
    )
    out_axes = [0 if b else None for b in carry_batched] + [1 if b else None for b in ys_batched]
    return bind_scan(operands, body, params), out_axes


def scan_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """Known carry by fixpoint; residuals stacked, but not those that are the same in every turn."""
    jaxpr: ClosedJaxpr = params["jaxpr"]
    sizes = params["num_consts"], params["num_carry"]
    unknown, out_unknown = stable_masks(
        *parts_of([trace.is_unknown(a) for a in args], *sizes),
        lambda mask: split_program(jaxpr, mask).out_unknown,
    )
    split = split_program(jaxpr, unknown, out_unknown)
    masks, operands = parts_of(unknown, *sizes), parts_of(args, *sizes)
    known, rest = Parts(*map(drop, masks, operands)), Parts(*map(pick, masks, operands))
    invariant = invariant_residuals(split, len(known.consts))
    num_res = len(split.residual_avals)
    stacked = [i for i in range(num_res) if i not in invariant]
    outs = bind_scan(known, known_body(split, tuple(stacked)), params)
    known_outs, residuals = cut(outs, out_unknown.count(False))
    # The unknown half takes (residuals, unknown inputs); as a scan: consts, carry, xs.
    inputs = range(num_res, num_res + unknown.count(True))
    order = parts_of(inputs, len(rest.consts), len(rest.carry))
    order = Parts([*invariant], [], stacked).beside(order)
    body = reordered(split.unknown, order.all(), range(len(split.unknown.out_avals)))
    rest = Parts([known.consts[i] for i in invariant.values()], [], residuals).beside(rest)
    rest_outs = trace.record(scan_p, rest.all(), scan_params(rest, body, params))
    return merge(out_unknown, known_outs, rest_outs)


def invariant_residuals(split: Split, num_consts: int) -> dict[int, int]:
    """The residuals that are constants of the known body, each with the constant's position."""
    jaxpr = split.known.jaxpr
    at = {var: i for i, var in enumerate(jaxpr.invars[:num_consts])}
    residuals = jaxpr.outvars[len(jaxpr.outvars) - len(split.residual_avals) :]
    return {i: at[v] for i, v in enumerate(residuals) if isinstance(v, Var) and v in at}


def known_body(split: Split, stacked: tuple[int, ...]) -> ClosedJaxpr:
    """The known half with only those of its residuals that a scan has to stack."""
    count = len(split.known.out_avals) - len(split.residual_avals)
    outputs = [*range(count), *(count + i for i in stacked)]
    return reordered(split.known, range(len(split.known.in_avals)), outputs)


def scan_dce(keep: Mask, eqn: Eqn) -> Eqn:
    """Drop outputs nobody reads, the carries that only feed themselves, and unused inputs."""
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    num_consts, num_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    carry_keep, ys_keep = cut(keep, num_carry)

    def step(carry: Mask) -> Mask:
        _, used = dce.dce_jaxpr(closed.jaxpr, (*carry, *ys_keep))
        return tuple(used[num_consts : num_consts + num_carry])

    carry_keep = fixpoint(step, tuple(carry_keep))
    out_mask = (*carry_keep, *ys_keep)
    jaxpr, used = dce.dce_jaxpr(closed.jaxpr, out_mask, keep_inputs=True)
    used_consts, _, used_xs = parts_of(used, num_consts, num_carry)
    in_mask = (*used_consts, *carry_keep, *used_xs)
    program = closed.derived(
        ("scan_dce", keep, num_consts, num_carry),
        lambda: ClosedJaxpr(jaxpr.replace(invars=pick(in_mask, jaxpr.invars)), closed.consts),
    )
    operands = Parts(
        *map(pick, (used_consts, carry_keep, used_xs), parts_of(eqn.invars, num_consts, num_carry))
    )
    return eqn.replace(
        invars=operands.all(),
        outvars=pick(out_mask, eqn.outvars),
        params=scan_params(operands, program, eqn.params),
        effects=program.effects,
    )


def scan_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    operands = Parts([on], [], []).beside(parts_of(args, params["num_consts"], params["num_carry"]))
    return bind_scan(operands, masked_program(params["jaxpr"]), params)


evaluate_rules[scan_p] = scan_evaluate
abstract_rules[scan_p] = scan_abstract
forward.rules[scan_p] = scan_forward
backward.rules[scan_p] = scan_backward
batching.rules[scan_p] = scan_batch
partial.rules[scan_p] = scan_partial
dce.rules[scan_p] = scan_dce
masking.rules[scan_p] = scan_masked


def scan_control(
    *, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, **_: Any
) -> lowering.Scan:
    return lowering.Scan(jaxpr, length, reverse, num_consts, num_carry)


lowering.controls[scan_p] = scan_control


def scan_with_constants(eqn: Eqn, body: ClosedJaxpr, more: Sequence[Atom]) -> Eqn:
    """The loop of another body, which takes more constants before the others."""
    count = eqn.params["num_consts"] + len(more)
    params = {**eqn.params, "jaxpr": body, "num_consts": count}
    return eqn.replace(invars=[*more, *eqn.invars], params=params)


loops.bodies[scan_p] = lambda eqn: (eqn.params["jaxpr"], range(eqn.params["num_consts"]))
loops.rebuild[scan_p] = scan_with_constants


def scan_of_parts(eqn: Eqn, body: ClosedJaxpr, parts: Sequence, outvars: Sequence[Var]) -> Eqn:
    """The scan of another body over other operands."""
    operands = Parts(*map(list, parts))
    params = scan_params(operands, body, eqn.params)
    return eqn.replace(invars=operands.all(), outvars=list(outvars), params=params)


sink.rebuild[scan_p] = scan_of_parts
