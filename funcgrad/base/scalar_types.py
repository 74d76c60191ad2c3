"""What `numpy.float32` is: a dtype wherever one is wanted, and a maker of 0-d arrays."""

import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base.dtypes import BY_NAME


class ScalarMaker:
    """What `numpy.float32` is: a dtype wherever one is accepted, and a maker of 0-d arrays."""

    def __init__(self, dtype: np.dtype):
        self.dtype = self.__numpy_dtype__ = dtype
        self.__name__ = self.__qualname__ = dtype.name
        self.__module__ = "funcgrad.numpy"
        self.__doc__ = f"The dtype {dtype.name}; `{dtype.name}(x)` is x as an array of it."

    def __call__(self, x: Any) -> Any:
        return slots["asarray"](x, dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self.dtype.type == other)

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.dtype.type)

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007

    def __repr__(self) -> str:
        return f"<class 'funcgrad.numpy.{self.__name__}'>"

    def __reduce__(self) -> tuple:
        return _scalar_maker, (self.dtype.name,)


# Filled by funcgrad.numpy, which stands above: `asarray(x, dtype=...)`.
slots: dict[str, Callable[..., Any]] = {}

SCALAR_MAKERS = {name: ScalarMaker(dtype) for name, dtype in BY_NAME.items()}


def _scalar_maker(name: str) -> ScalarMaker:
    return SCALAR_MAKERS[name]
