"""Batching: run a function on many values at once, one more axis travelling with each array."""

import contextlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, shaped
from funcgrad.base.axes import Axis, NamedAxisEffect, bind_axis
from funcgrad.base.basis import expand, moveaxis, reshape
from funcgrad.base.config import config
from funcgrad.base.lists import Mask
from funcgrad.base.trace import Primitive, Trace, abstract_eval, current_trace, start
from funcgrad.base.tracer import Tracer
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import check_leaks, stage_closed

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
        self.records = parent.records
        self.axis = axis

    @property
    def description(self) -> str:  # type: ignore[override]
        name = f" over axis {self.axis.name!r}" if self.axis.name is not None else ""
        return f"vmap{name} of size {self.axis.size}"

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        values, axes, batched = [], [], False
        for arg in args:
            value, axis = arg, None
            if type(arg) is BatchTracer and arg._trace is self:
                value, axis, batched = arg.value, arg.axis, True
            elif isinstance(arg, Tracer):
                value, axis = self.unpack(arg)
                batched = batched or axis is not None
            values.append(value)
            axes.append(axis)
        if not batched and not self._asks_for_axis(primitive, args, params):
            return self.parent.process(primitive, values, params)
        rule = rules.get(primitive)
        if rule is None:
            raise NotImplementedError(f"{primitive} has no batching rule")
        outs, out_axes = self.apply(primitive, rule, (self.axis, values, axes), params)
        if len(outs) == 1:  # the usual case, put shortly
            (out,), (axis,) = outs, out_axes
            return (out if axis is None else BatchTracer(self, out, axis),)
        return tuple(
            out if axis is None else BatchTracer(self, out, axis)
            for out, axis in zip(outs, out_axes, strict=True)
        )

    def _asks_for_axis(self, primitive: Primitive, args: Sequence, params: dict) -> bool:
        if self.axis.name is None:
            return False
        _, effects = abstract_eval(primitive, [aval_of(a) for a in args], params)
        return NamedAxisEffect(self.axis.name) in effects

    def pack(self, value: Any, axis: int | None) -> Any:
        return value if axis is None else BatchTracer(self, as_value(value), axis)

    def unpack(self, value: Any) -> tuple[Any, int | None]:
        if type(value) is BatchTracer and value._trace is self:
            return value.value, value.axis
        self.check_alive(value)
        # Batching a custom rule runs the user's function again for the same axis; what that
        # function closes over belongs to the trace that met the call.
        if type(value) is BatchTracer and value._trace.axis is self.axis:
            return value.value, value.axis
        return value, None


class BatchTracer(Tracer):
    """One element of a batch, as the mapped function sees it; `value` holds the whole batch."""

    __slots__ = ("aval", "axis", "value")

    def __init__(self, trace: Batching, value: Any, axis: int):
        self._trace = trace
        self.value = value
        self.axis = axis
        full = value.aval
        shape = full.shape
        member = shape[1:] if axis == 0 else (*shape[:axis], *shape[axis + 1 :])
        self.aval: ShapedArray = shaped(member, full.dtype, full.weak_type)

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
    named = contextlib.nullcontext() if axis.name is None else bind_axis(Axis(axis.name, axis.size))
    with named:
        outs = start(trace, function, *map(trace.pack, values, axes))
    pairs = [trace.unpack(out) for out in outs]
    if config.check_tracer_leaks:
        del outs
        check_leaks(trace)
    return [value for value, _ in pairs], [where for _, where in pairs]


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
        where = axes[0]
        if where is not None:
            shape = values[0].aval.shape
            for value, at in zip(values, axes):
                if at != where or value.aval.shape != shape:
                    break
            else:
                outs = primitive.bind_list(values, params)
                return outs, [where] * len(outs)
        rank = max(len(aval_of(v).shape) - (a is not None) for v, a in zip(values, axes))
        outs = primitive.bind_list([_aligned(v, a, rank) for v, a in zip(values, axes)], params)
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
        for name, moved in adjust.items():
            params[name] = moved(params[name], ndim)
        outs = primitive.bind_list((value,), params)
        return outs, [0] * len(outs)

    rules[primitive] = rule


def axes_shifted(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """For `shifted`: every axis number one further."""
    return tuple([a + 1 for a in axes])


def leading(primitive: Primitive) -> None:
    """Register a primitive whose operation accepts leading batch axes on all its operands."""

    def rule(axis: BatchAxis, values: Sequence, axes: Sequence, /, **params: Any) -> tuple:
        moved = [to_front(axis, v, a) for v, a in zip(values, axes)]
        outs = primitive.bind_list(moved, params)
        return outs, [0] * len(outs)

    rules[primitive] = rule
