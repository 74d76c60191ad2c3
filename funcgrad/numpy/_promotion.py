"""Bringing operands together: what counts as an array, their common dtype, their common rank.

Every function of this package passes its array arguments through here, so that numbers, NumPy
arrays and tracers mix as they do in JAX.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes, promotion
from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.aval import aval_of, shaped
from funcgrad.base.basis import broadcast_in_dim, convert, select_n
from funcgrad.base.config import config
from funcgrad.base.methods import Array
from funcgrad.base.shapes import Shape
from funcgrad.base.shapes import broadcast_shapes as common_shape

ARRAY_TYPES = (Array, np.ndarray, np.generic, bool, int, float, complex)

_INEXACT = frozenset(
    dtype for dtype in dtypes.BY_NAME.values() if dtypes.issubdtype(dtype, np.inexact)
)
_BOOL = dtypes.BY_NAME["bool"]


# what counts as an array


def is_arraylike(x: Any) -> bool:
    return isinstance(x, ARRAY_TYPES) or hasattr(x, "__jax_array__")


def has_members(x: Any) -> bool:
    """Whether x is a sequence, or an array with an axis: something that can be gone through."""
    return bool(x.shape) if hasattr(x, "shape") else isinstance(x, Iterable)


def as_tuple(x: Any) -> tuple:
    """The members of x, or x as the only one."""
    return tuple(x) if has_members(x) else (x,)


def check_arraylike(name: str, *args: Any) -> None:
    """Raise a TypeError naming the first argument that is no array or number."""
    for position, arg in enumerate(args):
        if not is_arraylike(arg):
            raise TypeError(
                f"{name} takes arrays and numbers, but the argument at position {position} is of "
                f"{type(arg)}. Make an array of it with funcgrad.numpy.array first."
            )


def to_array(name: str, x: Any) -> Any:
    """The argument of the function `name` as an Array; numbers become weakly typed ones."""
    if isinstance(x, Array):
        return x
    check_arraylike(name, x)
    return to_array(name, x.__jax_array__()) if hasattr(x, "__jax_array__") else as_array(x)


def to_arrays(name: str, *args: Any) -> list[Any]:
    check_arraylike(name, *args)
    return [to_array(name, x) for x in args]


def check_dtypes(name: str, arrays: Sequence[Any]) -> None:
    """Raise a TypeError where a float0 or a key stands among numbers."""
    for x in arrays:
        dtype = x.aval.dtype
        if dtype == dtypes.float0:
            raise TypeError(
                f"{name} was called with a float0 array of shape {x.aval.shape}. float0 marks the "
                "derivative with respect to an integer or boolean and takes part in no operation; "
                "np.zeros(x.shape) makes ordinary zeros of it."
            )
        if isinstance(dtype, dtypes.KeyType) and any(y.aval.dtype != dtype for y in arrays):
            raise TypeError(
                f"{name} does not accept dtypes {', '.join(str(y.aval.dtype) for y in arrays)}."
            )


# the common dtype


def constant(value: Any, dtype: Any, weak_type: bool = False) -> ConcreteArray:
    """A Python number as a 0-d array of a dtype."""
    kind = type(value)
    if (kind is float and -1e4 < value < 1e4 and dtype in _INEXACT) or (
        kind is int and 0 <= value < 128 and dtype is not _BOOL
    ):
        return ConcreteArray(np.array(value, dtype), shaped((), dtype, weak_type))
    wide = np.array(value, promotion.scalar_dtype(value))
    with np.errstate(all="ignore"):
        return ConcreteArray(wide.astype(dtype), shaped((), dtype, weak_type))


def like(value: Any, x: Any) -> ConcreteArray:
    """A Python number as a 0-d array of the dtype of x, and weakly typed, so that x decides."""
    return constant(value, aval_of(x).dtype, True)


def cast(x: Any, dtype: Any, weak_type: bool) -> Any:
    """An operand in the common dtype. An array that has it is left alone, weakly typed or not:
    elementwise results are weak only if all operands are."""
    if isinstance(x, Array):
        return x if x.aval.dtype is dtype else convert(x, dtype, weak_type)
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        return constant(x, dtype, weak_type)
    return convert(as_array(x), dtype, weak_type)


Kind = Callable[[Any], Any] | None


def promote_dtypes(name: str, *args: Any, kind: Kind = None) -> list[Any]:
    """The arguments as arrays of their common dtype, moved by `kind` to a dtype of that kind."""
    if kind is None and isinstance(args[0], Array):
        dtype = args[0].aval.dtype
        if all(isinstance(x, Array) and x.aval.dtype is dtype for x in args):
            return list(args)
    check_arraylike(name, *args)
    unwrapped = [
        x if isinstance(x, ARRAY_TYPES) else x.__jax_array__()  # type: ignore[union-attr]
        for x in args
    ]
    check_dtypes(name, [x for x in unwrapped if isinstance(x, Array)])
    if len(unwrapped) == 1 and kind is None:
        return [to_array(name, unwrapped[0])]
    dtype, weak = promotion.lattice_result_type(*unwrapped)
    if kind is not None:
        dtype = dtypes.canonicalize_dtype(kind(dtype))
        weak = weak and dtype is not _BOOL
    return [cast(x, dtype, weak) for x in unwrapped]


# the common rank


def lift(name: str, arrays: list[Any]) -> list[Any]:
    """Arrays of one rank, or scalars: what the primitives take. New axes stand in front."""
    shapes = [x.aval.shape for x in arrays]
    ranks = {len(s) for s in shapes if s}
    if len(ranks) < 2:
        return arrays
    if config.numpy_rank_promotion != "allow":
        check_rank_promotion(name, shapes)
    rank = len(common_shape(*shapes, names=f"{name} got shapes"))
    return [x if not x.aval.shape else prepend_axes(x, rank) for x in arrays]


def prepend_axes(x: Any, rank: int) -> Any:
    """x with as many axes of length 1 in front as it lacks."""
    shape = x.aval.shape
    new = rank - len(shape)
    return broadcast_in_dim(x, (1,) * new + shape, range(new, rank)) if new else x


def check_rank_promotion(name: str, shapes: Sequence[Shape]) -> None:
    """Warn or raise where `config.numpy_rank_promotion` does not allow ranks to differ."""
    mode = config.numpy_rank_promotion
    if mode == "allow" or len({len(s) for s in shapes if s}) < 2:
        return
    listed = ", ".join(map(str, shapes))
    if mode == "raise":
        raise ValueError(
            f"No rank promotion for {name} on shapes {listed}: their ranks differ, and "
            "numpy_rank_promotion is 'raise'. Add axes with x[None]."
        )
    warnings.warn(
        f"{name} follows automatic rank promotion on shapes {listed}; set numpy_rank_promotion to "
        "'allow' to silence this.",
        stacklevel=3,
    )


# both


def promote(name: str, *args: Any) -> Sequence[Any]:
    """The operands of an elementwise function: one dtype, and shapes that the primitives take."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array):
            a = x.aval
            if isinstance(y, Array):
                b = y.aval
                if a.dtype is b.dtype:
                    m, n = len(a.shape), len(b.shape)
                    return args if m == n or not m or not n else lift(name, [x, y])
            elif (type(y) is float and a.dtype in _INEXACT) or (
                type(y) is int and a.dtype is not _BOOL and not isinstance(a.dtype, dtypes.KeyType)
            ):
                return x, constant(y, a.dtype, a.weak_type)
        elif isinstance(y, Array):
            b = y.aval
            if (type(x) is float and b.dtype in _INEXACT) or (
                type(x) is int and b.dtype is not _BOOL and not isinstance(b.dtype, dtypes.KeyType)
            ):
                return constant(x, b.dtype, b.weak_type), y
    return lift(name, promote_dtypes(name, *args))


def numeric(name: str, *args: Any) -> Sequence[Any]:
    """`promote`, with booleans as integers."""
    arrays = promote(name, *args)
    if arrays[0].aval.dtype is _BOOL:
        return lift(name, promote_dtypes(name, *args, kind=dtypes.to_numeric))
    return arrays


def inexact(name: str, *args: Any) -> Sequence[Any]:
    """`promote`, with booleans and integers as floats."""
    arrays = promote(name, *args)
    if arrays[0].aval.dtype in _INEXACT:
        return arrays
    return lift(name, promote_dtypes(name, *args, kind=dtypes.to_inexact))


def inexact1(name: str, x: Any) -> Any:
    """The argument of a function of one real or complex variable."""
    if isinstance(x, Array) and x.aval.dtype in _INEXACT:
        return x
    return promote_dtypes(name, x, kind=dtypes.to_inexact)[0]


def numeric1(name: str, x: Any) -> Any:
    """The argument of a function of one number: booleans become integers."""
    x = to_array(name, x)
    return promote_dtypes(name, x, kind=dtypes.to_numeric)[0] if x.aval.dtype is _BOOL else x


# kinds of dtypes of an array


def is_bool(x: Any) -> bool:
    return x.aval.dtype is _BOOL


def is_integer(x: Any) -> bool:
    return dtypes.issubdtype(x.aval.dtype, np.integer)


def is_unsigned(x: Any) -> bool:
    return dtypes.issubdtype(x.aval.dtype, np.unsignedinteger)


def is_complex(x: Any) -> bool:
    return dtypes.issubdtype(x.aval.dtype, np.complexfloating)


def is_floating(x: Any) -> bool:
    return dtypes.issubdtype(x.aval.dtype, np.floating)


# broadcasting


def broadcast(x: Any, shape: Shape) -> Any:
    """x stretched to a shape that NumPy broadcasting allows it."""
    have = x.aval.shape
    return (
        x
        if have == shape
        else broadcast_in_dim(x, shape, range(len(shape) - len(have), len(shape)))
    )


def broadcast_together(name: str, arrays: Sequence[Any]) -> list[Any]:
    """All arrays in their common shape."""
    shape = common_shape(*(x.aval.shape for x in arrays), names=f"{name} got shapes")
    return [broadcast(x, shape) for x in arrays]


def choose(condition: Any, on_true: Any, on_false: Any) -> Any:
    """Elementwise `on_true` where the condition holds; arrays of one dtype, shapes broadcast."""
    shapes = {condition.aval.shape, on_true.aval.shape, on_false.aval.shape}
    if len(shapes) > 1:
        condition, on_true, on_false = broadcast_together("where", [condition, on_true, on_false])
    return select_n(condition, on_false, on_true)


# arguments that cannot be honoured


def refuse_out(name: str, out: Any) -> None:
    """Arrays are immutable, so there is nothing to write a result into."""
    if out is not None:
        raise NotImplementedError(
            f"The 'out' argument to {name} is not supported: arrays are immutable. Use the value "
            "that the function returns."
        )
