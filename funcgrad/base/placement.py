"""Which device holds which part of an array."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.base.backend import Device, default_device

Index = tuple[slice, ...]


@dataclass(frozen=True)
class Shard:
    """The part of an array that one device holds."""

    device: Device
    index: Index
    data: Any


class Sharding:
    """A rule that says, for any shape, which device holds which slice."""

    @property
    def device_set(self) -> set[Device]:
        return set(self.devices_indices_map(()))

    @property
    def is_fully_replicated(self) -> bool:
        return False

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        raise TypeError(f"{type(self).__name__} does not say where slices go")


@dataclass(frozen=True)
class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    device: Device

    @property
    def device_set(self) -> set[Device]:
        return {self.device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        return {self.device: (slice(None),) * len(global_shape)}


def default_sharding() -> Sharding:
    return SingleDeviceSharding(default_device())


@dataclass(frozen=True, repr=False)
class PmapSharding(Sharding):
    """One slice along an axis for each device, or the whole array on each (axis None)."""

    devices: tuple[Device, ...]
    axis: int | None

    @property
    def device_set(self) -> set[Device]:
        return set(self.devices)

    @property
    def is_fully_replicated(self) -> bool:
        return self.axis is None

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        whole = (slice(None),) * len(global_shape)
        if self.axis is None:
            return dict.fromkeys(self.devices, whole)
        return {
            device: (*whole[: self.axis], slice(i, i + 1), *whole[self.axis + 1 :])
            for i, device in enumerate(self.devices)
        }

    def __repr__(self) -> str:
        if self.axis is None:
            return f"PmapSharding(the whole array on each of {list(self.devices)})"
        before = ":, " * self.axis
        lines = [f"  {d}: [{before}{i}]" for i, d in enumerate(self.devices)]
        return "PmapSharding(\n" + "\n".join(lines) + "\n)"


class PartitionSpec(tuple):
    """For each array axis, the mesh axis (or axes) it is spread over, or None."""

    def __new__(cls, *partitions: Any) -> "PartitionSpec":
        return super().__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"PartitionSpec{super().__repr__()}"

    def __reduce__(self) -> tuple:
        return (PartitionSpec, tuple(self))


@dataclass(frozen=True)
class NamedSharding(Sharding):
    """A mesh of devices and how an array is spread over it; one device for now."""

    mesh: Any
    spec: PartitionSpec

    def __post_init__(self) -> None:
        if len(self.devices) != 1:
            raise NotImplementedError(
                f"NamedSharding over {len(self.devices)} devices is not offered yet: meshes come "
                "later; use pmap to spread work over devices"
            )

    @property
    def devices(self) -> list[Device]:
        return list(np.asarray(self.mesh.devices, dtype=object).flat)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        return {self.devices[0]: (slice(None),) * len(global_shape)}


class Mesh:
    """An array of devices with a name for each of its axes."""

    def __init__(self, devices: Any, axis_names: str | Sequence[str]):
        self.devices = np.asarray(devices, dtype=object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError(
                f"Mesh: {self.devices.ndim} device axes need as many names, got {self.axis_names}"
            )

    @property
    def shape(self) -> dict[str, int]:
        return dict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def size(self) -> int:
        return self.devices.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return self.axis_names, self.devices.shape, tuple(self.devices.flat)

    def __repr__(self) -> str:
        return f"Mesh(axis_sizes={self.devices.shape}, axis_names={self.axis_names})"
