"""The binary function that a reduction is given: a known monoid, or a program of numbers.

A program of numbers is applied to whole arrays by batching it over their elements.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import add, add_p, convert, mul, mul_p, reshape
from funcgrad.base.memo import Cache, context_key
from funcgrad.base.source import function_place
from funcgrad.base.trace import Primitive
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Combine, Expr, Graph
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.compiler.passes.inline import inline
from funcgrad.ir.jaxpr import ClosedJaxpr, DebugInfo
from funcgrad.primitives.arithmetic import max as maximum
from funcgrad.primitives.arithmetic import max_p, min_p
from funcgrad.primitives.arithmetic import min as minimum
from funcgrad.primitives.compare import (
    and_p,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    or_p,
    xor_p,
)
from funcgrad.transforms.batching import BatchAxis, to_front, vmap_flat
from funcgrad.transforms.staging import stage_closed

MONOIDS: dict[Callable, Primitive] = {
    add: add_p,
    mul: mul_p,
    maximum: max_p,
    minimum: min_p,
    bitwise_and: and_p,
    bitwise_or: or_p,
    bitwise_xor: xor_p,
}


def identity_of(monoid: Primitive, dtype: Any) -> np.ndarray:
    """What leaves any number of the dtype as it is when it is combined with it, as a 0-d array."""
    if monoid is max_p or monoid is min_p:
        return np.array(_extreme(np.dtype(dtype), monoid is min_p), dtype)
    if monoid is and_p:
        return np.array(-1, np.int64).astype(dtype)
    return np.array(1 if monoid is mul_p else 0, dtype)


def _extreme(dtype: np.dtype, highest: bool) -> Any:
    if dtype == np.bool_:
        return highest
    if dtypes.issubdtype(dtype, np.inexact) and dtypes.supports_inf(dtype):
        return np.inf if highest else -np.inf
    inexact = dtypes.issubdtype(dtype, np.inexact)
    info = (dtypes.finfo if inexact else dtypes.iinfo)(dtype)
    return info.max if highest else info.min


def is_identity(value: Any, monoid: Primitive) -> bool:
    """Whether a value is known, and is the identity; an int 0 is that of floats too."""
    if isinstance(value, Tracer) or aval_of(value).shape:
        return False
    return bool(np.asarray(value) == identity_of(monoid, aval_of(value).dtype))


class Combiner(NamedTuple):
    """The computation (a1, a2, ..., b1, b2, ...) -> (c1, c2, ...) on numbers.

    `monoid` is the primitive that it consists of, if that is all it does.
    """

    program: ClosedJaxpr
    monoid: Primitive | None


_staged: Cache = Cache(256)


def combiner_of(
    name: str, computation: Callable, avals: Sequence[ShapedArray], tree: PyTreeDef
) -> Combiner:
    """The computation staged on two trees of numbers of these avals; `name` asks for it.

    Raises:
        TypeError: its result has another structure, or is not made of numbers of those dtypes.
        ValueError: it uses a traced value that is not among its arguments, or has effects.
    """
    key = (name, computation, tuple(avals), tree, context_key())
    try:
        found = _staged.get(key)
    except TypeError:  # a callable without a hash
        return _stage(name, computation, avals, tree)
    if found is None:
        found = _staged[key] = _stage(name, computation, avals, tree)
    return found


def _stage(
    name: str, computation: Callable, avals: Sequence[ShapedArray], tree: PyTreeDef
) -> Combiner:
    program, structure = program_of(name, computation, avals, tree)
    given = [a.strip_weak_type() for a in program.out_avals]
    wanted = [a.strip_weak_type() for a in avals]
    if given != wanted or structure != tree:
        raise TypeError(
            f"{name}: the computation {function_place(computation)} must return what it combines, "
            f"{_listed(wanted)} in the structure {tree}; it returned {_listed(given)} in the "
            f"structure {structure}."
        )
    return Combiner(program, _monoid(program))


def program_of(
    name: str, computation: Callable, avals: Sequence[ShapedArray], tree: PyTreeDef
) -> tuple[ClosedJaxpr, PyTreeDef]:
    """A function of two trees of numbers as a program, and the structure of its result."""
    place = function_place(computation)
    structures: list[PyTreeDef] = []

    def run(*numbers: Any) -> list[Any]:
        half = len(numbers) // 2
        args = tree_unflatten(tree, numbers[:half]), tree_unflatten(tree, numbers[half:])
        outs, structure = tree_flatten(computation(*args))
        structures.append(structure)
        return outs

    program, operands = stage_closed(run, [*avals, *avals], DebugInfo(place))
    if operands:
        raise ValueError(
            f"{name}: the computation {place} closes over a traced value, "
            f"{aval_of(operands[0]).str_short()}. A computation may use its two arguments and "
            "known values only; apply what depends on traced ones before or after."
        )
    if program.effects:
        raise ValueError(f"{name}: the computation {place} has effects, {set(program.effects)}.")
    return inline(program), structures[0]


def _listed(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(a.str_short() for a in avals) or "nothing"


def _monoid(program: ClosedJaxpr) -> Primitive | None:
    """The primitive that the program applies to its two arguments, if that is all it does."""
    if len(program.eqns) != 1 or len(program.jaxpr.invars) != 2:
        return None
    (eqn,) = program.eqns
    of_arguments = set(eqn.invars) == set(program.jaxpr.invars) and len(eqn.invars) == 2
    alone = program.jaxpr.outvars == eqn.outvars
    known = eqn.primitive in MONOIDS.values()
    return eqn.primitive if of_arguments and alone and known else None


def check_operands(name: str, arrays: Sequence[ShapedArray], starts: Sequence[ShapedArray]) -> None:
    """Raise unless all operands have one shape, and each has a number of its dtype to start."""
    given = f"got operands {_listed(arrays)} and init_values {_listed(starts)}"
    if len({a.shape for a in arrays}) > 1:
        raise TypeError(f"{name}: operands must have one shape, {given}.")
    if any(s.shape for s in starts):
        raise TypeError(f"{name}: init_values must be numbers, of shape (), {given}.")
    if [a.dtype for a in arrays] != [s.dtype for s in starts]:
        raise TypeError(
            f"{name}: operands and their init_values must have the same dtypes, {given}. Convert "
            "the init_values."
        )


def on_elements(program: ClosedJaxpr, arrays: Sequence[Any]) -> list[Any]:
    """The program of numbers applied to the elements of arrays of one shape, all at once."""
    aval = aval_of(arrays[0])
    if not aval.shape:
        return list(program(*arrays))
    axis = BatchAxis(aval.size)
    values = [reshape(a, (aval.size,)) for a in arrays]
    outs, axes = vmap_flat(program, axis, values, [0] * len(values))
    return [
        reshape(to_front(axis, out, at), aval.shape) for out, at in zip(outs, axes, strict=True)
    ]


def combine(program: ClosedJaxpr, arrays: Sequence[Any]) -> list[Any]:
    """`on_elements`, with results of exactly the types of the first half of the arrays."""
    avals = [aval_of(a) for a in arrays[: len(arrays) // 2]]
    outs = on_elements(program, arrays)
    return [convert(o, a.dtype, a.weak_type) for o, a in zip(outs, avals, strict=True)]


def fold_lower(
    graph: Graph,
    program: ClosedJaxpr,
    inits: Sequence[Element],
    inner: tuple[int, ...],
    element: Callable[[Position, Position], tuple[Expr, Sequence[Expr]]],
) -> Fold:
    """The fold by a program of numbers, combined with the inits once, from the left.

    `element(index, inner)` says whether there is an element, and what its numbers are.
    """
    dtypes = ["bool", *(i.dtype for i in inits)]
    width, starts = len(dtypes), [i(()) for i in inits]
    params = [graph.param(k, dtypes[k % width]) for k in range(2 * width)]
    results = either(graph, program, params[:width], params[width:])
    identity = (False, *(0 for _ in inits))

    def values(index: Position, inner: Position) -> tuple[Expr, ...]:
        inside, numbers = element(index, inner)
        return (inside, *numbers)

    def finish(*folded: Expr) -> tuple[Expr, ...]:
        return either(graph, program, [graph.const(True, "bool"), *starts], folded)[1:]

    combine = Combine(tuple(params), results, identity)
    return Fold(inner, combine, values, identity, finish, ordered=True)


def either(
    graph: Graph, program: ClosedJaxpr, first: Sequence[Expr], second: Sequence[Expr]
) -> tuple[Expr, ...]:
    """Two partial results combined where there are both; the first of each says if there is one."""
    (has_first, *xs), (has_second, *ys) = first, second
    both = graph.both(has_first, has_second)
    outs = lowering.applied(graph, program, (*xs, *ys))
    chosen = (
        graph.select(both, out, graph.select(has_first, x, y))
        for x, y, out in zip(xs, ys, outs, strict=True)
    )
    return (has_first | has_second, *chosen)


def without_kernel(avals: Sequence[ShapedArray], params: dict[str, Any]) -> bool:
    return not lowering.holds_scalars(params["jaxpr"])
