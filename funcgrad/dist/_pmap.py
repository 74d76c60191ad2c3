"""pmap: one program on every device, each with its slice of the arguments."""

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from funcgrad.api.flat import Staged, give_up, stage_function
from funcgrad.api.statics import Statics, check_hashable, take_statics
from funcgrad.api.vmap import MappedArguments, check_axes_spec, mapped_arguments
from funcgrad.base.array import ConcreteArray
from funcgrad.base.axes import Axis, AxisName, bind_axis, bound_axes
from funcgrad.base.backend import Device
from funcgrad.base.backend import devices as all_devices
from funcgrad.base.memo import OncePerKey, context_key
from funcgrad.base.placement import PmapSharding
from funcgrad.base.shapes import canonical_axis, int_tuple, remove_axes
from funcgrad.base.source import function_name
from funcgrad.base.tree import flatten_axes, tree_unflatten
from funcgrad.dist._threads import ThreadGroup
from funcgrad.primitives import mapped
from funcgrad.primitives.mapped import Mapping, pmap_p

P = ParamSpec("P")
R = TypeVar("R")


class _Unnamed:
    """The name of a pmap axis that the user did not name."""

    def __repr__(self) -> str:
        return "<unnamed pmap axis>"


def pmap(
    fun: Callable[P, R],
    axis_name: AxisName | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    global_arg_shapes: Any = None,
) -> Callable[P, R]:
    """Run a function on many devices at once, each with its slice of the arguments.

    Args:
        fun: the function of one device. It may use collectives over `axis_name`.
        axis_name: a name for the mapped axis.
        in_axes: which axis of each argument is spread over the devices; None for an argument that
            every device gets whole.
        out_axes: where the devices' axis appears in each output; None takes the first device's.
        static_broadcasted_argnums: arguments that are settings, hashable.
        devices: the devices to use, in order; by default the first ones there are.
        axis_size: the number of devices, where no argument tells.
        donate_argnums: arguments whose Arrays may be given up.

    Returns:
        A function with the arguments of `fun`, each with the mapped axis.

    Raises:
        ValueError: if axis sizes disagree, or there are fewer devices than members; says how to
            have more.

    CPU devices are virtual: `config.update("num_cpu_devices", 4)` gives four, run by threads.
    """
    check_axes_spec("pmap", fun, in_axes, out_axes)
    if global_arg_shapes is not None:
        raise NotImplementedError("pmap: global_arg_shapes is not supported")
    static = int_tuple(static_broadcasted_argnums, "static_broadcasted_argnums")
    donated = int_tuple(donate_argnums, "donate_argnums")
    name: AxisName = _Unnamed() if axis_name is None else axis_name
    entries = OncePerKey()

    @functools.wraps(fun)
    def mapped_function(*args: P.args, **kwargs: P.kwargs) -> R:
        check_not_nested(fun)
        dynamic, kwargs_left, statics = take_statics(static, (), args, kwargs)
        check_hashable("pmap", fun, statics)
        target = statics.put_back(fun)
        spec = without_statics(in_axes, statics)
        call = mapped_arguments("pmap", target, spec, axis_size, dynamic, kwargs_left)
        mapping = Mapping(name, choose_devices(fun, call, devices))
        avals = tuple(
            v.aval if a is None else v.aval.update(shape=remove_axes(v.aval.shape, (a,)))
            for v, a in zip(call.values, call.axes, strict=True)
        )

        def make() -> tuple[Staged, bool]:
            with bind_axis(Axis(name, call.size, "pmap")):
                staged = stage_function(target, call.in_tree, avals, "pmap", tuple(call.names()))
            return staged, not staged.operands

        staged = entries.get((call.in_tree, avals, mapping, statics.key(), context_key()), make)
        wanted = flatten_axes("pmap out_axes", staged.out_tree, out_axes)
        placed = tuple(
            None if w is None else canonical_axis(w, a.ndim + 1, "pmap out_axes")
            for w, a in zip(wanted, staged.program.out_avals, strict=True)
        )
        outs = pmap_p.bind(
            *staged.operands,
            *call.values,
            jaxpr=staged.program,
            mapping=mapping,
            in_axes=(*(None,) * len(staged.operands), *call.axes),
            out_axes=placed,
            name=function_name(fun),
        )
        outs = [place(o, a, mapping) for o, a in zip(outs, placed, strict=True)]
        for i in donated:
            give_up(args[i])
        return tree_unflatten(staged.out_tree, outs)

    return mapped_function


def without_statics(in_axes: Any, statics: Statics) -> Any:
    """`in_axes` of the arguments that are left when the static ones are taken out."""
    if not isinstance(in_axes, (tuple, list)):
        return in_axes
    gone = {i for i, _ in statics.positional}
    return tuple(a for i, a in enumerate(in_axes) if i not in gone)


def check_not_nested(fun: Callable) -> None:
    outer = next((a for a in bound_axes() if a.bound_by == "pmap"), None)
    if outer is not None:
        raise NotImplementedError(
            f"nested pmap is not supported: pmap of {function_name(fun)} was called inside a pmap "
            f"over axis {outer.name!r}. Use vmap for the inner map, or one pmap over a merged axis."
        )


def choose_devices(
    fun: Callable, call: MappedArguments, chosen: Sequence[Device] | None
) -> tuple[Device, ...]:
    """A device for each member; a ValueError says how to have more when there are too few."""
    size = call.size
    if size == 0:
        raise ValueError(
            f"pmap of {function_name(fun)}: the mapped axis has length 0, so there is no member to "
            "run. Map an axis that is not empty, or use vmap."
        )
    available = list(chosen) if chosen is not None else all_devices()
    if size > len(available):
        lines = [
            f"  * argument '{call.names()[i]}' of shape {v.aval.shape}: size {size} along axis {a}"
            for i, (v, a) in enumerate(zip(call.values, call.axes, strict=True))
            if a is not None
        ]
        raise ValueError(
            f"pmap of {function_name(fun)} requires {size} logical devices (replicas), one for "
            f"each slice, but only {len(available)} are available: {available}.\n"
            + "\n".join(lines)
            + f'\nHave more with config.update("num_cpu_devices", {size}), or map a shorter axis.'
        )
    if chosen is not None and size != len(available):
        raise ValueError(
            f"pmap of {function_name(fun)}: {len(available)} devices were given for an axis of "
            f"size {size}"
        )
    return tuple(available[:size])


def place(out: Any, axis: int | None, mapping: Mapping) -> Any:
    """An output with the record of which device holds which slice."""
    if type(out) is not ConcreteArray:
        return out
    return ConcreteArray(out.buffer, out.aval, PmapSharding(mapping.devices, axis))


def run_in_threads(mapping: Mapping, program: Callable, inputs: list[list[Any]]) -> list[list[Any]]:
    """Run one program a member, each in a thread with a copy of the caller's context.

    The first error aborts the others at their next barrier and is raised here.
    """
    group = ThreadGroup(mapping.size)
    outs: list[Any] = [None] * mapping.size
    errors: list[tuple[int, BaseException]] = []

    def run(index: int) -> None:
        axis = Axis(mapping.axis_name, mapping.size, "pmap", group.member(index))
        try:
            with bind_axis(axis):
                outs[index] = program(*inputs[index])
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append((index, error))
            group.meeting.abort()

    if mapping.size == 1:
        run(0)
    else:
        threads = [
            threading.Thread(
                target=contextvars.copy_context().run, args=(run, i), name=f"funcgrad-device-{i}"
            )
            for i in range(mapping.size)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        index, error = min(errors, key=lambda pair: pair[0])
        error.add_note(f"Raised on {mapping.devices[index]} (member {index} of the pmap).")
        raise error
    return outs


mapped.launchers["cpu"] = run_in_threads
