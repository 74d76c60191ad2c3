"""while_p: run a program again and again, its results carried round, as long as another says so."""

from collections.abc import Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray, tangent_aval
from funcgrad.base.lists import Mask, cut, drop, given, merge, pick, present, spread
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler import lowering
from funcgrad.compiler.passes import dce, loops
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.effects import happens_once, quiet
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var
from funcgrad.primitives.compare import bitwise_and, select_members
from funcgrad.primitives.loop import reordered, run_whole, stable_masks
from funcgrad.primitives.reduction import reduce_or
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted, to_front
from funcgrad.transforms.forward import instantiate_zeros, jvp_program
from funcgrad.transforms.masking import SWITCH, masked_program
from funcgrad.transforms.partial import Partial, split_program
from funcgrad.transforms.staging import stage_closed

while_p = Primitive("while", multiple_results=True)


def while_evaluate(
    xp: Any,
    *buffers: Any,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Any]:
    programs = {"cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr}
    avals = [*cond_jaxpr.in_avals[:cond_nconsts], *body_jaxpr.in_avals]
    whole = {**programs, "cond_nconsts": cond_nconsts, "body_nconsts": body_nconsts}
    outs = run_whole(while_p, avals, whole, buffers)
    if outs is not None:
        return outs
    test_consts, body_consts, carry = cut(buffers, cond_nconsts, body_nconsts)
    test, body = compiled(cond_jaxpr), compiled(body_jaxpr)
    while bool(test(*test_consts, *carry)[0]):
        carry = body(*body_consts, *carry)
    return carry


def while_abstract(
    *avals: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, **_: Any
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
    """One loop that carries primals and tangents; only the primals decide when it ends."""
    test_consts, body_consts, carry = cut(primals, cond_nconsts, body_nconsts)
    _, consts_moves, carry_moves = cut(tangents, cond_nconsts, body_nconsts)
    nonzero, carry_nonzero = stable_masks(
        present(consts_moves),
        present(carry_moves),
        (),
        lambda mask: jvp_program(body_jaxpr, mask)[1],
    )
    body, _ = jvp_program(body_jaxpr, nonzero, carry_nonzero)
    dots = given(consts_moves)
    carry_dots = map(
        instantiate_zeros, pick(carry_nonzero, carry), pick(carry_nonzero, carry_moves)
    )
    # The jvp body takes (primals, tangents); of a loop, all constants come before the carry.
    ins, in_dots = cut(range(len(body.in_avals)), len(nonzero))
    (at_consts, at_carry), (at_dots, at_carry_dots) = (
        cut(ins, body_nconsts),
        cut(in_dots, len(dots)),
    )
    order = [*at_consts, *at_dots, *at_carry, *at_carry_dots]
    dot_avals = [tangent_aval(a) for a in pick(carry_nonzero, body_jaxpr.out_avals)]
    outs = while_p.bind(
        *(*test_consts, *body_consts, *dots, *carry, *carry_dots),
        cond_jaxpr=_ignoring(cond_jaxpr, dot_avals),
        body_jaxpr=reordered(body, order, range(len(body.out_avals))),
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts + len(dots),
    )
    return outs[: len(carry)], spread(carry_nonzero, outs[len(carry) :])


def _ignoring(program: ClosedJaxpr, more: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The program with more inputs at the end, which it does not look at."""
    jaxpr = program.jaxpr

    def make() -> ClosedJaxpr:
        return program.replace(jaxpr.replace(invars=[*jaxpr.invars, *map(Var, more)]))

    return program.derived(("ignoring", tuple(more)), make)


def while_backward(cts: Sequence, *args: Any, **params: Any) -> list[Any]:
    raise ValueError(
        "lax.while_loop, and lax.fori_loop with bounds that are not known while tracing, have no "
        "reverse-mode derivative: the number of turns, and so the memory for their values, is not "
        "known. Use lax.scan, or lax.fori_loop with Python integers as bounds, or "
        "forward mode (jvp, jacfwd)."
    )


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
    test_batched, consts_batched, carry_batched = cut(present(axes), cond_nconsts, body_nconsts)
    _, carry_batched = stable_masks(
        consts_batched,
        carry_batched,
        (),
        lambda mask: batch_program(body_jaxpr, axis, mask)[1],
    )
    _, (each_decides,) = batch_program(cond_jaxpr, axis, (*test_batched, *carry_batched))
    if each_decides:
        carry_batched = (True,) * len(carry_batched)
    test, _ = batch_program(cond_jaxpr, axis, (*test_batched, *carry_batched))
    body, _ = batch_program(body_jaxpr, axis, (*consts_batched, *carry_batched), carry_batched)
    first = cond_nconsts + body_nconsts
    test_consts, body_consts = cut(fronted(values[:first], axes[:first]), cond_nconsts)
    carry = [
        to_front(axis, v, at) if b else v
        for v, at, b in zip(values[first:], axes[first:], carry_batched, strict=True)
    ]
    if each_decides:
        if happens_once(body_jaxpr.effects):
            mask = (True, *consts_batched, *carry_batched)
            body, _ = batch_program(masked_program(body_jaxpr), axis, mask, carry_batched)
        test, body = _any_left(test), _stepping_those_left(test, body, cond_nconsts, body_nconsts)
        body_consts = [*test_consts, *body_consts]
    outs = while_p.bind(
        *(*test_consts, *body_consts, *carry),
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=cond_nconsts,
        body_nconsts=len(body_consts),
    )
    return outs, [0 if b else None for b in carry_batched]


def _any_left(test: ClosedJaxpr) -> ClosedJaxpr:
    """Whether the batched test says yes for any member."""

    def run(*args: Any) -> list[Any]:
        return [reduce_or(test(*args)[0], (0,))]

    return test.derived("any_left", lambda: stage_closed(run, test.in_avals)[0])


def _stepping_those_left(
    test: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> ClosedJaxpr:
    """The batched body, which leaves the members alone for which the test says no.

    One with a switch in front is told which those are.
    """
    switch = len(body.in_avals) - body_nconsts - len(body.out_avals)

    def run(*args: Any) -> list[Any]:
        test_consts, body_consts, old = cut(args, cond_nconsts, body_nconsts)
        (going,) = test(*test_consts, *old)
        new = body(*[going] * switch, *body_consts, *old)
        return [select_members(going, o, n) for o, n in zip(old, new, strict=True)]

    body_avals = body.in_avals[switch:][:body_nconsts]
    avals = [*test.in_avals[:cond_nconsts], *body_avals, *body.out_avals]
    return body.derived(("those_left", test), lambda: stage_closed(run, avals)[0])


def while_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """What is known of the loop runs now; the whole of it is recorded for the unknown carries."""
    sizes = params["cond_nconsts"], params["body_nconsts"]
    test: ClosedJaxpr = params["cond_jaxpr"]
    body: ClosedJaxpr = params["body_jaxpr"]
    test_unknown, consts_unknown, carry_unknown = cut([trace.is_unknown(a) for a in args], *sizes)
    body_unknown, carry_unknown = stable_masks(
        consts_unknown, carry_unknown, (), lambda mask: split_program(body, mask).out_unknown
    )
    test_unknown = (*test_unknown, *carry_unknown)
    if split_program(test, test_unknown).out_unknown[0] or all(carry_unknown):
        return trace.record(while_p, args, params)
    test_consts, body_consts, carry = cut(args, *sizes)
    known_test_consts = drop(test_unknown[: sizes[0]], test_consts)
    known_consts = drop(consts_unknown, body_consts)
    known = while_p.bind(
        *(*known_test_consts, *known_consts, *drop(carry_unknown, carry)),
        cond_jaxpr=_known_part(test, test_unknown, (False,)),
        body_jaxpr=_known_part(body, body_unknown, carry_unknown),
        cond_nconsts=len(known_test_consts),
        body_nconsts=len(known_consts),
    )
    # Effects have happened in the known loop.
    test, body = quiet(test, test_unknown), quiet(body, body_unknown)
    whole = trace.record(while_p, args, {**params, "cond_jaxpr": test, "body_jaxpr": body})
    return merge(carry_unknown, known, pick(carry_unknown, whole))


def _known_part(program: ClosedJaxpr, unknown: Mask, unknown_outs: Mask) -> ClosedJaxpr:
    """The part that computes the outputs that are known, from the inputs that are."""

    def make() -> ClosedJaxpr:
        split = split_program(program, unknown, unknown_outs)
        keep = [True] * unknown_outs.count(False) + [False] * len(split.residual_avals)
        jaxpr, _ = dce.dce_jaxpr(split.known.jaxpr, keep, keep_inputs=True)
        return split.known.replace(jaxpr)

    return program.derived(("known_part", unknown, unknown_outs), make)


def while_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    """A loop that is switched off does not turn at all."""
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    test: ClosedJaxpr = params["cond_jaxpr"]

    def switched(on: Any, *args: Any) -> list[Any]:
        return [bitwise_and(on, test(*args)[0])]

    test_consts, body_consts, carry = cut(args, cond_nconsts, body_nconsts)
    return while_p.bind(
        *(on, *test_consts, on, *body_consts, *carry),
        cond_jaxpr=test.derived(
            "while_masked", lambda: stage_closed(switched, [SWITCH, *test.in_avals])[0]
        ),
        body_jaxpr=masked_program(params["body_jaxpr"]),
        cond_nconsts=cond_nconsts + 1,
        body_nconsts=body_nconsts + 1,
    )


evaluate_rules[while_p] = while_evaluate
abstract_rules[while_p] = while_abstract
forward.rules[while_p] = while_forward
backward.rules[while_p] = while_backward
batching.rules[while_p] = while_batch
partial.rules[while_p] = while_partial
masking.rules[while_p] = while_masked
masking.always_masked.add(while_p)


def while_control(
    *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> lowering.While:
    return lowering.While(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts)


lowering.controls[while_p] = while_control


def body_constants(eqn: Eqn) -> tuple[ClosedJaxpr, Sequence[int]]:
    first, count = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    return eqn.params["body_jaxpr"], range(first, first + count)


def while_with_constants(eqn: Eqn, body: ClosedJaxpr, more: Sequence[Atom]) -> Eqn:
    """The loop of another body, which takes more constants before the others."""
    test_consts, rest = cut(eqn.invars, eqn.params["cond_nconsts"])
    count = eqn.params["body_nconsts"] + len(more)
    params = {**eqn.params, "body_jaxpr": body, "body_nconsts": count}
    return eqn.replace(invars=[*test_consts, *more, *rest], params=params)


loops.bodies[while_p] = body_constants
loops.rebuild[while_p] = while_with_constants
