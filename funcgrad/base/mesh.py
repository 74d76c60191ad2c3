"""Meshes: devices in an array whose axes have names, with or without the devices themselves."""

import contextvars
import enum
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from funcgrad.base.backend import Device


class AxisType(enum.Enum):
    """Who spreads arrays over a mesh axis: the compiler, their types, or the user's own code."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class Axes:
    """What a mesh and an abstract mesh have in common: axes with names, sizes and types."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> dict[Any, int]:
        return dict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _of_type(self, wanted: AxisType) -> tuple[Any, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, kind in pairs if kind is wanted)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        return len(self.explicit_axes) == len(self.axis_names)

    @property
    def are_all_axes_manual(self) -> bool:
        return len(self.manual_axes) == len(self.axis_names)

    def _text(self) -> str:
        sizes = "".join(f"{name!r}: {size}, " for name, size in self.shape_tuple)
        return f"{sizes}axis_types={self.axis_types!r}"


def checked_axes(
    what: str, names: Any, sizes: Sequence[int], types: Any
) -> tuple[tuple[Any, ...], tuple[AxisType, ...]]:
    """Names and types of as many axes as there are sizes."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) != len(sizes):
        raise ValueError(
            f"{what}: devices in {len(sizes)} axes of sizes {tuple(sizes)} need as many names, got "
            f"{names}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"{what}: axis names must differ, got {names}")
    if types is None:
        types = AxisType.Auto
    types = (types,) * len(names) if isinstance(types, AxisType) else tuple(types)
    if len(types) != len(names) or not all(isinstance(t, AxisType) for t in types):
        raise ValueError(f"{what}: axis_types are AxisTypes, one for each of {names}; got {types}")
    return names, types


class AbstractMesh(Axes):
    """The axes of a mesh without its devices.

    Args:
        axis_sizes: how many devices stand along each axis.
        axis_names: a name for each axis, or one name alone.
        axis_types: an AxisType for each axis, or one for all; Auto by default.
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ):
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names, self.axis_types = checked_axes(
            "AbstractMesh", axis_names, self.axis_sizes, axis_types
        )

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return self.axis_names, self.axis_sizes, self.axis_types

    def __repr__(self) -> str:
        return f"AbstractMesh({self._text()})"


class Mesh(Axes):
    """An array of devices with a name for each of its axes.

    Args:
        devices: an array of Devices, or a sequence of them for one axis.
        axis_names: a name for each axis, or one name alone.
        axis_types: an AxisType for each axis; Auto by default.
    """

    def __init__(
        self,
        devices: Any,
        axis_names: str | Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ):
        self.devices = np.asarray(devices, dtype=object)
        self.axis_sizes = self.devices.shape
        self.axis_names, self.axis_types = checked_axes(
            "Mesh", axis_names, self.axis_sizes, axis_types
        )

    @property
    def size(self) -> int:
        return self.devices.size if self.axis_names else 0

    @property
    def is_scalar(self) -> bool:
        """Whether it is one device without an axis."""
        return self.devices.ndim == 0

    @property
    def device_ids(self) -> np.ndarray:
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        return list(self.devices.flat)

    @property
    def local_mesh(self) -> "Mesh":
        """The part of this process: all of it, since there is one."""
        return self

    @property
    def is_multi_process(self) -> bool:
        """Never: all devices are those of this process."""
        return False

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> "Mesh":
        """The same with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> "Mesh":
        _entered.set((*_entered.get(), _context.set(self)))
        return self

    def __exit__(self, *exception: object) -> None:
        *before, token = _entered.get()
        _entered.set(tuple(before))
        _context.reset(token)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return self.axis_names, self.devices.shape, tuple(self.devices.flat), self.axis_types

    def __repr__(self) -> str:
        return f"Mesh({self._text() if self.axis_names else ''})"


NO_MESH = Mesh(np.empty((), dtype=object), ())
_context: contextvars.ContextVar[Mesh | AbstractMesh] = contextvars.ContextVar(
    "mesh", default=NO_MESH
)
_entered: contextvars.ContextVar[tuple] = contextvars.ContextVar("entered meshes", default=())


def get_mesh() -> Mesh:
    """The mesh of the context, an empty one where none is set."""
    mesh = _context.get()
    return mesh if isinstance(mesh, Mesh) else NO_MESH


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the context's mesh."""
    return _context.get().abstract_mesh


class set_mesh:
    """Set the context's mesh: for good when it is called, for the block in a `with` statement."""

    def __init__(self, mesh: Mesh | None):
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh takes a Mesh, got {type(mesh).__name__}: {mesh!r:.80}")
        self._mesh = NO_MESH if mesh is None else mesh
        self._token = _context.set(self._mesh)

    def __enter__(self) -> Mesh:
        return self._mesh

    def __exit__(self, *exception: object) -> None:
        _context.reset(self._token)


@contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[AbstractMesh]:
    """Have a mesh without devices as the context's in the block."""
    token = _context.set(mesh)
    try:
        yield mesh
    finally:
        _context.reset(token)
