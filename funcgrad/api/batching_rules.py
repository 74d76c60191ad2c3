"""Batching of a user's primitive, in the form that JAX's rules have: operands and the axes along
which they carry the batch, `not_mapped` where they do not."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.api.rule_tables import RuleTable, shown
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import expand, moveaxis, reshape
from funcgrad.base.trace import Primitive
from funcgrad.transforms import batching
from funcgrad.transforms.batching import BatchAxis

not_mapped = None


def canonical_axes(primitive: Primitive, outs: tuple, axes: tuple) -> tuple[list, list]:
    """The outputs as values, and where they are batched, counted from the front."""
    values = list(map(as_value, outs))
    if len(axes) != len(values):
        raise TypeError(
            f"the batching rule of {primitive} returned {len(values)} outputs and {len(axes)} "
            "batch axes"
        )
    where = []
    for value, axis in zip(values, axes, strict=True):
        ndim = aval_of(value).ndim
        if axis is not None and not -ndim <= axis < ndim:
            raise ValueError(
                f"the batching rule of {primitive} says that an output of shape "
                f"{aval_of(value).shape} is batched along axis {axis}, which it does not have"
            )
        where.append(axis % ndim if axis is not None else None)
    return values, where


def fancy_inward(primitive: Primitive, rule: Callable) -> Callable:
    def batch_rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        out, where = rule(axis, tuple(values), tuple(axes), **params)
        return canonical_axes(primitive, primitive.tupled(out), primitive.tupled(where))

    return batch_rule


def fancy_outward(primitive: Primitive, rule: Callable) -> Callable:
    def batcher(axis: BatchAxis, values: Sequence, axes: Sequence, **params: Any) -> tuple:
        outs, where = rule(axis, list(values), list(axes), **params)
        return shown(primitive, outs), shown(primitive, where)

    return batcher


def batch_inward(primitive: Primitive, rule: Callable) -> Callable:
    return fancy_inward(primitive, lambda _, *operands, **params: rule(*operands, **params))


def batch_outward(primitive: Primitive, rule: Callable) -> Callable:
    full = fancy_outward(primitive, rule)

    def batcher(values: Sequence, axes: Sequence, **params: Any) -> tuple:
        sizes = {
            aval_of(v).shape[a] for v, a in zip(values, axes, strict=True) if a is not not_mapped
        }
        if len(sizes) != 1:
            raise ValueError(f"batching {primitive} needs one batch size, got {sorted(sizes)}")
        return full(BatchAxis(sizes.pop()), values, axes, **params)

    return batcher


def axis_inward(primitive: Primitive, rule: Callable) -> Callable:
    full = lambda axis, *operands, **params: rule(axis.size, axis.name, None, *operands, **params)
    return fancy_inward(primitive, full)


def axis_outward(primitive: Primitive, rule: Callable) -> Callable:
    full = fancy_outward(primitive, rule)
    return lambda size, name, _, *operands, **params: full(
        BatchAxis(size, name), *operands, **params
    )


# (operands, axes, **params) -> (out, its axis), lists of them with multiple_results
primitive_batchers = RuleTable(batching.rules, batch_inward, batch_outward)
# The same with what is known of the batch, its size and name, as the first argument.
fancy_primitive_batchers = RuleTable(batching.rules, fancy_inward, fancy_outward)
# The same with the batch's size and name, and None, as the first three arguments.
axis_primitive_batchers = RuleTable(batching.rules, axis_inward, axis_outward)


def defvectorized(primitive: Primitive) -> None:
    """A primitive that acts on each element alone, on operands of one shape."""
    batching.leading(primitive)


def defbroadcasting(primitive: Primitive) -> None:
    """The same for operands of several ranks: axes of size 1 follow the batch."""

    def batch_rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        moved = [bdim_at_front(v, a, axis.size) for v, a in zip(values, axes, strict=True)]
        rank = max(aval_of(v).ndim for v in moved)
        outs = primitive.bind_list([_aligned(v, rank) for v in moved], params)
        return outs, [0] * len(outs)

    batching.rules[primitive] = batch_rule


def _aligned(value: Any, rank: int) -> Any:
    size, *rest = aval_of(value).shape
    return reshape(value, (size, *(1,) * (rank - 1 - len(rest)), *rest))


def defreducer(primitive: Primitive, ident: Any = None) -> None:
    """A primitive of one operand that reduces its param `axes`."""
    batching.shifted(primitive, axes=batching.axes_shifted)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """x repeated sz times along a new axis."""
    return expand(as_value(x), axis, sz)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """x with its batch axis in front; repeated there if it is `not_mapped`."""
    return broadcast(x, size, 0) if bdim is None else moveaxis(as_value(x), bdim, 0)
