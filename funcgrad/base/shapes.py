"""Every check of an axis, a bound, a permutation or a broadcast: one place, one wording."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.base.errors import ConcretizationTypeError

Shape = tuple[int, ...]


def canonical_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """`axis` counted from the front; raises ValueError when it is out of bounds."""
    axis = concrete_int(axis, name)
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name} {axis} is out of bounds: the array has dimension {ndim}")
    return axis % ndim if ndim else axis


def canonical_axes(
    axes: int | Iterable[int] | None, ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """A tuple of distinct axes counted from the front; None means all of them."""
    if axes is None:
        return tuple(range(ndim))
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    result = tuple(canonical_axis(a, ndim, name) for a in listed)
    if len(set(result)) != len(result):
        raise ValueError(f"duplicate value in {name}: {axes}")
    return result


def concrete_int(value: Any, name: str) -> int:
    """`value` as a Python int, or an error that names the argument it was given for."""
    try:
        return operator.index(value)
    except ConcretizationTypeError as error:
        error.add_note(f"The value was needed as the integer argument {name!r}.")
        raise
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, got {value!r} of type {type(value).__name__}"
        ) from None


def int_tuple(value: int | Iterable[int] | None, name: str) -> tuple[int, ...]:
    """One int, several, or none (None), as a tuple."""
    if value is None:
        return ()
    listed = value if isinstance(value, Iterable) else (value,)
    return tuple(concrete_int(i, name) for i in listed)


def canonical_shape(shape: Any, name: str = "shape") -> Shape:
    """`shape` (an int or a sequence of ints) as a tuple of non-negative ints."""
    if (hasattr(shape, "ndim") and shape.ndim == 0) or isinstance(shape, int):
        shape = (shape,)
    try:
        dims = tuple(shape)
    except TypeError:
        raise TypeError(f"{name} must be an integer or a sequence of them, got {shape!r}") from None
    try:
        dims = tuple(concrete_int(d, name) for d in dims)
    except ConcretizationTypeError as error:
        error.add_note(
            f"Shapes must be known while tracing: 1D tensors of concrete integers, got {shape}. "
            "Mark the argument it comes from as static (static_argnums) or use x.shape."
        )
        raise
    except TypeError:
        raise TypeError(
            f"{name} {shape} holds something that is not an integer known while tracing."
        ) from None
    if any(d < 0 for d in dims):
        raise ValueError(f"{name} may not have negative dimensions, got {dims}")
    return dims


def broadcast_shapes(*shapes: Shape, names: str = "shapes") -> Shape:
    """The shape NumPy broadcasting gives; raises ValueError naming every shape that took part."""
    if not shapes:
        return ()
    first = shapes[0]
    if all(s == first for s in shapes):
        return tuple(first)
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    result = []
    for dims in zip(*padded, strict=True):
        wide = {d for d in dims if d != 1}
        if len(wide) > 1:
            listed = ", ".join(map(str, shapes))
            raise ValueError(f"Incompatible shapes for broadcasting: {names} {listed}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def check_permutation(permutation: Sequence[int], ndim: int, op: str) -> Shape:
    result = tuple(operator.index(p) for p in permutation)
    if sorted(result) != list(range(ndim)):
        raise TypeError(
            f"{op}: permutation {result} isn't a permutation of the {ndim} operand dimensions"
        )
    return result


def check_lengths(op: str, ndim: int, **sequences: Sequence) -> None:
    """Each named sequence has one entry per operand dimension."""
    for name, sequence in sequences.items():
        if len(sequence) != ndim:
            raise TypeError(
                f"{op}: {name} must have one entry for each of the {ndim} operand dimensions, "
                f"got {tuple(sequence)}"
            )


def dilate(size: int, step: int) -> int:
    """The length of an axis with `step - 1` holes put between its elements."""
    return 0 if size == 0 else 1 + step * (size - 1)


def strided(size: int, window: int, stride: int) -> int:
    """How many positions a window takes along an axis."""
    return 0 if size < window else (size - window) // stride + 1


def remove_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple([d for i, d in enumerate(shape) if i not in axes])


def insert_dim(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis:])
