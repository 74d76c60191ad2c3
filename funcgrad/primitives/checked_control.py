"""Checking of primitives that carry programs: each gets checked ones, and joins their failures."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.aval import aval_of, tangent_aval
from funcgrad.base.lists import Mask, cut, present
from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn
from funcgrad.primitives.branch import cond_p
from funcgrad.primitives.call import jit_p
from funcgrad.primitives.check import first_member
from funcgrad.primitives.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from funcgrad.primitives.custom_batching import custom_vmap_call_p
from funcgrad.primitives.mapped import pmap_p
from funcgrad.primitives.remat import remat_p
from funcgrad.primitives.scan import Parts, bind_scan, parts_of, scan_p
from funcgrad.primitives.while_loop import while_p
from funcgrad.transforms import checking
from funcgrad.transforms.batching import BatchAxis, fronted, vmap_flat
from funcgrad.transforms.checking import (
    FAILED,
    Checked,
    Sites,
    Watch,
    checked_program,
    failure_of,
    first_of,
    flat_avals,
    no_failure,
    run_checked,
)
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.staging import stage, stage_closed

# calls


def called(primitive: Primitive, param: str) -> None:
    """Register a primitive that runs a program, its param of that name, once on its operands."""

    def rule(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> list[Any]:
        checked = checked_program(eqn.params[param], watch.categories)
        params = {**eqn.params, param: checked.program}
        if checked.sites and primitive in with_rules:
            params |= with_rules[primitive](checked, eqn.params)
        return watch.taken(checked.sites, primitive.bind_list(values, params))

    checking.rules[primitive] = rule


# What becomes of the user's rules beside the function: (checked, params) -> changed params. They
# run when checking is over: their own checks are not collected, but raise where they stand.
with_rules: dict[Primitive, Callable[[Checked, dict[str, Any]], dict[str, Any]]] = {}


def jvp_beside_failure(checked: Checked, params: dict[str, Any]) -> dict[str, Any]:
    jvp, count = params["jvp"], len(checked.program.in_avals)

    def rule(*flat: Any) -> list[Any]:
        failure = checked.failure(*flat[:count])
        both = jvp(*flat)
        outs, tangents = cut(both, len(both) // 2)
        zeros = [zeros_like_aval(tangent_aval(aval_of(x))) for x in failure]
        return [*failure, *outs, *zeros, *tangents]

    return {"jvp": rule}


def vjp_beside_failure(checked: Checked, params: dict[str, Any]) -> dict[str, Any]:
    fwd, bwd = params["fwd"], params["bwd"]
    outs_count = len(checked.program.out_avals)
    more = len(flat_avals(checked.sites))

    def checked_fwd(*args: Any, perturbed: Mask) -> tuple[list[Any], Sequence[Any]]:
        failure = checked.failure(*args)
        outs, res = fwd(*args, perturbed=perturbed)
        return [*failure, *outs], res

    def checked_bwd(*flat: Any) -> list[Any]:
        res, _, cts = cut(flat, len(flat) - outs_count, more)
        return bwd(*res, *cts)

    return {"fwd": checked_fwd, "bwd": checked_bwd}


def batch_beside_failure(checked: Checked, params: dict[str, Any]) -> dict[str, Any]:
    batch = params["rule"]

    def rule(size: int, batched: Mask, *values: Any) -> tuple[list[Any], Mask]:
        axes = [0 if b else None for b in batched]
        failure, where = vmap_flat(checked.failure, BatchAxis(size), values, axes)
        outs, out_batched = batch(size, batched, *values)
        return [*fronted(failure, where), *outs], (*present(where), *out_batched)

    return {"rule": rule}


called(jit_p, "jaxpr")
called(remat_p, "jaxpr")
called(custom_jvp_call_p, "fun")
called(custom_vjp_call_p, "fun")
called(custom_vmap_call_p, "fun")
with_rules[custom_jvp_call_p] = jvp_beside_failure
with_rules[custom_vjp_call_p] = vjp_beside_failure
with_rules[custom_vmap_call_p] = batch_beside_failure


def custom_lin_checked(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> list[Any]:
    """The tangent map's own operations, which a program can be checked for."""
    jaxpr, consts = stage(eqn.params["fun"], [aval_of(v) for v in values])
    return run_checked(jaxpr, consts, values, watch)


def pmap_checked(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> list[Any]:
    checked = checked_program(eqn.params["jaxpr"], watch.categories)
    more = len(flat_avals(checked.sites))
    out_axes = (*(0,) * more, *eqn.params["out_axes"])
    params = {**eqn.params, "jaxpr": checked.program, "out_axes": out_axes}
    failures, outs = cut(pmap_p.bind_list(values, params), more)
    return watch.taken(checked.sites, [*(first_member(failures) if failures else ()), *outs])


# cond


def cond_checked(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> list[Any]:
    branches = [checked_program(b, watch.categories) for b in eqn.params["branches"]]
    sites = tuple(dict.fromkeys(s for b in branches for s in b.sites))
    programs = tuple(with_sites(b, sites) for b in branches)
    return watch.taken(sites, cond_p.bind(*values, branches=programs))


def with_sites(checked: Checked, sites: Sites) -> ClosedJaxpr:
    """The program with outputs about failures at more sites than its own."""

    def run(*args: Any) -> list[Any]:
        flat, outs = checked.split(checked.program(*args))
        full = failure_of(flat, checked.sites).flat(sites) if flat else no_failure(sites)
        return [*full, *outs]

    program = checked.program
    make = lambda: stage_closed(run, program.in_avals, program.debug_info)[0]
    return program.derived(("with_sites", sites), make) if sites else program


# loops: failures are carried in front of the rest of the carry


def joined(old: Sequence[Any], new: Sequence[Any], of_new: Sites, sites: Sites) -> list[Any]:
    """The carried failure after something that may fail at some of the sites."""
    if not of_new:
        return list(old)
    return first_of(failure_of(old, sites), failure_of(new, of_new)).flat(sites)


def scan_checked(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> Sequence[Any]:
    params = eqn.params
    checked = checked_program(params["jaxpr"], watch.categories)
    sites, counts = checked.sites, (params["num_consts"], params["num_carry"])
    parts = parts_of(values, *counts)
    if not sites:
        return bind_scan(parts, checked.program, params)
    operands = parts._replace(carry=[*no_failure(sites), *parts.carry])
    outs = bind_scan(operands, carrying_failure(checked, *counts), params)
    return watch.taken(sites, outs)


def carrying_failure(checked: Checked, num_consts: int, num_carry: int) -> ClosedJaxpr:
    """The body of a scan that hands a failure from turn to turn."""
    program, sites = checked
    failure_avals = flat_avals(sites)

    def run(*args: Any) -> list[Any]:
        consts, old, rest = cut(args, num_consts, len(failure_avals))
        new, outs = checked.split(program(*consts, *rest))
        return [*joined(old, new, sites, sites), *outs]

    parts = parts_of(program.in_avals, num_consts, num_carry)
    avals = Parts(parts.consts, [*failure_avals, *parts.carry], parts.xs).all()
    make = lambda: stage_closed(run, avals, program.debug_info)[0]
    return program.derived(("carrying_failure", num_consts, num_carry), make)


def while_checked(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> Sequence[Any]:
    """The test is run once before the loop and once at the end of each turn, and its answer
    carried, so that its failures are met in their order."""
    params, categories = eqn.params, watch.categories
    test = checked_program(params["cond_jaxpr"], categories)
    body = checked_program(params["body_jaxpr"], categories)
    sites = tuple(dict.fromkeys((*test.sites, *body.sites)))
    counts = params["cond_nconsts"], params["body_nconsts"]
    if not sites:
        programs = {"cond_jaxpr": test.program, "body_jaxpr": body.program}
        return while_p.bind_list(values, {**params, **programs})
    test_consts, body_consts, carry = cut(values, *counts)
    new, (going,) = test.split(test.program(*test_consts, *carry))
    failure = joined(no_failure(sites), new, test.sites, sites)
    outs = while_p.bind(
        *(*test_consts, *body_consts, going, *failure, *carry),
        cond_jaxpr=first_carried(body.program, sites, counts),
        body_jaxpr=turn_with_test(test, body, sites, counts),
        cond_nconsts=0,
        body_nconsts=sum(counts),
    )
    return watch.taken(sites, outs[1:])


def first_carried(body: ClosedJaxpr, sites: Sites, counts: tuple[int, int]) -> ClosedJaxpr:
    """The test of a loop that carries the answer in front."""
    avals = [FAILED, *flat_avals(sites), *body.in_avals[counts[1] :]]
    make = lambda: stage_closed(lambda going, *_: [going], avals)[0]
    return body.derived(("first_carried", sites, counts), make)


def turn_with_test(
    test: Checked, body: Checked, sites: Sites, counts: tuple[int, int]
) -> ClosedJaxpr:
    """The body of a loop, and the test after it."""
    more = len(flat_avals(sites))

    def run(*args: Any) -> list[Any]:
        test_consts, body_consts, _, failure, carry = cut(args, *counts, 1, more)
        new, carry = body.split(body.program(*body_consts, *carry))
        failure = joined(failure, new, body.sites, sites)
        new, (going,) = test.split(test.program(*test_consts, *carry))
        return [going, *joined(failure, new, test.sites, sites), *carry]

    consts = [*test.program.in_avals[: counts[0]], *body.program.in_avals[: counts[1]]]
    avals = [*consts, FAILED, *flat_avals(sites), *body.program.in_avals[counts[1] :]]
    make = lambda: stage_closed(run, avals, body.program.debug_info)[0]
    return body.program.derived(("turn_with_test", test.program, sites, counts), make)


checking.rules[custom_lin_p] = custom_lin_checked
checking.rules[pmap_p] = pmap_checked
checking.rules[cond_p] = cond_checked
checking.rules[scan_p] = scan_checked
checking.rules[while_p] = while_checked
