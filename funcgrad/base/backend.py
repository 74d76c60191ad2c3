"""NumPy or CuPy: which library owns a buffer, and the virtual devices that buffers live on."""

from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from funcgrad.base.config import config

Buffer = Any


@dataclass(frozen=True, repr=False, slots=True)
class Device:
    """One place where programs run and buffers live; CPU devices are virtual, run by threads."""

    platform: str
    id: int

    @property
    def device_kind(self) -> str:
        return self.platform

    @property
    def process_index(self) -> int:
        return 0

    @property
    def local_hardware_id(self) -> int:
        return self.id

    @property
    def client(self) -> str:
        return self.platform

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform.upper()}_{self.id}"


@lru_cache
def _cpu_devices(count: int) -> tuple[Device, ...]:
    return tuple(Device("cpu", i) for i in range(count))


def devices(backend: str | None = None) -> list[Device]:
    """Every device of a platform; `config.num_cpu_devices` says how many CPU devices there are."""
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend!r}: this build of funcgrad has 'cpu' only.")
    return list(_cpu_devices(config.num_cpu_devices))


def default_device() -> Device:
    """Where new arrays go: `config.default_device` if set, else the first device."""
    chosen = config.default_device
    return chosen if isinstance(chosen, Device) else devices()[0]


def _find_error_state() -> tuple[ContextVar, Any]:
    """The context variable that np.errstate sets, and its value where all errors are ignored.

    For a NumPy that keeps its state elsewhere, a variable of no effect: its warnings will show.
    """
    before = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context().items()
    changed = [(variable, value) for variable, value in inside if before.get(variable) is not value]
    return changed[0] if len(changed) == 1 else (ContextVar("error_state"), None)


# Setting NumPy's variable ourselves costs a tenth of entering np.errstate(all="ignore").
ERROR_STATE, IGNORE_ERRORS = _find_error_state()


def namespace(buffer: Buffer) -> Any:
    """The array library that owns `buffer`."""
    if type(buffer) is np.ndarray:
        return np
    return cupy() if type(buffer).__module__.partition(".")[0] == "cupy" else np


def cupy() -> Any:
    """The CuPy module; importing it is left to the first use."""
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy


def scipy(module: str, xp: Any = np) -> Any:
    """SciPy's module of that name, or CuPy's counterpart; importing it is left to the first use."""
    return import_module(f"{'scipy' if xp is np else 'cupyx.scipy'}.{module}")


def to_numpy(buffer: Buffer) -> np.ndarray:
    """A buffer brought to the host; NumPy's own are returned as they are."""
    return buffer if isinstance(buffer, np.ndarray) else buffer.get()


def read_only_view(buffer: np.ndarray) -> np.ndarray:
    """A view that nobody can make writeable: the memory's owner is marked read-only too."""
    owner = buffer
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    owner.flags.writeable = False
    view = buffer.view()
    view.flags.writeable = False
    return view


def synchronize(buffer: Buffer) -> None:
    """Wait until whatever computes `buffer` is done; NumPy computes at once."""
    if namespace(buffer) is not np:
        cupy().cuda.get_current_stream().synchronize()
