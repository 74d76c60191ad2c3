"""What there is: the versions in use, the arrays alive, the processes taking part."""

import gc
import os
import sys
from typing import Any

from funcgrad._version import __version__
from funcgrad.api.devices import process_count, process_index
from funcgrad.base import backend as backends
from funcgrad.base.array import ConcreteArray
from funcgrad.base.tree import tree_leaves

LIBRARIES = ("numpy", "scipy", "ml_dtypes", "opt_einsum", "llvmlite", "cupy", "mpi4py")


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays that are alive and not deleted.

    Args:
        platform: only those on devices of this kind, such as "cpu"; None means the default's.

    Raises:
        RuntimeError: if there is no such platform.

    Example:
        >>> x = np.zeros(3)
        >>> any(a is x for a in live_arrays())
        True
    """
    wanted = set(backends.devices(platform))
    return [
        x
        for x in gc.get_objects()
        if type(x) is ConcreteArray and not x.is_deleted() and x.devices() <= wanted
    ]


def copy_to_host_async(x: Any) -> Any:
    """Begin to copy the arrays of a pytree to the host, where a later np.asarray finds them.

    Returns:
        The pytree itself. Leaves that are not arrays are left alone.
    """
    for leaf in tree_leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that take part."""
    return list(range(process_count(backend)))


def host_count(backend: str | None = None) -> int:
    """How many processes take part; an older name of `process_count`."""
    return process_count(backend)


def host_id(backend: str | None = None) -> int:
    """The number of this process; an older name of `process_index`."""
    return process_index(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """The numbers of all processes; an older name of `process_indices`."""
    return process_indices(backend)


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions, devices and settings that a report of a fault should tell.

    Args:
        return_string: whether to return the text instead of printing it.
    """
    import platform

    devices = backends.devices(None)
    kinds = ", ".join(sorted({d.platform for d in devices}))
    settings = [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if _is_setting(name)
    ]
    lines = [
        f"funcgrad: {__version__}",
        *(f"{name}: {_version(name)}" for name in LIBRARIES if _version(name)),
        f"python: {sys.version}",
        f"devices: {len(devices)} ({kinds})",
        f"processes: {process_count()}",
        f"platform: {platform.system()} {platform.release()} {platform.machine()}",
        f"settings: {' '.join(settings) or 'none'}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _is_setting(name: str) -> bool:
    return name.startswith(("FUNCGRAD_", "JAX_"))


def _version(name: str) -> str | None:
    # Loads slowly, which the import of the package shall not pay for.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
