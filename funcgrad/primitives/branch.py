"""cond_p: run one of several programs, chosen by an index."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import convert, eq, moveaxis
from funcgrad.base.dtypes import issubdtype
from funcgrad.base.lists import Mask, drop, either, given, merge, pick, present, spread
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler import lowering
from funcgrad.compiler.passes import dce
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from funcgrad.primitives.compare import clamp, select_members
from funcgrad.primitives.structural import stop_gradient_p
from funcgrad.transforms import backward, batching, forward, masking, partial
from funcgrad.transforms.backward import backward_program, instantiate_ct, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted, to_front
from funcgrad.transforms.forward import jvp_program, zeros_like_aval
from funcgrad.transforms.masking import masked_program, needs_mask
from funcgrad.transforms.partial import Partial, split_program
from funcgrad.transforms.staging import stage_closed

cond_p = Primitive("cond", multiple_results=True)

Programs = tuple[ClosedJaxpr, ...]


def cond_evaluate(xp: Any, index: Any, *operands: Any, branches: Programs) -> Sequence[Any]:
    return compiled(branches[min(max(int(index), 0), len(branches) - 1)])(*operands)


def cond_abstract(
    index: ShapedArray, *operands: ShapedArray, branches: Programs
) -> tuple[tuple, Effects]:
    first = branches[0].out_avals
    weak = [all(b.out_avals[i].weak_type for b in branches) for i in range(len(first))]
    avals = tuple(a.update(weak_type=w) for a, w in zip(first, weak, strict=True))
    return avals, frozenset().union(*[b.effects for b in branches])


def cond_forward(primals: Sequence, tangents: Sequence, branches: Programs) -> tuple:
    nonzero = present(tangents[1:])
    out_nonzero = either([jvp_program(b, nonzero)[1] for b in branches])
    programs = tuple(jvp_program(b, nonzero, out_nonzero)[0] for b in branches)
    outs = cond_p.bind(*primals, *given(tangents[1:]), branches=programs)
    count = len(out_nonzero)
    return outs[:count], spread(out_nonzero, outs[count:])


def cond_backward(cts: Sequence, index: Any, *operands: Any, branches: Programs) -> list[Any]:
    linear = tuple(map(is_linear, operands))
    nonzero = present(cts)
    in_nonzero = either([backward_program(b, linear, nonzero)[1] for b in branches])
    programs = tuple(_with_cts(b, linear, nonzero, in_nonzero) for b in branches)
    outs = cond_p.bind(index, *drop(linear, operands), *given(cts), branches=programs)
    return [None, *spread(linear, spread(in_nonzero, outs))]


def _with_cts(branch: ClosedJaxpr, linear: Mask, nonzero: Mask, wanted: Mask) -> ClosedJaxpr:
    """The branch's backward program, with zeros for cotangents that only other branches have."""
    program, in_nonzero = backward_program(branch, linear, nonzero)
    avals = pick(linear, branch.in_avals)

    def make() -> ClosedJaxpr:
        def run(*args: Any) -> list[Any]:
            cts = spread(in_nonzero, program(*args))
            return pick(wanted, [*map(instantiate_ct, cts, avals)])

        return stage_closed(run, program.in_avals)[0]

    return program.derived(("with_cts", wanted), make)


def cond_batch(axis: BatchAxis, values: Sequence, axes: Sequence, branches: Programs) -> tuple:
    operands = fronted(values[1:], axes[1:])
    batched = present(axes[1:])
    if axes[0] is None:
        out_batched = either([batch_program(b, axis, batched)[1] for b in branches])
        programs = tuple(batch_program(b, axis, batched, out_batched)[0] for b in branches)
        outs = cond_p.bind(values[0], *operands, branches=programs)
        return outs, [0 if b else None for b in out_batched]
    # Members take different branches: all branches run, switched off for the members that did not
    # take them, and each member selects its result.
    index = moveaxis(values[0], axes[0], 0)
    lanes = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    results = [
        _run_masked(axis, b, eq(lanes, np.int32(i)), operands, batched)
        for i, b in enumerate(branches)
    ]
    which = convert(lanes, np.bool_) if len(branches) == 2 else lanes
    outs = [select_members(which, *cases) for cases in zip(*results, strict=True)]
    return outs, [0] * len(outs)


def _run_masked(
    axis: BatchAxis, branch: ClosedJaxpr, on: Any, operands: Sequence, batched: Mask
) -> tuple:
    """One branch for the whole batch; where off, loops stand still and callbacks are silent."""
    smooth = tuple(issubdtype(aval_of(x).dtype, np.inexact) for x in operands)
    operands = [
        _guarded(axis, on, x, b) if s else x
        for x, b, s in zip(operands, batched, smooth, strict=True)
    ]
    batched = either([batched, smooth])
    if not needs_mask(branch):
        return batch_program(branch, axis, batched, True)[0](*operands)
    return batch_program(masked_program(branch), axis, (True, *batched), True)[0](on, *operands)


def _guarded(axis: BatchAxis, on: Any, operand: Any, batched: bool) -> Any:
    """The operand, into which no derivative comes from members that are off.

    Their results are not selected, but 0 times an infinite derivative would be nan.
    """
    value = to_front(axis, operand, 0 if batched else None)
    return select_members(on, stop_gradient_p.bind(value), value)


def cond_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    """Known index: split every branch alike. Unknown index: all of it is unknown."""
    unknown = tuple(map(trace.is_unknown, args))
    branches: Programs = params["branches"]
    if unknown[0]:
        return trace.record(cond_p, args, params)
    ops_unknown = unknown[1:]
    out_unknown = either([split_program(b, ops_unknown).out_unknown for b in branches])
    splits = [split_program(b, ops_unknown, out_unknown) for b in branches]
    residual_avals = [a for s in splits for a in s.residual_avals]
    known = tuple(_known_branch(i, splits, residual_avals) for i in range(len(splits)))
    rest = tuple(_unknown_branch(i, splits) for i in range(len(splits)))
    outs = cond_p.bind(*drop(unknown, args), branches=known)
    count = len(outs) - len(residual_avals)
    rest_args = [args[0], *outs[count:], *pick(unknown, args)]
    rest_outs = trace.record(cond_p, rest_args, {"branches": rest})
    return merge(out_unknown, outs[:count], rest_outs)


def _known_branch(which: int, splits: Sequence, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The known half of one branch, with zeros in the places of the other branches' residuals."""
    split = splits[which]
    before = sum(len(s.residual_avals) for s in splits[:which])

    def run(*args: Any) -> list[Any]:
        outs = split.known(*args)
        count = len(outs) - len(split.residual_avals)
        residuals = [zeros_like_aval(a) for a in avals]
        residuals[before : before + len(split.residual_avals)] = outs[count:]
        return [*outs[:count], *residuals]

    make = lambda: stage_closed(run, split.known.in_avals)[0]
    return split.known.derived(("branch", which, tuple(avals)), make)


def _unknown_branch(which: int, splits: Sequence) -> ClosedJaxpr:
    """The unknown half of one branch; it takes the residuals of all, and uses its own."""
    jaxpr: Jaxpr = splits[which].unknown.jaxpr
    own = len(splits[which].residual_avals)
    invars: list[Var] = []
    for i, split in enumerate(splits):
        if i == which:
            invars += jaxpr.invars[:own]
        else:
            invars += [Var(a) for a in split.residual_avals]
    return ClosedJaxpr(jaxpr.replace(invars=[*invars, *jaxpr.invars[own:]]))


def cond_dce(keep: Mask, eqn: Eqn) -> Eqn:
    branches: Programs = eqn.params["branches"]
    used = either([dce.dce_jaxpr(b.jaxpr, keep)[1] for b in branches])

    def smaller(branch: ClosedJaxpr) -> ClosedJaxpr:
        jaxpr, _ = dce.dce_jaxpr(branch.jaxpr, keep, keep_inputs=True)
        return branch.replace(jaxpr.replace(invars=pick(used, jaxpr.invars)))

    programs = tuple(b.derived(("cond_dce", keep, used), lambda b=b: smaller(b)) for b in branches)
    return eqn.replace(
        invars=pick([True, *used], eqn.invars),
        outvars=pick(keep, eqn.outvars),
        params={"branches": programs},
        effects=frozenset().union(*[p.effects for p in programs]),
    )


def cond_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    index, *operands = args
    branches = tuple(masked_program(b) for b in params["branches"])
    return cond_p.bind(index, on, *operands, branches=branches)


evaluate_rules[cond_p] = cond_evaluate
abstract_rules[cond_p] = cond_abstract
forward.rules[cond_p] = cond_forward
backward.rules[cond_p] = cond_backward
batching.rules[cond_p] = cond_batch
partial.rules[cond_p] = cond_partial
dce.rules[cond_p] = cond_dce
masking.rules[cond_p] = cond_masked

lowering.controls[cond_p] = lambda *, branches: lowering.Cond(branches)
