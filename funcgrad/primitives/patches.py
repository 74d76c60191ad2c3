"""Convolutions by the array library: gather the patches that the kernel meets, multiply matrices.

Operands come as a base of shape [group, batch, *spatial, feature] and a kernel of shape
[group, *spatial, feature, output feature]; the result is [batch, *places, group, output feature].
Patches are gathered in tiles that stay in the cache, so there is never a whole matrix of them.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from funcgrad.primitives.convolution_spec import Geometry
from funcgrad.primitives.matrix_product import integer_product
from funcgrad.primitives.pieces import pad_evaluate

Shape = tuple[int, ...]

# The bytes of patches gathered at a time (measured: best between 1 and 4 MB, the size of an L2
# cache), and those of a tile of the result where patches are added up tap by tap.
TILE_BYTES = 1 << 21
TAP_BYTES = 1 << 17
# Up to this many places, a result of one feature per group is computed place by place.
FEW_PLACES = 256


def convolve(xp: Any, base: Any, kernel: Any, geometry: Geometry, dtype: Any) -> Any:
    """The convolution, multiplied and added up in `dtype`: a float dtype, or an integer one."""
    places = geometry.places(base.shape[2:-1], kernel.shape[1:-2])
    shape = (base.shape[1], *places, base.shape[0], kernel.shape[-1])
    if 0 in shape or 0 in base.shape or 0 in kernel.shape:
        return xp.zeros(shape, dtype)
    phased = [
        d > 1 and s == r == 1
        for d, s, r in zip(
            geometry.base_dilation, geometry.strides, geometry.kernel_dilation, strict=True
        )
    ]
    if any(phased):
        return _by_phases(xp, base, kernel, geometry, phased, xp.zeros(shape, dtype))
    if kernel.shape[-2] == 1 and base.shape[0] > 1:
        return _by_taps(xp, _arranged(xp, base, geometry, True), kernel, geometry, shape, dtype)
    few = base.shape[1] * math.prod(places) <= FEW_PLACES
    if kernel.shape[-1] == 1 and base.shape[0] > 1 and few:
        return _by_places(xp, _arranged(xp, base, geometry, False), kernel, geometry, shape, dtype)
    if _features_inside(base, kernel, places):
        return _by_rows(xp, _arranged(xp, base, geometry, True), kernel, geometry, shape, dtype)
    return _by_columns(xp, _arranged(xp, base, geometry, False), kernel, geometry, shape, dtype)


def _features_inside(base: Any, kernel: Any, places: Shape) -> bool:
    """Whether features, and not the batch, are to be neighbours in memory: as they are already,
    or, where neither is, as makes for the smaller matrices."""
    batch, features = base.strides[1], base.strides[-1]
    spatial = min((s for s in map(abs, base.strides[2:-1])), default=batch + features)
    if features <= min(batch, spatial) or base.shape[-1] == 1 < base.shape[1]:
        return True
    if batch < min(features, spatial):
        return False
    return base.shape[1] * math.prod(places) >= math.prod(kernel.shape[1:-1])


# the base in memory


def _padded(xp: Any, base: Any, geometry: Geometry) -> Any:
    """A base of one axis, spatial axes and two more, with holes and padding of zeros."""
    config = [
        (low, high, d - 1)
        for (low, high), d in zip(geometry.padding, geometry.base_dilation, strict=True)
    ]
    if all(c == (0, 0, 0) for c in config):
        return base
    nothing = (0, 0, 0)
    return pad_evaluate(xp, base, 0, [nothing, *config, nothing, nothing])


def _arranged(xp: Any, base: Any, geometry: Geometry, features_inside: bool) -> Any:
    """The padded base, in memory ordered [batch, *spatial, group, feature] or, with the batch
    inside, [feature, *spatial, group, batch]; as an array of its own axes still."""
    if not features_inside:
        base = base.swapaxes(1, -1)
    view = xp.moveaxis(base, 0, -2)
    padded = _padded(xp, view, geometry)
    if padded is view and not _dense(view):
        padded = xp.ascontiguousarray(view)
    result = xp.moveaxis(padded, -2, 0)
    return result if features_inside else result.swapaxes(1, -1)


def _dense(x: Any) -> bool:
    """Whether the last axis that is longer than 1 has its elements side by side."""
    last = next((s for n, s in zip(x.shape[::-1], x.strides[::-1], strict=True) if n > 1), 0)
    return last in (0, x.itemsize)


def _patches(xp: Any, base: Any, places: Shape, kernel: Shape, geometry: Geometry) -> Any:
    """A view of shape [group, batch, *places, *kernel, feature] of the padded base."""
    group, batch, *spatial, feature = base.strides
    moves = [s * step for s, step in zip(spatial, geometry.strides, strict=True)]
    taps = [s * step for s, step in zip(spatial, geometry.kernel_dilation, strict=True)]
    return xp.lib.stride_tricks.as_strided(
        base,
        (*base.shape[:2], *places, *kernel, base.shape[-1]),
        (group, batch, *moves, *taps, feature),
    )


def _tiles(shape: Shape, item_bytes: int, budget: int) -> Iterator[tuple[slice, ...]]:
    """Parts of the first two axes of a shape that hold about `budget` bytes each."""
    inner = math.prod(shape[2:]) * item_bytes
    whole = shape[1] * inner
    if whole <= budget:
        step = max(1, budget // max(1, whole))
        for start in range(0, shape[0], step):
            yield slice(start, start + step), slice(None)
        return
    step = max(1, budget // max(1, inner))
    for i, start in itertools.product(range(shape[0]), range(0, shape[1], step)):
        yield slice(i, i + 1), slice(start, start + step)


# four ways to go about it


def _by_rows(xp: Any, base: Any, kernel: Any, geometry: Geometry, shape: Shape, dtype: Any) -> Any:
    """Rows of patches times the kernel, a tile of the result's places at a time."""
    groups, taps = kernel.shape[0], kernel.shape[1:-2]
    places = shape[1:-2]
    patches = _patches(xp, base, places, taps, geometry)
    length, features = math.prod(kernel.shape[1:-1]), kernel.shape[-1]
    matrix = kernel.reshape(groups, length, features)
    out = xp.empty(shape, dtype)
    # Without spatial axes there is one place all the same.
    sizes = (shape[0], *(places or (1,)))
    patches = patches.reshape(groups, *sizes, *taps, -1) if not places else patches
    target = out.reshape(*sizes, groups, features)
    plain = math.prod(taps) == 1 and groups == 1 and all(s == 1 for s in geometry.strides)
    itemsize = base.dtype.itemsize * groups * length
    budget = math.prod(sizes) * itemsize if plain else TILE_BYTES
    for tile in _tiles(sizes, itemsize, budget):
        part, place = patches[(slice(None), *tile)], target[tile]
        rows = part.reshape(groups, -1, length)
        if groups == 1:
            _multiply_into(xp, rows[0], matrix[0], place.reshape(-1, features))
        else:
            product = _multiply(xp, rows, matrix, dtype)
            place[...] = xp.moveaxis(product.reshape(groups, *place.shape[:-2], features), 0, -2)
    return out


def _by_columns(
    xp: Any, base: Any, kernel: Any, geometry: Geometry, shape: Shape, dtype: Any
) -> Any:
    """Columns of patches times rows of the kernel, summed up over tiles of the kernel's taps."""
    groups, taps, features = kernel.shape[0], kernel.shape[1:-2], kernel.shape[-1]
    places = shape[1:-2]
    rank = len(taps)
    patches = _patches(xp, base, places, taps, geometry)
    # To [group, feature, *taps, *places, batch], and the kernel to [group, feature, *taps, out].
    order = (0, patches.ndim - 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank), 1)
    patches = patches.transpose(order)
    kernel = xp.moveaxis(kernel, -2, 1)
    if not taps:
        patches, kernel = patches[:, :, None], kernel[:, :, None]
    count = math.prod(places) * shape[0]
    out = xp.zeros((groups, count, features), dtype)
    sizes = patches.shape[1 : 1 + max(1, rank) + 1]
    for tile in _tiles(sizes, base.dtype.itemsize * groups * count, TILE_BYTES):
        columns = patches[(slice(None), *tile)].reshape(groups, -1, count)
        rows = kernel[(slice(None), *tile)].reshape(groups, -1, features)
        out += _multiply(xp, columns.swapaxes(1, 2), rows, dtype)
    out = out.reshape(groups, *places, shape[0], features)
    return xp.moveaxis(out, (0, -2), (-2, 0))


def _by_taps(xp: Any, base: Any, kernel: Any, geometry: Geometry, shape: Shape, dtype: Any) -> Any:
    """With one feature in each group: the base times each tap of the kernel, summed up."""
    taps, places = kernel.shape[1:-2], shape[1:-2]
    patches = xp.moveaxis(_patches(xp, base, places, taps, geometry), 0, -2)
    kernel = xp.ascontiguousarray(xp.moveaxis(kernel[..., 0, :], 0, -2))
    out = xp.empty(shape, dtype)
    sizes = (shape[0], *(places or (1,)))
    target = out.reshape(*sizes, *shape[-2:])
    source = patches.reshape(*sizes, *patches.shape[1:]) if not places else patches
    everything = (slice(None),) * (len(sizes) - 2)
    offsets = list(itertools.product(*map(range, taps)))
    itemsize = out.dtype.itemsize * math.prod(shape[-2:])
    for tile in _tiles(sizes, itemsize, TAP_BYTES):
        place = target[tile]
        part = source[tile]
        scratch = xp.empty_like(place)
        for i, offset in enumerate(offsets):
            xp.multiply(
                part[(slice(None), slice(None), *everything, *offset)],
                kernel[offset],
                out=scratch if i else place,
            )
            if i:
                xp.add(place, scratch, out=place)
    return out


def _by_places(
    xp: Any, base: Any, kernel: Any, geometry: Geometry, shape: Shape, dtype: Any
) -> Any:
    """With one output feature in each group and few places: one sum of products a place."""
    taps, places = kernel.shape[1:-2], shape[1:-2]
    patches = _patches(xp, base, places, taps, geometry)
    factor = kernel[..., 0]
    letters = "abcdefghijklmnopqrstuvw"[: len(taps)]
    formula = f"y{letters}z,y{letters}z->y"
    out = xp.empty(shape, dtype)
    for n, place in itertools.product(range(shape[0]), itertools.product(*map(range, places))):
        window = patches[(slice(None), n, *place)]
        out[(n, *place)] = xp.einsum(formula, window, factor)[:, None]
    return out


def _by_phases(
    xp: Any, base: Any, kernel: Any, geometry: Geometry, phased: list[bool], out: Any
) -> Any:
    """Over a base with holes, by places that meet it in the same way: each such set of places is
    a convolution without holes, with those taps of the kernel that do not fall into them."""
    taps, places = kernel.shape[1:-2], out.shape[1:-2]
    choices = [
        list(_phases(n, k, m, d, low)) if by_phase else [None]
        for n, k, m, d, (low, _), by_phase in zip(
            base.shape[2:-1],
            taps,
            places,
            geometry.base_dilation,
            geometry.padding,
            phased,
            strict=True,
        )
    ]
    for chosen in itertools.product(*choices):
        moved = geometry._replace(
            padding=tuple(
                p if c is None else c.padding for p, c in zip(geometry.padding, chosen, strict=True)
            ),
            base_dilation=tuple(
                d if c is None else 1 for d, c in zip(geometry.base_dilation, chosen, strict=True)
            ),
        )
        where = tuple(slice(None) if c is None else c.places for c in chosen)
        part = tuple(slice(None) if c is None else c.taps for c in chosen)
        dense = convolve(xp, base, kernel[(slice(None), *part)], moved, out.dtype)
        out[(slice(None), *where)] = dense
    return out


class Phase(NamedTuple):
    """Places of one axis, the taps that meet elements there, and the padding they need."""

    places: slice
    taps: slice
    padding: tuple[int, int]


def _phases(size: int, kernel: int, places: int, hole: int, low: int) -> Iterator[Phase]:
    """Place p and tap t meet the element (p + t - low) / hole, where that is whole."""
    for phase in range(min(hole, places)):
        first = (low - phase) % hole
        if first >= kernel:
            continue
        count = -(-(places - phase) // hole)
        taps = -(-(kernel - first) // hole)
        start = (phase + first - low) // hole
        padding = (-start, start + count + taps - 1 - size)
        yield Phase(slice(phase, None, hole), slice(first, None, hole), padding)


# products of tiles


def _multiply(xp: Any, a: Any, b: Any, dtype: Any) -> Any:
    if np.dtype(dtype).kind in "fc":
        return xp.matmul(a, b)
    return integer_product(xp, a, b, np.dtype(dtype))


def _multiply_into(xp: Any, a: Any, b: Any, out: Any) -> None:
    if out.dtype.kind in "fc":
        xp.matmul(a, b, out=out)
    else:
        out[...] = integer_product(xp, a, b, out.dtype)
