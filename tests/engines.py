"""The two libraries that a test may ask the same question: `OURS`, and `JAX`, the reference.

Each is a namespace in which a function has its public name in `jax`, `jax.lax` or `jax.lax.linalg`
(or its internal one, for the few primitives that have no public function).
"""

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import funcgrad
import funcgrad.lax
import funcgrad.primitives
from funcgrad.base.trace import abstract_rules


class Engine:
    """The functions of a library, looked up in its modules in order."""

    def __init__(self, name: str, modules: Callable[[], list[ModuleType]], **extra: Callable):
        self._name = name
        self._find_modules = modules
        self._modules: list[ModuleType] | None = None
        self.__dict__.update(extra)

    def __getattr__(self, name: str) -> Any:
        if self._modules is None:
            self._modules = self._find_modules()
        for module in self._modules:
            if hasattr(module, name):
                found = getattr(module, name)
                setattr(self, name, found)
                return found
        raise AttributeError(f"{self._name} has no {name}")

    def __repr__(self) -> str:
        return self._name

    def x64(self) -> AbstractContextManager:
        return self.enable_x64(True)

    def leaves(self, tree: Any) -> list:
        return self.tree_util.tree_leaves(tree)


def family_files() -> list[ModuleType]:
    """Every module of `funcgrad.primitives`; with them, every primitive is registered."""
    return [
        importlib.import_module(f"funcgrad.primitives.{info.name}")
        for info in pkgutil.iter_modules(funcgrad.primitives.__path__)
    ]


def primitive_named(name: str) -> Any:
    family_files()
    (found,) = (p for p in abstract_rules if p.name == name)
    return found


def _our_modules() -> list[ModuleType]:
    linalg = getattr(funcgrad.lax, "linalg", None)
    return [
        funcgrad.lax,
        *([linalg] if linalg else []),
        funcgrad,
        importlib.import_module("funcgrad.ad_checkpoint"),
        *family_files(),
    ]


def _jax_modules() -> list[ModuleType]:
    names = ["jax.lax", "jax.lax.linalg", "jax", "jax.ad_checkpoint"]
    return [importlib.import_module(name) for name in names]


def _jax_primitive(name: str) -> Any:
    for module in (
        "jax._src.lax.lax",
        "jax._src.lax.windowed_reductions",
        "jax._src.lax.linalg",
        "jax.extend.random",
    ):
        found = getattr(importlib.import_module(module), f"{name}_p", None)
        if found is not None:
            return found
    raise AttributeError(f"JAX has no primitive {name}")


def _jax_select_and_scatter(*args: Any) -> Any:
    return importlib.import_module("jax._src.lax.windowed_reductions")._select_and_scatter(*args)


OURS = Engine("funcgrad", _our_modules, primitive=primitive_named)
JAX = Engine(
    "jax", _jax_modules, primitive=_jax_primitive, select_and_scatter=_jax_select_and_scatter
)
