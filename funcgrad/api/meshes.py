"""Meshes of this process's devices, and arrays spread over them.

All devices share one memory, so an array is one buffer wherever it is placed: a sharding says which
device holds which slice, and values never depend on it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base import backend
from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.backend import Device
from funcgrad.base.mesh import AbstractMesh, AxisType, Mesh, get_abstract_mesh, get_mesh
from funcgrad.base.placement import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from funcgrad.base.tree import flatten_axes, tree_flatten, tree_unflatten


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, in their order.

    Args:
        axis_shapes: how many devices stand along each axis.
        axis_names: a name for each axis.
        axis_types: an AxisType for each axis; Explicit by default.
        devices: which devices; all of them by default.

    Raises:
        ValueError: if there are fewer devices.
    """
    found = list(backend.devices(None) if devices is None else devices)
    wanted = math.prod(axis_shapes)
    if wanted > len(found):
        raise ValueError(
            f"make_mesh: axes of sizes {tuple(axis_shapes)} take {wanted} devices, and there are "
            f"{len(found)}; config.num_cpu_devices says how many virtual ones there are."
        )
    array = np.empty(wanted, dtype=object)
    array[:] = found[:wanted]
    types = (AxisType.Explicit,) * len(axis_shapes) if axis_types is None else axis_types
    return Mesh(array.reshape(axis_shapes), axis_names, types)


def make_single_device_sharding(device: Device, *, memory_kind: str | None = None) -> Sharding:
    """The whole array on one device; `memory_kind` is None or "device"."""
    if memory_kind not in (None, "device"):
        raise ValueError(
            f"make_single_device_sharding: there is the memory kind 'device' here, got "
            f"{memory_kind!r}"
        )
    return SingleDeviceSharding(device)


def sharding_of(place: Any, asked: str) -> Sharding:
    """A sharding, from one or from a PartitionSpec for the context's mesh."""
    if isinstance(place, Sharding):
        return place
    if not isinstance(place, PartitionSpec):
        raise TypeError(
            f"{asked} takes Shardings and PartitionSpecs, got {type(place).__name__}: {place!r:.80}"
        )
    mesh = get_mesh()
    if mesh.empty and get_abstract_mesh().empty:
        raise RuntimeError(
            f"{asked}: {place!r} needs a non-empty mesh in the context. Set one with "
            "set_mesh(mesh), or pass NamedSharding(mesh, spec)."
        )
    return NamedSharding(get_abstract_mesh() if mesh.empty else mesh, place)


def placed(value: Any, sharding: Sharding) -> Any:
    """An array with a sharding that fits its shape; as it is if it is traced, or no device told."""
    value = as_value(value)
    if isinstance(sharding, NamedSharding):
        sharding.check_compatible_aval(aval_of(value).shape)
        if isinstance(sharding.mesh, AbstractMesh):
            return value
    if type(value) is not ConcreteArray:
        return value
    return ConcreteArray(value.buffer, value.aval, sharding)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree, spread as told; values do not change.

    Under a transformation shapes are checked, and the placement is left to the devices.

    Args:
        x: a pytree of arrays.
        shardings: a Sharding, a PartitionSpec for the context's mesh, or a pytree prefix of those.

    Raises:
        RuntimeError: for a PartitionSpec where no mesh is set.
        ValueError: where an axis is not divided evenly.
    """
    return spread(x, shardings, "with_sharding_constraint")


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The same for arrays that are spread already; see `with_sharding_constraint`."""
    return spread(xs, out_shardings, "reshard")


def spread(x: Any, places: Any, asked: str, move: bool = True) -> Any:
    """The arrays of a pytree, each where its place says; None leaves one where it is.

    Raises a ValueError for an array that is committed elsewhere, unless it may `move`.
    """
    leaves, tree = tree_flatten(x)
    if places is None or isinstance(places, Sharding | PartitionSpec):
        each = [places] * len(leaves)
    else:
        each = flatten_axes(asked, tree, places)
    found = []
    for leaf, place in zip(leaves, each, strict=True):
        sharding = None if place is None else sharding_of(place, asked)
        if sharding is not None and not move:
            check_uncommitted(leaf, sharding, asked)
        found.append(leaf if sharding is None else placed(leaf, sharding))
    return tree_unflatten(tree, found)


def check_uncommitted(leaf: Any, sharding: Sharding, asked: str) -> None:
    """Raise a ValueError for an array that is committed to other places."""
    held = leaf._sharding if type(leaf) is ConcreteArray else None
    if held is None:
        return
    shape = leaf.aval.shape
    if held.devices_indices_map(shape) != sharding.devices_indices_map(shape):
        raise ValueError(
            f"{asked}: an argument of type {leaf.aval.str_short()} is committed to {held!r}, and "
            f"{sharding!r} was told. Move it with device_put first."
        )
