"""Which device holds which part of an array."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from funcgrad.base.backend import Device, default_device
from funcgrad.base.mesh import AbstractMesh, Mesh

Index = tuple[slice, ...]


@dataclass(frozen=True)
class Shard:
    """The part of an array that one device holds."""

    device: Device
    index: Index
    data: Any
    replica_id: int = 0  # how many devices before this one hold the same part


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


class PartitionSpec:
    """For each array axis, the mesh axis (or a tuple of them) it is spread over, or None.

    Axes past its end are not spread. `UNCONSTRAINED` leaves an axis as it is.
    """

    __slots__ = ("partitions",)

    UNCONSTRAINED = "UNCONSTRAINED"

    def __init__(self, *partitions: Any):
        self.partitions = tuple(
            p[0] if isinstance(p, tuple) and len(p) == 1 else p for p in map(_as_tuple, partitions)
        )

    @property
    def used(self) -> list[Any]:
        """The mesh axes that are named, in order."""
        return [name for part in self.partitions for name in names_of(part)]

    def update(self, partitions: Sequence[Any]) -> "PartitionSpec":
        """The same with other partitions."""
        return PartitionSpec(*partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: "PartitionSpec | tuple") -> "PartitionSpec":
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: tuple) -> "PartitionSpec":
        return PartitionSpec(*other, *self.partitions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __repr__(self) -> str:
        return f"P{self.partitions!r}"

    def __reduce__(self) -> tuple:
        return (PartitionSpec, self.partitions)


def _as_tuple(part: Any) -> Any:
    return tuple(part) if isinstance(part, (list, tuple)) else part


def names_of(part: Any) -> tuple[Any, ...]:
    """The mesh axes that one array axis is spread over."""
    if part is None or part is PartitionSpec.UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


@dataclass(frozen=True)
class NamedSharding(Sharding):
    """A mesh of devices and how an array is spread over it.

    Args:
        mesh: a Mesh, or an AbstractMesh for a rule without devices.
        spec: a PartitionSpec of the mesh's axes.
        memory_kind: None or "device".

    Raises:
        ValueError: for an axis that the mesh does not have, or that is named twice.
    """

    mesh: Mesh | AbstractMesh
    spec: PartitionSpec
    memory_kind: str | None = "device"

    def __post_init__(self) -> None:
        if not isinstance(self.spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding: spec is a PartitionSpec such as P('x', None), got {self.spec!r}"
            )
        used = self.spec.used
        for name in used:
            if name not in self.mesh.axis_names:
                raise ValueError(
                    f"NamedSharding: axis {name!r} of {self.spec} is not found in mesh: "
                    f"{self.mesh.axis_names}"
                )
        repeated = sorted({str(n) for n in used if used.count(n) > 1})
        if repeated:
            raise ValueError(
                f"NamedSharding: {self.spec} has duplicate entries for {', '.join(repeated)}; a "
                "mesh axis can spread one array axis only"
            )
        object.__setattr__(self, "memory_kind", self.memory_kind or "device")

    @property
    def devices(self) -> list[Device]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(f"{self!r} has no devices, since its mesh is abstract")
        return list(self.mesh.devices.flat)

    @property
    def device_set(self) -> set[Device]:
        return set(self.devices)

    @property
    def addressable_devices(self) -> set[Device]:
        return self.device_set

    has_addressable_devices = is_fully_addressable = True

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        return all(self.mesh.shape[name] == 1 for name in self.spec.used)

    @property
    def replicated_axes(self) -> frozenset[Any]:
        return frozenset(self.mesh.axis_names) - frozenset(self.spec.used)

    def parts(self, shape: Sequence[int]) -> list[int]:
        """Into how many equal parts each axis of an array is cut.

        Raises a ValueError for a shape that the spec does not fit.
        """
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{self.spec} is for arrays of rank {len(self.spec)} at least, got {tuple(shape)}"
            )
        sizes = self.mesh.shape
        specs = (*self.spec, *(None,) * (len(shape) - len(self.spec)))
        counts = [math.prod(sizes[name] for name in names_of(part)) for part in specs]
        for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
            if size % count:
                raise ValueError(
                    f"{self!r} cuts axis {axis} of an array of shape {tuple(shape)} into {count} "
                    f"parts, which does not divide its size {size}. Pad it, or leave it whole."
                )
        return counts

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part that each device holds."""
        counts = self.parts(global_shape)
        return tuple(size // count for size, count in zip(global_shape, counts, strict=True))

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise a ValueError unless arrays of that shape can be spread so."""
        self.parts(aval_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """Which slice of an array each device holds."""
        counts = self.parts(global_shape)
        names, sizes = self.mesh.axis_names, self.mesh.axis_sizes
        found = {}
        for device, place in zip(self.devices, np.ndindex(*sizes), strict=True):
            at, index = dict(zip(names, place, strict=True)), []
            for axis, (size, count) in enumerate(zip(global_shape, counts, strict=True)):
                part = 0
                for name in names_of(self.spec[axis] if axis < len(self.spec) else None):
                    part = part * self.mesh.shape[name] + at[name]
                step = size // count
                whole = count == 1
                index.append(slice(None) if whole else slice(part * step, (part + 1) * step))
            found[device] = tuple(index)
        return found

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        return self.devices_indices_map(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both give each device the same slice of any array of that rank."""
        shape = (math.lcm(self.num_devices, len(other.device_set)),) * ndim
        return self.devices_indices_map(shape) == other.devices_indices_map(shape)

    def update(self, **changes: Any) -> "NamedSharding":
        """The same with another mesh, spec or memory kind."""
        return replace(self, **changes)

    def with_memory_kind(self, kind: str) -> "NamedSharding":
        """The same for memory of some kind, of which there is "device" here."""
        if kind != "device":
            raise ValueError(f"with_memory_kind: there is the kind 'device' here, got {kind!r}")
        return self


@dataclass(frozen=True)
class Layout:
    """The order of an array's axes in memory, the one with the longest stride first."""

    major_to_minor: tuple[int, ...]


@dataclass(frozen=True)
class Format:
    """How an array lies in memory, and where: None leaves either open."""

    layout: Layout | None = None
    sharding: Sharding | None = None


def format_of(rank: int, sharding: Sharding) -> Format:
    """Arrays are stored row by row."""
    return Format(Layout(tuple(range(rank))), sharding)
