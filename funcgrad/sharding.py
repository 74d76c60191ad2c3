"""Where arrays live."""

from funcgrad.base.placement import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    PmapSharding,
    Sharding,
    SingleDeviceSharding,
)

__all__ = [
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "PmapSharding",
    "Sharding",
    "SingleDeviceSharding",
]
