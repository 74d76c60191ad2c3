"""Putting arrays on devices, taking them off, and waiting for them."""

from typing import Any, TypeVar

import numpy as np

from funcgrad.api.meshes import placed
from funcgrad.base import backend
from funcgrad.base.array import as_value
from funcgrad.base.backend import Device
from funcgrad.base.placement import Sharding, SingleDeviceSharding
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import flatten_axes, tree_flatten, tree_leaves, tree_map, tree_unflatten
from funcgrad.primitives.structural import copy

T = TypeVar("T")


def devices(backend_name: str | None = None) -> list[Device]:
    """All devices; `config.num_cpu_devices` says how many virtual CPU devices there are."""
    return backend.devices(backend_name)


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices of this process, which are all there are."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process; 0, there being one."""
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes there are; 1."""
    return 1


def default_backend() -> str:
    """The platform of the default device."""
    return backend.default_device().platform


def device_put(
    x: Any,
    device: Device | Sharding | None = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """The arrays of a pytree, on a device.

    Args:
        x: a pytree of arrays, NumPy arrays or numbers; NumPy arrays are copied.
        device: a Device or Sharding, or a pytree prefix of those; None leaves arrays where they
            are, uncommitted.
    """
    leaves, tree = tree_flatten(x)
    if device is None or isinstance(device, (Device, Sharding)):
        places: list[Any] = [device] * len(leaves)
    else:
        places = flatten_axes("device_put device", tree, device)
    return tree_unflatten(tree, [_put(v, p) for v, p in zip(leaves, places, strict=True)])


def _put(leaf: Any, place: Device | Sharding | None) -> Any:
    value = as_value(leaf)
    if isinstance(value, Tracer):
        return copy(value)
    if place is None:
        return value
    if not isinstance(place, (Device, Sharding)):
        raise ValueError(f"device_put: expected a Device or Sharding, got {place!r:.80}")
    return placed(value, place if isinstance(place, Sharding) else SingleDeviceSharding(place))


def device_get(x: Any) -> Any:
    """The arrays of a pytree as NumPy arrays (read-only views where they are on the host)."""
    return tree_map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)


def device_put_replicated(x: Any, devices: list[Device]) -> Any:
    """Each array stacked once for every device, as pmap takes it."""
    return tree_map(lambda leaf: as_value(np.stack([np.asarray(leaf)] * len(devices))), x)


def device_put_sharded(shards: list[Any], devices: list[Device]) -> Any:
    """The i-th pytree for the i-th device, stacked as pmap takes it."""
    if len(shards) != len(devices):
        raise ValueError(
            f"device_put_sharded: {len(shards)} shards were given for {len(devices)} devices"
        )
    return tree_map(lambda *leaves: as_value(np.stack([np.asarray(v) for v in leaves])), *shards)


def block_until_ready(x: T) -> T:
    """Wait until every array of a pytree is computed; returns the pytree itself."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x
