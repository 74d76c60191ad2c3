"""scan_p and while_p: run a program again and again, its results carried to the next turn."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.basis import broadcast_in_dim, moveaxis, select_n
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import dce
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Var
from funcgrad.primitives.call import masked
from funcgrad.primitives.compare import bitwise_and
from funcgrad.primitives.reduction import reduce_or
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.backward import Linear, backward_pass, instantiate_ct, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, to_front
from funcgrad.transforms.forward import add_tangents, jvp_program, zeros_like_aval
from funcgrad.transforms.masking import SWITCH, masked_program
from funcgrad.transforms.partial import Partial, merge, split_program
from funcgrad.transforms.staging import stage_closed

scan_p = Primitive("scan")
while_p = Primitive("while")

Mask = tuple[bool, ...]


class Parts(NamedTuple):
    """The operands (or body inputs) of a scan: constants, carry, and what is scanned over."""

    consts: list[Any]
    carry: list[Any]
    xs: list[Any]


def parts_of(items: Sequence[Any], num_consts: int, num_carry: int) -> Parts:
    middle = num_consts + num_carry
    return Parts(list(items[:num_consts]), list(items[num_consts:middle]), list(items[middle:]))


def fixpoint(step: Callable[[Mask], Mask], start: Mask) -> Mask:
    """The least mask above `start` that `step` maps to itself, `step` being monotone."""
    while True:
        new = tuple(a or b for a, b in zip(start, step(start), strict=True))
        if new == start:
            return new
        start = new


def select(mask: Sequence[bool], items: Sequence[Any]) -> list[Any]:
    return [x for x, m in zip(items, mask, strict=True) if m]


# scan


def scan_evaluate(
    xp: Any,
    *buffers: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **_: Any,
) -> Sequence[Any]:
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
    consts_nz, carry_nz, xs_nz = parts_of([t is not None for t in tangents], num_consts, num_carry)

    def step(carry: Mask) -> Mask:
        return jvp_program(jaxpr, (*consts_nz, *carry, *xs_nz))[1][:num_carry]

    carry_nz = fixpoint(step, tuple(carry_nz))
    nonzero = (*consts_nz, *carry_nz, *xs_nz)
    ys_nz = jvp_program(jaxpr, nonzero)[1][num_carry:]
    body, _ = jvp_program(jaxpr, nonzero, (*carry_nz, *ys_nz))
    p_consts, p_carry, p_xs = parts_of(primals, num_consts, num_carry)
    t_consts, t_carry, t_xs = parts_of(tangents, num_consts, num_carry)
    full_carry = [
        zeros_like_aval(tangent_aval(aval_of(p))) if t is None else t
        for p, t, nz in zip(p_carry, t_carry, carry_nz, strict=True)
        if nz
    ]
    dots = [t for t in t_consts if t is not None], [t for t in t_xs if t is not None]
    # The jvp body takes (primals, tangents); a scan wants consts, then carry, then xs.
    order_in = _interleaved(nonzero, num_consts, num_carry)
    num_outs = len(jaxpr.out_avals)
    order_out = _carry_first(num_carry, num_outs, sum(carry_nz), len(body.out_avals))
    body = reordered(body, order_in, order_out)
    outs = scan_p.bind(
        *p_consts, *dots[0], *p_carry, *full_carry, *p_xs, *dots[1],
        jaxpr=body,
        num_consts=num_consts + len(dots[0]),
        num_carry=num_carry + len(full_carry),
        **params,
    )  # fmt: skip
    back = [0] * len(outs)
    for position, source in enumerate(order_out):
        back[source] = position
    outs = [outs[i] for i in back]
    return outs[:num_outs], masked((*carry_nz, *ys_nz), outs[num_outs:])


def _interleaved(nonzero: Mask, num_consts: int, num_carry: int) -> list[int]:
    """Positions in (primals, tangents) of: consts, their tangents, carry, its, xs, theirs."""
    count = len(nonzero)
    tangent_at = {}
    for i, nz in enumerate(nonzero):
        if nz:
            tangent_at[i] = count + len(tangent_at)
    order: list[int] = []
    middle = num_consts + num_carry
    for block in (range(num_consts), range(num_consts, middle), range(middle, count)):
        order += [*block, *(tangent_at[i] for i in block if nonzero[i])]
    return order


def _carry_first(num_carry: int, num_outs: int, num_carry_dots: int, total: int) -> list[int]:
    """Positions in (outs, out tangents) of: carry, its tangents, ys, theirs."""
    dots = num_outs + num_carry_dots
    carry = [*range(num_carry), *range(num_outs, dots)]
    return [*carry, *range(num_carry, num_outs), *range(dots, total)]


def reordered(program: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program with its inputs and outputs in another order."""
    jaxpr = program.jaxpr

    def make() -> ClosedJaxpr:
        return program.replace(
            jaxpr=jaxpr.replace(
                invars=[jaxpr.invars[i] for i in inputs],
                outvars=[jaxpr.outvars[i] for i in outputs],
            )
        )

    return program.derived(("reordered", tuple(inputs), tuple(outputs)), make)


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
    consts_b, carry_b, xs_b = parts_of([a is not None for a in axes], num_consts, num_carry)

    def step(carry: Mask) -> Mask:
        return batch_program(jaxpr, axis, (*consts_b, *carry, *xs_b))[1][:num_carry]

    carry_b = fixpoint(step, tuple(carry_b))
    batched = (*consts_b, *carry_b, *xs_b)
    ys_b = batch_program(jaxpr, axis, batched)[1][num_carry:]
    body, _ = batch_program(jaxpr, axis, batched, (*carry_b, *ys_b))
    consts, carry, xs = parts_of(list(zip(values, axes, strict=True)), num_consts, num_carry)
    outs = scan_p.bind(
        *(v if a is None else moveaxis(v, a, 0) for v, a in consts),
        *(to_front(axis, v, a) if b else v for (v, a), b in zip(carry, carry_b, strict=True)),
        *(v if a is None else moveaxis(v, a, 1) for v, a in xs),
        jaxpr=body,
        num_consts=num_consts,
        num_carry=num_carry,
        **params,
    )
    out_axes = [0 if b else None for b in carry_b] + [1 if b else None for b in ys_b]
    return outs, out_axes


def scan_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """Known carry by fixpoint; residuals stacked, but not those that are the same in every turn."""
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    consts_u, carry_u, xs_u = parts_of([trace.is_unknown(a) for a in args], num_consts, num_carry)

    def step(carry: Mask) -> Mask:
        return split_program(jaxpr, (*consts_u, *carry, *xs_u)).out_unknown[:num_carry]

    carry_u = fixpoint(step, tuple(carry_u))
    unknown = (*consts_u, *carry_u, *xs_u)
    ys_u = split_program(jaxpr, unknown).out_unknown[num_carry:]
    split = split_program(jaxpr, unknown, (*carry_u, *ys_u))
    consts, carry, xs = parts_of(args, num_consts, num_carry)
    known_consts, known_carry = select(_not(consts_u), consts), select(_not(carry_u), carry)
    known_xs = select(_not(xs_u), xs)
    # A residual that is one of the body's constants is passed on as it is, not stacked.
    known_jaxpr = split.known.jaxpr
    count = len(known_jaxpr.outvars) - len(split.residual_avals)
    const_vars = known_jaxpr.invars[: len(known_consts)]
    invariant = {
        i: const_vars.index(v)
        for i, v in enumerate(known_jaxpr.outvars[count:])
        if isinstance(v, Var) and v in const_vars
    }
    stacked = [i for i in range(len(split.residual_avals)) if i not in invariant]
    kept = [*known_jaxpr.outvars[:count], *(known_jaxpr.outvars[count + i] for i in stacked)]
    known_body = split.known.replace(jaxpr=known_jaxpr.replace(outvars=kept))
    known_body = split.known.derived(("scan_known", tuple(stacked)), lambda: known_body)
    loop = {k: v for k, v in params.items() if k not in ("jaxpr", "num_consts", "num_carry")}
    outs = scan_p.bind(
        *known_consts, *known_carry, *known_xs,
        jaxpr=known_body,
        num_consts=len(known_consts),
        num_carry=len(known_carry),
        **loop,
    )  # fmt: skip
    residuals = outs[count:]
    # The unknown body takes (residuals, unknown inputs); as a scan: consts, carry, xs.
    num_res = len(split.residual_avals)
    same = [i for i in range(num_res) if i in invariant]
    u_consts, u_carry = sum(consts_u), sum(carry_u)
    u_total = sum(unknown)
    base = num_res
    order = [
        *same,
        *range(base, base + u_consts),
        *range(base + u_consts, base + u_consts + u_carry),
        *stacked,
        *range(base + u_consts + u_carry, base + u_total),
    ]
    unknown_body = reordered(split.unknown, order, range(len(split.unknown.out_avals)))
    instantiated_carry = select(carry_u, carry)
    rest = trace.record(
        scan_p,
        [
            *(known_consts[invariant[i]] for i in same),
            *select(consts_u, consts),
            *instantiated_carry,
            *residuals,
            *select(xs_u, xs),
        ],
        {
            **loop,
            "jaxpr": unknown_body,
            "num_consts": len(same) + u_consts,
            "num_carry": u_carry,
        },
    )
    return merge((*carry_u, *ys_u), outs[:count], rest)


def _not(mask: Sequence[bool]) -> list[bool]:
    return [not m for m in mask]


def scan_backward(
    cts: Sequence,
    *args: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    """A scan the other way round, which carries cotangents of the carry and of the constants."""
    linear = tuple(map(is_linear, args))
    consts_l, carry_l, xs_l = parts_of(linear, num_consts, num_carry)
    consts, carry, xs = parts_of(args, num_consts, num_carry)
    c_avals, k_avals, x_avals = parts_of(jaxpr.in_avals, num_consts, num_carry)
    ct_carry = [instantiate_ct(ct, a) for ct, a in zip(cts[:num_carry], k_avals, strict=True)]
    ys_nonzero = tuple(ct is not None for ct in cts[num_carry:])
    ct_ys = [ct for ct in cts[num_carry:] if ct is not None]
    lin_consts, lin_xs = select(consts_l, c_avals), select(xs_l, x_avals)

    def body(*flat: Any) -> list[Any]:
        """(known consts; ct consts, ct carry; known xs, ct ys) -> (ct consts, ct carry; ct xs)"""
        given = iter(flat)
        known_consts = [next(given) for lin in consts_l if not lin]
        acc = [next(given) for _ in lin_consts]
        ct_out = [next(given) for _ in ct_carry]
        known_xs = [next(given) for lin in xs_l if not lin]
        ct_y = [next(given) if nz else None for nz in ys_nonzero]
        inputs = [
            *merge(consts_l, known_consts, [Linear(a) for a in lin_consts]),
            *(Linear(a) for a in k_avals),
            *merge(xs_l, known_xs, [Linear(a) for a in lin_xs]),
        ]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, inputs, [*ct_out, *ct_y])
        f_consts, f_carry, f_xs = parts_of(found, num_consts, num_carry)
        new_acc = [
            add_tangents(a, ct) for a, ct in zip(acc, select(consts_l, f_consts), strict=True)
        ]
        new_carry = [instantiate_ct(ct, a) for ct, a in zip(f_carry, k_avals, strict=True)]
        ct_xs = [instantiate_ct(ct, a) for ct, a in zip(select(xs_l, f_xs), lin_xs, strict=True)]
        return [*new_acc, *new_carry, *ct_xs]

    zeros = [zeros_like_aval(tangent_aval(a)) for a in lin_consts]
    known_consts = select(_not(consts_l), consts)
    known_xs = select(_not(xs_l), xs)
    body_avals = [
        *select(_not(consts_l), c_avals),
        *(tangent_aval(a).strip_weak_type() for a in lin_consts),
        *(tangent_aval(a).strip_weak_type() for a in k_avals),
        *select(_not(xs_l), x_avals),
        *(
            tangent_aval(a)
            for a, nz in zip(jaxpr.out_avals[num_carry:], ys_nonzero, strict=True)
            if nz
        ),
    ]
    key = ("scan_backward", num_consts, num_carry, linear, ys_nonzero)
    program = jaxpr.derived(key, lambda: stage_closed(body, body_avals)[0])
    outs = scan_p.bind(
        *known_consts, *zeros, *ct_carry, *known_xs, *ct_ys,
        jaxpr=program,
        length=length,
        reverse=not reverse,
        num_consts=len(known_consts),
        num_carry=len(zeros) + len(ct_carry),
        **params,
    )  # fmt: skip
    found_consts = iter(outs[: len(zeros)])
    found_carry = outs[len(zeros) : len(zeros) + num_carry]
    found_xs = iter(outs[len(zeros) + num_carry :])
    return [
        *(next(found_consts) if lin else None for lin in consts_l),
        *(ct if lin else None for ct, lin in zip(found_carry, carry_l, strict=True)),
        *(next(found_xs) if lin else None for lin in xs_l),
    ]


def scan_dce(keep: tuple[bool, ...], eqn: Eqn) -> Eqn:
    """Drop outputs nobody reads, the carries that only feed themselves, and unused inputs."""
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    num_consts, num_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    ys_keep = keep[num_carry:]

    def step(carry: Mask) -> Mask:
        _, used = dce.dce_jaxpr(closed.jaxpr, (*carry, *ys_keep))
        return tuple(used[num_consts : num_consts + num_carry])

    carry_keep = fixpoint(step, tuple(keep[:num_carry]))
    jaxpr, used = dce.dce_jaxpr(closed.jaxpr, (*carry_keep, *ys_keep), keep_inputs=True)
    mask = [
        *used[:num_consts],
        *carry_keep,
        *used[num_consts + num_carry :],
    ]
    smaller = jaxpr.replace(invars=select(mask, jaxpr.invars))
    program = closed.derived(
        ("scan_dce", keep, num_consts, num_carry), lambda: ClosedJaxpr(smaller, closed.consts)
    )
    out_mask = (*carry_keep, *ys_keep)
    return eqn.replace(
        invars=select(mask, eqn.invars),
        outvars=select(out_mask, eqn.outvars),
        params={
            **eqn.params,
            "jaxpr": program,
            "num_consts": sum(mask[:num_consts]),
            "num_carry": sum(carry_keep),
        },
        effects=program.effects,
    )


def scan_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    body = masked_program(params["jaxpr"])
    return scan_p.bind(on, *args, **{**params, "jaxpr": body, "num_consts": params["num_consts"] + 1})


evaluate_rules[scan_p] = scan_evaluate
abstract_rules[scan_p] = scan_abstract
forward.rules[scan_p] = scan_forward
backward.rules[scan_p] = scan_backward
batching.rules[scan_p] = scan_batch
partial.rules[scan_p] = scan_partial
dce.rules[scan_p] = scan_dce
masking.rules[scan_p] = scan_masked


# while


def while_evaluate(
    xp: Any,
    *buffers: Any,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Any]:
    cond_consts, body_consts, carry = parts_of(buffers, cond_nconsts, body_nconsts)
    test, body = compiled(cond_jaxpr), compiled(body_jaxpr)
    while bool(test(*cond_consts, *carry)[0]):
        carry = body(*body_consts, *carry)
    return carry


def while_abstract(
    *avals: ShapedArray,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    **_: Any,
) -> tuple[tuple, Effects]:
    return tuple(body_jaxpr.out_avals), cond_jaxpr.effects | body_jaxpr.effects


def while_forward(
    primals: Sequence,
    tangents: Sequence,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple:
    cond_consts, body_consts, carry = parts_of(primals, cond_nconsts, body_nconsts)
    _, t_consts, t_carry = parts_of(tangents, cond_nconsts, body_nconsts)
    consts_nz = tuple(t is not None for t in t_consts)

    def step(mask: Mask) -> Mask:
        return jvp_program(body_jaxpr, (*consts_nz, *mask))[1]

    carry_nz = fixpoint(step, tuple(t is not None for t in t_carry))
    body, _ = jvp_program(body_jaxpr, (*consts_nz, *carry_nz), carry_nz)
    count = len(carry)
    order = [
        *range(body_nconsts),
        *range(body_nconsts + count, body_nconsts + count + sum(consts_nz)),
        *range(body_nconsts, body_nconsts + count),
        *range(body_nconsts + count + sum(consts_nz), len(body.in_avals)),
    ]
    body = reordered(body, order, range(len(body.out_avals)))
    test = _ignoring(cond_jaxpr, [tangent_aval(a) for a in select(carry_nz, body_jaxpr.out_avals)])
    full = [
        zeros_like_aval(tangent_aval(aval_of(p))) if t is None else t
        for p, t, nz in zip(carry, t_carry, carry_nz, strict=True)
        if nz
    ]
    given = [t for t in t_consts if t is not None]
    outs = while_p.bind(
        *cond_consts, *body_consts, *given, *carry, *full,
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts + len(given),
    )  # fmt: skip
    return outs[:count], masked(carry_nz, outs[count:])


def _ignoring(program: ClosedJaxpr, more: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The program with more inputs at the end, which it does not look at."""
    jaxpr = program.jaxpr

    def make() -> ClosedJaxpr:
        invars = [*jaxpr.invars, *(Var(a) for a in more)]
        return program.replace(jaxpr=jaxpr.replace(invars=invars))

    return program.derived(("ignoring", tuple(more)), make)


def while_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple:
    """Loop until every member is done; the finished ones keep their values."""
    test_b, consts_b, carry_b = parts_of([a is not None for a in axes], cond_nconsts, body_nconsts)

    def step(mask: Mask) -> Mask:
        return batch_program(body_jaxpr, axis, (*consts_b, *mask))[1]

    carry_b = fixpoint(step, tuple(carry_b))
    pred_b = batch_program(cond_jaxpr, axis, (*test_b, *carry_b))[1][0]
    if pred_b:
        carry_b = (True,) * len(carry_b)
    test, _ = batch_program(cond_jaxpr, axis, (*test_b, *carry_b))
    body, _ = batch_program(body_jaxpr, axis, (*consts_b, *carry_b), carry_b)
    test_vals, body_vals, carry_vals = parts_of(
        list(zip(values, axes, strict=True)), cond_nconsts, body_nconsts
    )
    test_consts = [v if a is None else moveaxis(v, a, 0) for v, a in test_vals]
    body_consts = [v if a is None else moveaxis(v, a, 0) for v, a in body_vals]
    carry = [
        to_front(axis, v, a) if b else v for (v, a), b in zip(carry_vals, carry_b, strict=True)
    ]
    num_test, num_body = len(test_consts), len(body_consts)
    if pred_b:

        def any_left(*args: Any) -> list[Any]:
            return [reduce_or(test(*args)[0], (0,))]

        def step_those_left(*args: Any) -> list[Any]:
            tc, bc, old = parts_of(args, num_test, num_body)
            (going,) = test(*tc, *old)
            new = body(*bc, *old)
            return [
                select_n(broadcast_in_dim(going, aval_of(n).shape, (0,)), o, n)
                for o, n in zip(old, new, strict=True)
            ]

        carry_avals = body.out_avals
        test_avals, body_avals = test.in_avals[:num_test], body.in_avals[:num_body]
        whole = test.derived(("any_left",), lambda: stage_closed(any_left, test.in_avals)[0])
        going_body = body.derived(
            ("those_left", test),
            lambda: stage_closed(step_those_left, [*test_avals, *body_avals, *carry_avals])[0],
        )
        body_consts = [*test_consts, *body_consts]
    else:
        whole, going_body = test, body
    outs = while_p.bind(
        *test_consts, *body_consts, *carry,
        cond_jaxpr=whole,
        body_jaxpr=going_body,
        cond_nconsts=num_test,
        body_nconsts=len(body_consts),
    )  # fmt: skip
    return outs, [0 if b else None for b in carry_b]


def while_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """What is known of the loop runs now; the whole of it is recorded for the unknown carries."""
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    test_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    test_u, consts_u, carry_u = parts_of(
        [trace.is_unknown(a) for a in args], cond_nconsts, body_nconsts
    )

    def step(mask: Mask) -> Mask:
        return split_program(body_jaxpr, (*consts_u, *mask)).out_unknown

    carry_u = fixpoint(step, tuple(carry_u))
    test_unknown = split_program(test_jaxpr, (*test_u, *carry_u)).out_unknown[0]
    if test_unknown or all(carry_u):
        return trace.record(while_p, args, params)
    test_consts, body_consts, carry = parts_of(args, cond_nconsts, body_nconsts)
    keep = tuple(_not(carry_u))
    body, used = dce.dce_jaxpr(body_jaxpr.jaxpr, keep, keep_inputs=True)
    body_mask = [*_not(consts_u), *keep]
    known_body = ClosedJaxpr(body.replace(invars=select(body_mask, body.invars)), body_jaxpr.consts)
    test_mask = [*_not(test_u), *keep]
    test = test_jaxpr.jaxpr
    known_test = test_jaxpr.replace(jaxpr=test.replace(invars=select(test_mask, test.invars)))
    known = while_p.bind(
        *test_consts,
        *select(_not(consts_u), body_consts),
        *select(keep, carry),
        cond_jaxpr=test_jaxpr.derived(("while_known", keep), lambda: known_test),
        body_jaxpr=body_jaxpr.derived(("while_known", keep, tuple(consts_u)), lambda: known_body),
        cond_nconsts=cond_nconsts,
        body_nconsts=len(_not(consts_u)) - sum(consts_u),
    )
    whole = trace.record(while_p, args, params)
    return merge(carry_u, known, select(carry_u, whole))


def while_backward(cts: Sequence, *args: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "bounds that are not known while tracing: the number of turns, and so the memory for their "
        "values, is not known. Use lax.scan, or lax.fori_loop with Python integers as bounds, or "
        "forward mode (jvp, jacfwd)."
    )


def while_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    """A loop that is switched off does not turn at all."""
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    test_jaxpr: ClosedJaxpr = params["cond_jaxpr"]

    def test(on: Any, *given: Any) -> list[Any]:
        return [bitwise_and(on, test_jaxpr(*given)[0])]

    switched = test_jaxpr.derived(
        "while_masked", lambda: stage_closed(test, [SWITCH, *test_jaxpr.in_avals])[0]
    )
    test_consts, body_consts, carry = parts_of(args, cond_nconsts, body_nconsts)
    return while_p.bind(
        on, *test_consts, on, *body_consts, *carry,
        cond_jaxpr=switched,
        body_jaxpr=masked_program(params["body_jaxpr"]),
        cond_nconsts=cond_nconsts + 1,
        body_nconsts=body_nconsts + 1,
    )  # fmt: skip


evaluate_rules[while_p] = while_evaluate
abstract_rules[while_p] = while_abstract
forward.rules[while_p] = while_forward
backward.rules[while_p] = while_backward
batching.rules[while_p] = while_batch
partial.rules[while_p] = while_partial
masking.rules[while_p] = while_masked
masking.always_masked.add(while_p)
