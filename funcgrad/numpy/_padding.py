"""pad: arrays with more around them, constant or continued from what is inside."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.base import basis
from funcgrad.base.basis import concatenate, convert
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.numpy._promotion import broadcast, has_members, is_integer, to_array
from funcgrad.numpy._quantiles import median
from funcgrad.numpy._ranges import linspace
from funcgrad.numpy._reductions import max, mean, min
from funcgrad.numpy._rounding import round
from funcgrad.numpy._shaping import flip, part, squeeze
from funcgrad.numpy._vectorize import apply_along_axis
from funcgrad.primitives.arithmetic import sub

Widths = tuple[tuple[int, int], ...]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with elements added before and after along each axis.

    Args:
        array: the array.
        pad_width: how many: (before, after) for each axis, one such pair or one number for all, or
            a dict from axis to pair or number.
        mode: what the new elements are:
            "constant": `constant_values`, 0 by default; numbers as in `pad_width`, or traced;
            "edge": the outermost element;
            "linear_ramp": a line from there to `end_values`;
            "maximum", "mean", "median", "minimum": of the outermost `stat_length` elements;
            "reflect", "symmetric": the elements in reverse order, without or with the edge; with
            `reflect_type="odd"` mirrored at its value too;
            "wrap": the elements from the other end;
            "empty": anything (zeros);
            or a function `(vector, widths, axis, kwargs) -> vector`.

    Returns:
        An array of the dtype of `array`.
    """
    array = to_array("pad", array)
    if isinstance(pad_width, dict):
        pad_width = _from_dict(pad_width, array.ndim)
    widths = tuple((before, after) for before, after in _pairs(pad_width, array.ndim, "pad_width"))
    try:
        widths = tuple((operator.index(b), operator.index(a)) for b, a in widths)
    except TypeError as error:
        if isinstance(error, ConcretizationTypeError):
            raise
        raise TypeError(f"pad: pad_width holds other things than integers: {pad_width}") from None
    if any(b < 0 or a < 0 for b, a in widths):
        raise ValueError(f"pad: pad_width can't contain negative values, got {pad_width}")
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _MODES:
        raise NotImplementedError(
            f"Unimplemented padding mode {mode!r}; there are {', '.join(map(repr, _MODES))}."
        )
    allowed, function = _MODES[mode]
    unknown = set(kwargs) - set(allowed)
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}")
    return function(array, widths, mode, **kwargs)


def _from_dict(pad_width: dict, ndim: int) -> list[Any]:
    result: list[Any] = [(0, 0)] * ndim
    for axis, width in pad_width.items():
        result[range(ndim)[axis]] = width if np.ndim(width) else (width, width)
    return result


def _pairs(values: Any, ndim: int, name: str) -> list[tuple[Any, Any]]:
    """(before, after) for each axis, from one for each, one pair or one number for all."""
    if not has_members(values):
        return [(values, values)] * ndim
    items = list(values)
    nested = [tuple(v) if has_members(v) else v for v in items]
    if all(isinstance(v, tuple) for v in nested):
        if len({len(v) for v in nested}) > 1:
            raise TypeError(f"pad: {name} mixes entries of different shape: {values}")
        if len(nested) in (1, ndim) and all(len(v) == 2 for v in nested):
            return nested * ndim if len(nested) == 1 else nested
        if len(nested) in (1, ndim) and all(len(v) == 1 for v in nested):
            both = [(v[0], v[0]) for v in nested]
            return both * ndim if len(both) == 1 else both
    elif any(isinstance(v, tuple) for v in nested):
        raise TypeError(f"pad: {name} mixes entries of different shape: {values}")
    elif len(items) == 2:
        return [(items[0], items[1])] * ndim
    elif len(items) == 1:
        return [(items[0], items[0])] * ndim
    raise ValueError(
        f"pad: {name} of shape {np.shape(values)} does not fit nd={ndim}. It may be a "
        f"scalar, or of shape (1,), (2,), (1, 2) or ({ndim}, 2)."
    )


def _around(before: Any, x: Any, after: Any, axis: int) -> Any:
    parts = [p for p in (before, x, after) if p is not None and p.aval.shape[axis]]
    return concatenate(parts, axis) if len(parts) > 1 else parts[0] if parts else x


def _of_type(value: Any, x: Any) -> Any:
    return convert(value, x.aval.dtype, x.aval.weak_type)


def _check_not_empty(x: Any, axis: int, width: tuple[int, int], mode: str) -> bool:
    """Whether there is something to do along an axis; an error where it has nothing to continue."""
    if width == (0, 0):
        return False
    if x.aval.shape[axis] == 0:
        raise ValueError(f"pad: cannot apply {mode!r} padding to the empty axis {axis}")
    return True


def _constant(x: Any, widths: Widths, mode: str, constant_values: Any = 0) -> Any:
    if not has_members(constant_values):
        value = _of_type(to_array("pad", constant_values), x)
        return basis.pad(x, value, [(b, a, 0) for b, a in widths])
    for axis, (low, high) in enumerate(_pairs(constant_values, x.ndim, "constant_values")):
        for value, width in ((low, (widths[axis][0], 0)), (high, (0, widths[axis][1]))):
            if width != (0, 0):
                config = [(*width, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
                x = basis.pad(x, _of_type(to_array("pad", value), x), config)
    return x


def _empty(x: Any, widths: Widths, mode: str) -> Any:
    return _constant(x, widths, mode)


def _edge(x: Any, widths: Widths, mode: str) -> Any:
    for axis, width in enumerate(widths):
        if _check_not_empty(x, axis, width, mode):
            n = x.aval.shape[axis]
            first, last = part(x, 0, 1, axis), part(x, n - 1, n, axis)
            x = _repeated_around(first, x, last, width, axis)
    return x


def _repeated_around(first: Any, x: Any, last: Any, width: tuple[int, int], axis: int) -> Any:
    def times(edge: Any, count: int) -> Any:
        shape = tuple(count if i == axis else n for i, n in enumerate(edge.aval.shape))
        return broadcast(edge, shape)

    return _around(times(first, width[0]), x, times(last, width[1]), axis)


def _wrap(x: Any, widths: Widths, mode: str) -> Any:
    for axis, width in enumerate(widths):
        if not _check_not_empty(x, axis, width, mode):
            continue
        n = x.aval.shape[axis]
        (before, left), (after, right) = divmod(width[0], n), divmod(width[1], n)
        whole = concatenate([x] * (before + 1 + after), axis)
        x = _around(part(x, n - left, n, axis), whole, part(x, 0, right, axis), axis)
    return x


def _mirror(x: Any, widths: Widths, mode: str, reflect_type: str = "even") -> Any:
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {reflect_type!r}")
    for axis, width in enumerate(widths):
        if not _check_not_empty(x, axis, width, mode):
            continue
        n = x.aval.shape[axis]
        skip = 1 if mode == "reflect" and n > 1 else 0
        for side in (0, 1):
            left = width[side]
            while left:
                # Each round mirrors at the current end as much as the original axis offers.
                step = least(left, n - skip)
                x = _mirrored_once(x, step, skip, side, axis, reflect_type == "odd")
                left -= step
    return x


def least(a: int, b: int) -> int:
    return a if a < b else b


def _mirrored_once(x: Any, step: int, skip: int, side: int, axis: int, odd: bool) -> Any:
    n = x.aval.shape[axis]
    if side == 0:
        inside, edge = part(x, skip, skip + step, axis), part(x, 0, 1, axis)
    else:
        inside, edge = part(x, n - skip - step, n - skip, axis), part(x, n - 1, n, axis)
    mirrored = flip(inside, axis)
    if odd:
        mirrored = sub(broadcast(edge + edge, mirrored.aval.shape), mirrored)
    return concatenate([mirrored, x] if side == 0 else [x, mirrored], axis)


def _linear_ramp(x: Any, widths: Widths, mode: str, end_values: Any = 0) -> Any:
    for axis, ends in enumerate(_pairs(end_values, x.ndim, "end_values")):
        if not _check_not_empty(x, axis, widths[axis], mode):
            continue
        n = x.aval.shape[axis]
        ramps = []
        for end, begin, count in ((ends[0], 0, widths[axis][0]), (ends[1], n - 1, widths[axis][1])):
            edge = squeeze(part(x, begin, begin + 1, axis), axis)
            ramp = linspace(end, edge, count, endpoint=False, dtype=x.aval.dtype, axis=axis)
            ramps.append(_of_type(ramp, x))
        x = _around(ramps[0], x, flip(ramps[1], axis), axis)
    return x


def _statistic(x: Any, widths: Widths, mode: str, stat_length: Any = None) -> Any:
    function: Callable = {"maximum": max, "minimum": min, "mean": mean, "median": median}[mode]
    lengths = (
        [(None, None)] * x.ndim
        if stat_length is None
        else _pairs(stat_length, x.ndim, "stat_length")
    )
    for axis, width in enumerate(widths):
        if not _check_not_empty(x, axis, width, mode):
            continue
        n = x.aval.shape[axis]
        if 0 in lengths[axis]:
            raise ValueError("pad: there is nothing to pad with where stat_length is 0")
        first, last = (n if k is None else least(int(k), n) for k in lengths[axis])
        ends = [part(x, 0, first, axis), part(x, n - last, n, axis)]
        values = [function(end, axis=axis, keepdims=True) for end in ends]
        if is_integer(x):
            values = [round(v) for v in values]
        values = [_of_type(v, x) for v in values]
        x = _repeated_around(values[0], x, values[1], width, axis)
    return x


def _by_function(x: Any, widths: Widths, mode: Callable, kwargs: dict[str, Any]) -> Any:
    x = _constant(x, widths, "constant")
    for axis in range(x.ndim):
        x = apply_along_axis(mode, axis, x, widths[axis], axis, kwargs)
    return x


_MODES: dict[str, tuple[tuple[str, ...], Callable]] = {
    "constant": (("constant_values",), _constant),
    "edge": ((), _edge),
    "empty": ((), _empty),
    "linear_ramp": (("end_values",), _linear_ramp),
    "maximum": (("stat_length",), _statistic),
    "mean": (("stat_length",), _statistic),
    "median": (("stat_length",), _statistic),
    "minimum": (("stat_length",), _statistic),
    "reflect": (("reflect_type",), _mirror),
    "symmetric": (("reflect_type",), _mirror),
    "wrap": ((), _wrap),
}
