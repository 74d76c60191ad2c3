"""Values of an array between its elements."""

import itertools
from collections.abc import Sequence
from typing import Any

from funcgrad import lax
from funcgrad import numpy as jnp

__all__ = ["map_coordinates"]

MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """The array's values at places between its elements.

    Args:
        input: Array of any rank.
        coordinates: One array for each axis, that broadcast: where the values are wanted, in
            elements.
        order: 0 for the closest element (halves away from zero), 1 for linear interpolation.
        mode: What lies beyond the borders: "constant" (cval), "nearest" (the border), "wrap" (the
            other side), "mirror" or "reflect" (back, with the border once or twice).
        cval: The value of "constant".

    Returns:
        Values of the coordinates' shape and input's dtype; integers are rounded.

    Raises:
        ValueError: For another number of coordinates.
        NotImplementedError: For higher orders and other modes.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.scipy.ndimage import map_coordinates
        >>> map_coordinates(jnp.array([0., 10., 20.]), [jnp.array([0.5, 1.25])], order=1)
        Array([ 5. , 12.5], dtype=float32)

    At borders "constant" and "wrap" are as in JAX: "wrap" has a period of the length, as SciPy's
    "grid-wrap", and "constant" mixes cval in within one element, as "grid-constant".
    """
    input = jnp.asarray(input)
    if not input.size or not input.ndim:
        raise ValueError(
            f"map_coordinates takes arrays with axes and elements, not of shape {input.shape}."
        )
    if len(coordinates) != input.ndim:
        raise ValueError(
            f"map_coordinates of shape {input.shape} takes {input.ndim} coordinates, and got "
            f"{len(coordinates)}."
        )
    if mode not in MODES:
        raise NotImplementedError(f"map_coordinates: mode {mode!r} is none of {', '.join(MODES)}.")
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order is 0 or 1, not {order}.")
    places = jnp.broadcast_arrays(*map(jnp.asarray, coordinates))
    if any(jnp.iscomplexobj(place) for place in places):
        given = ", ".join(str(place.dtype) for place in places)
        raise TypeError(f"map_coordinates: coordinates are real, and these are of {given}.")
    choices = [_neighbours(jnp.asarray(place), order) for place in places]
    cval = jnp.asarray(cval, input.dtype)
    total: Any = None
    for corner in itertools.product(*choices):
        index = [_inside(i, n, mode) for (i, _), n in zip(corner, input.shape, strict=True)]
        value = input[tuple(index)]
        if mode == "constant":
            for (i, _), n in zip(corner, input.shape, strict=True):
                value = jnp.where((i >= 0) & (i < n), value, cval)
        for _, weight in corner:
            value = value if weight is None else value * weight
        total = value if total is None else total + value
    if jnp.issubdtype(input.dtype, jnp.integer) and jnp.issubdtype(total.dtype, jnp.floating):
        total = lax.round(total)
    return jnp.asarray(total).astype(input.dtype)


def _neighbours(place: Any, order: int) -> list[tuple[Any, Any]]:
    """The elements around a place along one axis, with their weights."""
    if not jnp.issubdtype(place.dtype, jnp.inexact):
        return [(place.astype(jnp.int32), None)]
    if order == 0:
        return [(lax.round(place).astype(jnp.int32), None)]
    low = jnp.floor(place)
    part = place - low
    low = low.astype(jnp.int32)
    return [(low, 1 - part), (low + 1, part)]


def _inside(i: Any, n: int, mode: str) -> Any:
    if mode == "wrap":
        return i % n
    if mode == "reflect":
        i = i % (2 * n)
        return jnp.minimum(i, 2 * n - 1 - i)
    if mode == "mirror":
        period = max(2 * (n - 1), 1)
        i = i % period
        return jnp.minimum(i, period - i)
    return jnp.clip(i, 0, n - 1)
