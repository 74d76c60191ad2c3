"""Batching: run a function on many values at once, one more axis travelling with each array."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.axes import Axis, NamedAxisEffect, bind_axis
from funcgrad.base.basis import expand, moveaxis, reshape
from funcgrad.base.lists import Mask
from funcgrad.base.shapes import remove_axes
from funcgrad.base.trace import (
    Primitive,
    Trace,
    Tracer,
    abstract_eval,
    current_trace,
    starting,
    under,
)
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import stage_closed

# (axis, values, axes, **params) -> outs, axes; an axis of None means not batched
rules: dict[Primitive, Callable] = {}


class BatchAxis(NamedTuple):
    """The axis a batching trace adds: its length, and its name if collectives may ask for it."""

    size: int
    name: Hashable = None


class Batching(Trace):
    """The interpreter of vmap; batched operations run under its parent."""

    def __init__(self, parent: Trace, axis: BatchAxis):
        self.parent = parent
        self.axis = axis

    @property
    def description(self) -> str:  # type: ignore[override]
        name = f" over axis {self.axis.name!r}" if self.axis.name is not None else ""
        return f"vmap{name} of size {self.axis.size}"

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        values, axes = [], []
        for arg in args:
            value, axis = self.unpack(arg)
            values.append(value)
            axes.append(axis)
        if all(a is None for a in axes) and not self._asks_for_axis(primitive, args, params):
            return under(self.parent, primitive.bind, *values, **params)
        rule = rules.get(primitive)
        if rule is None:
            raise NotImplementedError(f"{primitive} has no batching rule")
        outs, out_axes = under(self.parent, rule, self.axis, values, axes, **params)
        return tuple(map(self.pack, outs, out_axes))

    def _asks_for_axis(self, primitive: Primitive, args: Sequence, params: dict) -> bool:
        if self.axis.name is None:
            return False
        _, effects = abstract_eval(primitive, [aval_of(a) for a in args], params)
        return NamedAxisEffect(self.axis.name) in effects

    def pack(self, value: Any, axis: int | None) -> Any:
        return value if axis is None else BatchTracer(self, value, axis)

    def unpack(self, value: Any) -> tuple[Any, int | None]:
        if isinstance(value, BatchTracer) and value._trace is self:
            return value.value, value.axis
        self.check_alive(value)
        # Batching a custom rule runs the user's function again for the same axis; what that
        # function closes over belongs to the trace that met the call.
        if isinstance(value, BatchTracer) and value._trace.axis is self.axis:
            return value.value, value.axis
        return value, None


class BatchTracer(Tracer):
    """One element of a batch, as the mapped function sees it; `value` holds the whole batch."""

    __slots__ = ("aval", "axis", "value")

    def __init__(self, trace: Batching, value: Any, axis: int):
        self._trace = trace
        self.value = value
        self.axis = axis
        full = aval_of(value)
        self.aval: ShapedArray = full.update(shape=remove_axes(full.shape, (axis,)))

    def __repr__(self) -> str:
        kind = self.aval.str_short()
        return f"BatchTracer<{kind}, batched along axis {self.axis} of {self.value!r}>"

    def __str__(self) -> str:
        return repr(self)


def vmap_flat(
    function: Callable[..., Sequence[Any]],
    axis: BatchAxis,
    values: Sequence[Any],
    axes: Sequence[int | None],
) -> tuple[list[Any], list[int | None]]:
    """Run a flat function once on a batch; its outputs and where each carries the batch axis."""
    trace = Batching(current_trace(), axis)

    def run() -> list[tuple[Any, int | None]]:
        return [trace.unpack(out) for out in function(*map(trace.pack, values, axes))]

    with starting(trace):
        if axis.name is None:
            pairs = run()
        else:
            with bind_axis(Axis(axis.name, axis.size)):
                pairs = run()
    return [v for v, _ in pairs], [a for _, a in pairs]


def batch_program(
    program: ClosedJaxpr,
    axis: BatchAxis,
    batched: Mask,
    force: bool | Mask = False,
) -> tuple[ClosedJaxpr, Mask]:
    """The program on a batch, batch axes in front; which outputs are batched.

    `force` says which outputs must be batched even when they are the same for all members.
    """

    def make() -> tuple[ClosedJaxpr, Mask]:
        out_batched: list[bool] = []

        def run(*values: Any) -> list[Any]:
            outs, axes = vmap_flat(program, axis, values, [0 if b else None for b in batched])
            forced = (force,) * len(outs) if isinstance(force, bool) else force
            out_batched.extend(a is not None or f for a, f in zip(axes, forced, strict=True))
            return [
                to_front(axis, v, a) if b else v
                for v, a, b in zip(outs, axes, out_batched, strict=True)
            ]

        avals = [
            a.update(shape=(axis.size, *a.shape)) if b else a
            for a, b in zip(program.in_avals, batched, strict=True)
        ]
        closed, operands = stage_closed(run, avals, program.jaxpr.debug_info)
        assert not operands
        return closed, tuple(out_batched)

    return program.derived(("batch", axis, batched, force), make)


def to_front(axis: BatchAxis, value: Any, where: int | None) -> Any:
    """The value with its batch axis in front, repeated if it has none."""
    return expand(value, 0, axis.size) if where is None else moveaxis(value, where, 0)


def fronted(values: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    """Batched values with the axis in front, the others as they are."""
    return [v if a is None else moveaxis(v, a, 0) for v, a in zip(values, axes, strict=True)]


def elementwise(primitive: Primitive) -> None:
    """Register a primitive that acts on each element alone (shapes equal, or scalar operands)."""

    def rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        shapes = [aval_of(v).shape for v in values]
        (where,) = set(axes) if len(set(axes)) == 1 else (None,)
        if where is not None and len(set(shapes)) == 1:
            outs = primitive.bind(*values, **params)
            return outs, [where] * len(outs)
        rank = max(len(s) - (a is not None) for s, a in zip(shapes, axes, strict=True))
        outs = primitive.bind(
            *(_aligned(v, a, rank) for v, a in zip(values, axes, strict=True)), **params
        )
        return outs, [0] * len(outs)

    rules[primitive] = rule


def _aligned(value: Any, axis: int | None, rank: int) -> Any:
    """The value with its batch axis in front and then `rank` axes, so that it broadcasts."""
    shape = aval_of(value).shape
    if axis is not None:
        value = moveaxis(value, axis, 0)
        shape = aval_of(value).shape
        return value if len(shape) > 1 else reshape(value, (*shape, *(1,) * rank))
    return reshape(value, (1, *shape)) if shape else value


def shifted(primitive: Primitive, **adjust: Callable[[Any, int], Any]) -> None:
    """Register a one-operand primitive whose params name axes.

    The batch axis goes in front; `adjust[name](param, ndim)` moves each listed param past it,
    `ndim` being the rank of the operand without the batch.
    """

    def rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        value = moveaxis(values[0], axes[0], 0)
        ndim = len(aval_of(value).shape) - 1
        moved = {k: adjust[k](p, ndim) if k in adjust else p for k, p in params.items()}
        outs = primitive.bind(value, **moved)
        return outs, [0] * len(outs)

    rules[primitive] = rule


def axes_shifted(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """For `shifted`: every axis number one further."""
    return tuple(a + 1 for a in axes)


def leading(primitive: Primitive) -> None:
    """Register a primitive whose operation accepts leading batch axes on all its operands."""

    def rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        outs = primitive.bind(*map(to_front, [axis] * len(values), values, axes), **params)
        return outs, [0] * len(outs)

    rules[primitive] = rule
