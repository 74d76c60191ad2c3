"""Index expressions: mgrid, ogrid, r_, c_, s_, ix_."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad.base.basis import reshape, transpose
from funcgrad.numpy._creation import array
from funcgrad.numpy._joining import concatenate, stack
from funcgrad.numpy._promotion import is_bool, promote_dtypes, to_arrays
from funcgrad.numpy._ranges import arange, linspace, meshgrid
from funcgrad.numpy._shaping import expand_dims


def _line(name: str, item: slice) -> Any:
    """The numbers that a slice counts; a step of 5j means 5 numbers from start to stop."""
    start, stop, step = item.start or 0, item.stop, 1 if item.step is None else item.step
    if stop is None:
        raise ValueError(f"slices in {name} need a stop, got {item}")
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class MGrid:
    """`mgrid[0:3, 0:2]`: the full coordinate arrays of a grid, stacked.

    A step that is an imaginary number says how many points there are, both ends included.
    """

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return _line("mgrid", key)
        lines = _lines("mgrid", key)
        return stack(meshgrid(*lines, indexing="ij")) if lines else arange(0)


class OGrid:
    """`ogrid[0:3, 0:2]`: the coordinate arrays of a grid with axes of length 1, a list of them."""

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return _line("ogrid", key)
        return meshgrid(*_lines("ogrid", key), indexing="ij", sparse=True)


def _lines(name: str, key: Iterable[slice]) -> list[Any]:
    lines = [_line(name, item) for item in key]
    return promote_dtypes(name, *lines) if lines else []


class AxisConcatenator:
    """`r_[a, 1:5, 0]`: arrays, slices that count, and numbers, joined.

    A string in front says along which axis, to which rank arrays are raised first, and where their
    own axes stand then, as in "0,2,0"; "r" and "c" make a row or a column of a result of rank 1.
    """

    def __init__(self, name: str, axis: int, rank: int, first: int):
        self.name, self.axis, self.rank, self.first = name, axis, rank, first

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        axis, rank, first, matrix = self.axis, self.rank, self.first, None
        if isinstance(items[0], str):
            axis, rank, first, matrix = self._directive(items[0])
            items = items[1:]
        result = concatenate([self._part(item, rank, first) for item in items], axis)
        return expand_dims(result, matrix) if matrix is not None and result.ndim == 1 else result

    def _directive(self, text: str) -> tuple[int, int, int, int | None]:
        if text in ("r", "c"):
            return self.axis, self.rank, self.first, "rc".index(text)
        numbers = [self.axis, self.rank, self.first]
        try:
            for i, word in enumerate(text.split(",")[:3]):
                numbers[i] = operator.index(int(word))
        except ValueError as error:
            raise ValueError(f"{self.name}: could not understand directive {text!r}") from error
        return numbers[0], numbers[1], numbers[2], None

    def _part(self, item: Any, rank: int, first: int) -> Any:
        if isinstance(item, str):
            raise ValueError(f"{self.name}: only the first item may be a string, not {item!r}")
        x = _line(self.name, item) if isinstance(item, slice) else array(item, copy=False)
        own = 0 if isinstance(item, slice) else x.ndim
        new = rank - x.ndim
        if new > 0:
            x = reshape(x, (1,) * new + x.shape)
        if first == -1 or rank <= own:
            return x
        # New axes stand in front; the own ones move to where the directive says.
        shift = rank - abs(rank + first + 1) % rank
        axes = tuple(range(rank))
        return transpose(x, axes[shift:] + axes[:shift])


mgrid = MGrid()
ogrid = OGrid()
r_ = AxisConcatenator("r_", 0, 1, -1)
c_ = AxisConcatenator("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp


def ix_(*args: Any) -> tuple[Any, ...]:
    """1-d index arrays in the shapes in which they index a grid: `x[ix_([0, 2], [1, 3])]`."""
    result = []
    for i, x in enumerate(to_arrays("ix_", *args)):
        if x.ndim != 1:
            raise ValueError(f"ix_ takes arrays of rank 1; argument {i} has shape {x.aval.shape}")
        if is_bool(x):
            raise NotImplementedError("ix_ does not take boolean arguments; use nonzero(x)[0].")
        shape = [1] * len(args)
        shape[i] = x.aval.size
        result.append(reshape(x, tuple(shape)))
    return tuple(result)
