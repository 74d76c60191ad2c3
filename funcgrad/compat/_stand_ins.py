"""Small things under JAX's private names that libraries use and funcgrad has no name for."""

from collections.abc import Callable
from typing import Any, TypeVar

import funcgrad.numpy as jnp
from funcgrad.compat._names import VERSION as version
from funcgrad.extend import core, source_info_util

F = TypeVar("F", bound=Callable)

# Files whose frames libraries leave out of tracebacks.
excluded_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Leave a file's frames out of tracebacks, and its lines out of errors."""
    excluded_paths.append(path)
    source_info_util.register_exclusion(path)


def include_frame(frame: Any) -> bool:
    """Whether a frame stays in a traceback."""
    return not frame.f_code.co_filename.startswith(tuple(excluded_paths))


def api_boundary(fun: F, **_: Any) -> F:
    """The function itself: tracebacks need no boundary."""
    return fun


def trace_state_clean() -> bool:
    """Whether no transformation is at work."""
    return core.get_opaque_trace_state() == _CLEAN


def physical_aval(aval: Any) -> Any:
    """The aval of what is in memory; extended dtypes aside, the same."""
    return aval


class ExtendedDType:
    """The base of dtypes that a library defines itself; arrays of them cannot be made here."""


def supports_inf(dtype: Any) -> bool:
    """Whether a float dtype has an infinity."""
    return bool(jnp.isinf(jnp.array(jnp.inf, dtype)))


class AbstractRef:
    """The type that mutable arrays have while they are traced in JAX; here nothing has it."""


class HiType:
    """The base of array types that a library defines itself; values of them cannot be made."""


class HiPrimitive:
    """The base of primitives on such types."""

    def __init__(self, name: str):
        self.name = name

    def bind(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{self.name}: types of a library's own are not offered yet")


class AllowedEffects:
    """The effects that control flow allows, where a library adds its own."""

    def add_type(self, effect: type) -> None:
        """Allow it: control flow refuses none here."""


def aval_method(method: F) -> F:
    return method


def aval_property(fget: Callable) -> property:
    return property(fget)


def register_hitype(*_: Any) -> None:
    """Nothing to register: values of such types cannot be made."""


allowed_effects = AllowedEffects()


def shard_map(*_: Any, **__: Any) -> Any:
    """Refused: programs over several devices come later."""
    raise NotImplementedError(
        "shard_map is not offered yet. vmap computes the same on one device, and pmap spreads a "
        "function over virtual devices."
    )


# Kinds of calls that programs here do not have: libraries look for them, and find none.
call_p = core.Primitive("call", multiple_results=True)
closed_call_p = core.Primitive("closed_call", multiple_results=True)
_CLEAN = core.get_opaque_trace_state()
pytree_registry: dict[type, Any] = {}
__all__ = [
    "call_p",
    "closed_call_p",
    "AbstractRef",
    "AllowedEffects",
    "ExtendedDType",
    "HiPrimitive",
    "HiType",
    "allowed_effects",
    "api_boundary",
    "aval_method",
    "aval_property",
    "excluded_paths",
    "include_frame",
    "physical_aval",
    "pytree_registry",
    "register_exclusion",
    "register_hitype",
    "shard_map",
    "supports_inf",
    "trace_state_clean",
    "version",
]
