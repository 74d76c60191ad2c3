"""Importing `jax` or a module inside it, answered with funcgrad's modules.

The finder stands before all others, so that an installed JAX is not imported either.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from email.message import Message
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

from funcgrad.compat import _stand_ins
from funcgrad.compat._names import EXTRA, PRIVATE, VERSION

ROOTS = ("jax", "jaxlib")


def install() -> None:
    """Have `import jax` give funcgrad, here and in every library imported later.

    Modules of JAX become the modules of funcgrad with the same name; private ones hold the few
    names that libraries are known to use. `jax.__version__` and the version that
    `importlib.metadata` tells are those of the JAX that funcgrad follows.

    Raises:
        RuntimeError: if JAX itself has been imported in this process.

    Example:
        >>> install()
        >>> import jax
        >>> float(jax.grad(jax.numpy.sin)(0.0))
        1.0
        >>> uninstall()
    """
    if any(isinstance(finder, Door) for finder in sys.meta_path):
        return
    imported = sorted(name for name in sys.modules if name.split(".")[0] in ROOTS)
    if imported:
        raise RuntimeError(
            f"compat.install: {imported[0]} has been imported in this process already, and a "
            "library must not see two of them. Call install() first, before other imports."
        )
    sys.meta_path.insert(0, Door())


def uninstall() -> None:
    """Take the door away; libraries that were imported through it keep what they have."""
    doors = [finder for finder in sys.meta_path if isinstance(finder, Door)]
    for door in doors:
        sys.meta_path.remove(door)
    if doors:
        for name in [n for n in sys.modules if n.split(".")[0] in ROOTS]:
            del sys.modules[name]
        for name in PRIVATE:
            home, _, own = f"funcgrad.{name.partition('.')[2]}".rpartition(".")
            if sys.modules.pop(f"{home}.{own}", None) is not None:
                delattr(sys.modules[home], own)


class Shown(ModuleType):
    """A module of funcgrad under JAX's name, with what a table adds; the root has JAX's version."""

    def __init__(self, name: str, home: ModuleType):
        super().__init__(name, home.__doc__)
        self.__path__, self._home = [], home
        if name == "jax":
            self.__version__ = VERSION
            self.__version_info__ = tuple(map(int, VERSION.split(".")))

    def __getattr__(self, name: str) -> Any:
        added = EXTRA[self.__name__]
        if name in added:
            return getattr(_stand_ins, added[name])
        try:
            return getattr(self._home, name)
        except AttributeError:
            pass
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r} here: funcgrad stands in its "
                "place, and does not have it"
            ) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *EXTRA[self.__name__], *dir(self._home)})


class Private(ModuleType):
    """A module with the names that a table gives it."""

    def __init__(self, name: str, table: dict[str, str]):
        super().__init__(name)
        self.__path__ = []
        for attribute, place in table.items():
            module, _, found = place.rpartition(":")
            home = importlib.import_module(module) if module else _stand_ins
            setattr(self, attribute, getattr(home, found))


class Door(MetaPathFinder, Loader):
    """Finds and loads modules of JAX's name."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root == "funcgrad" and f"jax.{rest}" in PRIVATE:
            # `from jax.experimental import x` looks for x under that module's own name.
            return ModuleSpec(fullname, self, is_package=True)
        if root not in ROOTS:
            return None
        if fullname != "jax" and fullname not in PRIVATE and not exists(f"funcgrad.{rest}"):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in PRIVATE:
            return Private(spec.name, PRIVATE[spec.name])
        if spec.name.startswith("funcgrad."):
            return importlib.import_module(f"jax.{spec.name.partition('.')[2]}")
        module = importlib.import_module(spec.name.replace("jax", "funcgrad", 1))
        if spec.name in EXTRA:
            return Shown(spec.name, module)
        # The import system is about to write the alias's spec into it.
        self.specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        given = module.__spec__
        if given is not None and given.name in self.specs:
            module.__spec__ = self.specs.pop(given.name)

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        """What `importlib.metadata` asks for, by the name of a distribution."""
        if context is not None and context.name in ROOTS:
            yield Pretended(context.name)


def exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class Pretended(Distribution):
    """The metadata of a distribution that is not installed: its name and version."""

    def __init__(self, name: str):
        self._name = name

    @property
    def metadata(self) -> Any:
        message = Message()
        message["Name"], message["Version"] = self._name, VERSION
        return message

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{self._name} has no files here: funcgrad stands in its place")
