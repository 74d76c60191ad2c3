"""reduce: combine the elements along axes with any associative function of the user's."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.basis import (
    add_p,
    broadcast_in_dim,
    concatenate,
    convert,
    mul_p,
    reshape,
    slice_array,
    transpose,
)
from funcgrad.base.shapes import canonical_axes, remove_axes
from funcgrad.base.trace import (
    EVALUATION,
    Primitive,
    abstract_rules,
    evaluate_rules,
    pure,
    under,
)
from funcgrad.base.tree import tree_flatten, tree_unflatten
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Element, Fold, Position
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.arithmetic import max_p, min_p
from funcgrad.primitives.combiner import (
    MONOIDS,
    check_operands,
    combine,
    combiner_of,
    fold_lower,
    is_identity,
    without_kernel,
)
from funcgrad.primitives.compare import and_p, or_p, xor_p
from funcgrad.primitives.reduction import (
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum_over,
    reduce_xor,
)
from funcgrad.transforms import batching, forward

reduce_p = Primitive("reduce", multiple_results=True)

REDUCERS: dict[Primitive, Callable] = {
    add_p: reduce_sum_over,
    mul_p: reduce_prod,
    max_p: reduce_max,
    min_p: reduce_min,
    and_p: reduce_and,
    or_p: reduce_or,
    xor_p: reduce_xor,
}


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: None = None,
) -> Any:
    """Combine all elements along the listed axes, in pairs of neighbours.

    Args:
        operands: a pytree of arrays of one shape.
        init_values: a pytree of numbers of the same structure and dtypes; they are combined once,
            from the left, so they should be identities of the computation.
        computation: an associative function of two trees of numbers; it takes and returns that
            structure.
        dimensions: the axes to reduce.
        out_sharding: None.

    Returns:
        The operands' tree, the listed axes gone from each array.

    Raises:
        TypeError: structures, shapes or dtypes do not fit.
        ValueError: the computation closes over traced values or has effects.

    Example:
        >>> reduce(np.arange(1.0, 5.0), 1.0, lambda a, b: a * b, (0,))
        Array(24., dtype=float32)
    """
    arrays, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"reduce: operands and init_values must have one tree structure, got {tree} and "
            f"{init_tree}."
        )
    if not arrays:
        raise ValueError("reduce: there is nothing to reduce, operands has no arrays.")
    if out_sharding is not None:
        raise ValueError(
            f"reduce: out_sharding must be None, got {out_sharding!r}. Constrain the result with "
            "lax.with_sharding_constraint."
        )
    dims = canonical_axes(tuple(dimensions), aval_of(arrays[0]).ndim, "dimensions")
    if not dims:
        pairs = zip(arrays, inits, strict=True)
        return tree_unflatten(tree, [convert(a, aval_of(a).dtype, _weak(a, i)) for a, i in pairs])
    monoid = MONOIDS.get(computation) if len(arrays) == 1 else None
    if monoid is not None and is_identity(inits[0], monoid):
        return tree_unflatten(tree, [_by_monoid(monoid, arrays[0], inits[0], dims)])
    check_operands("reduce", [aval_of(a) for a in arrays], [aval_of(i) for i in inits])
    avals = [shaped((), aval_of(a).dtype, _weak(a, i)) for a, i in zip(arrays, inits, strict=True)]
    combiner = combiner_of("reduce", computation, avals, tree)
    if combiner.monoid is not None:
        outs = [_by_monoid(combiner.monoid, arrays[0], inits[0], dims)]
    else:
        outs = reduce_p.bind(*arrays, *inits, jaxpr=combiner.program, dimensions=dims)
    return tree_unflatten(tree, list(outs))


def _weak(operand: Any, init: Any) -> bool:
    return aval_of(operand).weak_type and aval_of(init).weak_type


def _by_monoid(monoid: Primitive, operand: Any, init: Any, dims: tuple[int, ...]) -> Any:
    out = REDUCERS[monoid](operand, dims)
    if not is_identity(init, monoid):
        out = monoid.bind(broadcast_in_dim(init, aval_of(out).shape, ()), out)
    return convert(out, aval_of(out).dtype, _weak(operand, init))


# evaluate, abstract


def fold(
    program: ClosedJaxpr, operands: Sequence[Any], inits: Sequence[Any], dims: tuple[int, ...]
) -> list[Any]:
    """The reduction by a tree: neighbours are combined, then pairs of neighbours, and so on."""
    shape = aval_of(operands[0]).shape
    kept = [i for i in range(len(shape)) if i not in dims]
    count = math.prod(shape[d] for d in dims)
    rest = tuple(shape[i] for i in kept)
    types = [(aval_of(x).dtype, _weak(x, i)) for x, i in zip(operands, inits, strict=True)]
    operands = [convert(x, *t) for x, t in zip(operands, types, strict=True)]
    inits = [convert(i, *t) for i, t in zip(inits, types, strict=True)]
    rows = [reshape(transpose(x, (*dims, *kept)), (count, math.prod(rest))) for x in operands]
    starts = [broadcast_in_dim(i, (math.prod(rest),), ()) for i in inits]
    if not math.prod(rest):
        return [reshape(s, rest) for s in starts]
    while count > 1:
        half, odd = divmod(count, 2)
        left = [slice_array(x, (0, 0), (2 * half - 1, x.shape[1]), (2, 1)) for x in rows]
        right = [slice_array(x, (1, 0), (2 * half, x.shape[1]), (2, 1)) for x in rows]
        pairs = combine(program, [*left, *right])
        if odd:
            last = [slice_array(x, (count - 1, 0), x.shape) for x in rows]
            pairs = [concatenate(both, 0) for both in zip(pairs, last, strict=True)]
        rows, count = pairs, half + odd
    if count:
        starts = combine(program, [*starts, *(reshape(x, x.shape[1:]) for x in rows)])
    return [reshape(s, rest) for s in starts]


def _halves(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def reduce_abstract(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[ShapedArray]:
    operands, inits = _halves(avals)
    check_operands("reduce", operands, inits)
    return [
        a.update(
            shape=remove_axes(a.shape, canonical_axes(dimensions, a.ndim, "dimensions")),
            weak_type=a.weak_type and i.weak_type,
        )
        for a, i in zip(operands, inits, strict=True)
    ]


def reduce_evaluate(
    xp: Any, *buffers: Any, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[Any]:
    count = len(buffers) // 2
    avals = [a.update(weak_type=False) for a in jaxpr.in_avals[:count]]
    arrays = [
        ConcreteArray(b, a.update(shape=b.shape))
        for b, a in zip(buffers, [*avals, *avals], strict=True)
    ]
    outs = under(EVALUATION, fold, jaxpr, *_halves(arrays), dimensions)
    return [o.buffer for o in outs]


def reduce_forward(
    primals: Sequence, tangents: Sequence, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple:
    """The derivative of the tree of combinations, which other derivatives can follow."""

    def run(*values: Any) -> list[Any]:
        return fold(jaxpr, *_halves(values), dimensions)

    return forward.jvp(run, primals, tangents)


def reduce_batch(
    axis: Any, values: Sequence, axes: Sequence, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple:
    operands, inits = _halves(values)
    operand_axes, init_axes = _halves(axes)
    if any(a is not None for a in init_axes):
        # Each member starts from its own numbers, so the tree itself is batched.
        return batching.vmap_flat(
            lambda *args: fold(jaxpr, *_halves(args), dimensions), axis, values, axes
        )
    moved = [batching.to_front(axis, v, a) for v, a in zip(operands, operand_axes, strict=True)]
    shifted = tuple(d + 1 for d in dimensions)
    outs = reduce_p.bind(*moved, *inits, jaxpr=jaxpr, dimensions=shifted)
    return outs, [0] * len(outs)


evaluate_rules[reduce_p] = reduce_evaluate
abstract_rules[reduce_p] = pure(reduce_abstract)
forward.rules[reduce_p] = reduce_forward
batching.rules[reduce_p] = reduce_batch


def reduce_lower(
    graph: Graph, *elements: Element, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> Fold:
    operands, inits = _halves(elements)

    def element(index: Position, inner: Position) -> tuple[Expr, list[Expr]]:
        place = lowering.interleaved(dimensions, inner, index)
        return graph.const(True, "bool"), [x(place) for x in operands]

    inner = tuple(operands[0].shape[d] for d in dimensions)
    return fold_lower(graph, jaxpr, inits, inner, element)


lowering.folds[reduce_p] = reduce_lower
lowering.refusals[reduce_p] = without_kernel
