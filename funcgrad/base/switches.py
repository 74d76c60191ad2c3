"""What a setting is: a process-wide value that `with` blocks override in their own context.

An override is seen by the context (thread, task) that made it and by no other.
"""

import functools
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, overload

import numpy as np

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_UNSET: Any = object()


@dataclass(frozen=True)
class Kind(Generic[T]):
    """The values a switch takes: in words, as a check that may convert, and as environment text."""

    wants: str
    check: Callable[[Any], T]
    read: Callable[[str], Any] = str


def _truth(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise ValueError


def _truth_word(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "t", "yes", "y", "on"):
        return True
    if word in ("0", "false", "f", "no", "n", "off"):
        return False
    raise ValueError


def _word(text: str) -> str | None:
    return None if text.strip().lower() in ("", "none") else text.strip()


def integer(least: int | None = None) -> Kind[int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError
        if least is not None and value < least:
            raise ValueError
        return int(value)

    return Kind("an integer" if least is None else f"an integer of {least} or more", check, int)


def choice(*options: str | None) -> Kind[Any]:
    def check(value: Any) -> str | None:
        if not (value is None or isinstance(value, str)) or value not in options:
            raise ValueError
        return value

    return Kind("one of " + ", ".join(map(repr, options)), check, _word)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not float(value) >= 0:
        raise ValueError
    return float(value)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return os.fspath(value)


def _platforms(value: str | None) -> str | None:
    if value is not None and not set(value.split(",")) <= {"cpu", "gpu", "cuda"}:
        raise ValueError
    return value


def _device(value: Any) -> Any:
    if value in (None, "cpu", "gpu", "cuda") or hasattr(value, "platform"):
        return value
    raise ValueError


def _hashable(value: Any) -> Any:
    hash(value)
    return value


FLAG = Kind("True or False", _truth, _truth_word)
SECONDS = Kind("a number of seconds, 0 or more", _seconds)
TEXT = Kind("a string, a path or None", _text, _word)
PLATFORMS = Kind("None or a comma-separated list of 'cpu', 'gpu', 'cuda'", _platforms, _word)
DEVICE = Kind("None, a Device such as devices()[0], or one of 'cpu', 'gpu', 'cuda'", _device, _word)
HASHABLE = Kind("a hashable value", _hashable)
GUARD = choice(None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
PRECISION = choice(
    *(None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY"),
    *("ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16"),
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)


class _Overrides(dict[str, Any]):
    """What the `with` blocks around the running code set, by name; a new one for every change."""

    __slots__ = ("generation", "key", "watching")

    def __init__(self, values: dict[str, Any] | None = None):
        super().__init__(values or {})
        self.generation = -1
        self.key: tuple = ()
        self.watching = False

    def refresh(self) -> None:
        """Work out anew what follows from all switches together."""
        generation = _generation
        self.key = tuple(
            (switch.name, value)
            for switch in _traced
            if (value := self.get(switch.name, switch.process_value)) != switch.default
        )
        self.watching = any(self.get(s.name, s.process_value) for s in _watched)
        self.generation = generation


_overrides: ContextVar[_Overrides] = ContextVar("funcgrad_overrides", default=_Overrides())  # noqa: B039
_lock = threading.Lock()
_generation = 0  # counts the changes of process-wide values, so that cached trace keys can tell

SWITCHES: dict[str, "Switch[Any]"] = {}
_traced: list["Switch[Any]"] = []
_watched: list["Switch[Any]"] = []


class Switch(Generic[T]):
    """One setting. Read on `config` it is its value; called with a value it is a context manager.

    `traced` ones are part of what every trace depends on; `watched` ones, if on, make evaluation
    look at every result. `also` names switches that take every value this one is given.
    """

    def __init__(
        self,
        default: T,
        kind: Kind[T],
        help: str,
        *,
        traced: bool = False,
        watched: bool = False,
        also: tuple[str, ...] = (),
    ):
        self.name = self.__name__ = ""
        self.default = self.process_value = default
        self.kind, self.traced, self.also = kind, traced, also
        self.__doc__ = help
        if traced:
            _traced.append(self)
        if watched:
            _watched.append(self)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.__name__ = name
        SWITCHES[name] = self
        setattr(owner, f"jax_{name}", self)

    def read_environment(self) -> None:
        variable = f"FUNCGRAD_{self.name.upper()}"
        text = os.environ.get(variable)
        if text is not None:
            try:
                self.set_global(self.kind.read(text))
            except ValueError:
                raise ValueError(
                    f"the environment variable {variable} must hold {self.kind.wants}; "
                    f"it holds {text!r}."
                ) from None

    @overload
    def __get__(self, instance: None, owner: type) -> "Switch[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "Switch[T] | T":
        if instance is None:
            return self
        return _overrides.get().get(self.name, self.process_value)

    @property
    def value(self) -> T:
        """The value that holds here and now."""
        return _overrides.get().get(self.name, self.process_value)

    def get_global(self) -> T:
        """The process-wide value, whatever the `with` blocks around this call say."""
        return self.process_value

    def set_global(self, value: Any) -> None:
        """Change the process-wide value. Raises ValueError for a value the switch does not take."""
        global _generation
        accepted = self.accept(value)
        with _lock:
            for switch in (self, *(SWITCHES[name] for name in self.also)):
                switch.process_value = accepted
            _generation += 1

    def accept(self, value: Any) -> T:
        """The value as the switch keeps it; raises ValueError naming switch, value and choices."""
        try:
            return self.kind.check(value)
        except (ValueError, TypeError):
            raise ValueError(f"{self.name} takes {self.kind.wants}; got {value!r}.") from None

    def __call__(self, value: T = _UNSET) -> "Override":
        """A context manager (and decorator) inside which the switch has this value."""
        if value is _UNSET:
            if self.kind is not FLAG:
                raise TypeError(f"{self.name}() needs a value: {self.kind.wants}.")
            return Override(dict.fromkeys((self.name, *self.also), True))
        return Override(dict.fromkeys((self.name, *self.also), self.accept(value)))

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.name} is a switch, not its value; read config.{self.name} instead.")

    def __repr__(self) -> str:
        return f"<switch {self.name} = {self.value!r}>"


class Override:
    """Sets switches for the length of a `with` block, in this context only."""

    __slots__ = ("outer", "values")

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self.outer: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        current = _overrides.get()
        self.outer.append({name: current.get(name, _UNSET) for name in self.values})
        _overrides.set(_Overrides({**current, **self.values}))

    def __exit__(self, *exception: object) -> None:
        # Name by name, not by a token: blocks inside generators may end in any order.
        restored = {**_overrides.get(), **self.outer.pop()}
        _overrides.set(_Overrides({n: v for n, v in restored.items() if v is not _UNSET}))

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with Override(self.values):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


def traced_values() -> tuple:
    """The traced switches that differ from their defaults, as (name, value) pairs; hashable."""
    overrides = _overrides.get()
    if overrides.generation != _generation:
        overrides.refresh()
    return overrides.key


def watching_results() -> bool:
    """Whether any of the watched switches is on."""
    overrides = _overrides.get()
    if overrides.generation != _generation:
        overrides.refresh()
    return overrides.watching
