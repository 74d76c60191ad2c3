"""Functions of small arrays made to work on large ones: vectorize, apply_along_axis, ..."""

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from funcgrad.api.vmap import vmap
from funcgrad.base.basis import squeeze
from funcgrad.base.shapes import Shape, broadcast_shapes, canonical_axis
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._promotion import check_rank_promotion, to_array
from funcgrad.numpy._shaping import expand_dims

CoreAxes = tuple[str, ...]

_NAME = r"\w+"
_GROUP = rf"\(\s*(?:{_NAME}\s*(?:,\s*{_NAME}\s*)*)?\)"
_SIDE = rf"\s*{_GROUP}\s*(?:,\s*{_GROUP}\s*)*"
_SIGNATURE = re.compile(rf"^{_SIDE}->{_SIDE}$")


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that broadcasts, from one of numbers or of small arrays.

    Args:
        pyfunc: the function.
        excluded: positions and names of arguments that are passed on as they are.
        signature: the axes that `pyfunc` sees of each argument and makes of each result, as in
            "(n,m),(m)->(n)"; scalars by default. The axes in front of those broadcast.

    Returns:
        A function that maps `pyfunc` by `vmap`.

    Example:
        >>> matvec = vectorize(lambda a, x: a @ x, signature="(n,m),(m)->(n)")
    """
    for item in excluded:
        if not isinstance(item, str | int):
            raise TypeError(
                f"vectorize: excluded={excluded!r} names arguments by other than int or str"
            )
        if isinstance(item, int) and item < 0:
            raise ValueError(f"vectorize: excluded={excluded!r} contains negative numbers")
    parsed = None if signature is None else _parse(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        left_out = {i for i, arg in enumerate(args) if i in excluded or arg is None}
        given = [i for i in range(len(args)) if i not in left_out]
        named = [k for k in kwargs if k not in excluded]

        def inner(*arrays: Any) -> Any:
            filled = list(args)
            for i, array in zip(given, arrays, strict=False):
                filled[i] = array
            return pyfunc(
                *filled, **{**kwargs, **dict(zip(named, arrays[len(given) :], strict=True))}
            )

        arrays = [asarray(args[i]) for i in given] + [asarray(kwargs[k]) for k in named]
        core_in, core_out = parsed or ([()] * len(arrays), None)
        if parsed is not None:
            core_in = _without_excluded(core_in, len(args), left_out, excluded, signature)
        if len(core_in) != len(arrays):
            raise TypeError(
                f"vectorize: {len(core_in)} arguments expected by the signature {signature!r}, got "
                f"{len(arrays)}"
            )
        return _mapped(inner, arrays, core_in, core_out, signature)

    return vectorized


def _parse(signature: str) -> tuple[list[CoreAxes], list[CoreAxes]]:
    if not _SIGNATURE.match(signature):
        raise ValueError(f"not a valid gufunc signature: {signature!r}; '(n,m),(m)->(n)' is one")
    left, right = signature.split("->")
    sides = [
        [tuple(re.findall(_NAME, g)) for g in re.findall(_GROUP, side)] for side in (left, right)
    ]
    return sides[0], sides[1]


def _without_excluded(
    core: list[CoreAxes],
    count: int,
    left_out: set[int],
    excluded: Collection[int | str],
    signature: str | None,
) -> list[CoreAxes]:
    """The core axes of the arguments that are mapped: the signature leaves excluded ones out, and
    has those that are None."""
    result, position = [], 0
    for i in range(count):
        if i in excluded:
            continue
        if i not in left_out:
            result.append(core[position] if position < len(core) else ())
        elif position < len(core) and core[position]:
            raise ValueError(f"vectorize: cannot pass None at location {i} with {signature!r}")
        position += 1
    return result + core[position:]


def _mapped(
    function: Callable[..., Any],
    arrays: list[Any],
    core_in: list[CoreAxes],
    core_out: list[CoreAxes] | None,
    signature: str | None,
) -> Any:
    lengths: dict[str, int] = {}
    loops: list[Shape] = []
    for array, core in zip(arrays, core_in, strict=True):
        shape = array.aval.shape
        if len(shape) < len(core):
            raise ValueError(
                f"vectorize: shape {shape} has fewer axes than the core dimensions {core} of an "
                f"argument in the signature {signature!r}"
            )
        cut = len(shape) - len(core)
        loops.append(shape[:cut])
        _note_lengths(lengths, core, shape[cut:], signature)
    check_rank_promotion("vectorize", loops)
    total = broadcast_shapes(*loops, names="vectorize got loop shapes")
    checked = function if core_out is None else _checked(function, core_out, lengths, signature)
    padded = [(1,) * (len(total) - len(loop)) + loop for loop in loops]
    for axis in reversed(range(len(total))):
        in_axes = tuple(None if shape[axis] == 1 else 0 for shape in padded)
        if any(a == 0 for a in in_axes):
            checked = vmap(checked, in_axes=in_axes)
    small = [
        squeeze(x, [i for i, n in enumerate(loop) if n == 1])
        for x, loop in zip(arrays, loops, strict=True)
    ]
    out = checked(*small)
    missing = [i for i, n in enumerate(total) if n == 1 or all(s[i] == 1 for s in padded)]
    if not missing:
        return out
    if isinstance(out, tuple):
        return tuple(expand_dims(o, missing) for o in out)
    return expand_dims(out, missing)


def _note_lengths(
    lengths: dict[str, int], core: CoreAxes, shape: Shape, signature: str | None
) -> None:
    for name, n in zip(core, shape, strict=True):
        if lengths.setdefault(name, n) != n:
            raise ValueError(
                f"vectorize: inconsistent size for core dimension {name!r}: {n} vs "
                f"{lengths[name]} with the signature {signature!r}"
            )


def _checked(
    function: Callable[..., Any],
    core_out: list[CoreAxes],
    lengths: dict[str, int],
    signature: str | None,
) -> Callable[..., Any]:
    def checked(*args: Any) -> Any:
        out = function(*args)
        outs = out if isinstance(out, tuple) else (out,)
        if len(outs) != len(core_out) or (len(core_out) > 1 and not isinstance(out, tuple)):
            raise TypeError(
                f"vectorize: the signature {signature!r} wants {len(core_out)} output(s) "
                f"{'as a tuple' if len(core_out) > 1 else ''}, got {out!r:.80}"
            )
        known = dict(lengths)
        for value, core in zip(outs, core_out, strict=True):
            shape = to_array("vectorize", value).aval.shape
            if len(shape) != len(core):
                raise ValueError(
                    f"vectorize: output shape {shape} does not match core dimensions {core} of the "
                    f"signature {signature!r}"
                )
            _note_lengths(known, core, shape, signature)
        return out

    return checked


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d(x, *args, **kwargs)` for each x of one axis in arr, its results in their place."""
    arr = to_array("apply_along_axis", arr)
    axis = canonical_axis(axis, arr.ndim)

    def function(x: Any) -> Any:
        return func1d(x, *args, **kwargs)

    # The outermost map is over the last axis, so that results end up in the order of the axes.
    for later in range(1, arr.ndim - axis):
        function = vmap(function, in_axes=later, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(arr)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """`func(a, axis)` for one axis after the other; axes it drops are put back with length 1."""
    a = to_array("apply_over_axes", a)
    for axis in axes if isinstance(axes, Sequence) else (axes,):
        b = func(a, axis)
        if b.ndim == a.ndim - 1:
            b = expand_dims(b, canonical_axis(axis, a.ndim))
        if b.ndim != a.ndim:
            raise ValueError(
                f"apply_over_axes: from shape {a.shape} the function made shape {b.shape}, which "
                "has neither as many axes nor one less"
            )
        a = b
    return a
