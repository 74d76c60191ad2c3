"""pmap_p: run a program on every member of an axis, each on its own device.

The primitive carries the staged program of one member and every transformation acts on that; only
evaluation starts threads, through the launcher of the devices' platform.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from funcgrad.base.aval import ShapedArray
from funcgrad.base.axes import AxisName, NamedAxisEffect
from funcgrad.base.backend import Device
from funcgrad.base.basis import scalar_like
from funcgrad.base.lists import drop, given, merge, pick, present, spread
from funcgrad.base.shapes import insert_dim
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.collective import psum_p
from funcgrad.transforms import backward, batching, forward, partial
from funcgrad.transforms.backward import backward_program, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted
from funcgrad.transforms.forward import jvp_program
from funcgrad.transforms.partial import Partial, split_program
from funcgrad.transforms.staging import stage_closed

pmap_p = Primitive("pmap", multiple_results=True)

MapAxes = tuple[int | None, ...]


@dataclass(frozen=True)
class Mapping:
    """What is mapped over: the axis, and the device of each member."""

    axis_name: AxisName
    devices: tuple[Device, ...]

    @property
    def size(self) -> int:
        return len(self.devices)


# By platform: (mapping, program of one member, each member's buffers) -> each member's outputs.
# Filled by dist, which owns threads.
launchers: dict[str, Callable[[Mapping, Callable, list[list[Any]]], list[list[Any]]]] = {}


def take(buffer: Any, axis: int | None, index: int) -> Any:
    return buffer if axis is None else buffer[(slice(None),) * axis + (index, ...)]


def pmap_evaluate(
    xp: Any,
    *buffers: Any,
    jaxpr: ClosedJaxpr,
    mapping: Mapping,
    in_axes: MapAxes,
    out_axes: MapAxes,
    **_: Any,
) -> list[Any]:
    inputs = [
        [take(b, a, i) for b, a in zip(buffers, in_axes, strict=True)] for i in range(mapping.size)
    ]
    outs = launchers[mapping.devices[0].platform](mapping, compiled(jaxpr), inputs)
    return [
        column[0] if axis is None else xp.stack(column, axis)
        for column, axis in zip(zip(*outs, strict=True), out_axes, strict=True)
    ]


def pmap_abstract(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, mapping: Mapping, out_axes: MapAxes, **_: Any
) -> tuple[tuple, Effects]:
    outs = tuple(
        a if axis is None else a.update(shape=insert_dim(a.shape, axis, mapping.size))
        for a, axis in zip(jaxpr.out_avals, out_axes, strict=True)
    )
    return outs, jaxpr.effects - {NamedAxisEffect(mapping.axis_name)}


def pmap_forward(
    primals: Sequence,
    tangents: Sequence,
    *,
    jaxpr: ClosedJaxpr,
    in_axes: MapAxes,
    out_axes: MapAxes,
    **params: Any,
) -> tuple:
    nonzero = present(tangents)
    program, out_nonzero = jvp_program(jaxpr, nonzero)
    outs = pmap_p.bind(
        *primals,
        *given(tangents),
        jaxpr=program,
        in_axes=(*in_axes, *pick(nonzero, in_axes)),
        out_axes=(*out_axes, *pick(out_nonzero, out_axes)),
        **params,
    )
    count = len(out_nonzero)
    return outs[:count], spread(out_nonzero, outs[count:])


def pmap_backward(
    cts: Sequence,
    *args: Any,
    jaxpr: ClosedJaxpr,
    mapping: Mapping,
    in_axes: MapAxes,
    out_axes: MapAxes,
    **params: Any,
) -> list[Any]:
    linear = tuple(map(is_linear, args))
    nonzero = present(cts)
    program, in_nonzero = backward_program(jaxpr, linear, nonzero)
    ct_axes = tuple(pick(in_nonzero, pick(linear, in_axes)))
    out_ct_axes = tuple(pick(nonzero, out_axes))
    whole = program.derived(
        ("pmap_backward", mapping, ct_axes, out_ct_axes),
        lambda: _sum_shared(program, mapping, ct_axes, out_ct_axes),
    )
    outs = pmap_p.bind(
        *drop(linear, args),
        *given(cts),
        jaxpr=whole,
        mapping=mapping,
        in_axes=(*drop(linear, in_axes), *out_ct_axes),
        out_axes=ct_axes,
        **params,
    )
    return spread(linear, spread(in_nonzero, outs))


def _sum_shared(
    program: ClosedJaxpr, mapping: Mapping, ct_axes: MapAxes, out_axes: MapAxes
) -> ClosedJaxpr:
    """Sum over the members the cotangents of what they share; an output that is the same for all
    members gives each its share of the cotangent."""
    first_ct = len(program.in_avals) - len(out_axes)

    def run(*flat: Any) -> list[Any]:
        cts = [
            div(ct, scalar_like(mapping.size, ct)) if axis is None else ct
            for ct, axis in zip(flat[first_ct:], out_axes, strict=True)
        ]
        outs = program(*flat[:first_ct], *cts)
        return [
            psum_p.bind(o, axes=(mapping.axis_name,), axis_index_groups=None) if a is None else o
            for o, a in zip(outs, ct_axes, strict=True)
        ]

    return stage_closed(run, program.in_avals)[0]


def pmap_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    /,
    *,
    jaxpr: ClosedJaxpr,
    in_axes: MapAxes,
    out_axes: MapAxes,
    **params: Any,
) -> tuple:
    batched = present(axes)
    program, out_batched = batch_program(jaxpr, axis, batched)

    def shift(mask: Sequence[bool], mapped: MapAxes) -> MapAxes:
        return tuple(a + 1 if b and a is not None else a for a, b in zip(mapped, mask, strict=True))

    outs = pmap_p.bind(
        *fronted(values, axes),
        jaxpr=program,
        in_axes=shift(batched, in_axes),
        out_axes=shift(out_batched, out_axes),
        **params,
    )
    return outs, [0 if b else None for b in out_batched]


def pmap_partial(trace: Partial, args: Sequence, params: dict[str, Any]) -> tuple:
    unknown = tuple(map(trace.is_unknown, args))
    split = split_program(params["jaxpr"], unknown)
    in_axes, out_axes = params["in_axes"], params["out_axes"]
    stacked = (0,) * len(split.residual_avals)
    outs = pmap_p.bind(
        *drop(unknown, args),
        **{
            **params,
            "jaxpr": split.known,
            "in_axes": tuple(drop(unknown, in_axes)),
            "out_axes": (*drop(split.out_unknown, out_axes), *stacked),
        },
    )
    count = len(outs) - len(stacked)
    rest = trace.record(
        pmap_p,
        [*outs[count:], *pick(unknown, args)],
        {
            **params,
            "jaxpr": split.unknown,
            "in_axes": (*stacked, *pick(unknown, in_axes)),
            "out_axes": tuple(pick(split.out_unknown, out_axes)),
        },
    )
    return merge(split.out_unknown, outs[:count], rest)


evaluate_rules[pmap_p] = pmap_evaluate
abstract_rules[pmap_p] = pmap_abstract
forward.rules[pmap_p] = pmap_forward
backward.rules[pmap_p] = pmap_backward
batching.rules[pmap_p] = pmap_batch
partial.rules[pmap_p] = pmap_partial
