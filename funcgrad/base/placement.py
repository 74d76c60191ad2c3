"""Which device holds which part of an array."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from funcgrad.base.backend import Device, default_device

Index = tuple[slice, ...]


class Shard(NamedTuple):
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
