"""Functions that are wrapped step by step, as interpreters written against JAX take them.

Each step gets the function below it; a step with an auxiliary output stores it for a thunk.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from funcgrad.base.source import function_name


class StoreException(Exception):
    """An auxiliary output was read before its function ran, or written twice."""


class Store:
    """The place of one auxiliary output."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def store(self, value: Any) -> None:
        if self.values:
            raise StoreException("an auxiliary output is stored already: the function ran twice")
        self.values.append(value)

    def read(self) -> Any:
        if not self.values:
            raise StoreException("an auxiliary output is asked for before its function has run")
        return self.values[0]


class WrappedFun:
    """A function and what is wrapped around it; `call_wrapped` runs all of it."""

    def __init__(self, f: Callable, wrapped: Callable | None = None, debug_info: Any = None):
        self.f = f
        self.debug_info = debug_info
        self._wrapped = f if wrapped is None else wrapped

    def wrap(self, step: Callable) -> "WrappedFun":
        """With one more step outside, `step(function, *args, **kwargs)`."""
        return WrappedFun(self.f, partial(step, self._wrapped), self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(*args, **kwargs)

    @property
    def __name__(self) -> str:
        return function_name(self.f)

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__})"


def wrap_init(
    f: Callable, params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """The function with no steps around it, and keyword arguments that it always gets."""
    return WrappedFun(f, partial(f, **params) if params else f, debug_info)


def transformation2(step: Callable) -> Callable[..., WrappedFun]:
    """A step `step(function, *settings, *args, **kwargs)`, to be wrapped around functions.

    Returns:
        `(fun, *settings) -> WrappedFun`.
    """

    @wraps(step)
    def transform(fun: WrappedFun, *settings: Any) -> WrappedFun:
        return fun.wrap(lambda f, *args, **kwargs: step(f, *settings, *args, **kwargs))

    return transform


def transformation_with_aux2(step: Callable) -> Callable[..., tuple[WrappedFun, Callable]]:
    """The same for `step(function, store, *settings, *args, **kwargs)`, which fills the store.

    Returns:
        `(fun, *settings) -> (WrappedFun, thunk)`; the thunk gives what was stored.
    """

    @wraps(step)
    def transform(fun: WrappedFun, *settings: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        wrapped = fun.wrap(lambda f, *args, **kwargs: step(f, store, *settings, *args, **kwargs))
        return wrapped, store.read

    return transform


def transformation(steps: Callable) -> Callable[..., WrappedFun]:
    """A step as a generator: it yields (args, kwargs), is sent the result, and yields its own."""

    def step(f: Callable, *args: Any, **kwargs: Any) -> Any:
        return _both_halves(steps, f, args, kwargs)

    return transformation2(wraps(steps)(step))


def transformation_with_aux(steps: Callable) -> Callable[..., tuple[WrappedFun, Callable]]:
    """The same for a generator whose last yield is a pair of output and auxiliary output."""

    def step(f: Callable, store: Store, *args: Any, **kwargs: Any) -> Any:
        out, aux = _both_halves(steps, f, args, kwargs)
        store.store(aux)
        return out

    return transformation_with_aux2(wraps(steps)(step))


def _both_halves(steps: Callable, f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    generator = steps(*args, **kwargs)
    inner_args, inner_kwargs = next(generator)
    return generator.send(f(*inner_args, **inner_kwargs))


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Which of two thunks has been filled (True for the first), and what it holds."""
    try:
        out = True, aux1()
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return out
    raise StoreException("both auxiliary outputs are stored, and one alone should be")
