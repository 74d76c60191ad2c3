"""Programs that must fit: branches each other, and a loop's body what its carry comes round to.

Weakly typed values give way to the type that the others have; any other difference is an error
that says at which path, and how.
"""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.api.flat import Staged
from funcgrad.base import promotion
from funcgrad.base.aval import ShapedArray, aval_of, weak_like
from funcgrad.base.basis import convert
from funcgrad.base.errors import TypePromotionError
from funcgrad.base.source import function_name
from funcgrad.base.tree import (
    PyTreeDef,
    equality_errors,
    keystr,
    tree_flatten_with_path,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)
from funcgrad.ir.jaxpr import ClosedJaxpr, Var
from funcgrad.transforms.staging import stage_closed


def joined_dtype(x: ShapedArray, y: ShapedArray) -> Any:
    """The dtype of the two where weak types may give way to it, else None."""
    try:
        dtype, _ = promotion.promote2(x.dtype, x.weak_type, y.dtype, y.weak_type)
    except TypePromotionError:
        return None
    return dtype if all(a.weak_type or a.dtype == dtype for a in (x, y)) else None


def converted(staged: Staged, wanted: Sequence[tuple[Any, bool]]) -> Staged:
    """The program with its outputs cast to these dtypes and weak types."""
    have = [(a.dtype, a.weak_type) for a in staged.program.out_avals]
    if have == list(wanted):
        return staged

    def run(*args: Any) -> list[Any]:
        outs = staged.program(*args)
        return [convert(o, dtype, weak) for o, (dtype, weak) in zip(outs, wanted, strict=True)]

    program, _ = stage_closed(run, staged.program.in_avals, staged.program.jaxpr.debug_info)
    return staged._replace(program=program)


# branches


def union_operands(stages: Sequence[Staged]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """The tracers that any of several programs closes over, and the programs taking all of them."""
    operands: list[Any] = []
    index: dict[int, int] = {}
    for staged in stages:
        for tracer in staged.operands:
            if id(tracer) not in index:
                index[id(tracer)] = len(operands)
                operands.append(tracer)
    programs = []
    for staged in stages:
        jaxpr, count = staged.program.jaxpr, len(staged.operands)
        leading = [Var(aval_of(t)) for t in operands]
        for tracer, var in zip(staged.operands, jaxpr.invars[:count], strict=True):
            leading[index[id(tracer)]] = var
        jaxpr = jaxpr.replace(invars=[*leading, *jaxpr.invars[count:]])
        programs.append(staged.program.replace(jaxpr=jaxpr))
    return operands, programs


def check_same_outputs(name: str, label_a: str, label_b: str, a: Staged, b: Staged) -> None:
    """Raise a TypeError that says at which path two branches' outputs differ, and how."""
    filled_a = tree_unflatten(a.out_tree, a.program.out_avals)
    filled_b = tree_unflatten(b.out_tree, b.program.out_avals)
    if a.out_tree != b.out_tree:
        lines = [
            f"  * at output{keystr(path)}: {label_a} has {one}, {label_b} has {two}, so {why}"
            for path, one, two, why in equality_errors(filled_a, filled_b)
        ]
        raise TypeError(
            f"{name}: {label_a} and {label_b} outputs must have the same type structure (pytree), "
            f"but they differ:\n" + "\n".join(lines) + f"\n  {label_a} output: {a.out_tree}\n  "
            f"{label_b} output: {b.out_tree}"
        )
    paths = [keystr(path) for path, _ in tree_flatten_with_path(filled_a)[0]]
    lines = [
        f"  * output{path}: {label_a} has type {x.str_short()}, {label_b} has type {y.str_short()}"
        f" (shapes {x.shape} and {y.shape})"
        for path, x, y in zip(paths, a.program.out_avals, b.program.out_avals, strict=True)
        if not weak_like(x, y) and not _joinable(x, y)
    ]
    if lines:
        raise TypeError(
            f"{name}: {label_a} and {label_b} outputs must have identical types, got\n"
            + "\n".join(lines)
            + "\nMake shapes and dtypes equal, with astype or broadcast_to in one of them."
        )


def _joinable(x: ShapedArray, y: ShapedArray) -> bool:
    return x.shape == y.shape and (x.weak_type or y.weak_type) and joined_dtype(x, y) is not None


def promote_weak(stages: Sequence[Staged]) -> list[Staged]:
    """Convert weakly typed outputs to the dtype and weak type that the branches share."""
    columns = zip(*(s.program.out_avals for s in stages), strict=True)
    wanted = []
    for column in columns:
        dtype, weak = column[0].dtype, column[0].weak_type
        for aval in column[1:]:
            dtype, weak = promotion.promote2(dtype, weak, aval.dtype, aval.weak_type)
        wanted.append((dtype, weak))
    return [converted(s, wanted) for s in stages]


# the carry of a loop


def stable_carry(
    name: str,
    f: Callable,
    init: list[Any],
    carry_tree: PyTreeDef,
    attempt: Callable[[Sequence[ShapedArray]], Staged],
    pair: bool,
) -> tuple[list[Any], Staged, list[ShapedArray]]:
    """Stage a body until its carry comes out as it went in; weakly typed starts are promoted.

    Inside the loop the carry is as weakly typed as its start; the types that the body returned,
    which the last carry is to have, come third.
    """
    for _ in range(len(init) + 2):
        avals = [x.aval for x in init]
        staged = attempt(avals)
        outs = _carry_outputs(name, f, staged, carry_tree, pair)
        joins = [
            joined_dtype(a, o) if a.weak_type else None for a, o in zip(avals, outs, strict=True)
        ]
        promoted = [
            convert(x, j) if j is not None and a.dtype != o.dtype and a.shape == o.shape else x
            for x, a, o, j in zip(init, avals, outs, joins, strict=True)
        ]
        if all(p is x for p, x in zip(promoted, init, strict=True)):
            _check_carry(name, f, carry_tree, avals, outs)
            wanted = [*avals, *staged.program.out_avals[len(avals) :]]
            return init, converted(staged, [(a.dtype, a.weak_type) for a in wanted]), outs
        init = promoted
    raise TypeError(f"{name} of {function_name(f)}: the carry's weak types do not settle")


def _carry_outputs(
    name: str, f: Callable, staged: Staged, carry_tree: PyTreeDef, pair: bool
) -> list[ShapedArray]:
    """The avals of the carry that a body returns, its structure checked."""
    out = tree_unflatten(staged.out_tree, staged.program.out_avals)
    if pair:
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise TypeError(
                f"{name}: the body {function_name(f)} has to return two things, (carry, y), and "
                "returned "
                f"{staged.out_tree}. Return None for y if there is nothing to stack."
            )
        out = out[0]
    if tree_structure(out) != carry_tree:
        filled = tree_unflatten(carry_tree, list(range(carry_tree.num_leaves)))
        lines = [
            f"  * at carry{keystr(path)}: the input has {one}, the output has {two}, so {why}"
            for path, one, two, why in equality_errors(filled, out)
        ]
        raise TypeError(
            f"{name}: the body {function_name(f)} returned a carry whose pytree structure is not "
            "that "
            "of the carry it was given:\n"
            + "\n".join(lines)
            + f"\n  input: {carry_tree}\n  output: {tree_structure(out)}"
        )
    return tree_leaves(out)


def _check_carry(
    name: str,
    f: Callable,
    carry_tree: PyTreeDef,
    ins: Sequence[ShapedArray],
    outs: Sequence[ShapedArray],
) -> None:
    filled = tree_unflatten(carry_tree, list(range(len(ins))))
    paths = [keystr(path) for path, _ in tree_flatten_with_path(filled)[0]]
    lines = [
        f"  * carry{path} has type {a.str_short()} in the input and {o.str_short()} in the output "
        f"(shapes {a.shape} and {o.shape})"
        for path, a, o in zip(paths, ins, outs, strict=True)
        if not weak_like(a, o)
    ]
    if lines:
        raise TypeError(
            f"{name}: the body {function_name(f)} returned a carry of another type than the carry "
            "it "
            "was given:\n"
            + "\n".join(lines)
            + "\nGive the initial carry the shape and dtype that the body returns, or convert the "
            "body's output with astype."
        )
