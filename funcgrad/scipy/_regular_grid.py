"""Interpolation on a grid: find the cell of a point, then weigh the values at its corners."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import aval_of
from funcgrad.base.tree import register_pytree_node
from funcgrad.numpy._promotion import (
    check_arraylike,
    inexact1,
    is_complex,
    is_floating,
    to_array,
)

NAME = "RegularGridInterpolator"
METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """A function between the points of a grid: linear in each coordinate, or the nearest value.

    It is a pytree of the points, the values and the fill value.

    Args:
        points: for each dimension its coordinates, increasing, [m1], [m2], ...; linear
            interpolation needs two or more.
        values: the values at all points, [m1, m2, ..., *rest].
        method: "linear" or "nearest", which takes the lower one of two that are equally near.
        bounds_error: must be False: compiled code cannot raise.
        fill_value: what points outside the grid get, a number; None to extend the outer cells.

    Raises:
        TypeError: if points or values are not arrays, or fill_value is not a number.
        ValueError: if shapes do not fit, points do not increase (where they are known), there is
            no such method, or fill_value is complex and the values are real.
        NotImplementedError: for bounds_error=True.

    Example:
        >>> from funcgrad.scipy.interpolate import RegularGridInterpolator
        >>> f = RegularGridInterpolator((np.array([0.0, 1.0, 3.0]),), np.array([0.0, 2.0, 4.0]))
        >>> f(np.array([0.5, 2.0, 4.0]))
        Array([ 1.,  3., nan], dtype=float32)

    Source: `scipy.interpolate.RegularGridInterpolator`. A coordinate that is nan gives nan for
    "nearest" too, as do points that turn out not to increase inside compiled code; in JAX both give
    numbers.
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        if bounds_error:
            raise NotImplementedError(
                f"{NAME}: bounds_error=True would have to raise inside compiled code; leave it "
                "False and give a fill_value, nan for one"
            )
        self.method = _checked_method(method)
        self.bounds_error = bounds_error
        self.values = inexact1(NAME, values)
        self.fill_value = None if fill_value is None else _checked_fill(fill_value, self.values)
        self.grid = _checked_grid(points, self.values, method)

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at the points xi.

        Args:
            xi: [..., dimensions]; or a tuple of the coordinates, which are broadcast together. On
                a grid of one dimension, [n] means n points.
            method: another one than the interpolator's.

        Returns:
            Floats or complex numbers, [..., *rest].
        """
        method = self.method if method is None else _checked_method(method)
        coordinates = _coordinates(xi, len(self.grid))
        cells = [_cell(points, x) for points, x in zip(self.grid, coordinates, strict=True)]
        interpolate = self._linear if method == "linear" else self._nearest
        result = interpolate(cells)
        rest = result.ndim - coordinates[0].ndim

        def fitted(mask: Any) -> Any:
            return mask.reshape(*mask.shape, *(1,) * rest)

        unknown, outside = False, False
        for points, x in zip(self.grid, coordinates, strict=True):
            unknown = unknown | jnp.isnan(x) | ~jnp.all(points[1:] > points[:-1])
            outside = outside | (x < points[0]) | (x > points[-1])
        if self.fill_value is not None:
            result = jnp.where(fitted(outside), self.fill_value, result)
        return jnp.where(fitted(unknown), jnp.nan, result)

    def _linear(self, cells: list[tuple[Any, Any]]) -> Any:
        total: Any = None
        for corner in itertools.product((0, 1), repeat=len(cells)):
            sides = list(zip(corner, cells, strict=True))
            weight: Any = math.prod(part if upper else 1 - part for upper, (_, part) in sides)
            found = self.values[tuple(below + upper for upper, (below, _) in sides)]
            term = found * weight.reshape(*weight.shape, *(1,) * (found.ndim - weight.ndim))
            total = term if total is None else total + term
        return total

    def _nearest(self, cells: list[tuple[Any, Any]]) -> Any:
        last = [points.shape[0] - 1 for points in self.grid]
        index = [
            jnp.minimum(jnp.where(part <= 0.5, below, below + 1), end)
            for (below, part), end in zip(cells, last, strict=True)
        ]
        return self.values[tuple(index)]


def _flatten(f: RegularGridInterpolator) -> tuple[tuple, tuple]:
    return (f.grid, f.values, f.fill_value), (f.method, f.bounds_error)


def _unflatten(settings: tuple, parts: tuple) -> RegularGridInterpolator:
    made = object.__new__(RegularGridInterpolator)
    made.grid, made.values, made.fill_value = parts
    made.method, made.bounds_error = settings
    return made


register_pytree_node(RegularGridInterpolator, _flatten, _unflatten)


def _cell(points: Any, x: Any) -> tuple[Any, Any]:
    """The index of the point below x, and the part of the way from there to the next."""
    if points.shape[0] == 1:
        return jnp.zeros(x.shape, "int32"), jnp.zeros(x.shape, x.dtype)
    below = jnp.clip(jnp.searchsorted(points, x, side="left") - 1, 0, points.shape[0] - 2)
    start, end = points[below], points[below + 1]
    return below, (x - start) / (end - start)


def _coordinates(xi: Any, dimensions: int) -> list[Any]:
    """The points as one array for each dimension, all of one shape."""
    xi = xi[0] if isinstance(xi, tuple) and len(xi) == 1 else xi
    if isinstance(xi, tuple):
        check_arraylike(NAME, *xi)
        points = inexact1(NAME, jnp.stack(jnp.broadcast_arrays(*xi), axis=-1))
    else:
        points = inexact1(NAME, xi)
        if points.ndim < 2:
            points = points[..., None] if dimensions == 1 else points[None]
    if not is_floating(points):
        raise TypeError(f"{NAME}: the points must be real, got {aval_of(points).str_short()}")
    if not points.ndim or points.shape[-1] != dimensions:
        raise ValueError(
            f"{NAME}: the points must have one coordinate for each of the {dimensions} dimensions "
            f"of the grid in their last axis, got {aval_of(points).str_short()}"
        )
    return [points[..., i] for i in range(dimensions)]


def _checked_method(method: str) -> str:
    if method not in METHODS:
        raise ValueError(f"{NAME}: method is one of {list(METHODS)}, got {method!r}")
    return method


def _checked_fill(fill_value: Any, values: Any) -> Any:
    fill = to_array(NAME, fill_value)
    if fill.ndim:
        raise ValueError(f"{NAME}: fill_value must be one number, got {aval_of(fill).str_short()}")
    if is_complex(fill) and not is_complex(values):
        raise ValueError(
            f"{NAME}: fill_value {fill_value!r:.40} is complex and the values are not, "
            f"{aval_of(values).str_short()}; convert the values with astype"
        )
    return fill


def _checked_grid(points: Sequence[Any], values: Any, method: str) -> tuple[Any, ...]:
    if len(points) > values.ndim or not len(points):
        raise ValueError(
            f"{NAME}: points must hold one array for each of the first dimensions of the values, "
            f"got {len(points)} for {aval_of(values).str_short()}"
        )
    grid = tuple(inexact1(NAME, p) for p in points)
    for i, p in enumerate(grid):
        given = f"got {aval_of(p).str_short()} for values {aval_of(values).str_short()}"
        if p.shape != (values.shape[i],) or not p.shape[0]:
            raise ValueError(
                f"{NAME}: points[{i}] must have the shape [{values.shape[i]}], {given}"
            )
        if p.shape[0] < 2 and method == "linear":
            raise ValueError(
                f"{NAME}: points[{i}] must be two or more to interpolate between, {given}"
            )
        if not is_floating(p):
            raise TypeError(f"{NAME}: points[{i}] must be real, {given}")
        if isinstance(p, ConcreteArray) and not np.all(np.diff(np.asarray(p)) > 0):
            raise ValueError(
                f"{NAME}: points[{i}] must increase, {given}; sort them and the values, or flip "
                "both if they decrease"
            )
    return grid
