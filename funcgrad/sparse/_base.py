"""What every kind of sparse array answers, whatever it stores."""

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.numpy._promotion import Array


class SparseEfficiencyError(ValueError):
    """Raised where what was asked would store many more elements than the array has."""


class SparseEfficiencyWarning(UserWarning):
    """Says that an operation stores many more elements than its operands have."""


class JAXSparse(abc.ABC):
    """The base class of sparse arrays; `isinstance(x, JAXSparse)` tells them from dense ones.

    Args:
        args: the arrays that a format stores.
        shape: the shape of the dense array it stands for.
    """

    shape: tuple[int, ...]

    # NumPy's operators leave the work to ours.
    __array_priority__ = 100
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]):
        self.shape = tuple(int(size) for size in shape)

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype:
        """The dtype of the stored values."""

    @property
    @abc.abstractmethod
    def nse(self) -> int:
        """How many elements are specified, padding included."""

    @abc.abstractmethod
    def todense(self) -> Array:
        """The dense array."""

    @abc.abstractmethod
    def transpose(self, axes: Sequence[int] | None = None) -> "JAXSparse":
        """The array with its axes in another order: reversed, unless told."""

    @abc.abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The stored arrays, and what is static."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def T(self) -> Any:
        """The array with its axes reversed."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without axes")
        return self.shape[0]
